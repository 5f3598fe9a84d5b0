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


def wilson(right: int, asked: int) -> tuple[float, float]:
    """The 95% interval (Wilson 1927) of a share of which so many were right.

    >>> [round(edge, 3) for edge in wilson(8, 10)], wilson(0, 0)
    ([0.49, 0.943], (0.0, 1.0))
    """
    if not asked:
        return 0.0, 1.0
    z = 1.959964
    share, spread = right / asked, z * z / asked
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * ((share * (1 - share) + spread / 4) / asked) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


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
