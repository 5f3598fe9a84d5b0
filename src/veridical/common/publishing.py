"""Publishing what was written on this disk at an address: its files first, the manifest last.

A reader goes by the manifest, and a store shows an object whole or not at all: so nobody ever sees half of a benchmark.
Killed in the middle, the same command sends what is still missing. What is hidden is never taken along: a hidden folder
goes only where it is itself named.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from veridical.common.addresses import (
    AT_ONCE,
    BENCHMARK,
    FILES,
    HIDDEN,
    MANIFESTS,
    Entry,
    Listed,
    bare,
    data_folder,
    listed_files,
    opened,
    read_object,
    reading,
)
from veridical.common.files import write_whole
from veridical.common.workplaces import refuse_links
from veridical.errors import UserError

_SECRET = (".hidden",)  # how the names of folders end that hold answers
_ONE_BY_ONE = ("hf",)  # stores where each file is a commit: several at a time refuse one another
_LEFT_OUT = (".part", ".lock", ".journal", ".work")  # what a run that was stopped continues from


def staged(address: str) -> Path:
    """Where on this disk something is written before it is published at an address: the same place every time, so that
    a command that was stopped continues. Not in the cache: hidden answers and their secret may be nowhere else."""
    digest = hashlib.sha256(address.encode()).hexdigest()[:16]
    return data_folder() / "made" / digest / address.rpartition("/")[2]


def check_free(address: str, replace: bool) -> None:
    """Refuse an address at which somebody else published something, unless it is to be replaced."""
    if replace:
        return
    for manifest in (*(f"{address}/{name}" for name in MANIFESTS), f"{address}.{FILES}"):
        found = read_object(manifest)
        if found is not None and _read_sent(_log(address)).manifest != hashlib.sha256(found).hexdigest():
            raise UserError(
                f"Something was published at {address} already, and not from here.",
                "Choose another address, or say --replace where that is an option.",
            )


def publish(path: Path, address: str) -> int:
    """Publish a folder or a file at an address; how many files had to be sent."""
    if not path.exists():
        raise UserError(f"{path} does not exist: there is nothing to publish.", "Check the path.")
    kind = next((name for name in MANIFESTS[:2] if (path / name).is_file()), FILES)
    if path.is_dir() and _holder(Path(os.path.realpath(path))) is not None and not address.endswith(_SECRET):
        raise UserError(
            f"{path} holds hidden answers, and {address} does not say so.",
            "Give it an address of its own that ends in .hidden, where only you can read.",
        )
    if _is_left_out(Path(Path(os.path.realpath(path)).name)):
        raise UserError(
            f"{path} is what a run works in and continues from: answers may be among it, and it is not sent.",
            "Publish what the run made.",
        )
    refuse_hidden(path)
    refuse_links(path)
    if path.is_file():
        return _publish_file(path, address)
    if kind == FILES:
        text = msgspec.json.format(msgspec.json.encode(Listed(_entries(path))), indent=1) + b"\n"
    else:
        text = (path / kind).read_bytes()
    more = _entries(path, sorted(path.glob("features-*.arrow"))) if kind == BENCHMARK else {}
    wanted = {**more, **listed_files(text, str(path / kind))}
    for name in wanted:
        if not (path / name).is_file():
            raise UserError(f"{path} lacks {name}, which its {kind} names.", "Make it again, or copy it whole.")
    files = {f"{address}/{name}": (path / name, entry) for name, entry in wanted.items()}
    return _send(files, address, f"{address}/{kind}", text)


def publish_beside(path: Path, address: str) -> None:
    """Publish a file that proves itself (vectors) beside the benchmark of an address."""
    one = f"{address}/{path.name}"
    with reading(one):
        opened(one).put_file(str(path), bare(one))


def _publish_file(path: Path, address: str) -> int:
    """A file, and what lies beside it: what made predictions, the numbers and tables of a page. The numbers of a page
    have an address of their own, too: that is what others read."""
    base, _, own = address.rpartition("/")
    named = {own: path, f"{own}.meta.json": path.with_name(f"{path.name}.meta.json")}
    numbers = path.with_suffix(".json")
    sent = 0
    if path.suffix == ".html":
        named |= {Path(own).with_suffix(end).name: path.with_suffix(end) for end in (".json", ".md", ".tex")}
        if numbers.is_file() and not numbers.is_symlink():
            sent = _publish_file(numbers, f"{base}/{Path(own).with_suffix('.json').name}")
    named = {name: one for name, one in named.items() if one == path or (one.is_file() and not one.is_symlink())}
    entries = {name: _entry(one) for name, one in named.items()}
    files = {f"{base}/{name}": (one, entries[name]) for name, one in named.items()}
    return sent + _send(files, address, f"{address}.{FILES}", msgspec.json.encode(Listed(entries)) + b"\n")


def refuse_hidden(place: Path) -> None:
    """Refuse a file that is hidden, and a folder in which something hidden lies, unless it is itself a hidden folder;
    links are seen through."""
    top = Path(os.path.realpath(place))
    if place.is_file() and _holder(top) is not None:
        raise UserError(
            f"{place} is a part of {_holder(top)}, which holds hidden answers.",
            "Name that folder itself, with an address of its own that ends in .hidden, where only you can read.",
        )
    for path in top.rglob("*") if place.is_dir() else ():
        real = Path(os.path.realpath(path))
        outside = not real.is_relative_to(top) and _holder(real) is not None
        if outside or path.name.endswith(_SECRET) or (path.name == HIDDEN and path.parent != top):
            raise UserError(
                f"{place} has {path.relative_to(top)} in it, which holds hidden answers.",
                "Publish the benchmark itself; a hidden folder only goes to an address of its own.",
            )


def _holder(path: Path) -> Path | None:
    """The hidden folder that something lies in, or that it is."""
    folders = (one for one in (path, *path.parents) if one.is_dir())
    return next((one for one in folders if one.name.endswith(_SECRET) or (one / HIDDEN).is_file()), None)


def _entries(folder: Path, paths: list[Path] | None = None) -> dict[str, Entry]:
    """What is to be said of files; of all of a folder where none are named."""
    if paths is None:
        paths = sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in MANIFESTS)
        paths = [p for p in paths if not p.name.startswith(".") and not _is_left_out(p.relative_to(folder))]
    return {path.relative_to(folder).as_posix(): _entry(path) for path in paths}


def _is_left_out(path: Path) -> bool:
    """Whether a file, or a folder that it lies in, is of a run that was stopped: answers may be among what it has."""
    return any(part.endswith(_LEFT_OUT) for part in path.parts)


def _entry(path: Path) -> Entry:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Entry(digest, path.stat().st_size)


class _Sent(msgspec.Struct):
    """What was sent to an address from here before."""

    manifest: str = ""  # the hash of the last one
    objects: dict[str, tuple[str, str]] = {}  # object -> its hash, and what its store called that version


def _log(address: str) -> Path:
    return staged(address).parent.with_suffix(".sent")


def _send(files: dict[str, tuple[Path, Entry]], address: str, manifest: str, text: bytes) -> int:
    """Send files, those left out that were sent before and are still there, then the manifest; how many files."""
    log, store = _log(address), opened(address)
    before = _read_sent(log)

    def send(one: str) -> tuple[str, str, bool]:
        path, entry = files[one]
        if one in before.objects and before.objects[one] == (entry.sha256, _version(store, one)):
            return one, before.objects[one][1], False
        with reading(one):
            store.put_file(str(path), bare(one))
        return one, _version(store, one), True

    count = 0
    with ThreadPoolExecutor(1 if address.partition("://")[0] in _ONE_BY_ONE else AT_ONCE) as pool:
        for one, version, new in pool.map(send, files):
            before.objects[one] = (files[one][1].sha256, version)
            count += new
            if new:
                write_whole(log, msgspec.json.encode(before))
    before.manifest = hashlib.sha256(text).hexdigest()
    write_whole(log, msgspec.json.encode(before))
    with reading(manifest):
        store.pipe_file(bare(manifest), text)
    return count


def _read_sent(path: Path) -> _Sent:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Sent)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return _Sent()


def _version(store: Any, address: str) -> str:
    """What tells one version of an object from another; nothing where there is none."""
    try:
        with reading(address):
            found = store.info(bare(address))
    except FileNotFoundError:
        return ""
    names = [found[key] for key in ("ETag", "etag", "md5Hash", "blob_id") if found.get(key)]
    return str(names[0] if names else (found.get("size"), str(found.get("mtime", found.get("created")))))
