"""Kernels that draw matrices: eight distinct elements for the candidates, one of them the answer, then the context.

The candidates are drawn first and the answer is any of them, so that nothing about a candidate set tells its answer.
The context shows elements of the distractors where it can, so that having been seen before tells nothing either.
Randomness is a 64-bit state that the caller seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.build.vprom._jit import compiled

AND, PROGRESSION, UNION, OR = 0, 1, 2, 3  # places in elements.RELATIONS
PANELS = CANDIDATES = 8
CAP = 4  # candidates of one super-attribute, while others have some
CLASHES = 30  # tries for a crop of a photograph that the matrix does not show yet
STEPS = 4  # the longest step of a progression


@compiled
def below(state: Any, n: int) -> int:
    """A random number from 0 to n - 1 (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((z ^ (z >> np.uint64(31))) >> np.uint64(32)) * n >> 32


@compiled
def shuffle(state: Any, values: Any, size: int) -> None:
    for k in range(size - 1, 0, -1):
        other = below(state, k + 1)
        values[k], values[other] = values[other], values[k]


@compiled
def draw_candidates(
    state: Any, starts: Any, members: Any, low: int, high: int, spare: int, fill: Any, chosen: Any, group: Any
) -> int:
    """Eight distinct elements into `chosen`, their groups beside (-1: may not be the answer). How many may be it.

    `spare` elements of each group are kept out. Super-attributes take turns with at most CAP elements, then without a
    limit; only then others of the kind fill up.
    """
    order = np.arange(low, high)
    shuffle(state, order, len(order))
    mixed = members.copy()
    taken = np.zeros(len(order), np.int64)
    count = 0
    for limit in (CAP if len(order) > 1 else CANDIDATES, CANDIDATES):
        for place in range(len(order)):
            own = mixed[starts[order[place]] : starts[order[place] + 1]]
            if taken[place] == 0:
                shuffle(state, own, len(own))
            while taken[place] < min(limit, len(own) - spare) and count < CANDIDATES:
                chosen[count], group[count] = own[taken[place]], order[place]
                taken[place] += 1
                count += 1
    answers = count
    more = fill.copy()
    shuffle(state, more, len(more))
    for k in range(min(CANDIDATES - count, len(more))):
        chosen[count], group[count] = more[k], -1
        count += 1
    return answers if count == CANDIDATES else 0


@compiled
def draw_others(state: Any, own: Any, chosen: Any, group: Any, answer: int, out: Any) -> tuple[int, int]:
    """The other elements of the answer's group into `out`: first those of distractors. (How many of them, how many.)"""
    near = 0
    for k in range(CANDIDATES):
        if k != answer and group[k] == group[answer]:
            out[near] = chosen[k]
            near += 1
    shuffle(state, out, near)
    size = near
    for element in own:
        known = False
        for k in range(CANDIDATES):
            known |= chosen[k] == element
        if not known:
            out[size] = element
            size += 1
    shuffle(state, out[near:size], size - near)
    return near, size


@compiled
def arrange(state: Any, relation: int, e: int, others: Any, near: int, size: int, out: Any) -> bool:
    """The elements of the eight context panels into `out`, for the answer `e`."""
    if relation == AND:
        for row in range(2):
            out[3 * row : 3 * row + 3] = others[min(row, size - 1)]
        out[6:8] = e
    elif relation == UNION:
        three = np.array([e, others[0], others[1]])
        for row in range(2):
            shuffle(state, three, 3)
            out[3 * row : 3 * row + 3] = three
        turn = below(state, 2)
        out[6], out[7] = others[turn], others[1 - turn]
    else:  # OR
        if near == size:
            return False
        beside = others[near]  # the other element of the last row, which is no candidate
        rows = np.array([others[0], others[1 % size], others[2 % size], others[3 % size]])
        if size == 1:
            rows[0], rows[1], rows[2], rows[3] = e, beside, beside, e
        for row in range(2):
            turn = below(state, 2)
            out[3 * row], out[3 * row + 1] = rows[2 * row + turn], rows[2 * row + 1 - turn]
            out[3 * row + 2] = out[3 * row + below(state, 2)]
        turn = below(state, 2)
        out[6 + turn], out[7 - turn] = e, beside
    return True


@compiled
def arrange_steps(state: Any, count_of: Any, own: Any, e: int, out: Any) -> bool:
    """The elements of a progression that ends in `e`: one step other than zero, the same in all rows."""
    element = np.full(12, -1, np.int64)  # count -> element
    for k in own:
        element[count_of[k]] = k
    steps, number = np.zeros(2 * STEPS, np.int64), 0
    last = count_of[e]
    for step in range(-STEPS, STEPS + 1):
        first = last - 2 * step
        if step != 0 and 1 <= first <= 10 and element[first] >= 0 and element[last - step] >= 0:
            steps[number] = step
            number += 1
    if number == 0:
        return False
    step = steps[below(state, number)]
    ends, size = np.zeros(10, np.int64), 0
    for end in range(1, 11):
        first = end - 2 * step
        inside = end != last and 1 <= first <= 10
        if inside and element[end] >= 0 and element[first] >= 0 and element[end - step] >= 0:
            ends[size] = end
            size += 1
    if size == 0:
        ends[0], size = last, 1
    shuffle(state, ends, size)
    for row in range(2):
        for j in range(3):
            out[3 * row + j] = element[ends[min(row, size - 1)] - (2 - j) * step]
    out[6], out[7] = element[last - 2 * step], element[last - step]
    return True


@compiled
def draw_crops(state: Any, starts: Any, crops: Any, photograph: Any, elements: Any, out: Any) -> bool:
    """A crop for each element, no photograph twice."""
    for k in range(len(elements)):
        low, size = starts[elements[k]], starts[elements[k] + 1] - starts[elements[k]]
        for _ in range(CLASHES):
            out[k] = crops[low + below(state, size)]
            clash = False
            for j in range(k):
                clash |= photograph[out[j]] == photograph[out[k]]
            if not clash:
                break
        else:
            return False
    return True


@compiled
def draw_one(
    state: Any, deck: Any, photograph: Any, count_of: Any, cell: int, place: int, shown: Any, drawn: Any
) -> bool:
    """One draw: the crops of the context and the candidates into `drawn`, their elements into `shown` (16 each)."""
    crop_starts, crops, group_starts, members, cell_groups, fill_starts, fills, relations = deck
    relation = relations[cell]
    chosen, group = np.empty(CANDIDATES, np.int64), np.empty(CANDIDATES, np.int64)
    fill = fills[fill_starts[cell] : fill_starts[cell + 1]]
    low, high, spare = cell_groups[cell], cell_groups[cell + 1], 1 if relation == OR else 0
    answers = draw_candidates(state, group_starts, members, low, high, spare, fill, chosen, group)
    if answers == 0:
        return False
    answer = below(state, answers)
    e = chosen[answer]
    own = members[group_starts[group[answer]] : group_starts[group[answer] + 1]]
    if relation == PROGRESSION:
        if not arrange_steps(state, count_of, own, e, shown):
            return False
    else:
        others = np.empty(len(own) + CANDIDATES, np.int64)
        near, size = draw_others(state, own, chosen, group, answer, others)
        if not arrange(state, relation, e, others, near, size, shown):
            return False
    chosen[answer] = chosen[0]
    shuffle(state, chosen[1:], CANDIDATES - 1)
    shown[PANELS:] = chosen
    shown[PANELS], shown[PANELS + place] = shown[PANELS + place], e
    return draw_crops(state, crop_starts, crops, photograph, shown, drawn)


@compiled
def draw(
    state: Any, deck: Any, photograph: Any, count_of: Any, cells: Any, places: Any, shown: Any, drawn: Any, whole: Any
) -> None:
    """Draw each matrix of a plan once; `whole` (N,) says which could be."""
    for n in range(len(cells)):
        whole[n] = draw_one(state, deck, photograph, count_of, cells[n], places[n], shown[n], drawn[n])
