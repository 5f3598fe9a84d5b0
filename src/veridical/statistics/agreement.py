"""How much people agree: Krippendorff's alpha (nominal) and Fleiss' kappa, with bootstrap intervals.

Both depend on the data only through the count row of each item (how many raters chose each value), and five raters
with two values have six different rows however many items there are. So items are collapsed to distinct rows with
multiplicities once, and a bootstrap resample is one multinomial draw over the rows: its cost does not grow with items.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from veridical.common.arrays import Doubles, Ints
from veridical.errors import UserError

Counts = Ints  # (items, values): how many raters gave this value to this item
RATER_ITERATIONS = 100  # as in NLVR, section 5
RESAMPLES = 1000
_ROWS_AT_ONCE = 1 << 20  # cells of a bootstrap's weight matrix kept at a time
_MISSING = -1


class Agreement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How much raters agree on a set of items; a number is None where it is not defined."""

    alpha: float | None  # Krippendorff's alpha, nominal
    low: float | None  # its 95% interval, by bootstrap over items
    high: float | None
    kappa: float | None  # Fleiss' kappa
    random_rater_kappa: float | None  # the papers' procedure: judgements dealt to raters at random, mean of 100 deals
    items: int  # with two or more judgements: the others say nothing about agreement
    judgements: int  # on these items
    after: AgreementAfterPruning | None = None  # the same on what a pruning rule leaves


class AgreementAfterPruning(Agreement, frozen=True, kw_only=True):
    """How much raters agree on the items that a rule keeps."""

    rule: str  # in words
    removed: dict[str, int]  # reason -> items


def count_values(items: ArrayLike, values: ArrayLike, shape: tuple[int, int]) -> Counts:
    """Count judgements into an (items, values) matrix from the item and value number of each.

    >>> count_values([0, 0, 1], [1, 1, 0], (2, 2)).tolist()
    [[0, 2], [1, 0]]
    """
    cells = np.asarray(items, np.int64) * shape[1] + np.asarray(values, np.int64)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


def count_ratings(ratings: ArrayLike, values: int | None = None) -> Counts:
    """Count rows of a (raters, items) matrix of value numbers; negative or NaN is missing.

    >>> count_ratings([[0, 1, 1], [0, 1, -1]]).tolist()
    [[2, 0], [0, 2], [0, 1]]
    """
    given = np.asarray(ratings)
    if given.dtype.kind == "f":
        given = np.where(np.isnan(given), _MISSING, given)
    values = int(given.max(initial=0)) + 1 if values is None else values
    return np.stack([(given == value).sum(axis=0) for value in range(values)], axis=1).astype(np.int64)


@dataclass(frozen=True)
class CountRows:
    """Distinct count rows of the items that two or more raters judged."""

    rows: Counts  # (K, values)
    times: Ints  # (K,) how many items have this row

    @property
    def sizes(self) -> Ints:
        return np.asarray(self.rows.sum(axis=1))  # (K,) judgements of an item

    @property
    def agreeing(self) -> Ints:
        return np.asarray((self.rows * (self.rows - 1)).sum(axis=1))  # (K,) ordered pairs of agreeing raters of an item


def distinct_rows(counts: ArrayLike | CountRows) -> CountRows:
    """Collapse items to their distinct count rows, leaving out those with fewer than two judgements."""
    if isinstance(counts, CountRows):
        return counts
    counts = np.asarray(counts)
    if counts.ndim != 2 or (counts.size and counts.min() < 0):
        raise UserError(
            f"Agreement needs a matrix of counts (items, values), not negative; found shape {counts.shape}.",
            "Count how many raters chose each value for each item.",
        )
    counts = counts.astype(np.int64, copy=False)
    base, width = int(counts.max(initial=0)) + 1, counts.shape[1]
    if base**width <= 1 << 20:  # few enough possible rows to number them all: no sorting
        powers = base ** np.arange(width)
        times = np.bincount(counts @ powers, minlength=1)
        codes = np.flatnonzero(times)
        rows, times = codes[:, None] // powers % base, times[codes]
    else:
        rows, times = np.unique(counts, axis=0, return_counts=True)
    pairable = rows.sum(axis=1) >= 2
    return CountRows(rows[pairable], times[pairable].astype(np.int64))


def krippendorff_alpha(counts: ArrayLike | CountRows) -> float:
    """Krippendorff's alpha for nominal values; NaN where all judgements are equal or there are none.

    alpha = 1 - (n - 1) (n - sum_u sum_c n_uc (n_uc - 1) / (n_u - 1)) / (n^2 - sum_c n_c^2), over pairable items u.

    >>> krippendorff_alpha([[3, 0], [0, 3], [2, 1]])
    0.6
    """
    data = distinct_rows(counts)
    return float(_alphas(data, data.times[None])[0])


def bootstrap_alpha(counts: ArrayLike | CountRows, rng: np.random.Generator, resamples: int = RESAMPLES) -> Doubles:
    """Alphas of `resamples` bootstrap resamples of the items."""
    data = distinct_rows(counts)
    total = int(data.times.sum())
    if not total:
        return np.full(resamples, np.nan)
    out = []
    step = max(1, _ROWS_AT_ONCE // len(data.times))
    for start in range(0, resamples, step):
        weights = rng.multinomial(total, data.times / total, size=min(step, resamples - start))  # (B, K)
        out.append(_alphas(data, weights))
    return np.concatenate(out) if out else np.empty(0)


def _alphas(data: CountRows, weights: Ints) -> Doubles:
    """One alpha per row of `weights` (B, K), the number of items with each count row."""
    n = weights @ data.sizes  # (B,)
    together = weights @ (data.agreeing / np.maximum(data.sizes - 1, 1))  # (B,) observed coincidences of equal values
    of_value = (weights @ data.rows).astype(np.float64)  # (B, values)
    expected = n.astype(np.float64) ** 2 - (of_value**2).sum(axis=1)  # (B,)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * (n - together) / expected, np.nan)


def fleiss_kappa(counts: ArrayLike | CountRows) -> float:
    """Fleiss' kappa; NaN where all judgements are equal.

    Defined for a fixed number of raters per item; where items have different numbers, each item's agreement is its
    own share of agreeing pairs and the values' shares are over all judgements.
    """
    data = distinct_rows(counts)
    items, n = int(data.times.sum()), int(data.times @ data.sizes)
    if not items:
        return float("nan")
    observed = data.times @ (data.agreeing / (data.sizes * (data.sizes - 1))) / items
    expected = float((((data.times @ data.rows) / n) ** 2).sum())
    return float((observed - expected) / (1 - expected)) if expected < 1 else float("nan")


def random_rater_kappa(
    counts: ArrayLike | CountRows, rng: np.random.Generator, iterations: int = RATER_ITERATIONS
) -> float:
    """The papers' kappa: deal each item's judgements to "raters" at random, and average over `iterations` deals.

    Fleiss' kappa itself does not see who gave which judgement, so a deal can only matter to the kappa of fixed raters
    (Davies and Fleiss 1982: agreement and chance agreement averaged over pairs of raters; Cohen's kappa for two).
    Only items with the largest number of judgements can be dealt; the others are left out.
    """
    data = distinct_rows(counts)
    if not len(data.times):
        return float("nan")
    raters = int(data.sizes.max())
    full = data.sizes == raters
    values = np.arange(data.rows.shape[1])
    rows = np.stack([np.repeat(values, row) for row in data.rows[full]])  # (K, raters)
    ratings = np.repeat(rows, data.times[full], axis=0).astype(np.int16)  # (items, raters)
    kappas = [rater_kappa(rng.permuted(ratings, axis=1).T, len(values)) for _ in range(iterations)]
    return float(np.mean(kappas)) if kappas else float("nan")


def rater_kappa(ratings: NDArray[np.int16], values: int) -> float:
    """Davies and Fleiss' kappa of a complete (raters, items) matrix of value numbers.

    >>> round(rater_kappa(np.array([[0, 0, 1, 1], [0, 0, 1, 0]], np.int16), 2), 3)
    0.5
    """
    shares = np.stack([np.bincount(row, minlength=values) for row in ratings]) / ratings.shape[1]  # (raters, values)
    pairs = list(combinations(range(len(ratings)), 2))
    observed = np.mean([np.mean(ratings[a] == ratings[b]) for a, b in pairs])
    expected = np.mean([shares[a] @ shares[b] for a, b in pairs])
    return float((observed - expected) / (1 - expected)) if expected < 1 else float("nan")


def measure(counts: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES) -> Agreement:
    """Every agreement number of a count matrix."""
    data = distinct_rows(counts)
    alphas = bootstrap_alpha(data, rng, resamples)
    alphas = alphas[~np.isnan(alphas)]  # a resample of equal judgements has no alpha
    low, high = np.quantile(alphas, (0.025, 0.975)) if len(alphas) else (np.nan, np.nan)
    return Agreement(
        alpha=_defined(krippendorff_alpha(data)),
        low=_defined(low),
        high=_defined(high),
        kappa=_defined(fleiss_kappa(data)),
        random_rater_kappa=_defined(random_rater_kappa(data, rng)),
        items=int(data.times.sum()),
        judgements=int(data.times @ data.sizes),
    )


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
