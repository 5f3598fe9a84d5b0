"""VCR prediction arrays: one row per question of the split, in the order of its file.

Arrays carry no names, so their length must be exactly the number of questions. Rationale scores come for the right
answer alone, as the published training code saves them (N, 4), or for each answer assumed (N, 4, 4).
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

import numpy as np

from veridical.common.arrays import BAD_HEADER, Doubles, Ints
from veridical.common.files import read_bytes, refuse_endless
from veridical.errors import UserError
from veridical.evaluation.grade import AnswerKey
from veridical.evaluation.predictions import Predictions, question_predictions

_FIX = (
    "Give answers (N, 4), or all stages (N, 5, 4) or (N, 20), as .npy; or `answers` (N, 4) and `rationales` (N, 4) or "
    "(N, 4, 4) as .npz or as two .npy files in a folder."
)

HEADERS = 1 << 16  # bytes
BYTES_OF_A_QUESTION = 16 * 20  # a score for each of twenty choices, in NumPy's widest type

# What the standard library says of a damaged archive: also of encryption and of methods that it does not know.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, MemoryError)


def are_arrays(path: Path) -> bool:
    """Whether the path holds arrays: NumPy's own formats by their first bytes, or a folder."""
    if path.is_dir():
        return True
    refuse_endless(path)
    try:
        with path.open("rb") as file:
            start = file.read(6)
    except OSError:
        return False
    return start == b"\x93NUMPY" or start[:4] == b"PK\x03\x04"


def read_arrays(path: Path, key: AnswerKey) -> Predictions:
    """Read arrays and name their rows by the questions of the split."""
    questions = key.questions()
    if not len(questions):  # a release with only the answer stage
        questions = np.arange(len(key.ids))
    parts = _load(path, len(questions))
    scores = _stages(path, parts, len(questions), key.answer[questions])
    names = key.ids.take(questions).to_pylist()
    read = question_predictions(path, "vcr arrays", names, scores, np.arange(1, len(names) + 1))
    keep = np.zeros(len(read.line), np.bool_)  # stages that no array is about are missing, not unreadable
    stage = np.tile(np.arange(-1, 4), len(names))
    if "rationales" in parts or "all" in parts:
        keep |= stage >= 0
    if "answers" in parts or "all" in parts:
        keep |= stage < 0
    return read.take(np.flatnonzero(keep))


def _load(path: Path, count: int) -> dict[str, Doubles]:
    if path.is_dir():
        names = [name for name in ("answers", "rationales") if (path / f"{name}.npy").is_file()]
        if not names:
            raise UserError(f"{path} is a folder without answers.npy or rationales.npy.", _FIX)
        return {name: _array(path / f"{name}.npy", read_bytes(path / f"{name}.npy")) for name in names}
    data = read_bytes(path)
    if data[:4] != b"PK\x03\x04":
        array = _array(path, data)
        return {"answers" if array.ndim == 2 and array.shape[1] == 4 else "all": array}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > (most := HEADERS + BYTES_OF_A_QUESTION * count):
                problem = f"{path} unpacks to {unpacked:,} bytes; {count:,} questions need at most {most:,}."
                raise UserError(problem, _FIX)
            members = {member.removesuffix(".npy"): archive.read(member) for member in archive.namelist()}
    except _DAMAGE as error:
        raise UserError(f"{path} is damaged: {error}.", _FIX) from None
    if not members or not members.keys() <= {"answers", "rationales"}:
        raise UserError(f"{path} holds the arrays {', '.join(sorted(members)) or 'none'}.", _FIX)
    return {name: _array(path, member) for name, member in members.items()}


def _array(path: Path, data: bytes) -> Doubles:
    try:
        array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except BAD_HEADER as error:
        raise UserError(f"{path} is not a plain NumPy array: {str(error).rstrip('.')}.", _FIX) from None
    if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
        raise UserError(f"{path} holds {array.dtype} values where scores were expected.", _FIX)
    if array.ndim == 0:
        raise UserError(f"{path} holds a single number.", _FIX)
    return np.asarray(array, np.float64)


def _stages(path: Path, parts: dict[str, Doubles], count: int, right: Ints) -> Doubles:
    """All stages as (N, 5, 4); what is not there is NaN, which nothing asks for or which is counted as unreadable."""
    scores = np.full((count, 5, 4), np.nan)
    for name, array in parts.items():
        if len(array) != count:
            raise UserError(
                f"{path}: {name} has {len(array):,} rows, and the split has {count:,} questions.",
                "Arrays carry no names: give exactly one row per question, in the order of the split's file.",
            )
        shape = array.shape[1:]
        if name == "all" and shape in {(5, 4), (20,)}:
            scores[:] = array.reshape(count, 5, 4)
        elif name == "answers" and shape == (4,):
            scores[:, 0] = array
        elif name == "rationales" and shape == (4, 4):
            scores[:, 1:] = array
        elif name == "rationales" and shape == (4,):
            known = np.flatnonzero(right >= 0)
            scores[known, 1 + right[known]] = array[known]
        else:
            raise UserError(f"{path}: {name} has shape {array.shape}.", _FIX)
    return scores
