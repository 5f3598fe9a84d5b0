"""Whole files: written at once or not at all, read with an error that names file and line.

Every reader here turns what a file can have wrong (missing, not UTF-8, cut off, of another shape) into a `UserError`.
A JSON line or document is decoded into the type that it should have, so that nothing is checked by hand.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from veridical.errors import NO_SPACE, UserError

T = TypeVar("T")
Json = dict[str, Any]  # a JSON object of any shape; what has a known shape has a type of its own

# what a decoder may say of a line; RecursionError of one that is nested thousands deep
DECODING_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
UTF8_MARK = b"\xef\xbb\xbf"
READABLE = "Check that the file exists and is readable."
CORRECT = "Correct the line. Nothing was written."


# --- writing ---------------------------------------------------------------------------------------------------------


@contextmanager
def atomic(path: Path, fix: str = "Choose another place.", *, quick: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` when the block ends well; a kill leaves the old file whole.

    It is written beside `path`, where what killed processes left of the same file is removed first, and is on disk
    before it gets its name. `quick` leaves out both: for many small results that can be made again.
    """
    if found := _no_file(path):
        raise UserError(f"{path} is {found}, and a file is to be written.", fix)
    with _writing(path, fix):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not quick:
            remove_parts(path)
        part, file = _open_part(path)
    try:
        with file:
            with _full(path, fix):
                yield file
            with _writing(path, fix):
                file.flush()
                if not quick:
                    os.fsync(file.fileno())
                part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _no_file(path: Path) -> str:
    """What stands in the place of a file, in words; nothing where there is a file, or nothing at all.

    A link is not written through: a benchmark from a stranger could have put it there.
    """
    if path.is_symlink():
        return "a link"
    if path.is_dir():
        return "a folder"
    return "a pipe or a device" if path.exists() and not path.is_file() else ""


def _open_part(path: Path) -> tuple[Path, IO[bytes]]:
    """A new file beside `path`, locked for as long as it is open: what nobody holds was left by a kill."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        file = part.open("xb")
        fcntl.flock(file, fcntl.LOCK_EX)
        if _names(part, file.fileno()):  # and not removed before it was locked
            return part, file
        file.close()


def write_whole(path: Path, data: bytes | str, fix: str = "Choose another place.") -> None:
    """Write a file, text as UTF-8, or nothing where the process ends before it is done."""
    with atomic(path, fix) as file, _writing(path, fix):
        file.write(data.encode() if isinstance(data, str) else data)


def write_json(path: Path, value: object, *, indent: int = 2) -> None:
    """A JSON file with its keys in order, for people to read."""
    write_whole(path, json.dumps(value, indent=indent, sort_keys=True) + "\n")


def write_lines(path: Path, records: Iterable[object]) -> None:
    """Records as JSON lines."""
    write_whole(path, b"".join(msgspec.json.encode(record) + b"\n" for record in records))


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_cell(value: Any) -> Any:
    """A value for a sheet that people open: a text that a spreadsheet would run as a formula begins with an apostrophe.

    Files that programs read stay exact.

    >>> as_cell("=1+1"), as_cell("1+1"), as_cell(-1)
    ("'=1+1", '1+1', -1)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def of_cell(text: str) -> str:
    """The text of which `as_cell` made a cell.

    >>> of_cell("'=1+1"), of_cell("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def remove_parts(path: Path) -> None:
    """Remove what killed processes left of a file they were writing, or of all files of a folder."""
    folder, name = (path, "*") if path.is_dir() else (path.parent, glob.escape(path.name))
    for left in folder.glob(f".{name}.*.part"):
        if is_abandoned(left):
            left.unlink(missing_ok=True)


def is_abandoned(path: Path) -> bool:
    """Whether nobody holds the lock of a file or folder that is locked while it is in use.

    Process numbers would not do: another container has its own.
    """
    try:
        with locked(path, os.O_RDONLY | os.O_NONBLOCK, UserError(f"{path} is in use.")):
            return True
    except (UserError, OSError):
        return False


@contextmanager
def _full(path: Path, fix: str) -> Iterator[None]:
    """Say it in words where there is no room for what is written meanwhile; other errors are not of this file."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_SPACE or error.filename is not None:
            raise
        raise UserError(f"{path} cannot be written: {error.strerror}.", fix) from None


@contextmanager
def _writing(path: Path, fix: str) -> Iterator[None]:
    """Say it in words where a file cannot be written."""
    try:
        yield
    except OSError as error:
        reason = "its folder is a file" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
        raise UserError(f"{path} cannot be written: {reason}.", fix) from None


# --- reading ---------------------------------------------------------------------------------------------------------


def read_bytes(path: Path, fix: str = READABLE) -> bytes:
    """The bytes of a file that a person named."""
    refuse_endless(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.", fix) from None
    except ValueError as error:  # a null character in the name
        raise UserError(f"{str(path)!r} cannot be read: {error}.", fix) from None


def refuse_endless(path: Path) -> None:
    """Refuse a named pipe, at which a reader would wait for ever, and a device such as /dev/zero, which has no end.

    What a shell hands over as a file (`<(...)`, `/dev/stdin`) is read.
    """
    if path.is_fifo() and not str(path.absolute()).startswith(("/dev/fd/", "/dev/stdin", "/proc/")):
        raise UserError(f"{path} is a named pipe, and a file was expected.", "Give a file.")
    if path.is_char_device() or path.is_block_device() or path.is_socket():
        raise UserError(f"{path} is a device, and a file was expected.", "Give a file.")


def read_text(path: Path, fix: str = READABLE) -> str:
    """The text of a UTF-8 file, without a byte order mark; line ends are as they are."""
    return decoded(read_bytes(path, fix), path)


def decoded(data: bytes, path: Path) -> str:
    """The bytes of a file as text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8."
        raise UserError(problem, "Save the file as UTF-8.") from None


def text_lines(path: Path, fix: str = READABLE) -> list[str]:
    """The lines of a text file without blanks around them; empty ones are passed over."""
    return [stripped for line in read_text(path, fix).splitlines() if (stripped := line.strip())]


def read_json(path: Path, shape: type[T], what: str = "the JSON that was expected", fix: str = READABLE) -> T:
    """The one value that a JSON file holds; `what` says for errors what it should be."""
    return decode_json(read_bytes(path, fix), path, shape, what, fix)


def decode_json(data: bytes, path: Path, shape: type[T], what: str, fix: str) -> T:
    """The one value that a file's bytes hold."""
    try:
        data.decode()
        return msgspec.json.decode(data.removeprefix(UTF8_MARK), type=shape)
    except DECODING_ERRORS as error:
        raise UserError(f"{path} is not {what}: {in_words(error, whole='it')}", fix) from None


def read_lines(path: Path, shape: type[T], fix: str = CORRECT) -> list[T]:
    """The records of a file of JSON lines; an error names the first line that is none."""
    return [record for _, record in numbered_lines(path, shape, fix)]


def numbered_lines(path: Path, shape: type[T], fix: str = CORRECT) -> list[tuple[int, T]]:
    """Records with the number of their line, from 1; empty lines hold none."""
    out = []
    for number, found in each_line(read_text(path, "Give a file of JSON lines."), shape):
        if isinstance(found, BadLine):
            raise UserError(f"{path}, line {number}: {found}", fix)
        out.append((number, found))
    return out


class BadLine(str):
    """What is wrong with a line, in words."""


def each_line(text: str, shape: type[T]) -> Iterator[tuple[int, T | BadLine]]:
    """The number of each line that is not empty, with its record or what is wrong with it."""
    decoder = msgspec.json.Decoder(shape)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, decoder.decode(line)
            except DECODING_ERRORS as error:
                yield number, BadLine(in_words(error))


def bad_line(path: Path, number: int, problem: str) -> UserError:
    """The error for a line that decodes and yet cannot be right."""
    return UserError(f"{path}, line {number}: {problem.rstrip('.')}.", CORRECT)


# --- a decoder's complaint, in words ---------------------------------------------------------------------------------

_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]*)`(?: - at `\$(?P<at>.*)`)?$")
_PLACE = re.compile(r"^(?P<what>.*) - at `(?P<key>key in )?\$(?P<at>.*)`$")
_VALUE = re.compile(r"^Invalid enum value (?P<value>.*)$")
_TYPE = re.compile(r"^Expected `(?P<want>.*)`, got `(?P<got>.*)`$")
_JSON_TYPES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


def in_words(error: Exception, expected: Mapping[str, str] | None = None, whole: str = "the line") -> str:
    """A decoder's complaint in plain words. `expected` says what a field holds, `whole` what was decoded.

    >>> in_words(msgspec.ValidationError("Object missing required field `item`"))
    "the field 'item' is missing."
    """
    text = str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} is not UTF-8."
    if isinstance(error, RecursionError):
        return "lists or objects are nested too deeply."
    if match := _MISSING.match(text):
        where = f" in {match['at'].lstrip('.')}" if match["at"] else ""
        return f"the field {match['field']!r} is missing{where}."
    if match := _PLACE.match(text):
        names = [name for name in re.split(r"[.\[\]]+", match["at"]) if name and not name.isdigit() and name != "..."]
        name = names[-1] if names else ""
        what = repr(name) if name else "a value"
        want = (expected or {}).get(name)
        if value := _VALUE.match(match["what"]):
            return f"{what} is {value['value']}; expected {want or 'another value'}."
        if types := _TYPE.match(match["what"]):
            want = want or _type(types["want"])
            return f"{what} is {_type(types['got'])}; expected {want}."
        return f"{what}: {match['what']}."
    if types := _TYPE.match(text):
        return f"{whole} is {_type(types['got'])}; expected {_type(types['want'])}."
    if not isinstance(error, msgspec.ValidationError):
        return f"this is not valid JSON ({text.removeprefix('JSON is malformed: ')})."
    return f"{text}."


def _type(name: str) -> str:
    return " or ".join(_JSON_TYPES.get(one.strip(), one.strip()) for one in name.split("|"))


# --- locks -----------------------------------------------------------------------------------------------------------


@contextmanager
def locked(path: Path, flags: int = os.O_RDONLY, busy: UserError | None = None) -> Iterator[int]:
    """Hold the lock of a file or folder, as its open descriptor; where `busy` is given, do not wait but raise it."""
    descriptor = os.open(path, flags, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if busy is None else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            assert busy is not None
            raise busy from None
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def only_one(path: Path, problem: str, fix: str = "Wait for it to end, then run this again.") -> Iterator[None]:
    """Hold a file of this name while working, and remove it after; a second process is told the problem."""
    while True:
        try:
            with locked(path, os.O_RDWR | os.O_CREAT, UserError(problem, fix)) as descriptor:
                if not _names(path, descriptor):  # its last holder removed it meanwhile
                    continue
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return
        except OSError as error:
            if str(error.filename) != str(path):  # of the work, not of the lock
                raise
            raise UserError(f"{path.parent} cannot be written to: {error.strerror}.", "Make it writable.") from None


def _names(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
