"""What a solver is, the one place that opens one by name (`programs`, a run folder, `openai/gpt-4o`), and the verb.

A solver's options are the keywords of its constructor, which are fields of the verb's option groups. Options that were
given although the chosen solver has no such keyword are refused: silence would be taken for obedience.

`veridical solve` writes a line {"item", "scores", "raw", "benchmark"} for each prediction, tied to the benchmark by its
hash; beside the file lies `FILE.meta.json` with what made it. Both are written whole or not at all.

The two simplest are here too. They look at nothing: the most common answer of the training split, and a guess.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np

from veridical import __version__
from veridical.benchmark import Benchmark
from veridical.common import registry
from veridical.common.files import Json, atomic, write_whole
from veridical.common.result import Result, Table
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.options import refuse_unused
from veridical.options.running import Asking, Generating, Sending, SolverOptions, Workers
from veridical.records import Prediction, split_view
from veridical.solvers import SOLVERS

ALL = "all"  # trials of a run
LIKED = ("dev", "val", "validation")  # splits that are solved where there are several and none is named


class Details(Protocol):
    """What a solver has to say of its work besides the predictions."""

    def to_json(self) -> dict[str, object]: ...

    def parts(self) -> Iterable[Table | str]:
        """The same for people: tables, and remarks."""


class Solver(Protocol):
    """Answers items. A new one is a subclass with `predict`, and a line in `SOLVERS` or an entry point."""

    shows_progress: bool = False  # it tells itself how far it is
    stopped: bool = False  # the user stopped it: what there is will be written, and the command ends as stopped
    details: Details | None = None  # complete when the last prediction was taken

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterable[Prediction]:
        """A prediction per item of a split, or per view of it (`item#k`), in the order of the items."""

    def about(self) -> dict[str, object]:
        """What made the predictions, for the file beside them; asked when the last one was taken."""
        return {}


def open_solver(
    name: str,
    options: SolverOptions = SolverOptions(),
    asking: Asking = Asking(),
    sending: Sending = Sending(),
    generating: Generating = Generating(),
    workers: Workers = Workers(),
    *,
    out: Path = Path("predictions.jsonl"),
) -> Solver:
    """The solver of a name: one of `SOLVERS`, a run folder of `veridical train`, or `provider/model`.

    `out` is where its predictions will go: a model keeps unfinished work beside it.
    """
    make = _maker(name)
    used = set(inspect.signature(make).parameters)
    given: Json = {"out": out}
    groups: Json = {
        "options": options, "asking": asking, "sending": sending, "generating": generating, "workers": workers,
    }  # fmt: skip
    for group_name, group in groups.items():
        given |= {group_name: group} | {one.name: getattr(group, one.name) for one in fields(group)}
        if group_name not in used:
            refuse_unused(f"The solver {name}", {*used, "limit", "scheme"}, group)  # which `solve` itself heeds
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


@dataclass(frozen=True)
class Solved(Result):
    """What a solver wrote."""

    out: Path
    solver: str
    benchmark_hash: str
    split: str
    predictions: int
    details: Details | None = None  # programs: how many sentences were read; models: all about the run
    others: tuple[Solved, ...] = ()  # of the other trials of a run, where all were asked for

    def to_json(self) -> dict[str, object]:
        more = {} if self.details is None else self.details.to_json()
        more |= {"others": [one.to_json() for one in self.others]} if self.others else {}
        named = {"out": str(self.out), "solver": self.solver, "benchmark": self.benchmark_hash, "split": self.split}
        return {**named, "items": self.predictions, **more}

    @property
    def exit_code(self) -> int:
        return 1 if getattr(self.details, "unanswered", 0) else 0

    def parts(self) -> Iterator[Table | str]:
        rows = [(one.out, one.split, f"{one.predictions:,}") for one in (self, *self.others)]
        yield Table("", ("predictions in", "split", "predictions"), rows)
        if self.details is not None:
            yield from self.details.parts()


def solve(
    solver: str,
    benchmark: Path | str,
    options: SolverOptions = SolverOptions(),
    asking: Asking = Asking(),
    sending: Sending = Sending(),
    generating: Generating = Generating(),
    workers: Workers = Workers(),
    *,
    split: str | None,
    out: Path | str,
) -> Solved:
    """Answer the items of a split and write one prediction per line: see `veridical.api.solve`.

    Options that the solver has no use for are refused.
    """
    if options.trial == ALL and Path(solver).is_dir():
        return _solve_all(solver, benchmark, options, workers, split=split, out=Path(out))
    limit = options.limit
    if limit is not None and limit < 1:
        raise UserError(f"The limit {limit} leaves nothing to solve.", "Take 1 or more.")
    opened, target = Benchmark(benchmark), Path(os.path.abspath(out))
    scheme = opened.certain_scheme(options.scheme)
    split = certain_split(opened, split, scheme)
    chosen = open_solver(solver, options, asking, sending, generating, workers, out=target)
    found = chosen.predict(opened, split, scheme)
    if not chosen.shows_progress:
        found = _counted(found, first_items(opened, split, scheme, limit), f"Solving with {solver}")
    count = write_predictions(target, found, opened)
    about = {"name": solver, "limit": limit, **chosen.about(), "items": count}
    write_meta(target, opened, split, scheme, about)
    if chosen.stopped:
        raise KeyboardInterrupt
    return Solved(target, solver, opened.hash, split, count, chosen.details)


def _solve_all(
    solver: str, benchmark: Path | str, options: SolverOptions, workers: Workers, *, split: str | None, out: Path
) -> Solved:
    """Every trial of a run, each in a file of its own: OUT-0, OUT-1 ..."""
    from veridical.solvers.trained import trials_of

    each, trials = [], trials_of(Path(solver))
    if options.also is not None and (others := trials_of(Path(options.also))) != trials:
        raise UserError(
            f"{solver} has the trials {', '.join(trials)}, {options.also} has {', '.join(others)}.",
            "Train as many of both (--trials), or solve by one of each: --trial best.",
        )
    for trial in trials:
        own = out.with_name(f"{out.stem}-{trial}{out.suffix}")
        chosen = replace(options, trial=trial)
        each.append(solve(solver, benchmark, chosen, workers=workers, split=split, out=own))
    return replace(each[0], others=tuple(each[1:]))


def certain_split(benchmark: Benchmark, split: str | None, scheme: str, liked: Sequence[str] = LIKED) -> str:
    """A split, or, where none is named, the only one, else the first that is liked; else an error that lists them."""
    known = benchmark.splits_of(scheme)
    if split is None:
        for name in known if len(known) == 1 else liked:
            if name in known:
                return name
        problem = f"{benchmark.name} has {len(known)} splits, and none is called {liked[0]}."
        raise UserError(problem, f"Say which with --split, one of: {', '.join(known)}.")
    if split not in known:
        problem = f"{benchmark.name} has no split {split!r} in scheme {scheme!r}."
        raise UserError(problem, f"It has: {', '.join(known)}.")
    return split


def first_items(benchmark: Benchmark, split: str, scheme: str, limit: int | None) -> set[str]:
    """The ids of the first items; rationale items are not counted, and stand with their questions."""
    table = benchmark.items_table(split, scheme, ["id", "parent"])
    ids, parents = table["id"].to_pylist(), table["parent"].to_pylist()
    roots = [name for name, parent in zip(ids, parents, strict=True) if parent is None]
    among = set(roots if limit is None else roots[:limit])
    return among | {name for name, parent in zip(ids, parents, strict=True) if parent in among}


def _counted(predictions: Iterable[Prediction], wanted: set[str], label: str) -> Iterator[Prediction]:
    """The predictions of the wanted items, with progress; an item may have one for each of its views."""
    left = set(wanted)
    with Progress(label, len(wanted), "items") as progress:
        for one in predictions:
            item = split_view(one.item)[0]
            if item not in wanted:
                if not left:
                    return
                continue
            if item in left:
                left.discard(item)
                progress.advance()
            yield one


def write_predictions(path: Path, predictions: Iterable[Prediction], benchmark: Benchmark) -> int:
    """Write predictions about a benchmark; how many there were."""
    count = 0
    with atomic(path, "Give a file with --out, such as predictions.jsonl.") as file:
        for one in predictions:
            line = {"item": one.item, "scores": one.scores, "raw": one.raw, "benchmark": benchmark.hash}
            file.write(msgspec.json.encode(line) + b"\n")
            count += 1
    return count


def write_meta(path: Path, benchmark: Benchmark, split: str, scheme: str, about: Mapping[str, object]) -> None:
    """Write beside a prediction file what made it, so that a number can be traced."""
    where = {"benchmark": benchmark.name, "benchmark_hash": benchmark.hash, "split": split, "scheme": scheme}
    record = {**where, "solver": about, "veridical": __version__}
    text = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    write_whole(path.with_name(path.name + ".meta.json"), text)


class MajorityAnswer(Solver):
    """Always the most common answer of `train` (the lowest of equals); answers and rationales are counted apart."""

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
        if "train" not in benchmark.splits_of(scheme):
            raise UserError(
                f"{benchmark.name} has no split 'train' to take the most common answer from.",
                f"It has: {', '.join(benchmark.splits_of(scheme))}. `evaluate` shows the majority of the split itself.",
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

    def about(self) -> dict[str, object]:
        return {"seed": self.seed}
