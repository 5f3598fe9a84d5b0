"""Servers that are not there, go away, or are misspelled: said in seconds, in words, with the address."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest
from tests.commands import invoke

pytest.importorskip("inspect_ai", reason="needs the extra `vlm`")
pytest.importorskip("openai", reason="needs the extra `vlm`")

from veridical.benchmark import BenchmarkWriter
from veridical.errors import UserError
from veridical.records import TRUTH, Item, Panel, Text
from veridical.solvers.vlm import endpoint, tasks

from ._vlm_server import brightness, serve
from ._vlm_world import write_matrices, write_pairs


def solve(benchmark: Path, out: Path, url: str, *more: object) -> Any:
    return invoke("solve", "openai/tiny", benchmark, "--split", "dev", "--out", out, "--model-base-url", url, *more)


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_dead_server_is_found_within_seconds(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    start = time.monotonic()
    done = solve(write_pairs(tmp_path / "b", 2), tmp_path / "p.jsonl", url)
    assert time.monotonic() - start < 60, "Inspect's retries alone would take minutes"
    assert done.exit_code == 2
    assert done.stderr == (
        f"veridical: Nothing answers at {url}: the connection was refused. Nothing was asked.\n"
        "  Start the server there, or mend --model-base-url.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["b"], "nothing half-written"


@pytest.mark.parametrize("url", ["htp://127.0.0.1:8000/v1", "127.0.0.1:8000/v1", "localhost"])
def test_an_address_that_is_none(tmp_path: Path, url: str) -> None:
    done = solve(write_pairs(tmp_path / "b", 2), tmp_path / "p.jsonl", url)
    assert (done.exit_code, f"--model-base-url is '{url}'" in done.stderr) == (2, True)


def test_an_address_without_its_version(tmp_path: Path) -> None:
    with serve(brightness) as site:
        done = solve(write_pairs(tmp_path / "b", 2), tmp_path / "p.jsonl", site.url.removesuffix("/v1"))
    assert done.exit_code == 2
    assert f"Give --model-base-url {site.url}." in done.stderr
    assert site.requests == []


def test_reasons_are_words() -> None:
    said = {
        "[Errno -2] Name or service not known": "there is no such host",
        "[Errno -3] Temporary failure in name resolution": "the name of the host could not be looked up",
        "[Errno 111] Connection refused": "the connection was refused",
        "timed out": "it timed out",
    }
    assert {text: endpoint._reason(OSError(text)) for text in said} == said


def test_a_server_that_goes_away_fails_the_run_after_retries_that_are_told(tmp_path: Path) -> None:
    with serve(brightness, faults={f"number {n} ": "drop" for n in range(3, 40)}) as site:
        done = solve(
            write_pairs(tmp_path / "b", 40), tmp_path / "p.jsonl", site.url, "--max-connections", 1, "--max-retries", 1
        )
    assert done.exit_code == 1
    assert done.stdout.startswith("predictions in"), "Inspect announces nothing there"
    assert f"37 questions were not answered: {site.url} gave no answer in 2 attempts (no connection)." in done.stderr
    assert "RetryError" not in done.stderr
    assert "A request is tried again: no connection (attempt 1 failed, the next is in " in done.stderr
    assert len(site.requests) == 3 + 2 * 3, "after one question has used up its retries, no other is sent"


def test_missing_pictures_are_found_before_the_first_request(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="b", task="statement") as writer:
        writer.add_items(
            "dev", [Item(f"i{n}", "statement", (f"p{n}",), Text("x"), TRUTH, answer=n % 2) for n in range(4)]
        )
        address = writer.add_image((write_pairs(tmp_path / "c", 1) / "images-00000.arrow").read_bytes())
        writer.add_panels([Panel("p0", address), *(Panel(f"p{n}", uri=f"https://x.org/{n}") for n in range(1, 4))])
    with serve(brightness) as site:
        done = solve(tmp_path / "b", tmp_path / "p.jsonl", site.url)
        assert site.requests == []
        assert done.exit_code == 2
        assert done.stderr == (
            "veridical: Pictures of 3 of 4 items are not in the benchmark, such as those of i1: only their addresses "
            "are known. Nothing was asked.\n"
            "  Import the release again with --images, or ask without pictures: --blind.\n"
        )
        with pytest.raises(UserError, match="Pictures of 3 of 4 items"):
            tasks.nlvr2(str(tmp_path / "b"))
        assert solve(tmp_path / "b", tmp_path / "p.jsonl", site.url, "--limit", 1, "--blind").exit_code == 0
    assert len(site.requests) == 1


def test_candidates_are_pictures_too(tmp_path: Path) -> None:
    made = write_matrices(tmp_path / "m")
    with serve(lambda words, pictures: "A") as site:
        done = invoke("solve", "openai/tiny", made, "--out", tmp_path / "p.jsonl", "--model-base-url", site.url)
    assert done.exit_code == 0, done.stderr
    assert len(site.requests) == 2
