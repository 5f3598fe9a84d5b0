"""`veridical build nlvr2`: NLVR2's section 3, a function for each step, in order.

    photographs -> queries -> found -> pruned -> sets -> tasks -> sentences -> judgements -> items in splits

Each step but the last is a file in the work folder, which may be looked at, changed or replaced by people before the
next step reads it. `collect` calls them; the benchmark itself is written by `store`.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from veridical.benchmark import Benchmark
from veridical.benchmark.place import hidden_dir
from veridical.benchmark.splits import SECRET, drawn_secret, mix_secret
from veridical.builders.nlvr2 import steps
from veridical.builders.nlvr2.collection import Collection, Given
from veridical.builders.nlvr2.config import checked, hidden_splits
from veridical.builders.nlvr2.photographs import open_photographs
from veridical.builders.nlvr2.sets import NO_PICTURE
from veridical.builders.nlvr2.sheets import write_sheets
from veridical.builders.nlvr2.steps import STEPS
from veridical.builders.nlvr2.store import INCOMPLETE, counts, store
from veridical.builders.nlvr2.takedown import LIST, taken_down, work_folder
from veridical.builders.nlvr2.takedown import REASON as TAKEN_DOWN
from veridical.builders.nlvr2.validation import Validated, check_left, split, validate
from veridical.builders.nlvr2.work import Work
from veridical.builders.report import BuildReport
from veridical.common.files import write_lines
from veridical.engine.progress import Clock
from veridical.errors import UserError
from veridical.options.building import NLVR2Options
from veridical.sources import Source


def build(
    out: Path | str,
    options: NLVR2Options,
    *,
    until: str = "all",
    work: Path | str | None = None,
    sheets: bool = False,
    processes: int | None = None,
) -> BuildReport:
    """Build an NLVR2 benchmark: see `build_nlvr2`. The same options give the same bytes."""
    clock = Clock()
    own = None if isinstance(options.source, str) else options.source
    made = checked(options if own is None else replace(options, source="icons"))
    if until not in (*STEPS, "extra", "all"):
        raise UserError(f"There is no step {until!r}.", f"Choose one of: {', '.join((*STEPS, 'extra', 'all'))}.")
    folder = Path(os.path.abspath(out))
    place = Work(Path(work) if work is not None else work_folder(folder))
    place.explain(bool(hidden_splits(made)))
    made, kept, notes = _mix_secret(made, folder, place)
    given = _given(made, place, own, processes)
    if until != "all":
        return _stopped(given, until, folder, sheets, notes)
    collected = collect(given)
    done = keep_items(given, collected)
    clock.done("steps")
    store(given, collected, done, folder, kept)
    shutil.rmtree(place.path(".batches"), ignore_errors=True)
    clock.done("storing")
    if sheets:
        write_sheets(place.path("sheets"), collected, given.source)
    return _report(given, collected, done, folder, notes, clock.seconds)


def collect(given: Given, until: str = "judgements") -> Collection:
    """The eight steps, up to one."""
    return next(made for step, made in _steps(given) if step == until)


def _steps(given: Given) -> Iterator[tuple[str, Collection]]:
    """Section 3 in order; after each step its name and what has been made, so that a build can stop there."""
    photographs = steps.look_at_photographs(given)
    made = Collection(photographs)
    yield "photographs", made
    made.synsets = steps.choose_synsets(given, photographs)
    made.queries = steps.write_queries(given, photographs, made.synsets)
    yield "queries", made
    made.found = steps.search_photographs(given, photographs, made.synsets, made.queries)
    yield "found", made
    made.pruned = steps.prune_sets(given, photographs, made.synsets, made.found)
    yield "pruned", made
    made.sets = steps.construct_sets(given, photographs, made.synsets, made.pruned)
    yield "sets", made
    made.tasks = steps.pair_photographs(given, photographs, made.sets)
    yield "tasks", made
    made.used = steps.fetch_photographs(given, made.tasks)
    made.sentences = steps.write_sentences(given, made.tasks, made.used)
    yield "sentences", made
    made.judgements = steps.judge_sentences(given, made.tasks, made.sentences, made.used)
    yield "judgements", made


# 3.3 and 3.4: items and splits


def keep_items(given: Given, made: Collection) -> Validated:
    """The items that are kept, in splits."""
    done = _validated(given, made)
    done = split(done, made.judgements, _rng(given), given.options.split, extra=given.judged_by_people)
    gone = taken_down(given.work.folder, made.photographs.seen)
    done.drop("takedown", TAKEN_DOWN, lambda k: not gone.isdisjoint(k.task.pairs[k.pair]))
    check_left(done, done.items, "No item is left")
    for name in hidden_splits(given.options):
        check_left(done, name in done.splits.values(), f"No item of {name} is left to hide")
    return done


def _validated(given: Given, made: Collection) -> Validated:
    done = validate(made.tasks, made.sentences, made.judgements)
    bad = {one.id for one in made.photographs.seen if one.problem}  # people may have put them into tasks.jsonl
    done.drop("pictures", NO_PICTURE, lambda k: not bad.isdisjoint(k.task.pairs[k.pair]))
    return done


def _rng(given: Given) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(given.options.seed, spawn_key=(0,)))


# what a build is given, and what it reports


def _mix_secret(options: NLVR2Options, out: Path, work: Work) -> tuple[NLVR2Options, bytes, list[str]]:
    """The options with the secret in force, what the hidden folder keeps of it, and what to tell whoever builds."""
    if options.secret and (options.sentences is not None or not hidden_splits(options)):
        why = "people's sentences do not depend on a seed" if hidden_splits(options) else "nothing is hidden"
        return replace(options, secret=""), b"", [f"--secret has no effect: {why}."]
    if not hidden_splits(options) or options.sentences is not None:
        return options, b"", []
    mixed = mix_secret(options.secret, hidden_dir(out) / SECRET, partial(drawn_secret, work.folder))
    return replace(options, secret=mixed.secret), mixed.kept, [mixed.note] if mixed.note else []


def _given(options: NLVR2Options, work: Work, own: Source | None, processes: int | None) -> Given:
    source = own or open_photographs(options, work.path("detections.jsonl"))
    named = own is None and options.source != "icons"
    return Given(options, work, source, options.source if named or source is None else source, processes)


def _stopped(given: Given, step: str, out: Path, sheets: bool, notes: list[str]) -> BuildReport:
    """The report of a build that stops before the benchmark."""
    clock = Clock()
    work = given.work
    made = collect(given, "judgements" if step == "extra" else step)
    if step == "extra":
        done = split(_validated(given, made), made.judgements, _rng(given), given.options.split)
        items = {k.id: k for k in done.items}
        rows = [{"item": name, "sentence": items[name].sentence.sentence} for name in done.held_out if name in items]
        write_lines(work.path("extra.jsonl"), rows)
        notes.append(f"{len(rows):,} held-out items want four more judgements: {work.path('extra.jsonl')}.")
    if sheets and made.sets:
        write_sheets(work.path("sheets"), made, given.source)
    notes.append(f"Stopped after {step}: its file is in {work.folder}. Run again to continue.")
    clock.done(step)
    reached = STEPS[: STEPS.index(step) + 1] if step in STEPS else STEPS
    flat = {name: value for name, value in counts(made, reached).items() if isinstance(value, int)}
    return BuildReport("nlvr2", out, flat, notes=tuple(notes), seconds=clock.seconds)


def _report(
    given: Given, made: Collection, done: Validated, out: Path, notes: list[str], seconds: dict[str, float]
) -> BuildReport:
    if not given.judged_by_people and not given.exact:
        notes.append(INCOMPLETE)
    if gone := taken_down(given.work.folder, made.photographs.seen):
        notes.append(f"{len(gone):,} photographs that were taken down stay out: {given.work.path(LIST)}.")
    if done.few_sets:
        notes.append("So few sets cannot be split by the paper's rule: each held-out split was dealt sets of its own.")
    if done.missing_extra:
        notes.append(f"{done.missing_extra:,} held-out items have fewer than four extra judgements.")
    if hidden_splits(given.options):
        notes.append(f"{given.work.folder} holds what is hidden, too: keep it to yourself.")
    written = [one.phenomena for one in made.sentences if one.program]
    shown = Counter(name for each in written for name in each)
    shares = {name: count / len(written) for name, count in sorted(shown.items())} if written else {}
    manifest = Benchmark(out).manifest
    return BuildReport("nlvr2", out, manifest["counts"], done.reasons(), shares, tuple(notes), seconds)
