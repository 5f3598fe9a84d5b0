"""Fetching many files at once: resumable after kill -9, patient with bad servers, careful with what they send.

A file that is there is whole: it was received to its last byte, checked, and only then renamed into place. What was
cut off lies under `.get` with the server's validator, and is continued by an HTTP range if the server still has the
same content. Servers are asked again a bounded number of times, ever more slowly.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veridical import __version__
from veridical.common.files import atomic
from veridical.engine.progress import Progress
from veridical.errors import UserError

if TYPE_CHECKING:
    import httpx

Status = Literal["fetched", "had", "missing", "changed"]
Check = Callable[[Path], str]  # what is wrong with a received file; empty where nothing is

AGENT = f"veridical/{__version__} (benchmark downloader)"
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
SCHEMES = frozenset({"http", "https"})
MAX_REDIRECTS = 10
PARTIAL, CHANGED = ".get/partial", ".get/changed"  # within the folder, where no importer looks


@dataclass(frozen=True)
class WantedFile:
    """One file to fetch."""

    name: str  # its path in the folder
    url: str
    max_bytes: int
    check: Check | None = None  # of the received file, before it gets its name
    noun: str = ""  # what to count it as


@dataclass(frozen=True)
class Outcome:
    """What became of one file: fetched now, had from before, missing, or changed (not what was published)."""

    wanted: WantedFile
    status: Status
    reason: str = ""
    bytes: int = 0  # received in this run


@dataclass(frozen=True)
class Manners:
    """How to treat servers."""

    connections: int = 16  # at once, over all servers
    per_host: int = 8  # at once, to one server
    retries: int = 4  # after the first try
    first_wait: float = 0.5  # seconds before the first retry; doubles each time, with jitter
    longest_wait: float = 30.0
    silence: float = 20.0  # seconds without a byte after which a connection is given up
    seconds: float = 600.0  # for one try; a longer file continues in the next

    def __post_init__(self) -> None:
        if self.connections < 1:
            raise UserError(f"{self.connections} connections cannot fetch anything.", "Use 1 or more.")


class _Lost(Exception):
    """This try failed; another may succeed."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.wait = reason, wait


class _Final(Exception):
    """No further try can help."""


def fetch(wanted: Iterable[WantedFile], folder: Path, label: str, manners: Manners | None = None) -> list[Outcome]:
    """Fetch files into a folder; those that are there are not asked for again."""
    files = list(wanted)
    folder.mkdir(parents=True, exist_ok=True)
    had = [Outcome(one, "had") for one in files if (folder / one.name).is_file()]
    names = {outcome.wanted.name for outcome in had}
    todo = [one for one in files if one.name not in names]
    with Progress(label, len(files), "files") as progress:
        progress.advance(len(had), skipped=True)
        new: list[Outcome] = []
        problem = ""
        try:
            new = _run(_Fetcher(folder, manners or Manners()).all(todo, progress)) if todo else []
        except* (OSError, UserError) as group:
            error = group.exceptions[0]
            problem = error.problem if isinstance(error, UserError) else f"{folder}: {error}."
        if problem:  # what is raised within `except*` comes out as a group before Python 3.11.4
            raise UserError(problem, "Nothing received is lost: run it again to continue.")
    place = {one.name: number for number, one in enumerate(files)}
    return sorted(had + new, key=lambda outcome: place[outcome.wanted.name])


def _run(work: Coroutine[Any, Any, list[Outcome]]) -> list[Outcome]:
    """Run a coroutine, also where an event loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class _Fetcher:
    def __init__(self, folder: Path, manners: Manners) -> None:
        self.folder, self.manners = folder, manners
        self.hosts: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(manners.per_host))
        self.jitter = random.Random()  # waits only: no result depends on it

    async def all(self, files: list[WantedFile], progress: Progress) -> list[Outcome]:
        import httpx

        outcomes: list[Outcome] = []
        queue = iter(files)

        async def work(client: httpx.AsyncClient) -> None:
            for one in queue:
                outcomes.append(await self.one(client, one))
                progress.advance(failed=outcomes[-1].status in ("missing", "changed"))

        count = self.manners.connections
        limits = httpx.Limits(max_connections=count, max_keepalive_connections=count)
        headers = {"User-Agent": AGENT, "Accept-Encoding": "identity"}  # ranges count the bytes as they are stored
        client = httpx.AsyncClient(limits=limits, timeout=self.manners.silence, headers=headers)
        async with client, asyncio.TaskGroup() as group:
            for _ in range(min(count, len(files))):
                group.create_task(work(client))
        return outcomes

    async def one(self, client: httpx.AsyncClient, wanted: WantedFile) -> Outcome:
        """Fetch one file, with retries."""
        received = 0

        def count(data: int) -> None:
            nonlocal received
            received += data

        part = self.folder / PARTIAL / (hashlib.sha256(wanted.name.encode()).hexdigest()[:32] + ".part")
        part.parent.mkdir(parents=True, exist_ok=True)
        for tries in range(self.manners.retries + 1):
            try:
                async with asyncio.timeout(self.manners.seconds):
                    await self._receive(client, wanted, part, count)
                return await self._accept(wanted, part, received)
            except _Final as error:
                _forget(part)
                return Outcome(wanted, "missing", str(error), received)
            except TimeoutError:
                lost = _Lost(f"not finished after {self.manners.seconds:g} s")
            except _Lost as error:
                lost = error
            if tries < self.manners.retries:
                wait: float = self.manners.first_wait * 2.0**tries * self.jitter.uniform(0.5, 1.5)
                await asyncio.sleep(min(max(wait, lost.wait or 0.0), self.manners.longest_wait))
        return Outcome(wanted, "missing", f"{lost.reason} ({self.manners.retries + 1} tries)", received)

    async def _receive(
        self, client: httpx.AsyncClient, wanted: WantedFile, part: Path, count: Callable[[int], None]
    ) -> None:
        """One try: send a request, follow its redirects, write what comes."""
        import httpx

        validator = _validator(part, wanted.url)
        start = part.stat().st_size if validator and part.exists() else 0
        try:
            request = client.build_request("GET", wanted.url)
            if start:
                request.headers["Range"] = f"bytes={start}-"
                request.headers["If-Range"] = validator
            encrypted = request.url.scheme == "https"
            for _ in range(MAX_REDIRECTS + 1):
                if request.url.scheme not in SCHEMES or not request.url.host or (request.url.port or 0) >= 1 << 16:
                    raise _Final(f"{str(request.url)[:80]!r} is not an http or https address")
                if encrypted and request.url.scheme == "http":
                    raise _Final(f"it leads from https to plain http: {str(request.url)[:80]!r}")
                async with self.hosts[request.url.host]:
                    response = await client.send(request, stream=True)
                    try:
                        if response.next_request is None:
                            await self._write(response, wanted, part, start, count)
                            return
                        request = response.next_request
                    finally:
                        await response.aclose()
            raise _Final(f"more than {MAX_REDIRECTS} redirects")
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise _Final(f"not an address that can be asked: {error}") from None
        except httpx.TimeoutException:
            raise _Lost(f"no answer for {self.manners.silence:g} s") from None
        except httpx.RequestError as error:
            raise _Lost(str(error) or type(error).__name__) from None

    async def _write(
        self, response: httpx.Response, wanted: WantedFile, part: Path, start: int, count: Callable[[int], None]
    ) -> None:
        if response.status_code == 416:
            _forget(part)
            raise _Lost("the server refused to continue")
        if response.status_code in TRY_AGAIN:
            asked = response.headers.get("Retry-After", "")
            raise _Lost(f"status {response.status_code}", float(asked) if asked.isdigit() else None)
        if response.status_code not in (200, 206):
            raise _Final(f"status {response.status_code}")
        encoded = response.headers.get("Content-Encoding", "identity") != "identity"  # though it was not asked for
        if response.status_code == 206:
            if encoded or not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                _forget(part)
                raise _Lost("the server sent another part than was asked for")
        else:
            start = 0
            _forget(part)
            if not encoded:
                _remember(part, wanted.url, response)
        size = start
        length = response.headers.get("Content-Length", "")
        if length.isdigit() and start + int(length) > wanted.max_bytes:
            raise _Final(f"{start + int(length):,} bytes; at most {wanted.max_bytes:,} are accepted")
        with part.open("ab", buffering=0) as file:  # unbuffered: what a killed run received is on disk
            async for chunk in response.aiter_bytes() if encoded else response.aiter_raw():
                size += len(chunk)
                if size > wanted.max_bytes:
                    raise _Final(f"more than {wanted.max_bytes:,} bytes")
                file.write(chunk)
                count(len(chunk))

    async def _accept(self, wanted: WantedFile, part: Path, received: int) -> Outcome:
        problem = await asyncio.to_thread(wanted.check, part) if wanted.check else ""
        apart = self.folder / CHANGED / wanted.name
        target = apart if problem else self.folder / wanted.name
        if not problem:
            apart.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        part.replace(target)
        _forget(part)
        return Outcome(wanted, "changed" if problem else "fetched", problem, received)


def _remember(part: Path, url: str, response: httpx.Response) -> None:
    """Note what the server calls this content, so that it can be continued. Weak tags do not promise equal bytes."""
    tag, modified = response.headers.get("ETag", ""), response.headers.get("Last-Modified", "")
    validator = tag if tag and not tag.startswith("W/") else modified
    if validator:
        with atomic(part.with_suffix(".json"), quick=True) as file:
            file.write(json.dumps({"url": url, "validator": validator}).encode())


def _validator(part: Path, url: str) -> str:
    """The validator of what was received before; empty where it cannot be continued."""
    try:
        note = json.loads(part.with_suffix(".json").read_text())
    except (OSError, ValueError):
        return ""
    return str(note["validator"]) if isinstance(note, dict) and note.get("url") == url else ""


def _forget(part: Path) -> None:
    """Drop what was received; the note goes last, as bytes without a note are never used."""
    part.unlink(missing_ok=True)
    part.with_suffix(".json").unlink(missing_ok=True)
