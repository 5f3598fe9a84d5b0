"""Adversarial Matching: by fours, and by the paper's rounds beside the dense way (all of W, linear_sum_assignment).

    python benchmarks/matching_speed.py              by fours: 26,500 pairs, by one thread and by two, and its bound
    python benchmarks/matching_speed.py --all        by fours: 290,000 pairs in one fold
    python benchmarks/matching_speed.py --rounds     agreement at 1,000 to 5,000; speed at 5,000, 10,000 and 26,500
    python benchmarks/matching_speed.py --all-vcr    rounds of 290,000 pairs: 11 folds, answers and rationales

Embeddings are made up, 384 numbers each, in clusters of topics within themes, sizes falling like a power law; a query
is nearest to its own response. Probabilities are sigmoid(20 x - 10) of the inner product. Each of ours runs in a fresh
process, so that its peak memory is its own (with Python, NumPy and the compiled kernels).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from veridical.engine import run
from veridical.matching.assignment.auction import match, peak_bytes
from veridical.matching.assignment.problem import AssignmentProblem, EmbeddingScores
from veridical.matching.fours.search import blocks
from veridical.matching.fours.shown import wrong_of
from veridical.matching.fours.weights import BlockProblem
from veridical.options import Workers

DIMENSIONS = 384
FOLD = 26_500
VCR_PAIRS, VCR_FOLDS = 290_000, 11
ELSEWHERE = 241.0  # seconds that one dense round of 26,500 took on another machine


def embeddings(size: int, seed: int, per_cluster: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Queries and responses (size, 384), of unit length."""
    rng = np.random.default_rng(seed)

    def unit(rows: np.ndarray) -> np.ndarray:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def noise(count: int) -> np.ndarray:
        return unit(rng.standard_normal((count, DIMENSIONS), np.float32))

    clusters = max(20, size // per_cluster)
    themes = noise(max(2, clusters // 20))
    centres = unit(noise(clusters) + 0.6 * themes[rng.integers(len(themes), size=clusters)])
    share = np.arange(1, clusters + 1) ** -0.6
    cluster = rng.choice(clusters, size=size, p=share / share.sum())
    own = centres[cluster] + 0.8 * noise(size)
    return unit(own + 0.6 * noise(size)), unit(own + 0.6 * noise(size))


def synthetic(size: int, weight: float, seed: int = 0, per_cluster: int = 50) -> AssignmentProblem:
    queries, responses = embeddings(size, seed, per_cluster)
    return AssignmentProblem(
        EmbeddingScores(queries, responses, 20.0, -10.0, True),
        EmbeddingScores(responses, responses, 20.0, -10.0, False),
        np.arange(size),
        weight,
    )


def dense(problem: AssignmentProblem) -> np.ndarray:
    """The weight of each round by the dense way: all of W, the Hungarian method, and again."""
    everyone = np.arange(problem.size)
    relevance = problem.relevance.block(0, problem.size).astype(np.float64)
    similarity = problem.dissimilarity.block(0, problem.size)
    least, totals = similarity.copy(), []
    relevance[everyone, everyone] = -1e6
    for _ in range(problem.rounds):
        weights = relevance + problem.weight * least
        wrong = linear_sum_assignment(weights, maximize=True)[1]
        totals.append(float(weights[everyone, wrong].sum()))
        relevance[everyone, wrong] = -1e6
        np.minimum(least, similarity[wrong], out=least)
    return np.array(totals)


@dataclass(frozen=True)
class Run:
    """One matching, or the best dense one."""

    weights: np.ndarray
    seconds: float
    processor: float  # seconds of all threads
    peak: int
    gaps: np.ndarray
    passes: tuple[float, ...] = ()


def ours(
    size: int, weight: float, tolerance: float, threads: int, seed: int = 0, per_cluster: int = 50, rounds: int = 3
) -> Run:
    problem = replace(synthetic(size, weight, seed, per_cluster), rounds=rounds)
    start, processor = time.perf_counter(), time.process_time()
    found = match(problem, tolerance=tolerance, threads=threads)
    spent = time.perf_counter() - start, time.process_time() - processor
    return Run(found.weights, *spent, peak_bytes(), found.gaps, found.passes)


def theirs(size: int, weight: float) -> Run:
    problem = synthetic(size, weight)
    start, processor = time.perf_counter(), time.process_time()
    weights = dense(problem)
    spent = time.perf_counter() - start, time.process_time() - processor
    return Run(weights, *spent, peak_bytes(), np.zeros(3))


@dataclass(frozen=True)
class SyntheticFold:
    """A fold of made-up pairs, as the search of blocks sees it."""

    problem: AssignmentProblem
    tagged: bool = False

    @property
    def texts(self) -> np.ndarray:
        return self.problem.texts

    def vectors(self, rows: np.ndarray) -> np.ndarray:
        return self._side("left", rows) + self._side("right", rows)

    def cell(self, rows: np.ndarray) -> BlockProblem:
        left, right = self._side("left", rows), self._side("right", rows)
        scores = EmbeddingScores(left, right, 20.0, -10.0, True), EmbeddingScores(right, right, 20.0, -10.0, False)
        readers = ((lambda: 20.0 * (left @ right.T), 8.0), (lambda: 10.0 * (left @ right.T), 4.0))
        return BlockProblem(*scores, self.texts[rows], self.problem.weight, readers=readers)

    def _side(self, name: str, rows: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(getattr(self.problem.relevance, name)[rows])


def by_fours(size: int, weight: float, threads: int) -> tuple[Run, int, float]:
    """A matching by fours, a checksum of its blocks, and the sum of W over its wrong choices."""
    problem = synthetic(size, weight)
    blocks(SyntheticFold(synthetic(64, weight)), 4, np.random.default_rng(0))  # compile
    start, processor = time.perf_counter(), time.process_time()
    with threadpool_limits(1, user_api="blas"):
        found = blocks(SyntheticFold(problem), 4, np.random.default_rng(0), threads)
    spent = time.perf_counter() - start, time.process_time() - processor
    wrong = wrong_of(found.block, 3, np.random.default_rng(0))
    own = np.tile(np.arange(size), 3)
    total = problem.relevance.pairs(own, wrong.reshape(-1)).sum(dtype=np.float64)
    total += weight * problem.dissimilarity.pairs(own, wrong.reshape(-1)).sum(dtype=np.float64)
    return Run(np.zeros(3), *spent, peak_bytes(), np.zeros(3)), zlib.crc32(found.block.tobytes()), float(total)


def fours(size: int, weight: float, bound: bool) -> None:
    print(f"By fours, {size:,} pairs in one fold, lambda {weight}: wall and processor seconds, peak memory")
    sums = []
    for threads in (1, 2) if bound else (2,):
        done, checksum, total = alone(by_fours, size, weight, threads)
        show(f"{threads} thr", size, done)
        sums.append((checksum, total))
    if bound:
        print(f"  the same blocks: {sums[0] == sums[1]}")
        first = alone(ours, size, weight, 1e-2, 2, 0, 50, 1)
        show("bound", size, first)
        most = 3 * float((first.weights * (1 - np.sign(first.weights) * first.gaps))[0])
        print(f"  objective {sums[0][1]:,.0f}, at most {most:,.0f}")


def alone(function: Callable[..., Any], *arguments: object) -> Any:
    """Call it in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def agreement(sizes: list[int]) -> None:
    print("Agreement with the dense optimum (both go their own way through three rounds; tolerance 0.05%)")
    for size in sizes:
        for weight in (0.1, 1.0):
            best, found = alone(theirs, size, weight), alone(ours, size, weight, 5e-4, 2)
            off = (best.weights - found.weights) / np.abs(best.weights)
            total = (best.weights.sum() - found.weights.sum()) / abs(best.weights.sum())
            print(
                f"  N {size:6,}  lambda {weight:3}  below the oracle: first round {off[0]:8.4%}, all three {total:8.4%}"
                f"   certified {found.gaps.max():.4%}"
            )


def speed(sizes: list[int], weight: float, largest: int) -> None:
    print(f"Three rounds, lambda {weight}: wall and processor seconds, peak memory of the process (tolerance 0.1%)")
    slow: list[Run] = []
    for size in sizes:
        slow.append(alone(theirs, size, weight))
        show("dense", size, slow[-1])
        found = alone(ours, size, weight, 1e-3, 2)
        show("ours", size, found)
        print(
            f"  {'':6} {size:7,}  {slow[-1].seconds / found.seconds:.1f}x faster by the clock, "
            f"{slow[-1].processor / found.processor:.1f}x by processor time, "
            f"{slow[-1].peak / found.peak:.1f}x less memory"
        )
    if not largest:
        return
    found = alone(ours, largest, weight, 1e-3, 2)
    show("ours", largest, found)
    if largest == FOLD:
        print(f"  against {ELSEWHERE:.0f} s a round, measured elsewhere: {3 * ELSEWHERE / found.seconds:.1f}x")
    for (small, before), (large, after) in pairwise(zip(sizes, slow, strict=True)):
        power = np.log(after.processor / before.processor) / np.log(large / small)
        for name, exponent in (("that growth", power), ("N^2, the least it could be", 2.0)):
            guess = after.processor * (largest / large) ** exponent
            print(
                f"  dense grew as N^{power:.2f} from {small:,} to {large:,}; with {name}, {largest:,} would take "
                f"{guess:,.0f} s of processor: {guess / found.processor:.1f}x"
            )


def show(name: str, size: int, done: Run) -> None:
    certified = (
        f"   certified gap {done.gaps.max():.3%}, looks at all pairs {1 + sum(done.passes):.1f}" if done.passes else ""
    )
    print(
        f"  {name:6} {size:7,}  {done.seconds:8.1f} s  {done.processor:8.1f} s  {done.peak / 1e6:8,.0f} MB{certified}",
        flush=True,
    )


def fold(task: tuple[int, str, float]) -> Run:
    number, part, weight = task
    # Rationales are more diverse than answers: smaller clusters.
    return ours(VCR_PAIRS // VCR_FOLDS, weight, 1e-3, 1, seed=2 * number + (part == "rationales"),
                per_cluster=50 if part == "answers" else 20)  # fmt: skip


def all_vcr(weight: float) -> None:
    tasks = [(number, part, weight) for number in range(VCR_FOLDS) for part in ("answers", "rationales")]
    start = time.perf_counter()
    runs = []
    for task, done in zip(tasks, run(fold, tasks, workers=Workers(2), label="folds"), strict=True):
        runs.append(done)
        print(f"  {time.perf_counter() - start:6.0f} s  fold {task[0]:2} {task[1]:10}", end="")
        show("", VCR_PAIRS // VCR_FOLDS, done)
    seconds = time.perf_counter() - start
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"all of VCR, lambda {weight}: {len(tasks)} matchings of {VCR_PAIRS // VCR_FOLDS:,} pairs, three rounds each: "
        f"{seconds / 60:.1f} minutes by the clock, {(children.ru_utime + children.ru_stime) / 60:.1f} of processor on "
        f"two cores; largest certified gap {max(done.gaps.max() for done in runs):.3%}; largest process "
        f"{max(done.peak for done in runs) / 1e6:,.0f} MB"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--all-vcr", action="store_true", help="290,000 pairs, instead of the comparison")
    options.add_argument("--all", action="store_true", help="290,000 pairs by fours")
    options.add_argument("--rounds", action="store_true", help="the paper's rounds beside the dense way")
    options.add_argument("--weight", type=float, default=0.1, help="lambda")
    options.add_argument("--agree", type=int, nargs="*", default=[1000, 2000, 5000])
    options.add_argument("--beside", type=int, nargs="*", default=[5000, 10_000])
    options.add_argument("--fold", type=int, default=FOLD, help="pairs of the largest run of ours; 0 leaves it out")
    chosen = options.parse_args()
    if chosen.all_vcr:
        all_vcr(chosen.weight)
        return
    if chosen.all or not chosen.rounds:
        fours(VCR_PAIRS if chosen.all else chosen.fold, chosen.weight, bound=not chosen.all)
        return
    agreement(chosen.agree)
    speed(chosen.beside, chosen.weight, chosen.fold)


if __name__ == "__main__":
    main()
