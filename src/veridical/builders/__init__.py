"""Builders: each makes a benchmark from a source. Adding one costs a file and a line in `BUILDERS`.

A builder is a function of a folder to write, its options (a frozen dataclass with a line of meaning for each field) and
the number of processes; its signature and docstring are its command.

    report      what a build made, for people and for scripts
    interest    which photographs people find interesting
    nlvr/ nlvr2/ vprom/ vcr/    the four builders
"""

from __future__ import annotations

from collections.abc import Callable

from veridical.builders.report import BuildReport
from veridical.common.registry import resolve

# builder -> its function; another package adds one by an entry point of the group `veridical.builders`
BUILDERS: dict[str, str] = {
    "nlvr": "veridical.builders.nlvr:build_nlvr",
    "nlvr2": "veridical.builders.nlvr2:build_nlvr2",
    "vprom": "veridical.builders.vprom:build_vprom",
    "vcr": "veridical.builders.vcr:build_vcr",
}


def load_builder(name: str) -> Callable[..., BuildReport]:
    """A builder by name."""
    found: Callable[..., BuildReport] = resolve(BUILDERS, name, "builder", "builders")
    return found
