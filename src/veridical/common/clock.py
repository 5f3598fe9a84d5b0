"""How long the steps of a job took, one after the other."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Seconds by step; each begins where the one before it ended."""

    seconds: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)

    def done(self, step: str) -> None:
        """A step has ended, and the next begins."""
        now = time.perf_counter()
        self.seconds[step], self.last = now - self.last, now
