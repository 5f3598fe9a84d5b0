"""A real S3 server on this machine: publishers, readers and the server itself, killed in the middle."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.common.addresses import local
from veridical.errors import UserError

SOURCE = Path(__file__).resolve().parents[2] / "src"
FILES = 24
pytestmark = pytest.mark.soak


class Server:
    """moto's S3 server in a process of its own; what it holds ends with it."""

    def __init__(self, port: int) -> None:
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        self.port = port
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._answers)
        store().mkdir("shelf")

    def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def store() -> Any:
    import fsspec
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    return fsspec.filesystem("s3", use_listings_cache=False)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path / "data"))
    return tmp_path / "cache"


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Where a server is to listen; everybody knows it."""
    pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = int(free.getsockname()[1])
    address = f"http://127.0.0.1:{number}"
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": address, "FSSPEC_S3_ENDPOINT_URL": address,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    import fsspec

    fsspec.config.conf["s3"] = {"endpoint_url": address}
    yield number
    fsspec.config.conf.pop("s3")


@pytest.fixture
def servers(port: int) -> Iterator[list[Server]]:
    """The servers of a test, of which the last is up."""
    made = [Server(port)]
    yield made
    for one in made:
        one.kill()


def again(servers: list[Server]) -> None:
    """The last server is killed, and another one takes its place: it has an empty bucket."""
    servers[-1].kill()
    servers.append(Server(servers[-1].port))


def large(folder: Path, size: int = 4 << 20) -> Path:
    folder.mkdir()
    for number in range(FILES):
        (folder / f"part-{number:02}.bin").write_bytes(hashlib.sha256(str(number).encode()).digest() * (size // 32))
    return folder


def start(code: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)


def copying(run: Path) -> subprocess.Popen[str]:
    return start(f"import veridical; veridical.copy({str(run)!r}, 's3://shelf/run')")


def opening() -> subprocess.Popen[str]:
    return start("from veridical.common.addresses import local; local('s3://shelf/run')")


def objects() -> list[str]:
    return sorted(store().find("shelf"))


def sent(cache: Path) -> int:
    """How many files a publisher knows to be there. (To ask the server takes as long as it does to send them all.)"""
    return sum(len(json.loads(log.read_bytes())["objects"]) for log in cache.with_name("data").glob("made/*.sent"))


def in_cache(cache: Path) -> dict[Path, int]:
    """Whole files that were fetched, and when."""
    found = [p for p in (cache / "files").rglob("*") if p.is_file() and p.suffix != ".part"]
    return {p: p.stat().st_mtime_ns for p in found}


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.glob("*.bin")}


def until(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def test_a_publisher_and_a_reader_killed_in_the_middle(servers: list[Server], tmp_path: Path, cache: Path) -> None:
    """Nobody sees half of it, and whoever comes again has only the rest to do."""
    run = large(tmp_path / "run")
    publisher = copying(run)
    until(lambda: sent(cache) >= 3)
    os.kill(publisher.pid, signal.SIGKILL)
    publisher.communicate()
    here = len(objects())
    assert 3 <= here < FILES + 1
    with pytest.raises(UserError, match="Nothing was published"):
        local("s3://shelf/run")
    assert veridical.copy(run, "s3://shelf/run").files <= FILES - here + 8  # those in flight may be sent twice
    assert len(objects()) == FILES + 1
    reader = opening()
    until(lambda: len(in_cache(cache)) >= 3)
    os.kill(reader.pid, signal.SIGKILL)
    reader.communicate()
    assert not list(cache.glob("fetched/*/*/files.json"))
    before = in_cache(cache)
    both = [opening(), opening()]  # side by side: one fetches, the other waits
    assert [one.communicate(timeout=60) and one.returncode for one in both] == [0, 0]
    assert content(local("s3://shelf/run")) == content(run)
    assert in_cache(cache).items() >= before.items()  # what was there was not fetched again


def test_the_server_killed_in_the_middle(servers: list[Server], tmp_path: Path, cache: Path) -> None:
    """Both sides say so and stop, with nothing half of it to be seen; with a server there again, both go on."""
    run = large(tmp_path / "run")
    publisher = copying(run)
    until(lambda: sent(cache) >= 3)
    servers[-1].kill()
    _, said = publisher.communicate(timeout=120)
    assert publisher.returncode != 0
    assert "cannot be reached" in said
    again(servers)
    with pytest.raises(UserError, match="Nothing was published"):
        local("s3://shelf/run")
    assert veridical.copy(run, "s3://shelf/run").files == FILES  # what was sent before is gone with the first server
    reader = opening()
    until(lambda: len(in_cache(cache)) >= 3)
    servers[-1].kill()
    _, said = reader.communicate(timeout=120)
    assert reader.returncode != 0
    assert "cannot be reached" in said
    assert not list(cache.glob("fetched/*/*/files.json"))
    assert not list(cache.rglob("*.part"))
    before = in_cache(cache)
    assert 3 <= len(before) < FILES
    again(servers)
    veridical.copy(run, "s3://shelf/run")
    assert content(local("s3://shelf/run")) == content(run)
    assert in_cache(cache).items() >= before.items()
