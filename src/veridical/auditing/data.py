"""A benchmark as the audit reads it: one list of items over all splits whose answers are known here, texts as words.

A `Sample` is what a blind model may see of some items and nothing else: it is built with only the views a check names;
what must not be seen is None, so that a model cannot look by mistake. Test samples carry no answers.

Folds are made so that nothing a model trained on comes back in what it is tested on: no origin, no group. Within a
split responses are dealt out among its items (each is right once, so one that was right in training is wrong in a
test): items that share responses are kept on one side, and what is still shared is not trained on (in `harness`), like
a sentence of another item. What many items share (`FREQUENT`) is vocabulary, and trained on: any blind model would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from veridical.auditing.findings import View
from veridical.benchmark import Benchmark
from veridical.benchmark.splits import blocks
from veridical.common.arrays import Bools, Doubles, Ints
from veridical.errors import UserError
from veridical.language.english import plain_names
from veridical.records import Item, Panel, Text

TRAIN = "train"
FOLDS = 3
FREQUENT = 12  # a text of more items, or sentence of more groups, is vocabulary
LARGE = 0.2  # a number of `together` with more of the items would be all that is held out
GIANT = 0.6  # a block with more of the items than this leaves nothing to cross-validate


def normal(text: str) -> str:
    """A text without case, spacing and final punctuation, to compare it with others.

    >>> normal("There is  a Box. ") == normal("there is a box")
    True
    """
    return " ".join(text.lower().split()).rstrip(" .!?")


@dataclass(frozen=True)
class AuditItem:
    """One item: what the audit needs of it."""

    item: Item
    split: str
    query: str  # words; a rationale's query is the question and the answer it assumes
    candidates: tuple[str, ...]  # words, or panel ids
    group: str
    stage: str  # "answer", "rationale"

    @property
    def answer(self) -> int:
        return -1 if self.item.answer is None else self.item.answer


class AuditData:
    """All items of a scheme, and what can be asked about them."""

    def __init__(self, directory: Path | str, scheme: str = "main", hidden: bool = False) -> None:
        self.benchmark = Benchmark(directory)
        self.scheme = scheme
        self.rows: list[AuditItem] = []
        for split in self.benchmark.splits_of(scheme):
            known = hidden or not self.benchmark.is_hidden(split)
            items = list(self.benchmark.items(split, scheme, answers=hidden))
            self.rows += _rows(items, split, self.benchmark.panels)
            if not known and any(i.answer is not None for i in items):
                raise UserError(f"Split {split!r} is hidden and shows its answers.", "Run `veridical check` on it.")
        if not self.rows:
            raise UserError(f"{self.benchmark.name} has no items in scheme {scheme!r}.", "Audit another benchmark.")

    @property
    def task(self) -> str:
        return self.benchmark.task

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """The splits, training first."""
        names = self.benchmark.splits_of(self.scheme)
        return tuple(sorted(names, key=lambda n: (n != TRAIN, n)))

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """`answer`, and `rationale` where there are rationale items with an answer."""
        return tuple(sorted({r.stage for r in self.rows if r.answer >= 0})) or ("answer",)

    def labelled(self, stage: str = "answer") -> list[AuditItem]:
        """The items of a stage whose answer is known."""
        return [r for r in self.rows if r.answer >= 0 and r.stage == stage]

    @cached_property
    def largest(self) -> int:
        """The place of the largest split among `splits`."""
        return max(range(len(self.splits)), key=lambda k: len(self.of_split(self.splits[k])))

    def of_split(self, split: str) -> list[AuditItem]:
        return [r for r in self.rows if r.split == split]


@lru_cache(maxsize=2)
def load(directory: str, hash_: str, scheme: str, hidden: bool) -> AuditData:
    """The data of one benchmark, read once per process; the hash keeps another build from being mistaken for it."""
    data = AuditData(directory, scheme, hidden)
    if data.benchmark.hash != hash_:
        raise UserError(f"{directory} changed while it was audited.", "Run the audit again.")
    return data


def _rows(items: Sequence[Item], split: str, panels: dict[str, Panel]) -> Iterable[AuditItem]:
    by_id = {item.id: item for item in items}
    for item in items:
        # Who is named twice can be seen from the text alone, so a blind model sees it.
        names = plain_names(panels[p] for p in item.panels if p in panels)
        query = item.query.words(names) if item.query is not None else ""
        parent = by_id.get(item.parent or "")
        if parent is not None and item.given is not None and parent.candidates:
            assumed = parent.candidates[item.given]
            query += " " + (assumed.words(names) if isinstance(assumed, Text) else assumed)
        candidates = tuple(c.words(names) if isinstance(c, Text) else c for c in item.candidates)
        group = item.group or item.parent or item.id
        yield AuditItem(item, split, query, candidates, group, "rationale" if item.parent else "answer")


def answers(rows: Sequence[AuditItem]) -> Ints:
    return np.array([r.answer for r in rows], np.int64)


def codes(names: Iterable[Any]) -> Ints:
    """Each name as a number, in the order of appearance."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for name in names], np.int64)


@dataclass(frozen=True)
class Fold:
    """What to train on and what to test on, as positions in a list of rows."""

    train: Ints
    test: Ints
    inside: bool = False  # both are parts of one split, among whose items responses were dealt


def folds(rows: Sequence[AuditItem], seed: int = 0) -> list[Fold]:
    """Every other split from the training split, and the training split (or the only one) by cross-validation.

    Whole blocks of items that share an origin or a group lie on one side, and those that share responses while there is
    room. Where nearly all items hang together (V-PROM's photographs are used again and again) the training split is not
    cross-validated.
    """
    split = np.array([r.split for r in rows])
    names, counts = np.unique(split, return_counts=True)
    main = TRAIN if TRAIN in names else str(names[counts.argmax()])
    keys = [[*("o" + o for o in r.item.origins), "g" + r.group] for r in rows]
    training, others = np.flatnonzero(split == main), np.flatnonzero(split != main)
    out = []
    if len(others) and main == TRAIN:
        taken = {key for i in others for key in keys[i]}
        clean = np.array([not taken.intersection(keys[i]) for i in training], np.bool_)
        if clean.any():
            out.append(Fold(training[clean], others))
    elif len(others):  # no training split: all are cross-validated together
        training, others = np.arange(len(rows)), np.empty(0, np.int64)
    block = blocks([keys[i] for i in training])
    sizes = np.bincount(block)
    if len(sizes) < 2 * FOLDS or sizes.max() > GIANT * sizes.sum():
        return out
    if rows[0].item.task == "choice":
        block = _joined([rows[i] for i in training.tolist()], block)
        sizes = np.bincount(block)
    part = _parts(sizes, seed)[block]
    return out + [Fold(training[part != k], training[part == k], inside=True) for k in np.unique(part)]


def _joined(rows: Sequence[AuditItem], block: Ints) -> Ints:
    """Blocks that share responses which are right once become one: what was matched together stays together.

    Where that joins more than `GIANT` of the items, they stay as they are.
    """
    uses = candidate_uses(rows)
    keys = [
        [f"block {own}", *("response " + c for c in map(normal, row.candidates) if uses[c] <= len(row.candidates))]
        for row, own in zip(rows, block.tolist(), strict=True)
    ]
    joined = blocks(keys)
    large = np.bincount(joined) > GIANT * len(rows)
    return codes(("block", own) if large[j] else j for own, j in zip(block.tolist(), joined.tolist(), strict=True))


def together(s: Sample) -> Ints:
    """(N,) A number for each item: items of one group have the same one, and those that share responses right once.

    A reader that learned one of these knows what is wrong in the others, so it cannot be weighed by them. Where that
    joins more than `LARGE` of the items, those that share responses have one number, whatever their groups.
    """
    shared = s.usable & s.real() & (s.uses <= s.choices[:, None])
    item, place = np.nonzero(shared)
    keys: list[list[str]] = [[] for _ in range(len(s))]
    for i, key in zip(item.tolist(), s.candidate_key[item, place].tolist(), strict=True):
        if key >= 0:
            keys[i].append(f"response {key}")
    grouped = [[f"group {g}", *own] for g, own in zip(s.group.tolist(), keys, strict=True)]
    joined = blocks(grouped)
    if len(np.unique(joined)) == len(np.unique(s.group)):
        return s.group
    if np.bincount(joined).max() > LARGE * len(s):
        joined = blocks([own or [f"group {g}"] for g, own in zip(s.group.tolist(), keys, strict=True)])
    return joined


def candidate_uses(rows: Iterable[AuditItem]) -> Counter[str]:
    """How many items have each candidate's text."""
    return Counter(text for row in rows for text in {normal(c) for c in row.candidates})


def _parts(sizes: Ints, seed: int) -> Ints:
    """Which of `FOLDS` parts each block is in: as equal as whole blocks allow."""
    rng = np.random.default_rng([seed, 3])
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    total, part = np.zeros(FOLDS), np.zeros(len(sizes), np.int64)
    for b in order:
        part[b] = int(total.argmin())
        total[part[b]] += sizes[b]
    return part


# --- what a model sees -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Items as a model sees them."""

    ids: tuple[str, ...]
    answer: Ints  # (N,) -1 where it must be predicted
    choices: Ints  # (N,) how many candidates
    group: Ints  # (N,)
    query_key: Ints  # (N,) items with one sentence have one key
    candidate_key: Ints  # (N, C) candidates with one text have one key; -1 for none
    usable: Bools  # (N, C) candidates that may be trained on: the test does not use their text
    uses: Ints  # (N, C) how many items of its split have a candidate; this needs no label
    query: tuple[str, ...] | None = None
    candidates: tuple[tuple[str, ...], ...] | None = None
    context: Doubles | None = None  # (N, D) features of the panels
    responses: Doubles | None = None  # (N, C, D) features of the candidates that are panels

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def width(self) -> int:
        """The largest number of candidates."""
        return int(self.candidate_key.shape[1])

    def take(self, rows: Ints) -> Self:
        """Some of the items."""

        def taken(column: Any) -> Any:
            return column[rows] if isinstance(column, np.ndarray) else column and tuple(column[i] for i in rows)

        return replace(self, **{name: taken(column) for name, column in vars(self).items()})

    def real(self) -> Bools:
        """(N, C) Which candidates there are."""
        return np.arange(self.width) < self.choices[:, None]


# A model is a function: training sample and randomness in, a function from samples to scores (N, C) out.
Predict = Callable[[Sample], Doubles]
Fit = Callable[[Sample, np.random.Generator], Predict]
Plant = Callable[[Sample, Bools, np.random.Generator], Sample]  # gives away the items that are marked


def sample(
    rows: Sequence[AuditItem],
    sees: Sequence[View],
    context: Doubles | None = None,
    responses: Doubles | None = None,
    among: Sequence[AuditItem] = (),
) -> Sample:
    """The views that a check sees; features come from `pictures`, and `among` are the items that `rows` are some of."""
    choices = np.array([len(r.candidates) for r in rows], np.int64)
    width = int(choices.max(initial=1))
    same = all(r.item.task == "statement" for r in rows)  # true and false are candidates of every item
    seen: dict[str, int] = {}
    keys = np.full((len(rows), width), -1, np.int64)
    uses = np.zeros((len(rows), width), np.int64)
    if not same:
        counted = {s: candidate_uses(r for r in among or rows if r.split == s) for s in {r.split for r in rows}}
        for i, row in enumerate(rows):
            texts = [normal(c) for c in row.candidates]
            keys[i, : len(texts)] = [seen.setdefault(text, len(seen)) for text in texts]
            uses[i, : len(texts)] = [counted[row.split][text] for text in texts]
    blank = [normal(r.query) or f"\0{i}" for i, r in enumerate(rows)]  # items without a query share none
    return Sample(
        ids=tuple(r.item.id for r in rows),
        answer=answers(rows),
        choices=choices,
        group=codes(r.group for r in rows),
        query_key=codes(blank),
        candidate_key=keys,
        usable=np.ones((len(rows), width), np.bool_),
        uses=uses,
        query=tuple(r.query for r in rows) if "query" in sees else None,
        candidates=tuple(r.candidates for r in rows) if "candidates" in sees else None,
        context=context if "context" in sees else None,
        responses=responses if "responses" in sees else None,
    )


def swapped(s: Sample, block: Ints, rng: np.random.Generator) -> Sample:
    """The same items with the context (pictures; for choices also the question) of an item of another block."""
    order = rng.permutation(len(s))
    other = np.empty(len(s), np.int64)
    other[order] = np.roll(order, 1)
    for _ in range(20):  # one more step along the circle for those that met their own block
        clash = block[other] == block
        if not clash.any():
            break
        other[clash] = rng.permutation(len(s))[: int(clash.sum())]
    changes: dict[str, object] = {}
    if s.context is not None:
        changes["context"] = s.context[other]
    if s.candidates is not None and s.query is not None:
        changes["query"] = tuple(s.query[i] for i in other)
    return replace(s, **changes)  # type: ignore[arg-type]
