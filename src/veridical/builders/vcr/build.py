"""`veridical build vcr`: photographs, questions, folds by origin, Adversarial Matching, items of both stages.

Steps (VCR sections 3 and 4): choose photographs with at least three confident objects that are interesting; take the
questions, answers and rationales people wrote, or tell stories; deal photographs to eleven folds by movie; match
answers and rationales within each fold; write one answer item and four rationale items for each question.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark, BenchmarkWriter, splits, tables
from veridical.benchmark.place import hidden_dir, staging
from veridical.benchmark.splits import SECRET, secret_words
from veridical.builders import BuildReport
from veridical.builders.collected import answers_file, check_answers, read_answers, study
from veridical.builders.vcr import photographs as worth
from veridical.builders.vcr import written as people
from veridical.builders.vcr.collected import taken_over
from veridical.builders.vcr.questions import tell
from veridical.builders.vcr.written import Written
from veridical.common.arrays import Ints
from veridical.common.files import Json
from veridical.common.workplaces import copy_files
from veridical.engine.progress import Clock
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.matching import stages as matching_stages
from veridical.matching.items import UNFIT, items_of, lay_out, query, response
from veridical.matching.questions import AnsweredQuestion
from veridical.matching.report import notes_on
from veridical.matching.stages import Responses, StageOptions
from veridical.options import check_seed, refuse_unused
from veridical.options.building import Matching, VCROptions
from veridical.options.running import Workers
from veridical.records import Judgement, Panel, Pruned
from veridical.sources import Photograph, Source, open_source
from veridical.sources.detections import Detections
from veridical.sources.icons.stories import FOUR, IconStories, detected

SPLITS = ("train", "val", "test")
STAGES = ("answer", "rationale")


@dataclass
class VCRJob:
    """What is built from, as it grows."""

    out: Path
    options: VCROptions
    workers: Workers
    notes: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)
    config: Json = field(default_factory=dict)
    secret: str = ""
    kept: bytes = b""  # of the secret
    answers: list[Judgement] = field(default_factory=list)  # of a human study

    @property
    def work(self) -> Path:
        """Where finished batches lie, so that a build that was killed continues."""
        return self.out.with_name(f".{self.out.name}.stories")


@dataclass
class _Material:
    """Photographs with their pictures and questions."""

    photographs: dict[str, Photograph]
    pictures: dict[str, bytes]
    written: list[Written]
    fold: dict[str, str]  # photograph -> fold
    pruned: list[Pruned]
    licence: str = ""


def build(
    out: Path | str, options: VCROptions, matching: Matching, *, until: str = "all", workers: Workers = Workers()
) -> BuildReport:
    """Build a benchmark of questions about tagged photographs: see `build_vcr`.

    `vcr.written` says how people's questions are written.
    """
    if until not in ("all", "sheets"):
        raise UserError(f"There is no step {until!r}.", "Choose all or sheets.")
    options, collected = taken_over(options)
    answers = [] if options.answers is None else read_answers(answers_file(options.answers), 4)
    told = options.source == "icons" and options.questions is None and until == "all"
    _check(options, told)
    if told:
        refuse_unused("A build of stories, whose wrong choices are known,", (), matching)
    job = VCRJob(Path(out).absolute(), options, workers, answers=answers)
    if until == "sheets":
        return _sheets(job)
    if options.hide:
        # people's questions are nowhere else to be had, so a secret costs nothing; stories are told again from a seed
        wanted = options.secret or ("" if told else splits.RANDOM)
        mixed = splits.mix_secret(wanted, hidden_dir(job.out) / SECRET, job.work if told else None)
        job.secret, job.kept = mixed.secret, mixed.kept
        job.notes += mixed.notes
    try:
        material = _stories(job) if told else _collected(job)
    except UserError:
        if not any(job.work.glob("??")):  # no batch to continue from: leave no folder, with a secret, behind
            shutil.rmtree(job.work, ignore_errors=True)
        raise
    job.clock.done("photographs and questions")
    panels = {name: one.panel for name, one in material.photographs.items()}
    rows = people.asked(material.written, panels, material.fold)
    if told:
        wrong = dict.fromkeys(STAGES, people.kin_of(material.written))
        job.config["matching"] = {"method": "quartets", "rounds": FOUR - 1}
    else:
        hidden = frozenset(fold for fold in material.fold.values() if _split(fold) in options.hide)
        chosen = StageOptions.of(matching, seed=options.seed, secret=job.secret, hidden=hidden, workers=job.workers)
        rows, wrong, left = _match(job, rows, chosen)
        material.pruned += left
    job.clock.done("matching")
    job.config |= study(options.answers, "vcr", answers)
    if collected is not None:
        job.config |= {"people": dict(collected.statistics), "cost": collected.costs(len(rows), len(rows))}
    _write(job, material, rows, wrong, options.licence or material.licence)
    shutil.rmtree(job.work, ignore_errors=True)
    job.clock.done("storing")
    made = Benchmark(job.out)
    removed = dict(Counter(one.reason for one in material.pruned))
    return BuildReport("vcr", made.directory, made.manifest["counts"], removed, {}, tuple(job.notes), job.clock.seconds)


def _check(options: VCROptions, told: bool) -> None:
    """Refuse what cannot be built. Stories are all interesting; the number of people's questions is their own."""
    check_seed(options.seed)
    if options.photographs < 1 or options.each < 1:
        asked_for = f"{options.photographs} photographs with {options.each} questions each"
        raise UserError(f"{asked_for} were asked for.", "Ask for 1 or more.")
    if told and options.each > FOUR:
        problem = f"{options.each} questions about each photograph were asked for."
        raise UserError(problem, f"Ask for up to {FOUR}: a photograph shows so many people to ask about.")
    if options.folds < 3:
        raise UserError(f"{options.folds} folds were asked for.", "Use 3 or more: training, validation and test.")
    splits.check_splits(dict.fromkeys(SPLITS, 1), options.hide)
    idle = {"labels", "encoder", "detector", "judgements"} if told else {"photographs", "each"}
    who = "A build of stories" if told else "A build of people's questions"
    refuse_unused(who, {f.name for f in fields(options)} - idle, options)


def _stories(job: VCRJob) -> _Material:
    """Stories come in fours, which stay together in one fold."""
    quartets = -(-job.options.photographs // FOUR)
    stories = IconStories(FOUR * quartets, job.options.seed)
    if stories.count > job.options.photographs:
        job.notes.append(f"{stories.count:,} photographs, not {job.options.photographs:,}: they come in fours.")
    fold = _deal(job, {stories.label(k): f"quartet-{k // FOUR}" for k in range(stories.count)})
    hidden = frozenset(k for k in range(quartets) if _split(fold[stories.label(FOUR * k)]) in job.options.hide)
    stories = replace(stories, salt=tuple(secret_words(job.secret)), salted=hidden)
    told = tell(stories, job.options.each, workers=job.workers, work=job.work)
    job.config |= {"source": stories.config(), "questions": "generated", "interesting": "all stories"}
    return _Material(
        {one.photograph.panel.id: replace(one.photograph, panel=detected(one.photograph.panel)) for one in told},
        {one.photograph.panel.id: one.picture for one in told},
        [written for one in told for written in one.written],
        fold,
        [],
        told[0].photograph.licence,
    )


def _opened(job: VCRJob, cache: Path) -> tuple[Source, dict[str, Photograph], list[Panel], list[Pruned], Json]:
    """A source of photographs, all of them, those worth asking about, what was left out and how that was decided."""
    options = job.options
    opened: Source = open_source(options.source) if isinstance(options.source, str) else options.source
    if options.detector is not None:
        found = {"threshold": worth.CONFIDENT, "cache": cache, "workers": job.workers}
        opened = Detections(opened, options.detector, **found)  # type: ignore[arg-type]
    photographs = worth.by_id(opened)
    kept, pruned, about = worth.choose(
        [one.panel for one in photographs.values()],
        labels=None if options.labels is None else worth.read_interest(Path(options.labels)),
        picture=lambda panel: opened.picture(photographs[panel.id]),
        encoder=options.encoder,
        seed=options.seed,
    )
    return opened, photographs, kept, pruned, about


def _sheets(job: VCRJob) -> BuildReport:
    """What writers look at and fill in."""
    options = job.options
    if options.questions is not None or options.judgements is not None:
        raise UserError("What people wrote is not needed to show them photographs.", "Leave their files out.")
    if job.out.exists():
        raise UserError(f"{job.out} is there already.", "Choose another folder for the sheets.")
    with staging(job.out) as work:
        # what a detector found is kept beside: a run that was stopped continues from it
        opened, photographs, kept, pruned, _ = _opened(job, job.work / worth.DETECTED)
        if not kept:
            reasons = dict(Counter(p.reason for p in pruned))
            raise UserError("No photograph is worth asking about.", f"Left out: {reasons}.")
        sheets = worth.write_sheets(work / "made", opened, [photographs[panel.id] for panel in kept])
        if (job.work / worth.DETECTED).is_file():
            copy_files(job.work / worth.DETECTED, work / "made" / worth.DETECTED)
        (work / "made").rename(job.out)
    shutil.rmtree(job.work, ignore_errors=True)
    form = job.out / worth.FORM
    job.notes.append(f"Sheets with named boxes: {job.out}. Fill in {form}, one to {people.MOST_ASKED} lines each.")
    job.clock.done("photographs and sheets")
    removed = dict(Counter(one.reason for one in pruned))
    counts = {"photographs": len(kept), "sheets": len(sheets)}
    return BuildReport("vcr", job.out, counts, removed, {}, tuple(job.notes), job.clock.seconds)


def _collected(job: VCRJob) -> _Material:
    """From a source of photographs and what people wrote about them."""
    options = job.options
    if options.questions is None:
        raise UserError(
            f"The source {options.source!r} has photographs but no questions.",
            "Give what people wrote as --questions FILE (--until sheets writes a form), or use --source icons, where "
            "questions are generated.",
        )
    questions = Path(options.questions)
    # what was detected for the sheets lies beside the form
    opened, photographs, kept, pruned, about = _opened(job, questions.with_name(worth.DETECTED))
    written, left = people.read_written(questions, worth.by_name(kept))
    if not written:
        raise UserError(f"No question of {questions} is about a photograph that was kept.", f"Left out: {left}.")
    job.notes += [f"Left out: {count:,} questions, {reason}." for reason, count in left.items()]
    if options.judgements is not None:
        written, rejected, verdicts = people.judged(Path(options.judgements), written)
        pruned += rejected
        about["judgements"] = verdicts
    pictures: dict[str, bytes] = {}
    for name in dict.fromkeys(one.image for one in written):
        try:
            pictures[name] = opened.picture(photographs[name])
        except UserError as error:
            pruned.append(Pruned(name, error.problem, "photographs"))
    written = [one for one in written if one.image in pictures]
    if not written:
        raise UserError("No photograph that was asked about can be read.", f"The first: {pruned[-1].reason}")
    fold = _deal(job, {one.image: one.movie or one.image for one in written})
    job.config |= {"source": opened.config(), "questions": "people's", **about}
    return _Material({name: photographs[name] for name in pictures}, pictures, written, fold, pruned)


def _deal(job: VCRJob, movies: Mapping[str, str]) -> dict[str, str]:
    """The fold of each photograph; movies stay whole."""
    rng = np.random.default_rng(np.random.SeedSequence(job.options.seed, spawn_key=(0,)))
    numbers = splits.vcr_folds(list(movies.values()), rng, job.options.folds)
    return dict(zip(movies, (f"{number:02}" for number in numbers), strict=True))


def _split(fold: str) -> str:
    return splits.vcr_splits([int(fold)])[0]


def _match(
    job: VCRJob, rows: list[AnsweredQuestion], options: StageOptions
) -> tuple[list[AnsweredQuestion], dict[str, Ints], list[Pruned]]:
    """Match both stages. Tags that no other photograph could take are written out, and where that is not enough,
    questions are left out: the rows that stay, the wrong choices they got, and what was left out."""
    stages: dict[str, Responses] = {}
    about: Json = {
        "method": options.method,
        "precision": options.precision,
        "lambda": options.weight,
        "rounds": options.wrong,
    }
    for stage in STAGES:
        rows, changed = people.write_out_rare(rows, stage)
        if changed:
            job.notes.append(f"{changed:,} {stage}s had tags of rare classes, which were written out as words.")
        stages[stage] = _responses(rows, stage)
        matching_stages.check_folds(stages[stage], options.wrong, stage)
        about[stage] = {"written_out": changed}
    models = {stage: matching_stages.fit_models(stages[stage], options) for stage in STAGES}
    found = matching_stages.match_stages(stages, models, options)
    for stage in STAGES:
        one = found.matched[stage]
        about[stage] |= {**found.models[stage].to_json(), "reserved": list(one.reserved)}
        job.notes.append(f"Objective of the {stage}s: {one.weight:,.1f}, at most {one.bound:,.1f}.")
    job.notes += notes_on(found.matched)
    job.config["matching"] = about
    kept = set(found.kept.tolist())
    left = [Pruned(row.id, UNFIT, "matching") for k, row in enumerate(rows) if k not in kept]
    wrong = {stage: found.matched[stage].wrong for stage in STAGES}
    return [rows[k] for k in found.kept.tolist()], wrong, left


def _responses(rows: Sequence[AnsweredQuestion], stage: str) -> Responses:
    said = [response(row, stage) for row in rows]
    folds = [row.fold or "" for row in rows]
    asked = [query(row, stage) for row in rows]
    return matching_stages.responses_of(asked, said, [row.panel for row in rows], folds)


def _lost(splits_left: Collection[str]) -> list[str]:
    """What to say of splits of which no question was left.

    >>> _lost(["train", "test", "test"])
    ['There is no split val: none of its questions was left.']
    """
    return [
        f"There is no split {split}: none of its questions was left." for split in SPLITS if split not in splits_left
    ]


def _write(
    job: VCRJob, material: _Material, rows: list[AnsweredQuestion], wrong: Mapping[str, Ints], licence: str
) -> None:
    split_of = {row.id: _split(row.fold or "0") for row in rows}
    hidden = np.array([split_of[row.id] in job.options.hide for row in rows], bool)
    laid = {stage: lay_out(wrong[stage], rows, stage, job.options.seed, job.secret, hidden) for stage in STAGES}
    config = {"format": "vcr", "folds": job.options.folds, "photographs": len(material.photographs), **job.config}
    with BenchmarkWriter(
        job.out,
        name="VCR",
        task="choice",
        config=config,
        seed=job.options.seed,
        licence=licence,
        hidden=tuple(job.options.hide),
        describe=describe,
    ) as writer:
        if job.kept:
            writer.add_hidden_file(SECRET, job.kept)
        used = dict.fromkeys(row.panels[0] for row in rows)
        panels = []
        for name in used:
            address = writer.add_image(material.pictures[name])
            panels.append(replace(material.photographs[name].panel, image=address))
        items = list(items_of(rows, laid["answer"], laid["rationale"]))
        check_answers(job.answers, {item.id for item in items})
        if job.answers:
            writer.add_judgements(job.answers)
        for split in SPLITS:
            chosen = [item for item in items if split_of[item.parent or item.id] == split]
            if chosen:
                writer.add_items(split, chosen)
        job.notes += _lost(split_of.values())
        writer.add_panels(panels)
        found = [material.photographs[name] for name in used]
        sources = [(one.panel.id, one.panel.id.partition("-")[0], one.panel.uri, one.licence) for one in found]
        columns = [list(column) for column in zip(*sources, strict=True)]
        writer.add_photographs(pa.table(columns, schema=tables.PHOTOGRAPHS))
        if material.pruned:
            writer.add_pruned(material.pruned)
