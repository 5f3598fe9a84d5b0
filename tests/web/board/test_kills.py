"""kill -9 while many send: what was acknowledged is there once, and scored; nothing is stuck."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select
from tests.web.board.town import OPTIONS, predictions

from veridical.web.board.app import make_site
from veridical.web.board.hosted import hosted
from veridical.web.board.tables import Entry
from veridical.web.board.teams import make_team, make_token

ROUNDS, KILLS_OF_A_ROUND = 5, int(os.environ.get("KILLS", "100")) // 5


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Server:
    """`veridical serve` in a process of its own."""

    def __init__(self, benchmark: Path, data: Path, *options: str) -> None:
        self.port = free_port()
        self.command = [
            sys.executable, "-m", "veridical", "serve", str(benchmark), "--data", str(data), "--port", str(self.port),
            "--per-day", "100000", "--processes", "2", *options,
        ]  # fmt: skip
        self.address = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.address)  # one: what a new one loads for TLS takes 20 ms of processor
        self.log = data / "server.log"

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        until = time.monotonic() + 300  # a busy machine gives it little of a processor
        while time.monotonic() < until:
            try:
                self.client.get("/api/boards", timeout=5)
                return
            except httpx.TransportError:
                assert self.process.poll() is None, self.log.read_text()
                time.sleep(0.05)
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Sender(threading.Thread):
    """Sends files one after another, each until it is acknowledged."""

    def __init__(self, number: int, address: str, token: str, benchmark: Path, end: threading.Event) -> None:
        super().__init__()
        self.number, self.address, self.token, self.benchmark, self.end = number, address, token, benchmark, end
        self.acknowledged: dict[str, str] = {}  # name -> entry
        self.refused: list[str] = []

    def run(self) -> None:
        client = httpx.Client(headers={"authorization": f"Bearer {self.token}"}, timeout=30)
        path = f"{self.address}/api/boards/boxes-test/entries"
        turn = 0
        while not self.end.is_set():
            turn += 1
            name = f"s{self.number}-{turn}"
            data = predictions(self.benchmark, 0.5, 1000 * self.number + turn)
            while not self.end.is_set():
                try:
                    answer = client.post(path, params={"name": name}, content=data)
                except httpx.TransportError:
                    time.sleep(0.1)
                    continue
                if answer.status_code in (201, 202):
                    self.acknowledged[name] = answer.json()["id"]
                else:
                    self.refused.append(f"{answer.status_code} {answer.text}")
                break


@dataclass
class Crowd:
    """A board with teams that send to it, and what was acknowledged so far."""

    benchmark: Path
    data: Path
    tokens: list[str]
    senders: list[Sender] = field(default_factory=list)

    def storm(self, kills: int, pause: float, seed: int = 0) -> None:
        """Kill the server so many times while all send; then everything ever acknowledged is there once and scored."""
        server, end = Server(self.benchmark, self.data, "--patience", "1"), threading.Event()
        server.start()
        first = len(self.senders)
        pairs = enumerate(self.tokens, first)
        senders = [Sender(number, server.address, token, self.benchmark, end) for number, token in pairs]
        self.senders += senders
        for sender in senders:
            sender.start()
        rng = random.Random(seed)
        try:
            for _ in range(kills):
                time.sleep(pause * rng.random())
                server.kill()
                server.start()
            time.sleep(pause)
        finally:
            end.set()
            for sender in senders:
                sender.join()
        try:
            check(self.senders, self.data, self.benchmark)
        finally:
            server.kill()
        sent = sum(len(sender.acknowledged) for sender in senders)
        print(f"{kills} kills, {len(senders)} clients: {sent} acknowledged, all scored", file=sys.stderr)


def crowd(benchmark: Path, data: Path, clients: int) -> Crowd:
    """A new board, and so many teams."""
    data.mkdir()
    site = make_site(hosted([benchmark]), data, OPTIONS)
    with site.database.write() as session:
        tokens = []
        for number in range(clients):
            account = site.accounts.make(session, f"sender {number}", "correct horse battery")
            tokens.append(make_token(session, make_team(session, f"team {number}", account.id).id, "t"))
    site.database.close()
    return Crowd(benchmark, data, tokens)


def check(senders: list[Sender], data: Path, benchmark: Path) -> None:
    site = make_site(hosted([benchmark]), data / "elsewhere", replace(OPTIONS), f"sqlite:///{data / 'board.sqlite'}")
    until = time.monotonic() + 120
    while True:
        with site.database.read() as session:
            entries = session.scalars(select(Entry)).all()
        if all(one.status != "waiting" for one in entries) or time.monotonic() > until:
            break
        time.sleep(0.2)
    site.database.close()
    assert not [one.id for one in entries if one.status != "scored"]
    count = Counter(one.name for one in entries)
    assert set(count.values()) <= {1}  # also of those that were sent twice
    by_id = {one.id: one.name for one in entries}
    acknowledged = [pair for sender in senders for pair in sender.acknowledged.items()]
    assert acknowledged
    assert not [name for name, entry in acknowledged if by_id.get(entry) != name]
    assert not [text for sender in senders for text in sender.refused]


def test_three_kills_while_three_send(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    crowd(benchmarks["boxes"], tmp_path / "data", clients=3).storm(kills=3, pause=1.5)


@pytest.fixture(scope="module")
def twenty(benchmarks: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    return crowd(benchmarks["boxes"], tmp_path_factory.mktemp("storm") / "data", clients=20)


@pytest.mark.soak
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_hundred_kills_while_twenty_send(twenty: Crowd, turn: int) -> None:
    """On one board, in rounds: a machine that allows minutes only runs them one by one (-k)."""
    twenty.storm(KILLS_OF_A_ROUND, pause=3.0, seed=turn)
