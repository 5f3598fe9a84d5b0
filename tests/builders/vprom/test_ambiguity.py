"""Ambiguity: the kernels against plain Python over sets, and the definitions by example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.builders.vprom.elements import CATEGORY, OBJECT, RELATIONS, Element, count_element, in_order
from veridical.builders.vprom.matrices import judge
from veridical.builders.vprom.pool import Lists2D, Pool

from ._plain import COUNTS, Labels, simplest

COLORS, TEXTURES, OBJECTS = 4, 3, 70  # so many objects that they need two words


def pool_of(rows: list[list[Element]]) -> Pool:
    """Crops with these labels, each of a photograph of its own."""
    elements = in_order({e for row in rows for e in row} | {count_element(n) for n in range(1, 11)})
    number = {e: k for k, e in enumerate(elements)}
    labels = Lists2D.of([tuple(sorted(number[e] for e in row)) for row in rows])
    size = len(rows)
    return Pool(elements, np.arange(size, dtype=np.int32), np.full((size, 4), np.nan), labels, labels, {}, size)


def make(labels: Labels) -> list[Element]:
    names = {"color": (OBJECT, "color"), "texture": (OBJECT, "texture"), "object": (CATEGORY, CATEGORY)}
    out = [Element(*names[str(p)], f"{p}{v:02}") for p, values in labels.items() if p in names for v in values]
    return out + [count_element(n) for n in labels[COUNTS]]


@st.composite
def panels(draw: st.DrawFn) -> Labels:
    def some(low: int, high: int) -> set[int]:
        return draw(st.sets(st.integers(low, high), max_size=2))

    objects = {draw(st.sampled_from([0, 1, 2, 65, OBJECTS - 1])) for _ in range(draw(st.integers(0, 2)))}
    return {"color": some(0, COLORS - 1), "texture": some(0, TEXTURES - 1), "object": objects, COUNTS: some(1, 10)}


@settings(max_examples=300, deadline=None)
@given(st.lists(panels(), min_size=16, max_size=16))
def test_kernels_agree_with_plain_python(rows: list[Labels]) -> None:
    everything = [Element(CATEGORY, CATEGORY, f"object{v:02}") for v in range(OBJECTS)]
    pool = pool_of([*map(make, rows), everything])
    relation, completes = judge(pool, np.arange(8)[None], np.arange(8, 16)[None])
    expected, candidates = simplest(rows[:8], rows[8:])
    assert relation[0] == (RELATIONS.index(expected) if expected else -1)
    assert {k for k in range(8) if completes[0] >> k & 1} == candidates


def of_counts(context: list[int], candidates: list[int]) -> tuple[str, list[int]]:
    pool = pool_of([[count_element(n)] for n in context + candidates])
    relation, completes = judge(pool, np.arange(8)[None], np.arange(8, 16)[None])
    return RELATIONS[relation[0]], [candidates[k] for k in range(8) if completes[0] >> k & 1]


@pytest.mark.parametrize(
    ("context", "relation", "completing"),
    [
        ([2, 2, 2, 5, 5, 5, 9, 9], "and", [9]),
        ([1, 2, 3, 4, 5, 6, 6, 7], "progression", [8]),
        ([9, 5, 1, 10, 6, 2, 9, 5], "progression", [1]),  # downwards, by four
        ([1, 2, 3, 3, 1, 2, 2, 1], "union", [3]),
        ([1, 2, 2, 5, 3, 5, 8, 9], "or", [8, 9]),  # both complete it: no candidates may show both
        ([1, 2, 3, 1, 2, 3, 1, 2], "progression", [3]),  # simpler than union
        ([1, 2, 3, 3, 5, 7, 1, 2], "or", []),  # the steps differ from row to row
    ],
)
def test_definitions(context: list[int], relation: str, completing: list[int]) -> None:
    if completing:
        assert of_counts(context, [1, 2, 3, 5, 6, 8, 9, 10]) == (relation, completing)
    else:
        pool = pool_of([[count_element(n)] for n in [*context, 1, 2, 3, 5, 6, 8, 9, 10]])
        assert judge(pool, np.arange(8)[None], np.arange(8, 16)[None])[0][0] == -1


def test_another_property_makes_a_matrix_ambiguous() -> None:
    """Colours that happen to agree along every row explain it as simply as the counts do."""
    red = Element(OBJECT, "color", "red")
    rows = [[count_element(n), red] for n in [2, 2, 2, 5, 5, 5, 9, 9]]
    candidates = [[count_element(n)] for n in range(1, 8)] + [[count_element(9), red]]
    pool = pool_of([*rows, *candidates])
    relation, completes = judge(pool, np.arange(8)[None], np.arange(8, 16)[None])
    assert (RELATIONS[relation[0]], int(completes[0])) == ("and", 1 << 7)
    candidates[3] = [count_element(4), red]
    pool = pool_of([*rows, *candidates])
    relation, completes = judge(pool, np.arange(8)[None], np.arange(8, 16)[None])
    assert int(completes[0]) == 1 << 7 | 1 << 3
