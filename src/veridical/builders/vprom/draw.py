"""Kernels that draw matrices: eight distinct elements for the candidates, one of them the answer, then the context.

The candidates are drawn first, crops and all, so that what each was drawn for is seen in no other; then the answer is
any of them, and only the context is drawn again until the matrix is unambiguous. So nothing about a candidate set tells
its answer, not even which candidate is the odd one out. The context shows elements of the distractors where it can, so
that having been seen before tells nothing either. Randomness is a 64-bit state that the caller seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.builders.vprom.explain import AND, LONGEST_STEP, NONE, OR, PROGRESSION, UNION, has
from veridical.common.arrays import compiled

PANELS = CANDIDATES = 8
CAP = 4  # candidates of one super-attribute that has no eight, while others have some
CLASHES = 60  # tries for a crop that goes with the others: another photograph, nothing that another was drawn for
PATIENCE = 50  # candidate sets of which not all can be the answer, before one fewer will do


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
    state: Any, starts: Any, members: Any, spare: Any, groups: Any, last: int, fill: Any, chosen: Any, group: Any
) -> int:
    """Eight distinct elements into `chosen`, their groups beside (NONE: may not be the answer). How many may be it.

    A group drawn by lot gives all eight where it has them. Otherwise groups take turns, it first, with at most CAP
    elements, then without a limit, and keep `spare` each; only then others of the type fill up. `members` is shuffled;
    the `last` elements (0 or 1) of each group are no candidates.
    """
    order = np.arange(groups[0], groups[1])
    shuffle(state, order, len(order))
    for g in order:
        shuffle(state, members[starts[g] : starts[g + 1]], starts[g + 1] - starts[g])
    first = order[0]
    if starts[first + 1] - starts[first] - last >= CANDIDATES:
        chosen[:], group[:] = members[starts[first] : starts[first] + CANDIDATES], first
        return CANDIDATES
    taken = np.zeros(len(order), np.int64)
    count = 0
    for limit in (CAP, CANDIDATES):
        for place in range(len(order)):
            g = order[place]
            most = min(limit, starts[g + 1] - starts[g] - spare[g])
            while taken[place] < most and count < CANDIDATES:
                chosen[count], group[count] = members[starts[g] + taken[place]], g
                taken[place] += 1
                count += 1
    answers = count
    more = fill.copy()
    shuffle(state, more, len(more))
    for k in range(min(CANDIDATES - count, len(more))):
        chosen[count], group[count] = more[k], NONE
        count += 1
    return answers if count == CANDIDATES else 0


@compiled
def clashes(bits: Any, places: Any, crop: int, own: int, unseen: Any) -> int:
    """How many elements a crop shows that only another candidate should, or none."""
    found = 0
    for k in range(len(unseen)):
        for e in unseen[k]:
            found += e != NONE and e != own and has(bits, crop, places[e])
    return found


@compiled
def draw_choices(state: Any, deck: Any, pool: Any, chosen: Any, unseen: Any, out: Any) -> bool:
    """A crop for each candidate, no photograph twice, that shows as little as can be of what `unseen` has.

    `unseen` (8, 2) is, of each candidate that may be the answer, its element, which no other shows, and the other
    element of the last row of an Or, which none shows.
    """
    bits, places, photograph = pool
    for k in range(CANDIDATES):
        low, size = deck[0][chosen[k]], deck[0][chosen[k] + 1] - deck[0][chosen[k]]
        best, fewest = NONE, 2 * CANDIDATES + 1
        for _ in range(CLASHES):
            crop = deck[1][low + below(state, size)]
            twice = False
            for j in range(k):
                twice |= photograph[out[j]] == photograph[crop]
            number = fewest if twice else clashes(bits, places, crop, chosen[k], unseen)
            if number < fewest:
                best, fewest = crop, number
            if fewest == 0:
                break
        if best == NONE:
            return False
        out[k] = best
    return True


@compiled
def odd_ones(bits: Any, places: Any, chosen: Any, unseen: Any, crops: Any, out: Any) -> int:
    """The candidates that can be the answer to an unambiguous matrix into `out`, since what they would be it by is
    seen in no other; how many."""
    count = 0
    for k in range(CANDIDATES):
        alone = unseen[k, 0] != NONE
        for j in range(CANDIDATES):
            alone &= j == k or clashes(bits, places, crops[j], chosen[j], unseen[k : k + 1]) == 0
        if alone:
            out[count] = k
            count += 1
    return count


@compiled
def draw_set(
    state: Any, deck: Any, pool: Any, cell: int, place: int, failed: int, shown: Any, drawn: Any, about: Any
) -> bool:
    """A candidate set with its answer at `place`: elements and crops into the last eight of `shown` and `drawn`.

    Into `about`, the answer's group and the other element of the last row of an Or. All candidates that may be the
    answer can be it; one fewer after PATIENCE sets that `failed`, for crops that show much.
    """
    _, _, group_starts, _, spare, cell_groups, fill_starts, fills, relations = deck
    chosen, group = np.empty(CANDIDATES, np.int64), np.empty(CANDIDATES, np.int64)
    crops, able = np.empty(CANDIDATES, np.int32), np.empty(CANDIDATES, np.int64)
    last = 1 if relations[cell] == OR else 0
    fill = fills[fill_starts[cell] : fill_starts[cell + 1]]
    members = deck[3].copy()
    groups = cell_groups[cell : cell + 2]
    answers = draw_candidates(state, group_starts, members, spare, groups, last, fill, chosen, group)
    unseen = np.full((CANDIDATES, 2), NONE, np.int64)
    for k in range(answers):
        unseen[k, 0] = chosen[k]
        if last:
            unseen[k, 1] = members[group_starts[group[k] + 1] - 1]
    if answers == 0 or not draw_choices(state, deck, pool, chosen, unseen, crops):
        return False
    number = odd_ones(pool[0], pool[1], chosen, unseen, crops, able)
    if number < max(1, answers - failed // PATIENCE):
        return False
    order = np.arange(CANDIDATES)
    answer = able[below(state, number)]
    about[0], about[1] = group[answer], unseen[answer, 1]
    order[0], order[answer] = answer, 0
    shuffle(state, order[1:], CANDIDATES - 1)
    order[0], order[place] = order[place], order[0]
    shown[PANELS:], drawn[PANELS:] = chosen[order], crops[order]
    return True


@compiled
def draw_others(state: Any, own: Any, choices: Any, e: int, out: Any) -> int:
    """The other elements of the answer's group into `out`, first those of distractors; how many."""
    near, size = 0, len(own) - 1
    far = size
    for element in own:
        if element == e:
            continue
        known = False
        for choice in choices:
            known |= choice == element
        if known:
            out[near] = element
            near += 1
        else:
            far -= 1
            out[far] = element
    shuffle(state, out, near)
    shuffle(state, out[near:size], size - near)
    return size


@compiled
def arrange(state: Any, relation: int, e: int, beside: int, others: Any, size: int, out: Any) -> None:
    """The elements of the eight context panels into `out`, for the answer `e`; `beside` it in the last row of an Or."""
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
        rows = np.array([others[0], others[1 % size], others[2 % size], others[3 % size]])
        if size == 1:
            rows[0], rows[1], rows[2], rows[3] = e, beside, beside, e
        for row in range(2):
            turn = below(state, 2)
            out[3 * row], out[3 * row + 1] = rows[2 * row + turn], rows[2 * row + 1 - turn]
            out[3 * row + 2] = out[3 * row + below(state, 2)]
        turn = below(state, 2)
        out[6 + turn], out[7 - turn] = e, beside


@compiled
def arrange_steps(state: Any, count_of: Any, own: Any, e: int, out: Any) -> bool:
    """The elements of a progression that ends in `e`: one step other than zero, the same in all rows."""
    element = np.full(12, -1, np.int64)  # count -> element
    for k in own:
        element[count_of[k]] = k
    steps, number = np.zeros(2 * LONGEST_STEP, np.int64), 0
    last = count_of[e]
    for step in range(-LONGEST_STEP, LONGEST_STEP + 1):
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
    """A crop for each panel of the context, no photograph twice, nor one of the candidates'."""
    for k in range(PANELS):
        low, size = starts[elements[k]], starts[elements[k] + 1] - starts[elements[k]]
        for _ in range(CLASHES):
            out[k] = crops[low + below(state, size)]
            clash = False
            for j in range(PANELS + CANDIDATES):
                clash |= (j < k or j >= PANELS) and photograph[out[j]] == photograph[out[k]]
            if not clash:
                break
        else:
            return False
    return True


@compiled
def draw_context(
    state: Any, deck: Any, pool: Any, count_of: Any, cell: int, place: int, shown: Any, drawn: Any, about: Any
) -> bool:
    """The elements and crops of the context into the first eight of `shown` and `drawn`."""
    relation, e = deck[-1][cell], shown[PANELS + place]
    own = deck[3][deck[2][about[0]] : deck[2][about[0] + 1]]
    if relation == PROGRESSION:
        if not arrange_steps(state, count_of, own, e, shown):
            return False
    else:
        others = np.empty(len(own), np.int64)
        size = draw_others(state, own, shown[PANELS:], e, others)
        arrange(state, relation, e, about[1], others, size, shown)
    return draw_crops(state, deck[0], deck[1], pool[2], shown, drawn)


@compiled
def draw(
    state: Any, deck: Any, pool: Any, count_of: Any, cells: Any, places: Any, rows: Any, fresh: Any, arrays: Any
) -> None:
    """Draw some `rows` of a plan once: the context, and the candidates where they are to be `fresh` (then no longer).

    `arrays`: elements and crops (16 each), what the answer is about (2), how many candidate sets failed, and whether a
    matrix could be drawn.
    """
    shown, drawn, about, failed, whole = arrays
    for n in rows:
        if fresh[n]:
            fresh[n] = not draw_set(state, deck, pool, cells[n], places[n], failed[n], shown[n], drawn[n], about[n])
            failed[n] += fresh[n]
        whole[n] = not fresh[n] and draw_context(
            state, deck, pool, count_of, cells[n], places[n], shown[n], drawn[n], about[n]
        )
