"""A number with its interval: the one type of everything that is estimated from a sample of items."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL = (0.025, 0.975)  # 95% intervals, by percentiles


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95% interval.

    >>> print(Estimate(0.5, 0.45, 0.551))
    50.0 [45.0, 55.1]
    """

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        return {"value": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        """In percent."""
        return f"{100 * self.value:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"
