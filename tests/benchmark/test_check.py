"""`check` finds every kind of damage, and passes what is whole."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.check import check
from veridical.benchmark.place import hidden_dir
from veridical.benchmark.tables import panels_table
from veridical.benchmark.writer import file_hash
from veridical.common.average_hash import average_hash
from veridical.records import TRUTH, Item, Judgement, Panel, SceneObject, Text, View, pairs

from .conftest import png, write_small


def kinds(out: Path) -> set[str]:
    return {p.kind for p in check(out).problems if p.severity == "error"}


def rehash(out: Path) -> None:
    """Make the manifest agree with changed files, as somebody would who edits a benchmark by hand."""
    path = out / "benchmark.json"
    manifest = json.loads(path.read_text())
    for name, facts in manifest["files"].items():
        facts.update(sha256=file_hash(out / name), bytes=(out / name).stat().st_size)
    path.write_text(json.dumps(manifest))


def edit(path: Path, change: Callable[[list[dict]], None]) -> None:
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def test_whole(small: Path) -> None:
    report = check(small)
    assert report.problems == ()
    assert (report.ok, report.items, report.images) == (True, 6, 6)


def test_ids_of_any_length_are_shown_short(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="b", task="statement") as writer:
        for split in ("dev", "test"):
            items = [Item(split + "i" * 5000, "statement", ("p" * 5000,), Text("s"), TRUTH, 1, origins=("o" * 5000,))]
            writer.add_items(split, items)
    found = check(tmp_path / "b").problems
    assert {"missing-panel", "origin-leak"} <= {one.kind for one in found}
    assert max(len(one.message) for one in found) < 300


@pytest.mark.parametrize(
    "name", ["items-main-dev.parquet", "panels.parquet", "images-00000.arrow", "judgements.parquet"]
)
def test_one_flipped_byte(small: Path, name: str) -> None:
    data = bytearray((small / name).read_bytes())
    data[len(data) // 2] ^= 1
    (small / name).write_bytes(data)
    assert "hash" in kinds(small)


@pytest.mark.parametrize("name", ["items-main-dev.parquet", "panels.parquet", "images-00000.arrow"])
def test_truncated_and_missing_files(small: Path, name: str) -> None:
    (small / name).write_bytes((small / name).read_bytes()[:-100])
    assert "size" in kinds(small)
    (small / name).unlink()
    assert "missing-file" in kinds(small)


def test_a_file_that_does_not_belong(small: Path) -> None:
    (small / "notes.txt").write_text("answers: ...")
    assert [(p.kind, p.severity) for p in check(small).problems] == [("unlisted-file", "warning")]
    (small / "notes.txt").rename(small / "features-clip.arrow")
    assert check(small).problems == ()


def write_broken(out: Path, **changes: object) -> Path:
    """A benchmark whose one item is wrong in the given way."""
    fields: dict = {
        "id": "a", "task": "statement", "panels": ("p",), "query": Text("x"), "candidates": TRUTH, "answer": 1
    }  # fmt: skip
    with BenchmarkWriter(out, name="x", task="statement") as writer:
        address = writer.add_image(png(1))
        writer.add_panels([Panel("p", address)])
        writer.add_items("dev", [Item(**(fields | changes))])
    return out


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, None),
        ({"answer": 2}, "answer-range"),
        ({"answer": None}, "no-answer"),
        ({"candidates": TRUTH[:1], "answer": 0}, "candidates"),
        ({"panels": ("q",)}, "missing-panel"),
        ({"candidates": ("p", "q")}, "missing-panel"),
        ({"task": "riddle"}, "task"),
        ({"parent": "nobody"}, "missing-parent"),
        ({"views": (View((0,), "0" * 64),)}, "missing-image"),
        ({"views": (View((0, 7)),)}, "view"),
        ({"candidates": TRUTH[::-1]}, "candidates"),
        ({"id": ""}, "empty-id"),
    ],
)
def test_wrong_items(tmp_path: Path, changes: dict, kind: str | None) -> None:
    found = kinds(write_broken(tmp_path / "x", **changes))
    assert kind in found if kind else not found


@pytest.mark.parametrize("data", [png(1)[:-20], b"", b"not an image"], ids=["truncated", "empty", "text"])
def test_images_that_cannot_be_read(tmp_path: Path, data: bytes) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement") as writer:
        writer.add_panels([Panel("p", writer.add_image(data))])
    assert kinds(tmp_path / "x") == {"image"}


def test_an_image_that_is_not_what_its_address_says(small: Path) -> None:
    path = small / "images-00000.arrow"
    table = pa.ipc.open_file(path.read_bytes()).read_all()
    swapped = table.set_column(1, "data", table["data"].take(pa.array([1, 0, 2, 3, 4, 5])))
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(swapped)
    rehash(small)
    assert "image" in kinds(small)


def test_a_missing_image(small: Path) -> None:
    path = small / "images-00000.arrow"
    table = pa.ipc.open_file(path.read_bytes()).read_all().slice(1)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    rehash(small)
    assert "missing-image" in kinds(small)


def test_duplicated_id_within_and_across_splits(tmp_path: Path) -> None:
    item = Item("a", "statement", ("p",), Text("x"), TRUTH, 1)
    for number, splits in enumerate((("dev", "dev"), ("dev", "train"))):
        out = tmp_path / str(number)
        with BenchmarkWriter(out, name="x", task="statement") as writer:
            writer.add_panels([Panel("p")])
            for split in splits:
                writer.add_items(split, [item])
        assert kinds(out) == {"duplicate-id"}


@pytest.mark.parametrize("official", [False, True])
def test_origin_in_two_splits(tmp_path: Path, official: bool) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement", official=official) as writer:
        writer.add_panels([Panel("p")])
        for split in ("dev", "train"):
            writer.add_items(split, [Item(split, "statement", ("p",), Text("x"), TRUTH, 1, origins=("set-1",))])
    report = check(tmp_path / "x")
    assert [p.kind for p in report.problems] == ["origin-leak"]
    assert report.ok == official


def test_answer_left_in_a_hidden_split(small: Path) -> None:
    def tell(rows: list[dict]) -> None:
        rows[0].update(answer=1, program="(x)", tags=[{"name": "balance", "value": "balanced"}])

    edit(small / "items-main-test.parquet", tell)
    rehash(small)
    assert kinds(small) >= {"hidden-answer", "hidden-program", "hidden-tag"}


def test_other_things_that_tell_hidden_answers(small: Path) -> None:
    edit(small / "judgements.parquet", lambda rows: rows[0].update(item="test-0"))
    (small / "raw-test.parquet").write_bytes((small / "judgements.parquet").read_bytes())
    rehash(small)
    assert kinds(small) >= {"hidden-judgement", "hidden-file"}


def test_objects_of_hidden_candidates(tmp_path: Path) -> None:
    out = tmp_path / "x"
    with BenchmarkWriter(out, name="x", task="matrix", hidden=["test"]) as writer:
        writer.add_panels([Panel(p, objects=(SceneObject("0", "dog"),)) for p in "ab"])  # before the items: too early
        writer.add_items("test", [Item("m", "matrix", ("a",), candidates=("a", "b"), answer=0)])
    assert kinds(out) == {"hidden-objects"}


def test_objects_that_decide_hidden_statements(tmp_path: Path) -> None:
    """Annotations of photographs are no part of the task: with them anybody could run the sentence."""
    panels = [Panel(p, objects=(SceneObject("0", "dog"),)) for p in "abc"]
    hidden = [Item("t", "statement", ("a", "b"), Text("x"), TRUTH, 1)]
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement", hidden=["test"], hide_objects=True) as writer:
        writer.add_items("train", [Item("s", "statement", ("c",), Text("x"), TRUTH, 1)])
        writer.add_items("test", hidden)
        writer.add_panels(panels)
    assert kinds(tmp_path / "x") == set()
    opened = Benchmark(tmp_path / "x")
    assert {p.id for p in opened.panels.values() if p.objects} == {"c"}
    assert opened.panels_table(hidden=True).equals(panels_table(panels))
    assert opened.panels_table(["id"], hidden=True)["id"].to_pylist() == ["a", "b", "c"]
    with BenchmarkWriter(tmp_path / "y", name="x", task="statement", hidden=["test"], hide_objects=True) as writer:
        writer.add_panels(panels)  # too early
        writer.add_items("test", hidden)
    assert kinds(tmp_path / "y") == {"hidden-objects"}


def edit_manifest(out: Path, change: Callable[[dict], None]) -> None:
    manifest = json.loads((out / "benchmark.json").read_text())
    change(manifest)
    (out / "benchmark.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("what", ["panels", "judgements"])
@pytest.mark.parametrize("said", ["99", None, [3], 1.5])
def test_counts_that_are_no_numbers(small: Path, what: str, said: object) -> None:
    """Found by the fuzzer: ValueError and TypeError."""
    edit_manifest(small, lambda m: m["counts"].update({what: said}))
    assert "count" in kinds(small)


@pytest.mark.parametrize("what", ["images", "panels", "judgements"])
def test_counts_that_are_not_true(small: Path, what: str) -> None:
    edit_manifest(small, lambda m: m["counts"].update({what: 99}))
    assert "count" in kinds(small)


def test_a_split_that_is_not_counted(small: Path) -> None:
    edit_manifest(small, lambda m: m["counts"]["items"]["main"].pop("dev"))
    assert "count" in kinds(small)


def test_a_missing_column(small: Path) -> None:
    path = small / "items-main-dev.parquet"
    pq.write_table(pq.read_table(path).drop_columns("tags"), path)
    rehash(small)
    assert "columns" in kinds(small)


def test_wrong_panels(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="matrix") as writer:
        address = writer.add_image(png(1))
        twice = (SceneObject("0", "dog"), SceneObject("0", "cat"))
        writer.add_panels(
            [Panel("a", address, (0, 0, 9, 9)), Panel("b", region=(5, 0, 5, 9)), Panel("c", objects=twice)]
        )
    assert kinds(tmp_path / "x") == {"region", "duplicate-id"}


def test_an_image_that_is_not_the_published_one_is_worth_knowing(tmp_path: Path) -> None:
    data = png(1)
    right = average_hash(Image.open(BytesIO(data)))
    for name, hashed in (("same", right), ("other", f"{int(right, 16) ^ 1:016x}")):
        with BenchmarkWriter(tmp_path / name, name="x", task="statement") as writer:
            writer.add_panels([Panel("a", writer.add_image(data), phash=hashed)])
    assert check(tmp_path / "same").problems == ()
    (problem,) = check(tmp_path / "other").problems
    assert (problem.kind, problem.severity) == ("average-hash", "warning")
    assert check(tmp_path / "other").ok


def family(**changes: object) -> list[Item]:
    """A question with two answers, and its two rationale items."""
    base: dict = {"task": "choice", "panels": (), "query": Text("why"), "candidates": (Text("a"), Text("b"))}
    items = [Item(id="q", answer=1, **base)]
    for assumed in (0, 1):
        fields = base | {"id": f"q{assumed}", "parent": "q", "given": assumed, "answer": 0 if assumed else None}
        items.append(Item(**(fields | (changes if assumed else {}))))
    return items


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, None),
        ({"given": 9}, "given"),
        ({"given": 0}, "given"),
        ({"answer": None}, "given"),
        ({"parent": "q1"}, "missing-parent"),
        ({"parent": "nobody"}, "missing-parent"),
    ],
)
def test_rationale_items(tmp_path: Path, changes: dict, kind: str | None) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="choice") as writer:
        writer.add_items("val", family(**changes))
    assert kinds(tmp_path / "x") == ({kind} if kind else set())


def test_a_missing_rationale_item(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="choice") as writer:
        writer.add_items("val", family()[:2])
    assert kinds(tmp_path / "x") == {"given"}


def test_verdicts_and_items_of_judgements(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement") as writer:
        writer.add_items("dev", [Item("a", "statement", (), Text("x"), TRUTH, 1)])
        writer.add_judgements([Judgement("a", "w", 7, "extra"), Judgement("nobody", "w", 1, "extra")])
    assert [(p.kind, p.severity) for p in check(tmp_path / "x").problems] == [
        ("judgement", "error"), ("judgement", "warning")
    ]  # fmt: skip


def test_a_group_in_two_splits(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement") as writer:
        for split in ("dev", "train"):
            writer.add_items(split, [Item(split, "statement", (), Text("x"), TRUTH, 1, group="g")])
    assert kinds(tmp_path / "x") == {"group-leak"}


@pytest.mark.parametrize("name", ["answers-main-dev.parquet", "hidden.json"])
def test_hidden_files_in_the_public_folder(small: Path, name: str) -> None:
    (small / name).write_text("x")
    assert kinds(small) == {"hidden-file"}


def test_ids_that_tell_hidden_answers(tmp_path: Path) -> None:
    items = [
        Item(f"{n}-{m}", "statement", (), Text("x"), TRUTH, int(m < 2), group=str(n))
        for n in range(20)
        for m in range(4)
    ]
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement", hidden=["test"]) as writer:
        writer.add_items("test", items)
    assert [(p.kind, p.severity) for p in check(tmp_path / "x").problems] == [("hidden-id", "warning")]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(["a", ",", '"', "é", "x y", [0], [1, 2], "]"]), min_size=2, max_size=6), st.data())
def test_choices_that_are_written_differently_tell_the_right_one(
    tokens: list[str | list[int]], data: st.DataObject
) -> None:
    """Borrowed choices that went through another writer of JSON look different in the raw text."""
    ways = [{}, {"separators": (",", ":")}, {"ensure_ascii": False}]
    one, other = (data.draw(st.sampled_from(ways)) for _ in range(2))
    texts = [json.dumps(tokens, **way) for way in (one, other, other, other)]
    item = Item("q", "choice", (), Text("?"), tuple(map(Text, texts)), 0)
    with tempfile.TemporaryDirectory() as folder:
        with BenchmarkWriter(Path(folder) / "x", name="x", task="choice") as writer:
            writer.add_items("dev", [item])
        assert ("spelling" in kinds(Path(folder) / "x")) == (len(set(texts)) > 1)


def test_a_garbled_hidden_manifest(small: Path) -> None:
    (hidden_dir(small) / "hidden.json").write_text("[]")
    assert kinds(small) == {"unreadable"}


def test_damage_in_the_hidden_folder(small: Path) -> None:
    path = hidden_dir(small) / "answers-main-test.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    assert "size" in kinds(small)


def test_hidden_folder_of_another_build(tmp_path: Path) -> None:
    one, other = write_small(tmp_path / "one"), write_small(tmp_path / "other", shade=1)
    hidden_dir(other).rename(tmp_path / "aside")
    hidden_dir(one).rename(hidden_dir(other))
    assert kinds(other) == {"hidden-mismatch"}


def test_wrong_judgements(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement") as writer:
        writer.add_judgements([Judgement("a", "w", "maybe", "guess")])  # type: ignore[arg-type]
    assert kinds(tmp_path / "x") == {"judgement"}


def test_hidden_tags_follow_the_answer(small: Path) -> None:
    assert all(i.tags == pairs(synset="dog") for i in Benchmark(small).items("test"))
