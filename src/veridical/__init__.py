"""Veridical: build, audit and run visual-reasoning benchmarks.

Every verb of the command line is a function here with the same name and arguments: `veridical.check(DIR)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from veridical._verbs import VERBS

if TYPE_CHECKING:  # what type checkers and editors see; at run time a verb is imported when it is first used
    from veridical.audit import audit as audit
    from veridical.benchmark.check import check as check
    from veridical.build import build as build
    from veridical.build.matching.verb import match as match
    from veridical.cli.demo import demo as demo
    from veridical.evaluate import evaluate as evaluate
    from veridical.features import features as features
    from veridical.formats import export as export
    from veridical.formats import import_release as import_release
    from veridical.formats.download import get as get
    from veridical.language.phenomena import tag_file as tag  # noqa: F401  (the verb's name)
    from veridical.models import models as models
    from veridical.report import report as report
    from veridical.report.sweep import sweep as sweep
    from veridical.solvers.solve import solve as solve
    from veridical.stats import stats as stats
    from veridical.training import train as train

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in VERBS:
        module, _, attribute = VERBS[name].partition(":")
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'veridical' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *VERBS])
