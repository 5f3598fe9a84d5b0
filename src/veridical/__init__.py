"""Veridical: build, audit and run visual-reasoning benchmarks.

Every verb of the command line is a function here with the same name and arguments: `veridical.check(DIR)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from veridical._verbs import VERBS

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in VERBS:
        module, _, attribute = VERBS[name].partition(":")
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'veridical' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *VERBS])
