"""Which responses the questions of a block show: all of them, or as many as there are choices.

A block of as many rows as there are choices shows all its responses at each of its questions. In a larger one the rows
stand in a circle, in an order that is drawn, and each question leaves out the responses at the same steps from it, also
drawn: a response is still right once and wrong as often as any other, and who sees the choices alone of all questions
of a block finds every choice of a question equally likely to be right.
"""

from __future__ import annotations

import numpy as np

from veridical.common.arrays import Ints


def block_sizes(rows: int, choices: int) -> Ints:
    """The sizes of the blocks of so many rows: `choices`, and one more (or as many as it takes) where rows are left.

    >>> block_sizes(14, 4).tolist(), block_sizes(7, 4).tolist()
    ([5, 5, 4], [7])
    """
    number = rows // choices
    return rows // number + (np.arange(number) < rows % number).astype(np.int64)


def wrong_of(block: Ints, wrong: int, rng: np.random.Generator) -> Ints:
    """(wrong, N) the rows whose responses are the wrong choices of each row; `block` (N,) numbers the blocks from 0."""
    out = np.empty((wrong, len(block)), np.int64)
    order = rng.permutation(len(block))
    order = order[np.argsort(block[order], kind="stable")]  # blocks one after the other, each in an order of its own
    for rows in np.split(order, np.cumsum(np.bincount(block))[:-1]):
        out[:, rows] = around(rows, rng.permutation(len(rows) - 1)[:wrong] + 1)
    return out


def around(circle: Ints, steps: Ints) -> Ints:
    """(steps, n) the rows that are so many steps further on from each row of a circle.

    >>> around(np.array([7, 8, 9]), np.array([1, 2])).tolist()
    [[8, 9, 7], [9, 7, 8]]
    """
    return np.stack([np.roll(circle, -int(step)) for step in steps])
