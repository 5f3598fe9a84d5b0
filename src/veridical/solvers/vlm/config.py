"""How a vision-language model is asked: which pictures it gets, in which words, and what counts as an answer.

Everything that changes a question is in `Asking`; what only changes how questions travel (connections, retries) is not,
so that a run can be continued with other limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from veridical.errors import UserError

Layout = Literal["separate", "together"]
Boxes = Literal["drawn", "coordinates", "none"]
Answers = Literal["auto", "truth", "letter"]
Rationales = Literal["all", "predicted", "none"]
Views = Literal["first", "all"]


@dataclass(frozen=True)
class Asking:
    """One way, or several, of putting the items of a benchmark to a model."""

    layout: Layout | None = None  # pictures one by one, or as one (pair side by side, matrix as a grid); None: by task
    answers: Answers = "auto"  # true/false or letters; auto: true/false for statements, letters for the rest
    reasoning: bool = False  # ask for steps before the answer
    wordings: int = 1  # how many wordings of the prompt
    orders: int = 1  # how many orders of the candidates
    boxes: Boxes = "drawn"  # VCR's objects: drawn into the photograph, or as coordinates in the text
    rationales: Rationales = "all"  # VCR: given each of four answers (official), or only given the predicted one
    views: Views = "first"  # NLVR: one drawing of each item, or all six
    blind: bool = False  # no pictures: what does the text alone give away?

    def __post_init__(self) -> None:
        from veridical.solvers.vlm.wordings import COUNT

        kinds = {"answers": Answers, "boxes": Boxes, "rationales": Rationales, "views": Views}
        for name, kind in kinds.items():
            _one_of(name, getattr(self, name), get_args(kind))
        if self.layout is not None:
            _one_of("layout", self.layout, get_args(Layout))
        if not 1 <= self.wordings <= COUNT:
            raise UserError(f"There are {COUNT} wordings, not {self.wordings}.", f"Ask for 1 to {COUNT} wordings.")
        if self.orders < 1:
            raise UserError(f"{self.orders} orders of the candidates are none.", "Ask for at least 1 order.")


@dataclass(frozen=True, order=True)
class Variant:
    """One of the wordings and orders of an asking."""

    wording: int = 0
    order: int = 0

    @property
    def name(self) -> str:
        return f"wording{self.wording}-order{self.order}"


def variants(asking: Asking) -> tuple[Variant, ...]:
    """All wordings in all orders.

    >>> [v.name for v in variants(Asking(wordings=2, orders=2))]
    ['wording0-order0', 'wording0-order1', 'wording1-order0', 'wording1-order1']
    """
    return tuple(Variant(w, o) for w in range(asking.wordings) for o in range(asking.orders))


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UserError(f"{name} is {value!r}.", f"Choose one of: {', '.join(choices)}.")
