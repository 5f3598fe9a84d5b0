"""`import table --hide`: neither the order of rows, nor their tags, nor what is in their pictures tells an answer."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import veridical
from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.errors import UserError

from ._tables import COLOURS, picture

SECRET = "a text that only its owner has"
COLUMNS = ("question", "A", "B", "answer", "split", "source", "image")


def rows(count: int) -> list[dict[str, str]]:
    """Answers in turn; the source tells them."""
    return [
        {"question": f"q{k}", "A": "x", "B": "y", "answer": "AB"[k % 2], "split": "test" if k % 3 else "dev",
         "source": f"tells {k % 2}", "image": f"{k}.png"}
        for k in range(count)
    ]  # fmt: skip


def table(folder: Path, count: int = 90, **more: str) -> Path:
    """A table, and a picture for each of its rows."""
    folder.mkdir(exist_ok=True)
    with (folder / "q.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*COLUMNS, *more])
        writer.writeheader()
        writer.writerows(
            [row | {name: f"{text}{k}" for name, text in more.items()} for k, row in enumerate(rows(count))]
        )
    for k in range(count):
        (folder / f"{k}.png").write_bytes(picture(list(COLOURS)[k % 8], k, 4))
    return folder / "q.csv"


def imported(path: Path, out: Path, **options: Any) -> Benchmark:
    veridical.import_release("table", path, out, hide=["test"], **options)
    report = check(out)
    assert report.ok, report.problems
    return Benchmark(out)


def asked(opened: Benchmark, split: str = "test") -> list[int]:
    """The rows of the table that a split's items were, in the split's order."""
    return [int(item.query.raw[1:]) for item in opened.items(split)]


def test_hidden_rows_are_in_no_order_of_the_table(tmp_path: Path) -> None:
    opened = imported(table(tmp_path / "t"), tmp_path / "b")
    order = asked(opened)
    hidden = [k for k in range(90) if k % 3]
    assert sorted(order) == hidden
    assert sum(mine < theirs for mine, theirs in pairwise(order)) < 45  # of 59; 59 in order
    by_number = sorted(opened.items("test"), key=lambda item: int(item.id))
    assert [item.query.raw for item in by_number] == [f"q{k}" for k in order]  # numbers say no more
    answers = {item.query.raw: item.answer for item in opened.items("test", answers=True)}
    assert answers == {f"q{k}": k % 2 for k in hidden}
    assert asked(opened, "dev") == [k for k in range(90) if k % 3 == 0]
    assert [item.id for item in opened.items("dev")] == [str(k + 1) for k in range(90) if k % 3 == 0]


def test_pictures_of_hidden_rows_are_in_their_order(tmp_path: Path) -> None:
    opened = imported(table(tmp_path / "t"), tmp_path / "b")
    shown = [panel for split in ("dev", "test") for item in opened.items(split) for panel in item.panels]
    assert opened.panels_table(["id"])["id"].to_pylist() == shown
    stored = [address for images in opened.image_tables for address in images["address"].to_pylist()]
    assert [address[:32] for address in stored] == shown


def test_the_secret_gives_the_order_again(tmp_path: Path) -> None:
    path = table(tmp_path / "t")
    first, second = imported(path, tmp_path / "a"), imported(path, tmp_path / "b")
    assert asked(first) != asked(second)
    kept = (first.hidden_directory / "secret.txt").read_text().strip()
    assert asked(imported(path, tmp_path / "c", secret=kept)) == asked(first)
    with pytest.raises(UserError, match="can be found by trying"):
        imported(path, tmp_path / "d", secret="1234")


def test_ids_of_the_table_are_kept_and_their_order_is_not(tmp_path: Path) -> None:
    opened = imported(table(tmp_path / "t", id="own-"), tmp_path / "b", secret=SECRET)
    assert [item.id for item in opened.items("test")] == [f"own-{k}" for k in asked(opened)]
    assert asked(opened) != sorted(asked(opened))


def test_no_tag_of_a_stranger_is_public(tmp_path: Path) -> None:
    opened = imported(table(tmp_path / "t", query="tells too ", region="tells as well "), tmp_path / "b")
    assert {item.tags for item in opened.items("test")} == {()}
    hidden = next(iter(opened.items("test", answers=True)))
    assert {name for name, _ in hidden.tags} >= {"source"}
    assert all(
        ("source", f"tells {k % 2}") in item.tags
        for k, item in zip(asked(opened, "dev"), opened.items("dev"), strict=True)
    )


def noted(format: str) -> bytes:
    """A picture whose notes tell the answer."""
    image = Image.open(io.BytesIO(picture("red")))
    exif = Image.Exif()
    exif[0x010E] = "ANSWER_IS_A"
    if format == "JPEG":
        exif[0x0112] = 6  # a quarter turn
    info = PngInfo()
    info.add_text("note", "ANSWER_IS_A")
    out = io.BytesIO()
    image.resize((24, 12)).save(out, format, **({"pnginfo": info} if format == "PNG" else {"exif": exif}))
    return out.getvalue()


@pytest.mark.parametrize(("format", "size"), [("PNG", (24, 12)), ("JPEG", (12, 24)), ("WEBP", (24, 12))])
def test_notes_in_pictures_are_not_published(format: str, size: tuple[int, int], tmp_path: Path) -> None:
    data = noted(format)
    assert b"ANSWER_IS_A" in data
    path = table(tmp_path / "t", 6)
    for k in range(6):
        (path.parent / f"{k}.png").write_bytes(data)
    opened = imported(path, tmp_path / "b")
    assert not any(b"ANSWER_IS_A" in one.read_bytes() for one in opened.directory.iterdir())
    panel = next(iter(opened.items("test"))).panels[0]
    found = opened.panels[panel]
    assert found.image is not None
    assert (found.width, found.height) == size  # upright, as people saw it
    if format == "PNG":
        assert Image.open(io.BytesIO(opened.image(found.image))).tobytes() == Image.open(io.BytesIO(data)).tobytes()
    veridical.import_release("table", path, tmp_path / "whole")
    kept = Benchmark(tmp_path / "whole")
    assert any(data in one.read_bytes() for one in kept.directory.iterdir())  # where nothing is hidden, bytes are kept
