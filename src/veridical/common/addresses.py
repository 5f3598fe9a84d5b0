"""Addresses of object stores (`s3://bucket/name`, `gs://`, `hf://`, whatever `fsspec` knows) as folders on this disk.

Everything that is published has a manifest with the hash of each of its files: a benchmark its `benchmark.json`, a
hidden folder its `hidden.json`, anything else a `files.json`. A file is fetched once, whole, under its hash, into a
cache that all processes share; a folder there is named after the hash of its manifest, holds links to those files, and
gets its manifest last. So what is opened is whole, and never changes under whoever has it mapped into memory.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec

from veridical.common.files import atomic, locked, refuse_endless, write_whole
from veridical.errors import UserError, in_the_way, missing_extra

BENCHMARK, HIDDEN, FILES = MANIFESTS = ("benchmark.json", "hidden.json", "files.json")
AT_ONCE = 8  # files that are fetched or sent at the same time
_BLOCK = 8 << 20  # bytes read at a time
_MOST = 64 << 20  # bytes of a manifest: of some 400,000 files
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/{1,3}(?=[^/])")
_NAME = re.compile(r"(?!\.)[A-Za-z0-9_.=@#+-]{1,200}")  # a part of a file's name: none begins with a dot
_DISK = ("file", "local")
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "az": "adlfs"}
_OURS = ("fsspec", "s3fs")  # that `veridical[cloud]` brings
_KEYS = "Check the address, and give the keys as its store wants them (for s3: AWS_ACCESS_KEY_ID and the others)."


class Entry(msgspec.Struct, frozen=True):
    """What a manifest says of a file."""

    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    bytes: Annotated[int, msgspec.Meta(ge=0, lt=2**50)]


class Listed(msgspec.Struct, frozen=True):
    """Of a manifest, what concerns its files."""

    files: dict[str, Entry]


def cache_folder() -> Path:
    """Where what can be had again is kept between runs: vectors of texts, and what was fetched."""
    if own := os.environ.get("VERIDICAL_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veridical"


def data_folder() -> Path:
    """Where what nobody else has is kept: what was made here for an address, with its hidden answers."""
    if own := os.environ.get("VERIDICAL_DATA"):
        return Path(own)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "veridical"


def is_address(place: object) -> bool:
    """Whether something names a place in an object store, even where it went through a `Path`, which drops a slash.

    >>> is_address("s3://bucket/nlvr"), is_address(Path("gs://bucket/nlvr")), is_address("runs/a"), is_address("c:/x")
    (True, True, False, False)
    """
    return isinstance(place, str | os.PathLike) and bool(_SCHEME.match(os.fspath(place)))


def spelled(place: str | os.PathLike[str]) -> str:
    """An address as it is written, without a slash at its end.

    >>> spelled(Path("s3://bucket/nlvr/")), spelled(Path("file:///tmp/x"))
    ('s3://bucket/nlvr', 'file:///tmp/x')
    """
    text = os.fspath(place)
    found = _SCHEME.match(text)
    if found is None:
        raise ValueError(f"{text!r} is no address")
    slashes = ":///" if found[1] in _DISK else "://"
    return f"{found[1]}{slashes}{text[found.end() :].rstrip('/')}"


def local(place: str | os.PathLike[str]) -> Path:
    """A path on this disk for a path or an address; what has an address is fetched, once."""
    if not is_address(place):
        return Path(place)
    found = fetch(spelled(place))
    _came_from[found] = spelled(place)
    return found


def everywhere(path: Path) -> str:
    """By what name any machine finds something that `local` found here: its address, or the same path."""
    return _came_from.get(path, str(path))


_came_from: dict[Path, str] = {}  # what this process fetched


def fetch(address: str, *manifests: str) -> Path:
    """The folder, or the file, that was published at an address, in the cache; it is only to be read.

    `manifests` are what it may be; left out: anything.
    """
    base, _, own = address.rpartition("/")
    for name in manifests or MANIFESTS:
        if (text := read_object(f"{address}/{name}")) is not None:
            return _gathered(text, f"{address}/{name}", address, own)
    if not manifests and (text := read_object(f"{address}.{FILES}")) is not None:
        return _gathered(text, f"{address}.{FILES}", base, "file") / own
    wanted = " or ".join(manifests or (*MANIFESTS[:2], FILES))
    raise UserError(f"Nothing was published at {address}: it has no {wanted}.", "Check it, or publish it again.")


def listed_files(text: bytes, where: str) -> dict[str, Entry]:
    """The files of a manifest, which a stranger may have written: their names stay in their folder."""
    try:
        files = msgspec.json.decode(text, type=Listed).files
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{where} is damaged: {error}.", "Publish it again.") from None
    for name in files:
        parts = name.split("/")
        if len(parts) > 8 or not all(_NAME.fullmatch(part) for part in parts) or parts[-1] in MANIFESTS:
            raise UserError(f"{where} lists {name[:200]!r}, which names no file of its folder.", "Do not trust it.")
    return files


def _gathered(text: bytes, manifest: str, base: str, name: str) -> Path:
    """A folder with what a manifest lists; it has the manifest when it is whole."""
    files = listed_files(text, manifest)
    folder = cache_folder() / "fetched" / hashlib.sha256(text).hexdigest() / name
    whole = folder / next(one for one in MANIFESTS if manifest.endswith(one))
    mode = 0o400 if whole.name == HIDDEN else 0o444  # hidden answers are for nobody else on this machine

    def take(one: str) -> None:
        _link(folder / one, _fetched(f"{base}/{one}", files[one], mode))

    if not whole.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder.parent), ThreadPoolExecutor(AT_ONCE) as pool:  # one process fetches, others wait for it
            if not whole.is_file():
                list(pool.map(take, files))
                write_whole(whole, text)
    return folder


def fetch_beside(address: str, path: Path) -> bool:
    """Fetch what lies beside a benchmark and proves itself (vectors), to a path; False where there is none."""
    one = f"{address}/{path.name}"
    try:
        with reading(one), _stored(one) as source, atomic(path) as out:
            for block in iter(partial(source.read, _BLOCK), b""):
                out.write(block)
    except FileNotFoundError:
        return False
    return True


def _link(place: Path, file: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    try:
        os.link(file, place)
    except OSError:  # a disk that knows no links
        shutil.copy(file, place)  # with its permissions


def _fetched(address: str, entry: Entry, mode: int) -> Path:
    """A file of the cache under its hash: it is there, or it is fetched now and proved."""
    path = cache_folder() / "files" / entry.sha256[:2] / entry.sha256
    if path.is_file() and path.stat().st_size == entry.bytes:
        return path
    digest = hashlib.sha256()
    with atomic(path) as out, reading(address), _stored(address) as source:
        os.fchmod(out.fileno(), mode)
        left = entry.bytes + 1  # one more than there should be: what has no end is not fetched for ever
        while left and (block := source.read(min(left, _BLOCK))):
            digest.update(block)
            out.write(block)
            left -= len(block)
        if digest.hexdigest() != entry.sha256:
            raise UserError(
                f"{address} is not what its manifest says: it was damaged, or is being replaced just now.",
                "Try again in a moment; if it stays so, publish it again.",
            )
    return path


def read_object(address: str) -> bytes | None:
    """The bytes of a small object; None where there is none."""
    try:
        with reading(address), _stored(address) as source:
            data: bytes = source.read(_MOST + 1)
    except FileNotFoundError:
        return None
    if len(data) > _MOST:
        raise UserError(f"{address} has more than {_MOST >> 20} MB: it is no manifest.", "Do not trust it.")
    return data


def _stored(address: str) -> Any:
    """An object that is open for reading; a folder as a store may have pipes and devices in it."""
    store = opened(address)
    if address.partition("://")[0] in _DISK:
        refuse_endless(Path(bare(address)))
    return store.open(bare(address), "rb")


def opened(address: str) -> Any:
    """The file system of an address; it remembers no listing, for others write there too."""
    scheme = address.partition("://")[0]
    try:
        import fsspec

        more = {"auto_mkdir": True} if scheme in _DISK else {}
        store = fsspec.filesystem(scheme, use_listings_cache=False, **more)
        store.invalidate_cache()  # hf:// remembers listings whatever it is told, and reads as much as they say
        return store
    except ImportError as error:
        raise _missing(scheme, error.name) from None
    except ValueError:
        raise UserError(f"{address}: there is no store called {scheme!r}.", "Use s3://, gs:// or hf://.") from None


def _missing(scheme: str, module: str | None) -> UserError:
    """The package that a store needs: our extra brings those of S3, others are their owners'."""
    package = "fsspec" if module == "fsspec" else _PACKAGES.get(scheme, module or scheme)
    if package in _OURS:
        return missing_extra(package, "cloud")
    return UserError(f"This needs the package {package}, which is not installed.", f"Run: pip install {package}")


def bare(address: str) -> str:
    """An address as its file system calls it."""
    scheme, _, rest = address.partition("://")
    return f"/{rest.lstrip('/')}" if scheme in (*_DISK, "memory") else rest


@contextmanager
def reading(address: str) -> Iterator[None]:
    """Say in words what a store has against it; that something is not there, the caller says."""
    try:
        yield
    except (UserError, FileNotFoundError):
        raise
    except NotADirectoryError as error:  # a folder as a store: what is a file there has nothing in it
        raise FileNotFoundError(*error.args) from None
    except Exception as error:  # noqa: BLE001 - each store has errors of its own, which share no class
        if (known := in_the_way(error)) is not None:
            raise known from None
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise UserError(f"{address} cannot be reached: {said}.", _KEYS) from None
