"""Does the time that a score takes tell anything that the score does not? Files that differ in what is right alone.

Three pairs of files against a hidden split of 2,000 items with two candidates: all right and all wrong; two halves that
are right where the other is wrong, so that both score alike; a file and the same with one answer turned. Each file is
scored many times, in random order. For each pair: the medians, and how often the first took longer than the second
(0.5 is no difference at all), with a 95% interval. Seconds of the processor that scores, then seconds of the clock for
the whole request, as whoever sends the file sees them.

    python benchmarks/board_timing.py [--times 150] [--requests 40]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.options.serving import ServeOptions
from veridical.records import TRUTH, Item, Text
from veridical.web.board.app import make_app, make_site
from veridical.web.board.hosted import hosted
from veridical.web.board.scoring import do
from veridical.web.board.serving import prepare
from veridical.web.board.teams import make_team, make_token
from veridical.web.board.workers import Limits, job_of

ITEMS = 2000
PAIRS = {
    "all right, all wrong": ("right", "wrong"),
    "two halves that score alike": ("half", "other half"),
    "one answer turned": ("half", "half but one"),
}


def benchmark(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    with BenchmarkWriter(folder / "timed", name="timed", task="statement", hidden=("test",)) as writer:
        for split, count in (("train", 40), ("test", ITEMS)):
            answers = rng.integers(2, size=count).tolist()
            items = (
                Item(f"{split}-{n}", "statement", (), Text(f"Sentence {n}."), TRUTH, answer, group=f"{split}-{n // 4}")
                for n, answer in enumerate(answers)
            )
            writer.add_items(split, items)
    return folder / "timed"


def files(made: Path) -> dict[str, bytes]:
    """Predictions of the same length, byte for byte, that differ in what is right."""
    table = Benchmark(made).items_table("test", answers=True, columns=("id", "answer"))
    names, answers = table["id"].to_pylist(), np.array(table["answer"].to_pylist())
    half = np.where(np.random.default_rng(1).permutation(ITEMS) < ITEMS // 2, answers, 1 - answers)
    turned = half.copy()
    turned[ITEMS // 2] ^= 1
    chosen = {"right": answers, "wrong": 1 - answers, "half": half, "other half": 1 - half, "half but one": turned}
    return {
        name: b"".join(
            json.dumps({"item": item, "scores": [1 - one, one]}).encode() + b"\n"
            for item, one in zip(names, values.tolist(), strict=True)
        )
        for name, values in chosen.items()
    }


def timed(names: list[str], times: int, measure: Callable[[str], float]) -> dict[str, np.ndarray]:
    """Seconds of each file, in random order."""
    rng = np.random.default_rng(2)
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(times):
        for name in rng.permutation(names).tolist():
            found[name].append(measure(name))
    return {name: np.array(values[1:]) for name, values in found.items()}  # the first warms up


def show(what: str, found: dict[str, np.ndarray]) -> None:
    rng = np.random.default_rng(3)
    print(f"\n{what}\n{'pair':30} {'ms':>8} {'ms':>8}  first takes longer")
    for title, (one, other) in PAIRS.items():
        a, b = found[one], found[other]
        again = [longer(rng.choice(a, len(a)), rng.choice(b, len(b))) for _ in range(1000)]
        low, high = np.quantile(again, (0.025, 0.975))
        medians = f"{1e3 * np.median(a):8.2f} {1e3 * np.median(b):8.2f}"
        print(f"{title:30} {medians}  {longer(a, b):.3f} [{low:.3f}, {high:.3f}]", flush=True)


def longer(a: np.ndarray, b: np.ndarray) -> float:
    return float((np.sign(a[:, None] - b[None]).mean() + 1) / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=150)
    parser.add_argument("--requests", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        made = benchmark(folder)
        sent = files(made)
        for name, data in sent.items():
            (folder / name).write_bytes(data)
        boards = hosted([made])
        (board,) = boards.values()

        def work(name: str) -> float:
            start = time.process_time()
            assert do(job_of(board, Limits(), (str(folder), name))).status == "scored"
            return time.process_time() - start

        show("Scoring, seconds of a processor", timed(list(sent), args.times, work))
        site = make_site(boards, folder / "data", ServeOptions(per_day=10**6, processes=1, patience=60.0))
        prepare(site, {})
        with TestClient(make_app(site, 1 << 24)) as client:
            with site.database.write() as session:
                account = site.accounts.make(session, "ada", "correct horse battery")
                token = make_token(session, make_team(session, "ada", account.id).id, "t")
            headers, number = {"authorization": f"Bearer {token}"}, iter(range(10**9))

            def request(name: str) -> float:
                query = {"name": f"entry {next(number)}"}
                start = time.perf_counter()
                path = f"/api/boards/{board.id}/entries"
                assert client.post(path, params=query, content=sent[name], headers=headers).status_code == 201
                return time.perf_counter() - start

            show("The whole request, seconds of the clock", timed(list(sent), args.requests, request))


if __name__ == "__main__":
    main()
