"""The contract of every official format: import, check, export gives the same bytes; nothing half-written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.check import check
from veridical.errors import UserError
from veridical.formats import EXPORTS, FORMATS
from veridical.formats.lines import raw_table
from veridical.formats.releases import export, export_official, import_release, load_format

from ._releases import RELEASES, files, nlvr_line, vcr_line, write_lines
from ._small import statements


@pytest.fixture(params=FORMATS)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    folder = tmp_path / "release"
    folder.mkdir()
    RELEASES[request.param](folder)
    return request.param, folder


def test_import_check_export(release: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = release
    result = import_release(name, folder, tmp_path / "b")
    assert result.left_out == ()
    report = check(tmp_path / "b")
    assert report.ok, report.problems
    made = Benchmark(tmp_path / "b")
    assert made.manifest["official"] is True
    assert {"README.md", "croissant.json"} <= set(made.manifest["files"])
    assert result.counts["items"]["main"] == made.manifest["counts"]["items"]["main"]
    export_official(tmp_path / "b", tmp_path / "out")
    assert files(tmp_path / "out") == files(folder)


def test_the_same_bytes_twice(release: tuple[str, Path], tmp_path: Path) -> None:
    for out in ("a", "b"):
        import_release(*release, tmp_path / out)
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_panels_and_items_fit(release: tuple[str, Path], tmp_path: Path) -> None:
    import_release(*release, tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    for split in made.splits:
        for item in made.items(split):
            assert all(panel in made.panels for panel in item.panels)
            images = [view.image for view in item.views] + [made.panels[panel].image for panel in item.panels]
            assert all(made.image(image) for image in images if image)


def test_hidden_splits_keep_their_lines_apart(release: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = release
    split = load_split(folder)
    import_release(name, folder, tmp_path / "b", hide=[split])
    assert check(tmp_path / "b").ok
    made = Benchmark(tmp_path / "b")
    assert made.is_hidden(split)
    assert all(item.answer is None for item in made.items(split))
    assert any(item.answer is not None for item in made.items(split, answers=True))
    assert not (tmp_path / "b" / f"raw-{split}.parquet").exists()
    export_official(tmp_path / "b", tmp_path / "out")
    public, hidden = files(tmp_path / "out"), files(tmp_path / "out.hidden")
    assert public | hidden == files(folder)
    assert any(split in name for name in hidden)
    assert not any(split in name for name in public)


def load_split(folder: Path) -> str:
    return "val" if (folder / "val.jsonl").exists() else "dev"


def test_one_split_of_a_folder(release: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = release
    split = load_split(folder)
    assert list(import_release(name, folder, tmp_path / "b", split=split).counts["items"]["main"]) == [split]
    with pytest.raises(UserError, match="has no split 'nope'"):
        import_release(name, folder, tmp_path / "c", split="nope")


def test_wrong_arguments(release: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = release
    with pytest.raises(UserError, match="does not exist"):
        import_release(name, tmp_path / "nothing", tmp_path / "b")
    with pytest.raises(UserError, match="has no split 'nope' to hide"):
        import_release(name, folder, tmp_path / "b", hide=["nope"])
    with pytest.raises(UserError, match="not a folder of images"):
        import_release(name, folder, tmp_path / "b", images=tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no"):
        import_release(name, tmp_path / "empty", tmp_path / "b")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("split", ["a/b", "..", "", "x" * 65, "a b", "\u0661"])
def test_names_that_no_split_can_have(split: str, release: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = release
    file = folder / {"nlvr": "dev/dev.json", "nlvr2": "dev.json", "vcr": "val.jsonl"}[name]
    if not split:
        file = file.rename(file.with_name("my file" + file.suffix))  # its name would be the split's
    with pytest.raises(UserError, match="cannot be the name of a split"):
        import_release(name, file, tmp_path / "b", split=split or "my file")
    assert [p.name for p in tmp_path.iterdir()] == ["release"]


def test_what_was_left_out_is_not_forgotten(release: tuple[str, Path], tmp_path: Path) -> None:
    """Where no line is whole the error says why; a split that lost all its lines is not one without labels."""
    name, folder = release
    split = load_split(folder)
    file = next(path for path in folder.rglob(f"{split}.json*"))
    file.write_bytes(b"{oops\n" * 5)
    with pytest.raises(UserError, match=r"holds no item that is whole.*line 1: this is not valid JSON.*And 2 more"):
        import_release(name, file, tmp_path / "b", keep_going=True)
    result = import_release(name, folder, tmp_path / "b", keep_going=True)
    made = Benchmark(tmp_path / "b")
    assert len([left for left in result.left_out if left.file.endswith(file.name)]) >= 5
    assert not made.is_hidden(split)
    assert list(made.items(split)) == []
    assert made.manifest["config"]["left_out"]["lines"] == len(result.left_out)
    assert check(tmp_path / "b").ok


def test_an_error_leaves_nothing_behind(release: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = release
    for path in folder.rglob("*.png"):
        path.write_bytes(b"")
    before = files(tmp_path)
    with pytest.raises(UserError, match="is empty"):
        import_release(name, folder, tmp_path / "b")
    assert files(tmp_path) == before
    result = import_release(name, folder, tmp_path / "b", keep_going=True)
    assert len(result.left_out) == len(list(folder.rglob("*.png")))
    assert Benchmark(tmp_path / "b").manifest["config"]["left_out"] == {"lines": 0, "files": len(result.left_out)}
    assert Benchmark(tmp_path / "b").manifest["counts"]["images"] == 0


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no format 'coco'"):
        import_release("coco", tmp_path, tmp_path / "b")
    with pytest.raises(UserError, match="no export 'pdf'"):
        export("pdf", tmp_path, tmp_path / "b")
    assert all(load_format(name).name == name for name in FORMATS)


@pytest.mark.parametrize("kind", EXPORTS)
def test_every_export_writes_files(kind: str, tmp_path: Path) -> None:
    if kind in ("lmms-eval", "vlmevalkit"):  # which need every picture; that release lacks one
        statements(tmp_path / "b")
    else:
        RELEASES["nlvr"](tmp_path / "release")
        import_release("nlvr", tmp_path / "release", tmp_path / "b")
    result = export(kind, tmp_path / "b", tmp_path / "out")
    assert result.files >= 1
    assert result.bytes > 0


def test_export_never_writes_over_or_outside(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="NLVR", task="statement") as writer:
        writer.add_items("dev", [])
        writer.add_raw("dev", raw_table(["../escaped"], pa.array([b"x"], pa.large_binary())))
    with pytest.raises(UserError, match="outside its folder"):
        export_official(tmp_path / "b", tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    with pytest.raises(UserError, match="not an empty folder"):
        export_official(tmp_path / "b", tmp_path / "full")


@pytest.mark.parametrize("kind", EXPORTS)
@pytest.mark.parametrize("place", ["b/x", "b.hidden/x", "b", "link/x.json"])
def test_no_export_into_the_benchmark(kind: str, place: str, tmp_path: Path) -> None:
    RELEASES["nlvr"](tmp_path / "release")
    import_release("nlvr", tmp_path / "release", tmp_path / "b", hide=["dev"])
    (tmp_path / "link").symlink_to(tmp_path / "b")
    before = files(tmp_path)
    with pytest.raises(UserError, match="within the benchmark"):
        export(kind, tmp_path / "b", tmp_path / place)
    assert files(tmp_path) == before


@pytest.mark.parametrize("kind", ["hf", "official"])
def test_what_a_killed_export_left_is_removed(kind: str, tmp_path: Path) -> None:
    RELEASES["nlvr"](tmp_path / "release")
    import_release("nlvr", tmp_path / "release", tmp_path / "b")
    code = (
        "import os, sys, veridical.formats.releases as f, veridical.benchmark as b\n"
        "b.Benchmark.items_table = b.Benchmark.raw_table = lambda *_, **__: os.kill(os.getpid(), 9)\n"
        "f.export(*sys.argv[1:])"
    )
    run = [sys.executable, "-c", code, kind, str(tmp_path / "b"), str(tmp_path / "out")]
    assert subprocess.run(run).returncode == -9
    left = {path.name for path in tmp_path.iterdir()} - {"release", "b"}
    assert left
    assert "out" not in left
    export(kind, tmp_path / "b", tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"release", "b", "out"}


def test_export_tells_of_hidden_files(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "dev.json", nlvr_line("7-1"))
    import_release("nlvr", tmp_path / "r", tmp_path / "b", hide=["dev"])
    run = [sys.executable, "-m", "veridical", "export", "official", str(tmp_path / "b"), "--out", str(tmp_path / "out")]
    out = subprocess.run([*run, "--json", "--quiet"], capture_output=True, check=True, text=True)
    size = (tmp_path / "r" / "dev.json").stat().st_size
    found = json.loads(out.stdout)
    assert (found["files"], found["hidden_files"], found["hidden_bytes"]) == (0, 1, size)
    assert found["hidden"] == str(tmp_path / "out.hidden")
    assert "do not publish" in out.stderr
    assert export("hf", tmp_path / "b", tmp_path / "hf").hidden is None


def test_visual_commonsense_reasoning_is_spelt_out(tmp_path: Path) -> None:
    """Other tools use the letters for something else; and what is no licence is not printed as one."""
    write_lines(tmp_path / "r" / "val.jsonl", vcr_line(0))
    import_release("vcr", tmp_path / "r", tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    assert (made.name, made.manifest["licence"]) == ("visual commonsense reasoning (VCR)", "")
    card = (tmp_path / "b" / "README.md").read_text()
    assert "state none: ask its authors" in card
    assert "license: other" in card
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"no split of visual commonsense reasoning \(VCR\)"):
        import_release("vcr", tmp_path / "empty", tmp_path / "c")


def test_a_benchmark_without_official_format(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="V-PROM", task="matrix") as writer:
        writer.add_items("dev", [])
    with pytest.raises(UserError, match="has no official format"):
        export_official(tmp_path / "b", tmp_path / "out")


def test_the_verbs(release: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = release
    run = [sys.executable, "-m", "veridical"]
    out = subprocess.run(
        [*run, "import", name, str(folder), "--out", str(tmp_path / "b"), "--json"], capture_output=True, check=True
    )
    result = json.loads(out.stdout)
    assert result["left_out"] == []
    assert result["counts"]["items"]["main"]
    out = subprocess.run(
        [*run, "export", "official", str(tmp_path / "b"), "--out", str(tmp_path / "out"), "--json"],
        capture_output=True,
        check=True,
    )
    assert json.loads(out.stdout)["files"] == len(files(folder))
    assert files(tmp_path / "out") == files(folder)
