"""Runs sorted by the benchmark they are about, scored: a study is one benchmark and all systems that were run on it.

Scores come from `veridical.evaluation`, so that every number of a report is the one that verb prints. Where a split is
hidden, only totals are kept unless `hidden` says that answers may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools, Ints
from veridical.common.intervals import Estimate
from veridical.errors import UserError
from veridical.evaluation import Scores, evaluate
from veridical.evaluation.arrays import are_arrays, read_arrays
from veridical.evaluation.grade import Grades, grade, guess_split, read_key
from veridical.evaluation.metrics import per_item
from veridical.evaluation.predictions import Predictions
from veridical.evaluation.readers import image_name, read_predictions
from veridical.options.running import ReportOptions
from veridical.records import split_view
from veridical.reporting.inputs import Role, RunFile

Part = tuple[str, str]  # scheme and split
_Scored = tuple[RunFile, Grades, Scores]
PAPERS = ("nlvr2", "nlvr", "vprom", "vcr")  # the longer of two that begin alike comes first


def part_in_words(part: Part) -> str:
    return part[1] if part[0] == "main" else f"{part[0]}, {part[1]}"


@dataclass(frozen=True)
class PartResult:
    """One system on one part of a benchmark."""

    scores: tuple[Scores, ...]  # one per trial
    grades: Grades  # of the first trial
    runs: tuple[RunFile, ...]

    @property
    def first(self) -> Scores:
        return self.scores[0]

    @property
    def main(self) -> Estimate:
        """The measure that systems are ordered by: accuracy, or both stages right."""
        return self.first.staged.get("Q->AR", self.first.accuracy)

    def beside(self, name: str) -> float | None:
        """The same measure of what is computed on these items: majority, random (chance, exactly) or human."""
        row = next((row for row in self.first.baselines if row.name == name), None)
        if row is None:
            return None
        value = row.staged.get("Q->AR", row.accuracy) if self.first.staged else row.accuracy
        return value.value if isinstance(value, Estimate) else value

    @property
    def above_chance(self) -> bool:
        """Whether chance lies below its interval."""
        chance = self.beside("random")
        return chance is None or self.main.low > chance

    def right(self) -> Ints:
        """Per item: how many of its examples are right."""
        return per_item(self.grades.item, self.grades.right, len(self.grades.key.ids))

    def solved(self) -> Bools:
        """Per item: whether all of its examples are right."""
        return np.asarray((self.grades.examples > 0) & (self.right() == self.grades.examples))

    def failed(self) -> Bools:
        """Per item: whether at least half of its examples are wrong."""
        return np.asarray((self.grades.examples > 0) & (2 * self.right() <= self.grades.examples))


@dataclass
class System:
    """One row of the tables."""

    name: str
    place: int  # decides its colour
    role: Role = "looks"
    results: dict[Part, PartResult] = field(default_factory=dict)

    @property
    def quoted(self) -> str:
        """Its name as a sentence has it: set off, for a name may hold commas and prepositions."""
        return f"“{self.name}”"


@dataclass
class Study:
    """One benchmark and the systems that were run on it."""

    benchmark: Benchmark
    paper: str | None  # nlvr, nlvr2, vprom, vcr: whose tables stand beside
    systems: list[System] = field(default_factory=list)
    draws: list[System] = field(default_factory=list)  # runs of `random`: no rivals, since chance is known exactly
    notes: list[str] = field(default_factory=list)
    show_hidden: bool = False

    @property
    def parts(self) -> list[Part]:
        """The parts that any system was scored on, in the benchmark's order of use: train, dev, tests."""
        found = {part for system in self.systems for part in system.results}
        order = {"train": 0, "dev": 1, "val": 1}
        return sorted(found, key=lambda p: (p[0] not in ("main", "neutral"), p[0], order.get(p[1], 2), p[1]))

    def open_to_view(self, part: Part) -> bool:
        """Whether answers of the part may be shown item by item."""
        return self.show_hidden or not self.benchmark.is_hidden(part[1])

    @property
    def focus(self) -> Part | None:
        """The part that is looked at item by item: the one most systems share, dev before test before train."""
        parts = [p for p in self.parts if self.open_to_view(p)]
        if not parts:
            return None
        liked = {"dev": 0, "val": 0, "validation": 0, "test": 1, "train": 3}
        return min(parts, key=lambda p: (-len(self.on(p)), liked.get(p[1], 2), p[0] != "neutral", p))

    def on(self, part: Part) -> list[System]:
        return [system for system in self.systems if part in system.results]

    def ranked(self, part: Part, *roles: Role) -> list[System]:
        """The systems of some roles, or all, best first."""
        chosen = [system for system in self.on(part) if not roles or system.role in roles]
        return sorted(chosen, key=lambda system: -system.results[part].main.value)


def paper_of(benchmark: Benchmark) -> str | None:
    """Which of the four a benchmark is, by how it was made, by its name, or by its task; None where it is none.

    A choice among texts is visual commonsense reasoning (VCR) only if its name says so.
    """
    config = benchmark.manifest.get("config") or {}
    for said in (config.get("format"), config.get("builder"), config.get("kind"), benchmark.name):
        plain_name = "".join(c for c in str(said or "").lower() if c.isalnum())
        for paper in PAPERS:
            if paper in plain_name:
                return paper
    return "vprom" if benchmark.task == "matrix" else None


def study(files: Sequence[RunFile], benchmarks: Sequence[Path | str], options: ReportOptions) -> list[Study]:
    """Find the benchmark of each file, score it, and put the results together."""
    known = {Benchmark(path).hash: Benchmark(path) for path in benchmarks}
    studies: dict[str, Study] = {}
    waiting: dict[tuple[str, str, Part], list[_Scored]] = {}
    for run in files:
        home, read = _home(run, known)
        here = studies.setdefault(home.hash, Study(home, paper_of(home), show_hidden=options.hidden))
        if run.benchmark_hash not in (None, home.hash):
            here.notes.append(
                f"{run.path.name} was made on another build of the benchmark ({str(run.benchmark_hash)[:12]}); "
                f"this one is {home.hash[:12]}."
            )
        part = _part(run, home, read, options.scheme, options.split)
        answers = home.hidden_directory / f"answers-{part[0]}-{part[1]}.parquet"
        if home.is_hidden(part[1]) and not answers.is_file():
            here.notes.append(f"{run.name}: split {part[1]} is hidden and its answers are not here; it is not scored.")
            continue
        scores = evaluate(
            home.directory, run.path, split=part[1], scheme=part[0], resamples=options.resamples, seed=options.seed
        )
        key = read_key(home, part[1], part[0])
        if scores.limit is not None:
            key = key.first(scores.limit)
            here.notes.append(
                f"“{run.name}” was made with --limit {scores.limit}: it is scored on {scores.items:,} of the "
                f"{scores.split_items:,} items of {part[1]}."
            )
        grades = grade(read if read is not None else read_arrays(run.path, key), key)
        waiting.setdefault((home.hash, run.name, part), []).append((run, grades, scores))
    _gather(studies, waiting)
    return list(studies.values())


def _gather(studies: dict[str, Study], waiting: dict[tuple[str, str, Part], list[_Scored]]) -> None:
    """Systems in the order in which they were given."""
    for (home, name, part), trials in waiting.items():
        here = studies[home]
        system = next((s for s in here.systems if s.name == name), None)
        if system is None:
            system = System(name, len(here.systems), trials[0][0].role)
            here.systems.append(system)
        if len({scores.per_view for _, _, scores in trials}) > 1:
            raise UserError(
                f"{name}: some files are about items and some about single views, so they are not trials of one thing.",
                "Give them different names: NAME=FILE.",
            )
        system.results[part] = PartResult(tuple(s for _, _, s in trials), trials[0][1], tuple(r for r, _, _ in trials))
    for here in studies.values():
        _set_draws_aside(here)


def _set_draws_aside(study: Study) -> None:
    """Take out runs of `random` wherever anything else was run on the same parts."""
    rivals = {part for system in study.systems if system.role != "random" for part in system.results}
    study.draws = [system for system in study.systems if system.role == "random" and system.results.keys() <= rivals]
    study.systems = [system for system in study.systems if system not in study.draws]
    for place, system in enumerate(study.systems):
        system.place = place


def _part(run: RunFile, home: Benchmark, read: Predictions | None, scheme: str | None, split: str | None) -> Part:
    """The scheme and split a file is about: as told, as it says itself, or where its names are."""
    where = next((s for s in (scheme, run.scheme) if s in home.schemes), None)
    if where is None:
        shares = {s: _share(home, read, s) if read is not None else 0.0 for s in home.schemes}
        best = [s for s in home.schemes if shares[s] == max(shares.values())]
        if len(best) > 1 and "main" not in best:
            raise UserError(
                f"Cannot tell which scheme of {home.name} {run.path} is about.",
                f"Say so with --scheme, one of: {', '.join(home.schemes)}.",
            )
        where = "main" if "main" in best else best[0]
    splits = home.splits_of(where)
    for said in (split, run.split):
        if said in splits:
            return where, str(said)
    if read is None:
        if len(splits) == 1:
            return where, splits[0]
        raise UserError(
            f"{run.path} holds arrays, which do not say which split they are about.", "Say it with --split."
        )
    return where, guess_split(home, read, where)


def _home(run: RunFile, known: dict[str, Benchmark]) -> tuple[Benchmark, Predictions | None]:
    """The benchmark a file is about: the one whose hash it carries, or the one that knows its names."""
    read = None if are_arrays(run.path) else read_predictions(run.path)
    if run.benchmark_hash in known:
        return known[str(run.benchmark_hash)], read
    if not known:
        raise UserError(f"{run.path} does not say which benchmark it is about.", "Say it with --benchmark DIR.")
    if len(known) == 1:
        return next(iter(known.values())), read
    if read is None:
        choices = [b for b in known.values() if b.task == "choice"]
        if len(choices) == 1:
            return choices[0], None
        raise UserError(f"{run.path} holds arrays, which do not say which benchmark they are about.", "Give only one.")
    shares = {digest: max(_share(b, read, s) for s in b.schemes) for digest, b in known.items()}
    best = max(shares, key=lambda digest: shares[digest])
    if shares[best] == 0:
        raise UserError(
            f"{run.path}: its predictions are about no item of the benchmarks given.",
            f"Give its benchmark too: --benchmark DIR. Given: {', '.join(b.name for b in known.values())}.",
        )
    return known[best], read


def _share(benchmark: Benchmark, read: Predictions, scheme: str) -> float:
    """How many of a file's first names a benchmark knows."""
    first = read.names.slice(0, 2000)
    bases = [split_view(name)[0] for name in first.to_pylist()]
    official = [(image_name(name) or (name, 0))[0] for name in first.to_pylist()]
    best = 0
    for part in benchmark.splits_of(scheme):
        ids = benchmark.items_table(part, scheme, ["id"])["id"].combine_chunks()
        for names in (first, pa.array(bases, pa.string()), pa.array(official, pa.string())):
            best = max(best, int(pc.sum(pc.is_in(names, value_set=ids)).as_py() or 0))
    return best / len(first)
