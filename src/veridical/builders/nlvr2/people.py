"""What people do for NLVR2, as JSON lines: marks on photographs, sentences, judgements.

removals     {"set": "12", "photograph": "...", "reason": "no instance of the synset"}      image pruning
dull         {"set": "12", "photograph": "..."}                                            not interesting, or
             {"set": "12", "photograph": "...", "reason": "duplicate"}                     a duplicate
labels       {"photograph": "...", "interesting": true}                                    for a classifier
sentences    {"task": "12-0", "sentence": "...", "selected": [0, 2], "writer": "w3"}        or a task and "flagged"
judgements   {"item": "set-12-3-0", "worker": "w5", "verdict": true, "kind": "validation"} or false, "nonsense", "skip"
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from veridical.builders.nlvr2.pairs import PAIRS
from veridical.builders.nlvr2.records import Found, PrunedSet, Sentence, Task, Verdict, item_id
from veridical.builders.nlvr2.rules import MARKED
from veridical.builders.nlvr2.work import bad_line, numbered_lines
from veridical.errors import UserError

NO_SENTENCE = "no sentence was written"
_VERDICTS = (True, False, "nonsense", "skip")
_KINDS = ("validation", "extra")
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, halves of characters, separators of lines and paragraphs


@dataclass(frozen=True)
class Mark:
    """A photograph that somebody marked in a set."""

    set: str
    photograph: str
    reason: str = ""


@dataclass(frozen=True)
class Label:
    """Whether somebody found a photograph interesting."""

    photograph: str
    interesting: bool


def read_marks(path: Path, sets: Iterable[Found | PrunedSet]) -> dict[tuple[str, str], str]:
    """Reasons by set and photograph; marks on what is not there are refused."""
    known = {one.set: {*one.photographs, *getattr(one, "removed", ())} for one in sets}
    out = {}
    for number, mark in numbered_lines(path, Mark):
        if mark.set not in known:
            raise bad_line(path, number, f"there is no set {mark.set!r}")
        if mark.photograph not in known[mark.set]:
            raise bad_line(path, number, f"set {mark.set} has no photograph {mark.photograph!r}")
        out[mark.set, mark.photograph] = mark.reason or MARKED
    return out


def read_labels(path: Path, photographs: Collection[str]) -> dict[str, bool]:
    """Which photographs people found interesting."""
    out = {}
    for number, label in numbered_lines(path, Label):
        if label.photograph not in photographs:
            raise bad_line(path, number, f"there is no photograph {label.photograph!r}")
        out[label.photograph] = label.interesting
    return out


def read_sentences(path: Path, tasks: Sequence[Task]) -> list[Sentence]:
    """A line for each task: its sentence, or why it has none. Tasks that nobody took are removed, as in the paper."""
    known = {task.task: task for task in tasks}
    written: dict[str, Sentence] = {}
    for number, line in numbered_lines(path, Sentence):
        if line.task not in known:
            raise bad_line(path, number, f"there is no task {line.task!r}")
        if line.task in written:
            raise bad_line(path, number, f"a second sentence for task {line.task}")
        if not line.flagged:
            _check_sentence(path, number, line)
        written[line.task] = replace(line, sentence=line.sentence.strip())
    if not any(one.sentence for one in written.values()):
        raise UserError(f"{path} has no sentence.", "Give a line for each task that was written about.")
    return [written.get(task.task) or Sentence(task.task, flagged=NO_SENTENCE) for task in tasks]


def _check_sentence(path: Path, number: int, line: Sentence) -> None:
    for noun, text in (("sentence", line.sentence), ("writer", line.writer)):
        if not text.strip():
            raise bad_line(path, number, f"the {noun} is empty")
        bad = next((c for c in text.strip() if unicodedata.category(c) in _UNSEEN), None)
        if bad is not None:
            raise bad_line(path, number, f"the {noun} has the control character U+{ord(bad):04X}")
    chosen = set(line.selected)
    if len(line.selected) != PAIRS // 2 or len(chosen) != PAIRS // 2 or not chosen <= set(range(PAIRS)):
        raise bad_line(path, number, f"the selected pairs are {list(line.selected)}; expected two of 0 to 3")


def read_verdicts(path: Path, tasks: Mapping[str, Task], sentences: Sequence[Sentence]) -> list[Verdict]:
    """Judgements on the items of written tasks: one validation an item, and any number of extra ones."""
    items = {item_id(tasks[one.task], pair) for one in sentences if one.sentence for pair in range(PAIRS)}
    seen: set[tuple[str, str, str]] = set()
    validated: set[str] = set()
    out = []
    for number, line in numbered_lines(path, Verdict):
        if line.item not in items:
            raise bad_line(path, number, f"there is no item {line.item!r} that has a sentence")
        if line.verdict not in _VERDICTS:
            raise bad_line(path, number, f"the verdict is {line.verdict!r}; expected true, false, nonsense or skip")
        if line.kind not in _KINDS:
            raise bad_line(path, number, f"the kind is {line.kind!r}; expected validation or extra")
        if not line.worker.strip():
            raise bad_line(path, number, "the worker is empty")
        if (line.item, line.worker, line.kind) in seen:
            raise bad_line(path, number, f"a second judgement on {line.item} by {line.worker}")
        if line.kind == "validation" and line.verdict != "skip":
            if line.item in validated:
                raise bad_line(path, number, f"a second validation of {line.item}; give it the kind extra")
            validated.add(line.item)
        seen.add((line.item, line.worker, line.kind))
        out.append(line)
    return out
