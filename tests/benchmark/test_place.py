"""Nothing that is not a benchmark is ever replaced, and a failed replacement brings the old one back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from veridical.benchmark import Benchmark, BenchmarkWriter, place
from veridical.benchmark.check import check
from veridical.errors import UserError

from .conftest import write_small


def start(out: Path) -> None:
    BenchmarkWriter(out, name="x", task="matrix")


@pytest.mark.parametrize("manifest", [None, "not json", '{"tool": "other"}', "[]"])
def test_a_folder_that_is_not_ours(tmp_path: Path, manifest: str | None) -> None:
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "thesis.tex").touch()
    if manifest is not None:
        (out / "benchmark.json").write_text(manifest)
    with pytest.raises(UserError, match="not a benchmark"):
        start(out)
    assert (out / "thesis.tex").exists()


def test_a_hidden_folder_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "x.hidden").mkdir()
    (tmp_path / "x.hidden" / "thesis.tex").touch()
    with pytest.raises(UserError, match="not a benchmark"):
        start(tmp_path / "x")


def test_a_benchmark_with_something_else_in_it(small: Path) -> None:
    (small / "features-clip.arrow").touch()  # derived, and made again
    write_small(small)
    (small / "predictions.jsonl").touch()
    with pytest.raises(UserError, match=r"predictions\.jsonl"):
        start(small)


def test_links_and_files_and_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to("/nonexistent")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(UserError, match="file or a link"):
            start(tmp_path / name)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(UserError, match="folder you are in"):
        start(Path())


def test_a_failed_rename_brings_the_old_benchmark_back(tmp_path: Path) -> None:
    out = write_small(tmp_path / "x")
    before = Benchmark(out).hash
    work = place.start(out)
    (work / "hidden").mkdir()
    with pytest.raises(OSError, match="missing"):
        place.put_in_place(work, work / "missing", work / "hidden", out)
    assert Benchmark(out).hash == before
    assert check(out).ok


def test_names_with_wildcards_are_swept_too(tmp_path: Path) -> None:
    left = tmp_path / ".b[1].building-abc-999999999"
    left.mkdir()
    other = tmp_path / f".b1.building-abc-{os.getpid()}"
    other.mkdir()
    place.sweep(tmp_path / "b[1]")
    assert not left.exists()
    assert other.exists()
