"""The answers of a run: kept in a journal, merged into predictions, and summed up.

Every finished answer is appended to the journal and synced before anything else happens to it. So a run that is killed
at any moment has paid at most for the requests that were in flight, and never asks a finished one again. A line that
was being written at the kill is cut off when the journal is next opened.

The summary is what a run says about itself: how much was read, what it cost, and how far the result hangs on wording
and position. Accuracy here is over everything asked that has an answer, unreadable replies counting as wrong;
intervals and the rest are `veridical evaluate`'s business.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec

from veridical.common.files import DECODING_ERRORS, Json, locked
from veridical.common.result import Table
from veridical.errors import UserError
from veridical.records import LETTERS, Item, Prediction, split_view
from veridical.solvers.vlm.prompts import TRUTH_LABELS, Variant, shown_order


class Usage(msgspec.Struct, frozen=True):
    """Tokens and money of one answer, as the provider reports them."""

    input: int = 0  # all input tokens, cached ones too
    output: int = 0
    reasoning: int = 0  # of the output, where the provider says so
    cost: float | None = None  # in dollars; None where no price is known


class Asked(msgspec.Struct, frozen=True):
    """One finished answer."""

    item: str  # item id, or `item#k` for view k
    wording: int
    order: int
    text: str  # what the model wrote
    scores: list[float]  # one per candidate, in the benchmark's order; empty where unreadable
    stop: str = ""  # why the model stopped: stop, max_tokens, content_filter ...
    reason: str = ""  # why the answer is unreadable
    probable: bool = False  # the scores are the model's probabilities, not only its choice
    usage: Usage = Usage()

    @property
    def key(self) -> tuple[str, int, int]:
        return self.item, self.wording, self.order

    @property
    def chosen(self) -> int:
        """The candidate with the highest score, the first of equals; -1 where unreadable."""
        return max(range(len(self.scores)), key=self.scores.__getitem__, default=-1)


class _Head(msgspec.Struct, frozen=True):
    """The first line: what this journal belongs to."""

    journal: Json


_DECODE = msgspec.json.Decoder(Asked)


class Journal:
    """Finished answers of one run, on disk and in memory; use as a context manager. One process at a time."""

    def __init__(self, path: Path, about: Json) -> None:
        self.path, self.about = path, about
        self.asked: dict[tuple[str, int, int], Asked] = {}
        self._descriptor = -1

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        busy = UserError(
            f"{self.path} is in use: another process is asking for the same output.",
            "Wait for it, or choose another --out.",
        )
        with ExitStack() as stack:
            self._descriptor = stack.enter_context(locked(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, busy))
            self._recover()
            self._held = stack.pop_all()
        return self

    def __exit__(self, raised: type[BaseException] | None, *more: object) -> None:
        self._held.close()
        if raised is not None and not self.asked:
            self.path.unlink(missing_ok=True)  # nothing was asked: leave nothing behind

    def add(self, asked: Asked) -> None:
        """Keep one answer; when this returns, it survives a kill and a power cut."""
        self._append(msgspec.json.encode(asked))
        self.asked[asked.key] = asked

    def _recover(self) -> None:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):  # torn by a kill
            os.ftruncate(self._descriptor, whole)
        lines = data[:whole].splitlines()
        if not lines:
            self._append(msgspec.json.encode(_Head(self.about)))
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
            return
        try:
            found = msgspec.json.decode(lines[0], type=_Head).journal
            for line in lines[1:]:
                asked = _DECODE.decode(line)
                self.asked[asked.key] = asked
        except DECODING_ERRORS as error:
            raise UserError(
                f"{self.path} is no journal of answers, or is damaged: {error}.",
                "Choose another --out, or remove it and pay for its answers again.",
            ) from None
        different = sorted(k for k in {*found, *self.about} if found.get(k) != self.about.get(k))
        if different:
            name = different[0]
            raise UserError(
                f"{self.path} holds {len(self.asked):,} answers to other questions: "
                f"{name} was {found.get(name)!r} and is now {self.about.get(name)!r}.",
                "Choose another --out, or the same settings as before to continue.",
            )

    def _append(self, line: bytes) -> None:
        data = line + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]
        os.fsync(self._descriptor)


@dataclass(frozen=True)
class Rate:
    """How many of how many."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        return self.count / self.of if self.of else None

    def to_json(self) -> dict[str, object]:
        return {"value": self.value, "count": self.count, "of": self.of}

    def __str__(self) -> str:
        return "" if self.value is None else f"{self.value:.1%}"


@dataclass(frozen=True)
class Position:
    """Answers by the place at which the chosen candidate was shown (`false` and `true` themselves for truth)."""

    place: str
    chosen: Rate  # how often it was chosen, of all readable answers
    right: Rate  # how often the right candidate stood there, of those with a known answer
    accuracy: Rate  # how often the answer was right when the right one stood there


@dataclass(frozen=True)
class Summary:
    """A run in numbers."""

    asked: int
    unreadable: int
    reasons: dict[str, int]  # why replies were unreadable
    answers: dict[str, Rate]  # statements: how often true and false were said
    accuracy: Rate  # over all variants
    by_wording: dict[int, Rate]
    by_order: dict[int, Rate]
    by_variant: dict[str, Rate]
    positions: tuple[Position, ...]
    flipped: Rate | None  # items whose answer changes with the order of the candidates; None with one order
    reworded: Rate | None  # items whose answer changes with the wording
    probable: int  # answers whose scores are probabilities
    tokens: dict[str, int] = field(default_factory=dict)
    cost: float | None = None  # dollars; None where no price is known for any answer
    priced: int = 0  # answers that the cost is about

    def to_json(self) -> dict[str, object]:
        return {
            "asked": self.asked,
            "unreadable": self.unreadable,
            "reasons": self.reasons,
            "answers": {label: rate.value for label, rate in self.answers.items()},
            "accuracy": self.accuracy.to_json(),
            "wordings": _rates(self.by_wording) | _spread(self.by_wording),
            "orders": _rates(self.by_order) | _spread(self.by_order),
            "variants": _rates(self.by_variant),
            "positions": {
                p.place: {"chosen": p.chosen.value, "right": p.right.value, "accuracy": p.accuracy.value}
                for p in self.positions
            },
            "flipped_by_order": self.flipped.to_json() if self.flipped else None,
            "flipped_by_wording": self.reworded.to_json() if self.reworded else None,
            "probabilities": self.probable,
            "tokens": self.tokens,
            "cost": self.cost,
            "priced": self.priced,
        }

    def parts(self) -> Iterator[Table | str]:
        """What people should know about a run."""
        why = ", ".join(f"{reason} {count:,}" for reason, count in sorted(self.reasons.items()))
        yield f"{self.unreadable:,} of {self.asked:,} answers could not be read{f' ({why})' if why else ''}."
        if self.accuracy.value is not None:
            yield f"{self.accuracy} right of {self.accuracy.of:,} with a known answer; unreadable ones count as wrong."
        cost = "" if self.cost is None else f", ${self.cost:,.4f} for {self.priced:,} answers"
        yield f"{self.tokens['input']:,} tokens in, {self.tokens['output']:,} out{cost}."
        if len(self.by_variant) > 1:
            rows = [(name, str(rate), f"{rate.of:,}") for name, rate in self.by_variant.items()]
            yield Table("Accuracy by wording and order", ["variant", "accuracy", "answers"], rows)
        for name, rates in (("wordings", self.by_wording), ("orders", self.by_order)):
            if spread := _spread(rates):
                yield f"Over {name}: mean {spread['mean']:.1%}, deviation {spread['std']:.1%}."
        for rate, what in ((self.flipped, "order of the candidates"), (self.reworded, "wording")):
            if rate is not None:
                yield f"{rate.count:,} of {rate.of:,} items ({rate}) change their answer with the {what}."
        if self.positions:
            cells = [(p.place, *map(str, (p.chosen, p.right, p.accuracy))) for p in self.positions]
            yield Table("Position bias", ["place", "chosen", "right answer there", "accuracy"], cells)


def _rates(rates: Mapping[Any, Rate]) -> dict[str, object]:
    return {str(name): rate.to_json() for name, rate in rates.items()}


def _spread(rates: Mapping[int, Rate]) -> dict[str, float]:
    """Mean and (population) deviation of accuracy, where there is more than one."""
    values = [rate.value for rate in rates.values() if rate.value is not None]
    if len(values) < 2:
        return {}
    return {"mean": statistics.fmean(values), "std": statistics.pstdev(values)}


def summarise(asked: Sequence[Asked], items: Mapping[str, Item], letters: bool) -> Summary:
    """Sum up a run. `letters`: whether statements were answered by letter, so that places are letters, not words."""
    of = [(one, items.get(one.item) or items[split_view(one.item)[0]]) for one in asked]  # an item, or a view of it
    right = [(one, None if item.answer is None else one.chosen == item.answer) for one, item in of]
    said = Counter(TRUTH_LABELS[one.chosen] for one, item in of if one.scores and item.task == "statement")
    costs = [cost for one in asked if (cost := one.usage.cost) is not None]
    return Summary(
        asked=len(asked),
        unreadable=sum(not one.scores for one in asked),
        reasons=dict(Counter(one.reason for one in asked if not one.scores)),
        answers={label: Rate(n, said.total()) for label, n in sorted(said.items())},
        accuracy=_rate(value for _, value in right),
        by_wording=_by(right, lambda one: one.wording),
        by_order=_by(right, lambda one: one.order),
        by_variant=_by(right, lambda one: Variant(one.wording, one.order).name),
        positions=_positions(of, letters),
        flipped=_changes(asked, lambda one: (one.item, one.wording)),
        reworded=_changes(asked, lambda one: (one.item, one.order)),
        probable=sum(one.probable for one in asked),
        tokens={name: sum(getattr(one.usage, name) for one in asked) for name in ("input", "output", "reasoning")},
        cost=sum(costs, 0.0) if costs else None,
        priced=len(costs),
    )


def merge(asked: Iterable[Asked], order: Sequence[str]) -> list[Prediction]:
    """One prediction per item: the mean of the scores over the readable variants, and all that was written."""
    by_item: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        by_item[one.item].append(one)
    out = []
    for name in order:
        found = sorted(by_item.get(name, []), key=lambda one: (one.wording, one.order))
        if not found:
            continue
        readable = [one.scores for one in found if one.scores]
        scores = tuple(sum(column) / len(readable) for column in zip(*readable, strict=True))
        out.append(Prediction(name, scores, "\n---\n".join(one.text for one in found)))
    return out


def _rate(values: Iterable[bool | None]) -> Rate:
    known = [value for value in values if value is not None]
    return Rate(sum(known), len(known))


def _by(right: Iterable[tuple[Asked, bool | None]], key: Callable[[Asked], Any]) -> dict[Any, Rate]:
    groups: dict[Any, list[bool | None]] = defaultdict(list)
    for one, value in right:
        groups[key(one)].append(value)
    return {name: _rate(groups[name]) for name in sorted(groups)}


def _changes(asked: Sequence[Asked], key: Callable[[Asked], Any]) -> Rate | None:
    """Of the items answered readably in more than one such way: how many did not always get the same answer."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for one in asked:
        if one.scores:
            groups[key(one)].append(one.chosen)
    several = [answers for answers in groups.values() if len(answers) > 1]
    return Rate(sum(len(set(answers)) > 1 for answers in several), len(several)) if several else None


def _positions(answers: Sequence[tuple[Asked, Item]], letters: bool) -> tuple[Position, ...]:
    """Where the chosen and the right candidates stood."""
    chosen: Counter[str] = Counter()
    stood: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    for one, item in answers:
        # Places are letters; where true and false are words, which of them was offered first.
        names = ("first", "second") if item.task == "statement" and not letters else LETTERS
        place = {candidate: names[k] for k, candidate in enumerate(shown_order(item, one.order))}
        if one.scores:
            chosen[place[one.chosen]] += 1
        if item.answer is not None:
            stood[place[item.answer]] += 1
            hit[place[item.answer]] += one.chosen == item.answer
    return tuple(
        Position(p, Rate(chosen[p], chosen.total()), Rate(stood[p], stood.total()), Rate(hit[p], stood[p]))
        for p in sorted({*chosen, *stood})
    )
