"""The pool: crops of photographs, the elements each is labelled with, and those it may stand for in a matrix.

Plain arrays, so that a pool of Visual Genome's size is some ten megabytes. A crop's labels are also a row of bits:
each super-attribute, the categories and the counts begin at a word of their own, so that "three panels share a label"
is a few bitwise ands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veridical.builders.vprom.elements import COUNT, HUMAN, MOST, OBJECT, Element
from veridical.common.arrays import Bools, Doubles, Ints, Words

DENSE = 0.8  # of crops


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
        sizes = [sum((e.type, e.group) == one for e in self.elements) for one in self.properties[:-1]] + [MOST]
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
