"""The bootstrap over groups, and the exact sign test.

Items of one group (a sentence, a presentation, a question) stand or fall together, so groups are resampled, not items.
A resample matters only through its totals, and groups with equal counts are interchangeable: drawing how often each
distinct row of counts occurs, from a multinomial, has exactly the distribution of drawing the groups one by one. Where
all groups are right, or none is, all samples would be alike: there the interval is the exact one.

Many parts of a split (the thousand values of a tag) are resampled by whichever of two exact ways is cheaper. Large
parts: by that multinomial. Small parts: groups one by one, but several per random number, from a table of the totals of
all pairs (triples ...) of groups; the random numbers are drawn once and serve all values of a tag.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from veridical.common.arrays import Doubles, Ints
from veridical.common.intervals import LEVEL, Estimate, unanimous

TABLE = 1 << 16  # size of the largest table of tuples of groups
PICKS_PER_ROW = 40  # one binomial of a multinomial was measured to cost about as much as so many table look-ups
PARTS_AT_ONCE = 256  # bounds memory: the resamples of so many parts are held together
_BITS = 21  # three totals are added as one integer


def stream(seed: int, *purpose: str) -> np.random.Generator:
    """Random numbers for one purpose, so that an interval does not depend on what else is reported."""
    return np.random.default_rng([seed, *(zlib.crc32(word.encode()) for word in purpose)])


def collapse(counts: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of a table of counts (G, k), and how often each occurs: (T, k), (T,)."""
    sizes = [int(column.max(initial=0)) + 1 for column in counts.T]
    if math.prod(sizes) >= 1 << 62:
        rows, frequency = np.unique(counts, axis=0, return_counts=True)
        return rows, frequency
    code = np.ravel_multi_index(tuple(counts.T), sizes)
    _, first, frequency = np.unique(code, return_index=True, return_counts=True)
    return counts[first], frequency


@dataclass(frozen=True)
class Resampled:
    """Column totals of a table of counts per group: as they are (k,), and in each bootstrap sample (R, k)."""

    sums: Ints
    drawn: Ints
    groups: Ints  # (k,) that have any of it

    def ratio(self, top: int, bottom: int) -> Estimate:
        """The share that one column's total is of another's."""
        if self.sums[top] in (0, self.sums[bottom]) and self.groups[bottom]:
            right = bool(self.sums[top])
            return Estimate(float(right), *unanimous(right, int(self.groups[bottom])))
        return self._estimate(self.sums[top], self.drawn[:, top], bottom)

    def difference(self, mine: int, theirs: int, bottom: int) -> Estimate:
        """The difference of two columns' totals, as a share of a third."""
        return self._estimate(self.sums[mine] - self.sums[theirs], self.drawn[:, mine] - self.drawn[:, theirs], bottom)

    def _estimate(self, top: np.int64, drawn: Ints, bottom: int) -> Estimate:
        below = self.drawn[:, bottom]
        defined = below > 0  # a sample can miss all groups that the denominator counts; if all do, nothing is known
        low, high = np.quantile(drawn[defined] / below[defined], LEVEL) if defined.any() else (0.0, 1.0)
        return Estimate(float(top / self.sums[bottom]), float(low), float(high))


def resample(counts: Ints, resamples: int, rng: np.random.Generator) -> Resampled:
    """Bootstrap a table of counts per group (G, k)."""
    rows, frequency = collapse(counts)
    order = np.argsort(-frequency, kind="stable")  # the common rows first: a draw ends when no groups are left
    drawn = rng.multinomial(len(counts), frequency[order] / len(counts), size=resamples)  # (R, T)
    return Resampled(counts.sum(0), drawn @ rows[order], (counts > 0).sum(0))


def intervals_of_parts(table: Ints, ends: Ints, names: Sequence[tuple[str, str]], resamples: int, seed: int) -> Doubles:
    """Intervals of accuracy and consistency of each part, (parts, 2, 2).

    `table` has one row per part and group (examples, right examples, whether all are right); part i is its rows
    ends[i] to ends[i + 1] and is called names[i] = (tag, value). Empty parts get zeros.
    """
    out = np.zeros((len(names), 2, 2))
    for tag in dict.fromkeys(name for name, _ in names):
        mine = np.array([number for number, (name, _) in enumerate(names) if name == tag])
        mine = mine[np.argsort(ends[mine + 1] - ends[mine], kind="stable")]  # by size: equal sizes share their picks
        shared = _Shared(stream(seed, "by", tag), resamples)
        for chunk in np.array_split(mine, -(-len(mine) // PARTS_AT_ONCE)):
            drawn = np.zeros((len(chunk), 2, resamples))
            for row, number in enumerate(chunk.tolist()):
                part = table[ends[number] : ends[number + 1]]
                if not len(part):
                    continue
                if picks := _picks(part):
                    drawn[row] = shared.pick(part, picks)
                else:
                    totals = resample(part, resamples, stream(seed, "by", *names[number])).drawn
                    drawn[row] = totals[:, 1] / totals[:, 0], totals[:, 2] / len(part)
            out[chunk] = np.moveaxis(np.quantile(drawn, LEVEL, axis=2), 0, 2)
    for number, (begin, end) in enumerate(pairwise(ends.tolist())):
        examples, right, whole = table[begin:end].sum(0).tolist()
        for measure, (top, bottom) in enumerate(((right, examples), (whole, end - begin))):
            if end > begin and top in (0, bottom):
                out[number, measure] = unanimous(top > 0, end - begin)
    return out


def _tuple_size(groups: int) -> int:
    """How many groups one random number can choose."""
    size = 1
    while groups > 1 and groups ** (size + 1) <= TABLE and size < groups:
        size += 1
    return size


def _picks(part: Ints) -> int:
    """Random numbers per resample, or 0 where the multinomial is cheaper or the totals are too large to pack."""
    groups = len(part)
    if groups > TABLE or groups * int(part.max(initial=0)) >= 1 << _BITS:
        return 0
    size = _tuple_size(groups)
    picks = groups // size + groups % size
    if picks <= PICKS_PER_ROW:
        return picks
    return picks if picks <= PICKS_PER_ROW * (len(collapse(part)[1]) - 1) else 0


class _Shared:
    """The random numbers of one tag, and which groups they choose from parts of one size."""

    def __init__(self, rng: np.random.Generator, resamples: int) -> None:
        self._rng = rng
        self._uniforms = np.zeros((0, resamples))
        self._groups = -1
        self._several = self._single = np.zeros((0, resamples), np.int64)

    def pick(self, part: Ints, picks: int) -> Doubles:
        """Accuracy and consistency of each resample (2, R) of a part."""
        groups, size = len(part), _tuple_size(len(part))
        if groups != self._groups:
            self._choose(groups, size, picks)
        single = part[:, 0] | part[:, 1] << _BITS | part[:, 2] << 2 * _BITS  # (G,)
        several = single
        for _ in range(size - 1):
            several = (several[:, None] + single).ravel()  # (G^size,)
        totals = several[self._several].sum(0) + single[self._single].sum(0)  # (R,)
        low = (1 << _BITS) - 1
        return np.stack([(totals >> _BITS & low) / (totals & low), (totals >> 2 * _BITS) / groups])

    def _choose(self, groups: int, size: int, picks: int) -> None:
        """Which tuples of groups, and for the remainder which single groups, each resample takes."""
        more = picks - len(self._uniforms)
        if more > 0:
            self._uniforms = np.concatenate([self._uniforms, self._rng.random((more, self._uniforms.shape[1]))])
        whole = groups // size
        self._groups = groups
        self._several = (self._uniforms[:whole] * groups**size).astype(np.int64)
        self._single = (self._uniforms[whole:picks] * groups).astype(np.int64)


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
        return float(min(1.0, 2 * ways / 2**flips))
    # The same sum over k <= few of C(flips, k) / 2^flips in logarithms, from its largest term downwards.
    steps = np.arange(few, 0, -1, dtype=np.float64)
    tail = 1.0 + float(np.cumprod(steps / (flips - steps + 1)).sum())
    log_term = math.lgamma(flips + 1) - math.lgamma(few + 1) - math.lgamma(flips - few + 1) - flips * math.log(2)
    return min(1.0, 2 * math.exp(log_term + math.log(tail)))
