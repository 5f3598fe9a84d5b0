"""A folder of photographs: found at any depth, labelled by CSV or JSONL, bad rows named by file and line."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from veridical.errors import UserError
from veridical.sources import open_source
from veridical.sources.folder import Folder
from veridical.sources.pictures import BadPhotograph


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    (folder / "pets" / "cats").mkdir(parents=True)
    (folder / ".thumbnails").mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (40, 30), "red").save(folder / "b.jpg")
    Image.new("RGB", (40, 30), "red").save(folder / "pets" / "turned.JPG", "JPEG", exif=exif)
    Image.new("L", (20, 10)).save(folder / "pets" / "cats" / "a.png")
    Image.new("L", (20, 10)).save(folder / ".thumbnails" / "a.png")
    (folder / "broken.jpg").write_bytes(b"no")
    (folder / "notes.txt").write_text("no photograph")
    return folder


NAMES = ["b.jpg", "broken.jpg", "pets/cats/a.png", "pets/turned.JPG"]


def test_photographs_are_found_at_any_depth_in_order(photos: Path) -> None:
    source = open_source(f"folder:{photos}")
    found = {p.panel.id: p for p in source.photographs()}
    assert list(found) == NAMES
    assert (found["pets/turned.JPG"].panel.width, found["pets/turned.JPG"].panel.height) == (30, 40)
    assert found["b.jpg"].panel.objects == ()
    assert source.picture(found["b.jpg"]) == (photos / "b.jpg").read_bytes()
    assert Image.open(io.BytesIO(source.picture(found["pets/cats/a.png"]))).mode == "RGB"
    assert found["broken.jpg"].panel.width is None
    with pytest.raises(BadPhotograph, match=r"broken\.jpg"):
        source.picture(found["broken.jpg"])
    assert source.config() == {"source": "folder", "labels": None, "max_side": None}


ROWS: list[dict[str, Any]] = [
    {"file": "b.jpg", "category": "dog", "box": [1, 2, 30, 50], "color": "brown", "attribute": "happy|wet"},
    {"file": "b.jpg", "category": "cat"},
    {"file": "b.jpg", "caption": "A dog, and a cat.", "licence": "CC-BY-4.0", "address": "https://example.org/b"},
    {"file": "pets/turned.JPG", "place": "garden"},
]


def as_csv(rows: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [",".join(columns)]
    for row in rows:
        values = [" ".join(map(str, v)) if isinstance(v, list) else str(v) for v in (row.get(c, "") for c in columns)]
        lines.append(",".join(f'"{value}"' for value in values))
    return "\ufeff" + "\r\n".join(lines)


def as_jsonl(rows: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(row) for row in rows) + "\n\n"


@pytest.mark.parametrize(("name", "text"), [("labels.csv", as_csv(ROWS)), ("labels.jsonl", as_jsonl(ROWS))])
def test_labels_are_read(photos: Path, name: str, text: str) -> None:
    (photos / name).write_text(text, encoding="utf-8")
    found = {p.panel.id: p for p in Folder(photos).photographs()}
    assert list(found) == NAMES
    first = found["b.jpg"]
    dog, cat = first.panel.objects
    assert (dog.category, dog.box) == ("dog", (1, 2, 30, 30))
    assert dog.attributes == (("color", "brown"), ("attribute", "happy"), ("attribute", "wet"))
    assert (cat.category, cat.box, cat.attributes) == ("cat", None, ())
    assert cat.id != dog.id
    assert first.captions == ("A dog, and a cat.",)
    assert (first.licence, first.panel.uri) == ("CC-BY-4.0", "https://example.org/b")
    assert found["pets/turned.JPG"].tags == (("place", "garden"),)


def test_attributes_of_json_rows_may_be_a_list_or_named(photos: Path) -> None:
    rows = [
        {"file": "b.jpg", "category": "dog", "attributes": ["wet", "old"]},
        {"file": "b.jpg", "category": "dog", "attributes": {"legs": 3, "barks": True, "name": None}},
    ]
    (photos / "labels.jsonl").write_text(as_jsonl(rows))
    one, two = next(Folder(photos).photographs()).panel.objects
    assert one.attributes == (("attribute", "wet"), ("attribute", "old"))
    assert two.attributes == (("legs", "3"), ("barks", "true"))


def test_smaller_photographs_have_smaller_boxes(photos: Path) -> None:
    (photos / "labels.jsonl").write_text(as_jsonl(ROWS))
    source = Folder(photos, max_side=20)
    first = next(source.photographs())
    assert (first.panel.width, first.panel.height, first.panel.objects[0].box) == (20, 15, (0.5, 1, 15, 15))
    assert Image.open(io.BytesIO(source.picture(first))).size == (20, 15)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"category": "dog"}, "line 3: names no file"),
    ({"file": "none.jpg", "category": "dog"}, r"line 3: 'none\.jpg' is not a photograph"),
    ({"file": "b.jpg", "category": "dog", "box": [1, 2, 3]}, "line 3: the box .* is not four numbers"),
    ({"file": "b.jpg", "category": "dog", "box": [5, 5, 2, 9]}, "line 3: the box .* is empty"),
    ({"file": "b.jpg", "box": [5, 5, 7, 9]}, "line 3: has a box and no category"),
    ({"file": "b.jpg", "licence": "none"}, "line 3: .* has the licence 'CC0' already"),
]


@pytest.mark.parametrize(("row", "says"), BAD)
@pytest.mark.parametrize("name", ["labels.csv", "labels.jsonl"])
def test_bad_rows_are_named_by_file_and_line(photos: Path, name: str, row: dict[str, Any], says: str) -> None:
    rows = [{"file": "b.jpg", "licence": "CC0"}, row, {"file": "b.jpg", "category": "cat"}]
    if name.endswith("jsonl"):
        rows.insert(0, {"file": "b.jpg", "caption": "one more line, as CSV has a header"})
    (photos / name).write_text(as_csv(rows) if name.endswith("csv") else as_jsonl(rows))
    with pytest.raises(UserError, match=rf"{name}, {says}") as caught:
        list(Folder(photos).photographs())
    assert "other rows are fine" in caught.value.fix


def test_all_bad_rows_are_found_at_once(photos: Path) -> None:
    (photos / "labels.jsonl").write_text('{"file": "x"}\n{"file": 3}\n{nonsense\n' + '{"file": "y"}\n' * 26)
    listed = r"29 bad rows:\n  line 1: (.|\n)*line 2: (.|\n)*line 3: (.|\n)*and 4 more"
    with pytest.raises(UserError, match=listed):
        list(Folder(photos).photographs())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name,category\nb.jpg,dog\n", "line 1: the columns are name, category"),
        ("file,file\n", "line 1: the columns"),
        ("file,image\nb.jpg,b.jpg\n", "line 1: the columns are file, image"),
        ("", r"labels\.csv has no rows"),
        ("file,category\n", r"labels\.csv has no rows"),
        ("file,category,box\nb.jpg,dog,50 5 60 9\n", r"a dog lies outside of b\.jpg, which has 40 x 30 pixels"),
        ("file,category\nb.jpg\n", "line 2: 1 values, and there are 2 columns"),
        ('file,category\nb.jpg,"dog\n', "unexpected end"),
    ],
)
def test_bad_tables_are_named(photos: Path, text: str, says: str) -> None:
    (photos / "labels.csv").write_text(text)
    with pytest.raises(UserError, match=says):
        list(Folder(photos).photographs())


def test_json_rows_that_name_the_photograph_twice_are_refused(photos: Path) -> None:
    (photos / "labels.jsonl").write_text('{"file": "b.jpg", "image": "broken.jpg", "category": "dog"}')
    with pytest.raises(UserError, match="line 1: two columns mean the same: file, image"):
        list(Folder(photos).photographs())
    (photos / "labels.jsonl").write_text("\n")
    with pytest.raises(UserError, match="has no rows"):
        list(Folder(photos).photographs())


def test_a_name_that_is_not_utf8_is_refused_by_name(photos: Path) -> None:
    try:
        (photos / os.fsdecode(b"caf\xe9.jpg")).write_bytes((photos / "b.jpg").read_bytes())
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    with pytest.raises(UserError, match=r"'caf\\udce9\.jpg'") as caught:
        list(Folder(photos).photographs())
    str(caught.value).encode()  # can be printed


def test_a_pipe_is_listed_and_refused(photos: Path) -> None:
    os.mkfifo(photos / "pipe.jpg")
    source = Folder(photos)
    found = {p.panel.id: p for p in source.photographs()}
    with pytest.raises(BadPhotograph, match=r"pipe\.jpg cannot be used: it is not a regular file"):
        source.picture(found["pipe.jpg"])


def test_what_is_no_folder_of_photographs_is_refused(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no folder"):
        Folder(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no photographs"):
        list(Folder(tmp_path / "empty").photographs())
    (photos / "labels.csv").write_text("file\n")
    (photos / "labels.jsonl").write_text("")
    with pytest.raises(UserError, match="both"):
        Folder(photos)
    (photos / "labels.csv").write_bytes(b"file\n\xff.jpg")
    with pytest.raises(UserError, match="line 2: byte 0xff is not UTF-8"):
        list(Folder(photos, labels=photos / "labels.csv").photographs())
