"""Which benchmark a file of predictions says it was made for.

`veridical solve` writes the benchmark's hash into every line and into `FILE.meta.json` beside the file. Names of items
decide what is scored; a hash of another benchmark is a warning that its items may have changed since.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

_HASH = re.compile(r"[0-9a-f]{64}")
_NOTES = (".meta.json", ".run.json")


def hashes(said: Iterable[Any]) -> frozenset[str]:
    """Those of some values that are hashes; anything else, such as a benchmark's name, says nothing certain."""
    return frozenset(one for one in said if isinstance(one, str) and _HASH.fullmatch(one))


def beside(path: Path) -> frozenset[str]:
    """The benchmark's hash in the notes beside a file, if there are any that can be read."""
    out = []
    for suffix in _NOTES:
        try:
            record = msgspec.json.decode(path.with_name(path.name + suffix).read_bytes())
        except (OSError, ValueError, RecursionError):  # ValueError: also a path without a name, and what is not JSON
            continue
        if isinstance(record, dict):
            about = record.get("benchmark")
            out += [record.get("benchmark_hash"), about.get("hash") if isinstance(about, dict) else about]
    return hashes(out)


def matches(said: frozenset[str], benchmark: str) -> bool | None:
    """Whether predictions are for the benchmark with a hash; None where they do not say."""
    return said == {benchmark} if said else None
