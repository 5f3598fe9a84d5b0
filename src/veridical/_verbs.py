"""Every verb of the command line is one public function of the same name: `veridical.check(DIR)`.

Some verbs share their name with the package that implements them (`veridical.evaluation`); such a package is made
callable, so that both `veridical.evaluate(DIR, FILE)` and `from veridical.evaluation import metrics` work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

# verb -> where its function lives
VERBS: dict[str, str] = {
    "demo": "veridical.cli.demo:demo",
    "import_release": "veridical.formats.releases:import_release",  # `import` is a keyword of Python
    "get": "veridical.formats.download:get",
    "build": "veridical.builders:build",
    "match": "veridical.matching.arguments:match",
    "check": "veridical.benchmark.check:check",
    "stats": "veridical.statistics:stats",
    "audit": "veridical.auditing:audit",
    "features": "veridical.encoders:features",
    "train": "veridical.training:train",
    "models": "veridical.zoo:models",
    "solve": "veridical.solvers.solve:solve",
    "evaluate": "veridical.evaluation:evaluate",
    "report": "veridical.reporting:report",
    "sweep": "veridical.reporting.sweep:sweep",
    "export": "veridical.formats.releases:export",
    "tag": "veridical.language.phenomena.tagger:tag_file",
}


def make_callable(module: str, function: Callable[..., Any]) -> None:
    """Let calling the module call `function`."""

    class CallableModule(ModuleType):
        __call__ = staticmethod(function)

    sys.modules[module].__class__ = CallableModule
