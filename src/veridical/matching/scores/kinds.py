"""Relevance at the resolution of kinds of questions, so that the four choices do not give the right one away.

A P_rel of single pairs finds wrong choices that are more relevant than the right one, or all alike: a reader of the
four choices then takes the odd one out: 37 to 39% right on NExT-OE (lambda 1 and 0.1), where chance is 25%.
If instead P_rel only knows the kind of the question and the kind of the question that the response was written for, and
is symmetric, then any response of a kind may stand for any other, and each of the four is as likely to be right.

Kinds are cells of mapped questions, cut in halves along the widest direction until they are small. P_rel of two cells
is the mean of P_rel over their pairs. What is equally relevant is chosen at random (a fixed random number for each
pair), not by what differs most: that would be a cue as well. So this departs from the paper's equation, and with the
random part it is a weight rather than a calibrated probability; a certified gap is to the optimum of that W. `size=0`
is the paper's, and what small folds get. The options were chosen on NExT-OE, by what a reader of all four choices could
still find.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veridical.common.arrays import Bools, Doubles, Floats, Ints
from veridical.matching.assignment.problem import EmbeddingScores, PairScores

BLOCK = 1024  # rows
NOISE_SIZE = 32  # numbers of a row's random vector
STEPS = 15  # of the power iteration
CELLS = 16  # of a fold, or more: relevance between fewer says little
SMALLEST = 8  # questions of a kind where a small fold decides
HEAVY = 1 / 8  # of a cell: a text this common is dealt to both halves, since it may be a quarter of no more


@dataclass(frozen=True)
class KindOptions:
    """How coarse and how random relevance is."""

    size: int = 48  # questions of a kind at most; 0: single pairs, as in the paper
    noise: float = 0.7  # standard deviation of what is added to the log-odds of a pair
    own: float = 0.02  # how much of the pair's own log-odds is added


def scaled(options: KindOptions, rows: int, wrong: int) -> KindOptions:
    """The options for a fold of so many rows: smaller kinds where there would be few, single pairs below that.

    With few kinds the relevance of kinds says next to nothing, and only its random part is left to choose by.

    >>> [scaled(KindOptions(48), rows, 3).size for rows in (10_000, 600, 128, 127)]
    [48, 37, 8, 0]
    """
    size = min(options.size, rows // CELLS)
    return replace(options, size=size if size >= max(SMALLEST, wrong + 1) or size == options.size else 0)


def cells(vectors: Floats, texts: Ints, size: int, rng: np.random.Generator) -> Ints:
    """A cell for each row, of `size` rows at most."""
    out = np.zeros(len(vectors), np.int64)
    waiting = [np.arange(len(vectors))]
    number = 0
    while waiting:
        rows = waiting.pop()
        if len(rows) <= size:
            out[rows] = number
            number += 1
            continue
        half = _half(vectors[rows], texts[rows], rng)
        waiting += [rows[~half], rows[half]]
    return out


def _half(vectors: Floats, texts: Ints, rng: np.random.Generator) -> Bools:
    """Which rows are on the lower side of the median along the widest direction; common texts by a median of theirs."""
    x = vectors - vectors.mean(0)
    direction = rng.standard_normal(x.shape[1]).astype(np.float32)
    for _ in range(STEPS):
        direction = x.T @ (x @ direction)
        direction /= np.linalg.norm(direction) + 1e-12
    place = x @ direction
    counts = np.bincount(texts)
    stratum = np.where(counts[texts] > HEAVY * len(texts), texts + 1, 0)
    lower = np.zeros(len(texts), bool)
    for one in np.unique(stratum):
        rows = np.flatnonzero(stratum == one)
        order = rows[np.argsort(place[rows], kind="stable")]
        odd = int(rng.integers(2)) if len(order) % 2 else 0
        lower[order[: len(order) // 2 + odd]] = True
    if lower.all() or not lower.any():  # two rows, each the only one of its text
        lower[: len(lower) // 2] = True
        lower[len(lower) // 2 :] = False
    return lower


def kind_scores(
    direct: PairScores, vectors: Floats, texts: Ints, options: KindOptions, rng: np.random.Generator
) -> EmbeddingScores:
    """Relevance of kinds, from the relevance of pairs; `vectors` of the questions decide the kinds."""
    cell = cells(vectors, texts, options.size, rng)
    number = int(cell.max()) + 1
    member = np.eye(number, dtype=np.float32)[cell]  # (N, cells)
    total = _between(direct, cell, number)
    counts = member.sum(0)
    mean = total / counts[:, None] / counts[None, :]
    mean = np.clip((mean + mean.T) / 2, 1e-6, 1 - 1e-6)
    logit = np.log(mean / (1 - mean)).astype(np.float32)  # (cells, cells)
    noise = rng.standard_normal((2, len(cell), NOISE_SIZE)).astype(np.float32)
    left = [logit[cell], noise[0] * np.float32(options.noise / np.sqrt(NOISE_SIZE))]
    right = [member, noise[1]]
    if options.own and isinstance(direct, EmbeddingScores):
        slope, _ = direct.logit
        left.append(direct.left * np.float32(options.own * slope))
        right.append(direct.right)
    sides = [np.ascontiguousarray(np.concatenate(parts, 1), dtype=np.float32) for parts in (left, right)]
    return EmbeddingScores(sides[0], sides[1], 1.0, 0.0, True)


def _between(direct: PairScores, cell: Ints, number: int) -> Doubles:
    """The sum of P_rel over the pairs of each two cells, in blocks: (cells, cells)."""
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(number))
    total = np.zeros((number, number))
    for start in range(0, direct.size, BLOCK):
        stop = min(start + BLOCK, direct.size)
        p = np.exp(direct.block(start, stop))[:, order]  # (B, N) columns sorted by cell
        by_column = np.add.reduceat(p, starts, axis=1).astype(np.float64)  # (B, cells)
        np.add.at(total, cell[start:stop], by_column)
    return total
