"""`veridical build vcr`: photographs, questions, folds by origin, Adversarial Matching, items of both stages.

Steps (VCR sections 3 and 4): choose photographs with at least three confident objects that are interesting; take the
questions, answers and rationales people wrote, or tell stories; deal photographs to eleven folds by movie; match
answers and rationales within each fold; write one answer item and four rationale items for each question.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.place import hidden_dir
from veridical.benchmark.splits import (
    RANDOM,
    SECRET,
    check_seed,
    drawn_secret,
    mix_secret,
    secret_words,
    vcr_folds,
    vcr_splits,
)
from veridical.builders.report import BuildReport
from veridical.builders.vcr.photographs import by_name, choose, read_interest
from veridical.builders.vcr.questions import tell
from veridical.builders.vcr.written import Written, asked, needed, read_written, same_sayings, write_out_rare
from veridical.common.files import Json
from veridical.engine.progress import Clock
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.matching.data.items import items_of, lay_out, query, response
from veridical.matching.data.questions import AnsweredQuestion
from veridical.matching.report import kinds_used, notes_on
from veridical.matching.stages import (
    UNFIT,
    Matched,
    Responses,
    StageOptions,
    check_folds,
    fit_models,
    match_stages,
    responses_of,
)
from veridical.options import refuse_unused
from veridical.options.building import Matching, VCROptions
from veridical.records import Panel, Pruned
from veridical.sources import Photograph, Source, open_source
from veridical.sources.icons.stories import IconStories

SPLITS = ("train", "val", "test")
STAGES = ("answer", "rationale")


@dataclass
class VCRJob:
    """What is built from, as it grows."""

    out: Path
    hidden: tuple[str, ...]
    folds: int
    seed: int
    notes: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)
    config: Json = field(default_factory=dict)
    secret: str = ""
    kept: bytes = b""  # of the secret

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


def build(out: Path | str, options: VCROptions, matching: Matching, *, processes: int | None = None) -> BuildReport:
    """Build a benchmark of questions about tagged photographs: see `build_vcr`.

    `vcr.written` says how people's questions are written.
    """
    check_seed(options.seed)
    _check(options.photographs, options.each, options.folds, options.hide)
    job = VCRJob(Path(out).absolute(), tuple(options.hide), options.folds, options.seed)
    told = options.source == "icons" and options.questions is None
    _refuse_unused(options, told)
    if job.hidden:
        # people's questions are nowhere else to be had, so a secret costs nothing; stories are told again from a seed
        wanted = options.secret or ("" if told else RANDOM)
        mixed = mix_secret(wanted, hidden_dir(job.out) / SECRET, partial(drawn_secret, job.work))
        job.secret, job.kept = mixed.secret, mixed.kept
        job.notes += [mixed.note] if mixed.note else []
    material = _stories(job, options.photographs, options.each, processes) if told else _collected(job, options)
    job.clock.done("photographs and questions")
    panels = {name: one.panel for name, one in material.photographs.items()}
    rows = asked(material.written, panels, material.fold)
    hidden_folds = frozenset(fold for fold in material.fold.values() if _split(fold) in job.hidden)
    chosen = StageOptions.of(matching, seed=options.seed, secret=job.secret, hidden=hidden_folds)
    rows, matched, left = _match(job, rows, material.written, chosen)
    material.pruned += left
    job.clock.done("matching")
    _write(job, material, rows, matched, options.licence or material.licence)
    shutil.rmtree(job.work, ignore_errors=True)
    job.clock.done("storing")
    return _report(job, material, max(one.gap for one in matched.values()))


def _refuse_unused(options: VCROptions, told: bool) -> None:
    """Stories are all interesting; the number of people's questions is their own."""
    idle = {"labels", "encoder"} if told else {"photographs", "each"}
    who = "A build of stories" if told else "A build of people's questions"
    refuse_unused(who, {f.name for f in fields(options)} - idle, options)


def _check(photographs: int, each: int, folds: int, hidden: Sequence[str]) -> None:
    if photographs < 1 or each < 1:
        raise UserError(f"{photographs} photographs with {each} questions each were asked for.", "Ask for 1 or more.")
    if folds < 3:
        raise UserError(f"{folds} folds were asked for.", "Use 3 or more: training, validation and test.")
    for name in hidden:
        if name not in SPLITS:
            raise UserError(f"There is no split {name!r} to hide.", f"The splits are: {', '.join(SPLITS)}.")


def _stories(job: VCRJob, photographs: int, each: int, processes: int | None) -> _Material:
    stories = IconStories(photographs, job.seed)
    fold = _deal(job, {stories.label(k): stories.label(k) for k in range(photographs)})
    hidden = frozenset(k for k in range(photographs) if _split(fold[stories.label(k)]) in job.hidden)
    stories = replace(stories, salt=tuple(secret_words(job.secret)), salted=hidden)
    told = tell(stories, each, processes=processes, work=job.work)
    job.config |= {"source": stories.config(), "questions": "generated", "interesting": "all stories"}
    bare = {one.photograph.panel.id: replace(one.photograph, panel=_bare(one.photograph.panel)) for one in told}
    return _Material(
        bare,
        {one.photograph.panel.id: one.picture for one in told},
        [written for one in told for written in one.written],
        fold,
        [],
        told[0].photograph.licence,
    )


def _collected(job: VCRJob, options: VCROptions) -> _Material:
    """From a source of photographs and what people wrote about them."""
    source: str | Source = options.source
    questions, labels = options.questions, options.labels
    if questions is None:
        raise UserError(
            f"The source {source!r} has photographs but no questions.",
            "Give what people wrote as --questions FILE, or use --source icons, where questions are generated.",
        )
    opened = open_source(source) if isinstance(source, str) else source
    photographs, panels = by_name(opened)
    marked = None if labels is None else read_interest(Path(labels))
    kept, pruned, about = choose(
        [one.panel for one in photographs.values()],
        labels=marked,
        picture=lambda panel: opened.picture(photographs[panel.id]),
        encoder=options.encoder,
        seed=job.seed,
    )
    names = {panel.id for panel in kept}
    written, left = read_written(Path(questions), {k: panel for k, panel in panels.items() if panel.id in names})
    if not written:
        raise UserError(f"No question of {questions} is about a photograph that was kept.", f"Left out: {left}.")
    job.notes += [f"Left out: {count:,} questions, {reason}." for reason, count in left.items()]
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
    rng = np.random.default_rng(np.random.SeedSequence(job.seed, spawn_key=(0,)))
    numbers = vcr_folds(list(movies.values()), rng, job.folds)
    return dict(zip(movies, (f"{number:02}" for number in numbers), strict=True))


def _split(fold: str) -> str:
    return vcr_splits([int(fold)])[0]


def _bare(panel: Panel) -> Panel:
    """A panel as people tag it: classes, boxes and outlines. What an object looks like is for looking."""
    return replace(panel, objects=tuple(replace(one, attributes=()) for one in panel.objects))


def _match(
    job: VCRJob, rows: list[AnsweredQuestion], written: Sequence[Written], options: StageOptions
) -> tuple[list[AnsweredQuestion], dict[str, Matched], list[Pruned]]:
    """Match both stages. Tags that no other photograph could take are written out, and where that is not enough,
    questions are left out: the rows that stay, what they got, and what was left out."""
    stages: dict[str, Responses] = {}
    about: Json = {"lambda": options.weight, "rounds": options.wrong, "tolerance": options.tolerance}
    for stage in STAGES:
        rows, changed = write_out_rare(rows, stage)
        if changed:
            job.notes.append(f"{changed:,} {stage}s had tags of rare classes, which were written out as words.")
        stages[stage] = _responses(rows, written, stage)
        check_folds(stages[stage], options.wrong, stage)
        about[stage] = {"written_out": changed}
    found = match_stages(stages, {stage: fit_models(stages[stage], options) for stage in STAGES}, options)
    for stage in STAGES:
        one = found.matched[stage]
        about[stage] |= {**found.models[stage].to_json(), "gap": one.gap, "reserved": list(one.reserved)}
    about["kinds"] = kinds_used(options, found.matched)
    job.notes += notes_on(options, found.matched)
    job.config["matching"] = about
    kept = set(found.kept.tolist())
    left = [Pruned(row.id, UNFIT, "matching") for k, row in enumerate(rows) if k not in kept]
    return [rows[k] for k in found.kept.tolist()], found.matched, left


def _responses(rows: Sequence[AnsweredQuestion], written: Sequence[Written], stage: str) -> Responses:
    """The rows of a stage: two of one fact are one text, and things spoken of are needed like tagged ones."""
    said = [response(row, stage) for row in rows]
    folds = [row.fold or "" for row in rows]
    given = responses_of([query(row, stage) for row in rows], said, [row.panel for row in rows], folds)
    sayings = [one.says if stage == "answer" else one.because for one in written]
    given = replace(given, texts=same_sayings([str(t) for t in given.texts], sayings))
    if not any(one.about for one in written):
        return given
    needs, have = needed(said, [one.about for one in written], [row.panel for row in rows if row.panel is not None])
    return replace(given, needs=needs, have=have)


def _write(
    job: VCRJob, material: _Material, rows: list[AnsweredQuestion], matched: Mapping[str, Matched], licence: str
) -> None:
    split_of = {row.id: _split(row.fold or "0") for row in rows}
    hidden = np.array([split_of[row.id] in job.hidden for row in rows], bool)
    laid = {stage: lay_out(matched[stage].wrong, rows, stage, job.seed, job.secret, hidden) for stage in STAGES}
    config = {"format": "vcr", "folds": job.folds, "photographs": len(material.photographs), **job.config}
    with BenchmarkWriter(
        job.out, name="VCR", task="choice", config=config, seed=job.seed, licence=licence, hidden=job.hidden,
        describe=describe,
    ) as writer:  # fmt: skip
        if job.kept:
            writer.add_hidden_file(SECRET, job.kept)
        used = dict.fromkeys(row.panels[0] for row in rows)
        panels = []
        for name in used:
            address = writer.add_image(material.pictures[name])
            panels.append(replace(material.photographs[name].panel, image=address))
        items = list(items_of(rows, laid["answer"], laid["rationale"]))
        for split in SPLITS:
            chosen = [item for item in items if split_of[item.parent or item.id] == split]
            if chosen:
                writer.add_items(split, chosen)
        writer.add_panels(panels)
        writer.add_photographs(_sources(material, used))
        if material.pruned:
            writer.add_pruned(material.pruned)


def _sources(material: _Material, used: Mapping[str, None]) -> pa.Table:
    """Where each photograph came from."""
    found = [material.photographs[name] for name in used]
    return pa.table(
        {
            "id": [one.panel.id for one in found],
            "source": [one.panel.id.partition("-")[0] for one in found],
            "uri": pa.array([one.panel.uri for one in found], pa.string()),
            "licence": [one.licence for one in found],
        }
    )


def _report(job: VCRJob, material: _Material, gap: float) -> BuildReport:
    made = Benchmark(job.out)
    removed = dict(Counter(one.reason for one in material.pruned))
    job.notes.append(f"Certified gap to the best matching: {100 * gap:.3f}% or less in every fold.")
    return BuildReport("vcr", made.directory, made.manifest["counts"], removed, {}, tuple(job.notes), job.clock.seconds)
