"""Cues planted for positive controls: each gives away the answers of the items that are marked, and touches no others.

The same model with the same budget must find them; otherwise its silence about the real data means nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from veridical.auditing.sample import Sample
from veridical.common.arrays import Bools, Doubles

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
