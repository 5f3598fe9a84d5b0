"""The bootstrap over groups for many parts of a split at once, such as the thousand values of a tag.

Each part is resampled by whichever of two exact ways is cheaper. Large parts: how often each kind of group occurs, from
a multinomial, as in `bootstrap`. Small parts: groups one by one, but several per random number, from a table of the
totals of all pairs (triples ...) of groups; the random numbers are drawn once and serve all values of a tag.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.common.arrays import Doubles, Ints
from veridical.common.intervals import LEVEL
from veridical.evaluation.bootstrap import collapse, resample, stream

TABLE = 1 << 16  # size of the largest table of tuples of groups
PICKS_PER_KIND = 40  # one binomial of a multinomial was measured to cost about as much as so many table look-ups
PARTS_AT_ONCE = 256  # bounds memory: the resamples of so many parts are held together
_BITS = 21  # three totals are added as one integer


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
    if picks <= PICKS_PER_KIND:
        return picks
    return picks if picks <= PICKS_PER_KIND * (len(collapse(part)[1]) - 1) else 0


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
