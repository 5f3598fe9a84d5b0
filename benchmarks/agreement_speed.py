"""1,000 bootstrap alphas over 100,000 items x 5 raters against ONE `krippendorff.alpha` call on the same data.

Prints the ratio (above 1: all thousand of ours take less time than one call), for both forms of input that the peer
takes and for two and three values; best of several runs each, alternating.

    .venv/bin/python benchmarks/agreement_speed.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import krippendorff
import numpy as np

from veridical.statistics.agreement import bootstrap_alpha, count_ratings, krippendorff_alpha

ITEMS, RATERS, RESAMPLES, RUNS = 100_000, 5, 1000, 7


def ratings(values: int, rng: np.random.Generator) -> np.ndarray:
    """(raters, items): raters who give an item's own value nine times in ten."""
    truth = rng.integers(values, size=ITEMS)
    noise = rng.integers(values, size=(RATERS, ITEMS))
    return np.where(rng.random((RATERS, ITEMS)) < 0.9, truth, noise)


def best_of(runs: int, *functions: Callable[[], Any]) -> list[float]:
    """The best time of each function, measured in turn."""
    best = [float("inf")] * len(functions)
    for _ in range(runs):
        for number, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def main() -> None:
    for values in (2, 3):
        data = ratings(values, np.random.default_rng(0))
        counts = count_ratings(data, values)
        theirs = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
        if abs(theirs - krippendorff_alpha(counts)) > 1e-12:
            raise SystemExit(f"alphas differ: {theirs} and {krippendorff_alpha(counts)}")
        for form, one, thousand in (
            (
                "ratings",
                lambda data=data: krippendorff.alpha(reliability_data=data, level_of_measurement="nominal"),
                lambda data=data, values=values: bootstrap_alpha(
                    count_ratings(data, values), np.random.default_rng(1), RESAMPLES
                ),
            ),
            (
                "counts",
                lambda counts=counts: krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"),
                lambda counts=counts: bootstrap_alpha(counts, np.random.default_rng(1), RESAMPLES),
            ),
        ):
            peer, ours = best_of(RUNS, one, thousand)
            print(
                f"{values} values, from {form:7}: one krippendorff.alpha {peer * 1e3:8.2f} ms, "
                f"{RESAMPLES:,} bootstrap alphas {ours * 1e3:8.2f} ms, ratio {peer / ours:.2f}"
            )


if __name__ == "__main__":
    main()
