"""The rule against ambiguous matrices in plain Python over sets of labels, as the oracle of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product
from typing import Any

Labels = dict[object, set[Any]]  # property -> what a panel is labelled with; counts are under COUNTS
COUNTS = "counts"
RELATIONS = ("and", "progression", "union", "or")


def row_and(rows: Sequence[Sequence[set[Any]]]) -> bool:
    return all(a & b & c for a, b, c in rows)


def row_or(rows: Sequence[Sequence[set[Any]]]) -> bool:
    return all(c & a or c & b for a, b, c in rows)


def row_union(rows: Sequence[Sequence[set[Any]]]) -> bool:
    first, *others = rows
    for three in product(*first):
        if len(set(three)) == 3 and all(
            any(all(e in panel for e, panel in zip(order, row, strict=True)) for order in permutations(three))
            for row in others
        ):
            return True
    return False


def row_progression(rows: Sequence[Sequence[set[Any]]]) -> bool:
    return any(
        all(any(k + step in b and k + 2 * step in c for k in a) for a, b, c in rows) for step in range(-9, 10) if step
    )


HOLDS = {"and": row_and, "progression": row_progression, "union": row_union, "or": row_or}


def simplest(context: Sequence[Labels], candidates: Sequence[Labels]) -> tuple[str | None, set[int]]:
    """The simplest relation that a candidate completes, and the candidates that do."""
    properties = list(context[0])
    for relation in RELATIONS:
        completing = set()
        for name in [COUNTS] if relation == "progression" else properties:
            panels = [panel[name] for panel in context]
            for k, candidate in enumerate(candidates):
                full = [*panels, candidate[name]]
                if HOLDS[relation]([full[0:3], full[3:6], full[6:9]]):
                    completing.add(k)
        if completing:
            return relation, completing
    return None, set()
