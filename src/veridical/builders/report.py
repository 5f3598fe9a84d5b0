"""What a build made, for people and for scripts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BuildReport:
    """What a build made, what it left out and why, and how long its stages took."""

    kind: str
    out: Path
    counts: dict[str, Any]  # items by scheme and split, images, panels ...
    removed: dict[str, int] = field(default_factory=dict)  # reason -> items
    phenomena: dict[str, float] = field(default_factory=dict)  # share of generated statements that shows each
    notes: tuple[str, ...] = ()  # what else whoever builds should know
    seconds: dict[str, float] = field(default_factory=dict)  # stage -> seconds

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"out": str(self.out)}
