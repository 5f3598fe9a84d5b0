"""A benchmark from a stranger: whatever stands in its files, opening it ends in one of our errors or in plain data."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veridical
from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.benchmark.pictures import panel_picture
from veridical.errors import UserError

ITEMS = "items-main-dev.parquet"


def change(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "benchmark.json"
    manifest = json.loads(path.read_bytes())
    change(manifest)
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize("name", ["/tmp/there", "../there", "a/b", "..", "", "x" * 300, "a\0b", "dev\n"])
@pytest.mark.parametrize("what", ["split", "scheme", "hidden", "file"])
def test_names_that_leave_the_folder_are_refused(small: Path, name: str, what: str) -> None:
    def rename(manifest: dict[str, Any]) -> None:
        items = manifest["counts"]["items"]
        if what == "split":
            items["main"][name] = items["main"].pop("dev")
        elif what == "scheme":
            items[name] = items.pop("main")
        elif what == "hidden":
            manifest["hidden"].append(name)
        else:
            manifest["files"][name or "/"] = manifest["files"][ITEMS]

    change(small, rename)
    with pytest.raises(UserError):
        Benchmark(small)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((field, None) for field in ("config", "seed", "licence", "veridical", "counts", "official")),
        ("config", 5), ("config", {"format": ["nlvr"]}), ("config", {"card": 5}), ("config", {"collection": 5}),
        ("name", "x" * 1000), ("counts", {"items": {"main": {"dev": -5}}, "images": 0}),
        ("counts", {"items": {"main": {"dev": 10**30}}, "images": 0}),
    ],
)  # fmt: skip
def test_a_manifest_of_another_shape_is_refused(small: Path, field: str, value: object) -> None:
    """Whoever has an open benchmark reads its manifest without asking."""
    change(small, lambda m: m.pop(field) if value is None else m.update({field: value}))
    with pytest.raises(UserError, match="damaged"):
        Benchmark(small)


@pytest.mark.parametrize("format", ["hf", "croissant", "lmms-eval", "vlmevalkit"])
def test_an_export_of_no_items_ends_in_words(small: Path, tmp_path: Path, format: str) -> None:
    change(small, lambda m: m["counts"].update(items={}))
    with contextlib.suppress(UserError):
        veridical.export(format, small, tmp_path / "out")


def test_an_export_of_hostile_names_writes_nothing_outside(small: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "x"
    target.parent.mkdir()
    change(small, lambda m: m["counts"]["items"]["main"].update({str(target): 4}))
    for format in ("official", "hf", "croissant"):
        with pytest.raises(UserError):
            veridical.export(format, small, tmp_path / "out" / format)
    assert not list(target.parent.iterdir())


@pytest.mark.parametrize("panel", ["../../escaped", "/tmp/escaped-veridical", "a/../../../b"])
def test_panel_ids_do_not_become_paths_outside(tmp_path: Path, panel: str) -> None:
    from veridical.formats.images import is_inside
    from veridical.formats.vcr_writing import image_name
    from veridical.records import Panel

    assert is_inside(image_name(Panel(panel)))
    assert is_inside(image_name(Panel(panel, uri=panel)))
    assert image_name(Panel(panel)) != image_name(Panel(panel + "2"))


def other(table: pa.Table, column: str, value: object, dtype: pa.DataType | None = None) -> pa.Table:
    """The table with another column in the place of one, the same value in all rows."""
    place = table.schema.get_field_index(column)
    return table.set_column(place, column, pa.array([value] * len(table), dtype))


OTHER_TABLES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "no ids": lambda t: other(t, "id", None, pa.string()),
    "lists for ids": lambda t: other(t, "id", [1]),
    "no lists": lambda t: other(t, "tags", None, t.schema.field("tags").type),
    "a missing column": lambda t: t.drop_columns(["candidates"]),
    "no columns": lambda t: pa.table({"a": [1]}),
    "holes in a list": lambda t: other(t, "panels", [None], pa.list_(pa.string())),
    "large numbers": lambda t: other(t, "answer", 1 << 40),
    "an answer that is no candidate": lambda t: other(t, "answer", 2, pa.int8()),
    "another task": lambda t: other(t, "task", "matrix"),
    "one candidate": lambda t: other(t, "candidates", [{"raw": "x", "tokens": []}], t.schema.field("candidates").type),
    "candidates without a text": lambda t: other(t, "candidates", [{"tokens": []}] * 2, t["candidates"].type),
    "a question without a text": lambda t: other(t, "query", {"tokens": []}, t["query"].type),
    "a view of other panels": lambda t: other(t, "views", [{"order": [3], "image": None}], t["views"].type),
}


@pytest.mark.parametrize("case", OTHER_TABLES)
def test_tables_of_another_schema(small: Path, case: str) -> None:
    pq.write_table(OTHER_TABLES[case](pq.read_table(small / ITEMS)), small / ITEMS)
    with pytest.raises(UserError, match=ITEMS):
        list(Benchmark(small).items("dev"))
    assert not check(small).ok


def test_a_box_of_three_numbers(small: Path) -> None:
    path = small / "panels.parquet"
    table = pq.read_table(path)
    pq.write_table(other(table, "region", [0.0, 1.0, 2.0], pa.list_(pa.float64())), path)
    with pytest.raises(UserError, match=r"panels\.parquet"):
        Benchmark(small).panels  # noqa: B018 - reading is what is tested


@pytest.mark.parametrize("edge", [float("nan"), float("inf")])
def test_a_box_that_is_not_numbers(small: Path, edge: float) -> None:
    path = small / "panels.parquet"
    table = pq.read_table(path)
    pq.write_table(other(table, "region", [0.0, edge, 2.0, 3.0], pa.list_(pa.float64())), path)
    with pytest.raises(UserError, match="not a number"):
        Benchmark(small).panels  # noqa: B018 - reading is what is tested


def test_a_region_far_outside_of_its_picture_takes_no_memory(small: Path) -> None:
    path = small / "panels.parquet"
    pq.write_table(other(pq.read_table(path), "region", [-1e9, 2.0, 1e9, 1e12], pa.list_(pa.float64())), path)
    assert panel_picture(Benchmark(small), "dev-p0").size == (8, 6)


def test_what_is_not_there_is_said(small: Path) -> None:
    opened = Benchmark(small)
    assert "nobody" not in opened.panels
    with pytest.raises(UserError, match="no panel 'nobody'"):
        opened.panels["nobody"]
    path = small / next(name for name in opened.manifest["files"] if name.startswith("images-"))
    table = pa.ipc.open_file(path.read_bytes()).read_all()
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(other(table, "data", None, pa.large_binary()))
    with pytest.raises(UserError, match="holes"):
        Benchmark(small).image_tables  # noqa: B018


def test_hidden_files_are_for_their_owner_alone(small: Path) -> None:
    folder = small.with_name("small.hidden")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


FLIP = """
import random, sys
from pathlib import Path
from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.errors import UserError
folder, name, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
path, rng = folder / name, random.Random(seed)
whole = path.read_bytes()
for _ in range(int(sys.argv[4])):
    bit = rng.randrange(8 * len(whole))
    path.write_bytes(whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :])
    assert not check(folder).ok
    try:
        opened = Benchmark(folder)
        for table in opened.image_tables:
            [len(one.as_buffer()) for one in table["data"]]
        list(opened.items("dev")), opened.panels, list(opened.judgements())
    except UserError:
        pass
path.write_bytes(whole)
"""


def test_one_flipped_bit_never_ends_the_process(small: Path) -> None:
    """In a process of its own: what is feared is a segmentation fault."""
    images = next(name for name in json.loads((small / "benchmark.json").read_bytes())["files"] if "images-" in name)
    for name, count in ((images, 150), (ITEMS, 25), ("panels.parquet", 25)):
        seed = random.Random(name).randrange(1000)
        ran = subprocess.run([sys.executable, "-c", FLIP, str(small), name, str(seed), str(count)], check=False)
        assert ran.returncode == 0, f"{name} with seed {seed}"
