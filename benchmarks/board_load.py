"""300 submissions of 7,000 lines within a minute: none lost, none stuck, all scored within two minutes?

A board of 7,000 items and 30 tags is served on loopback; 20 clients send 300 different files, spread over a minute.
What is reported: how long until each was acknowledged and until all were scored, and the processor time of the server
and of the processes that score.

    python benchmarks/board_load.py [--submissions 300] [--seconds 60]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np

from veridical.benchmark import BenchmarkWriter
from veridical.options.serving import ServeOptions
from veridical.records import TRUTH, Item, Text, pairs
from veridical.web.board.app import make_site
from veridical.web.board.hosted import hosted
from veridical.web.board.teams import make_team, make_token

ITEMS, TAGS, CLIENTS = 7000, 30, 20


def benchmark(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    items = (
        Item(
            f"test-{k}", "statement", (), Text(f"Sentence {k}."), TRUTH, answer=int(rng.integers(2)),
            group=f"g{k // 4}",
            tags=pairs(phenomenon=[f"phenomenon {j}" for j in rng.choice(TAGS, 3, replace=False)]),
        )
        for k in range(ITEMS)
    )  # fmt: skip
    with BenchmarkWriter(folder / "load", name="load", task="statement", hidden=("test",)) as writer:
        writer.add_items("test", items)
    return folder / "load"


def predictions(seed: int) -> bytes:
    scores = np.random.default_rng(seed).random((ITEMS, 2)).round(4).tolist()
    return "".join(json.dumps({"item": f"test-{k}", "scores": one}) + "\n" for k, one in enumerate(scores)).encode()


def tokens(folder: Path, data: Path) -> list[str]:
    site = make_site(hosted([folder]), data, ServeOptions())
    with site.database.write() as session:
        made = []
        for k in range(CLIENTS):
            account = site.accounts.make(session, f"client {k}", "correct horse battery")
            made.append(make_token(session, make_team(session, f"team {k}", account.id).id, "load"))
    site.database.close()
    return made


class Clients:
    """20 threads that share 300 files, each sent at its moment."""

    def __init__(self, address: str, tokens: list[str], files: list[bytes], seconds: float) -> None:
        self.address, self.tokens, self.files, self.seconds = address, tokens, files, seconds
        self.waits: list[float] = []
        self.entries: dict[str, str] = {}  # entry -> token
        self.errors: list[str] = []

    def run(self) -> None:
        self.start = time.monotonic()
        threads = [threading.Thread(target=self._client, args=(k,)) for k in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int) -> None:
        with httpx.Client(base_url=self.address, timeout=120) as client:
            client.headers["authorization"] = f"Bearer {self.tokens[number]}"
            for place in range(number, len(self.files), CLIENTS):
                time.sleep(max(0.0, self.start + place * self.seconds / len(self.files) - time.monotonic()))
                sent = time.monotonic()
                path = "/api/boards/load-test/entries"
                answer = client.post(path, params={"name": f"file {place}"}, content=self.files[place])
                self.waits.append(time.monotonic() - sent)
                if answer.status_code in (201, 202):
                    self.entries[answer.json()["id"]] = self.tokens[number]
                else:
                    self.errors.append(answer.text)

    def scored(self) -> tuple[int, int]:
        """How many entries are scored, and how many are there."""
        found = []
        with httpx.Client(base_url=self.address, timeout=120) as client:
            for token in self.tokens:
                headers = {"authorization": f"Bearer {token}"}
                found += client.get("/api/entries", headers=headers).json()
        return sum(one["status"] == "scored" for one in found), len(found)


def serve(folder: Path, data: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "veridical", "serve", str(folder), "--data", str(data), "--port", str(port)]
    server = subprocess.Popen([*command, "--per-day", "1000", "--quiet"], stderr=subprocess.DEVNULL)
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/api/boards")
            return server
        except httpx.TransportError:
            time.sleep(0.2)


def processor(pid: int) -> float:
    """Seconds that a process has used so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--submissions", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder, data = benchmark(Path(name)), Path(name) / "data"
        given = tokens(folder, data)
        files = [predictions(seed) for seed in range(asked.submissions)]
        server = serve(folder, data, port)
        clients = Clients(f"http://127.0.0.1:{port}", given, files, asked.seconds)
        clients.run()
        acknowledged = time.monotonic() - clients.start
        while clients.scored()[0] < len(clients.entries) and time.monotonic() - clients.start < 600:
            time.sleep(0.5)
        everything = time.monotonic() - clients.start
        scored, there = clients.scored()
        own = processor(server.pid)
        server.terminate()
        server.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = used.ru_utime + used.ru_stime
    waits = np.quantile(clients.waits, [0.5, 0.95, 1.0])
    print(f"{asked.submissions} files of {ITEMS:,} lines ({len(files[0]) / 1e3:.0f} kB) in {asked.seconds:.0f} s")
    print(f"acknowledged {len(clients.entries)}, refused {len(clients.errors)}, there {there}, scored {scored}")
    print(f"the last acknowledged after {acknowledged:.1f} s, all scored after {everything:.1f} s")
    print(f"a client waits {waits[0]:.2f} s (median), {waits[1]:.2f} s (95%), {waits[2]:.2f} s (longest)")
    print(f"processor: server {own:.1f} s, scoring and start {whole - own:.1f} s; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
