"""Every verb that writes, on real file systems: a disk that is full, a quota that is used up, one that is read-only.

Each command is run with no room at all, then with more and more, so that it fails at many moments: one line, exit code
2, nothing lost, and with room enough the same command ends well. Mounting takes root, and a quota btrfs (`mkfs.btrfs`);
where they are not to be had, these tests are left out and `test_disk` stands for them.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli._writing import WRITING, begin, make_world, remove, site
from tests.commands import Ran, invoke

from veridical.web.board import serving as board

pytestmark = [pytest.mark.soak, pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")]
ROOMS = (0, 16 << 10, 100 << 10, 400 << 10, 64 << 20)  # bytes that are free
SIZE = 256 << 20


@dataclass(frozen=True)
class Disk:
    """A file system of its own, with a folder to write in."""

    folder: Path
    quota: bool

    def leave(self, room: int) -> None:
        """Have so many bytes free."""
        if self.quota:
            mount = self.folder.parent  # a folder whose quota is used up may not even be given more
            group = f"0/{call('btrfs', 'inspect-internal', 'rootid', self.folder).strip()}"
            call("sync", "-f", mount)
            shown = call("btrfs", "qgroup", "show", "--raw", mount).splitlines()
            used = next(int(line.split()[1]) for line in shown if line.split()[0] == group)
            call("btrfs", "qgroup", "limit", str(used + max(room, 1)), group, mount)
            return
        filler = self.folder / "filler"
        filler.unlink(missing_ok=True)
        free = os.statvfs(self.folder)
        filler.write_bytes(b"\0" * max(free.f_bavail * free.f_bsize - room, 0))


def call(*words: object) -> str:
    ran = subprocess.run([str(one) for one in words], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise OSError(f"{words[0]}: {ran.stderr}")
    return ran.stdout


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    folder = make_world(tmp_path_factory.mktemp("disks"))
    with pytest.MonkeyPatch.context() as patch, site(folder) as url:
        patch.chdir(folder)
        for name, value in (("VERIDICAL_PROGRESS", "0"), ("VERIDICAL_WORKER", "1")):
            patch.setenv(name, value)
        patch.setenv("VERIDICAL_CACHE", str(folder / "cache"))
        patch.setenv("VERIDICAL_DATA", str(folder / "home"))
        patch.setattr(board, "listen", lambda *_: None)
        yield folder, url


@pytest.fixture(scope="module", params=["full", "quota"])
def disk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    place = tmp_path_factory.mktemp("mounts") / "disk"
    place.mkdir()
    try:
        if request.param == "full":
            call("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", place)
        else:
            image = place.with_name("image")
            image.touch()
            os.truncate(image, SIZE)
            call("mkfs.btrfs", "-q", image)
            call("mount", "-o", "loop", image, place)
            call("btrfs", "quota", "enable", place)
            call("btrfs", "subvolume", "create", place / "own")
    except OSError as error:
        pytest.skip(f"no such file system here: {error}")
    yield Disk(place / "own" if request.param == "quota" else place, request.param == "quota")
    call("umount", "--lazy", place)  # a table that was mapped is let go when its benchmark is


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != "filler"}


def refused(ran: Ran, where: str) -> None:
    assert ran.exit_code == 2, f"{where}: {ran.exit_code} {ran.stderr[-2000:]}"
    assert "Traceback" not in ran.stderr, where
    assert "veridical: " in ran.stderr, where
    assert all(len(line) <= 520 for line in ran.stderr.splitlines()), where


def test_a_quota_is_a_quota(disk: Disk) -> None:
    disk.leave(1 << 20)
    with pytest.raises(OSError, match="quota" if disk.quota else "space") as told:
        (disk.folder / "x").write_bytes(os.urandom(4 << 20))
    assert told.value.errno == (errno.EDQUOT if disk.quota else errno.ENOSPC)
    (disk.folder / "x").unlink(missing_ok=True)


@pytest.mark.parametrize("name", WRITING)
def test_no_room(world: tuple[Path, str], disk: Disk, name: str) -> None:
    folder, url = world
    one, out = WRITING[name], disk.folder / "out"
    words = one.command.format(out=out, url=url).split()
    disk.leave(ROOMS[-1])
    remove(out)
    begin(one, folder, out)
    (disk.folder / "thesis.tex").write_text("years of work")
    before, said = contents(disk.folder), 0
    for room in ROOMS:
        disk.leave(room)
        ran = invoke(*words)
        if ran.exit_code in (0, 1):
            break
        refused(ran, f"{name} with {room:,} bytes")
        said += 1
        after = contents(disk.folder)
        assert {path: after.get(path) for path in before} == before, f"{name} with {room:,} bytes"
        if one.empty:
            assert not out.exists() or not any(out.iterdir()), f"half of it with {room:,} bytes"
            assert not list(out.parent.glob(f".{out.name}*")), "what was half-written is gone"
    else:
        pytest.fail(f"{name} wants more than {ROOMS[-1]:,} bytes: {ran.stderr}")
    assert said or name == "features", "with no room at all nothing can be written"
    print(f"{name}: refused {said} times, then done with {room:,} bytes")
    remove(out)


@pytest.mark.parametrize("name", WRITING)
def test_a_disk_that_is_read_only(world: tuple[Path, str], tmp_path: Path, name: str) -> None:
    folder, url = world
    one, place = WRITING[name], tmp_path / "disk"
    place.mkdir()
    try:
        call("mount", "-t", "tmpfs", "none", place)
    except OSError as error:
        pytest.skip(f"no such file system here: {error}")
    try:
        begin(one, folder, place / "out")
        (place / "thesis.tex").write_text("years of work")
        call("mount", "-o", "remount,ro", place)
        before = contents(place)
        refused(invoke(*one.command.format(out=place / "out", url=url).split()), name)
        assert contents(place) == before
    finally:
        call("umount", place)
