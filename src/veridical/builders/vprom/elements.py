"""Visual elements and relations, by the paper's names (V-PROM, section 3.1).

An element is an attribute, an object category or a count from 1 to 10; elements of one group (a super-attribute, or
the whole kind) exclude each other, so that a panel is used for one of them at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["object attribute", "human attribute", "object category", "object count"]
Type = Literal["attribute", "object", "count"]
Relation = Literal["and", "progression", "union", "or"]

OBJECT, HUMAN, CATEGORY, COUNT = KINDS = (
    "object attribute",
    "human attribute",
    "object category",
    "object count",
)  # the columns of Table 1
TYPES: tuple[Type, ...] = ("attribute", "object", "count")  # a matrix shows one of these
TYPE_OF: dict[str, Type] = {OBJECT: "attribute", HUMAN: "attribute", CATEGORY: "object", COUNT: "count"}
# from the simplest explanation of a matrix to the most contrived
AND, PROGRESSION, UNION, OR = RELATIONS = ("and", "progression", "union", "or")
MOST = 10  # the largest count
# What a matrix is about: a relation over a kind of element.
CELLS = tuple((relation, kind) for relation in RELATIONS for kind in KINDS if relation != PROGRESSION or kind == COUNT)


@dataclass(frozen=True, slots=True, order=True)
class Element:
    """Something that a panel can show."""

    kind: str  # one of KINDS
    group: str  # the super-attribute; of a category or a count, the kind again
    name: str  # red, dog, 7

    @property
    def type(self) -> Type:
        return TYPE_OF[self.kind]


def count_element(number: int) -> Element:
    """The element of a count."""
    return Element(COUNT, COUNT, str(number))


def in_order(elements: set[Element]) -> tuple[Element, ...]:
    """Elements by kind, group and name; counts by their number."""
    return tuple(
        sorted(elements, key=lambda e: (KINDS.index(e.kind), e.group, int(e.name) if e.kind == COUNT else 0, e.name))
    )
