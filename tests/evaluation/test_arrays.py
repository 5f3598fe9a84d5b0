"""Damaged arrays end in one error for people; whatever the bytes say, nothing else comes of them."""

from __future__ import annotations

import contextlib
import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import UserError
from veridical.evaluation.arrays import _array, _load


def npy(array: object) -> bytes:
    file = io.BytesIO()
    np.save(file, array)  # type: ignore[arg-type]
    return file.getvalue()


def headed(header: bytes, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


def shaped(shape: bytes) -> bytes:
    return headed(b"{'descr': '<f8', 'fortran_order': False, 'shape': %b, }\n" % shape, bytes(64))


def npz(member: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("answers.npy", member)
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        npy(np.float64(3)),
        npy(np.array([{}], object)),
        npy(np.zeros((3, 4)))[:-8],
        shaped(b"(10000000000000, 4)"),
        shaped(b"(10000000000000000000000, 4)"),
        shaped(b"(-1, 4)"),
        shaped(b"(True, 4)"),
        shaped(b"(3, 4"),
        headed(b"{[]: 1}"),
        headed(b"{'descr': '<f8'" + b"(" * 1000 + b"\n"),
        headed(b"\0\0"),
        npz(npy(np.zeros((3, 4)))),  # an archive in an archive
    ],
)
def test_bad_arrays(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="bad"):
        _array(Path("bad"), data)
    (tmp_path / "bad.npz").write_bytes(npz(data))
    with pytest.raises(UserError, match="bad"):
        _load(tmp_path / "bad.npz", 500)


def test_a_corrupt_archive(tmp_path: Path) -> None:
    data = bytearray(npz(npy(np.random.default_rng(0).random((500, 4)))))
    data[200:300] = bytes(100)
    (tmp_path / "bad.npz").write_bytes(data)
    with pytest.raises(UserError, match=r"bad\.npz is damaged"):
        _load(tmp_path / "bad.npz", 500)


WHOLE = npz(npy(np.arange(12.0).reshape(3, 4)), zipfile.ZIP_STORED)


@given(st.lists(st.tuples(st.integers(4, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_changed_bytes_give_an_array_or_an_error(changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, byte in changes:
        data[place] = byte
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "changed.npz").write_bytes(data)
        with contextlib.suppress(UserError):
            assert _load(Path(folder) / "changed.npz", 3)["answers"].dtype == np.float64
    with contextlib.suppress(UserError):
        assert _array(Path("changed"), bytes(data[WHOLE.index(b"\x93NUMPY") :])).dtype == np.float64


def test_an_archive_is_not_unpacked_beyond_what_its_questions_need(tmp_path: Path) -> None:
    (tmp_path / "bomb.npz").write_bytes(npz(npy(np.zeros((100_000, 4)))))
    assert (tmp_path / "bomb.npz").stat().st_size < 10_000
    with pytest.raises(UserError, match=r"unpacks to 3,200,\d+ bytes; 3 questions"):
        _load(tmp_path / "bomb.npz", 3)
