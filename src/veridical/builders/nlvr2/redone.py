"""What a stage's file must hold: people may redo any of them, and a mistake is named by file and set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from veridical.builders.nlvr2.pairs import PAIRS, TASKS
from veridical.builders.nlvr2.records import Found, ImageSet, PrunedSet, Task
from veridical.builders.nlvr2.sets import SIZE
from veridical.errors import UserError

_SET = re.compile(r"[A-Za-z0-9_.]+")


def check_sets(
    path: Path,
    sets: Sequence[Found] | Sequence[PrunedSet] | Sequence[ImageSet],
    photographs: Collection[str],
    synsets: Collection[str],
) -> None:
    """Refuse sets of unknown photographs or synsets, and twice the same set."""
    _once(path, "set", (one.set for one in sets))
    for one in sets:
        if not _SET.fullmatch(one.set):
            raise _wrong(path, f"{one.set!r} cannot name a set", "Use letters and digits.")
        if one.synset not in synsets:
            raise _wrong(path, f"set {one.set} is of the synset {one.synset!r}", "Name a synset of queries.jsonl.")
        unknown = next((name for name in one.photographs if name not in photographs), None)
        if unknown is not None:
            raise _wrong(path, f"set {one.set} has the photograph {unknown!r}", "Name those of photographs.jsonl.")
        if isinstance(one, ImageSet) and not one.discarded and len(set(one.photographs)) != SIZE:
            raise _wrong(path, f"set {one.set} has {len(set(one.photographs))} photographs", f"Give it {SIZE}.")


def check_tasks(path: Path, tasks: Sequence[Task], photographs: Collection[str]) -> None:
    """Refuse tasks without four pairs, and sets with more than two tasks."""
    _once(path, "task", (one.task for one in tasks))
    for one in tasks:
        name, _, number = one.task.rpartition("-")
        if name != one.set or not number.isdigit():
            raise _wrong(path, f"task {one.task!r} of set {one.set}", f"Name it {one.set}-0 or {one.set}-1.")
        shown = [photograph for pair in one.pairs for photograph in pair]
        if len(one.pairs) != PAIRS or len(set(shown)) != 2 * PAIRS:
            raise _wrong(path, f"task {one.task} has not {PAIRS} pairs of different photographs", "Give it four pairs.")
        unknown = next((photograph for photograph in shown if photograph not in photographs), None)
        if unknown is not None:
            raise _wrong(path, f"task {one.task} shows {unknown!r}", "Name photographs of photographs.jsonl.")
    name, most = Counter(one.set for one in tasks).most_common(1)[0] if tasks else ("", 0)
    if most > TASKS:
        raise _wrong(path, f"set {name} has {most} tasks", f"A set has at most {TASKS}.")


def _once(path: Path, noun: str, names: Iterable[str]) -> None:
    name, count = next(iter(Counter(names).most_common(1)), ("", 0))
    if count > 1:
        raise _wrong(path, f"the {noun} {name} is there {count} times", f"Name each {noun} once.")


def _wrong(path: Path, problem: str, fix: str) -> UserError:
    return UserError(f"{path}: {problem}.", fix)
