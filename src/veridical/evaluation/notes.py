"""What lies beside a file of predictions: what made it, of which benchmark and split, and whether it is all of it.

`veridical solve` writes the benchmark's hash into every line and, with the rest, into `FILE.meta.json`. Names of items
decide what is scored; a hash of another benchmark is a warning that its items may have changed since.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from veridical.common.files import read_bytes
from veridical.errors import UserError

_HASH = re.compile(r"[0-9a-f]{64}")
_NOTES = (".meta.json", ".run.json")


@dataclass(frozen=True)
class Notes:
    """What is said beside a file."""

    benchmarks: frozenset[str] = frozenset()  # hashes
    split: str | None = None
    scheme: str | None = None
    limit: int | None = None  # `solve --limit`: only so many of the first items were to be solved


def hashes(said: Iterable[Any]) -> frozenset[str]:
    """Those of some values that are hashes; anything else, such as a benchmark's name, says nothing certain."""
    return frozenset(one for one in said if isinstance(one, str) and _HASH.fullmatch(one))


def notes_beside(path: Path) -> Notes:
    """The notes beside a file, if there are any that can be read."""
    benchmarks: list[Any] = []
    found: dict[str, Any] = {}
    for suffix in _NOTES:
        try:
            record = msgspec.json.decode(read_bytes(path.with_name(path.name + suffix)))
        except (UserError, OSError, ValueError, RecursionError):  # a path without a name and what is no JSON, too
            continue
        if isinstance(record, dict):
            about, solver = record.get("benchmark"), record.get("solver")
            benchmarks += [record.get("benchmark_hash"), about.get("hash") if isinstance(about, dict) else about]
            found = record | (solver if isinstance(solver, dict) else {}) | found
    words = {name: value if isinstance(value := found.get(name), str) else None for name in ("split", "scheme")}
    limit = found.get("limit")
    return Notes(hashes(benchmarks), limit=limit if isinstance(limit, int) and limit > 0 else None, **words)
