"""The seven schemes of splits (V-PROM, section 3.2): which elements a matrix may be about, in training and in test.

Photographs are dealt to training and test first, two to one and anew for each scheme; matrices are then made within
each side, so that no photograph crosses. What a scheme holds out binds the context and the answer of its own
element type; the other types are as in the neutral scheme, as in the paper (Table 3).

Eight distinct counts cannot come from five, so that in interpolation and extrapolation distractors come from all ten.
The answer is in range, and one of k candidates in range is worth a guess of 1/k: all five that may be the answer are
always among the candidates (four for Or, whose last row shows the fifth), the most there can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from veridical.builders.vprom.elements import (
    AND,
    CATEGORY,
    CELLS,
    COUNT,
    HUMAN,
    OBJECT,
    OR,
    RELATIONS,
    UNION,
    Element,
    SchemeLists,
)
from veridical.builders.vprom.pool import Pool
from veridical.common.arrays import Bools

Side = Literal["train", "test"]
SCHEMES = ("neutral", "interpolation", "extrapolation", "att.held", "att.rel.held", "obj.held", "obj.rel.held")
SIDES: tuple[Side, ...] = ("train", "test")
SPLIT = 3  # every third photograph is for test
HELD = 3  # one in so many categories is held out
# The element types that a scheme binds
BOUND: dict[str, tuple[str, ...]] = {
    "neutral": (),
    "interpolation": (COUNT,),
    "extrapolation": (COUNT,),
    "att.held": (OBJECT, HUMAN),
    "att.rel.held": (OBJECT, HUMAN),
    "obj.held": (CATEGORY,),
    "obj.rel.held": (CATEGORY,),
}


@dataclass(frozen=True)
class Scheme:
    """One scheme over one pool."""

    name: str
    test: Bools  # (photographs,) whether a photograph is for test
    held: Bools  # (relations, elements) whether an element is for test only (by RELATIONS and the pool's elements)
    bound: Bools  # (elements,) whether the scheme says anything about an element

    def allowed(self, side: Side) -> Bools:
        """(relations, elements) what the context and the answer of a matrix may show."""
        return np.where(self.bound, self.held if side == "test" else ~self.held, True)

    def says_something(self, possible: Bools) -> bool:
        """Whether some cell that can be made, (cells,), is bound by what is held out; the neutral scheme binds none."""
        types = BOUND[self.name]
        return not types or any(ok and type_ in types for (_, type_), ok in zip(CELLS, possible, strict=True))

    def photographs(self, side: Side) -> Bools:
        """(photographs,) which may be used."""
        return self.test if side == "test" else ~self.test


def make_scheme(name: str, pool: Pool, lists: SchemeLists, rng: np.random.Generator) -> Scheme:
    """A scheme of SCHEMES over a pool."""
    elements = pool.elements
    bound = np.array([e.type in BOUND[name] for e in elements], bool) & pool.usable
    held = np.zeros((len(RELATIONS), len(elements)), bool)
    if name in ("interpolation", "extrapolation"):
        late = np.array([e.type == COUNT and _late(int(e.name), name) for e in elements], bool)
        held[:] = late
    elif name == "att.held":
        held[:] = np.array([e.group in lists.held_out or e.name in lists.held_out for e in elements], bool) & bound
    elif name == "att.rel.held":
        for (type_, relation), group in held_pairs(
            [e for e, ok in zip(elements, pool.usable, strict=True) if ok], lists
        ).items():
            own = np.array([e.type == type_ and e.group == group for e in elements], bool)
            held[RELATIONS.index(relation)] |= own
    elif name in ("obj.held", "obj.rel.held"):
        rows = rng.permutation(np.flatnonzero(bound))
        third = np.zeros(len(elements), int)
        third[rows] = np.arange(len(rows)) % HELD + 1
        for place, relation in enumerate((AND, OR, UNION)):
            held[RELATIONS.index(relation)] = third == (1 if name == "obj.held" else place + 1)
    return Scheme(name, deal(pool, rng), held, bound)


def _late(count: int, name: str) -> bool:
    """Whether a count is for test: the even ones, or those above five."""
    return count % 2 == 0 if name == "interpolation" else count > 5


def held_pairs(elements: Sequence[Element], lists: SchemeLists) -> dict[tuple[str, str], str]:
    """(type, relation) -> the super-attribute held out: the list's, or the next that the source has; no two alike."""
    out: dict[tuple[str, str], str] = {}
    for type_ in (OBJECT, HUMAN):
        sizes: dict[str, int] = {}
        for e in elements:
            if e.type == type_:
                sizes[e.group] = sizes.get(e.group, 0) + 1
        listed = lists.pairs.get(type_, {})
        taken = {group for group in listed.values() if group in sizes}
        for relation in (UNION, OR, AND):  # Union needs the most elements
            least = 3 if relation == UNION else 2
            spare = sorted(
                (g for g, size in sizes.items() if g not in taken and size >= least), key=lambda g: -sizes[g]
            )
            group = listed.get(relation, "")
            if sizes.get(group, 0) < least:
                group = spare[0] if spare else ""
            if group and len(sizes) > 1:  # a type with one super-attribute would have nothing to learn from
                out[type_, relation] = group
                taken.add(group)
    return out


def deal(pool: Pool, rng: np.random.Generator) -> Bools:
    """Photographs for test: every third of those that share their rarest element, so that all elements divide alike."""
    size = np.bincount(pool.depicts.values, minlength=len(pool.elements))
    owner = pool.photograph[pool.depicts.owners]
    order = np.lexsort((pool.depicts.values, size[pool.depicts.values], owner))
    photographs, first = np.unique(owner[order], return_index=True)
    rarest = np.full(pool.photographs, -1, np.int64)
    rarest[photographs] = pool.depicts.values[order][first]
    shuffled = np.lexsort((rng.random(pool.photographs), rarest))
    test = np.zeros(pool.photographs, bool)
    test[shuffled[int(rng.integers(SPLIT)) :: SPLIT]] = True
    return test
