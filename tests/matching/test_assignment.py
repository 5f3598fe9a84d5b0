"""Adversarial Matching: laws of every result, agreement with a dense oracle, and what cannot be matched."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from veridical.errors import UserError
from veridical.matching.assignment.auction import match
from veridical.matching.assignment.pricing import Shortlists, Situation, look_at_all, search_of, violations
from veridical.matching.assignment.problem import (
    AssignmentProblem,
    CertifiedMatching,
    EmbeddingScores,
    NoMatching,
    equal_rows,
    log_sigmoid,
    prepare,
)

BLOCKED = -1e6


@dataclass(frozen=True)
class TableScores:
    """Scores that are simply written down; each column its own kind."""

    table: np.ndarray

    @property
    def size(self) -> int:
        return len(self.table)

    def block(self, start: int, stop: int) -> np.ndarray:
        return self.table[start:stop]

    def pairs(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.table[rows, columns]


def clustered(
    size: int, seed: int = 0, weight: float = 0.1, texts: np.ndarray | None = None, dims: int = 24
) -> AssignmentProblem:
    """Queries and responses in clusters; responses of equal text have equal embeddings."""
    rng = np.random.default_rng(seed)
    texts = np.arange(size) if texts is None else texts
    centres = rng.standard_normal((max(2, size // 20), dims))
    cluster = rng.integers(len(centres), size=size)[texts]
    own = rng.standard_normal((size, dims))[texts]
    response = centres[cluster] + own
    query = response + 0.7 * rng.standard_normal((size, dims))
    response, query = (np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), np.float32) for x in (response, query))
    return AssignmentProblem(
        EmbeddingScores(query, response, 12.0, -6.0, True), EmbeddingScores(response, response, 12.0, -6.0, False),
        texts, weight,
    )  # fmt: skip


def dense(problem: AssignmentProblem, given_so_far: list[np.ndarray]) -> np.ndarray:
    """W of one round, all of it, with what is not allowed at BLOCKED."""
    everyone = np.arange(problem.size)
    rows, columns = np.repeat(everyone, problem.size), np.tile(everyone, problem.size)
    shape = (problem.size, problem.size)
    relevance = problem.relevance.pairs(rows, columns).astype(float).reshape(shape)
    if problem.rescored is not None:
        relevance[problem.rescored[0], problem.rescored[1]] = problem.rescored[2]
    similarity = problem.dissimilarity.pairs(rows, columns).astype(float).reshape(shape)
    weights = relevance + problem.weight * np.min([similarity[g] for g in given_so_far], axis=0)
    for responses in given_so_far:
        weights[problem.texts[responses][:, None] == problem.texts[None, :]] = BLOCKED
    if problem.needs is not None and problem.have is not None:
        weights[(problem.needs[None] > problem.have[:, None]).any(axis=2)] = BLOCKED
    return weights


def check_laws(problem: AssignmentProblem, found: CertifiedMatching, tolerance: float) -> None:
    """A permutation each round, four different texts for each query, rules kept, and an honest certificate."""
    everyone = np.arange(problem.size)
    given_so_far = [everyone]
    for number, wrong in enumerate(found.wrong):
        assert sorted(wrong) == list(everyone)
        assert (wrong != everyone).all()
        weights = dense(problem, given_so_far)
        assert (weights[everyone, wrong] > BLOCKED / 2).all()
        assert found.weights[number] == pytest.approx(weights[everyone, wrong].sum(), rel=1e-5, abs=1e-4)
        if not found.reserved:
            best = weights[linear_sum_assignment(weights, maximize=True)].sum()
            slack = 1e-6 * problem.size
            assert found.weights[number] <= best + slack
            assert best <= found.bounds[number] + slack
            assert best - found.weights[number] <= tolerance * abs(best) + slack
        given_so_far.append(wrong)
    choices = problem.texts[np.stack(given_so_far)]
    assert all(len(set(column)) == problem.rounds + 1 for column in choices.T)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_result_keeps_the_laws_and_matches_the_oracle(data: st.DataObject) -> None:
    size = data.draw(st.integers(8, 70))
    distinct = data.draw(st.integers(7, 70))
    seed = data.draw(st.integers(0, 1000))
    weight = data.draw(st.sampled_from([0.0, 0.1, 1.0, 5.0]))
    texts = np.arange(size) % distinct
    problem = clustered(size, seed, weight, texts)
    rng = np.random.default_rng(seed)
    if data.draw(st.booleans()):
        rows, columns = rng.integers(size, size=(2, 3 * size))
        keep = np.unique(rows * size + problem.texts[columns], return_index=True)[1]
        rows, columns = rows[keep], columns[keep]
        values = -rng.random(len(rows)).astype(np.float32)
        # A value holds for all copies of a text; here it is written down for each of them, for the oracle.
        copies = [
            (r, c, v) for r, j, v in zip(rows, columns, values, strict=True) for c in np.flatnonzero(texts == texts[j])
        ]
        problem = replace(problem, rescored=tuple(np.array(part) for part in zip(*copies, strict=True)))
    shortlist = data.draw(st.sampled_from([2, 8, 64]))
    if np.bincount(texts).max() * 4 <= size:
        check_laws(problem, match(problem, shortlist=shortlist, tolerance=1e-4), 1e-4)
    else:
        with pytest.raises(UserError, match=r"can be 25.0% at most"):
            match(problem)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), size=st.integers(5, 50), weight=st.sampled_from([0.1, 2.0]))
def test_scores_of_any_kind(seed: int, size: int, weight: float) -> None:
    rng = np.random.default_rng(seed)
    tables = [TableScores(log_sigmoid(rng.normal(-1, 3, (size, size))).astype(np.float32)) for _ in range(2)]
    problem = AssignmentProblem(tables[0], tables[1], np.arange(size), weight)
    check_laws(problem, match(problem, shortlist=4, tolerance=1e-4), 1e-4)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
@example(seed=906)  # which leaves a response without a place
def test_responses_go_only_where_their_objects_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    have = rng.integers(0, 4, (60, 5))
    have[:, 0] += 1
    needs = np.minimum(have, rng.integers(0, 3, (60, 5)) * (rng.random((60, 5)) < 0.2))
    places = (needs[:, None] <= have[None]).all(2).sum(1) - 1  # of each response, its own left out
    problem = replace(clustered(60, seed), needs=needs, have=have)
    try:
        found = match(problem, tolerance=1e-4)
    except NoMatching:  # a round may leave none for the next: `stages` then leaves questions out
        assert places.min() < 6
        return
    check_laws(problem, found, 1e-4)


@pytest.mark.parametrize("weight", [0.1, 1.0])
def test_agrees_with_the_oracle_at_a_thousand(weight: float) -> None:
    texts = np.arange(1000)
    texts[:60], texts[60:120] = 0, 60  # "yes" and "no"
    problem = clustered(1000, 3, weight, texts, dims=64)
    found = match(problem, tolerance=5e-4)
    assert found.gap <= 5e-4
    check_laws(problem, found, 5e-4)


def test_many_bits_of_needs() -> None:
    """More classes and counts than one word of bits holds."""
    rng = np.random.default_rng(0)
    have = rng.integers(2, 4, (40, 90))
    needs = np.where(rng.random((40, 90)) < 0.005, 3, 1)
    needs = np.minimum(needs, have)
    problem = replace(clustered(40), needs=needs, have=have)
    check_laws(problem, match(problem, tolerance=1e-4), 1e-4)


@pytest.mark.parametrize("share", [(25, 25, 25), (25, 25, 10), (22, 22, 22)])
def test_frequent_texts_leave_room_for_later_rounds(share: tuple[int, ...]) -> None:
    texts = np.arange(100)
    start = 0
    for count in share:
        texts[start : start + count] = start
        start += count
    for seed in range(4):
        # Frequent answers are most relevant to each other's questions: the early rounds want to use them all up.
        problem = clustered(100, seed, 0.1, texts)
        found = match(problem)
        check_laws(problem, found, 1e-3)


def test_a_round_without_room_falls_back_on_a_plan() -> None:
    size, heavy = 40, 30
    texts = np.where(np.arange(size) < heavy, np.arange(size) // 10, np.arange(size))
    table = np.full((size, size), -3.0, np.float32)
    table[:heavy, :heavy] = -0.1  # three texts of a quarter each want only each other's questions
    scores = TableScores(table)
    problem = AssignmentProblem(scores, TableScores(np.full((size, size), -0.1, np.float32)), texts, 0.1)
    found = match(problem)
    assert found.reserved
    check_laws(problem, found, 1e-3)


def test_too_frequent_a_text_is_named_with_its_share_and_fold() -> None:
    texts = np.maximum(np.arange(100), 30)
    with pytest.raises(UserError, match=r"Fold 'train-3': one response text \(that of pair 0\) is 31 of 100 .* 31.0%"):
        match(replace(clustered(100, texts=texts), name="train-3"))
    with pytest.raises(UserError) as error:
        match(clustered(100, texts=texts))
    assert not isinstance(error.value, NoMatching)  # leaving out scarce responses would not help


def test_a_fold_smaller_than_the_choices() -> None:
    with pytest.raises(UserError, match="has 3 question-answer pairs"):
        match(clustered(3))


def test_a_response_that_fits_nowhere_is_named() -> None:
    have = np.ones((30, 2), int)
    have[[4, 9], 1] = 2
    needs = np.ones((30, 2), int)
    needs[9, 1] = 2  # fits only its own photograph and that of pair 4
    with pytest.raises(NoMatching, match=r"round 2 of 3 .* that of pair 9") as error:
        match(replace(clustered(30), needs=needs, have=have, name="7"))
    assert "leave them out" in error.value.fix
    assert error.value.fold == "7"


@pytest.mark.parametrize("weight", [-1.0, float("nan")])
def test_lambda_is_a_number_from_zero_up(weight: float) -> None:
    with pytest.raises(UserError, match="lambda"):
        match(clustered(20, weight=weight))


def test_embeddings_with_missing_numbers() -> None:
    table = np.ones((4, 3), np.float32)
    table[2, 1] = np.nan
    with pytest.raises(UserError, match="1 embeddings"):
        EmbeddingScores(table, table, 1.0, 0.0, True)


def test_rescored_values_are_log_probabilities() -> None:
    problem = replace(clustered(20), rescored=(np.array([1]), np.array([2]), np.array([0.5], np.float32)))
    with pytest.raises(UserError, match="above 0"):
        match(problem)


def test_rescoring_decides() -> None:
    """A cross-encoder that loves one pair, and hates another that the embeddings loved."""
    problem = clustered(50)
    plain = match(problem).wrong[0]
    rescored = (np.array([0, 1]), np.array([plain[1], plain[1]]), np.array([0.0, -30.0], np.float32))
    found = match(replace(problem, rescored=rescored)).wrong[0]
    assert found[0] == plain[1]


@dataclass(frozen=True)
class Rounded(TableScores):
    """A table whose blocks are too low in the second half of the columns."""

    rounding: float = 0.05

    def block(self, start: int, stop: int) -> np.ndarray:
        low = np.where(np.arange(self.size) < self.size // 2, 0, self.rounding)
        return (self.table[start:stop] - low).astype(np.float32)


def test_what_blocks_round_off_is_never_overlooked() -> None:
    """Blocks show the first half of the columns as the best, which fill the lists; the best is in the second half."""
    rng = np.random.default_rng(0)
    size = 300
    table = (-1 - 0.01 * rng.random((size, size))).astype(np.float32)
    table[:, size // 2 :] += 0.02
    problem = AssignmentProblem(Rounded(table), TableScores(np.zeros((size, size), np.float32)), np.arange(size), 0.1)
    field = prepare(problem)
    search, own = search_of(field), np.arange(size)
    best = np.where(np.eye(size, dtype=bool), -np.inf, table).max(1)
    for room in (0.0, 1.0, 1e9):  # all is looked at, some of it, nothing
        watch = Shortlists.empty(field)
        look_at_all(search, watch, own[:, None], 4, 1)
        assert (watch.lots < size // 2).all()
        profits = table[own[:, None], watch.lots].max(1).astype(np.float64)  # each query has the best of its list
        assert (best > profits).all()
        now = Situation(search, own[:, None], own[None], np.zeros(size), profits, 1)
        found, slack, _ = violations(now, watch, room)
        more = slack.copy()
        np.maximum.at(more, found.rows, now.excess(found))
        assert (profits + more >= best - 1e-6).all()


def test_the_number_of_threads_changes_nothing() -> None:
    problem = clustered(300, texts=np.arange(300) // 2 * 2)
    one, two = match(problem, threads=1), match(problem, threads=2)
    assert (one.wrong == two.wrong).all()
    assert (one.bounds == two.bounds).all()
    assert (match(problem, threads=2).wrong == two.wrong).all()


def test_blocks_and_pairs_agree_within_their_rounding() -> None:
    problem = clustered(80, dims=61)
    rows, columns = (part.ravel() for part in np.indices((80, 80)))
    for scores in (problem.relevance, problem.dissimilarity):
        assert isinstance(scores, EmbeddingScores)
        block = scores.block(0, 80)
        assert (block <= 0).all()
        assert np.abs(block.ravel() - scores.pairs(rows, columns)).max() <= scores.rounding < 1e-3


def test_equal_rows() -> None:
    numbers = equal_rows(np.array([[1, 2], [3, 4], [1, 2]]))
    assert numbers[0] == numbers[2] != numbers[1]


def test_nothing_of_size_n_by_n_is_held() -> None:
    problem = clustered(6000, dims=16)
    match(clustered(50))  # compile first
    tracemalloc.start()
    try:
        found = match(problem)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.gap <= 1e-3
    assert peak < 0.8 * 4 * 6000**2  # one float32 table of all pairs; the block of scores is 40 MB whatever the size
