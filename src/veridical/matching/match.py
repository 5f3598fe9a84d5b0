"""`veridical match`: any question/answer file, or any benchmark of choices, with wrong choices by Adversarial Matching.

Questions are dealt to folds by group; P_rel and P_sim are fitted; each fold is matched by itself, answers and
rationales separately; the result is a benchmark, or a table where `out` ends like one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.place import MANIFEST, check_free, hidden_dir
from veridical.benchmark.splits import RANDOM, SECRET, mix_secret
from veridical.benchmark.writer import file_hash
from veridical.common.files import as_cell
from veridical.engine.progress import Clock
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.language.wordnet import WordNet, open_thesaurus
from veridical.matching import items
from veridical.matching import stages as matching_stages
from veridical.matching.blind_readers import random_wrong
from veridical.matching.items import Laid, choices_of, lay_out, table_rows, write_table
from veridical.matching.lambda_curve import check_lambdas, lambda_curve, plot
from veridical.matching.questions import AnsweredQuestion, deal, read_benchmark, read_table, split_of
from veridical.matching.readings import MatchedChoices, Reading, readings
from veridical.matching.report import Bias, MatchReport, integrity, notes_on, shared_tags
from veridical.matching.scores.crossencoder import Guarded, Reranker
from veridical.matching.scores.models import WORDS, Encode, encoder
from veridical.matching.stages import Matched, MatchedStages, Models, Responses, StageOptions, mean_relevance
from veridical.options import given_names
from veridical.options.building import Columns, Matching, MatchOptions
from veridical.options.running import Workers
from veridical.records import Pruned

NO_WORDNET = (
    "WordNet is not here (pip install 'veridical[offline]'): whether one response says another again was judged by "
    "their own words and by our short lists alone, so more questions may have a second right answer."
)
FALLBACK = "hashed-words"  # what machines read with where relevance is lexical


@dataclass
class _MatchJob:
    file: Path
    out: Path
    options: StageOptions
    request: MatchOptions
    columns: Columns
    began: float
    old: Benchmark | None = None  # the benchmark that is matched anew
    hidden: tuple[str, ...] = ()  # splits, those of a benchmark that is matched anew included
    kept: bytes = b""  # of the secret
    notes: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    @property
    def makes_table(self) -> bool:
        return self.out.suffix.lower() in items.TABLES

    def config(self, models: Mapping[str, Models], matched: Mapping[str, Matched]) -> dict[str, object]:
        options = self.options
        source = self.file / MANIFEST if self.file.is_dir() else self.file
        return {
            "builder": "match",
            "input": {source.name: file_hash(source)},
            "relevance": options.relevance,
            "similarity": options.similarity,
            "learned": any(one.relevance.learned for one in models.values()),
            "lambda": options.weight,
            "wrong": options.wrong,
            "method": options.method,
            "precision": options.precision,
            **({"thesaurus": open_thesaurus(None, needed=False).name} if options.method == "fours" else {}),
            "reserved": {stage: list(one.reserved) for stage, one in matched.items() if one.reserved},
            "shortlist": options.shortlist,
            "tolerance": options.tolerance,
            "rerank": options.reranker.name if options.reranker else None,
            "rerank_similarity": options.similarity_reranker.name if options.similarity_reranker else None,
            "secret": bool(self.kept),
            "calibration": {stage: one.to_json() for stage, one in models.items()},
            **({"format": self.old.manifest["config"].get("format")} if self.old else {}),
        }


def match_file(
    file: Path | str,
    out: Path | str,
    request: MatchOptions,
    matching: Matching,
    columns: Columns,
    workers: Workers = Workers(),
) -> MatchReport:
    """Match a file or a benchmark: see `veridical.api.match`."""
    job = _asked(Path(file), Path(os.path.abspath(out)), request, matching, columns, workers)
    rows = _hide(job, _read(job))
    stages = _stages(job, rows)
    job.clock.done("reading")
    if job.request.sweep:
        return _curve(job, rows, stages)
    models = {stage: matching_stages.fit_models(found, job.options) for stage, found in stages.items()}
    job.clock.done("models")
    done = matching_stages.match_stages(stages, models, job.options, job.clock.done)
    whole, rows = rows, [rows[i] for i in done.kept]
    if len(rows) < len(whole):
        job.notes.append(
            f"Left out: {len(whole) - len(rows):,} questions whose responses tag what few photographs show."
        )
    job.notes += notes_on(done.matched)
    if job.options.method == "fours" and not isinstance(open_thesaurus(None, needed=False), WordNet):
        job.notes.append(NO_WORDNET)
    pruned = sorted({row.id for row in whole} - {row.id for row in rows})
    laid = _write(job, rows, done, pruned)
    job.clock.done("writing")
    return _judged(job, rows, done, laid)


def _asked(
    file: Path, out: Path, request: MatchOptions, matching: Matching, columns: Columns, workers: Workers
) -> _MatchJob:
    """What is to be done; what makes no sense, or would do nothing, is refused."""
    if request.sweep and "weight" in given_names(matching):
        raise UserError(f"A sweep tries lambdas of its own, and {matching.weight:g} was given.", "Leave --lambda out.")
    options = StageOptions.of(
        matching,
        wrong=request.wrong,
        shortlist=request.shortlist,
        tolerance=request.tolerance,
        seed=request.seed,
        reranker=_reranker(request.rerank, workers),
        similarity_reranker=_reranker(request.rerank_similarity, workers),
        workers=workers,
    )
    job = _MatchJob(file, out, options, request, columns, time.perf_counter())
    matching_stages.check_options(options)
    _check(job)
    return job


def _stages(job: _MatchJob, rows: Sequence[AnsweredQuestion]) -> dict[str, Responses]:
    """The answers, and the rationales where all questions have one; refused where none could be matched."""
    stages = {"answer": _responses(rows, "answer")}
    if rows and all(row.rationale is not None for row in rows):
        stages["rationale"] = _responses(rows, "rationale")
    judge = job.options.similarity_reranker
    for stage, found in stages.items():
        matching_stages.check_folds(found, job.options.wrong, stage)
        if isinstance(judge, Guarded):  # P_rel is trained anew, on other folds than it scores
            judge.refuse(list(zip(found.queries, found.responses, strict=True)))
    return stages


def _judged(
    job: _MatchJob, rows: Sequence[AnsweredQuestion], done: MatchedStages, laid: Mapping[str, Laid]
) -> MatchReport:
    """What blind readers make of the choices, and what else they give away."""
    read: list[Reading] = []
    for stage, one in laid.items():
        made = MatchedChoices(rows, stage, done.stages[stage], done.models[stage], done.matched[stage], one)
        read += readings(made, job.options, _reading(job.options))
    job.clock.done("blind readers")
    biases: list[Bias] = []
    if job.request.integrity:
        for stage, one in laid.items():
            biases += _integrity(job, rows, stage, done.stages[stage], one)
        job.clock.done("integrity report")
    report = _report(job, rows, done.models, done.matched)
    return replace(report, readings=tuple(read), integrity=tuple(biases))


def _check(job: _MatchJob) -> None:
    """Refuse what was asked for in vain."""
    asked = job.request
    if not asked.sweep:
        if asked.people is not None:
            raise UserError("People's answers are for a sweep.", "Give its lambdas too: --sweep 0.01,0.1,0.3,1,3.")
        if job.makes_table and (asked.hide or asked.secret):
            fix = "Leave --hide and --secret out, or make a benchmark."
            raise UserError("A table has no place for hidden answers.", fix)
        if not job.makes_table:
            check_free(job.out)
        return
    check_lambdas(asked.sweep)
    if job.makes_table:
        raise UserError(f"A sweep writes several files; {job.out.name} is one.", "Give a folder as --out.")
    idle = {"--hide": asked.hide, "--secret": asked.secret, "--integrity": asked.integrity, "--name": asked.name,
            "--licence": asked.licence}  # fmt: skip
    _refuse_idle("A sweep makes no benchmark", idle, "Leave it out, and give it with the lambda that you choose.")


def _refuse_idle(why: str, options: Mapping[str, object], fix: str = "Leave it out.") -> None:
    if given := [name for name, value in options.items() if value]:
        raise UserError(f"{why}: {', '.join(given)} would do nothing.", fix)


def _read(job: _MatchJob) -> list[AnsweredQuestion]:
    asked = job.request
    if (job.file / MANIFEST).is_file():
        idle = {"--folds": asked.folds is not None, "--split": asked.split, "--keep-going": asked.keep_going,
                "the names of columns": job.columns != Columns()}  # fmt: skip
        _refuse_idle(f"{job.file} is a benchmark, which has its own splits", idle)
        found = read_benchmark(job.file)
        job.old, job.notes = found.benchmark, [*job.notes, *found.notes]
        return found.rows
    found = read_table(job.file, job.columns, keep_going=asked.keep_going)
    job.notes += found.notes
    return deal(found.rows, asked.folds, asked.split, job.options.seed)


def _hide(job: _MatchJob, rows: list[AnsweredQuestion]) -> list[AnsweredQuestion]:
    """Decide what is hidden and draw its secret; for a table or a sweep, leave hidden splits out."""
    known = sorted({split_of(row) for row in rows})
    unknown = [one for one in job.request.hide if one not in known]
    if unknown:
        raise UserError(f"There is no split {unknown[0]!r} to hide.", f"The splits are: {', '.join(known)}.")
    old = [] if job.old is None else [one for one in job.old.manifest["hidden"] if one in known]
    hidden = tuple(dict.fromkeys([*job.request.hide, *old]))
    if hidden and (job.makes_table or job.request.sweep):
        kept = [row for row in rows if split_of(row) not in hidden]
        names = ", ".join(hidden)
        if not kept:
            raise UserError(f"All answers of {job.file} are hidden ({names}).", "Make a benchmark, which hides them.")
        where = "a table" if job.makes_table else "a sweep"
        job.notes.append(f"Left out: {len(rows) - len(kept):,} questions of {names}; {where} would show their answers.")
        return kept
    if not hidden:
        if job.request.secret:
            raise UserError("A secret was given, and no split is hidden.", "Name the splits to hide: --hide test.")
        return rows
    asked = RANDOM if job.request.secret is None else job.request.secret
    mixed = mix_secret(asked, hidden_dir(job.out) / SECRET, None)
    job.hidden, job.kept = hidden, mixed.kept
    job.notes += mixed.notes
    if old:
        job.notes.append(
            f"Answers of {', '.join(old)} stay hidden. Whoever has both benchmarks finds them, since mostly right "
            "answers are choices of a question in both: do not publish both."
        )
    folds = frozenset(row.fold or "" for row in rows if split_of(row) in hidden)
    job.options = replace(job.options, secret=mixed.secret, hidden=folds)
    return rows


def _responses(rows: Sequence[AnsweredQuestion], stage: str) -> Responses:
    return matching_stages.responses_of(
        [items.query(row, stage) for row in rows],
        [items.response(row, stage) for row in rows],
        [row.panel for row in rows],
        [row.fold or "" for row in rows],
    )


def _write(
    job: _MatchJob, rows: Sequence[AnsweredQuestion], done: MatchedStages, pruned: Sequence[str]
) -> dict[str, Laid]:
    """Lay the choices out and write them; photographs come from the benchmark that is matched anew."""
    splits = [split_of(row) for row in rows]
    hidden = np.array([split in job.hidden for split in splits])
    options, asked, old = job.options, job.request, job.old
    laid = {
        stage: lay_out(one.wrong, rows, stage, options.seed, options.secret, hidden)
        for stage, one in done.matched.items()
    }
    if job.makes_table:
        write_table(job.out, table_rows(rows, splits, laid["answer"], laid.get("rationale")))
        return laid
    with BenchmarkWriter(
        job.out,
        name=asked.name or (old.name if old else job.file.stem),
        task="choice",
        config=job.config(done.models, done.matched),
        seed=options.seed,
        licence=asked.licence or (str(old.manifest["licence"]) if old else ""),
        hidden=job.hidden,
        describe=describe,
    ) as writer:
        if job.kept:
            writer.add_hidden_file(SECRET, job.kept)
        for table in old.image_tables if old else ():
            for data in table["data"]:
                writer.add_image(data.as_py())
        made = list(items.items_of(rows, laid["answer"], laid.get("rationale")))
        of_question = dict(zip((row.id for row in rows), splits, strict=True))
        for split in sorted(set(splits)):
            writer.add_items(split, [item for item in made if of_question[item.parent or item.id] == split])
        if old is not None:
            writer.add_panels(old.panels_table())
        if pruned:
            writer.add_pruned(Pruned(one, items.UNFIT, "matching") for one in pruned)
    return laid


def _integrity(
    job: _MatchJob, rows: Sequence[AnsweredQuestion], stage: str, found: Responses, laid: Laid
) -> list[Bias]:
    """The report on a stage: matched responses, and ones drawn at random from the fold."""
    rng = np.random.default_rng([job.options.seed, 6, *([] if stage == "answer" else [1])])
    needs, have = found.needs, found.have
    fits = None if needs is None or have is None else (lambda i, j: (needs[j] <= have[i]).all(1))
    drawn = random_wrong(found.texts, found.folds, job.options.wrong, rng, fits)
    before = lay_out(drawn, rows, stage, job.options.seed)
    tags = None
    if needs is not None:
        own = [items.tagged(items.query(row, stage)) for row in rows]
        both = [shared_tags(own, [[items.tagged(t) for t in four] for four in one.texts]) for one in (laid, before)]
        tags = (both[0], both[1])
    sides = choices_of(rows, laid, stage), choices_of(rows, before, stage)
    return integrity(*sides, _reading(job.options), job.options.seed, tags, stage)


def _reranker(model: str | Reranker | None, workers: Workers) -> Reranker | None:
    """A cross-encoder by name."""
    if not isinstance(model, str):
        return model
    from veridical.encoders.crossencoders import CrossEncoder

    return CrossEncoder(model, workers=workers)


def _reading(options: StageOptions) -> Encode:
    """Texts as whoever guesses reads them."""
    name = FALLBACK if options.relevance in WORDS else options.relevance
    return encoder(name, options.precision, options.workers)


def _curve(job: _MatchJob, rows: Sequence[AnsweredQuestion], stages: Mapping[str, Responses]) -> MatchReport:
    """Match the answers at several lambdas; choices for people come without the key to them."""
    found = stages["answer"]
    check_lambdas(job.request.sweep, found)
    if len(stages) > 1:
        job.notes.append("A sweep matches answers only.")
    models = matching_stages.fit_models(found, job.options)
    job.clock.done("models")

    def laid_of(one: MatchedStages) -> tuple[list[AnsweredQuestion], Laid]:
        kept = [rows[i] for i in one.kept]
        return kept, lay_out(one.matched["answer"].wrong, kept, "answer", job.options.seed)

    result, made = lambda_curve(
        found, models, job.options, job.request.sweep, lambda one: choices_of(*laid_of(one)),
        _reading(job.options), Path(people) if (people := job.request.people) else None,
    )  # fmt: skip
    job.out.mkdir(parents=True, exist_ok=True)
    key: list[dict[str, str | int | float]] = []
    for weight, one in made.items():
        kept, laid = laid_of(one)
        shown = table_rows(kept, [split_of(row) for row in kept], laid, None)
        key += [{"lambda": weight, "id": row["id"], "answer_label": row.pop("answer_label")} for row in shown]
        write_table(job.out / f"choices-{weight:g}.csv", [{k: as_cell(v) for k, v in row.items()} for row in shown])
    write_table(job.out / "key.csv", key)
    (job.out / "sweep.svg").write_text(plot(result), encoding="utf-8")
    (job.out / "sweep.json").write_text(json.dumps(result.to_json(), indent=1) + "\n", encoding="utf-8")
    job.clock.done("sweep")
    matched = {f"answer, lambda {weight:g}": one.matched["answer"] for weight, one in made.items()}
    job.notes += notes_on(matched)
    report = _report(job, rows, {"answer": models}, matched)
    return replace(report, sweep=result, weight=result.recommended)


def _report(
    job: _MatchJob,
    rows: Sequence[AnsweredQuestion],
    models: Mapping[str, Models],
    matched: Mapping[str, Matched],
) -> MatchReport:
    names = [split_of(row) for row in rows]
    return MatchReport(
        out=job.out,
        pairs=len(rows),
        rounds=job.options.wrong,
        gap=max(one.gap for one in matched.values()),
        reserved=any(one.reserved for one in matched.values()),
        seconds=time.perf_counter() - job.began,
        peak_bytes=max(one.peak_bytes for one in matched.values()),
        splits={split: names.count(split) for split in sorted(set(names))},
        folds=len({row.fold for row in rows}),
        models={
            stage: one.to_json() | ({"choices": mean_relevance(one, matched[stage].wrong)} if stage in matched else {})
            for stage, one in models.items()
        },
        method=job.options.method,
        weights={stage: (one.weight, one.bound) for stage, one in matched.items()},
        weight=job.options.weight,
        notes=tuple(job.notes),
        stages=job.clock.seconds,
    )
