"""200 workers at once in a collection of 100,000 tasks: how long do a page and an answer take at 100 requests a second?

Each worker opens the next task, thinks, and sends an answer; they come at random (a Poisson process) so that the server
gets as many requests a second as asked, whatever it answers (an open loop: a slow server is not spared). Beside it, in
the same run, a bare Starlette route that returns a page of the same size under the same load. Pages and answers, the
median and the 99th percentile, and their ratio to the bare route; on SQLite, and on PostgreSQL where its programs are
installed. With `--watched` the requester looks at progress, people and reviews all the while.

    python benchmarks/collect_load.py [--seconds 30] [--rate 100] [--tasks 100000] [--database sqlite|postgres|both]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import httpx
import numpy as np

from veridical.options.serving import ServeOptions
from veridical.web.board.app import make_site
from veridical.web.collect import kinds
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Picture, Project, Role, Task
from veridical.web.collect.starting.folder import making

WORKERS = 200
THINKS = 0.5  # seconds between a page and its answer
BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
page = "x" * int(sys.argv[2])
def shown(request): return HTMLResponse(page)
async def taken(request): await request.body(); return JSONResponse({"to": "/work"})
app = Starlette(routes=[Route("/work", shown), Route("/work", taken, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
"""


def project(folder: Path, count: int) -> Path:
    """Sentences to be judged by three each."""
    with making(folder) as made:
        two = (Picture("a.png", 320, 240), Picture("b.png", 320, 240))
        tasks = [
            Task(f"validate:i{k}", "validate", plain(kinds.Validate(f"There are {k} dogs in all.", two)), 3)
            for k in range(count)
        ]
        roles = (Role("validator", ("validate",)),)
        made.write(Project("load", "nlvr2", "Load", roles=roles, pay={"validate": 25}, gold_every=0), tasks)
    return folder


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def postgres() -> Iterator[str | None]:
    """A PostgreSQL server of our own; None where its programs are missing."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        yield None
        return
    folder, tools = Path(tempfile.mkdtemp(prefix="vrdpg", dir="/tmp")), found[-1].parent
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []

    def run(*words: str) -> None:
        subprocess.run([*as_user, *words], check=True, capture_output=True, cwd=folder)

    try:
        run(str(tools / "initdb"), "-D", f"{folder}/data", "-A", "trust", "-U", "postgres")
        settings = f"-k {folder} -c listen_addresses=''"  # fsync stays on: an answer is on disk when it is acknowledged
        run(str(tools / "pg_ctl"), "-D", f"{folder}/data", "-w", "-o", settings, "-l", f"{folder}/log", "start")
        run(str(tools / "createdb"), "-h", str(folder), "-U", "postgres", "load")
        yield f"postgresql://postgres@/load?host={folder}"
    finally:
        run(str(tools / "pg_ctl"), "-D", f"{folder}/data", "-m", "fast", "stop")
        shutil.rmtree(folder)


@contextmanager
def running(command: list[str], port: int) -> Iterator[tuple[str, int]]:
    """A server in a process of its own: its address, and the process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                httpx.get(address, timeout=30)
                break
            except httpx.TransportError:
                assert process.poll() is None, "the server did not start"
                time.sleep(0.1)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait()


class Load:
    """Workers who ask and answer, each request at its own moment, however long others take."""

    def __init__(self, base: str, cookies: list[dict[str, str]], rate: float, seconds: float) -> None:
        self.base, self.cookies, self.rate, self.seconds = base, cookies, rate, seconds
        self.pages: list[float] = []
        self.answers: list[float] = []
        self.errors: list[str] = []

    async def run(self) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx.AsyncClient(timeout=60, limits=limits) as client:
            turns = int(self.rate * self.seconds / 2)  # a turn is a page and an answer
            moments = time.monotonic() + np.cumsum(np.random.default_rng(0).exponential(2 / self.rate, turns))
            free: asyncio.Queue[dict[str, str]] = asyncio.Queue()
            for one in self.cookies:
                free.put_nowait(one)
            jobs = []
            for moment in moments:
                await asyncio.sleep(max(0.0, moment - time.monotonic()))
                jobs.append(asyncio.create_task(self.turn(client, free)))
            await asyncio.gather(*jobs)

    async def turn(self, client: httpx.AsyncClient, free: asyncio.Queue[dict[str, str]]) -> None:
        cookies = await free.get()
        try:
            sent = time.monotonic()
            headers = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
            page = await client.get(f"{self.base}/work", headers=headers)
            self.pages.append(time.monotonic() - sent)
            if page.status_code != 200:
                self.errors.append(f"{page.status_code} {page.text[:80]}")
                return
            await asyncio.sleep(THINKS)
            fields = {name: value_of(page.text, name) for name in ("form_token", "lease")}
            sent = time.monotonic()
            headers["accept"] = "application/json"
            taken = await client.post(f"{self.base}/work", data={**fields, "verdict": "true"}, headers=headers)
            self.answers.append(time.monotonic() - sent)
            if taken.status_code != 200:
                self.errors.append(f"{taken.status_code} {taken.text[:80]}")
        finally:
            free.put_nowait(cookies)


@contextmanager
def watching(base: str, cookies: dict[str, str]) -> Iterator[list[tuple[str, float]]]:
    """Somebody who opens the pages of whoever runs a collection, one after another; how long each took."""
    looks: list[tuple[str, float]] = []
    end = threading.Event()

    def look() -> None:
        while not end.wait(3):
            for path in ("/run", "/run/people", "/run/reviews"):
                sent = time.monotonic()
                httpx.get(base + path, cookies=cookies, timeout=120).raise_for_status()
                looks.append((path, time.monotonic() - sent))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield looks
    finally:
        end.set()
        thread.join()


def processor(process: int) -> float:
    """Seconds of a processor that a process has used, in all of its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def value_of(page: str, name: str) -> str:
    _, mark, tail = page.partition(f'name="{name}" value="')
    return tail.partition('"')[0] if mark else "none"


def figures(seconds: list[float]) -> tuple[float, float]:
    return tuple(1000 * np.quantile(seconds, [0.5, 0.99]))  # type: ignore[return-value]


def measure(base: str, cookies: list[dict[str, str]], rate: float, seconds: float) -> Load:
    made = Load(base, cookies, rate, seconds)
    asyncio.run(made.run())
    return made


def on(kind: str, address: str | None, folder: Path, data: Path, asked: argparse.Namespace) -> None:
    site = make_site({}, data, ServeOptions(), address, [folder])
    service = site.collections["load"].service
    service.start()
    cookies = []
    for number in range(WORKERS):
        name = service.join("simulated").id
        service.consent(name, "1")
        cookies.append({"worker-load": site.signing.worker_pass("load", name), "visit": f"v{number}"})
    with site.database.write() as session:
        signed_in = site.accounts.signed_in(session, site.accounts.make(session, "host", "a long pass word", True).id)
    site.database.close()
    port = free_port()
    command = [sys.executable, "-m", "veridical", "serve", str(folder), "--data", str(data), "--port", str(port)]
    with running([*command, "--quiet", *(["--database", address] if address else [])], port) as (server, process):
        base = f"{server}/collections/load"
        measure(base, cookies, asked.rate, 3)  # warm
        size = len(httpx.get(f"{base}/work", cookies=cookies[0]).text)
        other = free_port()
        with running([sys.executable, "-c", BARE, str(other), str(size)], other) as (bare, _):
            plainly = measure(bare, cookies, asked.rate, asked.seconds)
        with watching(base, {"session": signed_in}) if asked.watched else nullcontext([]) as looks:
            before = processor(process)
            found = measure(base, cookies, asked.rate, asked.seconds)
            each = (processor(process) - before) / (len(found.pages) + len(found.answers))
    print(f"{kind}: {asked.rate:g} requests a second for {asked.seconds:g} s, {WORKERS} workers, {asked.tasks:,} tasks")
    print(f"  {len(found.errors)} refused; {1000 * each:.1f} ms of a processor a request; load of the machine "
          f"{os.getloadavg()[0]:.1f}")  # fmt: skip
    for path, seconds in looks:
        print(f"  meanwhile {path}: {seconds:.1f} s")
    for what in ("pages", "answers"):
        ours, theirs = figures(getattr(found, what)), figures(getattr(plainly, what))
        print(f"  {what:8} median {ours[0]:6.1f} ms  p99 {ours[1]:7.1f} ms   bare Starlette: {theirs[0]:6.1f}, "
              f"{theirs[1]:7.1f} ms   ratio {ours[0] / theirs[0]:5.1f}, {ours[1] / theirs[1]:5.1f}")  # fmt: skip
    for error in found.errors[:3]:
        print(f"  {error}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--watched", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = project(Path(name) / "load", asked.tasks)
        if asked.database != "postgres":
            on("SQLite", None, folder, Path(name) / "sqlite", asked)
        if asked.database != "sqlite":
            with postgres() as address:
                if address is None:
                    print("PostgreSQL: not installed here")
                else:
                    on("PostgreSQL", address, folder, Path(name) / "postgres", asked)


if __name__ == "__main__":
    main()
