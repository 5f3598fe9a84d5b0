"""Nothing that is not a benchmark is ever replaced, and a failed replacement brings the old one back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from veridical.benchmark import Benchmark, BenchmarkWriter, place
from veridical.benchmark.check import check
from veridical.common import workplaces
from veridical.errors import UserError
from veridical.records import TRUTH, Item, Panel

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


def test_another_benchmark_is_replaced_only_where_that_was_asked_for(small: Path) -> None:
    before = (small / "benchmark.json").read_bytes()
    with pytest.raises(UserError, match="is another benchmark"):
        start(small)
    assert (small / "benchmark.json").read_bytes() == before
    with place.replacing(True):
        start(small)


def test_a_hidden_folder_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "x.hidden").mkdir()
    (tmp_path / "x.hidden" / "thesis.tex").touch()
    with pytest.raises(UserError, match="not a benchmark"):
        start(tmp_path / "x")


def test_a_benchmark_with_something_else_in_it(small: Path) -> None:
    (small / "predictions.jsonl").touch()
    with pytest.raises(UserError, match=r"predictions\.jsonl"), place.replacing(True):
        start(small)


def test_a_file_that_is_merely_called_like_vectors(small: Path) -> None:
    (small / "features-of-my-thesis.docx").write_text("years of work")
    with pytest.raises(UserError, match="not part of the benchmark"), place.replacing(True):
        start(small)


def test_a_manifest_that_lists_what_is_not_ours(small: Path) -> None:
    (small / "thesis.tex").touch()
    manifest = json.loads((small / "benchmark.json").read_bytes())
    manifest["files"]["thesis.tex"] = {"sha256": "", "bytes": 0}
    (small / "benchmark.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=r"thesis\.tex"), place.replacing(True):
        start(small)


def test_hidden_answers_are_not_lost(small: Path) -> None:
    before = Benchmark(small).hash
    with pytest.raises(UserError, match=r"lose the hidden answers in .*small\.hidden"):
        write_small(small, shade=50)
    assert Benchmark(small).hash == before
    with place.replacing(True):
        write_small(small, shade=50)
    assert check(small).ok
    kept = small.with_name(f"small.hidden-{before[:8]}")
    assert json.loads((kept / "hidden.json").read_bytes())["benchmark"] == before
    again = Benchmark(small).hash
    with place.replacing(True):
        write_small(small, shade=50)  # the same bytes: nothing is lost, and nothing kept
    assert Benchmark(small).hash == again
    assert sorted(path.name for path in small.parent.iterdir()) == ["small", "small.hidden", kept.name]


def test_other_answers_to_the_same_items_are_kept_each_time(tmp_path: Path) -> None:
    def write(answer: int) -> None:
        item = Item("a", "statement", ("p",), candidates=TRUTH, answer=answer)
        with BenchmarkWriter(tmp_path / "x", name="x", task="statement", hidden=("test",)) as writer:
            writer.add_panels([Panel("p")])
            writer.add_items("test", [item])

    for answer in (0, 1, 0, 0):  # the public part is the same
        with place.replacing(True):
            write(answer)
    folders = [tmp_path / "x.hidden", *sorted(tmp_path.glob("x.hidden-*"))]
    answers = [pq.read_table(folder / "answers-main-test.parquet")["answer"].to_pylist() for folder in folders]
    assert answers == [[0], [0], [1]]


def test_vectors_are_not_lost_in_silence(tmp_path: Path) -> None:
    out = write_small(tmp_path / "x", hidden=())
    write_small(out, hidden=())  # nothing that could not be had again
    (out / "features-clip.arrow").write_bytes(b"ARROW1 and so on")
    with pytest.raises(UserError, match=r"lose the vectors features-clip\.arrow"):
        write_small(out, hidden=())
    with place.replacing(True):
        write_small(out, hidden=())
    assert not list(out.glob("features-*"))


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
    with place.replacing(True):
        work = place.start(out).path
    (work / "hidden").mkdir()
    with pytest.raises(OSError, match="missing"):
        place.put_in_place(work, work / "missing", work / "hidden", out)
    assert Benchmark(out).hash == before
    assert check(out).ok


def test_names_with_wildcards_are_swept_too(tmp_path: Path) -> None:
    left = tmp_path / ".b[1].building-abc"
    left.mkdir()
    other = tmp_path / ".b1.building-abc"
    other.mkdir()
    workplaces.sweep(tmp_path / "b[1]")
    assert not left.exists()
    assert other.exists()


ELSEWHERE = """
import os, sys
from pathlib import Path
from veridical.benchmark import place
print(place.start(Path(sys.argv[1])).path, flush=True)
sys.stdin.read()
"""


def test_a_living_build_of_another_container_is_not_swept(tmp_path: Path) -> None:
    """Its process number says nothing here; that it holds its folder does, and only as long as it lives."""
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "x")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        assert theirs.is_dir()
        renamed = theirs.rename(theirs.with_name(f"{theirs.name}-{2**22 + 1}"))  # of no process: Linux counts to 2**22
        ours = place.start(tmp_path / "x")
        assert renamed.is_dir()
        other.kill()
    place.start(tmp_path / "x").remove()
    assert not renamed.exists()
    assert ours.path.is_dir(), "nor is one of this process"
    ours.remove()
    assert not list(tmp_path.iterdir())
