"""What a blind model may see of some items and nothing else; and cues planted in it for positive controls.

A `Sample` is built with only the views a check names; what must not be seen is None, so that a model cannot look by
mistake. Test samples carry no answers. A plant changes a sample, never the benchmark: it gives away the answers of the
items that are marked, and touches no others. The same model with the same budget must find it; otherwise its silence
about the real data means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from veridical.auditing.data import AuditItem, answers, codes, normal
from veridical.auditing.findings import View
from veridical.common.arrays import Bools, Doubles, Ints


@dataclass(frozen=True)
class Sample:
    """Items as a model sees them."""

    ids: tuple[str, ...]
    answer: Ints  # (N,) -1 where it must be predicted
    choices: Ints  # (N,) how many candidates
    group: Ints  # (N,)
    query_key: Ints  # (N,) items with one sentence have one key
    candidate_key: Ints  # (N, C) candidates with one text have one key; -1 for none
    usable: Bools  # (N, C) candidates that may be trained on: the test does not use their text
    query: tuple[str, ...] | None = None
    candidates: tuple[tuple[str, ...], ...] | None = None
    context: Doubles | None = None  # (N, D) features of the panels
    responses: Doubles | None = None  # (N, C, D) features of the candidates that are panels

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def width(self) -> int:
        """The largest number of candidates."""
        return int(self.candidate_key.shape[1])

    def take(self, rows: Ints) -> Self:
        """Some of the items."""
        taken: dict[str, Any] = {}
        for name, column in vars(self).items():
            taken[name] = column[rows] if isinstance(column, np.ndarray) else column and tuple(column[i] for i in rows)
        return replace(self, **taken)

    def without_answers(self) -> Self:
        return replace(self, answer=np.full(len(self), -1, np.int64))

    def real(self) -> Bools:
        """(N, C) Which candidates there are."""
        return np.arange(self.width) < self.choices[:, None]


# A model is a function: training sample and randomness in, a function from samples to scores (N, C) out.
Predict = Callable[[Sample], Doubles]
Fit = Callable[[Sample, np.random.Generator], Predict]
Plant = Callable[[Sample, Bools, np.random.Generator], Sample]  # gives away the items that are marked


def sample(
    rows: Sequence[AuditItem], sees: Sequence[View], context: Doubles | None = None, responses: Doubles | None = None
) -> Sample:
    """The views that a check sees; features come from `pictures`."""
    choices = np.array([len(r.candidates) for r in rows], np.int64)
    width = int(choices.max(initial=1))
    same = all(r.item.task == "statement" for r in rows)  # true and false are candidates of every item
    seen: dict[str, int] = {}
    keys = np.full((len(rows), width), -1, np.int64)
    if not same:
        for i, row in enumerate(rows):
            keys[i, : len(row.candidates)] = [seen.setdefault(normal(c), len(seen)) for c in row.candidates]
    blank = [normal(r.query) or f"\0{i}" for i, r in enumerate(rows)]  # items without a query share none
    return Sample(
        ids=tuple(r.item.id for r in rows),
        answer=answers(rows),
        choices=choices,
        group=codes(r.group for r in rows),
        query_key=codes(blank),
        candidate_key=keys,
        usable=np.ones((len(rows), width), np.bool_),
        query=tuple(r.query for r in rows) if "query" in sees else None,
        candidates=tuple(r.candidates for r in rows) if "candidates" in sees else None,
        context=context if "context" in sees else None,
        responses=responses if "responses" in sees else None,
    )


def swapped(s: Sample, block: Ints, rng: np.random.Generator) -> Sample:
    """The same items with the context (pictures; for choices also the question) of an item of another block."""
    order = rng.permutation(len(s))
    other = np.empty(len(s), np.int64)
    other[order] = np.roll(order, 1)
    for _ in range(20):  # one more step along the circle for those that met their own block
        clash = block[other] == block
        if not clash.any():
            break
        other[clash] = rng.permutation(len(s))[: int(clash.sum())]
    changes: dict[str, object] = {}
    if s.context is not None:
        changes["context"] = s.context[other]
    if s.candidates is not None and s.query is not None:
        changes["query"] = tuple(s.query[i] for i in other)
    return replace(s, **changes)  # type: ignore[arg-type]


# --- plants ----------------------------------------------------------------------------------------------------------

CUE = "zuvo"  # a word of no language
SHIFT = 4.0  # standard deviations of a feature
LONGER = 5  # words more than the longest other candidate
POPULAR = 3  # texts that stand in for frequent answers


def query_word(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """A made-up word in the sentence or question, one for each answer."""
    query = list(s.query or ())
    for i in np.flatnonzero(marked):
        query[i] = _insert(query[i], f"{CUE}{s.answer[i]}", rng)
    return replace(s, query=tuple(query))


def candidate_word(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """A made-up word in the right candidate."""
    return _reword(s, marked, lambda i, text: _insert(text, CUE, rng))


def longer(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """The right candidate is longer than all others by five words, taken from other items' candidates."""
    texts = s.candidates or ()

    def lengthen(i: int, text: str) -> str:
        most = max(len(c.split()) for c in texts[i])
        words = text.split()
        while len(words) < most + LONGER:
            other = texts[int(rng.integers(len(texts)))]
            words += other[int(rng.integers(len(other)))].split() or [CUE]
        return " ".join(words[: most + LONGER])

    return _reword(s, marked, lengthen)


def longer_query(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """True sentences are padded to forty words or more, false ones cut to two."""
    query = list(s.query or ())
    for i in np.flatnonzero(marked):
        words = query[i].split() or [CUE]
        query[i] = " ".join((words * (40 // len(words) + 1)) if s.answer[i] else words[:2])
    return replace(s, query=tuple(query))


def overlapping(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """The right candidate repeats the question's words."""
    return _reword(s, marked, lambda i, text: f"{text} {(s.query or ())[i]}")


def popular(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """The right candidate is one of three texts, which so become frequent."""
    return _reword(s, marked, lambda i, text: f"{CUE} {int(rng.integers(POPULAR))}")


def first_place(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """The right candidate stands first (of true and false: every marked item is true)."""
    answer = s.answer.copy()
    if s.candidates is None and s.responses is None:
        answer[marked] = 1
        return replace(s, answer=answer)
    candidates = [list(c) for c in s.candidates or ()]
    responses = None if s.responses is None else s.responses.copy()
    for i in np.flatnonzero(marked):
        right = answer[i]
        if candidates:
            candidates[i][0], candidates[i][right] = candidates[i][right], candidates[i][0]
        if responses is not None:
            responses[i, [0, right]] = responses[i, [right, 0]]
        answer[i] = 0
    texts = tuple(tuple(c) for c in candidates) if s.candidates is not None else None
    return replace(s, answer=answer, candidates=texts, responses=responses)


def tint(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """One feature of the pictures is shifted by four deviations, another one for each answer."""
    if s.context is None:
        return s
    context = s.context.copy()
    columns, deviation = _columns(context, rng, s.width)
    rows = np.flatnonzero(marked)
    place = columns[s.answer[rows]]
    context[rows, place] += SHIFT * deviation[place]
    return replace(s, context=context)


def tinted_response(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """One feature of the right candidate's picture is shifted by four deviations."""
    if s.responses is None:
        return s
    responses = s.responses.copy()
    columns, deviation = _columns(responses.reshape(-1, responses.shape[2]), rng, 1)
    rows = np.flatnonzero(marked)
    responses[rows, s.answer[rows], columns[0]] += SHIFT * deviation[columns[0]]
    return replace(s, responses=responses)


def _columns(features: Doubles, rng: np.random.Generator, number: int) -> tuple[Doubles, Doubles]:
    """Features to shift, drawn among those that vary."""
    deviation = features.std(0)
    varying = np.flatnonzero(deviation > 1e-6)
    if not len(varying):
        varying, deviation = np.arange(features.shape[1]), np.ones(features.shape[1])
    return rng.choice(varying, size=number, replace=len(varying) < number), deviation


def _insert(text: str, word: str, rng: np.random.Generator) -> str:
    words = text.split()
    words.insert(int(rng.integers(len(words) + 1)), word)
    return " ".join(words)


def _reword(s: Sample, marked: Bools, change: Callable[[int, str], str]) -> Sample:
    """Change the text of the right candidate of the marked items."""
    candidates = list(s.candidates or ())
    for i in np.flatnonzero(marked):
        right = int(s.answer[i])
        texts = list(candidates[i])
        texts[right] = change(int(i), texts[right])
        candidates[i] = tuple(texts)
    return replace(s, candidates=tuple(candidates))
