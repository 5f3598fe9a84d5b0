"""Lines of JSON: decoded at once, and every kind of damage found at its line."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import UserError
from veridical.formats import lines as module
from veridical.formats.lines import Lines, Problems, TextFile, decode_lines, find_duplicates, read_text


class Record(msgspec.Struct):
    name: str
    size: int = 0
    kind: msgspec.UnsetType | str = msgspec.UNSET


DECODER = msgspec.json.Decoder(Record)


def text(data: bytes) -> TextFile:
    return TextFile("file.json", data, module._line_starts(data))


def decode(data: bytes, keep_going: bool = False) -> tuple[Lines[Record], Problems]:
    problems = Problems(keep_going)
    return decode_lines(text(data), DECODER, problems, {"size": "a number of pixels"}), problems


def raw_bytes(lines: Lines[Record]) -> bytes:
    return b"".join(lines.raw()["line"].to_pylist())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"name": "b", "size"', "this is not valid JSON"),
        (b'{"name": "b"} {"name": "c"}', "this is not valid JSON"),
        (b"[1]", "the line is a list; expected an object."),
        (b'{"size": 1}', "the field 'name' is missing."),
        (b'{"name": "b", "size": "big"}', "'size' is a text; expected a number of pixels."),
        (b'{"name": 4}', "'name' is a whole number; expected a text."),
        (b'{"name": "\xff"}', "byte 11 is not UTF-8."),
        (b'{"name": "b", "other": "\xe9"}', "byte 25 is not UTF-8."),
        (b'{"name": "\\ud800"}', "this is not valid JSON"),
        (
            b'{"name": "b", "other": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            "lists or objects are nested too deeply.",
        ),
    ],
)
def test_a_bad_line_is_named_or_left_out(line: bytes, problem: str) -> None:
    data = b'{"name": "a"}\n' + line + b'\n{"name": "z"}\n'
    with pytest.raises(UserError) as error:
        decode(data)
    assert error.value.problem.startswith(f"file.json, line 2: {problem}")
    assert "--keep-going" in error.value.fix
    lines, problems = decode(data, keep_going=True)
    assert [r.name for r in lines.records] == ["a", "z"]
    assert lines.numbers.tolist() == [0, 2]
    assert [(left.file, left.line) for left in problems.left_out] == [("file.json", 2)]
    assert raw_bytes(lines) == b'{"name": "a"}\n{"name": "z"}\n'


def test_a_byte_order_mark_is_named() -> None:
    data = b'\xef\xbb\xbf{"name": "a"}\n{"name": "b"}\n'
    with pytest.raises(UserError, match=r"file.json, line 1: the file starts with a UTF-8 byte order mark"):
        decode(data)
    lines, problems = decode(data, keep_going=True)
    assert [r.name for r in lines.records] == ["b"]
    assert len(problems.left_out) == 1
    assert raw_bytes(lines) == b'{"name": "b"}\n'


def test_utf16_is_named() -> None:
    data = '{"name": "a"}\n'.encode("utf-16")
    with pytest.raises(UserError, match="line 1: the file starts with UTF-16"):
        decode(data)
    assert decode(data, keep_going=True)[0].records == []


def test_empty_lines_and_line_endings_are_kept() -> None:
    data = b'{"name": "a"}\r\n\r\n  \n{"name": "b"}\n\n{"name": "\xc3\xa9"}'
    lines, _ = decode(data)
    assert [r.name for r in lines.records] == ["a", "b", "é"]
    assert lines.numbers.tolist() == [0, 3, 5]
    assert raw_bytes(lines) == data


def test_a_record_over_two_lines_is_refused() -> None:
    with pytest.raises(UserError, match=r"file.json, line 1: this is not valid JSON"):
        decode(b'{"name":\n"a"}\n')


@given(
    st.lists(st.tuples(st.text(max_size=20), st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"])), max_size=60),
    st.booleans(),
    st.integers(1, 200),
)
def test_lines_are_the_file_however_it_is_cut(names: list[tuple[str, str]], last: bool, chunk: int) -> None:
    data = "".join(json.dumps({"name": n}, ensure_ascii=False) + end for n, end in names)
    encoded = (data if last else data.rstrip("\r\n ")).encode()
    before = module._CHUNK_BYTES
    module._CHUNK_BYTES = chunk
    try:
        lines, _ = decode(encoded)
    finally:
        module._CHUNK_BYTES = before
    assert [r.name for r in lines.records] == [n for n, _ in names]
    assert raw_bytes(lines) == encoded
    assert [json.loads(lines.file.line(int(k)))["name"] for k in lines.numbers] == [n for n, _ in names]


def test_duplicates_name_the_first_line() -> None:
    assert find_duplicates(["a", "b", "a", "a"], np.array([0, 2, 5, 9])) == {
        2: "identifier 'a' is already on line 1.",
        3: "identifier 'a' is already on line 1.",
    }


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"x.json cannot be read: No such file"):
        read_text(tmp_path / "x.json", "x.json")
