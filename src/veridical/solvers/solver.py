"""What a solver is, and the one place that opens one by name: `open_solver("programs")`, a run folder, `openai/gpt-4o`.

A solver's options are the keywords of its constructor, which are fields of the verb's option groups. Options that were
given although the chosen solver has no such keyword are refused: silence would be taken for obedience.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from veridical.common import registry
from veridical.common.files import Json
from veridical.common.result import Table
from veridical.errors import UserError
from veridical.options import refuse_unused
from veridical.options.running import Asking, Generating, Sending, SolverOptions
from veridical.records import Prediction
from veridical.solvers import SOLVERS

if TYPE_CHECKING:
    from veridical.benchmark import Benchmark


class Details(Protocol):
    """What a solver has to say of its work besides the predictions."""

    def to_json(self) -> Json: ...

    def parts(self) -> Iterable[Table | str]:
        """The same for people: tables, and remarks."""


class Solver(Protocol):
    """Answers items. A new one is a subclass with `predict` and `about`, and a line in `SOLVERS` or an entry point."""

    shows_progress: bool = False  # it tells itself how far it is
    stopped: bool = False  # the user stopped it: what there is will be written, and the command ends as stopped
    details: Details | None = None  # complete when the last prediction was taken

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterable[Prediction]:
        """A prediction per item of a split, or per view of it (`item#k`), in the order of the items."""

    def about(self) -> Json:
        """What made the predictions, for the file beside them; asked when the last one was taken."""


def open_solver(
    name: str,
    options: SolverOptions = SolverOptions(),
    asking: Asking = Asking(),
    sending: Sending = Sending(),
    generating: Generating = Generating(),
    *,
    out: Path = Path("predictions.jsonl"),
) -> Solver:
    """The solver of a name: one of `SOLVERS`, a run folder of `veridical train`, or `provider/model`.

    `out` is where its predictions will go: a model keeps unfinished work beside it.
    """
    make = _maker(name)
    used = set(inspect.signature(make).parameters)
    given: Json = {"out": out}
    groups: Json = {"options": options, "asking": asking, "sending": sending, "generating": generating}
    for group_name, group in groups.items():
        given |= {group_name: group} | {one.name: getattr(group, one.name) for one in fields(group)}
        if group_name not in used:
            refuse_unused(f"The solver {name}", {*used, "limit"}, group)  # `solve` itself stops at a limit
    return make(**{option: value for option, value in given.items() if option in used})


def _maker(name: str) -> Callable[..., Solver]:
    """What opens a solver, given its options."""
    known = registry.names(SOLVERS, "solvers")
    if name in known:
        made: Callable[..., Solver] = registry.resolve(SOLVERS, name, "solver", "solvers")
        return made
    if Path(name).is_dir():
        from veridical.solvers.trained import TrainedSolver

        return partial(TrainedSolver, Path(name))
    if "/" not in name or name.startswith(("/", ".")):
        raise UserError(
            f"There is no solver {name!r}, and no such run folder.",
            f"Give one of {', '.join(known)}, a folder made by `veridical train`, or provider/model such as "
            "openai/gpt-4o.",
        )
    from veridical.solvers.vlm.run import VisionLanguageModel

    return partial(VisionLanguageModel, name)
