"""The bootstrap over groups, and the exact sign test.

Items of one group (a sentence, a presentation, a question) stand or fall together, so groups are resampled, not items.
A resample matters only through its totals, and groups with equal counts are interchangeable: drawing how often each
distinct kind of group occurs, from a multinomial, has exactly the distribution of drawing the groups one by one.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.common.arrays import Ints
from veridical.common.intervals import LEVEL, Estimate


def stream(seed: int, *purpose: str) -> np.random.Generator:
    """Random numbers for one purpose, so that an interval does not depend on what else is reported."""
    return np.random.default_rng([seed, *(zlib.crc32(word.encode()) for word in purpose)])


def collapse(counts: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of a table of counts (G, k), and how often each occurs: (T, k), (T,)."""
    sizes = [int(column.max(initial=0)) + 1 for column in counts.T]
    if math.prod(sizes) >= 1 << 62:
        kinds, frequency = np.unique(counts, axis=0, return_counts=True)
        return kinds, frequency
    code = np.ravel_multi_index(tuple(counts.T), sizes)
    _, first, frequency = np.unique(code, return_index=True, return_counts=True)
    return counts[first], frequency


@dataclass(frozen=True)
class Resampled:
    """Column totals of a table of counts per group: as they are (k,), and in each bootstrap sample (R, k)."""

    sums: Ints
    drawn: Ints

    def ratio(self, top: int, bottom: int) -> Estimate:
        """The ratio of two columns' totals."""
        return self._estimate(self.sums[top], self.drawn[:, top], bottom)

    def difference(self, mine: int, theirs: int, bottom: int) -> Estimate:
        """The difference of two columns' totals, as a share of a third."""
        return self._estimate(self.sums[mine] - self.sums[theirs], self.drawn[:, mine] - self.drawn[:, theirs], bottom)

    def _estimate(self, top: Any, drawn: Ints, bottom: int) -> Estimate:
        below = self.drawn[:, bottom]
        defined = below > 0  # a sample can miss all groups that the denominator counts; if all do, nothing is known
        low, high = np.quantile(drawn[defined] / below[defined], LEVEL) if defined.any() else (0.0, 1.0)
        return Estimate(float(top / self.sums[bottom]), float(low), float(high))


def resample(counts: Ints, resamples: int, rng: np.random.Generator) -> Resampled:
    """Bootstrap a table of counts per group (G, k)."""
    kinds, frequency = collapse(counts)
    order = np.argsort(-frequency, kind="stable")  # the common kinds first: a draw ends when no groups are left
    drawn = rng.multinomial(len(counts), frequency[order] / len(counts), size=resamples)  # (R, T)
    return Resampled(counts.sum(0), drawn @ kinds[order])


def sign_test(wins: int, losses: int) -> float:
    """The exact two-sided sign test: how likely a fair coin is to be at least as one-sided as wins : losses.

    >>> sign_test(0, 5), sign_test(3, 3), sign_test(0, 0)
    (0.0625, 1.0, 1.0)
    """
    few, flips = min(wins, losses), wins + losses
    if wins == losses:
        return 1.0
    if flips <= 2000:  # in whole numbers
        ways = term = 1
        for k in range(1, few + 1):
            term = term * (flips - k + 1) // k
            ways += term
        return min(1.0, 2 * ways / 2**flips)
    # The same sum over k <= few of C(flips, k) / 2^flips in logarithms, from its largest term downwards.
    steps = np.arange(few, 0, -1, dtype=np.float64)
    tail = 1.0 + float(np.cumprod(steps / (flips - steps + 1)).sum())
    log_term = math.lgamma(flips + 1) - math.lgamma(few + 1) - math.lgamma(flips - few + 1) - flips * math.log(2)
    return min(1.0, 2 * math.exp(log_term + math.log(tail)))
