"""Files are whole or not there, errors name file and line, and one process holds a lock."""

from __future__ import annotations

import multiprocessing
import os
import resource
from pathlib import Path

import msgspec
import pytest

from veridical.common.files import (
    BadLine,
    atomic,
    bad_line,
    each_line,
    locked,
    numbered_lines,
    only_one,
    read_json,
    read_lines,
    read_text,
    text_lines,
    write_json,
    write_lines,
    write_whole,
)
from veridical.errors import UserError

GONE = 2**22 + 1  # no process has this number: Linux counts to 2**22


class Point(msgspec.Struct):
    x: int
    y: float = 0.0


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "one.txt"
    write_whole(path, "naïve")
    assert path.read_bytes() == "naïve".encode()
    with pytest.raises(TypeError), atomic(path) as file:
        file.writelines([b"half", "no bytes"])  # type: ignore[list-item]
    assert path.read_bytes() == "naïve".encode()
    assert [p.name for p in path.parent.iterdir()] == ["one.txt"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def test_nothing_but_a_file_is_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("kept")
    (tmp_path / "link").symlink_to("theirs")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "dangling", "pipe", "folder"):
        before = (tmp_path / name).lstat()
        with pytest.raises(UserError, match="and a file is to be written"):
            write_whole(tmp_path / name, "new")
        assert (tmp_path / name).lstat() == before
    assert (tmp_path / "theirs").read_text() == "kept"
    assert not (tmp_path / "nowhere").exists()


def test_a_device_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "endless.csv").symlink_to("/dev/zero")
    with pytest.raises(UserError, match="is a device"):
        read_text(tmp_path / "endless.csv")


def test_what_killed_writers_left_goes_and_what_others_write_stays(tmp_path: Path) -> None:
    """What is held stays, whatever its name says of processes; what nobody holds goes, even if the number is taken."""
    path = tmp_path / "a[1].json"
    left, theirs = (tmp_path / f".a[1].json.{n}.part" for n in (os.getpid(), GONE))
    other = tmp_path / ".b.1.part"
    for one in (left, theirs, other):
        one.touch()
    with locked(theirs):
        write_json(path, {"b": 1, "a": [2]})
        assert not left.exists()
        assert theirs.exists()
        assert other.exists()
    assert path.read_text() == '{\n  "a": [\n    2\n  ],\n  "b": 1\n}\n'
    with atomic(path) as file, atomic(path) as second:  # two writers of one file: neither removes the other's
        file.write(b"1")
        second.write(b"2")
    assert path.read_bytes() == b"1"
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.1.part", "a[1].json"]


def test_a_full_disk_is_said_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "one"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(UserError, match="one cannot be written: File too large"):
            write_whole(path, b"x" * 100_000)
        with pytest.raises(UserError, match="cannot be written"), atomic(path) as file:
            file.writelines([b"x" * 10_000] * 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["one"]


def test_a_quick_file_leaves_no_part(tmp_path: Path) -> None:
    with atomic(tmp_path / "one", quick=True) as file:
        file.write(b"1")
    assert [p.name for p in tmp_path.iterdir()] == ["one"]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, words in ((tmp_path, "is a folder"), (tmp_path / "file" / "one", "cannot be written: ")):
        with pytest.raises(UserError, match=words) as error:
            write_whole(path, b"", "Choose another --out.")
        assert error.value.fix == "Choose another --out."


def test_lines_come_back_with_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    write_lines(path, [Point(1), Point(2, 0.5)])
    assert read_lines(path, Point) == [Point(1), Point(2, 0.5)]
    path.write_bytes(b'\xef\xbb\xbf{"x": 1}\r\n\n  {"x": 2, "more": "\xe2\x80\xa8"}')
    assert numbered_lines(path, Point) == [(1, Point(1)), (3, Point(2))]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"x": "1"}', "line 2: 'x' is a text; expected a whole number."),
        (b'{"y": 1}', "line 2: the field 'x' is missing."),
        (b'{"x": 1', r"line 2: this is not valid JSON \(Input data was truncated\)."),
        (b'{"x": 1, "skipped": "\xff"}', "line 2: byte 0xff is not UTF-8."),
        (b'{"x": 1, "skipped": ' + b"[" * 100_000, "line 2: lists or objects are nested too deeply."),
        (b"[1]", "line 2: the line is a list; expected an object."),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: bytes, words: str) -> None:
    path = tmp_path / "points.jsonl"
    path.write_bytes(b'{"x": 1}\n' + line + b"\n")
    with pytest.raises(UserError, match=words):
        read_lines(path, Point)


def test_wrong_lines_can_be_passed_over() -> None:
    found = list(each_line('{"x": 1}\n\n{}\n{"x": 3}', Point))
    assert found == [(1, Point(1)), (3, "the field 'x' is missing."), (4, Point(3))]
    assert isinstance(found[1][1], BadLine)
    assert str(bad_line(Path("a"), 3, "it is odd.")).startswith("a, line 3: it is odd.\n")


def test_texts_and_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf one \r\n\n two\n")
    assert text_lines(path) == ["one", "two"]
    assert read_text(path) == " one \r\n\n two\n"
    path.write_text('{"x": 3}')
    assert read_json(path, Point) == Point(3)
    path.write_text("[]")
    with pytest.raises(UserError, match=r"a\.txt is not a point: it is a list; expected an object\.") as error:
        read_json(path, Point, "a point", "Give a point.")
    assert error.value.fix == "Give a point."
    with pytest.raises(UserError, match=r"none\.txt cannot be read: No such file"):
        read_text(tmp_path / "none.txt")
    with pytest.raises(UserError, match=r"cannot be read: .*null"):
        read_text(Path("a\0b"))


def _try(path: Path, found: multiprocessing.Queue[str]) -> None:
    try:
        with only_one(path, "Somebody is at it."):
            found.put("")
    except UserError as error:
        found.put(error.problem)


def test_one_process_works_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    context = multiprocessing.get_context("spawn")
    found: multiprocessing.Queue[str] = context.Queue()
    for held in (True, False):
        process = context.Process(target=_try, args=(path, found))
        if held:
            with only_one(path, "We are."):
                process.start()
                assert found.get(timeout=60) == "Somebody is at it."
        else:
            process.start()
            assert found.get(timeout=60) == ""
        process.join()
    assert not path.exists()
    with pytest.raises(UserError, match="cannot be written to"), only_one(tmp_path / "no" / "lock", "We are."):
        pass
    with pytest.raises(FileNotFoundError), only_one(path, "We are."):  # an error of the work stays what it is
        (tmp_path / "none").read_text()


def test_a_lock_that_is_held_is_told_or_waited_for(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(UserError, match="busy"),
        locked(tmp_path, busy=UserError("busy")),
    ):
        pass
    with locked(tmp_path / "file", os.O_RDWR | os.O_CREAT) as descriptor:
        os.write(descriptor, b"1")
    assert (tmp_path / "file").read_bytes() == b"1"


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now
