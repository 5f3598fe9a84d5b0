"""Veridical: build, audit and run visual-reasoning benchmarks.

Every verb of the command line is a function here with the same name and arguments: `veridical.check(DIR)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from veridical._verbs import VERBS

if TYPE_CHECKING:  # what type checkers and editors see; at run time a verb is imported when it is first used
    from veridical.auditing import audit as audit
    from veridical.benchmark.check import check as check
    from veridical.builders import build as build
    from veridical.cli.demo import demo as demo
    from veridical.encoders import features as features
    from veridical.evaluation import evaluate as evaluate
    from veridical.formats.download import get as get
    from veridical.formats.releases import export as export
    from veridical.formats.releases import import_release as import_release
    from veridical.language.phenomena.tagger import tag_file as tag  # noqa: F401  (the verb's name)
    from veridical.matching.arguments import match as match
    from veridical.reporting import report as report
    from veridical.reporting.sweep import sweep as sweep
    from veridical.solvers.solve import solve as solve
    from veridical.statistics import stats as stats
    from veridical.training import train as train
    from veridical.zoo import models as models

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in VERBS:
        module, _, attribute = VERBS[name].partition(":")
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'veridical' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *VERBS])
