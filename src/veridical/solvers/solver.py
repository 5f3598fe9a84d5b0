"""What a solver is, and the one place that opens one by name: `open_solver("programs")`, a run folder, `openai/gpt-4o`.

A solver's options are the keywords of its constructor, which are fields of the verb's option groups. Options that were
given although the chosen solver has no such keyword are refused: silence would be taken for obedience.

The two simplest are here too. They look at nothing: the most common answer of the training split, and a guess.
"""

from __future__ import annotations

import hashlib
import inspect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from veridical.benchmark import Benchmark
from veridical.common import registry
from veridical.common.files import Json
from veridical.common.result import Table
from veridical.errors import UserError
from veridical.options import refuse_unused
from veridical.options.running import Asking, Generating, Sending, SolverOptions
from veridical.records import Prediction
from veridical.solvers import SOLVERS


class Details(Protocol):
    """What a solver has to say of its work besides the predictions."""

    def to_json(self) -> Json: ...

    def parts(self) -> Iterable[Table | str]:
        """The same for people: tables, and remarks."""


class Solver(Protocol):
    """Answers items. A new one is a subclass with `predict`, and a line in `SOLVERS` or an entry point."""

    shows_progress: bool = False  # it tells itself how far it is
    stopped: bool = False  # the user stopped it: what there is will be written, and the command ends as stopped
    details: Details | None = None  # complete when the last prediction was taken

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterable[Prediction]:
        """A prediction per item of a split, or per view of it (`item#k`), in the order of the items."""

    def about(self) -> Json:
        """What made the predictions, for the file beside them; asked when the last one was taken."""
        return {}


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


class MajorityAnswer(Solver):
    """Always the most common answer of `train` (the lowest of equals); answers and rationales are counted apart."""

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
        if "train" not in benchmark.splits(scheme):
            raise UserError(
                f"{benchmark.name} has no split 'train' to take the most common answer from.",
                f"It has: {', '.join(benchmark.splits(scheme))}. `evaluate` shows the majority of the split itself.",
            )
        counts: defaultdict[bool, Counter[int]] = defaultdict(Counter)
        for item in benchmark.items("train", scheme):
            if item.answer is not None:
                counts[item.given is not None][item.answer] += 1
        if not counts:
            raise UserError("No item of split 'train' has an answer.", "Solve with another solver.")
        for item in benchmark.items(split, scheme):
            seen = counts[item.given is not None]
            total = max(seen.total(), 1)
            yield Prediction(item.id, tuple(seen[k] / total for k in range(len(item.candidates))))


class Guess(Solver):
    """A random score for every candidate; the same for an item whatever is solved with it."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
        for item in benchmark.items(split, scheme):
            name = hashlib.sha256(f"{self.seed}\n{item.id}".encode()).digest()[:8]
            rng = np.random.default_rng(int.from_bytes(name, "little"))
            yield Prediction(item.id, tuple(rng.random(len(item.candidates)).tolist()))

    def about(self) -> Json:
        return {"seed": self.seed}
