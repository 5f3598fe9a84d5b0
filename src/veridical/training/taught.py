"""Which right pairs of texts a run was taught, by fingerprints: a matching refuses a model that knows its answers.

RUN/taught.npy holds them, of everything that a model of texts alone was trained or validated on, by any of its trials
and by the run that it continued from. Texts are compared by their words: a file, and the benchmark that was made of it,
have the same.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from veridical.common.files import write_whole
from veridical.errors import UserError
from veridical.matching.items import plain
from veridical.records import Text
from veridical.zoo.architecture import Architecture, Example

TAUGHT = "taught.npy"
READS = {"text", "candidates"}  # what a model of pairs of texts sees
Prints = npt.NDArray[np.uint64]


def reads_pairs(architecture: Architecture) -> bool:
    """Whether a model reads question and response, and nothing else."""
    return {*architecture.sees} == READS


def fingerprints(pairs: Iterable[tuple[str, str]]) -> Prints:
    """One number for each different pair, in order.

    >>> a, b = fingerprints([("Is she sad?", "Yes.")]), fingerprints([("is she sad ?", "yes")])
    >>> a == b
    array([ True])
    """
    return np.unique(np.fromiter((_print(*pair) for pair in pairs), np.uint64))


def _print(one: str, other: str) -> int:
    said = "\0".join(" ".join(re.findall(r"\w+", text.lower())) or text for text in (one, other))
    return int.from_bytes(hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def remember(folder: Path, examples: Sequence[Example], before: Path | None = None) -> None:
    """Keep which pairs of these are right, beside those of the run that is continued from, where that says it."""
    if before is not None and not (before / TAUGHT).exists():
        return
    pairs = []
    for example in examples:
        answer, panel = example.item.answer, example.panels[0] if len(example.panels) == 1 else None
        right = None if answer is None else example.item.candidates[answer]
        if isinstance(right, Text) and example.query is not None:
            pairs.append((plain(example.query, panel), plain(right, panel)))
    known = fingerprints(pairs) if before is None else np.union1d(fingerprints(pairs), _read(before))
    data = io.BytesIO()
    np.save(data, known, allow_pickle=False)
    write_whole(folder / TAUGHT, data.getvalue())


def refuse(run: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """An error where a run was taught some of these pairs: it knows which response is right."""
    found = int(np.isin(fingerprints(pairs), _read(run)).sum())
    if found:
        raise UserError(
            f"{run} was trained on {found:,} of these {len(pairs):,} questions with their answers: it knows the right "
            "responses.",
            "Train one on other data, such as pairs that entail each other.",
        )


def _read(run: Path) -> Prints:
    path = run / TAUGHT
    try:
        found = np.load(path, allow_pickle=False)
        if found.dtype != np.uint64 or found.ndim != 1:
            raise ValueError(f"it holds {found.dtype}, {found.ndim}-dimensional")
    except FileNotFoundError:
        raise UserError(
            f"{run} does not say what it was trained on ({TAUGHT} is missing).", "Train it again, in a new folder."
        ) from None
    except (ValueError, EOFError, OSError) as error:
        raise UserError(f"{path} is damaged: {error}.", "Train the run again.") from None
    return np.asarray(found, np.uint64)
