"""`veridical match`: any question/answer file, or any benchmark of choices, with wrong choices by Adversarial Matching.

Questions are dealt to folds by group; P_rel and P_sim are fitted; each fold is matched by itself, answers and
rationales separately; the result is a benchmark, or a table where `out` ends like one.
"""

from __future__ import annotations

import csv
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from veridical.benchmark import BenchmarkWriter
from veridical.benchmark.place import MANIFEST
from veridical.benchmark.writer import file_hash
from veridical.build.matching.folds import deal, split_of
from veridical.build.matching.integrity import Bias, integrity, random_wrong, shared_tags
from veridical.build.matching.items import Laid, choices_of, items_of, lay_out, query, response, table_rows
from veridical.build.matching.rebuild import Rebuilt, read_benchmark
from veridical.build.matching.relevance import WORDS, encoder
from veridical.build.matching.stage import (
    Matched,
    Models,
    Options,
    Responses,
    check_folds,
    fit_models,
    match_stage,
    responses_of,
    scarce,
    subset,
)
from veridical.build.matching.sweep import Sweep, plot, sweep
from veridical.build.matching.table import Asked, Columns, read_table
from veridical.build.matching.tags import tagged
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.records import Pruned

TABLES = (".csv", ".jsonl", ".parquet")
MOST_LEFT_OUT = 0.2  # share of questions whose tags fit too few photographs; more is an error
UNFIT = "its tags fit too few photographs"
FALLBACK = "hashed-words"  # what machines read with where relevance is lexical


@dataclass(frozen=True)
class MatchReport:
    """What was matched, how well, and what it gives away."""

    out: Path
    pairs: int
    rounds: int
    gap: float  # the largest certified relative gap to the optimum, over folds, rounds and stages
    seconds: float
    peak_bytes: int
    splits: dict[str, int]
    folds: int
    models: dict[str, Any]  # stage -> models and their calibration
    weight: float
    integrity: tuple[Bias, ...] = ()
    sweep: Sweep | None = None
    notes: tuple[str, ...] = ()
    stages: dict[str, float] = field(default_factory=dict)  # seconds of each

    def to_json(self) -> dict[str, Any]:
        plain = ("pairs", "rounds", "gap", "seconds", "peak_bytes", "splits", "folds", "models", "notes", "stages")
        return {
            **{name: getattr(self, name) for name in plain},
            "out": str(self.out),
            "lambda": self.weight,
            "integrity": [bias.to_json() for bias in self.integrity],
            "sweep": None if self.sweep is None else self.sweep.to_json(),
        }


def match_file(
    file: Path | str,
    out: Path | str,
    *,
    columns: Columns | None = None,
    options: Options | None = None,
    folds: int | None = None,
    splits: Mapping[str, float] | None = None,
    hidden: Sequence[str] = (),
    sweep_over: Sequence[float] = (),
    people: Path | str | None = None,
    check: bool = False,
    name: str = "",
    licence: str = "",
    keep_going: bool = False,
) -> MatchReport:
    """The work of `match`, its options gathered: see there."""
    job = _Job(Path(file), Path(os.path.abspath(out)), options or Options(), time.perf_counter())
    if job.options.seed < 0:
        raise UserError(f"The seed is {job.options.seed}.", "Give a whole number from 0.")
    rebuilt = read_benchmark(job.file) if (job.file / MANIFEST).is_file() else None
    if rebuilt is not None:
        rows, notes = rebuilt.rows, list(rebuilt.notes)
    else:
        table = read_table(job.file, columns, keep_going=keep_going)
        rows, notes = table.rows, list(table.notes)
        rows = deal(rows, folds, splits, job.options.seed)
    has_reasons = bool(rows) and all(row.rationale is not None for row in rows)
    stages = {"answer": _responses(rows, "answer")} | (
        {"rationale": _responses(rows, "rationale")} if has_reasons else {}
    )
    for stage, found in stages.items():
        check_folds(found, job.options.wrong, stage)
    job.done("reading")
    if sweep_over:
        return _swept(job, rows, stages["answer"], sweep_over, None if people is None else Path(people), notes)
    whole = rows
    rows, stages, models, matched = _matched(job, rows, stages)
    laid = {stage: lay_out(one.wrong, rows, stage, job.options.seed) for stage, one in matched.items()}
    if len(rows) < len(whole):
        notes.append(f"Left out: {len(whole) - len(rows):,} questions whose responses tag what few photographs show.")
    notes += [
        f"Frequent texts left little choice in folds {', '.join(one.reserved)}."
        for one in matched.values()
        if one.reserved
    ]
    pruned = sorted({row.id for row in whole} - {row.id for row in rows})
    names = [split_of(row) for row in rows]
    _write(job, rows, names, laid, rebuilt, _Label(name, licence, tuple(hidden), tuple(pruned)), models)
    job.done("writing")
    biases = _integrity(job, rows, stages["answer"], laid["answer"]) if check else []
    if check:
        job.done("integrity report")
    return _report(job, rows, names, models, list(matched.values()), biases, notes)


@dataclass
class _Job:
    file: Path
    out: Path
    options: Options
    began: float
    seconds: dict[str, float] = field(default_factory=dict)
    clock: float = field(default_factory=time.perf_counter)

    def done(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage], self.clock = now - self.clock, now

    def config(self) -> dict[str, Any]:
        options = self.options
        source = self.file / MANIFEST if self.file.is_dir() else self.file
        return {
            "builder": "match",
            "input": {source.name: file_hash(source)},
            "relevance": options.relevance,
            "similarity": options.similarity,
            "learned": options.learned,
            "lambda": options.weight,
            "wrong": options.wrong,
            "kinds": {"size": options.kinds.size, "noise": options.kinds.noise, "own": options.kinds.own},
            "shortlist": options.shortlist,
            "tolerance": options.tolerance,
            "rerank": options.reranker.name if options.reranker else None,
            "rerank_similarity": options.similarity_reranker.name if options.similarity_reranker else None,
        }


@dataclass(frozen=True)
class _Label:
    """What a benchmark says of itself."""

    name: str
    licence: str
    hidden: tuple[str, ...]
    pruned: tuple[str, ...]  # questions that were left out


def _matched(
    job: _Job, rows: list[Asked], stages: dict[str, Responses]
) -> tuple[list[Asked], dict[str, Responses], dict[str, Models], dict[str, Matched]]:
    """Match every stage. Questions whose response fits too few photographs are left out, as few as will do."""
    models: dict[str, Models] = {}
    least, whole = job.options.wrong, len(rows)
    while True:
        while (bad := np.any([scarce(found, least) for found in stages.values()], axis=0)).any():
            kept = np.flatnonzero(~bad)
            rows = [rows[i] for i in kept]
            stages = {stage: subset(found, kept) for stage, found in stages.items()}
            models = {}
            for stage, found in stages.items():
                check_folds(found, job.options.wrong, stage)
        for stage, found in stages.items():
            if stage not in models:
                models[stage] = fit_models(found, job.options)
        job.done("models")
        matched: dict[str, Matched] = {}
        try:
            for stage, found in stages.items():
                matched[stage] = match_stage(found, models[stage], job.options, f"Matching {stage}s")
                job.done(f"matching, {stage}s")
            return rows, stages, models, matched
        except UserError:
            # a response with few places may find them taken in a later round: ask for more places, and try again
            if all(found.needs is None for found in stages.values()) or len(rows) < (1 - MOST_LEFT_OUT) * whole:
                raise
            least *= 2


def _responses(rows: Sequence[Asked], stage: str) -> Responses:
    return responses_of(
        [query(row, stage) for row in rows],
        [response(row, stage) for row in rows],
        [row.panel for row in rows],
        [row.fold or "" for row in rows],
    )


def _write(
    job: _Job,
    rows: Sequence[Asked],
    splits: Sequence[str],
    laid: Mapping[str, Laid],
    rebuilt: Rebuilt | None,
    label: _Label,
    models: Mapping[str, Models],
) -> None:
    hidden = label.hidden
    if job.out.suffix.lower() in TABLES:
        if hidden:
            raise UserError("A table has no place for hidden answers.", "Leave --hide out, or make a benchmark.")
        return write_table(job.out, table_rows(rows, splits, laid["answer"], laid.get("rationale")))
    unknown = [one for one in hidden if one not in set(splits)]
    if unknown:
        known = ", ".join(sorted(set(splits)))
        raise UserError(f"There is no split {unknown[0]!r} to hide.", f"The splits are: {known}.")
    old = None if rebuilt is None else rebuilt.benchmark
    config = job.config() | {"calibration": {stage: one.to_json() for stage, one in models.items()}}
    with BenchmarkWriter(
        job.out,
        name=label.name or (old.name if old else job.file.stem),
        task="choice",
        config=config | ({"format": old.manifest["config"].get("format")} if old else {}),
        seed=job.options.seed,
        licence=label.licence or (str(old.manifest["licence"]) if old else ""),
        hidden=hidden or (tuple(old.manifest["hidden"]) if old else ()),
        describe=describe,
    ) as writer:
        if old is not None:
            for table in old.image_tables:
                for data in table["data"]:
                    writer.add_image(data.as_py())
        items = list(items_of(rows, laid["answer"], laid.get("rationale")))
        of_question = dict(zip((row.id for row in rows), splits, strict=True))
        for split in sorted(set(splits)):
            writer.add_items(split, [item for item in items if of_question[item.parent or item.id] == split])
        if old is not None:
            writer.add_panels(old.panels_table())
        if label.pruned:
            writer.add_pruned(Pruned(one, UNFIT, "matching") for one in label.pruned)
    return None


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV, JSON lines or Parquet; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as work:
        part = Path(work) / path.name
        if path.suffix.lower() == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), part)
        elif path.suffix.lower() == ".jsonl":
            part.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        else:
            with part.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        part.replace(path)


def _integrity(job: _Job, rows: Sequence[Asked], found: Responses, laid: Laid) -> list[Bias]:
    """The report on the answers: matched ones, and ones drawn at random from the fold."""
    rng = np.random.default_rng([job.options.seed, 6])
    needs, have = found.needs, found.have
    fits = None if needs is None or have is None else (lambda i, j: (needs[j] <= have[i]).all(1))
    drawn = random_wrong(found.texts, found.folds, job.options.wrong, rng, fits)
    before = lay_out(drawn, rows, "answer", job.options.seed)
    tags = None
    if needs is not None:
        own = [tagged(row.question) for row in rows]
        both = [shared_tags(own, [[tagged(t) for t in four] for four in one.texts]) for one in (laid, before)]
        tags = (both[0], both[1])
    vectors = encoder(_reader(job.options))
    return integrity(choices_of(rows, laid), choices_of(rows, before), vectors, job.options.seed, tags)


def _reader(options: Options) -> str:
    return FALLBACK if options.relevance in WORDS else options.relevance


def _swept(
    job: _Job, rows: Sequence[Asked], found: Responses, weights: Sequence[float], people: Path | None, notes: list[str]
) -> MatchReport:
    if job.out.suffix.lower() in TABLES:
        raise UserError(f"A sweep writes several files; {job.out.name} is one.", "Give a folder as --out.")
    models = fit_models(found, job.options)
    job.done("models, answers")

    def laid_of(matched: Matched) -> Laid:
        return lay_out(matched.wrong, rows, "answer", job.options.seed)

    result, made = sweep(
        found, models, job.options, weights, lambda one: choices_of(rows, laid_of(one)), encoder(_reader(job.options)),
        people,
    )  # fmt: skip
    job.out.mkdir(parents=True, exist_ok=True)
    names = [split_of(row) for row in rows]
    for weight, matched in made.items():
        write_table(job.out / f"choices-{weight:g}.csv", table_rows(rows, names, laid_of(matched), None))
    (job.out / "sweep.svg").write_text(plot(result), encoding="utf-8")
    (job.out / "sweep.json").write_text(json.dumps(result.to_json(), indent=1) + "\n", encoding="utf-8")
    job.done("sweep")
    report = _report(job, rows, names, {"answer": models}, list(made.values()), [], notes)
    return replace(report, sweep=result, weight=result.recommended)


def _report(
    job: _Job,
    rows: Sequence[Asked],
    names: Sequence[str],
    models: Mapping[str, Models],
    matched: Sequence[Matched],
    biases: Sequence[Bias],
    notes: Sequence[str],
) -> MatchReport:
    return MatchReport(
        out=job.out,
        pairs=len(rows),
        rounds=job.options.wrong,
        gap=max(one.gap for one in matched),
        seconds=time.perf_counter() - job.began,
        peak_bytes=max(one.peak_bytes for one in matched),
        splits={split: names.count(split) for split in sorted(set(names))},
        folds=len({row.fold for row in rows}),
        models={stage: one.to_json() for stage, one in models.items()},
        weight=job.options.weight,
        integrity=tuple(biases),
        notes=tuple(notes),
        stages=job.seconds,
    )
