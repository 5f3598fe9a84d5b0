"""What people do for NLVR2, as JSON lines: marks on photographs, sentences, judgements; and what follows from it.

removals     {"set": "12", "photograph": "...", "reason": "no instance of the synset"}      image pruning
dull         {"set": "12", "photograph": "..."}                                            not interesting, or
             {"set": "12", "photograph": "...", "reason": "duplicate"}                     a duplicate
labels       {"photograph": "...", "interesting": true}                                    for a classifier
sentences    {"task": "12-0", "sentence": "...", "selected": [0, 2], "writer": "w3"}        or a task and "flagged"
judgements   {"item": "set-12-3-0", "worker": "w5", "verdict": true, "kind": "validation"} or false, "nonsense", "skip"

An item is kept where its validator says what the writer meant (sections 3.3 and 3.4); all items of a sentence that was
reported as nonsense go. A fifth is then held out by image set and judged four more times; items with which two or more
of these disagree go, and the rest makes three equal parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from veridical.benchmark.splits import blocks, nlvr2_held_out, nlvr2_thirds, split_by_origin
from veridical.builders.interest import LabelledPhotograph
from veridical.builders.nlvr2.pairs import PAIRS
from veridical.builders.nlvr2.sets import MARKED
from veridical.builders.nlvr2.work import Found, PrunedSet, Sentence, Task, Verdict, item_id
from veridical.common.characters import unseen
from veridical.common.files import bad_line, numbered_lines
from veridical.errors import UserError
from veridical.records import Judgement
from veridical.statistics.judgements import NO_REASON, SKIP, Judged, prune_nlvr2

PAPER_SPLITS = {"train": 0.8, "dev": 0.2 / 3, "test-p": 0.2 / 3, "test-u": 0.2 / 3}
NO_SENTENCE = "no sentence was written"
_VERDICTS = (True, False, "nonsense", "skip")
_KINDS = ("validation", "extra")
REPORTED = "sentence reported as nonsense"
DISAGREES = "validator disagrees with the writer"
NOT_VALIDATED = "no validation"
EXTRA = 4  # judgements on each held-out item
FEW_SETS = 25  # a fifth of fewer does not make three splits of more than one set
THIRDS = 3  # splits of what is held out
TRAIN, HELD_OUT = "train", "held-out"


@dataclass(frozen=True)
class MarkedPhotograph:
    """A photograph that somebody marked in a set."""

    set: str
    photograph: str
    reason: str = ""


def read_marks(path: Path, sets: Iterable[Found | PrunedSet]) -> dict[tuple[str, str], str]:
    """Reasons by set and photograph; marks on what is not there are refused."""
    known = {one.set: {*one.photographs, *getattr(one, "removed", ())} for one in sets}
    out = {}
    for number, mark in numbered_lines(path, MarkedPhotograph):
        if mark.set not in known:
            raise bad_line(path, number, f"there is no set {mark.set!r}")
        if mark.photograph not in known[mark.set]:
            raise bad_line(path, number, f"set {mark.set} has no photograph {mark.photograph!r}")
        out[mark.set, mark.photograph] = mark.reason or MARKED
    return out


def read_labels(path: Path, photographs: Container[str]) -> dict[str, bool]:
    """Which photographs people found interesting."""
    out = {}
    for number, label in numbered_lines(path, LabelledPhotograph):
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
        if bad := unseen(text.strip()):
            raise bad_line(path, number, f"the {noun} has the control character {bad}")
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


# --- what is kept, and in which split --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kept:
    """An item that may be in the benchmark."""

    id: str
    task: Task
    pair: int
    sentence: Sentence
    label: int


@dataclass
class Validated:
    """Items with their splits, and what was removed."""

    items: list[Kept]
    splits: dict[str, str]  # item -> split
    removed: dict[str, tuple[str, str]]  # item -> where and why
    reported: int = 0  # sentences
    passed: int = 0  # items that passed validation
    held_out: list[str] = field(default_factory=list)  # items that get extra judgements
    missing_extra: int = 0  # held-out items with fewer than four
    few_sets: bool = False  # too few for the paper's rule

    def drop(self, where: str, reason: str, gone: Callable[[Kept], bool]) -> int:
        """Remove some items; how many."""
        names = [k.id for k in self.items if gone(k)]
        self.removed |= dict.fromkeys(names, (where, reason))
        self.items = [k for k in self.items if k.id not in self.removed]
        for name in names:
            self.splits.pop(name, None)
        return len(names)

    def reasons(self) -> dict[str, int]:
        return dict(sorted(Counter(reason for _, reason in self.removed.values()).items()))


def validate(tasks: Sequence[Task], sentences: Sequence[Sentence], verdicts: Sequence[Verdict]) -> Validated:
    """Section 3.3: keep what the validator confirms."""
    said = {v.item: v.verdict for v in verdicts if v.kind == "validation" and v.verdict != "skip"}
    by_task = {task.task: task for task in tasks}
    out = Validated([], {}, {})
    for one in sentences:
        if not one.sentence:
            continue
        task = by_task[one.task]
        names = [item_id(task, pair) for pair in range(PAIRS)]
        if any(said.get(name) == "nonsense" for name in names):
            out.reported += 1
            out.removed |= dict.fromkeys(names, ("validation", REPORTED))
            continue
        for pair, name in enumerate(names):
            meant = pair in one.selected
            if name not in said:
                out.removed[name] = ("validation", NOT_VALIDATED)
            elif bool(said[name]) != meant:
                out.removed[name] = ("validation", DISAGREES)
            else:
                out.items.append(Kept(name, task, pair, one, int(meant)))
    out.passed = len(out.items)
    return out


def split(
    out: Validated,
    verdicts: Sequence[Verdict],
    rng: np.random.Generator,
    shares: Mapping[str, float] | None = None,
    *,
    extra: bool = True,
    held: Container[str] | None = None,
) -> Validated:
    """Section 3.4: a fifth held out by image set, low agreement removed, three equal parts; or the `shares` given.

    `extra` says whether extra judgements are expected on what is held out; `held` are the sets that were, where that
    was decided before people judged.
    """
    check_left(out, len(out.items), "No item is left")
    # Sets that share a photograph are one: named after the first of their block.
    origins = [[f"set {k.task.set}", *map(str, k.task.pairs[k.pair])] for k in out.items]
    sets = [str(number) for number in blocks(origins)]
    synsets = [k.task.synset for k in out.items]
    if shares is None and held is None and len(set(sets)) < FEW_SETS:
        shares, out.few_sets = PAPER_SPLITS, True
    if held is not None and shares is None:
        names = [HELD_OUT if k.task.set in held else TRAIN for k in out.items]
    elif shares is not None:
        names = split_by_origin([[s] for s in sets], shares, rng, synsets)
    else:
        names = [HELD_OUT if is_held else TRAIN for is_held in nlvr2_held_out(sets, synsets, rng)]
    out.splits = {k.id: name for k, name in zip(out.items, names, strict=True)}
    out.held_out = [name for name, own in out.splits.items() if own != TRAIN]
    set_of = {k.id: (s, k.task.synset) for k, s in zip(out.items, sets, strict=True)}
    _drop_low_agreement(out, verdicts, extra)
    check_left(out, len(out.items), "No item is left")
    if shares is not None:
        return out
    rest = [k.id for k in out.items if out.splits[k.id] == HELD_OUT]
    few = len({set_of[name][0] for name in rest})
    check_left(out, few >= THIRDS, f"Only {few} of the sets that were held out are left, for three splits")
    thirds = nlvr2_thirds([set_of[name][0] for name in rest], [set_of[name][1] for name in rest], rng)
    out.splits |= dict(zip(rest, thirds, strict=True))
    return out


def check_left(out: Validated, enough: object, problem: str) -> None:
    """Refuse to go on where not enough is left, and say what went."""
    if not enough:
        reasons = ", ".join(f"{count:,} went for {reason!r}" for reason, count in out.reasons().items())
        raise UserError(f"{problem}: {reasons or 'there was no sentence'}.", "Collect more sentences and judgements.")


def _drop_low_agreement(out: Validated, verdicts: Sequence[Verdict], extra: bool) -> None:
    """Remove held-out items with which two or more extra judgements disagree."""
    label = {k.id: k.label for k in out.items}
    said = [_judgement(v) for v in verdicts if v.kind == "extra"]
    table = Judged.of(out.held_out, said, label)
    if extra:
        counts = np.bincount(table.item[table.verdict != SKIP], minlength=len(out.held_out))
        out.missing_extra = int((counts < EXTRA).sum())
    for name, reason in zip(out.held_out, prune_nlvr2(table), strict=True):
        if reason != NO_REASON:
            out.removed[name] = ("agreement", str(reason))
            del out.splits[name]
    out.items = [k for k in out.items if k.id in out.splits]


def judgements(
    sentences: Sequence[Sentence], tasks: Mapping[str, Task], verdicts: Sequence[Verdict]
) -> list[Judgement]:
    """Everything that was said, as records: the writers' own selections first."""
    out = [
        Judgement(item_id(tasks[one.task], pair), one.writer, int(pair in one.selected), "selection")
        for one in sentences
        if one.sentence and one.program is None
        for pair in range(PAIRS)
    ]
    return out + [_judgement(v) for v in verdicts]


def _judgement(said: Verdict) -> Judgement:
    verdict = said.verdict if isinstance(said.verdict, str) else int(said.verdict)
    return Judgement(said.item, said.worker, verdict, said.kind, said.time)  # type: ignore[arg-type]
