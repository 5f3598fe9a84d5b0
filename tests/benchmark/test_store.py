"""The store: what is written is what is read, hidden parts lie apart, bytes are deterministic."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.benchmark import Benchmark, BenchmarkWriter, tables
from veridical.benchmark.place import hidden_dir
from veridical.benchmark.writer import ROWS_PER_GROUP, content_address
from veridical.errors import UserError
from veridical.records import TRUTH, Item, Judgement, Panel, Ref, SceneObject, Text, View, pairs

from .conftest import png, write_small

names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
pair_lists = st.lists(st.tuples(names, names), max_size=3).map(tuple)
numbers = st.floats(-1e6, 1e6)
boxes = st.none() | st.tuples(numbers, numbers, numbers, numbers)
tokens = st.lists(names | st.builds(Ref, st.lists(names, min_size=1, max_size=2).map(tuple)), max_size=4).map(tuple)
texts = st.builds(Text, names, tokens)
objects = st.builds(
    SceneObject, names, names, pair_lists, boxes, st.none() | numbers,
    st.lists(st.lists(st.tuples(numbers, numbers), max_size=3).map(tuple), max_size=2).map(tuple),
)  # fmt: skip
items = st.builds(
    Item,
    id=names,
    task=st.sampled_from(["statement", "matrix", "choice"]),
    panels=st.lists(names, max_size=3).map(tuple),
    query=st.none() | texts,
    candidates=st.lists(texts, max_size=3).map(tuple) | st.lists(names, max_size=3).map(tuple),
    answer=st.none() | st.integers(0, 7),
    group=st.none() | names,
    origins=st.lists(names, max_size=2).map(tuple),
    views=st.lists(st.builds(View, st.permutations(range(3)).map(tuple), st.none() | names), max_size=2).map(tuple),
    parent=st.none() | names,
    given=st.none() | st.integers(0, 3),
    program=st.none() | names,
    writer=st.none() | names,
    tags=pair_lists,
)
panels = st.builds(
    Panel, names, st.none() | names, boxes, st.none() | st.integers(0, 9999), st.none() | st.integers(0, 9999),
    st.lists(objects, max_size=2).map(tuple), st.none() | names, st.none() | names,
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(items, max_size=4), st.lists(panels, max_size=4))
def test_records_survive_tables(some_items: list[Item], some_panels: list[Panel]) -> None:
    assert list(tables.items_from(tables.items_table(some_items))) == some_items
    assert list(tables.panels_from(tables.panels_table(some_panels))) == some_panels


def test_reads_back(small: Path) -> None:
    benchmark = Benchmark(small)
    item = next(benchmark.items("dev"))
    assert (item.id, item.answer, item.program) == ("dev-0", 0, "(exists dog)")
    assert item.query == Text('["A", [0]]', ("A", Ref(("0",))))
    assert benchmark.panels["dev-p0"].objects[0].attribute("color") == "red"
    assert benchmark.image(item.views[0].image or "").to_pybytes() == png(0)
    assert [j.verdict for j in benchmark.judgements()] == [0, 1, 0, 1, "nonsense"]
    assert benchmark.pruned_table().to_pylist() == [{"item": "dev-9", "reason": "nonsense", "stage": "validation"}]
    assert benchmark.manifest["counts"] == {
        "items": {"main": {"dev": 4, "test": 2}}, "images": 6, "panels": 6, "judgements": 5, "pruned": 1
    }  # fmt: skip


def test_hidden_parts_lie_apart(small: Path) -> None:
    benchmark = Benchmark(small)
    public = list(benchmark.items("test"))
    assert {(i.answer, i.program, i.tags) for i in public} == {(None, None, (("synset", "dog"),))}
    whole = list(benchmark.items("test", answers=True))
    assert [(i.answer, i.program) for i in whole] == [(0, "(exists dog)"), (1, "(exists dog)")]
    assert whole[0].tag("balance") == ("balanced",)
    assert len(list(benchmark.judgements(hidden=True))) == 7
    for path in small.iterdir():
        assert b"w2" not in path.read_bytes() or path.name == "judgements.parquet"
    assert {p.name for p in hidden_dir(small).iterdir()} == {
        "answers-main-test.parquet", "hidden.json", "judgements.parquet"
    }  # fmt: skip


def test_candidate_panels_of_hidden_items_lose_their_objects(tmp_path: Path) -> None:
    thing = SceneObject("0", "dog")
    matrix = Item("m", "matrix", ("a",), candidates=("b", "c"), answer=1)
    with BenchmarkWriter(tmp_path / "m", name="m", task="matrix", hidden=["test"]) as writer:
        writer.add_items("test", [matrix])
        writer.add_panels([Panel(p, objects=(thing,)) for p in "abc"])
    assert {k: len(p.objects) for k, p in Benchmark(tmp_path / "m").panels.items()} == {"a": 1, "b": 0, "c": 0}
    secret = pq.read_table(hidden_dir(tmp_path / "m") / "panels.parquet")
    assert [p.id for p in tables.panels_from(secret)] == ["b", "c"]


def test_answers_without_the_hidden_folder(small: Path, tmp_path: Path) -> None:
    hidden_dir(small).rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="hidden"):
        Benchmark(small).items_table("test", answers=True)


def test_hidden_folder_of_another_build_is_refused(tmp_path: Path) -> None:
    one, other = write_small(tmp_path / "one"), write_small(tmp_path / "other", shade=1)
    hidden_dir(other).rename(tmp_path / "aside")
    hidden_dir(one).rename(hidden_dir(other))
    with pytest.raises(UserError, match="another build"):
        Benchmark(other).items_table("test", answers=True)


def test_hidden_answers_that_lack_an_item_are_damaged(small: Path) -> None:
    path = small.with_name(f"{small.name}.hidden") / "answers-main-test.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(UserError, match="it says nothing of"):
        list(Benchmark(small).items("test", answers=True))


def test_same_records_same_bytes(tmp_path: Path) -> None:
    one, other = write_small(tmp_path / "a" / "x"), write_small(tmp_path / "b" / "x")
    assert {p.name: p.read_bytes() for p in one.iterdir()} == {p.name: p.read_bytes() for p in other.iterdir()}
    assert Benchmark(one).hash == Benchmark(other).hash


def test_batches_do_not_change_bytes(tmp_path: Path) -> None:
    count = ROWS_PER_GROUP + 10
    columns = {field.name: pa.nulls(count, field.type) for field in tables.PANELS}
    whole = pa.table(columns | {"id": pa.array(str(n) for n in range(count))}, tables.PANELS)
    for out, step in ((tmp_path / "a", count), (tmp_path / "b", 999)):
        with BenchmarkWriter(out, name="x", task="matrix") as writer:
            for start in range(0, count, step):
                writer.add_panels(whole.slice(start, step))
    assert (tmp_path / "a/panels.parquet").read_bytes() == (tmp_path / "b/panels.parquet").read_bytes()


def test_image_is_stored_once_and_sliced_without_copy(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="matrix") as writer:
        assert writer.add_image(png(3)) == writer.add_image(png(3)) == content_address(png(3))
    benchmark = Benchmark(tmp_path / "x")
    assert benchmark.manifest["counts"]["images"] == 1
    before = pa.total_allocated_bytes()
    assert benchmark.image(content_address(png(3))).size == len(png(3))
    assert pa.total_allocated_bytes() == before


def test_only_tags_known_to_tell_nothing_stay_public(tmp_path: Path) -> None:
    item = Item("a", "statement", (), Text("x"), TRUTH, 1, tags=pairs(gold="1", synset="dog"))
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement", hidden=["test"]) as writer:
        writer.add_items("test", [item])
        writer.add_judgements([Judgement("pruned-sibling", "w", 1, "selection")])
    assert [i.tags for i in Benchmark(tmp_path / "x").items("test")] == [pairs(synset="dog")]
    assert list(Benchmark(tmp_path / "x").judgements()) == []
    assert len(list(Benchmark(tmp_path / "x").judgements(hidden=True))) == 1


def test_a_misspelt_hidden_split_publishes_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match="'tset'"),
        BenchmarkWriter(tmp_path / "x", name="x", task="statement", hidden=["tset"]) as writer,
    ):
        writer.add_items("test", [Item("a", "statement", (), Text("x"), TRUTH, 1)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("split", ["..", "a/b", "", "x" * 65, "a\0b"])
def test_a_split_cannot_be_named_anything(tmp_path: Path, split: str) -> None:
    with pytest.raises(UserError, match="cannot name"), BenchmarkWriter(tmp_path / "x", name="x", task="matrix") as w:
        w.add_items(split, [])


def test_a_hidden_file_is_hashed_and_lies_apart(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement", hidden=["test"]) as writer:
        writer.add_items("test", [Item("a", "statement", (), Text("x"), TRUTH, 1)])
        writer.add_hidden_file("secret.txt", b"sesame")
    opened = Benchmark(tmp_path / "x")
    assert (opened.hidden_directory / "secret.txt").read_bytes() == b"sesame"
    manifest = opened.hidden_manifest()
    assert manifest is not None
    assert manifest["files"]["secret.txt"]["bytes"] == 6
    assert not any(b"sesame" in path.read_bytes() for path in opened.directory.iterdir())


@pytest.mark.parametrize(("name", "hidden"), [("../secret.txt", ["test"]), ("secret.txt", [])])
def test_a_hidden_file_needs_a_hidden_folder(tmp_path: Path, name: str, hidden: list[str]) -> None:
    writer = BenchmarkWriter(tmp_path / "x", name="x", task="matrix", hidden=hidden)
    with pytest.raises(ValueError, match=r"not the name of a file|no split is hidden"), writer:
        writer.add_hidden_file(name, b"")
    assert list(tmp_path.iterdir()) == []


def test_error_in_the_block_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), BenchmarkWriter(tmp_path / "x", name="x", task="matrix"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_opening_what_is_not_a_benchmark(tmp_path: Path, small: Path) -> None:
    with pytest.raises(UserError, match=r"no benchmark\.json"):
        Benchmark(tmp_path)
    with pytest.raises(UserError, match="no split 'train'"):
        Benchmark(small).items_table("train")
    with pytest.raises(UserError, match="no scheme"):
        Benchmark(small).splits_of("neutral")
    manifest = json.loads((small / "benchmark.json").read_text())
    (small / "benchmark.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(UserError, match="format 99"):
        Benchmark(small)
    (small / "benchmark.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        Benchmark(small)
    (small / "benchmark.json").write_text('{"format": 1}')
    with pytest.raises(UserError, match="damaged"):
        Benchmark(small)
