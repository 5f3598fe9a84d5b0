"""What a run says about itself: how much was read, what it cost, and how far the result hangs on wording and position.

Accuracy here is over everything asked that has an answer, unreadable replies counting as wrong; intervals and the rest
are `veridical evaluate`'s business.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from veridical.common.files import Json
from veridical.common.result import Table
from veridical.records import Item, Prediction, split_view
from veridical.solvers.vlm.journal import Asked
from veridical.solvers.vlm.prompts import TRUTH_LABELS, Variant, rotation


@dataclass(frozen=True)
class Rate:
    """How many of how many."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        return self.count / self.of if self.of else None

    def to_json(self) -> Json:
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

    def to_json(self) -> Json:
        return {
            "asked": self.asked,
            "unreadable": self.unreadable,
            "reasons": self.reasons,
            "answers": {label: rate.value for label, rate in self.answers.items()},
            "accuracy": self.accuracy.to_json(),
            "wordings": {str(k): rate.to_json() for k, rate in self.by_wording.items()} | _spread(self.by_wording),
            "orders": {str(k): rate.to_json() for k, rate in self.by_order.items()} | _spread(self.by_order),
            "variants": {k: rate.to_json() for k, rate in self.by_variant.items()},
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


def _spread(rates: Mapping[int, Rate]) -> dict[str, float]:
    """Mean and (population) deviation of accuracy, where there is more than one."""
    values = [rate.value for rate in rates.values() if rate.value is not None]
    if len(values) < 2:
        return {}
    return {"mean": statistics.fmean(values), "std": statistics.pstdev(values)}


def summarise(asked: Sequence[Asked], items: Mapping[str, Item], letters: bool) -> Summary:
    """Sum up a run. `letters`: whether statements were answered by letter, so that places are letters, not words."""
    right: list[tuple[Asked, bool | None]] = []
    said: Counter[str] = Counter()
    for one in asked:
        item = _item(one, items)
        right.append((one, None if item.answer is None else bool(one.scores) and _chosen(one) == item.answer))
        if one.scores and item.task == "statement":
            said[TRUTH_LABELS[_chosen(one)]] += 1
    return Summary(
        asked=len(asked),
        unreadable=sum(not one.scores for one in asked),
        reasons=dict(Counter(one.reason for one in asked if not one.scores)),
        answers={label: Rate(n, said.total()) for label, n in sorted(said.items())},
        accuracy=_rate(value for _, value in right),
        by_wording=_by(right, lambda one: one.wording),
        by_order=_by(right, lambda one: one.order),
        by_variant=_by(right, lambda one: Variant(one.wording, one.order).name),
        positions=_positions(asked, items, letters),
        flipped=_changes(asked, lambda one: (one.item, one.wording)),
        reworded=_changes(asked, lambda one: (one.item, one.order)),
        probable=sum(one.probable for one in asked),
        tokens={name: sum(getattr(one.usage, name) for one in asked) for name in ("input", "output", "reasoning")},
        cost=sum((c for one in asked if (c := one.usage.cost) is not None), 0.0)
        if any(one.usage.cost is not None for one in asked)
        else None,
        priced=sum(one.usage.cost is not None for one in asked),
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


def _chosen(one: Asked) -> int:
    return max(range(len(one.scores)), key=one.scores.__getitem__)


def _rate(values: Iterable[bool | None]) -> Rate:
    known = [value for value in values if value is not None]
    return Rate(sum(known), len(known))


def _item(one: Asked, items: Mapping[str, Item]) -> Item:
    """The item of an answer, which may be about one view of it."""
    return items[one.item] if one.item in items else items[split_view(one.item)[0]]


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
            groups[key(one)].append(_chosen(one))
    several = [answers for answers in groups.values() if len(answers) > 1]
    return Rate(sum(len(set(answers)) > 1 for answers in several), len(several)) if several else None


def _positions(asked: Sequence[Asked], items: Mapping[str, Item], letters: bool) -> tuple[Position, ...]:
    """Where the chosen and the right candidates stood."""
    chosen: Counter[str] = Counter()
    stood: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    for one in asked:
        item = _item(one, items)
        places = _places(item, one.order, letters)
        if one.scores:
            chosen[places[_chosen(one)]] += 1
        if item.answer is not None:
            stood[places[item.answer]] += 1
            hit[places[item.answer]] += bool(one.scores) and _chosen(one) == item.answer
    return tuple(
        Position(
            place,
            Rate(chosen[place], chosen.total()),
            Rate(stood[place], stood.total()),
            Rate(hit[place], stood[place]),
        )
        for place in sorted({*chosen, *stood})
    )


def _places(item: Item, order: int, letters: bool) -> list[str]:
    """The place of each candidate: first, second ... as a letter; true and false by which was offered first."""
    count = len(item.candidates)
    shift = 1 if item.task == "statement" else 0
    shown = [(k + shift) % count for k in rotation(count, order)]  # candidate at each place
    if item.task == "statement" and not letters:
        return ["first" if shown.index(k) == 0 else "second" for k in range(count)]
    return [chr(ord("A") + shown.index(k)) for k in range(count)]
