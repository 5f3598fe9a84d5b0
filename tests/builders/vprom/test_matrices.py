"""Matrices: the paper's definitions, balance, no ambiguity by the oracle, and nothing that tells the answer blindly."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from veridical.builders.vprom import matrices as matrices_module
from veridical.builders.vprom.elements import CELLS, COUNT, RELATIONS, SUBJECT_OF, read_lists
from veridical.builders.vprom.matrices import Matrices, answers, make_deck, make_matrices, plan, shares
from veridical.builders.vprom.mining import Mining, mine, pool_of
from veridical.builders.vprom.pool import SCHEMES, SIDES, Pool, Scheme, make_scheme

from ._painted import Painted
from ._plain import simplest
from ._pools import labels_of, random_pool

SIZE = 1800


@pytest.fixture(scope="module")
def pool() -> Pool:
    return random_pool()


@pytest.fixture(scope="module")
def made(pool: Pool) -> dict[tuple[str, str], tuple[Scheme, Matrices]]:
    out = {}
    for number, name in enumerate(SCHEMES):
        scheme = make_scheme(name, pool, read_lists().schemes, np.random.default_rng(number))
        for side in SIDES:
            deck = make_deck(pool, scheme.photographs(side), scheme.allowed(side))
            out[name, side] = scheme, make_matrices(pool, deck, SIZE, np.random.default_rng(7))
    return out


def test_every_matrix_has_one_answer_by_the_plain_rule(
    pool: Pool, made: dict[tuple[str, str], tuple[Scheme, Matrices]]
) -> None:
    labels = labels_of(pool)
    for _, matrices in made.values():
        for n in range(0, len(matrices), 25):
            crops = [labels[k] for k in matrices.crops[n]]
            relation, completing = simplest(crops[:8], crops[8:])
            assert relation == CELLS[matrices.cell[n]][0]
            assert completing == {matrices.answer[n]}


def test_relations_hold_as_defined(pool: Pool, made: dict[tuple[str, str], tuple[Scheme, Matrices]]) -> None:
    for _, matrices in made.values():
        for n in range(len(matrices)):
            relation, kind = CELLS[matrices.cell[n]]
            full = [*matrices.elements[n, :8], matrices.label[n]]
            rows = [full[0:3], full[3:6], full[6:9]]
            assert {pool.elements[e].type for e in matrices.elements[n]} == {kind}  # distractors too
            if relation == "and":
                assert all(len(set(row)) == 1 for row in rows)
            elif relation == "or":
                assert all(a != b and c in (a, b) for a, b, c in rows)
            elif relation == "union":
                assert len({frozenset(row) for row in rows}) == 1
                assert len(set(rows[0])) == 3
            else:
                counts = [[int(pool.elements[e].name) for e in row] for row in rows]
                steps = {b - a for row in counts for a, b in pairwise(row)}
                assert len(steps) == 1
                assert steps != {0}


def test_each_crop_shows_its_element_and_no_photograph_is_shown_twice(
    pool: Pool, made: dict[tuple[str, str], tuple[Scheme, Matrices]]
) -> None:
    for (_, side), (scheme, matrices) in made.items():
        photographs = pool.photograph[matrices.crops]
        assert scheme.photographs(side)[photographs].all()
        assert all(len(set(row)) == 16 for row in photographs.tolist())
        for crops, elements in zip(matrices.crops[::20], matrices.elements[::20], strict=True):
            assert all(e in pool.depicts[k] for k, e in zip(crops.tolist(), elements.tolist(), strict=True))
        assert all(len(set(row)) == 8 for row in matrices.elements[:, 8:].tolist())


def test_no_photograph_crosses(pool: Pool, made: dict[tuple[str, str], tuple[Scheme, Matrices]]) -> None:
    for name in SCHEMES:
        train, test = (set(pool.photograph[made[name, side][1].crops].ravel().tolist()) for side in SIDES)
        assert not train & test


def test_balance(made: dict[tuple[str, str], tuple[Scheme, Matrices]]) -> None:
    for _, matrices in made.values():
        assert len(matrices) == SIZE
        relations = Counter(CELLS[k][0] for k in matrices.cell)
        types = Counter(SUBJECT_OF[CELLS[k][1]] for k in matrices.cell)
        places = Counter(matrices.answer.tolist())
        for counts, number in ((relations, 4), (types, 3), (places, 8)):
            assert len(counts) == number
            assert max(counts.values()) - min(counts.values()) <= 3


def test_schemes_bind_context_and_answer(pool: Pool, made: dict[tuple[str, str], tuple[Scheme, Matrices]]) -> None:
    lists = read_lists().schemes
    for (name, side), (scheme, matrices) in made.items():
        for n in range(len(matrices)):
            relation, kind = CELLS[matrices.cell[n]]
            shown = [*matrices.elements[n, :8], matrices.label[n]]
            if name in ("interpolation", "extrapolation") and kind == COUNT:
                counts = {int(pool.elements[e].name) for e in shown}
                early = counts <= ({1, 3, 5, 7, 9} if name == "interpolation" else {1, 2, 3, 4, 5})
                late = counts <= ({2, 4, 6, 8, 10} if name == "interpolation" else {6, 7, 8, 9, 10})
                assert early if side == "train" else late
            elif name == "att.held" and SUBJECT_OF[kind] == "attribute":
                held = {bool({pool.elements[e].group, pool.elements[e].name} & {*lists.held_out}) for e in shown}
                assert held == {side == "test"}
            elif name in ("obj.held", "obj.rel.held", "att.rel.held") and scheme.bound[shown[0]]:
                held = {bool(scheme.held[RELATIONS.index(relation), e]) for e in shown}
                assert held == {side == "test"}


def test_candidates_do_not_tell_the_answer(made: dict[tuple[str, str], tuple[Scheme, Matrices]]) -> None:
    """Among the candidates of free schemes an element is the answer one time in eight, whatever it is."""
    _, matrices = made["neutral", "train"]
    shown = Counter(matrices.elements[:, 8:].ravel().tolist())
    right = Counter(matrices.label.tolist())
    # the sum of squared deviations from 1/8, as a chi-squared statistic over elements
    deviation = [(right[e] - n / 8) ** 2 / (n / 8 * 7 / 8) for e, n in shown.items() if n > 40]
    assert np.mean(deviation) < 1.6


@pytest.fixture(scope="module")
def exact() -> Pool:
    """All that there is to see is labelled: everything has a colour, a pattern and a ground."""
    return pool_of([mine(Painted(3000).photographs(), read_lists(), Mining(), exact=True)], Mining())[0]


def seen_in(pool: Pool, matrices: Matrices) -> tuple[np.ndarray, np.ndarray]:
    """(N, 8) in how many candidates the element of each is seen, (properties, N, 8) how many share its values."""
    bits = pool.bits[matrices.crops[:, 8:]]  # (N, 8, words)
    place = pool.places[matrices.elements[:, 8:]]
    words = np.take_along_axis(bits[:, None], (place // 64)[:, :, None, None], axis=3)[..., 0]  # (N, 8, 8)
    own = (words >> (place % 64).astype(np.uint64)[:, :, None]) & np.uint64(1)
    values = [bits[:, :, low:high] for low, high in pairwise(pool.spans.tolist())]
    alike = [((one[:, :, None] & one[:, None]) != 0).any(axis=3).sum(axis=2) for one in values]
    return own.sum(axis=2), np.stack(alike)


@pytest.mark.parametrize("name", ["neutral", "att.held", "att.rel.held"])
def test_the_answer_is_not_the_odd_one_out(exact: Pool, name: str) -> None:
    """What a candidate was drawn for is seen in no other, whether it is the answer or not.

    So in every property answers are alone with their value as often as distractors are, where all eight may be the
    answer. Where five patterns are all that is held out, other attributes fill up, and all show the fifth.
    """
    scheme = make_scheme(name, exact, read_lists().schemes, np.random.default_rng(0))
    for side in SIDES:
        deck = make_deck(exact, scheme.photographs(side), scheme.allowed(side))
        matrices = make_matrices(exact, deck, 6000, np.random.default_rng(1))
        own, alike = seen_in(exact, matrices)
        shown = zip(matrices.elements[:, 8:], matrices.cell, strict=True)
        fill = np.array([np.isin(row, deck.fill[cell]) for row, cell in shown])
        assert (own[~fill] == 1).all()
        free = ~fill.any(axis=1)
        assert free.mean() == 1 if name == "neutral" else free.mean() > 0.75
        right = (np.arange(8) == matrices.answer[:, None])[free]
        for one in alike[:, free] == 1:
            expected = one[~right].mean()
            assert abs(one[right].mean() - expected) < 4 * np.sqrt(max(expected * (1 - expected), 1e-9) / len(one))


def test_a_group_of_eight_gives_all_candidates(exact: Pool) -> None:
    """Else it is four of each of two groups, and a glance at the first row leaves four."""
    deck = make_deck(exact, np.ones(exact.photographs, bool), np.ones((len(RELATIONS), len(exact.elements)), bool))
    matrices = make_matrices(exact, deck, 2000, np.random.default_rng(1))
    groups = np.array([exact.properties.index((e.type, e.group)) for e in exact.elements])
    same = (groups[matrices.elements[:, 8:]] == groups[matrices.label][:, None]).sum(axis=1)
    relation = np.array([CELLS[k][0] for k in matrices.cell])
    for group in ("color", "clothing color"):  # eight each, and an Or needs a ninth
        about = np.array([exact.elements[e].group == group for e in matrices.label])
        assert set(same[about & (relation == "and")]) == {4, 8}
        assert (same[about & (relation == "and")] == 8).mean() > 0.5
        assert same[about & (relation == "or")].max() == 4


def test_candidates_stay_while_the_context_is_drawn_again(exact: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were they drawn anew too, sets and answers that are easily unambiguous would be kept more often."""
    sets: dict[int, list[tuple[int, ...]]] = {}

    class Watched(matrices_module._Draws):
        def __call__(self, state: np.ndarray, rows: np.ndarray) -> np.ndarray:
            why = super().__call__(state, rows)
            for n in rows[self.whole[rows]].tolist():
                sets.setdefault(n, []).append((*self.crops[n, 8:].tolist(), *self.elements[n, 8:].tolist()))
            return why

    monkeypatch.setattr(matrices_module, "_Draws", Watched)
    everything = np.ones((len(RELATIONS), len(exact.elements)), bool)
    deck = make_deck(exact, np.ones(exact.photographs, bool), everything)
    make_matrices(exact, deck, 600, np.random.default_rng(1))
    assert sum(len(own) > 2 for own in sets.values()) > 20
    assert all(len(set(own)) == 1 for own in sets.values() if len(own) < matrices_module.AGAIN)


def test_few_values_that_everything_has_are_no_matrix(exact: Pool) -> None:
    """Where all people have one of two genders, the only man among women would be the answer."""
    assert {("human attribute", "gender"), ("object attribute", "color")} <= exact.dense
    assert not random_pool().dense
    everything = np.ones((len(RELATIONS), len(exact.elements)), bool)
    deck = make_deck(exact, np.ones(exact.photographs, bool), everything)
    gender = {k for k, e in enumerate(exact.elements) if e.group == "gender"}
    assert gender
    assert not gender & {*deck.groups.values.tolist()}
    sparse = random_pool()
    both = {k for k, e in enumerate(sparse.elements) if e.group == "gender"}
    photographs = np.ones(sparse.photographs, bool)
    deck = make_deck(sparse, photographs, np.ones((len(RELATIONS), len(sparse.elements)), bool))
    assert both <= {*deck.groups.values.tolist()}


def test_super_attributes_that_no_matrix_is_about_are_told(exact: Pool) -> None:
    everything = np.ones((len(RELATIONS), len(exact.elements)), bool)
    deck = make_deck(exact, np.ones(exact.photographs, bool), everything)
    parts = [make_matrices(exact, deck, 300, np.random.default_rng(seed)) for seed in (1, 2)]
    found = answers(exact, parts)
    assert found["human attribute"]["gender"] == 0
    assert sum(number for own in found.values() for number in own.values()) == 600
    labels = [exact.elements[e] for part in parts for e in part.label]
    for kind, own in found.items():
        for group, number in own.items():
            assert number == sum((e.type, e.group) == (kind, group) for e in labels)
    assert set(found["object attribute"]) == {"color", "scene", "texture"}  # what no list has is no element


def test_range_tells_as_little_as_eight_distinct_counts_allow(
    pool: Pool, made: dict[tuple[str, str], tuple[Scheme, Matrices]]
) -> None:
    """Five counts cannot fill eight places: as many as can be are in range, the same number in every matrix."""
    count = np.array([int(e.name) if e.type == COUNT else 0 for e in pool.elements])
    for (name, side), (_, matrices) in made.items():
        if name in ("interpolation", "extrapolation"):
            rows = np.array([CELLS[k][1] == COUNT for k in matrices.cell])
            numbers = count[matrices.elements[rows, 8:]]
            late = numbers % 2 == 0 if name == "interpolation" else numbers > 5
            in_range = (late if side == "test" else ~late).sum(axis=1)
            is_or = np.array([CELLS[k][0] == "or" for k in matrices.cell[rows]])
            assert set(in_range[~is_or]) == {5}
            assert set(in_range[is_or]) == {4}  # the fifth is in the last row, and would complete it too


def assert_even(numbers: Counter[Any], kinds: int) -> None:
    """Every kind comes up about as often, by a chi-squared test that fails one time in some thousands."""
    assert len(numbers) == kinds
    expected = sum(numbers.values()) / kinds
    statistic = sum((n - expected) ** 2 / expected for n in numbers.values())
    assert statistic < kinds - 1 + 4 * np.sqrt(2 * (kinds - 1)), numbers


@pytest.fixture(scope="module")
def rows(made: dict[tuple[str, str], tuple[Scheme, Matrices]]) -> dict[str, np.ndarray]:
    """relation -> (N, 3, 3) elements of whole matrices, the answer last."""
    both = [made["neutral", side][1] for side in SIDES]
    full = np.concatenate([np.concatenate([m.elements[:, :8], m.label[:, None]], axis=1) for m in both])
    relation = np.concatenate([[CELLS[k][0] for k in m.cell] for m in both])
    return {name: full[relation == name].reshape(-1, 3, 3) for name in RELATIONS}


def test_the_third_panel_of_an_or_repeats_the_first_as_often_as_the_second(rows: dict[str, np.ndarray]) -> None:
    for row in range(3):  # the answer's too
        assert_even(Counter((rows["or"][:, row, 2] == rows["or"][:, row, 0]).tolist()), 2)
    turns = rows["or"][:, :, 2] == rows["or"][:, :, 0]
    assert_even(Counter(map(tuple, turns.tolist())), 8)  # one row tells nothing about another


def test_rows_of_a_union_are_in_any_order(rows: dict[str, np.ndarray]) -> None:
    """The answer is as often in each column, and the rest of each row is in either order."""
    for row in range(2):
        places = [[x.tolist().index(e) for e in m[2]] for m in rows["union"] for x in [m[row]]]
        assert_even(Counter(map(tuple, places)), 6)
    assert_even(Counter((m[0].tolist().index(m[2, 2]), m[1].tolist().index(m[2, 2])) for m in rows["union"]), 9)


def test_rows_of_an_and_differ(rows: dict[str, np.ndarray]) -> None:
    """Were all rows of one element, no row would be needed to find it."""
    assert np.mean([len({*m[:, 0].tolist()}) == 3 for m in rows["and"]]) > 0.9


def test_progressions_take_every_step_that_leads_to_the_answer(pool: Pool, rows: dict[str, np.ndarray]) -> None:
    counts = np.array([int(e.name) if e.type == COUNT else 0 for e in pool.elements])[rows["progression"]]
    steps = counts[:, 2, 1] - counts[:, 2, 0]
    assert set(steps.tolist()) == {-4, -3, -2, -1, 1, 2, 3, 4}
    assert_even(Counter(counts[:, 2, 2].tolist()), 10)  # every count is the answer as often
    for last in (1, 5, 10):
        possible = [s for s in range(-4, 5) if s and 1 <= last - 2 * s <= 10]
        taken = Counter(steps[counts[:, 2, 2] == last].tolist())
        assert set(taken) == set(possible)
        assert_even(taken, len(possible))
    first = counts[:, :, 0]
    assert np.mean([len({*m.tolist()}) == 1 for m in first]) < 0.1  # rows begin elsewhere


def test_context_shows_distractors(made: dict[tuple[str, str], tuple[Scheme, Matrices]]) -> None:
    """Having been seen before is no sign of the answer: distractors were seen too."""
    _, matrices = made["neutral", "test"]
    seen = [len(set(row[:8]) & set(row[8:])) for row in matrices.elements.tolist()]
    assert np.mean(np.array(seen) >= 3) > 0.95


def test_the_same_seed_gives_the_same_matrices(pool: Pool) -> None:
    scheme = make_scheme("neutral", pool, read_lists().schemes, np.random.default_rng(0))
    deck = make_deck(pool, scheme.photographs("train"), scheme.allowed("train"))
    one, other, third = (make_matrices(pool, deck, 300, np.random.default_rng(s)) for s in (1, 1, 2))
    assert (one.crops == other.crops).all()
    assert not (one.crops == third.crops).all()


def test_shares_without_attributes() -> None:
    """COCO has categories and counts: both types and all four relations still get equal parts."""
    possible = np.array([SUBJECT_OF[kind] != "attribute" for _, kind in CELLS])
    found = shares(possible)
    for relation in RELATIONS:
        assert sum(s for s, (r, _) in zip(found, CELLS, strict=True) if r == relation) == pytest.approx(1 / 4)
    assert sum(s for s, (_, k) in zip(found, CELLS, strict=True) if k == COUNT) == pytest.approx(1 / 2)


def test_too_small_a_pool_says_what_is_missing() -> None:
    small = random_pool(crops=60, categories=5)
    scheme = make_scheme("obj.held", small, read_lists().schemes, np.random.default_rng(0))
    deck = make_deck(small, scheme.photographs("test"), scheme.allowed("test"))
    assert not deck.possible[CELLS.index(("and", "object category"))]
    cells, _ = plan(deck, 10, np.random.default_rng(0)) if deck.possible.any() else (np.empty(0, int), None)
    assert CELLS.index(("and", "object category")) not in cells
