"""Benchmarks, runs and predictions at addresses: fetched by hash, published with the manifest last, nothing hidden."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veridical
from veridical.benchmark import Benchmark
from veridical.common import addresses, publishing
from veridical.common.addresses import fetch, is_address, listed_files, local, spelled
from veridical.errors import UserError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path / "data"))
    return tmp_path / "cache"


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """A store that is a folder."""
    return f"file://{tmp_path / 'store'}"


def make(folder: Path, rows: int = 12, name: str = "table.csv") -> Path:
    """A benchmark with hidden answers."""
    lines = ["question,a,b,answer,split"]
    lines += [f"what is {n} and {rows}?,{n},{n + 1},{'ab'[n % 2]},{'dev' if n % 3 else 'test'}" for n in range(rows)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n")
    veridical.import_release("table", folder / name, folder / "bench", hide=["test"])
    return folder / "bench"


def as_manifest(names: dict[str, str]) -> bytes:
    return json.dumps({"files": {name: {"sha256": "0" * 64, "bytes": 1} for name in names}}).encode()


def folder_of(address: str) -> Path:
    return Path(address.removeprefix("file://"))


@pytest.mark.parametrize("text", ["s3://b/x", "gs://b/x", "hf://datasets/a/b", "memory://x", "file:///tmp/x"])
def test_addresses_survive_a_path(text: str) -> None:
    assert is_address(text)
    assert is_address(Path(text))
    assert spelled(Path(text)) == spelled(text) == text


@pytest.mark.parametrize("text", ["x", "/tmp/x", "./s3", "c:/x", "openai/gpt-4o", ""])
def test_what_is_no_address(text: str) -> None:
    assert not is_address(text)
    assert not is_address({"a": 1})


def test_a_benchmark_opens_by_its_address_and_its_hidden_answers_stay(tmp_path: Path, shop: str, cache: Path) -> None:
    bench = make(tmp_path)
    assert (tmp_path / "bench.hidden" / "hidden.json").is_file()
    veridical.copy(bench, f"{shop}/bench")
    opened = Benchmark(Path(f"{shop}/bench"))
    assert opened.address == f"{shop}/bench"
    assert opened.hash == Benchmark(bench).hash
    assert [item.id for item in opened] == [item.id for item in Benchmark(bench)]
    assert opened.directory.is_relative_to(cache)
    assert Benchmark(opened).address == opened.address  # an open one may stand for its address
    everything = [path.name for path in folder_of(shop).rglob("*")] + [path.name for path in cache.rglob("*")]
    assert not [name for name in everything if "hidden" in name or "answers" in name]
    with pytest.raises(UserError, match="are hidden"):
        list(opened.items("test", answers=True))


def test_what_is_made_for_an_address_is_not_in_the_cache(
    shop: str, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cache may be deleted; hidden answers and their secret would be gone with it."""
    veridical.build("nlvr", f"{shop}/made", presentations=4, hide=("test-p",), secret="random", processes=1)
    [secret] = cache.parent.rglob("secret.txt")
    assert not secret.is_relative_to(cache)
    assert str(secret.parent) in capsys.readouterr().err


@pytest.mark.parametrize("links", [True, False])
def test_hidden_answers_in_the_cache_are_for_nobody_else(
    tmp_path: Path, shop: str, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    if not links:
        monkeypatch.setattr(addresses.os, "link", refuse)
    make(tmp_path)
    veridical.copy(tmp_path / "bench.hidden", f"{shop}/bench.hidden")
    fetched = [p for p in local(f"{shop}/bench.hidden").iterdir() if p.name != "hidden.json"]
    assert fetched
    assert all(p.stat().st_mode & 0o077 == 0 for p in fetched)


def test_a_hidden_folder_goes_only_to_an_address_of_its_own(tmp_path: Path, shop: str) -> None:
    bench = make(tmp_path)
    with pytest.raises(UserError, match="does not say so"):
        veridical.copy(tmp_path / "bench.hidden", f"{shop}/answers")
    with pytest.raises(UserError, match="hidden answers"):
        veridical.copy(tmp_path, f"{shop}/all")
    assert not folder_of(shop).exists()
    veridical.copy(tmp_path / "bench.hidden", f"{shop}/bench.hidden")
    veridical.copy(bench, f"{shop}/bench")
    veridical.copy(f"{shop}/bench", tmp_path / "again")
    veridical.copy(f"{shop}/bench.hidden", tmp_path / "again.hidden")
    assert (tmp_path / "again.hidden").stat().st_mode & 0o077 == 0
    assert [i.answer for i in Benchmark(tmp_path / "again").items("test", answers=True)] == [
        i.answer for i in Benchmark(bench).items("test", answers=True)
    ]


def test_a_hidden_folder_that_is_damaged_or_a_folder_in_it_is_hidden_still(tmp_path: Path, shop: str) -> None:
    make(tmp_path)
    hidden = tmp_path / "bench.hidden"
    (hidden / "hidden.json").unlink()
    (hidden / "mine").mkdir()
    (hidden / "mine" / "notes.txt").write_text("A B C")
    for place in (hidden, hidden / "mine"):
        with pytest.raises(UserError, match="does not say so"):
            veridical.copy(place, f"{shop}/answers")
    assert not folder_of(shop).exists()


def test_what_a_build_works_in_is_not_sent_with_a_folder(tmp_path: Path, shop: str) -> None:
    (tmp_path / "all" / "made.work").mkdir(parents=True)
    (tmp_path / "all" / "made.work" / "answers.json").write_text("{}")
    (tmp_path / "all" / "notes.txt").write_text("for everybody")
    veridical.copy(tmp_path / "all", f"{shop}/all")
    sent = {p.name for p in folder_of(f"{shop}/all").rglob("*") if p.is_file()}
    assert "notes.txt" in sent
    assert "answers.json" not in sent


def test_what_a_build_works_in_is_not_sent_by_its_own_name(tmp_path: Path, shop: str) -> None:
    (tmp_path / "made.work").mkdir()
    (tmp_path / "made.work" / "judgements.jsonl").write_text("{}")
    with pytest.raises(UserError, match="is not sent"):
        veridical.copy(tmp_path / "made.work", f"{shop}/all")
    assert not folder_of(shop).exists()


def test_a_file_that_the_manifest_names_and_that_is_gone_is_named(tmp_path: Path, shop: str) -> None:
    make(tmp_path)
    gone = next((tmp_path / "bench").glob("items-*.parquet"))
    gone.unlink()
    with pytest.raises(UserError, match=f"lacks {gone.name}"):
        veridical.copy(tmp_path / "bench", f"{shop}/bench")


@pytest.mark.parametrize("way", ["a file of it", "a link to it", "a link in a run"])
def test_no_part_of_a_hidden_folder_goes_anywhere_by_another_name(tmp_path: Path, shop: str, way: str) -> None:
    make(tmp_path)
    answers = next(p for p in (tmp_path / "bench.hidden").iterdir() if p.name != "hidden.json")
    named = {"a file of it": answers, "a link to it": tmp_path / "predictions", "a link in a run": tmp_path / "run"}
    (tmp_path / "predictions").symlink_to(answers)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")
    (tmp_path / "run" / "notes").symlink_to(answers)
    with pytest.raises(UserError, match="hidden answers"):
        veridical.copy(named[way], f"{shop}/all")
    assert not folder_of(shop).exists()


def test_everything_is_there_before_the_manifest(tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A publisher that stops anywhere leaves nothing to open, and the next sends only what is missing."""
    bench = make(tmp_path)
    store = addresses.opened(shop)
    sent: list[str] = []
    put = type(store).put_file

    def put_three(self: Any, source: str, target: str, **more: Any) -> Any:
        if len(sent) >= 3:
            raise OSError("the network is gone")
        sent.append(target)
        return put(self, source, target, **more)

    monkeypatch.setattr(publishing, "AT_ONCE", 1)
    monkeypatch.setattr(type(store), "put_file", put_three)
    with pytest.raises(UserError, match="the network is gone"):
        veridical.copy(bench, f"{shop}/bench")
    with pytest.raises(UserError, match="Nothing was published"):
        Benchmark(f"{shop}/bench")
    monkeypatch.setattr(type(store), "put_file", put)
    files = len(json.loads((bench / "benchmark.json").read_bytes())["files"])
    assert veridical.copy(bench, f"{shop}/bench").files == files - 3
    assert veridical.copy(bench, f"{shop}/bench").files == 0
    assert len(Benchmark(f"{shop}/bench")) == len(Benchmark(bench))


def test_a_file_is_fetched_once_and_proved(tmp_path: Path, shop: str, cache: Path) -> None:
    bench = make(tmp_path)
    veridical.copy(bench, f"{shop}/one")
    veridical.copy(bench, f"{shop}/two")
    first = fetch(f"{shop}/one")
    blobs = {path: path.stat().st_mtime_ns for path in (cache / "files").rglob("*") if path.is_file()}
    for path in folder_of(f"{shop}/two").glob("*.parquet"):
        path.unlink()  # what is in the cache is not fetched again, from wherever
    assert fetch(f"{shop}/two").parent == first.parent
    assert {path: path.stat().st_mtime_ns for path in blobs} == blobs
    veridical.copy(make(tmp_path / "other", 15), f"{shop}/three")
    damaged = next(folder_of(f"{shop}/three").glob("items-*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match="not what its manifest says"):
        Benchmark(f"{shop}/three")
    assert not list(cache.rglob("*.part"))


def test_what_others_published_is_not_replaced_unasked(tmp_path: Path, shop: str, cache: Path) -> None:
    veridical.copy(make(tmp_path), f"{shop}/bench")
    other = make(tmp_path / "other", 15)
    veridical.copy(other, f"{shop}/bench")  # from here: a new version of one's own
    (next(cache.with_name("data").glob("made/*.sent"))).unlink()  # as on another machine
    with pytest.raises(UserError, match="not from here"):
        veridical.copy(other, f"{shop}/bench")
    veridical.copy(make(tmp_path / "third", 18), f"{shop}/bench", replace=True)
    assert len(Benchmark(f"{shop}/bench")) == 18


def test_verbs_write_to_and_read_from_addresses(tmp_path: Path, shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path)
    veridical.import_release("table", tmp_path / "table.csv", f"{shop}/made", hide=["test"])
    assert "Not published: the hidden answers" in capsys.readouterr().err
    assert not [p for p in folder_of(shop).rglob("*") if "hidden" in p.name or "answers" in p.name]
    out = f"{shop}/predictions.jsonl"
    veridical.solve("random", f"{shop}/made", split="dev", out=out)
    assert (folder_of(shop) / "predictions.jsonl.meta.json").is_file()
    plain = veridical.solve("random", tmp_path / "bench", split="dev", out=tmp_path / "p.jsonl")
    scores = veridical.evaluate(f"{shop}/made", out)
    assert scores.to_json()["accuracy"] == veridical.evaluate(f"{shop}/made", plain.out).to_json()["accuracy"]  # type: ignore[union-attr]
    assert veridical.evaluate(f"{shop}/made", [out, out]).to_json()["trials"]


def test_a_page_is_published_with_its_numbers(tmp_path: Path, shop: str) -> None:
    (tmp_path / "audit.html").write_text("<p>")
    (tmp_path / "audit.json").write_text("{}")
    (tmp_path / "other.json").write_text("{}")
    veridical.copy(tmp_path / "audit.html", f"{shop}/page.html")
    names = ["page.html", "page.html.files.json", "page.json", "page.json.files.json"]
    assert sorted(p.name for p in folder_of(shop).iterdir()) == names
    assert local(f"{shop}/page.html").read_text() == "<p>"
    assert local(f"{shop}/page.json").read_text() == "{}"


def test_a_run_folder_comes_and_goes(tmp_path: Path, shop: str) -> None:
    run = tmp_path / "run"
    (run / "trial-0" / "logs").mkdir(parents=True)
    (run / "trial-0" / "model.safetensors").write_bytes(b"weights")
    (run / "trial-0" / "logs" / "events.1").write_bytes(b"e")
    (run / "config.json").write_text("{}")
    (run / ".config.json.ab.part").write_text("half")
    veridical.copy(run, f"{shop}/run")
    found = local(f"{shop}/run")
    assert {p.relative_to(found).as_posix() for p in found.rglob("*") if p.is_file()} == {
        "trial-0/model.safetensors", "trial-0/logs/events.1", "config.json", "files.json",
    }  # fmt: skip
    veridical.copy(f"{shop}/run", tmp_path / "back")
    assert sorted(p.name for p in (tmp_path / "back").iterdir()) == ["config.json", "trial-0"]
    with pytest.raises(UserError, match="exists"):
        veridical.copy(f"{shop}/run", tmp_path / "back")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../b", ".ssh/id", "a//b", "benchmark.json", "x\n"])
def test_names_in_a_manifest_stay_in_their_folder(name: str) -> None:
    entry = {"sha256": "0" * 64, "bytes": 1}
    with pytest.raises(UserError, match="names no file"):
        listed_files(json.dumps({"files": {name: entry}}).encode(), "m")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"files": {"a": {"sha256": "x", "bytes": 1}}}', b"\xff"])
def test_a_damaged_manifest_is_refused(text: bytes) -> None:
    with pytest.raises(UserError, match="damaged"):
        listed_files(text, "m")


@settings(suppress_health_check=[HealthCheck.too_slow])  # the first text takes seconds on a busy machine
@given(st.binary(max_size=200) | st.dictionaries(st.text(max_size=20), st.text(max_size=9)).map(as_manifest))
def test_any_manifest_is_refused_or_stays_in_its_folder(text: bytes) -> None:
    try:
        names = listed_files(text, "m")
    except UserError:
        return
    root = Path("/cache/folder")
    assert all(Path(os.path.normpath(root / name)).is_relative_to(root) for name in names)
    assert all(Path(os.path.normpath(root / name)) != root for name in names)


def test_stores_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no store called 'abc'"):
        Benchmark("abc://x/y")
    with pytest.raises(UserError, match="Nothing was published"):
        Benchmark("memory://nothing")


def test_a_store_cannot_fill_disk_or_memory_nor_make_us_wait(tmp_path: Path, shop: str, cache: Path) -> None:
    """Objects that are larger than their manifest says, manifests without end, pipes."""
    veridical.copy(make(tmp_path), f"{shop}/bench")
    place = folder_of(f"{shop}/bench")
    large = next(place.glob("items-*.parquet"))
    os.truncate(large, 1 << 40)  # of holes: it takes no room, but a day to read
    with pytest.raises(UserError, match="not what its manifest says"):
        fetch(f"{shop}/bench")
    assert sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()) < 1 << 20
    os.truncate(place / "benchmark.json", 1 << 40)
    with pytest.raises(UserError, match="it is no manifest"):
        fetch(f"{shop}/bench")
    (place / "benchmark.json").unlink()
    os.mkfifo(place / "benchmark.json")
    with pytest.raises(UserError, match="named pipe"):
        fetch(f"{shop}/bench")
