"""Finding, pruning and constructing sets: the rules of NLVR2's section 3.1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from veridical.builders.nlvr2.photographs import annotation_vectors, describe, near_duplicates
from veridical.builders.nlvr2.queries import Query, Synset
from veridical.builders.nlvr2.search import NARROW, WIDE, LocalSearch, SavedSearch, find_sets, follow
from veridical.builders.nlvr2.sets import (
    ACTS,
    BY_ANNOTATIONS,
    DIVERSE,
    INTERACTS,
    NO_INSTANCE,
    NO_PICTURE,
    SEVERAL,
    TOO_DULL,
    TOO_FEW,
    USED,
    Rule,
    classifier,
    construct,
    interesting,
    prune,
)
from veridical.builders.nlvr2.work import Found, PrunedSet, Seen
from veridical.errors import UserError
from veridical.records import Panel, SceneObject
from veridical.sources import Photograph, Relationship

DOG = Synset("dog", ("dog", "domestic dog"), animal=True)
TWO = Query("two dogs", "dog", "dog", "quantity", "two")
THREE = Query("three dogs", "dog", "dog", "quantity", "three")
HERD = Query("herd of dogs", "dog", "dog", "collective", "herd of")
EATING = Query("dogs eating", "dog", "dog", "activity", "eating")


class Scripted:
    """A search whose k-th result has similar images where `barren` does not name it."""

    def __init__(self, count: int, barren: Sequence[int] = ()) -> None:
        self.results = [f"p{k}" for k in range(1, count + 1)]
        self.barren = {f"p{k}" for k in barren}
        self.asked: list[str] = []

    def ranked(self, query: Query, limit: int) -> list[str]:
        return self.results[:limit]

    def similar(self, photograph: str, query: Query, limit: int) -> list[tuple[str, float]]:
        self.asked.append(photograph)
        return [] if photograph in self.barren else [(f"{photograph}-{k}", 1 - k / 100) for k in range(40)]


def test_thirty_images_or_a_hundred_for_collective_nouns_and_two() -> None:
    assert len(list(follow(Scripted(200), THREE, NARROW))) == 30
    assert len(list(follow(Scripted(200), HERD, WIDE))) == 60  # at most 60 sets of the 100 images
    mostly = Scripted(200, [k for k in range(1, 201) if k % 2])
    assert len(list(follow(mostly, HERD, WIDE))) == 50
    assert len(mostly.asked) == 100
    few = find_sets(Scripted(200), [THREE, HERD, TWO])
    assert len(few) == 60  # a photograph starts one set of a synset
    assert {one.query for one in few[:30]} == {"three dogs"}  # all rank it equally
    assert [one.set for one in few] == [str(n) for n in range(60)]


def test_five_in_a_row_without_similar_images_end_a_query() -> None:
    search = Scripted(30, [2, 3, 4, 5, 7, 8, 9, 10, 11])
    sets = list(follow(search, THREE, NARROW))
    assert [rank for rank, _, _ in sets] == [1, 6]
    assert search.asked[-1] == "p11"


def test_a_set_is_the_image_and_its_fifteen_most_similar() -> None:
    (found,) = find_sets(Scripted(1), [THREE])
    assert found.photographs == ("p1", *(f"p1-{k}" for k in range(15)))
    assert list(found.similarities) == sorted(found.similarities, reverse=True)


def photographs() -> list[Seen]:
    kinds = [{"dog": 1}, {"dog": 2}, {"dog": 3, "ball": 1}, {"cat": 2}, {"dog": 2, "ball": 3}, {"car": 1}]
    return [Seen(f"s{i}", objects=objects) for i, objects in enumerate(kinds)]


def test_a_local_search_ranks_by_annotation_and_finds_neighbours() -> None:
    seen = photographs()
    seen.append(Seen("s6", objects={"dog": 1}, words=("eating",)))
    search = LocalSearch(seen, annotation_vectors(seen), [DOG], least=0.5)
    assert set(search.ranked(TWO, 2)) == {"s1", "s4"}
    assert search.ranked(THREE, 1) == ["s2"]
    assert search.ranked(HERD, 1) == ["s2"]
    assert search.ranked(EATING, 1) == ["s6"]
    assert set(search.ranked(TWO, 100)) == {"s0", "s1", "s2", "s4", "s6"}  # no cat, no car
    near = search.similar("s1", TWO, 15)
    assert near[0][0] == "s0"
    assert all(score >= 0.5 for _, score in near)
    assert search.similar("s5", TWO, 15) == []
    vectors = annotation_vectors(seen)
    cosine = {one.id: float(vectors[i] @ vectors[1]) for i, one in enumerate(seen)}
    expected = sorted((n for n, c in cosine.items() if n != "s1" and c >= 0.5), key=lambda n: -cosine[n])
    assert [name for name, _ in near] == expected


def test_a_photograph_starts_a_set_for_the_query_that_ranks_it_highest() -> None:
    seen = photographs()
    search = LocalSearch(seen, annotation_vectors(seen), [DOG], least=-1)
    best = {one.photographs[0]: one for one in find_sets(search, [TWO, THREE])}
    assert best["s2"].query == "three dogs"
    assert {best[name].query for name in ("s1", "s4")} == {"two dogs"}
    assert [one.rank for one in best.values()] == sorted(one.rank for one in best.values())


def test_what_is_left_out_is_never_found() -> None:
    seen = photographs()
    search = LocalSearch(seen, annotation_vectors(seen), [DOG], left_out=["s1"], least=-1)
    assert "s1" not in search.ranked(TWO, 100)
    assert "s1" not in {name for name, _ in search.similar("s0", TWO, 15)}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_saved_search(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"results{suffix}"
    rows = [("two dogs", 2, "b", ["b", "x"]), ("two dogs", 1, "a", ["x", "y", "x"]), ("three dogs", 1, "c", [])]
    if suffix == ".csv":
        lines = ["query,rank,address,similar", *(f"{q},{r},{a},{' '.join(s)}" for q, r, a, s in rows)]
    else:
        lines = [json.dumps({"query": q, "rank": r, "address": a, "similar": s}) for q, r, a, s in rows]
    path.write_text("\n".join(lines))
    search = SavedSearch(path, left_out=["y"])
    assert search.ranked(TWO, 30) == ["a", "b"]
    assert [name for name, _ in search.similar("a", TWO, 15)] == ["x"]
    assert search.addresses == ["c", "a", "x", "b"]
    assert [one.photographs for one in find_sets(search, [TWO, THREE])] == [("a", "x"), ("b", "x")]


def test_a_bad_line_of_a_saved_search_is_named(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"query": "two dogs", "rank": 1, "address": "a"}\n{"query": "two dogs"}\n')
    with pytest.raises(UserError, match="line 2"):
        SavedSearch(path)


def test_perceptual_hashes_find_exact_and_near_duplicates() -> None:
    seen = [
        Seen("a", phash="f0f0f0f0f0f0f0f0"),
        Seen("b", phash="f0f0f0f0f0f0f0f0"),
        Seen("c", phash="f0f0f0f0f0f0f0f1"),
        Seen("d", phash="0f0f0f0f0f0f0f0f"),
        Seen("e"),
    ]
    assert near_duplicates(seen, 2) == {"b": "a", "c": "a"}
    assert near_duplicates(seen, 0) == {"b": "a"}


def test_pruning_removes_what_has_no_instance_and_discards_small_sets() -> None:
    names = tuple(f"p{k}" for k in range(10))
    seen = {name: Seen(name, objects={"dog": 1}) for name in names}
    seen["p3"] = Seen("p3", objects={"cat": 1})
    seen["p4"] = Seen("p4", objects={"dog": 1}, problem="damaged")
    found = [Found("0", "dog", "q", 1, names, (1.0,) * 10), Found("1", "dog", "q", 2, names[:9], (1.0,) * 9)]
    first, second = prune(found, seen, {"dog": DOG}, BY_ANNOTATIONS)
    assert first.removed == {"p3": NO_INSTANCE, "p4": NO_PICTURE}
    assert first.photographs == tuple(n for n in names if n not in {"p3", "p4"})
    assert not first.discarded
    assert second.discarded == TOO_FEW


def liking(names: Sequence[str]) -> Rule:
    return Rule("test", "", lambda one, synset, number: "liked" if one.id in names else "", {})


def test_construction_puts_interesting_photographs_first_then_similar_ones() -> None:
    names = tuple(f"p{k}" for k in range(12))
    seen = {name: Seen(name) for name in names}
    pruned = [PrunedSet("7", "dog", "q", names)]
    (made,) = construct(pruned, seen, {"dog": DOG}, liking(["p9", "p4", "p11", "p2"]), duplicates={"p5": "p0"})
    assert made.photographs == ("p2", "p4", "p9", "p11", "p0", "p1", "p3", "p6")
    assert made.removed == {"p5": "duplicate"}
    (dull,) = construct(pruned, seen, {"dog": DOG}, liking(["p9", "p4"]))
    assert dull.discarded == TOO_DULL
    (small,) = construct(
        [PrunedSet("7", "dog", "q", names[:8])], seen, {"dog": DOG}, liking(names), duplicates={"p5": "p0"}
    )
    assert small.discarded == TOO_FEW


def test_sets_share_no_photograph_unless_asked_and_synsets_take_turns() -> None:
    names = tuple(f"p{k}" for k in range(16))
    seen = {name: Seen(name) for name in names}
    synsets = {"dog": DOG, "cat": Synset("cat", ("cat",), animal=True)}
    pruned = [
        PrunedSet("0", "dog", "q", names[:8]),
        PrunedSet("1", "dog", "q", names[4:16]),
        PrunedSet("2", "cat", "q", names[6:16]),
    ]
    made = {one.set: one for one in construct(pruned, seen, synsets, liking(names))}
    assert not made["2"].discarded  # the rarer synset first
    assert made["0"].discarded == TOO_FEW
    assert made["0"].removed == {"p6": USED, "p7": USED}
    assert not any(one.discarded for one in construct(pruned, seen, synsets, liking(names), share=True))
    assert sum(not one.discarded for one in construct(pruned, seen, synsets, liking(names), share=True, most=2)) == 2


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (Seen("a", objects={"dog": 2}), SEVERAL),
        (Seen("a", objects={"dog": 1, "ball": 1}, touching=("ball", "dog")), INTERACTS),
        (Seen("a", objects={"dog": 1}, words=("eating",)), ACTS),
        (Seen("a", objects={"dog": 1, "a": 1, "b": 1, "c": 1}), DIVERSE),
        (Seen("a", objects={"dog": 1, "a": 3, "b": 1}), ""),
    ],
)
def test_the_criteria_of_table_2(one: Seen, why: str) -> None:
    assert interesting(one, DOG) == why


def test_what_is_known_of_a_photograph() -> None:
    objects = (
        SceneObject("0", "dog", (("color", "red"), ("action", "running")), (0, 0, 10, 10)),
        SceneObject("1", "ball", (), (5, 5, 20, 20)),
        SceneObject("2", "cat", (), (50, 50, 60, 60)),
        SceneObject("3", "bowl", (), (80, 80, 90, 90)),
    )
    panel = Panel("pets at-home/7.jpg", objects=objects, uri="https://example.org/p.jpg")
    relations = (Relationship("2", "eating from", "3"), Relationship("0", "left of", "2"))
    one = describe(Photograph(panel, "CC0", ("Two dogs Playing.",), relationships=relations))
    assert one.objects == {"ball": 1, "bowl": 1, "cat": 1, "dog": 1}
    assert set(one.words) == {"two", "dogs", "playing", "eating", "from", "running", "pets", "at-home"}
    assert one.touching == ("ball", "bowl", "cat", "dog")
    assert (one.uri, one.licence) == ("https://example.org/p.jpg", "CC0")


def test_a_classifier_learns_labels_and_says_how_well() -> None:
    rng = np.random.default_rng(0)
    seen = [Seen(f"p{k}", objects={"dog": 1 + k % 4}) for k in range(120)]
    vectors = rng.normal(size=(120, 6)).astype(np.float32)
    labels = {f"p{k}": bool(vectors[k, 0] > 0) for k in range(100)}
    rule = classifier(labels, seen, vectors, seed=0)
    assert rule.facts["f1"] > 0.85 > rule.facts["f1_always_interesting"]
    unseen = [(rule.judge(seen[k], DOG, "0") != "") == bool(vectors[k, 0] > 0) for k in range(100, 120)]
    assert sum(unseen) >= 16
    with pytest.raises(UserError, match="labels hold"):
        classifier({"p0": True, "p1": False}, seen, vectors, seed=0)
