"""`veridical solve`: the predictions of any solver, and what made them, each in a file.

Each line is {"item", "scores", "raw", "benchmark"}, tied to the benchmark by its hash; beside the file lies
`FILE.meta.json` with what made it. Both are written whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from veridical import __version__
from veridical.benchmark import Benchmark
from veridical.common.files import Json, atomic, write_whole
from veridical.common.result import Result, Table
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.options.running import Asking, Generating, Sending, SolverOptions
from veridical.records import Prediction, split_view
from veridical.solvers.solver import Details, open_solver


@dataclass(frozen=True)
class Solved(Result):
    """What a solver wrote."""

    out: Path
    solver: str
    benchmark_hash: str
    split: str
    predictions: int
    details: Details | None = None  # programs: how many sentences were read; models: all about the run

    def to_json(self) -> Json:
        more = {} if self.details is None else self.details.to_json()
        named = {"out": str(self.out), "solver": self.solver, "benchmark": self.benchmark_hash, "split": self.split}
        return {**named, "items": self.predictions, **more}

    @property
    def exit_code(self) -> int:
        return 1 if getattr(self.details, "unanswered", 0) else 0

    def parts(self) -> Iterator[Table | str]:
        yield Table("", ("predictions in", "split", "predictions"), [(self.out, self.split, f"{self.predictions:,}")])
        if self.details is not None:
            yield from self.details.parts()


def solve(
    solver: str,
    benchmark: Path | str,
    options: SolverOptions = SolverOptions(),
    asking: Asking = Asking(),
    sending: Sending = Sending(),
    generating: Generating = Generating(),
    *,
    split: str,
    out: Path | str,
    scheme: str = "main",
) -> Solved:
    """Answer the items of a split and write one prediction per line: see `veridical.api.solve`.

    Options that the solver has no use for are refused.
    """
    limit = options.limit
    if limit is not None and limit < 1:
        raise UserError(f"The limit {limit} leaves nothing to solve.", "Take 1 or more.")
    opened, target = Benchmark(benchmark), Path(os.path.abspath(out))
    if split not in opened.splits(scheme):
        raise UserError(
            f"{opened.name} has no split {split!r} in scheme {scheme!r}.",
            f"It has: {', '.join(opened.splits(scheme))}.",
        )
    chosen = open_solver(solver, options, asking, sending, generating, out=target)
    rows: int = opened.manifest["counts"]["items"][scheme][split]
    most = rows if limit is None else min(rows, limit)
    found = chosen.predict(opened, split, scheme)
    if not chosen.shows_progress:
        found = _counted(found, most, f"Solving with {solver}")
    count = write_predictions(target, found, opened)
    about = {"name": solver, "limit": limit, **chosen.about(), "items": count}
    write_meta(target, opened, split, scheme, about)
    if chosen.stopped:
        raise KeyboardInterrupt
    return Solved(target, solver, opened.hash, split, count, chosen.details)


def _counted(predictions: Iterable[Prediction], most: int, label: str) -> Iterator[Prediction]:
    """The predictions of the first items, with progress; an item may have one for each of its views."""
    seen: set[str] = set()
    with Progress(label, most, "items") as progress:
        for one in predictions:
            item = split_view(one.item)[0]
            if item not in seen:
                if len(seen) >= most:
                    return
                seen.add(item)
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


def write_meta(path: Path, benchmark: Benchmark, split: str, scheme: str, about: Json) -> None:
    """Write beside a prediction file what made it, so that a number can be traced."""
    where = {"benchmark": benchmark.name, "benchmark_hash": benchmark.hash, "split": split, "scheme": scheme}
    record = {**where, "solver": about, "veridical": __version__}
    text = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    write_whole(path.with_name(path.name + ".meta.json"), text)
