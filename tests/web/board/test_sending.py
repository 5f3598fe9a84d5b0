"""`veridical submit` against a running server, and the simulated teams of the demo."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.commands import invoke
from tests.formats._server import Handler, serving
from tests.web.board.test_kills import Server
from tests.web.board.town import Person, predictions

from veridical.benchmark import Benchmark
from veridical.evaluation import evaluate
from veridical.evaluation.grade import read_key
from veridical.web.board.demo import simulated


@pytest.fixture(scope="module")
def served(benchmarks: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server, and a token of a team on it."""
    server = Server(benchmarks["boxes"], tmp_path_factory.mktemp("sent"), "--patience", "0.01")
    server.start()
    with httpx.Client(base_url=server.address, timeout=60) as client:
        ada = Person(client)  # type: ignore[arg-type]
        ada.sign_up("ada")
        token = ada.token()
    yield server, token
    server.kill()


def test_a_file_is_sent_waited_for_and_shown(
    served: tuple[Server, str], benchmarks: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, token = served
    monkeypatch.setenv("VERIDICAL_TOKEN", token)
    file = tmp_path / "mine.jsonl"
    file.write_bytes(predictions(benchmarks["boxes"]))
    sent = invoke("submit", server.address, file, "--public", "--json")  # its only board is meant
    assert sent.exit_code == 0, sent.stderr
    assert json.loads(sent.stdout)["scores"]["metrics"]["accuracy"]["value"] == 1.0
    again = invoke("submit", f"{server.address}/boards/boxes-test", file)
    assert "mine on boxes-test: scored, public" in " ".join(again.stdout.split())


def test_a_refusal_is_said_in_words(
    served: tuple[Server, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmarks: dict[str, Path]
) -> None:
    server, token = served
    monkeypatch.delenv("VERIDICAL_TOKEN", raising=False)
    file = tmp_path / "mine.jsonl"
    file.write_bytes(predictions(benchmarks["boxes"]))
    assert "No token was given" in invoke("submit", server.address, file).stderr
    assert "A token of a team is needed" in invoke("submit", server.address, file, "--token", "vrd_x").stderr
    assert "is not the address of a board" in invoke("submit", "nonsense", file, "--token", token).stderr


ANSWERS = {
    "a list": b"[]",
    "another shape": b'{"status": "scored"}',
    "numbers as text": b'{"id": 3}',
    "no JSON": b"<html>",
    "deep": b"[" * 100_000,
    "not text": b"\xff\xfe",
    "endless": b"0" * ((16 << 20) + 2),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_a_server_that_is_no_board(tmp_path: Path, what: str) -> None:
    (tmp_path / "mine.jsonl").write_text("{}\n")
    with serving() as site:
        site.files["/api/boards/one/entries"] = ANSWERS[what]
        ran = invoke("submit", f"{site.url}/boards/one", tmp_path / "mine.jsonl", "--token", "t")
    assert ran.exit_code == 2
    assert "Is this the address of a board?" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_answer_that_is_not_packed_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("{}\n")

    def unlike(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", "2")
        handler.end_headers()
        handler.wfile.write(b"{}")

    with serving() as site:
        site.acts["/api/boards"] = [unlike]
        ran = invoke("submit", site.url, tmp_path / "mine.jsonl", "--token", "t")
    assert ran.exit_code == 2
    assert "cannot be read" in ran.stderr


@pytest.mark.parametrize("url", ["http://[", "http://127.0.0.1:99999/", "http://\x7f/", "https://"])
def test_what_is_no_address(tmp_path: Path, url: str) -> None:
    (tmp_path / "mine.jsonl").write_text("{}\n")
    ran = invoke("submit", url, tmp_path / "mine.jsonl", "--token", "t")
    assert ran.exit_code == 2
    assert "Traceback" not in ran.stderr


def test_a_simulated_team_is_about_as_good_as_its_skill(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    key = read_key(Benchmark(benchmarks["boxes"]), "test")
    made = []
    for seed, skill in enumerate((0.6, 0.9)):
        file = tmp_path / f"{seed}.jsonl"
        file.write_bytes(simulated(key, skill, np.random.default_rng(seed)))
        made.append(evaluate(benchmarks["boxes"], file, split="test").accuracy.value)
    assert made == pytest.approx([0.6, 0.9], abs=0.12)
