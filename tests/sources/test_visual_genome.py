"""Visual Genome: the array scanner finds what a JSON parser finds, files are joined by id, words are kept."""

from __future__ import annotations

import io
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from veridical.errors import UserError
from veridical.sources import Photograph, Relationship, open_source
from veridical.sources.json_array import elements
from veridical.sources.pictures import BadPhotograph
from veridical.sources.visual_genome import VisualGenome

texts = st.text(st.one_of(st.sampled_from('"\\[]{},: \n'), st.characters(exclude_categories=["Cs"])), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
arrays = st.lists(st.dictionaries(texts, values, max_size=4) | st.lists(values, max_size=4), max_size=6)


@settings(max_examples=120, deadline=None)
@given(arrays, st.integers(1, 200), st.sampled_from([None, 1]), st.booleans())
@example([{"a": "\\"}, {"b": '"}'}], 1, None, True)
@example([{"a": "\\" * 130 + '"'}, []], 64, None, True)
def test_any_array_and_any_chunk_gives_the_same_elements(
    array: list[Any], chunk: int, indent: int | None, ascii_only: bool
) -> None:
    data = json.dumps(array, indent=indent, ensure_ascii=ascii_only).encode()
    found = list(elements(io.BytesIO(data), "file", chunk))
    assert [json.loads(part) for _, part in found] == array
    assert all(data[place : place + len(part)] == part for place, part in found)


@settings(max_examples=60, deadline=None)
@given(arrays, st.integers(0, 400), st.integers(1, 50))
def test_a_file_that_is_cut_off_is_never_taken_for_a_whole_one(array: list[Any], cut: int, chunk: int) -> None:
    data = json.dumps(array).encode()
    if cut < len(data):
        with pytest.raises(UserError, match="file"):
            list(elements(io.BytesIO(data[:cut]), "file", chunk))


@pytest.mark.parametrize("text", ["[{}, 3]", "[{} {}]", "[{},]", "[{}]]", '{"a": [1]}', "[{}] {}", "", "3", "[,{}]"])
def test_what_is_no_array_of_objects_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(UserError, match=r"byte|cut off"):
        list(elements(io.BytesIO(text.encode()), "file"))


def test_a_byte_order_mark_and_spaces_do_not_matter() -> None:
    assert [part for _, part in elements(io.BytesIO(b"\xef\xbb\xbf [ {} , [ ] ]\n"), "file")] == [b"{}", b"[ ]"]
    assert list(elements(io.BytesIO(b" [ ] "), "file")) == []


@pytest.fixture
def official(shared: Path) -> Path:
    return shared / "visual_genome"


@pytest.fixture
def copy(official: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(official, tmp_path / "vg", copy_function=shutil.copyfile))


@pytest.fixture
def rewrite(copy: Path) -> Callable[[str, Callable[[list[Any]], Any]], Path]:
    """Change one of the files."""

    def change(name: str, function: Callable[[list[Any]], Any]) -> Path:
        path = copy / f"{name}.json"
        path.write_text(json.dumps(function(json.loads(path.read_text()))))
        return copy

    copy.chmod(0o755)
    return change


def test_the_official_files_become_photographs(official: Path) -> None:
    found = list(open_source(f"vg:{official}").photographs())
    assert [p.panel.id for p in found] == ["1", "2", "3", "4", "5"]
    first = found[0]
    assert (first.panel.width, first.panel.height) == (800, 600)
    assert first.panel.uri == "https://cs.stanford.edu/people/rak248/VG_100K_2/1.jpg"
    clock = first.panel.objects[0]
    assert clock.category == "clock"
    assert clock.attributes == (("attribute", "green"), ("attribute", "tall"), ("synset", "clock.n.01"))
    assert clock.box == (421, 91, 500, 430)
    assert first.regions[0].phrase == "the clock is green in colour"
    assert first.regions[0].box == (421, 57, 503, 196)
    assert Relationship("1058529", "wears", "5048") in first.relationships


def test_nothing_of_the_official_files_is_lost(official: Path) -> None:
    def read(name: str) -> Any:
        return json.loads((official / f"{name}.json").read_text())

    for photograph, attributes, objects, relations in zip(
        VisualGenome(official).photographs(), read("attributes"), read("objects"), read("relationships"), strict=True
    ):
        ids = {thing.id: thing for thing in photograph.panel.objects}
        assert len(ids) == len(photograph.panel.objects)
        for thing in attributes["attributes"]:
            wanted = {("attribute", a.lower().strip()) for a in thing.get("attributes", [])}
            assert wanted <= set(ids[str(thing["object_id"])].attributes)
        assert {str(o["object_id"]) for o in objects["objects"]} <= set(ids)
        assert len(photograph.relationships) == len(relations["relationships"])
        assert {r.subject for r in photograph.relationships} | {r.object for r in photograph.relationships} <= set(ids)


@pytest.mark.parametrize("name", ["attributes", "objects", "region_descriptions", "relationships"])
def test_files_in_another_order_are_joined_by_id(official: Path, rewrite: Callable[..., Path], name: str) -> None:
    expected = list(VisualGenome(official).photographs())
    folder = rewrite(name, lambda rows: [rows[k] for k in (0, 4, 2, 1, 3)])
    assert list(VisualGenome(folder).photographs()) == expected


def test_an_image_missing_from_one_file_only_lacks_that(official: Path, rewrite: Callable[..., Path]) -> None:
    expected = list(VisualGenome(official).photographs())
    found = list(VisualGenome(rewrite("region_descriptions", lambda rows: rows[:1] + rows[2:])).photographs())
    assert found[1].regions == ()
    assert found[1].panel == expected[1].panel
    assert [found[0], *found[2:]] == [expected[0], *expected[2:]]


def test_image_data_chooses_the_images(official: Path, rewrite: Callable[..., Path]) -> None:
    expected = {p.panel.id: p for p in VisualGenome(official).photographs()}
    found = VisualGenome(rewrite("image_data", lambda rows: [rows[3], rows[1]])).photographs()
    assert list(found) == [expected["4"], expected["2"]]


def test_files_may_be_missing_or_unwanted(copy: Path) -> None:
    lean = VisualGenome(copy, regions=False, relationships=False)
    assert not any(p.regions or p.relationships for p in lean.photographs())
    for name in ("image_data", "objects", "relationships", "region_descriptions"):
        (copy / f"{name}.json").unlink()
    found = list(VisualGenome(copy).photographs())
    assert [p.panel.id for p in found] == ["1", "2", "3", "4", "5"]
    assert found[0].panel.width is None
    (copy / "attributes.json").rename(copy / "attributes.json.zip")
    with pytest.raises(UserError, match=r"only attributes\.json\.zip"):
        VisualGenome(copy)


def words(rows: list[Any]) -> list[Any]:
    rows[0]["attributes"] = [
        {"object_id": 1, "names": ["Tree ", "big  tree"], "x": -5, "y": 10, "w": 50, "h": 5000, "synsets": []},
        {"object_id": 1, "names": ["tree"], "x": 0, "y": 10, "w": 50, "h": 590, "attributes": [" GREEN", "", None]},
        {"object_id": 2, "names": [], "x": 0, "y": 0, "w": 5, "h": 5},
        {"object_id": 3, "names": ["spot"], "x": 7, "y": 7, "w": 0, "h": 0, "attributes": None},
    ]
    return rows


def test_odd_objects_are_repaired_or_left_out(rewrite: Callable[..., Path]) -> None:
    folder = rewrite("attributes", words)
    for name in ("objects", "relationships"):
        (folder / f"{name}.json").unlink()
    tree, spot = next(VisualGenome(folder).photographs()).panel.objects
    assert tree.category == "tree"
    assert tree.attributes == (("name", "big tree"), ("attribute", "green"))
    assert tree.box == (0, 10, 45, 600)
    assert (spot.category, spot.box) == ("spot", None)


def twice(rows: list[Any]) -> list[Any]:
    return [rows[0], rows[0], *rows[1:]]


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("image_data", twice, r"image_data\.json lists image 1 twice"),
        ("objects", twice, r"objects\.json, byte .*: image 1 is there twice"),
        ("objects", lambda rows: [{"objects": []}, *rows], "no image_id"),
        ("attributes", lambda rows: [{"image_id": 1, "attributes": [{"object_id": "x"}]}], "Expected `int`"),
        ("attributes", lambda rows: {"all": rows}, "where '\\[' should be"),
    ],
)
def test_bad_files_are_named(
    rewrite: Callable[..., Path], name: str, change: Callable[[list[Any]], Any], says: str
) -> None:
    folder = rewrite(name, change)
    with pytest.raises(UserError, match=says):
        list(VisualGenome(folder).photographs())


@pytest.mark.parametrize("name", ["attributes", "objects", "region_descriptions", "relationships"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.rstrip()[:-1], "']' should be|cut off"),
        (lambda text: text + "[]", "']' should be|byte"),
        (lambda text: text.rstrip()[:-1] + ', {"image_id": 99, ', "cut off"),
        (lambda text: text.rstrip()[:-1] + ', {"image_id": 1}]', "image 1 is there twice"),
    ],
    ids=["no end", "more after the end", "cut off", "an image again"],
)
def test_every_file_is_read_to_its_end(copy: Path, name: str, change: Callable[[str], str], says: str) -> None:
    path = copy / f"{name}.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(UserError, match=rf"{name}\.json.*({says})"):
        list(VisualGenome(copy).photographs())


def test_images_that_only_another_file_has_are_passed_over(official: Path, rewrite: Callable[..., Path]) -> None:
    expected = list(VisualGenome(official).photographs())
    folder = rewrite("objects", lambda rows: [*rows, {"image_id": 99, "objects": []}])
    assert list(VisualGenome(folder).photographs()) == expected


def test_pictures_are_found_where_the_release_puts_them(copy: Path) -> None:
    source = VisualGenome(copy, max_side=400)
    first, second = list(source.photographs())[:2]
    with pytest.raises(BadPhotograph, match=r"expected at .*VG_100K_2/1\.jpg"):
        source.picture(first)
    copy.chmod(0o755)
    (copy / "VG_100K_2").mkdir()
    Image.new("RGB", (800, 600), "red").save(copy / "VG_100K_2" / "1.jpg")
    assert Image.open(io.BytesIO(source.picture(first))).size == (400, 300) == (first.panel.width, first.panel.height)
    assert first.panel.objects[0].box == (210.5, 45.5, 250, 215)
    (copy / "VG_100K").mkdir()
    Image.new("RGB", (600, 800)).save(copy / "VG_100K" / "2.jpg")
    with pytest.raises(BadPhotograph, match="annotations were made for"):
        source.picture(second)


def test_a_source_goes_to_other_processes(official: Path) -> None:
    source = VisualGenome(official)
    first: Photograph = next(source.photographs())
    assert next(pickle.loads(pickle.dumps(source)).photographs()) == first
    assert source.config()["source"] == "visual_genome"
