"""The pool of crops that matrices are drawn from, and the seven schemes that divide it (V-PROM, section 3.2).

A pool is plain arrays, so that one of Visual Genome's size is some ten megabytes. A crop's labels are also a row of
bits: each super-attribute, the categories and the counts begin at a word of their own, so that "three panels share a
label" is a few bitwise ands.

A scheme says which elements a matrix may be about, in training and in test. Photographs are dealt to training and test
first, two to one and anew for each scheme; matrices are then made within each side, so that no photograph crosses. What
a scheme holds out binds the context and the answer of its own element type; the other types are as in the neutral
scheme, as in the paper (Table 3).

Eight distinct counts cannot come from five, so that in interpolation and extrapolation distractors come from all ten.
The answer is in range, and one of k candidates in range is worth a guess of 1/k: all five that may be the answer are
always among the candidates (four for Or, whose last row shows the fifth), the most there can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.builders.vprom import elements
from veridical.builders.vprom.elements import AND, CATEGORY, COUNT, HUMAN, OBJECT, OR, RELATIONS, UNION, Element
from veridical.common.arrays import Bools, Doubles, Ints, Words

DENSE = 0.8  # of crops
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
class Lists2D:
    """Rows of numbers of different lengths."""

    starts: Ints  # (N + 1,)
    values: NDArray[np.int32]

    @classmethod
    def of(cls, rows: list[tuple[int, ...]]) -> Lists2D:
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return cls(starts, np.array([value for row in rows for value in row], np.int32))

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        return self.values[self.starts[row] : self.starts[row + 1]]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def owners(self) -> Ints:
        """The row of every value."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


@dataclass(frozen=True)
class Pool:
    """Crops, by number."""

    elements: tuple[Element, ...]  # every label, in the order of `in_order`; some only make matrices ambiguous
    photograph: NDArray[np.int32]  # (P,) the number of the photograph that a crop is of
    region: Doubles  # (P, 4) its box in the photograph; NaN: all of it
    shows: Lists2D  # crop -> every element it is labelled with
    depicts: Lists2D  # crop -> the elements that it may stand for
    removed: dict[str, dict[str, int]]  # principle -> element type -> crops (or labels) that it removed
    photographs: int  # how many were looked at

    def __len__(self) -> int:
        return len(self.photograph)

    @cached_property
    def properties(self) -> tuple[tuple[str, str], ...]:
        """What an explanation may be about: (type, group) of each super-attribute, the categories, last the counts."""
        found = dict.fromkeys((e.type, e.group) for e in self.elements if e.type != COUNT)
        return (*found, (COUNT, COUNT))

    @cached_property
    def spans(self) -> Ints:
        """The word at which each property begins, and the number of words."""
        sizes = [sum((e.type, e.group) == one for e in self.elements) for one in self.properties[:-1]] + [elements.MOST]
        return np.concatenate([[0], np.cumsum([-(-size // 64) for size in sizes])]).astype(np.int64)

    @cached_property
    def places(self) -> Ints:
        """(E,) The bit of each element; counts that are neighbours are neighbouring bits."""
        free = {one: int(word) * 64 for one, word in zip(self.properties, self.spans[:-1], strict=True)}
        out = np.zeros(len(self.elements), np.int64)
        for row, element in enumerate(self.elements):
            own = (element.type, element.group)
            if element.type == COUNT:
                out[row] = free[own] + int(element.name) - 1
            else:
                out[row] = free[own]
                free[own] += 1
        return out

    @cached_property
    def bits(self) -> Words:
        """(P, words) The labels of each crop."""
        out = np.zeros((len(self), int(self.spans[-1])), np.uint64)
        place = self.places[self.shows.values]
        np.bitwise_or.at(out, (self.shows.owners, place // 64), np.uint64(1) << (place % 64).astype(np.uint64))
        return out

    @cached_property
    def by_element(self) -> Lists2D:
        """Element -> the crops that may stand for it."""
        order = np.argsort(self.depicts.values, kind="stable")
        starts = np.searchsorted(self.depicts.values[order], np.arange(len(self.elements) + 1))
        return Lists2D(starts.astype(np.int64), self.depicts.owners[order].astype(np.int32))

    @cached_property
    def usable(self) -> Bools:
        """(E,) Whether some crop may stand for an element."""
        return np.diff(self.by_element.starts) > 0

    @cached_property
    def dense(self) -> frozenset[tuple[str, str]]:
        """The super-attributes of which nearly every crop for attributes of their type shows one."""
        out = set()
        for type_ in (OBJECT, HUMAN):
            of_type = np.array([e.type == type_ for e in self.elements], bool)
            crops = np.zeros(len(self), bool)
            crops[self.depicts.owners[of_type[self.depicts.values]]] = True
            for group in {e.group for e in self.elements if e.type == type_}:
                own = np.array([(e.type, e.group) == (type_, group) for e in self.elements], bool)
                shows = np.zeros(len(self), bool)
                shows[self.shows.owners[own[self.shows.values]]] = True
                if crops.any() and shows[crops].mean() > DENSE:
                    out.add((type_, group))
        return frozenset(out)

    def table(self) -> dict[str, dict[str, int]]:
        """Table 1: element type -> elements, images (crops and the photographs they are of)."""
        types = np.array([e.type if ok else "" for e, ok in zip(self.elements, self.usable, strict=True)], object)
        out: dict[str, dict[str, int]] = {}
        for type_ in dict.fromkeys(types[self.usable].tolist()):
            own = np.isin(self.depicts.values, np.flatnonzero(types == type_))
            crops = np.unique(self.depicts.owners[own])
            photographs = len(np.unique(self.photograph[crops]))
            out[type_] = {"elements": int((types == type_).sum()), "images": len(crops), "photographs": photographs}
        return out


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
        return not types or any(ok and type_ in types for (_, type_), ok in zip(elements.CELLS, possible, strict=True))

    def photographs(self, side: Side) -> Bools:
        """(photographs,) which may be used."""
        return self.test if side == "test" else ~self.test


def make_scheme(name: str, pool: Pool, lists: elements.SchemeLists, rng: np.random.Generator) -> Scheme:
    """A scheme of SCHEMES over a pool."""
    known = pool.elements
    bound = np.array([e.type in BOUND[name] for e in known], bool) & pool.usable
    held = np.zeros((len(RELATIONS), len(known)), bool)
    if name == "interpolation":  # the even counts are for test
        held[:] = [e.type == COUNT and int(e.name) % 2 == 0 for e in known]
    elif name == "extrapolation":
        held[:] = [e.type == COUNT and int(e.name) > 5 for e in known]
    elif name == "att.held":
        held[:] = np.array([e.group in lists.held_out or e.name in lists.held_out for e in known], bool) & bound
    elif name == "att.rel.held":
        usable = [e for e, ok in zip(known, pool.usable, strict=True) if ok]
        for (type_, relation), group in held_pairs(usable, lists).items():
            held[RELATIONS.index(relation)] |= [(e.type, e.group) == (type_, group) for e in known]
    elif name in ("obj.held", "obj.rel.held"):
        rows = rng.permutation(np.flatnonzero(bound))
        third = np.zeros(len(known), int)
        third[rows] = np.arange(len(rows)) % HELD + 1
        for place, relation in enumerate((AND, OR, UNION)):
            held[RELATIONS.index(relation)] = third == (1 if name == "obj.held" else place + 1)
    return Scheme(name, deal(pool, rng), held, bound)


def held_pairs(usable: Sequence[Element], lists: elements.SchemeLists) -> dict[tuple[str, str], str]:
    """(type, relation) -> the super-attribute held out: the list's, or the next that the source has; no two alike."""
    out: dict[tuple[str, str], str] = {}
    for type_ in (OBJECT, HUMAN):
        sizes = Counter(e.group for e in usable if e.type == type_)
        listed = lists.pairs.get(type_, {})
        taken = {group for group in listed.values() if group in sizes}
        for relation in (UNION, OR, AND):  # Union needs the most elements
            least = 3 if relation == UNION else 2
            group = listed.get(relation, "")
            if sizes[group] < least:
                group = next((g for g, size in sizes.most_common() if g not in taken and size >= least), "")
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
