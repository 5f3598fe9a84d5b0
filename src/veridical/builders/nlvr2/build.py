"""`veridical build nlvr2`: NLVR2's section 3, a function for each step, in order.

    photographs -> queries -> found -> pruned -> sets -> tasks -> sentences -> judgements -> items in splits

Each step but the last is a file in the work folder, which may be looked at, changed or replaced by people before the
next step reads it. `steps` has them; the benchmark itself is written by `store`.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from veridical.benchmark import Benchmark
from veridical.benchmark.place import hidden_dir
from veridical.benchmark.splits import RANDOM, SECRET, mix_secret, secret_words
from veridical.builders import BuildReport
from veridical.builders.nlvr2.collected import held_out
from veridical.builders.nlvr2.collection import Collection, checked, hidden_splits
from veridical.builders.nlvr2.doubtful import PAGE, write_doubtful
from veridical.builders.nlvr2.people import Validated, check_left, split, validate
from veridical.builders.nlvr2.photographs import open_photographs
from veridical.builders.nlvr2.sets import NO_PICTURE
from veridical.builders.nlvr2.sheets import write_sheets
from veridical.builders.nlvr2.steps import STEPS
from veridical.builders.nlvr2.store import INCOMPLETE, counts, store
from veridical.builders.nlvr2.takedown import LIST, taken_down, work_folder
from veridical.builders.nlvr2.takedown import REASON as TAKEN_DOWN
from veridical.builders.nlvr2.work import Work
from veridical.common.files import write_lines
from veridical.engine.progress import Clock
from veridical.errors import UserError
from veridical.options.building import NLVR2Options
from veridical.options.running import Workers
from veridical.sources.icons.worlds import IconSeries


def build(
    out: Path | str,
    options: NLVR2Options,
    *,
    until: str = "all",
    work: Path | str | None = None,
    sheets: bool = False,
    workers: Workers = Workers(),
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
    source = own or open_photographs(made, place.path("detections.jsonl"), workers)
    drawn = isinstance(source, IconSeries)
    made, kept, notes = _mix_secret(made, folder, place, drawn)
    if isinstance(source, IconSeries):  # their names are public: without the salt the seed tells what they show
        source = replace(source, salt=tuple(secret_words(made.secret)))
    named = own is None and made.source != "icons"
    collected = Collection(made, place, source, made.source if named or source is None else source, workers)
    if until != "all":
        return _stopped(collected, until, folder, sheets, notes)
    collect(collected, "judgements")
    done = keep_items(collected)
    clock.done("steps")
    store(collected, done, folder, kept)
    shutil.rmtree(place.path(".batches"), ignore_errors=True)
    clock.done("storing")
    if sheets:
        write_sheets(place.path("sheets"), collected)
    if doubtful := write_doubtful(collected, done, folder):
        notes.append(f"{doubtful:,} labels hang on something hard to see: look at {place.path(PAGE)}.")
    return _report(collected, done, folder, notes, clock.seconds)


def collect(made: Collection, until: str) -> None:
    """The steps up to one, in order."""
    for name, step in STEPS.items():
        step(made)
        if name == until:
            return


# 3.3 and 3.4: items and splits


def keep_items(made: Collection) -> Validated:
    """The items that are kept, in splits."""
    done = _validated(made, extra=made.judged_by_people)
    gone = taken_down(made.work.folder, made.photographs.seen)
    done.drop("takedown", TAKEN_DOWN, lambda k: not gone.isdisjoint(k.task.pairs[k.pair]))
    check_left(done, done.items, "No item is left")
    for name in hidden_splits(made.options):
        check_left(done, name in done.splits.values(), f"No item of {name} is left to hide")
    return done


def _validated(made: Collection, *, extra: bool) -> Validated:
    """The items that people or programs confirm, in splits; `extra`: see `split`."""
    done = validate(made.tasks, made.sentences, made.judgements)
    bad = {one.id for one in made.photographs.seen if one.problem}  # people may have put them into tasks.jsonl
    done.drop("pictures", NO_PICTURE, lambda k: not bad.isdisjoint(k.task.pairs[k.pair]))
    rng = np.random.default_rng(np.random.SeedSequence(made.options.seed, spawn_key=(0,)))
    return split(done, made.judgements, rng, made.options.split, extra=extra, held=held_out(made.work))


# what a build is given, and what it reports


def _mix_secret(options: NLVR2Options, out: Path, work: Work, drawn: bool) -> tuple[NLVR2Options, bytes, list[str]]:
    """The options with the secret in force, what the hidden folder keeps of it, and what to tell whoever builds."""
    hidden, written = bool(hidden_splits(options)), options.sentences is not None
    if options.secret and not hidden:
        return replace(options, secret=""), b"", ["--secret has no effect: nothing is hidden."]
    # people wrote about the pictures of an earlier run: those are drawn with the secret of that run, or with none
    salted = drawn and (options.secret != RANDOM or work.path(SECRET).exists())
    if written and options.secret and not salted:
        why = "people's sentences do not depend on a seed, and the pictures they were written about have none"
        return replace(options, secret=""), b"", [f"--secret has no effect: {why}."]
    if not hidden or (written and not options.secret):
        return options, b"", []
    mixed = mix_secret(options.secret, hidden_dir(out) / SECRET, work.folder)
    return replace(options, secret=mixed.secret), mixed.kept, list(mixed.notes)


def _stopped(made: Collection, step: str, out: Path, sheets: bool, notes: list[str]) -> BuildReport:
    """The report of a build that stops before the benchmark."""
    clock = Clock()
    work = made.work
    collect(made, "judgements" if step == "extra" else step)
    if step == "extra":
        done = _validated(made, extra=True)
        items = {k.id: k for k in done.items}
        rows = [{"item": name, "sentence": items[name].sentence.sentence} for name in done.held_out if name in items]
        write_lines(work.path("extra.jsonl"), rows)
        notes.append(f"{len(rows):,} held-out items want four more judgements: {work.path('extra.jsonl')}.")
    if sheets and made.sets:
        write_sheets(work.path("sheets"), made)
    notes.append(f"Stopped after {step}: its file is in {work.folder}. Run again to continue.")
    clock.done(step)
    steps = list(STEPS)
    reached = steps[: steps.index(step) + 1] if step in STEPS else steps
    flat = {name: value for name, value in counts(made, reached).items() if isinstance(value, int)}
    return BuildReport("nlvr2", out, flat, notes=tuple(notes), seconds=clock.seconds)


def _report(made: Collection, done: Validated, out: Path, notes: list[str], seconds: dict[str, float]) -> BuildReport:
    if not made.judged_by_people and not made.exact:
        notes.append(INCOMPLETE)
    if gone := taken_down(made.work.folder, made.photographs.seen):
        notes.append(f"{len(gone):,} photographs that were taken down stay out: {made.work.path(LIST)}.")
    if done.few_sets:
        notes.append("So few sets cannot be split by the paper's rule: each held-out split was dealt sets of its own.")
    if done.missing_extra:
        notes.append(f"{done.missing_extra:,} held-out items have fewer than four extra judgements.")
    if hidden_splits(made.options):
        notes.append(f"{made.work.folder} holds what is hidden, too: keep it to yourself.")
    written = [one.phenomena for one in made.sentences if one.program]
    shown = Counter(name for each in written for name in each)
    shares = {name: count / len(written) for name, count in sorted(shown.items())} if written else {}
    manifest = Benchmark(out).manifest
    return BuildReport("nlvr2", out, manifest["counts"], done.reasons(), shares, tuple(notes), seconds)
