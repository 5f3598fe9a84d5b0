"""Kernels: which candidates complete a matrix under each relation, over the bits of one property.

A panel is a row of `bits`; `low` and `high` bound the words of one property, the last of which is the counts. A set of
candidates is a number, bit k for candidate k. Every function answers 0 where the relation does not explain the first
two rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.common.arrays import compiled

AND, PROGRESSION, UNION, OR, NONE = 0, 1, 2, 3, -1  # places in elements.RELATIONS
LONGEST_STEP = 4  # 1, 5, 9


@compiled
def simplest(bits: Any, spans: Any, context: Any, candidates: Any) -> tuple[int, int]:
    """The simplest relation that a candidate completes, and the candidates that do."""
    found = 0
    for p in range(len(spans) - 1):
        found |= shared(bits, spans[p], spans[p + 1], context, candidates, False)
    if found:
        return AND, found
    found = progression(bits, spans[-2], context, candidates)
    if found:
        return PROGRESSION, found
    for p in range(len(spans) - 1):
        found |= union(bits, spans[p], spans[p + 1], context, candidates)
    if found:
        return UNION, found
    for p in range(len(spans) - 1):
        found |= shared(bits, spans[p], spans[p + 1], context, candidates, True)
    return (OR, found) if found else (NONE, 0)


@compiled
def shared(bits: Any, low: int, high: int, context: Any, candidates: Any, either: bool) -> int:
    """And: the three panels of a row share a label. Or (`either`): the third has one of the first or of the second."""
    out = 0
    for row in range(0, 9, 3):
        same = False
        for w in range(low, high):
            first, second = bits[context[row], w], bits[context[row + 1], w]
            both = first | second if either else first & second
            if row < 6:
                same |= (both & bits[context[row + 2], w]) != 0
            else:
                for k in range(len(candidates)):
                    if both & bits[candidates[k], w]:
                        out |= 1 << k
        if row < 6 and not same:
            return 0
    return out


@compiled
def _steps(first: Any, second: Any, third: Any, step: int) -> Any:
    """Whether the counts of three panels can follow each other by a step."""
    by = np.uint64(abs(step))
    if step > 0:
        return (first & (second >> by) & (third >> (by + by))) != 0
    return ((first >> (by + by)) & (second >> by) & third) != 0


@compiled
def progression(bits: Any, word: int, context: Any, candidates: Any) -> int:
    """The counts of every row go up, or down, by the same step."""
    out = 0
    for step in range(-LONGEST_STEP, LONGEST_STEP + 1):
        if step == 0:
            continue
        explains = True
        for row in range(0, 6, 3):
            a, b, c = bits[context[row], word], bits[context[row + 1], word], bits[context[row + 2], word]
            explains &= _steps(a, b, c, step)
        if explains:
            for k in range(len(candidates)):
                if _steps(bits[context[6], word], bits[context[7], word], bits[candidates[k], word], step):
                    out |= 1 << k
    return out


@compiled
def has(bits: Any, panel: int, place: int) -> Any:
    """Whether a panel has a label, by the place of its bit."""
    return (bits[panel, place >> 6] >> np.uint64(place & 63)) & np.uint64(1) != 0


@compiled
def _spells(bits: Any, row: Any, x: int, y: int, z: int) -> bool:
    """Whether three panels can show three elements, one each, in some order."""
    a, b, c = row[0], row[1], row[2]
    for _ in range(3):
        x, y, z = y, z, x
        if has(bits, a, x) and ((has(bits, b, y) and has(bits, c, z)) or (has(bits, b, z) and has(bits, c, y))):
            return True
    return False


@compiled
def _labels(bits: Any, panel: int, low: int, high: int, row: Any, out: Any) -> int:
    """Write the labels that a panel shares with some panel of a row; say how many."""
    count = 0
    for w in range(low, high):
        word = bits[panel, w] & (bits[row[0], w] | bits[row[1], w] | bits[row[2], w])
        place = 0
        while word:
            if word & np.uint64(1):
                out[count] = w * 64 + place
                count += 1
            word >>= np.uint64(1)
            place += 1
    return count


@compiled
def union(bits: Any, low: int, high: int, context: Any, candidates: Any) -> int:
    """All rows show the same three different elements, in any order."""
    second = context[3:6]
    labels = np.empty((3, 64 * (high - low)), np.int64)
    sizes = np.zeros(3, np.int64)
    for j in range(3):
        sizes[j] = _labels(bits, context[j], low, high, second, labels[j])
        if sizes[j] == 0:
            return 0
    out = 0
    last = np.empty(3, context.dtype)
    last[:2] = context[6:8]
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            for k in range(sizes[2]):
                x, y, z = labels[0, i], labels[1, j], labels[2, k]
                if x != y and y != z and x != z and _spells(bits, second, x, y, z):
                    for c in range(len(candidates)):
                        last[2] = candidates[c]
                        if _spells(bits, last, x, y, z):
                            out |= 1 << c
    return out


@compiled
def judge(bits: Any, spans: Any, panels: Any, candidates: Any, relation: Any, completes: Any) -> None:
    """`simplest` of many matrices."""
    for n in range(len(panels)):
        relation[n], completes[n] = simplest(bits, spans, panels[n], candidates[n])
