"""Builders: each makes a benchmark of one kind from a source. Adding one costs a file and a line in `BUILDERS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from veridical._verbs import make_callable
from veridical.builders.report import BuildReport
from veridical.common import registry

__all__ = ["BUILDERS", "BuildReport", "build", "load_builder"]

# kind of benchmark -> its function of a folder to write and options
BUILDERS: dict[str, str] = {
    "nlvr": "veridical.builders.nlvr.build:build_nlvr",
    "vprom": "veridical.builders.vprom:build_vprom",
    "nlvr2": "veridical.builders.nlvr2:build_nlvr2",
    "vcr": "veridical.builders.vcr:build_vcr",
}


def load_builder(kind: str) -> Callable[..., BuildReport]:
    """The function that builds one kind of benchmark."""
    found: Callable[..., BuildReport] = registry.resolve(BUILDERS, kind, "builder", "builders")
    return found


def build(kind: str, out: Path | str, **options: Any) -> BuildReport:
    """Build a benchmark of one kind into the folder `out`; the options are those of its builder."""
    return load_builder(kind)(out, **options)


make_callable(__name__, build)
