"""A number with its interval: the one type of everything that is estimated from a sample of items."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL = (0.025, 0.975)  # 95% intervals, by percentiles


def unanimous(right: bool, groups: int) -> tuple[float, float]:
    """The exact interval (Clopper and Pearson 1934) of a share where all groups are right, or none is.

    A bootstrap has nothing to say there: all its samples are alike.

    >>> [round(edge, 3) for edge in unanimous(True, 30)], [round(edge, 3) for edge in unanimous(False, 4)]
    ([0.884, 1.0], [0.0, 0.602])
    """
    edge = LEVEL[0] ** (1 / groups)
    return (edge, 1.0) if right else (0.0, 1 - edge)


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
