"""Croissant and the card: valid by mlcroissant, readable record by record, the same bytes every time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.formats.card import canary, citation, describe, export_croissant, licence_url, title

from ._small import SMALL


@pytest.fixture(params=sorted(SMALL))
def benchmark(request: pytest.FixtureRequest, tmp_path: Path) -> Benchmark:
    SMALL[request.param](tmp_path / "b")
    return Benchmark(tmp_path / "b")


def load(path: Path) -> Any:
    import mlcroissant

    dataset = mlcroissant.Dataset(str(path))  # raises where it is not valid
    assert not dataset.metadata.issues.errors
    return dataset


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [plain(one) for one in value] if isinstance(value, list) else value


def records(dataset: Any, name: str) -> list[dict[str, Any]]:
    return [{key.rpartition("/")[2]: plain(v) for key, v in row.items()} for row in dataset.records(name)]


def test_every_record_is_read(benchmark: Benchmark) -> None:
    dataset = load(benchmark.directory / "croissant.json")
    for scheme in benchmark.schemes:
        for split in benchmark.splits_of(scheme):
            rows = records(dataset, f"items-{scheme}-{split}")
            items = list(benchmark.items(split, scheme))
            assert [row["id"] for row in rows] == [item.id for item in items]
            assert [row["answer"] for row in rows] == [item.answer for item in items]
            assert [row["panels"] for row in rows] == [list(item.panels) for item in items]
            assert [row["query"] for row in rows] == [None if i.query is None else i.query.raw for i in items]
            candidates = [row["candidates"] if row["candidates"][0] else row["candidate_panels"] for row in rows]
            assert candidates == [[c if isinstance(c, str) else c.raw for c in item.candidates] for item in items]
    panels = records(dataset, "panels")
    assert [row["id"] for row in panels] == list(benchmark.panels)
    assert [row["uri"] for row in panels] == [panel.uri for panel in benchmark.panels.values()]


def test_every_file_has_its_hash(benchmark: Benchmark) -> None:
    document = json.loads((benchmark.directory / "croissant.json").read_bytes())
    listed = {entry["contentUrl"]: entry["sha256"] for entry in document["distribution"]}
    files = {name: entry["sha256"] for name, entry in benchmark.manifest["files"].items()}
    assert listed == {name: digest for name, digest in files.items() if name not in ("croissant.json", "README.md")}


def test_the_same_bytes_every_time(benchmark: Benchmark) -> None:
    manifest = {**benchmark.manifest, "files": {**benchmark.manifest["files"]}}
    for name in ("README.md", "croissant.json"):
        del manifest["files"][name]
    for name, data in describe(manifest).items():
        assert data == (benchmark.directory / name).read_bytes()


def test_exported_elsewhere_it_points_back(benchmark: Benchmark, tmp_path: Path) -> None:
    path = export_croissant(benchmark.directory, tmp_path / "deep" / "er")
    scheme = benchmark.schemes[0]
    split = benchmark.splits_of(scheme)[0]
    assert len(records(load(path), f"items-{scheme}-{split}")) == benchmark.manifest["counts"]["items"][scheme][split]


def test_exported_for_publication(tmp_path: Path) -> None:
    SMALL["addresses"](tmp_path / "b")
    path = export_croissant(tmp_path / "b", tmp_path / "out.json", url="https://data.example/nlvr2/")
    entries = json.loads(path.read_bytes())["distribution"]
    assert {"https://data.example/nlvr2/panels.parquet"} <= {entry["contentUrl"] for entry in entries}
    with pytest.raises(UserError, match="within the benchmark"):
        export_croissant(tmp_path / "b", tmp_path / "b")


def test_damage_is_noticed_by_the_reader(tmp_path: Path) -> None:
    import mlcroissant

    SMALL["addresses"](tmp_path / "b")
    path = tmp_path / "b" / "croissant.json"
    document = json.loads(path.read_bytes())
    document["recordSet"][0]["field"][0]["dataType"] = "sc:Nonsense"
    path.write_text(json.dumps(document))
    with pytest.raises(mlcroissant.ValidationError):
        mlcroissant.Dataset(str(path))


def test_the_card(tmp_path: Path) -> None:
    SMALL["statements"](tmp_path / "b")
    text = (tmp_path / "b" / "README.md").read_text()
    assert text.startswith("---\npretty_name: ")
    assert "license: cc-by-4.0" in text
    assert "| test | 3 | hidden |" in text
    assert "| train | 3 | public |" in text
    assert "Alane Suhr and Mike Lewis" in text
    assert 'pq.read_table("items-main-train.parquet")' in text
    assert re.search(r"`veridical:canary:[0-9a-f]{8}-[0-9a-f]{4}-5", text)


def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SMALL["statements"](tmp_path / "b")
    text = (tmp_path / "b" / "README.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    monkeypatch.chdir(tmp_path / "b")
    cached = f'split="train", cache_dir={str(tmp_path / "cache")!r})'
    exec(code[1].replace('"DIR"', repr(str(tmp_path / "b"))).replace('split="train")', cached), {})


def test_canaries_name_one_benchmark() -> None:
    base = {"name": "n", "config": {"a": 1, "b": 2}, "seed": 0}
    assert canary(base) == canary({**base, "config": {"b": 2, "a": 1}})
    others = [{**base, "name": "m"}, {**base, "config": {"a": 2}}, {**base, "seed": 1}]
    assert len({canary(one) for one in [base, *others]}) == 4


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("VCR", {}, "visual commonsense reasoning (VCR)"),
        ("movies", {"format": "vcr"}, "movies: visual commonsense reasoning (VCR)"),
        ("visual commonsense reasoning (VCR)", {"format": "vcr"}, "visual commonsense reasoning (VCR)"),
        ("NLVR2", {}, "NLVR2"),
    ],
)
def test_vcr_is_spelt_out(name: str, config: dict[str, str], expected: str) -> None:
    assert title({"name": name, "config": config}) == expected


def test_citations() -> None:
    assert "year = {2019}" in citation({"name": "NLVR2", "config": {}})
    assert "Teney" in citation({"name": "V-PROM", "config": {}})
    assert citation({"name": "mine", "config": {}}) == ""
    assert licence_url("CC-BY-4.0") == "https://spdx.org/licenses/CC-BY-4.0"
    assert licence_url("research use only") == "research use only"
    assert licence_url("") == ""
