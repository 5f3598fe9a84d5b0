"""Every verb, once: its signature and its help. The command line and the API reference are made from it.

A verb imports its room when it is called. Options that are many are dataclasses of `veridical.options`; a verb that has
them takes their fields as keywords, too: `veridical.match(file, out, folds=5)` is
`veridical.match(file, out, MatchOptions(folds=5))`. What it returns is a `veridical.common.result.Result`.

    making      import_release, get, build, augment, match, export, copy, plan
    demo        demo: the whole path on all four benchmarks
    using       check, stats, audit, features, train, sweep, models, solve, evaluate, compare, report, tag
    web         show, serve, submit
    collecting  collect, whose actions are commands of their own: init, rehearse, export, label-studio

The builders' own signatures (`build nlvr` ...) are in `veridical.builders`, each in its folder's `__init__`.
"""

from veridical.api.collecting import collect
from veridical.api.demo import demo
from veridical.api.making import augment, build, copy, export, get, import_release, match, plan
from veridical.api.using import (
    audit,
    check,
    compare,
    evaluate,
    features,
    models,
    report,
    solve,
    stats,
    sweep,
    tag,
    train,
)
from veridical.api.web import serve, show, submit

__all__ = [  # noqa: RUF022 - the order of a user's work, and of the commands
    "demo", "import_release", "get", "build", "augment", "match", "check", "stats", "audit", "features", "train",
    "sweep", "models", "solve", "evaluate", "compare", "show", "report", "export", "copy", "plan", "tag", "serve",
    "submit", "collect",
]  # fmt: skip
