"""The last stage of an NLVR2 build: validated items, splits, pictures and every count, in a benchmark."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark, BenchmarkWriter, tables
from veridical.benchmark.hidden import SECRET, drawn_secret, mix_secret
from veridical.benchmark.place import hidden_dir
from veridical.builders.nlvr2.about import INCOMPLETE, about, licence
from veridical.builders.nlvr2.collection import collection
from veridical.builders.nlvr2.config import PAPER_SPLITS, Config, changed
from veridical.builders.nlvr2.guidelines import check_presence, check_sentence
from veridical.builders.nlvr2.index import Where
from veridical.builders.nlvr2.rules import NO_PICTURE
from veridical.builders.nlvr2.sheets import write_sheets
from veridical.builders.nlvr2.stages import Stages
from veridical.builders.nlvr2.takedown import LIST, taken_down, work_folder
from veridical.builders.nlvr2.takedown import REASON as TAKEN_DOWN
from veridical.builders.nlvr2.validation import Kept, Outcome, check_left, judgements, split, validate
from veridical.builders.nlvr2.work import Work, write_lines
from veridical.builders.report import BuildReport
from veridical.engine import run
from veridical.formats.card import describe
from veridical.formats.nlvr2.reading import balance_of
from veridical.records import TRUTH, Item, Pairs, Panel, Pruned, Text, pairs
from veridical.sources import Photograph, Source

PICTURE_BATCH = 32


def build_nlvr2(
    out: Path | str,
    *,
    config: Config | None = None,
    stage: str = "all",
    work: Path | str | None = None,
    source: Source | str | None = None,
    sheets: bool = False,
    processes: int | None = None,
    **options: Any,
) -> BuildReport:
    """Build an NLVR2 benchmark: two photographs and a sentence, true or false.

    `options` are fields of `Config`, set on top of `config`; `source` may also be an opened source. Each stage's file
    is kept in `work` (`OUT.work` unless given), where it can be looked at, changed and replaced; `stage` stops after
    one of them. The same config and seed give the same bytes. With `sheets`, contact sheets of sets and sentences are
    written there, too.
    """
    start = time.perf_counter()
    if isinstance(source, str):
        options["source"] = source
    made = changed(config or Config(), options)
    made.check()
    folder = Path(os.path.abspath(out))
    own = source if source is not None and not isinstance(source, str) else None
    place = Work(Path(work) if work is not None else work_folder(folder))
    place.explain(bool(made.hide))
    notes: list[str] = []
    kept = b""
    if made.secret and (made.sentences is not None or not made.hide):
        why = "people's sentences do not depend on a seed" if made.hide else "nothing is hidden"
        notes.append(f"--secret has no effect: {why}.")
        made = replace(made, secret="")
    elif made.hide and made.sentences is None:
        mixed = mix_secret(made.secret, hidden_dir(folder) / SECRET, partial(drawn_secret, place.folder))
        made, kept = replace(made, secret=mixed.secret), mixed.kept
        notes += [mixed.note] if mixed.note else []
    stages = Stages(made, place, processes, own, made.secret)
    if stage != "all":
        return _stopped(stages, stage, folder, sheets, notes, start)
    done = _outcome(stages)
    seconds = {"stages": time.perf_counter() - start}
    _store(stages, done, folder, kept)
    shutil.rmtree(place.path(".batches"), ignore_errors=True)
    seconds["storing"] = time.perf_counter() - start - seconds["stages"]
    if sheets:
        write_sheets(place.path("sheets"), stages.sets, stages.tasks, stages.sentences, stages.used, stages.source)
    return _report(stages, done, folder, notes, seconds)


def _stopped(stages: Stages, stage: str, out: Path, sheets: bool, notes: list[str], start: float) -> BuildReport:
    """The report of a build that stops before the benchmark."""
    if stage == "extra":
        stages.reach("judgements")
        done = split(*_validated(stages), _rng(stages), stages.config.splits)
        items = {k.id: k for k in done.items}
        rows = [{"item": name, "sentence": items[name].sentence.sentence} for name in done.held_out if name in items]
        write_lines(stages.work.path("extra.jsonl"), rows)
        notes.append(f"{len(rows):,} held-out items want four more judgements: {stages.work.path('extra.jsonl')}.")
    else:
        stages.reach(stage)
    counts = collection(stages, upto=stage)
    if sheets and stage in {"sets", "tasks", "sentences", "judgements", "extra"}:
        sentences = stages.sentences if stage in {"sentences", "judgements", "extra"} else []
        tasks = stages.tasks if stage != "sets" else []
        used = stages.used if tasks else {}
        write_sheets(stages.work.path("sheets"), stages.sets, tasks, sentences, used, stages.source)
    notes.append(f"Stopped after {stage}: its file is in {stages.work.folder}. Run again to continue.")
    flat = {name: value for name, value in counts.items() if isinstance(value, int)}
    return BuildReport("nlvr2", out, flat, notes=tuple(notes), seconds={stage: time.perf_counter() - start})


def _rng(stages: Stages) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(stages.config.seed, spawn_key=(0,)))


def _validated(stages: Stages) -> tuple[Outcome, Sequence[Any]]:
    verdicts = stages.judgements
    done = validate(stages.tasks, stages.sentences, verdicts)
    bad = {one.id for one in stages.photographs if one.problem}  # people may have put them into tasks.jsonl
    done.drop("pictures", NO_PICTURE, lambda k: not bad.isdisjoint(k.task.pairs[k.pair]))
    return done, verdicts


def _outcome(stages: Stages) -> Outcome:
    done, verdicts = _validated(stages)
    done = split(done, verdicts, _rng(stages), stages.config.splits, extra=stages.judged_by_people)
    gone = taken_down(stages.work.folder, stages.photographs)
    done.drop("takedown", TAKEN_DOWN, lambda k: not gone.isdisjoint(k.task.pairs[k.pair]))
    check_left(done, done.items, "No item is left")
    for name in stages.config.hide:
        check_left(done, name in done.splits.values(), f"No item of {name} is left to hide")
    return done


def _store(stages: Stages, done: Outcome, out: Path, secret: bytes) -> None:
    """Write the benchmark."""
    config = stages.config
    used = {name for k in done.items for name in k.task.pairs[k.pair]}
    kept = {k.id for k in done.items} | done.removed.keys()
    said = [j for j in judgements(stages.sentences, stages.by_task, stages.judgements) if j.item in kept]
    with BenchmarkWriter(
        out,
        name="NLVR2",
        task="statement",
        config=about(stages, done),
        seed=config.seed,
        licence=config.licence or licence(stages, done),
        hidden=config.hide,
        hide_objects=True,
        describe=describe,
    ) as writer:
        if secret:
            writer.add_hidden_file(SECRET, secret)
        panels, origins = _pictures(stages, sorted(used), writer)
        for name in dict.fromkeys(config.splits or PAPER_SPLITS):
            rows = [k for k in done.items if done.splits[k.id] == name]
            if rows:
                writer.add_items(name, _items(rows, panels))
        writer.add_panels(panels.values())
        writer.add_photographs(origins)
        writer.add_judgements(said)
        if done.removed:
            writer.add_pruned(Pruned(name, reason, at) for name, (at, reason) in sorted(done.removed.items()))


def _items(rows: Sequence[Kept], panels: Mapping[str, Panel]) -> list[Item]:
    sides = [k.task.pairs[k.pair] for k in rows]
    lefts, rights = (pa.array([str(pair[side]) for pair in sides]) for side in range(2))
    balance = balance_of(lefts, rights, pa.array([bool(k.label) for k in rows])).to_pylist()
    return [_item(k, balanced, panels) for k, balanced in zip(rows, balance, strict=True)]


def _item(k: Kept, balance: str, panels: Mapping[str, Panel]) -> Item:
    left, right = k.task.pairs[k.pair]
    shown = [
        {o.category for side in two for o in panels[side].objects} for two in k.task.pairs if set(two) <= panels.keys()
    ]
    truth = [i in k.sentence.selected for i, two in enumerate(k.task.pairs) if set(two) <= panels.keys()]
    warnings = check_sentence(k.sentence.sentence)
    if any(shown):
        warnings += check_presence(k.sentence.sentence, shown, truth)
    tags: Pairs = pairs(
        synset=k.task.synset,
        query=k.task.query,
        phenomenon=k.sentence.phenomena,
        balance=balance,
        kind=k.sentence.kind or None,
        guideline=warnings,
    )
    return Item(
        id=k.id,
        task="statement",
        panels=(left, right),
        query=Text(k.sentence.sentence),
        candidates=TRUTH,
        answer=k.label,
        group=f"set-{k.task.task}",
        origins=(f"set {k.task.set}", left, right),
        program=k.sentence.program,
        writer=k.sentence.writer,
        tags=tags,
    )


def _pictures(stages: Stages, names: Sequence[str], writer: BenchmarkWriter) -> tuple[dict[str, Panel], pa.Table]:
    """Store the pictures; the panels by photograph, and where each came from."""
    used, seen, source = stages.used, stages.seen, stages.source
    batches = [[used[name] for name in names[i : i + PICTURE_BATCH]] for i in range(0, len(names), PICTURE_BATCH)]
    panels: dict[str, Panel] = {}
    if source is None:
        panels = {name: replace(used[name].panel, phash=seen[name].phash) for name in names}
    else:
        where = None if stages.own is not None or stages.config.source == "icons" else Where(stages.config.source)
        function = partial(_read_batch, source if where is None else where)
        for batch, read in zip(
            batches, run(function, batches, processes=stages.processes, label="pictures"), strict=True
        ):
            for photograph, picture in zip(batch, read, strict=True):
                name = photograph.panel.id
                panels[name] = replace(photograph.panel, phash=seen[name].phash, image=writer.add_image(picture))
    about = "saved search" if source is None else source.name
    rows = [(name, about, used[name].panel.uri, used[name].licence) for name in names]
    return panels, pa.table([list(column) for column in zip(*rows, strict=True)], schema=tables.PHOTOGRAPHS)


def _read_batch(where: Where | Source, batch: Sequence[Photograph]) -> list[bytes]:
    source = where.open() if isinstance(where, Where) else where
    return [source.picture(one) for one in batch]


def _report(stages: Stages, done: Outcome, out: Path, notes: list[str], seconds: dict[str, float]) -> BuildReport:
    made = Benchmark(out)
    if not stages.judged_by_people and not stages.exact:
        notes.append(INCOMPLETE)
    if gone := taken_down(stages.work.folder, stages.photographs):
        notes.append(f"{len(gone):,} photographs that were taken down stay out: {stages.work.path(LIST)}.")
    if done.few_sets:
        notes.append("So few sets cannot be split by the paper's rule: each held-out split was dealt sets of its own.")
    if done.missing_extra:
        notes.append(f"{done.missing_extra:,} held-out items have fewer than four extra judgements.")
    if stages.config.hide:
        notes.append(f"{stages.work.folder} holds what is hidden, too: keep it to yourself.")
    written = [one.phenomena for one in stages.sentences if one.program]
    shown = Counter(name for each in written for name in each)
    shares = {name: count / len(written) for name, count in sorted(shown.items())} if written else {}
    return BuildReport("nlvr2", out, made.manifest["counts"], done.reasons(), shares, tuple(notes), seconds)
