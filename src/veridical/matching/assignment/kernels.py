"""The inner loops of matching as machine code (numba). Import this module where it is used: it loads the compiler.

Rows are queries, columns lots of responses. What belongs together comes as a named tuple of arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veridical.common.arrays import Doubles, Floats, Ints, compiled
from veridical.matching.assignment.auction import Market
from veridical.matching.assignment.problem import Rules

STEP = 64  # columns that share a threshold


@compiled
def allowed(rules: Rules, row: int, lot: int) -> bool:
    """Whether a lot may go to a row: no text twice, and everything that it names is there."""
    for k in range(rules.taken.shape[1]):
        if rules.taken[row, k] == rules.texts[lot]:
            return False
    fits = True
    for k in range(rules.needs.shape[1]):
        fits = fits and (rules.needs[lot, k] & rules.lacks[row, k]) == 0
    return fits


@compiled
def settle(indptr: Ints, lots: Ints, values: Doubles, market: Market, epsilon: float) -> int:
    """Every copy now costs what the cheapest does; who is no longer content within epsilon waits. Returns how many."""
    first, prices, held, costs, holders, queue = market
    rows, waiting = len(held), 0
    for row in range(rows):
        best, mine = -np.inf, -np.inf
        for edge in range(indptr[row], indptr[row + 1]):
            profit = values[edge] - prices[lots[edge]]
            best = max(best, profit)
            if lots[edge] == held[row]:
                mine = profit
        if mine < best - epsilon:
            held[row] = -1
            queue[waiting] = row
            waiting += 1
    ends = first[1:].copy()  # holders fill a lot's slots from the end, so that free copies are the first to go
    for slot in range(len(holders)):
        holders[slot] = -1
    for row in range(rows):
        if held[row] >= 0:
            ends[held[row]] -= 1
            holders[ends[held[row]]] = row
    for lot in range(len(prices)):
        for slot in range(first[lot], first[lot + 1]):
            costs[slot] = prices[lot]
    return waiting


@compiled
def bid(indptr: Ints, lots: Ints, values: Doubles, market: Market, waiting: int, epsilon: float) -> int:
    """Let those who wait bid, and those they displace, until nobody waits. Returns the number of bids."""
    first, prices, held, costs, holders, queue = market
    size, head, bids = len(queue), 0, 0
    tail = waiting % size
    while head != tail:
        row = queue[head]
        head = (head + 1) % size
        bids += 1
        best, second, wanted = -np.inf, -np.inf, -1
        for edge in range(indptr[row], indptr[row + 1]):
            profit = values[edge] - prices[lots[edge]]
            if profit > best:
                second = best
                best = profit
                wanted = lots[edge]
            elif profit > second:
                second = profit
        start, stop = first[wanted], first[wanted + 1]
        loser = holders[start]
        raised = epsilon
        if second > -np.inf:
            raised += best - second
        price = costs[start] + raised
        slot = start  # the cheapest copy gets its new price and sinks to its place in the heap
        while True:
            child = start + 2 * (slot - start) + 1
            if child >= stop:
                break
            if child + 1 < stop and (
                costs[child + 1] < costs[child]
                or (costs[child + 1] == costs[child] and holders[child + 1] < 0 and holders[child] >= 0)
            ):
                child += 1
            if costs[child] > price or (costs[child] == price and holders[child] >= 0):
                break
            costs[slot] = costs[child]
            holders[slot] = holders[child]
            slot = child
        costs[slot] = price
        holders[slot] = row
        prices[wanted] = costs[start]
        held[row] = wanted
        if loser >= 0:
            held[loser] = -1
            queue[tail] = loser
            tail = (tail + 1) % size
    return bids


@compiled
def _shift(held: Ints, first: Ints, used: Ints, holders: Ints, origin: Ints, goal: int) -> None:
    """Along a path that ends at `goal`, each query leaves its lot for the next one."""
    while goal >= 0:
        row, before = origin[goal], held[origin[goal]]
        for slot in range(first[goal], first[goal] + used[goal]):
            if holders[slot] == -1:
                holders[slot] = row
                break
        held[row] = goal
        if before >= 0:
            for slot in range(first[before], first[before] + used[before]):
                if holders[slot] == row:
                    holders[slot] = -1
                    break
        goal = before


@compiled
def augment(held: Ints, first: Ints, rules: Rules, holders: Ints) -> Ints:
    """Breadth-first augmenting paths; the pairs that are allowed are tested, never listed."""
    number, size = len(first) - 1, len(held)
    used = np.zeros(number, np.int64)  # copies of each lot that are held; its holders are in its first slots
    for row in range(size):
        if held[row] >= 0:
            holders[first[held[row]] + used[held[row]]] = row
            used[held[row]] += 1
    origin = np.empty(number, np.int64)  # the query from which a lot was reached
    queue, unseen = np.empty(size, np.int64), np.empty(number, np.int64)
    dead = np.zeros(number, np.bool_)  # reached from a query that nothing can serve: no way leads on from there
    for start in range(size):
        if held[start] >= 0:
            continue
        count = 0
        for lot in range(number):  # lots with a free copy first: most paths are one step long
            if used[lot] < first[lot + 1] - first[lot]:
                unseen[count] = lot
                count += 1
        for lot in range(number):
            if used[lot] == first[lot + 1] - first[lot] and not dead[lot]:
                unseen[count] = lot
                count += 1
        for lot in range(number):
            origin[lot] = -1
        head, tail, goal = 0, 1, -1
        queue[0] = start
        while head < tail and goal < 0:
            row = queue[head]
            head += 1
            kept = 0
            for index in range(count):
                lot = unseen[index]
                if not allowed(rules, row, lot):
                    unseen[kept] = lot
                    kept += 1
                    continue
                origin[lot] = row
                if used[lot] < first[lot + 1] - first[lot]:
                    goal = lot
                    break
                for slot in range(first[lot], first[lot] + used[lot]):
                    queue[tail] = holders[slot]
                    tail += 1
            count = kept
        if goal < 0:
            for lot in range(number):
                dead[lot] = dead[lot] or origin[lot] >= 0
            continue
        holders[first[goal] + used[goal]] = -1
        used[goal] += 1
        _shift(held, first, used, holders, origin, goal)
    return np.flatnonzero(used < first[1:] - first[:-1])


def _pairs(left: Floats, right: Floats, rows: Ints, columns: Ints, slope: float, intercept: float) -> Floats:
    """log sigmoid of the logit of each pair."""
    out = np.empty(len(rows), np.float32)
    for n in range(len(rows)):
        a, b = left[rows[n]], right[columns[n]]
        total = np.float32(0.0)
        for d in range(len(a)):
            total += a[d] * b[d]
        logit = slope * np.float64(total) + intercept
        out[n] = min(logit, 0.0) - np.log1p(np.exp(-abs(logit)))
    return out


pairs = compiled(_pairs, fastmath={"reassoc", "contract"})


@compiled
def _rise(heap: Doubles, lots: NDArray[np.int32], scores: Floats, slot: int, value: float) -> int:
    """The place of a value in a heap that grows by one slot, which is made free."""
    while slot > 0 and heap[(slot - 1) // 2] > value:
        above = (slot - 1) // 2
        heap[slot], lots[slot], scores[slot] = heap[above], lots[above], scores[above]
        slot = above
    return slot


@compiled
def _sink(heap: Doubles, lots: NDArray[np.int32], scores: Floats, value: float) -> int:
    """The place of a value in a full heap whose root leaves it."""
    slot = 0
    while 2 * slot + 1 < len(heap):
        child = 2 * slot + 1
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[slot], lots[slot], scores[slot] = heap[child], lots[child], scores[child]
        slot = child
    return slot


@compiled
def top_rows(
    block: Floats,
    slope: float,
    intercept: float,
    order: Ints,
    prices: Doubles,
    rules: Rules,
    best: NDArray[np.int32],
    scores: Floats,
    bounds: Doubles,
) -> None:
    """For each row the allowed lots with the highest log P_rel - price, in a heap whose root is the lowest of them.

    `bounds` becomes what no other allowed lot exceeds. Columns are lots in `order` of rising prices.
    """
    size = best.shape[1]
    heap = np.empty(size, np.float64)
    for row in range(len(block)):
        count = 0
        for start in range(0, block.shape[1], STEP):
            low = np.float32(-np.inf)
            if count == size:
                level = heap[0] + prices[start]
                if slope > 0:
                    if level >= 0:
                        break
                    level = (-np.log(np.expm1(-level)) - intercept) / slope
                low = np.float32(level)
            for column in range(start, min(start + STEP, block.shape[1])):
                x = block[row, column]
                if not x > low:
                    continue
                relevance = np.float64(x)
                if slope > 0:
                    logit = slope * relevance + intercept
                    relevance = min(logit, 0.0) - np.log1p(np.exp(-abs(logit)))
                value = relevance - prices[column]
                if count == size and value <= heap[0]:
                    continue
                lot = order[column]
                if not allowed(rules, row, lot):
                    continue
                if count < size:
                    slot = _rise(heap, best[row], scores[row], count, value)
                    count += 1
                else:
                    slot = _sink(heap, best[row], scores[row], value)
                heap[slot], best[row, slot], scores[row, slot] = value, lot, relevance
        bounds[row] = heap[0] + 1e-6 * (1.0 + abs(heap[0])) if count == size else -np.inf
        for slot in range(count, size):
            best[row, slot] = -1


@compiled
def top_columns(
    block: Floats, low: int, high: int, rows: Ints, rules: Rules, best: NDArray[np.int32], scores: Floats
) -> None:
    """For each column from low to high the allowed rows with the highest numbers, in order, over all blocks so far."""
    last = best.shape[1] - 1
    for row in range(len(block)):
        for column in range(low, high):
            value = block[row, column]
            if not value > scores[column, last]:
                continue
            if not allowed(rules, row, column):
                continue
            slot = last
            while slot > 0 and scores[column, slot - 1] < value:
                scores[column, slot] = scores[column, slot - 1]
                best[column, slot] = best[column, slot - 1]
                slot -= 1
            scores[column, slot] = value
            best[column, slot] = rows[row]


@compiled
def exceed(
    block: Floats,
    slope: float,
    intercept: float,
    order: Ints,
    prices: Doubles,
    profits: Doubles,
    rules: Rules,
    found: Ints,
) -> tuple[int, int]:
    """List the allowed (row, lot) whose bound exceeds price + profit. Returns their number and the rows done.

    Columns are lots in `order` of rising prices, so the first price of 64 gives a threshold low enough for all.
    """
    count = 0
    for row in range(len(block)):
        if count + block.shape[1] > len(found) and row > 0:
            return count, row
        for start in range(0, block.shape[1], STEP):
            stop = min(start + STEP, block.shape[1])
            level = profits[row] + prices[start]
            if slope > 0:
                if level >= 0:
                    break  # no logarithm of a probability is that high, here or further on
                level = (-np.log(np.expm1(-level)) - intercept) / slope  # the x where log sigmoid is that high
            low = np.float32(level) - np.float32(1e-6) * abs(np.float32(level))
            hits = 0
            for column in range(start, stop):
                hits += block[row, column] > low
            if hits == 0:
                continue
            for column in range(start, stop):
                if not block[row, column] > low:
                    continue
                lot = order[column]
                if allowed(rules, row, lot):
                    found[count, 0] = row
                    found[count, 1] = lot
                    count += 1
    return count, len(block)


@compiled
def listed(best: NDArray[np.int32], scores: Floats, prices: Doubles, profits: Doubles, found: Ints) -> tuple[int, int]:
    """Pairs on the rows' lists whose log P_rel exceeds price + profit: their number, and the rows done."""
    count = 0
    for row in range(len(best)):
        if count + best.shape[1] > len(found):
            return count, row
        for slot in range(best.shape[1]):
            lot = best[row, slot]
            if lot >= 0 and scores[row, slot] - prices[lot] > profits[row]:
                found[count, 0] = row
                found[count, 1] = lot
                count += 1
    return count, len(best)
