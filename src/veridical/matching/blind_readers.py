"""Machines that try to find the right choice: from one response alone, from all four, with the question, by relevance.

All are the same small network, one hidden layer, trained with a softmax over the choices of a question; they differ in
what they may see. What a machine gets right without the question is what the choices give away. Machines are trained
and tested on different folds: within a fold a response that was right in training is surely wrong in a test.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Bools, Doubles, Floats, Ints, one_thread
from veridical.common.intervals import Estimate
from veridical.errors import UserError

View = Literal["alone", "all", "question"]
Vectors = Callable[[Sequence[str]], Floats]  # texts -> (N, D), each of length 1

VIEWS: dict[View, str] = {
    "alone": "each response alone",
    "all": "all responses",
    "question": "all responses and the question",
}
WORD_COLUMNS = 256  # hashed words and pairs of words beside the embedding, so that rare wordings can be learned
WIDEST = 512  # numbers of a vector that are taken as they are
PROJECTED = 128
HIDDEN = 96
EPOCHS = 6
BATCH = 256  # questions
RATE = 1e-3
DECAY = 1e-4  # weight decay per step, times the rate
RESAMPLES = 2000
TESTED = 0.3  # share of the folds that machines are tested on
MOST = 20_000  # questions that are looked at
SMALLEST = 1e-6
DRAWS = 2000  # of a random response, until it is another text that fits


@dataclass(frozen=True)
class Choices:
    """Questions with their choices, the right one of each, and what must not be on both sides."""

    ids: list[str]
    questions: list[str]
    candidates: list[tuple[str, ...]]  # all of one length
    answer: Ints
    groups: list[str]  # what is resampled together
    folds: list[str]  # responses are shared within a fold, so a fold is never trained and tested on

    def __len__(self) -> int:
        return len(self.questions)

    def take(self, rows: Ints) -> Choices:
        texts = [[column[i] for i in rows] for column in (self.ids, self.questions, self.groups, self.folds)]
        ids, questions, groups, folds = texts
        return Choices(ids, questions, [self.candidates[i] for i in rows], self.answer[rows], groups, folds)


def accuracy(right: npt.ArrayLike, groups: Sequence[str], seed: int = 0) -> Estimate:
    """The mean of `right` (ties count in parts) and a bootstrap over groups."""
    hits = np.asarray(right, np.float64)
    code = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1]
    total, count = np.bincount(code, weights=hits), np.bincount(code)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(count), np.full(len(count), 1 / len(count)), size=RESAMPLES)
    low, high = np.quantile((drawn @ total) / np.maximum(drawn @ count, 1), (0.025, 0.975))
    return Estimate(float(hits.mean()), float(low), float(high))


def sides(folds: Sequence[str], seed: int) -> tuple[Ints, Bools]:
    """The rows that are looked at, whole folds while there is room, and which of them are tested on.

    Which folds these are depends on the seed. With one fold everything is tested on, and nothing trained.
    """
    names = sorted(set(folds))
    sizes = Counter(folds)
    order = [names[k] for k in np.random.default_rng([seed, 8]).permutation(len(names))]
    total = np.cumsum([sizes[name] for name in order])
    order = order[: max(2, int((total <= MOST).sum()))]
    held = set(order[: max(1, round(TESTED * len(order)))])
    rows = np.array([i for i, fold in enumerate(folds) if fold in set(order)], np.int64)
    return rows, np.array([folds[i] in held for i in rows])


def random_wrong(
    texts: Ints,
    folds: Sequence[str],
    wrong: int,
    rng: np.random.Generator,
    fits: Callable[[Ints, Ints], Bools] | None = None,
) -> Ints:
    """(wrong, N) wrong responses drawn at random from the fold, four different texts a question.

    `fits(questions, responses)` says which may stand beside which, where tags decide; a matched set is proof that
    every question has enough of them.
    """
    out = np.zeros((wrong, len(texts)), np.int64)
    names = np.asarray(folds, dtype=object)
    for fold in sorted(set(folds)):
        here = np.flatnonzero(names == fold)
        taken = texts[here][:, None]  # (n, k)
        for k in range(wrong):
            drawn = np.zeros(len(here), np.int64)
            open_ = np.arange(len(here))
            for _ in range(DRAWS):
                if not len(open_):
                    break
                drawn[open_] = here[rng.integers(len(here), size=len(open_))]
                bad = (taken[open_] == texts[drawn[open_]][:, None]).any(1)
                if fits is not None:
                    bad |= ~fits(here[open_], drawn[open_])
                open_ = open_[bad]
            if len(open_):
                raise UserError(
                    f"Fold {fold!r}: {len(open_):,} questions have too few other responses to draw from.",
                    "Use larger folds, or more data.",
                )
            out[k, here] = drawn
            taken = np.concatenate([taken, texts[drawn][:, None]], 1)
    return out


def graded(scores: npt.ArrayLike, answer: Ints) -> Doubles:
    """How right each question is: a right choice that shares the highest score counts its share.

    >>> graded([[1, 0, 0, 0], [1, 1, 0, 0]], np.array([0, 1])).tolist()
    [1.0, 0.5]
    """
    found = np.asarray(scores, np.float64)
    best = found >= found.max(1, keepdims=True)
    return np.asarray(best[np.arange(len(found)), answer] / best.sum(1), np.float64)


def by_machine(train: Choices, test: Choices, view: View, vectors: Vectors, rng: np.random.Generator) -> Doubles:
    """Train a machine that sees `view` and give its scores of the test questions' choices: (N, C)."""
    return trained_machine(train, view, vectors, rng)(test)


def trained_machine(
    train: Choices, view: View, vectors: Vectors, rng: np.random.Generator, steps: int = 0
) -> Callable[[Choices], Doubles]:
    """A machine that sees `view`, as a function from choices to scores; where there are few, it takes so many steps."""
    see = _Eyes(vectors, view)
    machine = Machine(see.width, rng)
    with one_thread():
        see.learn(train)
        machine.fit(see, train, rng, steps)

    def read(test: Choices) -> Doubles:
        with one_thread():
            see.learn(test)
            return machine.scores(see, test)

    return read


def narrow(vectors: Vectors) -> Vectors:
    """The same vectors, or a random projection of them where they are very wide (hashed words): keeps distances."""
    size = vectors([""]).shape[1]
    if size <= WIDEST:
        return vectors
    project = np.random.default_rng(0).standard_normal((size, PROJECTED)).astype(np.float32) / np.sqrt(PROJECTED)
    return lambda texts: np.asarray(vectors(texts) @ project, np.float32)


class _Eyes:
    """The numbers that a machine sees of each choice, for a batch of questions: (B, C, width)."""

    def __init__(self, vectors: Vectors, view: View) -> None:
        self.vectors, self.view = narrow(vectors), view
        self._places: dict[str, int] = {}  # each text is read once
        size = self.vectors([""]).shape[1]
        own = size + WORD_COLUMNS + 1
        self._read = np.zeros((0, own), np.float32)
        self.width = own + {"alone": 0, "all": 2 * size + 5, "question": 5 * size + 8}[view]

    def learn(self, choices: Choices) -> None:
        """Read all texts that will be looked at: the vector, the hashed words and the number of words of each."""
        asked = choices.questions if self.view == "question" else []
        texts = [*(text for texts in choices.candidates for text in texts), *asked]
        new = [text for text in dict.fromkeys(texts) if text not in self._places]
        if not new:
            return
        self._places.update((text, len(self._read) + k) for k, text in enumerate(new))
        lengths = np.array([[len(text.split())] for text in new], np.float32)
        self._read = np.concatenate([self._read, np.concatenate([self.vectors(new), hashed_words(new), lengths], 1)])

    def _rows(self, texts: Iterable[str]) -> Floats:
        """(N, D + WORD_COLUMNS + 1) what was read of each text."""
        return self._read[[self._places[text] for text in texts]]

    def __call__(self, choices: Choices) -> Floats:
        self.learn(choices)
        number = len(choices.candidates[0])
        seen = self._rows(text for texts in choices.candidates for text in texts).reshape(len(choices), number, -1)
        r, words, lengths = np.split(seen, [seen.shape[2] - WORD_COLUMNS - 1, seen.shape[2] - 1], axis=2)  # (B, C, ...)
        parts = [r, words, np.log1p(lengths)]
        if self.view != "alone":
            parts += _among(r, lengths)
        if self.view == "question":
            q = np.broadcast_to(self._rows(choices.questions)[:, None, : r.shape[2]], r.shape)
            near = q * r
            dot = near.sum(2, keepdims=True)
            parts += [q, near, np.abs(q - r), dot, dot - dot.mean(1, keepdims=True), _rank(dot)]
        out, begin = np.empty((len(choices), number, self.width), np.float32), 0
        for part in parts:
            end = begin + part.shape[2]
            scale = np.sqrt(part.shape[2]) if part.shape[2] > 8 else 1.0
            np.multiply(part, np.float32(scale), out=out[:, :, begin:end])
            begin = end
        return out


def _among(r: Floats, lengths: Floats) -> list[Floats]:
    """How each choice stands among the others: their mean, its product with that, similarities, length."""
    number = r.shape[1]
    others = (r.sum(1, keepdims=True) - r) / (number - 1)  # (B, C, D)
    near = np.einsum("bcd,bed->bce", r, r)  # (B, C, C)
    near[:, np.arange(number), np.arange(number)] = -1
    most = near.max(2, keepdims=True)
    mean = (near.sum(2, keepdims=True) + 1) / (number - 1)
    return [others, r * others, most, mean, _rank(mean), lengths - lengths.mean(1, keepdims=True), _rank(lengths)]


def _rank(values: Floats) -> Floats:
    """(B, C, 1) the share of the other choices below each, ties counting half."""
    v = values[..., 0]
    below = (v[:, :, None] > v[:, None, :]).sum(2) + 0.5 * ((v[:, :, None] == v[:, None, :]).sum(2) - 1)
    return np.asarray(below / max(v.shape[1] - 1, 1), np.float32)[..., None]


def hashed_words(texts: Sequence[str]) -> Floats:
    """(N, WORD_COLUMNS) which words and pairs of words occur, hashed, each row of length 1."""
    out = np.zeros((len(texts), WORD_COLUMNS), np.float32)
    for row, text in enumerate(texts):
        words = text.lower().split()
        for gram in [*words, *(" ".join(two) for two in pairwise(words))]:
            code = zlib.crc32(gram.encode())
            out[row, code % WORD_COLUMNS] += 1 if code >> 31 else -1
    norms = np.linalg.norm(out, axis=1, keepdims=True)
    return np.asarray(out / np.where(norms > 0, norms, 1), np.float32)


class Machine:
    """One hidden layer over what is seen of a choice; one score per choice; softmax over the choices; Adam."""

    def __init__(self, width: int, rng: np.random.Generator) -> None:
        self.parameters = [
            (rng.standard_normal((width, HIDDEN)) * 0.5 / np.sqrt(width)).astype(np.float32),
            np.zeros(HIDDEN, np.float32),
            (rng.standard_normal(HIDDEN) / np.sqrt(HIDDEN)).astype(np.float32),
        ]
        self._moments = [(np.zeros_like(p), np.zeros_like(p)) for p in self.parameters]
        self._steps = 0

    def fit(self, see: Callable[[Choices], Floats], train: Choices, rng: np.random.Generator, steps: int = 0) -> None:
        """Train on most folds; keep the epoch that does best on the rest. Few choices make `steps` smaller batches."""
        names = np.array(sorted(set(train.folds)), dtype=object)
        held = set(rng.permutation(names)[: max(1, len(names) // 8)].tolist()) if len(names) > 2 else set()
        inside = np.array([fold not in held for fold in train.folds])
        rows, out = np.flatnonzero(inside), train.take(np.flatnonzero(~inside))
        best, kept = np.inf, [p.copy() for p in self.parameters]
        size = min(BATCH, max(16, len(rows) // 16)) if steps else BATCH
        for _ in range(max(EPOCHS, steps * size // max(len(rows), 1))):
            order = rng.permutation(rows)
            for start in range(0, len(order), size):
                batch = train.take(order[start : start + size])
                self._step(see(batch), batch.answer)
            if held:
                loss = self._loss(see, out)
                if loss < best:
                    best, kept = loss, [p.copy() for p in self.parameters]
        if held:
            self.parameters = kept

    def scores(self, see: Callable[[Choices], Floats], test: Choices) -> Doubles:
        """(N, C)"""
        parts = []
        for start in range(0, len(test), BATCH):
            x = see(test.take(np.arange(start, min(start + BATCH, len(test)))))
            parts.append(self._forward(x)[1].astype(np.float64))
        return np.asarray(np.round(np.concatenate(parts), 6), np.float64)  # equal texts get equal scores

    def _forward(self, x: Floats) -> tuple[Floats, Floats]:
        first, bias, last = self.parameters
        hidden = np.maximum(x @ first + bias, 0)  # (B, C, H)
        return hidden, hidden @ last  # (B, C)

    def _loss(self, see: Callable[[Choices], Floats], choices: Choices) -> float:
        z = self.scores(see, choices)
        z = z - z.max(1, keepdims=True)
        return float((np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), choices.answer]).mean())

    def _step(self, x: Floats, answer: Ints) -> None:
        first, _, last = self.parameters
        hidden, z = self._forward(x)
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        p[np.arange(len(p)), answer] -= 1
        p[np.abs(p) < SMALLEST] = 0  # numbers near zero are slow, and teach nothing
        back = p / len(p)  # (B, C)
        g_last = np.einsum("bch,bc->h", hidden, back)
        g_hidden = (back[..., None] * last) * (hidden > 0)  # (B, C, H)
        flat = g_hidden.reshape(-1, HIDDEN)
        self._adam([x.reshape(-1, x.shape[2]).T @ flat, flat.sum(0), g_last], first.shape[0])

    def _adam(self, gradients: Sequence[Floats], width: int) -> None:
        self._steps += 1
        correct = np.sqrt(1 - 0.999**self._steps) / (1 - 0.9**self._steps)
        for p, g, (m, v) in zip(self.parameters, gradients, self._moments, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= (RATE * correct * m / (np.sqrt(v) + 1e-8) + RATE * DECAY * p).astype(np.float32)
