"""Synsets and their queries: Table 1 of NLVR2, checked against the queries that were published."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from veridical.builders.nlvr2.queries import (
    ACTIVITIES,
    Query,
    Synset,
    choose,
    concrete_nouns,
    count_points,
    first_queries,
    make_queries,
    read_synsets,
    synset_of,
)
from veridical.builders.nlvr2.word_vectors import Vectors, open_vectors
from veridical.errors import UserError
from veridical.language.wordnet import WordNet


@pytest.fixture(scope="module")
def wordnet() -> WordNet:
    pytest.importorskip("nltk", reason="WordNet comes with the offline extra")
    return WordNet()


def test_wordnet_knows_names_hypernyms_and_animals(wordnet: WordNet) -> None:
    wolf = wordnet.wnid("timber wolf")
    assert wolf == "n02114367"
    assert set(wordnet.names(wolf)) == {"timber wolf", "grey wolf", "gray wolf", "Canis lupus"}
    assert wordnet.is_animal(wolf)
    flute = wordnet.wnid("flute")
    assert flute is not None
    assert not wordnet.is_animal(flute)
    assert wordnet.hypernyms(flute)[:3] == ("woodwind", "wind instrument", "musical instrument")
    assert "artifact" not in wordnet.hypernyms(flute)  # nothing that cannot be seen
    assert wordnet.names(wordnet.sense("otter.n.02") or "")[0] == "otter"
    assert wordnet.sense("otter.n.99") is None
    assert [wordnet.is_concrete(word) for word in ("pear", "justice", "teacher")] == [True, False, False]


@pytest.mark.parametrize("wnid", ["dog", "n99999999", "n1", "v02088094"])
def test_an_unknown_id_is_refused(wordnet: WordNet, wnid: str) -> None:
    with pytest.raises(UserError):
        wordnet.names(wnid)


def test_wordnet_of_a_users_path(tmp_path: Path, wordnet: WordNet) -> None:
    assert WordNet(wordnet.path).names("n02114367") == wordnet.names("n02114367")
    with pytest.raises(UserError, match="no WordNet"):
        WordNet(tmp_path)


def test_the_published_synsets_and_queries(shared: Path, wordnet: WordNet) -> None:
    synsets = read_synsets(shared / "imagenet" / "nlvr2_124_synsets.json", wordnet)
    assert len(synsets) == 124
    made = make_queries(synsets, wordnet, None)
    lines = (shared / "nlvr2" / "dev.json").read_text().splitlines()
    published = {re.sub(r"\d+$", "", json.loads(line)["query"]) for line in lines}
    quantities = {q for q in published if q.split()[0] in {"two", "three", "some", "many", "herd", "group", "bunch"}}
    ours = {query.text for query in made}
    missing = quantities - ours  # ours have better plurals: two geese, not two gooses
    assert len(missing) < 0.1 * len(quantities)
    activities = {q for q in published if q.split()[-1] in ACTIVITIES}
    assert len(activities - ours) < 0.1 * len(activities)


def test_imagenet_lists_are_read(shared: Path, wordnet: WordNet) -> None:
    synsets = read_synsets(shared / "imagenet" / "synset_words.txt", wordnet)
    assert len(synsets) == 1000
    assert synsets[0] == Synset("tench", ("tench", "Tinca tinca"), animal=True, wnid="n01440764")
    assert len({one.name for one in synsets}) == 1000  # there are two cranes and two maillots
    assert 390 < sum(one.animal for one in synsets) < 400


def test_animals_have_activities_and_objects_have_hypernyms_and_similar_things(wordnet: WordNet) -> None:
    vectors = open_vectors(limit=12_000)
    banana, beagle = synset_of("banana", wordnet, "n07753592"), synset_of("beagle", wordnet)
    made = make_queries([banana, beagle], wordnet, vectors)
    kinds = {(q.synset, q.heuristic) for q in made}
    assert kinds == {
        *((name, kind) for name in ("banana", "beagle") for kind in ("quantity", "collective")),
        ("banana", "hypernym"),
        ("banana", "similar"),
        ("beagle", "activity"),
    }
    texts = {q.text for q in made}
    assert {"two bananas", "group of bananas", "bunch of bananas", "banana edible fruit", "beagles eating"} <= texts
    similar = [q.added for q in made if q.heuristic == "similar"]
    nouns = vectors.only(concrete_nouns(vectors, wordnet))
    near = dict(nouns.nearest(vectors.of("banana"), 0.35))
    assert 0 < len(similar) <= 5
    assert all(near[word] > 0.35 for word in similar)
    assert all(wordnet.is_concrete(word) for word in similar)


def test_collective_nouns_and_two_go_further_down() -> None:
    assert Query("group of cups", "cup", "cup", "collective", "group of").wide
    assert Query("two cups", "cup", "cup", "quantity", "two").wide
    assert not Query("three cups", "cup", "cup", "quantity", "three").wide


def test_no_query_is_asked_twice_and_five_of_each_score_a_synset(wordnet: WordNet) -> None:
    made = make_queries([synset_of("timber wolf", wordnet), synset_of("flute", wordnet)], wordnet, None)
    assert len({(q.synset, q.text) for q in made}) == len(made)
    few = first_queries(made, 5)
    assert [sum(q.synset == name for q in few) for name in ("timber wolf", "flute")] == [5, 5]
    assert {q.heuristic for q in few if q.synset == "flute"} == {"quantity", "collective", "hypernym"}


def test_points_and_the_balanced_choice() -> None:
    assert count_points([("a", [True, True, False, False]), ("a", [True, False, False]), ("b", [])]) == {"a": 1, "b": 0}
    animals = [Synset(f"animal {i}", (f"animal {i}",), animal=True) for i in range(5)]
    things = [Synset(f"thing {i}", (f"thing {i}",), animal=False) for i in range(5)]
    points = {one.name: i for i, one in enumerate([*things, *animals])}  # every animal has more points
    chosen = choose(points, [*animals, *things], 6)
    assert [one.name for one in chosen] == ["animal 2", "animal 3", "animal 4", "thing 2", "thing 3", "thing 4"]
    assert len(choose(points, [*animals, *things[:1]], 6)) == 6  # what things lack, animals fill
    with pytest.raises(UserError):
        choose(points, animals, 0)


def test_vectors_of_a_users_file(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("3 2\ncat 1 0\ndog 1 1\ncar 0 1\n")
    vectors = open_vectors(path)
    assert vectors.words == ("cat", "dog", "car")
    assert vectors.nearest(vectors.of("cat"), 0.35) == [("cat", 1.0), ("dog", pytest.approx(0.5**0.5))]
    assert vectors.of("unknown words") is None
    path.write_text("cat 1 0\ndog 1\n")
    with pytest.raises(UserError, match="line 2"):
        open_vectors(path)


def test_a_text_is_the_mean_over_its_known_words() -> None:
    vectors = Vectors(["a", "b"], np.array([[2.0, 0.0], [0.0, 3.0]]))
    assert vectors.of("a b zzz") == pytest.approx(np.array([0.5, 0.5]) ** 0.5)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [("s.txt", "", "names no synset"), ("s.json", "[{}]", "synset"), ("s.txt", "cup\ncup", "twice")],
)
def test_bad_lists_are_refused(tmp_path: Path, wordnet: WordNet, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=problem):
        read_synsets(tmp_path / name, wordnet)
