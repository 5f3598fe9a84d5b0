"""Cross-encoders as re-scorers: a model that reads both texts together judges each query's shortlist.

P_rel is fine-tuned on the data (VCR, footnote 6), cross-fitted: a fold's pairs are scored by a copy that was trained on
other folds. P_sim is a checkpoint trained on entailment or paraphrases elsewhere. Both are calibrated like the models
that made the shortlist, so that pairs inside and outside of it can be compared. The model itself is handed in: anything
with `score` and `trained` will do (`encoders.crossencoders` has the one for `transformers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from veridical.common.arrays import Floats, Ints
from veridical.matching.assignment.problem import PairScores, log_sigmoid
from veridical.matching.scores.fit import calibrate_similarity, parts_of
from veridical.matching.scores.models import Calibration, calibrate, random_partners

if TYPE_CHECKING:
    from veridical.matching.scores.models import PairModel
    from veridical.matching.stages import Models, Responses, StageOptions

Triples = tuple[Ints, Ints, Floats]  # rows, columns, log-probabilities

BLOCK = 512  # queries
HELD_OUT = 2000  # pairs that a calibration looks at


class Reranker(Protocol):
    """A model of pairs of texts."""

    @property
    def name(self) -> str: ...

    def score(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """The log-odds that each pair belongs together, uncalibrated."""

    def trained(self, pairs: Sequence[tuple[str, str]], labels: Sequence[int], seed: int) -> Reranker:
        """A copy fine-tuned on pairs that do (1) and do not (0) belong together."""


@runtime_checkable
class Guarded(Protocol):
    """A model of pairs that knows what it was taught."""

    def refuse(self, pairs: Sequence[tuple[str, str]]) -> None:
        """An error where it was taught some of these questions with their right responses."""


@dataclass(frozen=True)
class Overridden:
    """A `PairScores` with some pairs replaced by others' log-probabilities."""

    base: PairScores
    rows: Ints
    columns: Ints
    values: Floats

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints]:
        """The replaced pairs as sorted numbers, and where each stands in `values`."""
        keys = self.rows * self.base.size + self.columns
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    @property
    def size(self) -> int:
        return self.base.size

    @property
    def rounding(self) -> float:
        return float(getattr(self.base, "rounding", 1e-4))

    def block(self, start: int, stop: int) -> Floats:
        out = np.array(self.base.block(start, stop))
        known, order = self._sorted
        low, high = np.searchsorted(known, [start * self.size, stop * self.size])
        chosen = order[low:high]
        out[self.rows[chosen] - start, self.columns[chosen]] = self.values[chosen]
        return out

    def pairs(self, rows: Ints, columns: Ints) -> Floats:
        out = np.array(self.base.pairs(rows, columns))
        keys = np.asarray(rows, np.int64) * self.size + np.asarray(columns, np.int64)
        known, order = self._sorted
        if len(known):
            place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            replaced = known[place] == keys
            out[replaced] = self.values[order[place[replaced]]]
        return out


@dataclass(frozen=True)
class Reranked:
    """What cross-encoders said of the shortlists of all folds, by row."""

    related: Triples | None
    similar: Triples | None
    about: dict[str, object]  # the models and their calibration

    def take(self, kept: Ints) -> Reranked:
        """What was said of some of the rows."""
        return Reranked(_among(self.related, kept), _among(self.similar, kept), self.about)


def _among(said: Triples | None, here: Ints) -> Triples | None:
    """What was said of pairs of these rows, numbered among them; `here` is sorted."""
    if said is None:
        return None
    rows, columns, values = said
    inside = np.isin(rows, here) & np.isin(columns, here)
    return np.searchsorted(here, rows[inside]), np.searchsorted(here, columns[inside]), values[inside]


def rerank(rows: Responses, models: Models, options: StageOptions) -> Reranked:
    """Score the shortlist of every query with the cross-encoders that the options hold."""
    rng = np.random.default_rng([options.seed, 3])
    left, right = _shortlists(rows, models.relevance, options.shortlist)
    related = similar = None
    about: dict[str, object] = {}
    if options.reranker is not None:
        related, about["relevance"] = _relate(rows, left, right, options.reranker, rng, options.seed)
    if options.similarity_reranker is not None:
        judge = options.similarity_reranker
        found = calibrate_similarity(
            rows.responses, lambda one, other: judge.score(list(zip(one, other, strict=True))), rng, HELD_OUT // 2
        )
        about["similarity"] = {"model": judge.name, "calibration": asdict(found)}
        z = judge.score([(rows.responses[i], rows.responses[j]) for i, j in zip(left, right, strict=True)])
        similar = (left, right, _log(found, z, positive=False))
    return Reranked(related, similar, about)


def _shortlists(rows: Responses, relevance: PairModel, length: int) -> tuple[Ints, Ints]:
    """The pairs on the shortlists of all folds: (rows, columns)."""
    parts = []
    for fold in sorted(set(rows.folds)):
        here = rows.rows(fold)
        left, right = shortlist(relevance.scores(here), rows.texts[here], length)
        parts.append((here[left], here[right]))
    return np.concatenate([left for left, _ in parts]), np.concatenate([right for _, right in parts])


def _relate(
    rows: Responses, left: Ints, right: Ints, model: Reranker, rng: np.random.Generator, seed: int
) -> tuple[Triples, dict[str, object]]:
    """P_rel of the shortlists by models that saw other parts only, and the calibrations of the parts."""
    part = parts_of(rows.folds, rows.texts, rng)
    partner = random_partners([str(t) for t in rows.texts], rng)
    calibrations = []
    values = np.zeros(len(left), np.float32)
    for number in range(int(part.max()) + 1):
        outside, inside = np.flatnonzero(part != number), np.flatnonzero(part == number)
        taught = model.trained(*_lessons(rows, outside, rng), seed=seed + number)
        held = rng.permutation(inside)[:HELD_OUT]
        apart = held[rows.texts[partner[held]] != rows.texts[held]]
        own = taught.score([(rows.queries[i], rows.responses[i]) for i in held])
        other = taught.score([(rows.queries[i], rows.responses[partner[i]]) for i in apart])
        found = calibrate(own, other, rng)
        calibrations.append(asdict(found))
        mine = np.flatnonzero(part[left] == number)
        asked = [(rows.queries[left[k]], rows.responses[right[k]]) for k in mine]
        values[mine] = _log(found, taught.score(asked), positive=True)
    return (left, right, values), {"model": model.name, "calibration": calibrations}


def _lessons(rows: Responses, outside: Ints, rng: np.random.Generator) -> tuple[list[tuple[str, str]], list[int]]:
    """Own pairs, and as many of the same questions with a response of another."""
    partner = outside[random_partners([str(t) for t in rows.texts[outside]], rng)]
    pairs = [(rows.queries[i], rows.responses[i]) for i in outside]
    wrong = [(rows.queries[i], rows.responses[j]) for i, j in zip(outside, partner, strict=True)
             if rows.texts[i] != rows.texts[j]]  # fmt: skip
    return [*pairs, *wrong], [1] * len(pairs) + [0] * len(wrong)


def shortlist(scores: PairScores, texts: Ints, length: int) -> tuple[Ints, Ints]:
    """The most relevant responses of each query, without those whose text is its own right one: (rows, columns)."""
    size = scores.size
    length = min(length, size - 1)
    rows, columns = [], []
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        block = np.array(scores.block(start, stop))
        block[texts[start:stop, None] == texts[None, :]] = -np.inf
        best = np.argpartition(-block, length - 1, axis=1)[:, :length]
        own = np.repeat(np.arange(start, stop), length)
        keep = np.isfinite(block[own - start, best.ravel()])
        rows.append(own[keep])
        columns.append(best.ravel()[keep].astype(np.int64))
    return np.concatenate(rows), np.concatenate(columns)


def _log(calibration: Calibration, scores: Floats, positive: bool) -> Floats:
    z = calibration.slope * np.asarray(scores, np.float64) + calibration.intercept
    return np.asarray(log_sigmoid(z if positive else -z), np.float32)
