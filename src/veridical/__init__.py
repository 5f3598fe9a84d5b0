"""Veridical: build, audit and run visual-reasoning benchmarks.

Every verb of the command line is a function here with the same name and arguments: `veridical.check(DIR)`. A verb loads
its room when it is called. `veridical.open(DIR)` is a benchmark to look into.
"""

from __future__ import annotations

__version__ = "0.1.0"

import os
from typing import TYPE_CHECKING, Any

from veridical import api
from veridical.api import *  # noqa: F403 - what `api.__all__` names
from veridical.errors import UserError
from veridical.records import Item, Judgement, Panel, Prediction, Ref, SceneObject, Text

if TYPE_CHECKING:
    from veridical.benchmark import Benchmark

# without `open`: Python's own is not to be lost by `from veridical import *`
__all__ = ["Benchmark", "Item", "Judgement", "Panel", "Prediction", "Ref", "SceneObject", "Text", "UserError"]
__all__ += api.__all__


def open(directory: str | os.PathLike[str]) -> Benchmark:
    """Open a benchmark to look into: `len`, iteration, `benchmark["an id"]`, `benchmark.frame("dev")`.

    Args:
        directory: A benchmark folder.
    """
    from veridical.benchmark import Benchmark

    return Benchmark(directory)


def __getattr__(name: str) -> Any:
    """`Benchmark` is loaded when it is asked for."""
    if name != "Benchmark":
        raise AttributeError(f"module 'veridical' has no attribute {name!r}")
    from veridical.benchmark import Benchmark

    return Benchmark
