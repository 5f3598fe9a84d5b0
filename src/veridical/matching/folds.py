"""One fold matched: by fours, blocks of questions that share their responses; or by the rounds of the paper."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from veridical.benchmark.splits import secret_words
from veridical.common.arrays import Floats, Ints, give_back
from veridical.encoders.spread import stays_here
from veridical.engine import run
from veridical.matching.assignment.auction import match as solve
from veridical.matching.assignment.problem import AssignmentProblem, NoMatching, PairScores
from veridical.matching.fours import search
from veridical.matching.fours.alike import Sayings
from veridical.matching.fours.shown import wrong_of
from veridical.matching.fours.weights import BlockProblem
from veridical.matching.scores.crossencoder import Overridden, Triples

if TYPE_CHECKING:
    from veridical.matching.stages import Models, Responses, StageOptions

WARY = 3.0  # log-odds: by fours P_sim is raised, since what is no rewording of a response may still be right beside it
RELEVANCE_SHARE, WORDS_SHARE = 48.0, 24.0  # of K, by the reader that goes by P_rel and by the one that goes by words
LIKENESS_SHARE = 10.0  # of how alike two questions are
BOUND_TOLERANCE = 1e-2  # of the round that bounds fours


@dataclass(frozen=True)
class FoldMatch:
    """What a fold got; rows are numbered in it."""

    wrong: Ints  # (rounds, n)
    weight: float  # the sum of W over the wrong choices
    bound: float  # no choice by this method weighs more
    gap: float = 0.0  # the largest certified gap of a round
    reserved: bool = False
    block: Ints | None = None  # (n,)


def matched(
    rows: Responses, models: Models, options: StageOptions, names: Sequence[str], threads: int
) -> Iterator[FoldMatch]:
    """Every fold, in the order of the names: by threads that share the scores, or by workers that hold them."""
    if not stays_here(options.workers):
        yield from _by_workers(rows, models, options, names)
        return
    if options.method == "paper":
        for fold in names:
            yield _by_rounds(_problem(rows, models, options, rows.rows(fold), fold), options, threads)
        return
    found = _searched(rows, models, options, names, threads)
    give_back()  # the tables of cells: a bound takes as much room again
    _refuse_misfits(np.concatenate([misfits for misfits, _, _ in found]), options)
    for fold, (_, block, wrong) in zip(names, found, strict=True):
        problem = _problem(rows, models, options, rows.rows(fold), fold)
        yield FoldMatch(wrong, _weight(problem, wrong), _bound(problem, options, threads), block=block)


def _searched(
    rows: Responses, models: Models, options: StageOptions, names: Sequence[str], threads: int
) -> list[tuple[Ints, Ints, Ints]]:
    """Of every fold its misfits, or its blocks and whose responses each row gets."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    sayings = Sayings.of(rows.responses, rows.queries)
    give_back()  # what fitting took

    def one(fold: str) -> tuple[Ints, Ints, Ints]:
        return _by_fours(rows, models, options, sayings, fold, threads if len(names) == 1 else 1)

    # a sum over threads may round differently
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, names))


def _refuse_misfits(misfits: Ints, options: StageOptions) -> None:
    if len(misfits):
        found_none = f"No blocks of {options.wrong + 1} questions were found whose responses fit all their photographs"
        raise NoMatching(
            f"{found_none}; {len(misfits):,} responses are too many, such as that of pair {misfits[0]}.",
            "These responses name objects that too few other photographs have: leave them out, or use larger folds.",
            rows=misfits,
        )


def _by_workers(rows: Responses, models: Models, options: StageOptions, names: Sequence[str]) -> Iterator[FoldMatch]:
    """Every fold by a worker, which has all scores; what the threads here would find."""
    sayings = None if options.method == "paper" else Sayings.of(rows.responses, rows.queries)
    alone = replace(options, reranker=None, similarity_reranker=None)  # what they said is in the models
    function = partial(_whole_fold, rows, models, alone, sayings)
    found = list(run(function, names, workers=options.workers, label="matching folds"))
    for one in found:
        if isinstance(one, _NoPlaces):
            raise NoMatching(one.problem, one.fix, one.fold, one.rows)
    _refuse_misfits(np.concatenate([one for one in found if isinstance(one, np.ndarray)] or [rows.texts[:0]]), options)
    yield from (one for one in found if isinstance(one, FoldMatch))


@dataclass(frozen=True)
class _NoPlaces:
    """A `NoMatching` on its way here: an error that a worker raised would have lost what it is about."""

    problem: str
    fix: str
    fold: str
    rows: Ints


def _whole_fold(
    rows: Responses, models: Models, options: StageOptions, sayings: Sayings | None, fold: str
) -> FoldMatch | Ints | _NoPlaces:
    """What a fold gets; or the rows that fit no block; or why there are no places."""
    problem = _problem(rows, models, options, rows.rows(fold), fold)
    try:
        if sayings is None:
            return _by_rounds(problem, options, 1)
        misfits, block, wrong = _by_fours(rows, models, options, sayings, fold, 1)
        if len(misfits):
            return misfits
        return FoldMatch(wrong, _weight(problem, wrong), _bound(problem, options, 1), block=block)
    except NoMatching as error:
        return _NoPlaces(error.problem, error.fix, error.fold, error.rows)


def _by_rounds(problem: AssignmentProblem, options: StageOptions, threads: int) -> FoldMatch:
    """The paper's way: round after round, each the best given those before it."""
    found = solve(problem, shortlist=options.shortlist, tolerance=options.tolerance, threads=threads)
    return FoldMatch(found.wrong, float(found.weights.sum()), float(found.bounds.sum()), found.gap, found.reserved)


def _by_fours(
    rows: Responses, models: Models, options: StageOptions, sayings: Sayings, fold: str, threads: int
) -> tuple[Ints, Ints, Ints]:
    """The rows that fit no block, and, where there are none, the block of each and whose responses it gets."""
    words = secret_words(options.secret) if fold in options.hidden else []
    rng = np.random.default_rng([options.seed, 5, zlib.crc32(fold.encode()), *words])
    here, choices = rows.rows(fold), options.wrong + 1
    left = here
    while len(left) >= choices:
        found = search.blocks(_StageFold(rows, models, options.weight, sayings, left), choices, rng, threads)
        if not len(found.misfits):
            break
        left = np.delete(left, found.misfits)
    if len(left) < len(here):
        return np.setdiff1d(here, left), here[:0], here[:0]
    return here[:0], found.block, wrong_of(found.block, options.wrong, rng)


def _bound(problem: AssignmentProblem, options: StageOptions, threads: int) -> float:
    """What no blocks exceed: three derangements make up a block of four, and none is heavier than the best first round
    of the paper."""
    first = solve(replace(problem, rounds=1), shortlist=options.shortlist, tolerance=BOUND_TOLERANCE, threads=threads)
    return options.wrong * float(first.bounds[0])


def _weight(problem: AssignmentProblem, wrong: Ints) -> float:
    """The sum of W over wrong choices, each kept from resembling the right one."""
    own, others = np.tile(np.arange(wrong.shape[1]), len(wrong)), wrong.reshape(-1)
    relevance = problem.relevance
    if problem.rescored is not None:
        relevance = Overridden(relevance, *problem.rescored)
    total = relevance.pairs(own, others).sum(dtype=np.float64)
    return float(total + problem.weight * problem.dissimilarity.pairs(own, others).sum(dtype=np.float64))


@dataclass(frozen=True)
class _StageFold:
    """A fold of a stage, for the search of blocks."""

    stage: Responses
    models: Models
    weight: float
    sayings: Sayings  # of all rows
    here: Ints

    @property
    def texts(self) -> Ints:
        return self.stage.texts[self.here]

    @property
    def tagged(self) -> bool:
        return self.stage.needs is not None

    def vectors(self, rows: Ints) -> Floats:
        return self.models.relevance.row_vectors(self.here[rows])

    def cell(self, rows: Ints) -> BlockProblem:
        at = self.here[rows]
        models = replace(self.models, similarity=self.models.similarity.wary(WARY))
        relevance, apart, rescored = _scores(models, at)
        readers = [(partial(model.odds, at), WORDS_SHARE) for model in models.readers]
        if rescored is None:
            readers.append((partial(models.relevance.odds, at), RELEVANCE_SHARE))
        else:
            relevance = Overridden(relevance, *rescored)
            readers.append((partial(_odds, relevance), RELEVANCE_SHARE))
        stage = self.stage
        needs = None if stage.needs is None else stage.needs[at]
        have = None if stage.have is None else stage.have[at]
        sayings = self.sayings.take(at)
        alike = (partial(models.relevance.likeness, at), LIKENESS_SHARE)
        texts = stage.texts[at]
        return BlockProblem(relevance, apart, texts, self.weight, needs, have, sayings, tuple(readers), alike)


def _odds(relevance: PairScores) -> Floats:
    """(n, n) the log-odds of what is given as log-probabilities."""
    log = np.asarray(relevance.block(0, relevance.size), np.float32)
    return np.asarray(log - np.log(np.maximum(-np.expm1(log), np.float32(1e-7))), np.float32)


def _scores(models: Models, here: Ints) -> tuple[PairScores, PairScores, Triples | None]:
    """log P_rel and log(1 - P_sim) of some rows, and what a cross-encoder said of P_rel."""
    relevance, apart = models.relevance.scores(here), models.similarity.scores(here)
    if models.reranked is None:
        return relevance, apart, None
    reranked = models.reranked.take(here)
    if reranked.similar is not None:
        apart = Overridden(apart, *reranked.similar)
    return relevance, apart, reranked.related


def _problem(rows: Responses, models: Models, options: StageOptions, here: Ints, fold: str) -> AssignmentProblem:
    relevance, apart, rescored = _scores(models, here)
    return AssignmentProblem(
        relevance,
        apart,
        np.unique(rows.texts[here], return_inverse=True)[1].reshape(-1),
        options.weight,
        options.wrong,
        None if rows.needs is None else rows.needs[here],
        None if rows.have is None else rows.have[here],
        rescored,
        fold,
    )
