"""`veridical build nlvr`: presentations, statements, validation, six drawings an item, splits (Suhr et al. 2017, 4-5).

From nothing but a seed (statements are generated, judged by running their programs), or from what people wrote and
judged: `--until presentations` makes what they look at. The label is the majority of judgements, never the position
that an image had for the writer, and no id, order or split says anything about it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.place import hidden_dir, staging
from veridical.benchmark.splits import SECRET, check_splits, mix_secret, split_by_origin
from veridical.benchmark.writer import file_hash
from veridical.builders import BuildReport
from veridical.builders.collected import JUDGEMENTS, SCENES, SENTENCES, Collected, read_collection
from veridical.builders.nlvr import people, scenes
from veridical.builders.nlvr.people import Verdicts
from veridical.builders.nlvr.scenes import Packed, Sampling, arrangement_of, unpack
from veridical.engine import run
from veridical.engine.progress import Clock
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.language.programs.execution import execute
from veridical.language.programs.terms import parse
from veridical.language.writing.boxes.statements import PAPER, make_plan
from veridical.options import check_seed
from veridical.options.building import NLVROptions
from veridical.options.running import Workers
from veridical.records import PROGRAM, Judgement, Pruned
from veridical.sources.boxes.drawings import draw_png

SPLITS: dict[str, float] = {"train": 3163, "dev": 267, "test-p": 266, "test-u": 266}
HIDDEN = ("test-u",)
PRESENTATIONS = "presentations.jsonl"
WRITE_BATCH = 20  # presentations; a batch takes under a second
DRAW_BATCH = 40


def build(out: Path | str, options: NLVROptions, *, until: str = "all", workers: Workers = Workers()) -> BuildReport:
    """Build an NLVR benchmark, four items a sentence, six drawings an item: see `build_nlvr`."""
    shares = dict(SPLITS if options.split is None else options.split)
    hide = tuple(name for name in HIDDEN if name in shares) if options.hide is None else tuple(options.hide)
    check_splits(shares, hide)
    check_seed(options.seed)
    if options.presentations < 1:
        raise UserError(f"{options.presentations} presentations make no benchmark.", "Ask for one or more.")
    asked = None if options.phenomenon is None else tuple(sorted(options.phenomenon.items()))
    sampling = Sampling(options.seed, asked, options.secret)
    job = NLVRJob(Path(os.path.abspath(out)), sampling, shares, hide, workers, options.licence)
    if options.from_collection is not None:
        collected = read_collection(options.from_collection, "nlvr")
        if any(path is not None for path in (options.scenes, options.statements, options.judgements)):
            problem = "Both --from-collection and files of their own say what people did."
            raise UserError(problem, "Give one of them.")
        scenes_, said, judged = (collected.path(name) for name in (SCENES, SENTENCES, JUDGEMENTS))
        options = replace(options, scenes=scenes_, statements=said, judgements=judged)
        job.collected = collected
    given = [None if path is None else Path(path) for path in (options.scenes, options.statements, options.judgements)]
    files = [path for path in given if path is not None]
    if until == "presentations":
        if files:
            raise UserError("What people wrote is not needed to show them presentations.", "Leave their files out.")
        return _present(job, options.presentations)
    if until != "all":
        raise UserError(f"There is no step {until!r}.", "Choose all or presentations.")
    if files and len(files) < len(given):
        raise UserError(
            "People's statements come in three files: the presentations, the statements, the judgements.",
            "Give all of --scenes, --statements and --judgements, or none.",
        )
    return _collected(job, *files) if files else _generated(job, options.presentations)


@dataclass
class NLVRJob:
    """What is built, and how long its steps took."""

    out: Path
    sampling: Sampling
    shares: dict[str, float]
    hidden: tuple[str, ...]
    workers: Workers
    licence: str
    notes: list[str] = field(default_factory=list)  # what the report says beside the counts
    clock: Clock = field(default_factory=Clock)
    collected: Collected | None = None  # what people did, where they did it here

    @property
    def work(self) -> Path:
        """Where finished batches of statements lie, so that a build that was killed continues."""
        return self.out.with_name(f".{self.out.name}.statements")

    def mix_secret(self, kept: Path, work: Path | None) -> bytes:
        """What to keep of the secret; empty, with a warning, where anybody can make hidden answers from the seed."""
        mixed = mix_secret(self.sampling.secret, kept, work)
        self.sampling = replace(self.sampling, secret=mixed.secret)
        self.notes += mixed.notes
        return mixed.kept

    def writer(self, config: Mapping[str, Any]) -> BenchmarkWriter:
        return BenchmarkWriter(
            self.out,
            name="NLVR",
            task="statement",
            config={"format": "nlvr", "splits": self.shares, **config},
            seed=self.sampling.seed,
            licence=self.licence,
            hidden=self.hidden,
            describe=describe,
        )


def _generated(job: NLVRJob, count: int) -> BuildReport:
    """From nothing but a seed."""
    phenomena = dict(job.sampling.phenomena or sorted(PAPER.items()))
    make_plan(phenomena)  # refuses bad shares at once
    split = _deal(job, [str(n) for n in range(count)], [arrangement_of(n) for n in range(count)])
    numbers = [(n, split[str(n)] in job.hidden) for n in range(count)]
    config = {
        "presentations": count,
        "phenomena": phenomena,
        "statements": "generated",
        "judgements": "each statement's program, run",
        "secret": bool(job.hidden and job.sampling.secret),
    }
    with job.writer(config) as writer:
        if job.hidden:
            secret = job.mix_secret(hidden_dir(job.out) / SECRET, job.work)
            if secret:
                writer.add_hidden_file(SECRET, secret)
        examples = _run(job, scenes.write_batch, numbers, "writing statements", job.work)
        job.clock.done("statements")
        judged = _judge(examples)
        job.clock.done("judgements")
        verdicts = people.settle([name for one in examples for name in one.ids], judged)
        _fill(job, writer, examples, split, judged, verdicts)
    shutil.rmtree(job.work, ignore_errors=True)
    return _report(job, examples, verdicts)


def _judge(examples: Sequence[Packed]) -> list[Judgement]:
    """What the program of each statement says of its four scenes."""
    out = []
    for one in examples:
        program = parse(one.program or "")
        for name, packed in zip(one.ids, one.scenes, strict=True):
            out.append(Judgement(name, PROGRAM, int(execute(program, unpack(packed))), "validation"))
    return out


def _collected(job: NLVRJob, shown: Path, statements: Path, judgements: Path) -> BuildReport:
    """From what people wrote and judged."""
    shown = shown / PRESENTATIONS if shown.is_dir() else shown
    files = {"scenes": shown, "statements": statements, "judgements": judgements}
    seen = people.read_presentations(shown)
    examples = people.read_statements(statements, seen)
    if not examples:
        raise UserError(f"{statements} has no statement.", "Give a line for each presentation that was written about.")
    judged, own = people.read_judgements(judgements, examples)
    if own:
        job.notes.append(f"Left out: {own:,} judgements that writers gave on their own sentences.")
    items = [name for one in examples for name in one.ids]
    verdicts = people.settle(items, judged)
    if not verdicts.labels:
        counts = ", ".join(f"{count:,} for {reason}" for reason, count in verdicts.reasons.items())
        raise UserError(f"All {len(items):,} items were removed: {counts}.", "Collect more judgements.")
    kept = [one for one in examples if not verdicts.labels.keys().isdisjoint(one.ids)]
    if len(kept) < len(examples):
        job.notes.append(f"All items of {len(examples) - len(kept):,} presentations were removed.")
    if job.collected is not None:  # decided before people judged: what is held out has five judgements
        split = _dealt(job, job.collected.splits(), kept)
    else:
        split = _deal(job, [one.presentation for one in kept], [one.arrangement for one in kept])
    config = {
        "presentations": len(seen),
        "without_statement": len(seen) - len(examples),
        "statements": "people's",
        "judgements": "people's",
        "judgements_on_own_sentences": own,  # left out
        "inputs": {name: file_hash(path) for name, path in files.items()},
        **_people(job, len(kept), len(verdicts.labels)),
    }
    job.clock.done("reading")
    with job.writer(config) as writer:
        _fill(job, writer, kept, split, [*people.selections(examples), *judged], verdicts)
    return _report(job, examples, verdicts)


def _people(job: NLVRJob, sentences: int, items: int) -> dict[str, object]:
    """Who wrote and validated, and what it cost, as a collection counted it."""
    if job.collected is None:
        return {}
    return {"people": dict(job.collected.statistics), "cost": job.collected.costs(sentences, items)}


def _dealt(job: NLVRJob, said: Mapping[str, str], kept: Sequence[Packed]) -> dict[str, str]:
    """The splits that a collection dealt; those that this build has not are refused."""
    out = {one.presentation: said.get(one.presentation, "train") for one in kept}
    for name in sorted({*out.values()} - job.shares.keys()):
        raise UserError(f"The collection has presentations in a split {name!r}.", "Leave --split out.")
    return out


def _fill(
    job: NLVRJob,
    writer: BenchmarkWriter,
    examples: list[Packed],
    split: dict[str, str],
    judgements: list[Judgement],
    verdicts: Verdicts,
) -> None:
    """Draw and store what keeps an item."""
    labelled = [
        scenes.Labelled(one, split[one.presentation], tuple(map(verdicts.labels.get, one.ids))) for one in examples
    ]
    batches = [labelled[i : i + DRAW_BATCH] for i in range(0, len(labelled), DRAW_BATCH)]
    for drawn in run(scenes.draw_batch, batches, workers=job.workers, label="drawing"):
        for image in drawn.images:
            writer.add_image(image)
        for name, rows in drawn.items.items():
            writer.add_items(name, rows)
        writer.add_panels(drawn.panels)
    writer.add_judgements(judgements)
    if verdicts.removed:
        writer.add_pruned(Pruned(name, reason, "validation") for name, reason in verdicts.removed.items())


def _report(job: NLVRJob, examples: Sequence[Packed], verdicts: Verdicts) -> BuildReport:
    job.clock.done("drawing and storing")
    made = Benchmark(job.out)
    written = [one.phenomena for one in examples if one.program]
    shown = {n: sum(n in each for each in written) / len(written) for n in PAPER} if written else {}
    return BuildReport(
        "nlvr", made.directory, made.manifest["counts"], verdicts.reasons, shown, tuple(job.notes), job.clock.seconds
    )


def _deal(job: NLVRJob, presentations: list[str], arrangements: Sequence[str]) -> dict[str, str]:
    """A split for each presentation: both arrangements in equal proportion, no split empty."""
    if len(presentations) < len(job.shares):
        found = "1 presentation" if len(presentations) == 1 else f"{len(presentations)} presentations"
        raise UserError(
            f"{found} cannot fill {len(job.shares)} splits ({', '.join(job.shares)}).",
            f"Use {len(job.shares)} presentations or more, or fewer splits, such as --split train=1.",
        )
    rng = np.random.default_rng(np.random.SeedSequence(job.sampling.seed, spawn_key=(0,)))
    names = split_by_origin([[one] for one in presentations], job.shares, rng, arrangements)
    return dict(zip(presentations, names, strict=True))


def _present(job: NLVRJob, count: int) -> BuildReport:
    """Presentations for a collection: their scenes, and a drawing of each image."""
    with staging(job.out) as work:
        folder = work / "made"
        (folder / "images").mkdir(parents=True)
        if job.hidden:  # which presentations will be is not known yet
            data = job.mix_secret(job.out / SECRET, None)
            if data:
                (folder / SECRET).touch(mode=0o600)
                (folder / SECRET).write_bytes(data)
        examples = _run(job, scenes.present_batch, [(n, bool(job.hidden)) for n in range(count)], "sampling")
        with (folder / PRESENTATIONS).open("wb") as file:
            for one in examples:
                file.write(people.presentation_line(one))
                for name, packed in zip(one.ids, one.scenes, strict=True):
                    (folder / "images" / f"{name}.png").write_bytes(draw_png(unpack(packed)))
        if job.out.exists():
            job.out.rmdir()
        folder.rename(job.out)
    job.clock.done("presentations")
    counts = {"presentations": count, "images": 4 * count}
    return BuildReport("nlvr", job.out, counts, notes=tuple(job.notes), seconds=job.clock.seconds)


def _run(
    job: NLVRJob,
    function: Callable[[Sampling, Sequence[tuple[int, bool]]], list[Packed]],
    numbers: list[tuple[int, bool]],
    label: str,
    work: Path | None = None,
) -> list[Packed]:
    batches = [numbers[i : i + WRITE_BATCH] for i in range(0, len(numbers), WRITE_BATCH)]
    made = run(partial(function, job.sampling), batches, workers=job.workers, work=work, label=label)
    return [one for batch in made for one in batch]
