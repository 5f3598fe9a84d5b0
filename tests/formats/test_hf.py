"""`export hf`: what `datasets` opens is the benchmark, with its images and without its hidden answers."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.errors import UserError
from veridical.formats import hf
from veridical.formats.hf import export_hf
from veridical.formats.releases import import_release
from veridical.records import TRUTH, Item, Text

from ._small import SMALL, picture

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def opened(folder: Path, tmp_path: Path, config: str | None = None) -> Any:
    import datasets

    datasets.disable_progress_bars()
    return datasets.load_dataset(str(folder), config, cache_dir=str(tmp_path / "cache"))


def made(name: str, tmp_path: Path) -> tuple[Benchmark, Path]:
    SMALL[name](tmp_path / "b")
    export_hf(tmp_path / "b", tmp_path / "out")
    return Benchmark(tmp_path / "b"), tmp_path / "out"


def test_statements_with_views(tmp_path: Path) -> None:
    _, out = made("statements", tmp_path)
    train = opened(out, tmp_path)["train"]
    item = train[1]
    assert (item["id"], item["query"], item["candidates"], item["answer"]) == (
        "1-0",
        "There are 1 boxes.",
        ["false", "true"],
        1,
    )
    assert len(item["images"]) == 6  # each once, though three panels and six views use them
    for view in item["views"]:
        assert item["images"][view["image"]].size == picture_size(10 + view["image"])
    assert [panel["image"] for panel in item["panels"]] == [0, 0, 0]
    assert item["panels"][1]["region"] == [150, 0, 250, 100]
    assert item["objects"][0]["attributes"] == [
        {"name": "color", "value": "black"},
        {"name": "size", "value": "small"},
    ]
    assert item["program"] == "count(1)"


def picture_size(seed: int) -> tuple[int, int]:
    return 12 + seed % 5, 12


def test_hidden_answers_are_not_exported(tmp_path: Path) -> None:
    _, out = made("statements", tmp_path)
    test = opened(out, tmp_path)["test"]
    assert test["answer"][:] == test["program"][:] == [None] * 3
    assert test["tags"][:] == [[]] * 3
    assert not (tmp_path / "out.hidden").exists()
    everything = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert b"hidden" in everything  # the card says so
    assert pq.read_table(next((out / "data/main").glob("test-*")), partitioning=None)["answer"].null_count == 3


def test_photographs_that_are_only_addresses(tmp_path: Path) -> None:
    _, out = made("addresses", tmp_path)
    item = opened(out, tmp_path)["dev"][2]
    assert item["images"] == []
    assert [panel["url"] for panel in item["panels"]] == [f"http://photos.invalid/dev-2-img{s}.jpg" for s in (0, 1)]
    assert [panel["image"] for panel in item["panels"]] == [None, None]


def test_tags_in_texts_are_readable_and_exact(tmp_path: Path) -> None:
    _, out = made("choices", tmp_path)
    answer, reason = opened(out, tmp_path)["val_1"]
    assert answer["query"] == "Why [person 1] and [dog 2] ?"
    assert answer["query_raw"] == '["Why", [0, 1], "?"]'
    assert answer["candidates"][0] == "a [dog 2]"
    assert (reason["parent"], reason["given"]) == ("val-0", 0)


def test_matrices_have_one_config_per_scheme(tmp_path: Path) -> None:
    _, out = made("matrices", tmp_path)
    for scheme in ("counting", "neutral"):
        item = opened(out, tmp_path, scheme)["train"][1]
        assert item["id"] == f"{scheme}-train-1"
        assert len(item["images"]) == 8
        assert [panel["image"] for panel in item["candidate_panels"]] == list(range(8))
        assert item["query"] is None
        assert item["candidates"] == []


@pytest.mark.parametrize("name", sorted(SMALL))
def test_every_kind_opens_with_the_features_of_the_file(name: str, tmp_path: Path) -> None:
    import datasets

    benchmark, out = made(name, tmp_path)
    found = opened(out, tmp_path, benchmark.schemes[0])
    assert sorted(found) == sorted(split.replace("-", "_") for split in benchmark.splits_of(benchmark.schemes[0]))
    for split in found.values():
        assert split.features == datasets.Features.from_dict(hf.features())
        assert split.features["images"].feature == datasets.Image()


@pytest.mark.parametrize("name", sorted(SMALL))
def test_the_benchmark_folder_itself_opens_too(name: str, tmp_path: Path) -> None:
    SMALL[name](tmp_path / "b")
    benchmark = Benchmark(tmp_path / "b")
    scheme = benchmark.schemes[0]
    found = opened(tmp_path / "b", tmp_path, scheme)
    for split in benchmark.splits_of(scheme):
        assert found[split.replace("-", "_")]["id"][:] == benchmark.items_table(split, scheme)["id"].to_pylist()


def test_large_data_comes_in_groups_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SMALL["statements"](tmp_path / "b")
    two_items = sum(len(picture(10 * n + k)) for n in range(2) for k in range(6))
    monkeypatch.setattr(hf, "BYTES_PER_GROUP", 1)
    monkeypatch.setattr(hf, "BYTES_PER_FILE", two_items)
    export_hf(tmp_path / "b", tmp_path / "out")
    files = sorted((tmp_path / "out/data/main").glob("train-*"))
    assert [pq.ParquetFile(path).metadata.num_row_groups for path in files] == [2, 1]
    assert opened(tmp_path / "out", tmp_path)["train"]["id"][:] == ["0-0", "1-0", "2-0"]


def test_the_same_bytes_every_time(tmp_path: Path) -> None:
    SMALL["statements"](tmp_path / "b")
    hashes = []
    for name in ("one", "two"):
        export_hf(tmp_path / "b", tmp_path / name)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        hashes.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in files])
    assert hashes[0] == hashes[1]


def test_nothing_half_written(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="broken", task="statement") as writer:
        writer.add_items("dev", [Item("a", "statement", ("nowhere",), Text("x"), TRUTH, 0)])
    with pytest.raises(UserError, match="no panel 'nowhere'"):
        export_hf(tmp_path / "b", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(UserError, match="not an empty folder"):
        export_hf(tmp_path / "b", tmp_path / "out")


def test_splits_that_would_have_one_name(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="twins", task="statement") as writer:
        for split in ("val-1", "val_1"):
            writer.add_items(split, [Item(split, "statement", (), Text("x"), TRUTH, 0)])
    with pytest.raises(UserError, match="both 'val_1'"):
        export_hf(tmp_path / "b", tmp_path / "out")


def test_real_nlvr_drawings_decode(tmp_path: Path, shared: Path) -> None:
    source = tmp_path / "release" / "dev"
    lines = (shared / "nlvr/dev/dev.json").read_bytes().splitlines(keepends=True)[:10]
    for record in map(json.loads, lines):
        for k in range(6):
            name = f"images/{record['directory']}/dev-{record['identifier']}-{k}.png"
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((shared / "nlvr/dev" / name).read_bytes())
    (source / "dev.json").write_bytes(b"".join(lines))
    import_release("nlvr", tmp_path / "release", tmp_path / "b")
    export_hf(tmp_path / "b", tmp_path / "out")
    for item in opened(tmp_path / "out", tmp_path)["dev"]:
        pictures = [item["images"][view["image"]] for view in item["views"]]
        assert [picture.size for picture in pictures] == [(400, 100)] * 6
        assert [panel["region"][0] for panel in item["panels"]] == [0, 150, 300]


def test_real_nlvr2_opens(tmp_path: Path, shared: Path) -> None:
    import_release("nlvr2", shared / "nlvr2" / "dev.json", tmp_path / "b")
    assert export_hf(tmp_path / "b", tmp_path / "out") == {"main": {"dev": 6982}}
    dev = opened(tmp_path / "out", tmp_path)["dev"]
    assert dev[0]["id"] == "dev-850-0-0"
    assert dev[0]["panels"][0]["url"].startswith("https://i.kinja-img.com/")
