"""A filter, an address and back; and what DuckDB keeps is what a plain loop keeps."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.web.explore.conftest import predict

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, Ref, Text, object_names
from veridical.web.explore.catalogue import Catalogue
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.filters import MOST_VALUES, ItemFilter

NAMES = ("split", "page", "q", "scheme", ".page", "a tag", "ä&=", "id", "all")
WORDS = ("red", "box", "Tower", "it's", "50%", "_", "a'b")


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.text(max_size=5)), max_size=8), st.text(max_size=12))
def test_a_filter_is_an_address_and_back(pairs: list[tuple[str, str]], text: str) -> None:
    wanted = ItemFilter("main").searching(text)
    for facet, value in pairs:
        wanted = wanted if wanted.has(facet, value) else wanted.toggled(facet, value)
    query = parse_qsl(wanted.query(page=3, id="x"), keep_blank_values=True)
    assert ItemFilter.of(query, ["main"], "main") == wanted


def test_toggling_twice_changes_nothing_and_other_schemes_are_refused() -> None:
    wanted = ItemFilter("main").toggled("split", "dev").toggled("phenomenon", "negation")
    assert wanted.toggled("split", "test").toggled("split", "test") == wanted
    assert wanted.toggled("split", "dev") == ItemFilter("main").only("phenomenon", "negation")
    assert ItemFilter.of([("scheme", "other")], ["main"], "main").scheme == "main"


def test_an_address_chooses_so_many_values_and_no_more() -> None:
    query = [("phenomenon", str(number % 2000)) for number in range(3000)] + [("split", "dev"), ("q", "box")]
    wanted = ItemFilter.of(query, ["main"], "main")
    assert wanted.facets == {"phenomenon": tuple(map(str, range(MOST_VALUES)))}
    assert wanted.text == "box"
    twice = [("split", "dev")] * 3000 + [("phenomenon", "negation")]  # the same again is one
    assert ItemFilter.of(twice, ["main"], "main").facets == {"split": ("dev",), "phenomenon": ("negation",)}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Statements with every kind of word and tag: tags twice, tags named as our own facets, no tags."""
    out = tmp_path_factory.mktemp("filters") / "made"
    with BenchmarkWriter(out, name="words", task="statement", hidden=["secret"]) as writer:
        writer.add_panels([Panel("p")])
        number = 0
        for split, count in (("dev", 60), ("secret", 20)):
            items = []
            for _ in range(count):
                number += 1
                said = [WORDS[number * k % len(WORDS)] for k in (1, 2, 3)][: number % 4]
                tokens = (*said, Ref(("0",))) if number % 3 == 0 else ()
                tags = [("color", "red"), ("color", "red")] if number % 2 else [("split", "odd")]
                tags += [("color", "blue")] if number % 5 == 0 else []
                text = Text(" ".join(said) or "nothing", tokens)
                items.append(
                    Item(f"{split}-{number}", "statement", ("p",), text, TRUTH, number % 7 % 2, tags=tuple(tags))
                )
            writer.add_items(split, items)
    return out


@pytest.fixture(scope="module")
def catalogue(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    folder = tmp_path_factory.mktemp("marks")
    one = predict(written, "dev", folder / "one.jsonl", lambda n, item: n % 3 > 0)
    other = predict(written, "dev", folder / "other.jsonl", lambda n, item: n % 2 > 0)
    return Explorer(written, [one, other]).catalogue("main")


def facets_of(n: int, item: Item, split: str) -> dict[str, set[str]]:
    """What an item is, said by a plain loop."""
    out = {"split": {split}, "answer": {"hidden" if split == "secret" else ("false", "true")[item.answer or 0]}}
    for name, value in item.tags:
        out.setdefault("tag split" if name == "split" else name, set()).add(value)
    if split == "dev":
        marks = n % 3 > 0, n % 2 > 0
        out["solver one"], out["solver other"] = ({"right" if mark else "wrong"} for mark in marks)
        out["solvers"] = {"all right" if all(marks) else "differ" if any(marks) else "all wrong"}
    return out


values = {
    "split": ("dev", "secret", "none such"), "answer": ("true", "false", "hidden"), "color": ("red", "blue"),
    "tag split": ("odd",), "solver one": ("right", "wrong"), "solver other": ("right", "wrong"),
    "solvers": ("all right", "differ", "all wrong"), "no facet": ("x",),
}  # fmt: skip
chosen = st.dictionaries(
    st.sampled_from(sorted(values)), st.sets(st.integers(0, 2), min_size=1, max_size=2), max_size=3
)
words = st.lists(st.sampled_from([*WORDS, "ed", "TOW", "dev-1", "%", "nothing", "zebra"]), max_size=2)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=chosen, words=words)
def test_duckdb_keeps_what_a_plain_loop_keeps(catalogue: Catalogue, chosen, words) -> None:
    picked = {facet: {values[facet][k % len(values[facet])] for k in own} for facet, own in chosen.items()}
    wanted = ItemFilter("main").searching(" ".join(words))
    for facet, own in picked.items():
        wanted = wanted.only(facet, *sorted(own))
    items = [(split, n, item) for split in ("dev", "secret") for n, item in enumerate(catalogue.benchmark.items(split))]
    expected = []
    for number, (split, n, item) in enumerate(items):
        mine = facets_of(n, item, split)
        shown = " ".join(w for w in item.query.tokens if isinstance(w, str)) if item.query.tokens else item.query.raw
        text = f"{item.id} {shown}".lower()
        if all(mine.get(facet, set()) & own for facet, own in picked.items()) and all(w.lower() in text for w in words):
            expected.append(number)
    assert catalogue.numbers(wanted, 100) == expected
    counted = catalogue.count(wanted)
    assert counted.items == len(expected)
    free: dict[str, set[str]] = {}
    for split, n, item in (items[number] for number in expected):
        for facet, own in facets_of(n, item, split).items():
            free.setdefault(facet, set()).update(own)
    for facet in catalogue.facets:
        if facet.name not in picked:
            assert {facet.values[k] for k in counted.values[facet.name]} == free.get(facet.name, set())
    for place, number in list(enumerate(expected))[:: max(1, len(expected) - 1)]:  # the first and the last
        before, after, earlier = catalogue.beside(wanted, number)
        ids = [items[one][2].id for one in expected]
        assert (before, after, earlier) == (
            ids[place - 1] if place else None, ids[place + 1] if place + 1 < len(ids) else None, place
        )  # fmt: skip


def test_a_chosen_facet_is_counted_as_if_it_were_not(catalogue: Catalogue) -> None:
    everything = catalogue.count(catalogue.everything)
    red = catalogue.count(catalogue.everything.only("color", "red"))
    assert red.values["color"] == everything.values["color"]
    assert red.items == everything.values["color"][catalogue.facets.code("color", "red")] < everything.items


def test_pages_cover_everything_once(catalogue: Catalogue) -> None:
    pages = [catalogue.numbers(catalogue.everything, 24, 24 * k) for k in range(4)]
    assert [n for page in pages for n in page] == list(range(80))


def test_a_search_sees_the_names_of_tagged_objects(vcr: Path) -> None:
    """As an item's page spells them, in questions and in answers: `person1`."""
    bench = Benchmark(vcr)
    catalogue = Explorer(vcr).catalogue("main")
    names: dict[str, set[str]] = {}
    for split in bench.splits:
        for item in bench.items(split):
            if item.parent is None:
                texts = [item.query, *item.candidates]
                called = object_names([bench.panels[item.panels[0]]])
                refs = [one for text in texts for one in text.tokens if isinstance(one, Ref)]
                names[item.id] = {called[name] for ref in refs for name in ref.objects}
    every = sorted({name for own in names.values() for name in own})
    assert len(every) > 3
    for name in every:
        found = catalogue.numbers(catalogue.everything.searching(name.upper()), 10**6)
        items = catalogue.items(catalogue.places(found).values())
        assert {one.id for one in items.values()} >= {item for item, own in names.items() if name in own}
