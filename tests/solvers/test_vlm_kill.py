"""`veridical solve` killed with kill -9 and run again: what the journal holds is never asked a second time."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra `vlm`")
pytest.importorskip("openai", reason="needs the extra `vlm`")

from veridical.evaluation import evaluate

from ._vlm_server import Site, brightness, serve
from ._vlm_world import write_pairs

CONNECTIONS = 4


def start(benchmark: Path, out: Path, site: Site, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    what = ["solve", "openai/tiny", str(benchmark), "--split", "dev", "--out", str(out)]
    how = ["--model-base-url", site.url, "--max-connections", str(CONNECTIONS)]
    return subprocess.Popen(
        [sys.executable, "-m", "veridical", *what, *how],
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env=os.environ | {"OPENAI_API_KEY": "x"},
    )


def journaled(out: Path) -> set[str]:
    """The statements whose answers are in the journal, whole lines only."""
    path = out.with_name(out.name + ".journal")
    if not path.exists():
        return set()
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1].splitlines()[1:]
    return {f"number {json.loads(line)['item'].removeprefix('dev-')} is" for line in whole}


def statements(requests: list[dict[str, str]]) -> list[str]:
    """Which statement each request was about."""
    return ["number" + r["words"].partition("number")[2].partition(" bright")[0] for r in requests]


def storm(tmp_path: Path, items: int, kills: list[float], delay: float) -> None:
    """Kill the command when these shares of the items are answered; then let it finish."""
    benchmark, out = write_pairs(tmp_path / "b", items), tmp_path / "p.jsonl"
    marks: list[tuple[set[str], int]] = []  # at each kill: what the journal held, how many requests there had been
    with serve(brightness, delay=delay) as site:
        for share in kills:
            process = start(benchmark, out, site)
            deadline = time.monotonic() + 90
            while len(site.words()) < share * items and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            assert process.poll() is None, "it must be killed before it ends"
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(delay + 0.2)  # requests in flight arrive or break off
            kept, before = journaled(out), len(site.requests)
            marks.append((kept, before))
        assert start(benchmark, out, site).wait() == 0
        asked = statements(site.requests)
    for kept, before in marks:
        assert not kept & set(asked[before:]), "nothing in the journal is asked again, after any number of kills"
    again = sum(count - 1 for count in Counter(asked).values())
    assert len(set(asked)) == items
    assert again <= CONNECTIONS * len(kills), "at most the requests in flight at a kill are paid twice"
    assert len(out.read_text().splitlines()) == items
    assert evaluate(benchmark, out).accuracy.value == 1.0


def test_killed_twice_and_continued(tmp_path: Path) -> None:
    storm(tmp_path, 40, [0.2, 0.6], 0.05)


def test_stopped_with_ctrl_c(tmp_path: Path) -> None:
    benchmark, out = write_pairs(tmp_path / "b", 30), tmp_path / "p.jsonl"
    with serve(brightness, delay=0.1) as site:
        process = start(benchmark, out, site, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 90
        while len(site.words()) < 6 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert b"Run the same command again to continue" in said
        assert b"Traceback" not in said
        kept = len(journaled(out))
        assert kept >= 6 - CONNECTIONS, "what the server has answered may still have been on its way"
        assert len(out.read_text().splitlines()) == kept, "what there is can be looked at"


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_moments(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    storm(tmp_path, 200, sorted(rng.uniform(0.02, 0.95) for _ in range(6)), 0.02)
