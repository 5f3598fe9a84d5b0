"""The inner loops of matching by fours as machine code (numba). Import this module where it is used: it loads numba.

`weights` (n, n) is symmetric with a zero diagonal: what a pair of rows in one block is worth. `block` (n,) is the block
of each row, `members` (blocks, widest) the rows of each block, -1 where it has fewer.
"""

from __future__ import annotations

import numpy as np

from veridical.common.arrays import Doubles, Floats, Ints, Words, compiled

LEAST_GAIN = 1e-5  # of a swap: less is rounding


@compiled
def start(weights: Floats, sizes: Ints, order: Ints) -> Ints:
    """Greedy blocks of these sizes: the next free row of `order` takes the free rows that are worth most with it."""
    rows = len(weights)
    block = np.full(rows, -1, np.int64)
    worth = np.zeros(rows, np.float64)
    seed = 0
    for number in range(len(sizes)):
        while block[order[seed]] >= 0:
            seed += 1
        chosen = order[seed]
        worth[:] = 0
        for place in range(sizes[number]):
            if place > 0:
                best = -np.inf
                for row in range(rows):
                    if block[row] < 0 and worth[row] > best:
                        best = worth[row]
                        chosen = row
            block[chosen] = number
            for row in range(rows):
                worth[row] += weights[chosen, row]
    return block


@compiled
def _draw(state: Words) -> int:
    """A random number below 2^53 (xorshift)."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return int(x >> np.uint64(11))


@compiled
def _gain(weights: Floats, members: Ints, a: int, i: int, b: int, j: int) -> float:
    """What is won if row i of block a and row j of block b change places."""
    total = 0.0
    for place in range(members.shape[1]):
        k = members[b, place]
        if k >= 0 and k != j:
            total += weights[i, k] - weights[j, k]
        k = members[a, place]
        if k >= 0 and k != i:
            total += weights[j, k] - weights[i, k]
    return total


@compiled
def _swap(block: Ints, members: Ints, i: int, j: int) -> None:
    a, b = block[i], block[j]
    for place in range(members.shape[1]):
        if members[a, place] == i:
            members[a, place] = j
        if members[b, place] == j:
            members[b, place] = i
    block[i], block[j] = b, a


@compiled
def anneal(
    weights: Floats, block: Ints, members: Ints, near: Ints, steps: int, hot: float, cold: float, state: Words
) -> int:
    """Swaps of a row with one in the block of a row that it likes, at a falling temperature. Returns how many."""
    rows, width, swaps = len(block), members.shape[1], 0
    ratio = np.log(cold / hot)
    for step in range(steps):
        i = _draw(state) % rows
        b = block[near[i, _draw(state) % near.shape[1]]]
        a = block[i]
        j = members[b, _draw(state) % width]
        if a == b or j < 0:
            continue
        gain = _gain(weights, members, a, i, b, j)
        if gain <= 0:
            heat = hot * np.exp(ratio * step / steps)
            if gain < -40 * heat or _draw(state) * 2.0**-53 >= np.exp(gain / heat):
                continue
        _swap(block, members, i, j)
        swaps += 1
    return swaps


@compiled
def settle(weights: Floats, block: Ints, members: Ints, sums: Doubles, most: int) -> int:
    """Each row in turn makes the swap that wins most, until none wins. Returns the rounds; `sums` is room to work in.

    `sums` (blocks, n): what each row would be worth in each block.
    """
    rows, blocks, width = len(block), len(members), members.shape[1]
    sums[:] = 0
    for b in range(blocks):
        for place in range(width):
            if members[b, place] >= 0:
                for row in range(rows):
                    sums[b, row] += weights[members[b, place], row]
    mine = np.empty(blocks, np.float64)
    own = np.empty(rows, np.float64)  # what each row is worth where it is
    for row in range(rows):
        own[row] = sums[block[row], row]
    for done in range(most):
        swaps = 0
        for i in range(rows):
            a = block[i]
            for b in range(blocks):
                mine[b] = sums[b, i]
            best, partner = LEAST_GAIN, -1
            for j in range(rows):
                gain = mine[block[j]] - own[i] + sums[a, j] - own[j] - 2 * weights[i, j]
                if gain > best and block[j] != a:
                    best = gain
                    partner = j
            if partner < 0:
                continue
            b = block[partner]
            _swap(block, members, i, partner)
            for row in range(rows):
                change = weights[partner, row] - weights[i, row]
                sums[a, row] += change
                sums[b, row] -= change
            for place in range(width):
                if members[a, place] >= 0:
                    own[members[a, place]] = sums[a, members[a, place]]
                if members[b, place] >= 0:
                    own[members[b, place]] = sums[b, members[b, place]]
            swaps += 1
        if swaps == 0:
            return done + 1
    return most


@compiled
def worth(weights: Floats, members: Ints) -> Doubles:
    """(blocks,) the sum over the pairs of each block."""
    out = np.zeros(len(members), np.float64)
    for b in range(len(members)):
        for one in range(members.shape[1]):
            for other in range(one):
                if members[b, one] >= 0 and members[b, other] >= 0:
                    out[b] += weights[members[b, one], members[b, other]]
    return out


@compiled
def exchanged(odds: Floats, share: np.float32, out: Floats) -> None:
    """Take K, `share` times, from both halves of `out`: see `weights`."""
    for i in range(len(odds)):
        for j in range(i):
            x = 0.5 * (odds[i, j] + odds[j, i] - odds[i, i] - odds[j, j])
            told = share / (np.float32(1) + np.exp(x))
            out[i, j] -= told
            out[j, i] -= told


@compiled
def fold_over(table: Floats) -> None:
    """Make a square table the sum of itself and its transpose, in place."""
    for i in range(len(table)):
        for j in range(i + 1):
            both = table[i, j] + table[j, i]
            table[i, j] = both
            table[j, i] = both
