"""Builders: each makes a benchmark from a source. Adding one costs a file and a line in `BUILDERS`.

A builder is a function of a folder to write, its options (a frozen dataclass with a line of meaning for each field) and
the number of processes; its signature and docstring are its command.

    interest    which photographs people find interesting
    collected   what `veridical collect export` hands over
    nlvr/ nlvr2/ vprom/ vcr/    the four builders
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veridical.common.registry import resolve
from veridical.common.result import Result, Table

# builder -> its function; another package adds one by an entry point of the group `veridical.builders`
BUILDERS: dict[str, str] = {
    "nlvr": "veridical.builders.nlvr:build_nlvr",
    "nlvr2": "veridical.builders.nlvr2:build_nlvr2",
    "vprom": "veridical.builders.vprom:build_vprom",
    "vcr": "veridical.builders.vcr:build_vcr",
}


@dataclass(frozen=True)
class BuildReport(Result):
    """What a build made, what it left out and why, and how long its steps took; for people and for scripts."""

    kind: str
    out: Path
    counts: dict[str, Any]  # items by scheme and split, images, panels ...
    removed: dict[str, int] = field(default_factory=dict)  # reason -> items
    phenomena: dict[str, float] = field(default_factory=dict)  # share of generated statements that shows each
    notes: tuple[str, ...] = ()  # what else whoever builds should know
    seconds: dict[str, float] = field(default_factory=dict)  # step -> seconds

    def parts(self) -> Iterator[Table | str]:
        rows = [
            (f"items, {split}" if scheme == "main" else f"items, {scheme} {split}", f"{count:,}")
            for scheme, splits in self.counts.get("items", {}).items()
            for split, count in splits.items()
        ]
        rows += [(name, f"{count:,}") for name, count in self.counts.items() if name != "items"]
        rows += [(f"removed, {reason}", f"{count:,}") for reason, count in self.removed.items()]
        rows += [(f"statements with {name}", f"{share:.1%}") for name, share in self.phenomena.items()]
        rows += [(f"seconds, {step}", f"{seconds:.1f}") for step, seconds in self.seconds.items()]
        yield Table("", ("what", "count"), rows)
        yield from self.notes
        if "items" in self.counts:
            yield f"Built: {self.out}"


def load_builder(name: str) -> Callable[..., BuildReport]:
    """A builder by name."""
    found: Callable[..., BuildReport] = resolve(BUILDERS, name, "builder", "builders")
    return found
