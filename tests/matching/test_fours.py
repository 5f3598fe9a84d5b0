"""Matching by fours: what holds for every block, whatever the data; that the search is good; whom it keeps together."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.common.arrays import Floats, Ints
from veridical.language.wordnet import Thesaurus, WordNet, open_thesaurus
from veridical.matching.assignment.problem import EmbeddingScores
from veridical.matching.fours import search
from veridical.matching.fours.alike import AGAIN, PARTLY, Sayings
from veridical.matching.fours.search import blocks, members_of
from veridical.matching.fours.shown import around, block_sizes, wrong_of
from veridical.matching.fours.weights import BlockProblem, weights
from veridical.matching.items import lay_out
from veridical.matching.questions import AnsweredQuestion
from veridical.matching.stages import Responses, StageOptions, fit_models, match_stage, responses_of
from veridical.records import Text


@dataclass(frozen=True)
class World:
    """A fold of random vectors in topics."""

    table: Floats
    texts: Ints
    tagged: bool = False

    def vectors(self, rows: Ints) -> Floats:
        return self.table[rows]

    def cell(self, rows: Ints) -> BlockProblem:
        some = np.ascontiguousarray(self.table[rows])
        scores = [EmbeddingScores(some, some, 4.0, -1.0, positive) for positive in (True, False)]
        return BlockProblem(scores[0], scores[1], self.texts[rows], 0.3)


def world(size: int, seed: int, choices: int = 4, repeated: float = 0.3) -> World:
    """Some texts are as frequent as can be."""
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((size, 8)) + 2 * rng.standard_normal((5, 8))[rng.integers(5, size=size)]
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    texts = np.arange(size)
    common = rng.permutation(size)[: int(repeated * size)]
    for part in np.array_split(common, max(1, -(-len(common) // max(1, size // choices)))):
        texts[part] = texts[part[:1]].sum()
    return World(table.astype(np.float32), np.unique(texts, return_inverse=True)[1].reshape(-1))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(0, 60), st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.9]))
def test_every_row_is_in_one_block_and_no_text_twice(choices: int, more: int, seed: int, repeated: float) -> None:
    size = choices + more
    fold = world(size, seed, choices, repeated)
    found = blocks(fold, choices, np.random.default_rng(seed))
    assert not len(found.misfits)
    assert sorted(np.bincount(found.block).tolist()) == sorted(block_sizes(size, choices).tolist())
    for one in members_of(found.block):
        texts = fold.texts[one[one >= 0]].tolist()
        assert len(set(texts)) == len(texts) >= choices


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=9), st.integers(1, 5), st.integers(0, 10**6))
def test_in_a_block_every_response_is_right_once_and_wrong_equally_often(
    more: list[int], wrong: int, seed: int
) -> None:
    """So whatever is computed from the choices alone is right once in a block, if it does not depend on their order."""
    block = np.repeat(np.arange(len(more)), [wrong + 1 + extra for extra in more])
    rng = np.random.default_rng(seed)
    block = rng.permutation(block)
    found = wrong_of(block, wrong, rng)
    assert (np.sort(found, axis=1) == np.arange(len(block))).all()
    assert (block[found] == block).all()
    four = np.concatenate([np.arange(len(block))[None], found])
    assert all(len(set(column)) == wrong + 1 for column in four.T.tolist())
    for one in members_of(block):
        rows = one[one >= 0]
        if len(rows) > wrong + 1:
            continue
        sets = {frozenset(four[:, row].tolist()) for row in rows}
        assert sets == {frozenset(rows.tolist())}
        for salt in range(3):  # any function of the set of choices takes the same one at all questions of the block
            taken = [min(four[:, row].tolist(), key=lambda r: zlib.crc32(f"{salt} {r}".encode())) for row in rows]
            assert sum(choice == row for choice, row in zip(taken, rows.tolist(), strict=True)) == 1


@pytest.mark.parametrize(("size", "choices"), [(3, 2), (4, 3), (4, 2), (5, 4)])
def test_who_sees_all_choices_of_a_larger_block_finds_each_equally_likely(size: int, choices: int) -> None:
    """Every order of the circle, every choice of steps and every assignment of responses to questions, once each.

    An observer sees for each question the set of its responses; of those, each is right in the same number of cases.
    """
    right: dict[tuple[frozenset[int], ...], Counter[int]] = defaultdict(Counter)
    for rest in permutations(range(1, size)):  # where a circle begins does not matter
        for steps in combinations(range(1, size), choices - 1):
            circle = (0, *rest)
            found = around(np.array(circle), np.array(steps))
            shown = {row: {row, *found[:, k].tolist()} for k, row in enumerate(circle)}
            for names in permutations(range(size)):
                seen = tuple(frozenset(names[r] for r in shown[row]) for row in range(size))
                right[seen][names[0]] += 1
    for seen, cases in right.items():
        assert set(cases) == set(seen[0])
        assert len(set(cases.values())) == 1


def pairings(rows: list[int], choices: int) -> list[list[tuple[int, ...]]]:
    if not rows:
        return [[]]
    out = []
    for rest in combinations(rows[1:], choices - 1):
        left = [r for r in rows[1:] if r not in rest]
        out += [[(rows[0], *rest), *more] for more in pairings(left, choices)]
    return out


def total(table: Floats, partition: list[tuple[int, ...]]) -> float:
    return float(sum(table[a, b] for one in partition for a, b in combinations(one, 2)))


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([(8, 4), (12, 4), (9, 3), (8, 2)]), st.integers(0, 10**6))
def test_small_folds_get_the_best_blocks_there_are(shape: tuple[int, int], seed: int) -> None:
    size, choices = shape
    fold = world(size, seed, choices, 0.0)
    table = weights(fold.cell(np.arange(size)))
    found = blocks(fold, choices, np.random.default_rng(seed))
    mine = total(table, [tuple(one.tolist()) for one in members_of(found.block)])
    every = [total(table, one) for one in pairings(list(range(size)), choices)]
    assert mine >= max(every) - 0.02 * (max(every) - np.mean(every)) - 1e-3


def test_a_large_fold_is_searched_in_cells_by_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = world(642, 3)
    whole = blocks(fold, 4, np.random.default_rng(0)).block
    monkeypatch.setattr(search, "CELL", 100)
    one, two = (blocks(fold, 4, np.random.default_rng(0), threads).block for threads in (1, 2))
    assert (one == two).all()
    assert not len(blocks(fold, 4, np.random.default_rng(0)).misfits)
    assert Counter(np.bincount(one).tolist()) == {4: 158, 5: 2}
    table = weights(fold.cell(np.arange(642)))
    drawn = np.random.default_rng(0).permutation(642) // 4
    best, cells, chance = (
        total(table, [tuple(o[o >= 0].tolist()) for o in members_of(b)]) for b in (whole, one, drawn)
    )
    assert cells > best - 0.1 * (best - chance)


def test_readers_are_weighed_against_by_what_they_would_exchange() -> None:
    """Rows whose responses it would exchange are worth more; what it knows of responses alone does not count."""
    rng = np.random.default_rng(0)
    fold, odds = world(6, 1, repeated=0.0), rng.standard_normal((6, 6)).astype(np.float32)
    plain = fold.cell(np.arange(6))
    gain = weights(replace(plain, readers=((lambda: odds, 2.0),))) - weights(plain)
    keep = np.diag(odds)
    expected = -2 / (1 + np.exp((odds + odds.T - keep[:, None] - keep[None, :]) / 2))
    np.testing.assert_allclose(gain, np.where(np.eye(6), 0, expected), atol=1e-4)
    biased = odds + 3 * rng.standard_normal(6).astype(np.float32)
    again = weights(replace(plain, readers=((lambda: biased, 2.0),)))
    np.testing.assert_allclose(again - weights(plain), gain, atol=1e-4)


def test_who_gives_itself_away_in_any_company_does_not_choose_it() -> None:
    """A reader that is sure can only be right: beside one that only "yes" answers, all rows are worth the same."""
    odds = np.zeros((6, 6), np.float32)
    odds[0] = odds[:, 0] = (20, -20, -12, -16, -30, -25)
    plain = world(6, 1, repeated=0.0).cell(np.arange(6))
    gain = weights(replace(plain, readers=((lambda: odds, 10.0),))) - weights(plain)
    np.testing.assert_allclose(gain[0, 1:], -10, atol=1e-3)
    np.testing.assert_allclose(gain[1:, 1:][~np.eye(5, dtype=bool)], -5, atol=1e-3)


def test_like_questions_are_worth_more_to_each_other() -> None:
    plain = world(6, 1, repeated=0.0).cell(np.arange(6))
    near = np.random.default_rng(0).standard_normal((6, 6)).astype(np.float32)
    near = near + near.T
    gain = weights(replace(plain, alike=(near.copy, 3.0))) - weights(plain)
    np.testing.assert_allclose(gain, np.where(np.eye(6), 0, 3 * near), atol=1e-4)


def test_a_reader_of_words_finds_less_when_it_is_weighed_against(monkeypatch: pytest.MonkeyPatch) -> None:
    """P_rel sees topics alone; which verb goes with which only words tell, and only blocks that mind them hide it."""
    monkeypatch.setattr("veridical.matching.folds.LIKENESS_SHARE", 0.0)  # like questions have one verb
    rng = np.random.default_rng(0)
    verb, topic = rng.integers(8, size=480), rng.integers(3, size=480)
    rows = responses_of(
        [Text(f"topic{t} ask{v}") for t, v in zip(topic, verb, strict=True)],
        [Text(f"topic{t} say{v} thing{k % 20}") for k, (t, v) in enumerate(zip(topic, verb, strict=True))],
        [None] * 480,
        [str(k % 2) for k in range(480)],
    )
    options = StageOptions("tfidf", "tfidf", weight=0.0)
    models = fit_models(rows, options)
    assert [one.name for one in models.readers] == ["hashed-words"]
    assert not fit_models(rows, replace(options, learned=False)).readers
    same = []
    for some in (models, replace(models, readers=())):
        wrong = match_stage(rows, some, options).wrong
        same.append(float((verb[wrong] == verb).mean()))
    assert same[0] > same[1] + 0.1


def pairs(table: np.ndarray) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(table, 1))]


def test_words_say_what_a_model_of_similarity_does_not() -> None:
    texts = ["dance", "dances and leaves the stage", "two", "3 dogs", "red and white", "white", "yes", "no", "of the",
             "three dogs"]  # fmt: skip
    found = Sayings.of(texts, thesaurus=Thesaurus())
    again = found.again()
    assert set(pairs(again)) == {(0, 1), (4, 5)}
    assert pairs(found.alternatives(again)) == [(2, 3), (2, 9), (6, 7)]  # but 3 is three
    apart = found.corrected(np.full((10, 10), -2.0, np.float32))
    assert apart[0, 1] == AGAIN
    assert apart[6, 7] == 0
    assert apart[0, 2] == -2
    assert found.take(np.array([0, 1])).again().all()


def test_what_follows_from_a_response_says_it_again() -> None:
    texts = ["in the park", "outdoors", "outside on the street", "stroke it", "caressing the cat", "in the kitchen"]
    assert pairs(Sayings.of(texts, thesaurus=Thesaurus()).again()) == [(0, 1), (1, 2), (3, 4)]
    denied = Sayings.of(["let go", "did not let go", "let it go"], thesaurus=Thesaurus())
    again = denied.again()
    assert again.all()
    assert pairs(denied.alternatives(again)) == [(0, 1), (1, 2)]


def test_phrases_and_derived_words_are_read_as_what_they_mean() -> None:
    said = ["get back up", "stood up again", "moves around", "movement", "sunny", "hot sun", "sit down", "get in"]
    again = Sayings.of(said, thesaurus=Thesaurus()).again()
    np.fill_diagonal(again, False)
    assert {(said[a], said[b]) for a, b in np.argwhere(again) if a < b} == {
        ("get back up", "stood up again"), ("moves around", "movement"), ("sunny", "hot sun"),
    }  # fmt: skip


def test_shared_words_count_unless_the_question_has_them_or_they_are_for_people() -> None:
    texts = ["stuck in snow", "snow was blocking", "feed the dog", "wash the dog", "follow the man", "kiss the man"]
    asked = ["why stop", "why wait", "why is the dog there", "what of the dog", "what then", "and then"]
    found = Sayings.of(texts, asked, Thesaurus())
    shared = found.shared()
    assert shared[0, 1] == shared[1, 0] == 0.5
    assert shared[2, 3] == shared[4, 5] == 0
    assert found.corrected(np.zeros((6, 6), np.float32))[0, 1] == PARTLY / 2


def test_what_says_another_again_meets_it_only_where_nothing_else_is_left() -> None:
    """A quarter of the responses say "outdoors" in other words, and each is most relevant to the others of these."""
    places = ["in the park", "outdoors", "on the street", "outside", "at the beach", "in the garden"]
    texts = [places[k % 6] if k % 4 == 1 else f"thing{k} of gate{k}" for k in range(24)]
    rows = responses_of(
        [Text("where is it" if k % 4 == 1 else f"which gate{k}") for k in range(24)], [Text(text) for text in texts],
        [None] * 24, ["0"] * 24,
    )  # fmt: skip
    options = StageOptions("tfidf", "tfidf")
    wrong = match_stage(rows, fit_models(rows, options), options).wrong
    again = Sayings.of(rows.responses, rows.queries).again()
    assert again.sum() - 24 == 6 * 5
    assert not again[np.tile(np.arange(24), 3), wrong.reshape(-1)].any()


def test_who_repeats_the_question_says_yes() -> None:
    asked = ["are the dogs playing", "is it cold", "why do they bark", "is the man happy to play"]
    found = Sayings.of(["yes", "yes", "playing", "no"], asked, Thesaurus())
    assert (0, 2) in pairs(found.again())
    assert not {(1, 2), (2, 3)} & set(pairs(found.again()))


def test_wordnet_knows_more_than_our_lists() -> None:
    thesaurus = open_thesaurus(None, needed=False)
    if not isinstance(thesaurus, WordNet):
        pytest.skip("WordNet comes with the offline extra")
    texts = ["a puppy", "a dog", "a cat", "strolling", "walked", "sprinting", "agreeing with her", "express agreement"]
    assert pairs(Sayings.of(texts).again()) == [(0, 1), (3, 4), (6, 7)]
    assert pairs(Sayings.of(texts, thesaurus=Thesaurus()).again()) == [(6, 7)]  # by its ending


def questions(size: int) -> Responses:
    return responses_of(
        [Text(f"which w{k % 12} place {k}") for k in range(size)],
        [Text(f"w{k % 12} thing t{k}") for k in range(size)],
        [None] * size,
        [str(k % 2) for k in range(size)],
    )


def test_the_bound_holds_and_is_near_where_like_questions_come_in_fours() -> None:
    rows = questions(192)
    models = fit_models(rows, StageOptions("tfidf", "tfidf"))
    found = match_stage(rows, models, StageOptions("tfidf", "tfidf"))
    assert found.blocks is not None
    assert found.weight <= found.bound < 0
    assert found.gap == (found.bound - found.weight) / -found.weight < 0.1
    assert set(Counter(found.blocks.tolist()).values()) == {4}
    assert all(rows.folds[i] == rows.folds[j] for j, i in enumerate(found.wrong[0].tolist()))


def test_places_of_right_answers_are_balanced_over_each_split_and_random_in_a_block() -> None:
    rows = [AnsweredQuestion(str(k), Text("q"), Text(f"a{k}"), fold=str(k % 5)) for k in range(403)]
    block = np.arange(403) % 100
    wrong = wrong_of(block, 3, np.random.default_rng(0))
    laid = lay_out(wrong, rows, "answer", 0, "secret", np.arange(403) % 5 == 1)
    for folds in ((0,), (1,), (2, 3, 4)):  # val, test, train
        counts = np.bincount(laid.answer[np.isin(np.arange(403) % 5, folds)], minlength=4)
        assert counts.max() - counts.min() <= 1
    of_block = [len(set(laid.answer[one[one >= 0]].tolist())) for one in members_of(block)]
    assert len(set(of_block)) > 2  # neither all different nor all the same
