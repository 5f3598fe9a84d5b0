"""Which questions a benchmark's items make: one per item, view, wording and order, and the follow-ups of VCR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.options.running import Asking
from veridical.records import Item, view_id
from veridical.solvers.vlm.prompts import COUNT, Prompt, Prompter, Variant, variants


@dataclass(frozen=True)
class Question:
    """One request: an item (or a view of it) in one wording and order."""

    item: Item
    variant: Variant
    view: int | None = None
    parent: Item | None = None  # a rationale item's answer item

    @property
    def name(self) -> str:
        """What its prediction is called: `1304-0`, or `1304-0#3` for a view."""
        return self.item.id if self.view is None else view_id(self.item.id, self.view)

    @property
    def key(self) -> tuple[str, int, int]:
        return self.name, self.variant.wording, self.variant.order

    @property
    def id(self) -> str:
        """Its name in logs: as the prediction's, with the variant behind it where it is not the first."""
        return self.name if self.variant == Variant() else f"{self.name}/{self.variant.name}"


class Questions:
    """The questions of one split."""

    def __init__(self, benchmark: Benchmark, split: str, asking: Asking, scheme: str = "main") -> None:
        self.benchmark, self.split, self.scheme, self.asking = benchmark, split, scheme, asking
        self.prompter = Prompter(benchmark, asking)
        self.items = {item.id: item for item in benchmark.items(split, scheme)}
        if not self.items:
            raise UserError(f"Split {split!r} of {benchmark.name} has no items.", "Choose another split.")
        if asking.answers == "truth" and benchmark.task != "statement":
            raise UserError(f"The items of {benchmark.name} are not true or false.", "Leave out --answers.")
        if asking.wordings > COUNT:
            raise UserError(f"There are {COUNT} wordings, not {asking.wordings}.", f"Ask for 1 to {COUNT} wordings.")
        self._rationales = {(i.parent, i.given): i for i in self.items.values() if i.parent is not None}

    def prompt(self, question: Question) -> Prompt:
        return self.prompter.prompt(question.item, question.variant, view=question.view, parent=question.parent)

    def first(self, limit: int | None = None) -> Iterator[Question]:
        """Everything that can be asked at once; `limit` counts items (of VCR: questions with all their rationales)."""
        roots = [item for item in self.items.values() if item.parent is None]
        for item in roots[:limit]:
            together = [item, *self._below(item)] if self.asking.rationales == "all" else [item]
            for one in together:
                yield from self._of(one)

    def follow_up(self, question: Question, chosen: int) -> Question | None:
        """The rationale question given the predicted answer, where only that one is to be asked."""
        if self.asking.rationales != "predicted" or question.item.parent is not None:
            return None
        rationale = self._rationales.get((question.item.id, chosen))
        return None if rationale is None else Question(rationale, question.variant, parent=question.item)

    def _below(self, item: Item) -> list[Item]:
        places = range(len(item.candidates))
        return [self._rationales[item.id, k] for k in places if (item.id, k) in self._rationales]

    def _of(self, item: Item) -> Iterator[Question]:
        if item.parent is not None and item.parent not in self.items:
            raise UserError(f"Item {item.id} belongs to {item.parent}, which is not there.", "Run `veridical check`.")
        parent = self.items[item.parent] if item.parent is not None else None
        views: list[int | None] = [None]
        if item.views and self.asking.views == "all":
            views = list(range(len(item.views)))
        for view in views:
            for variant in variants(self.asking):
                if variant.order < len(item.candidates):  # there are only so many rotations
                    yield Question(item, variant, view, parent)
