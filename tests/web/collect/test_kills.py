"""kill -9 while many work: every answer that was acknowledged is there once and whole, no task lost or given to many.

People take tasks and answer them over HTTP, as their pages do; the server is killed at random moments. An answer that
had no reply is sent again until it has one.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from tests.web.board.test_kills import Server
from tests.web.collect.town import lease_on, write_judging

from veridical.options.serving import ServeOptions
from veridical.web.board.app import make_site
from veridical.web.collect.tables import answers, leases, payments, tasks
from veridical.web.database import Database, sqlite_address

SOAK_KILLS = int(os.environ.get("KILLS", "100"))
NEEDED = 3


class Hand(threading.Thread):
    """Somebody who judges sentences one after another, sends each answer until it is acknowledged, and often twice."""

    def __init__(self, number: int, address: str, cookie: str, end: threading.Event) -> None:
        super().__init__()
        self.rng, self.end = random.Random(number), end
        self.base = f"{address}/collections/judging"
        self.client = httpx.Client(cookies={"worker-judging": cookie, "visit": f"v{number}"}, timeout=60)
        self.acknowledged: dict[str, str] = {}  # lease -> what was said
        self.refused: list[str] = []

    def ask(self, method: str, path: str, **values: Any) -> httpx.Response | None:
        """An answer of the server; None where there is no more time."""
        while not self.end.is_set():
            try:
                found = self.client.request(method, self.base + path, **values)
                if found.status_code < 500:
                    return found
            except httpx.TransportError:
                time.sleep(0.1)
        return None

    def run(self) -> None:
        while (page := self.ask("GET", "/work")) is not None:
            if 'name="lease"' not in page.text:
                return
            lease, token = lease_on(page.text), page.text.split('name="form_token" value="')[1].split('"')[0]
            said = self.rng.choice(["true", "false", "nonsense"])
            values = {"form_token": token, "lease": lease, "verdict": said}
            for _ in range(self.rng.choice([1, 1, 2])):
                sent = self.ask("POST", "/work", data=values, headers={"accept": "application/json"})
                if sent is None:
                    break
                if sent.status_code == 200:
                    self.acknowledged.setdefault(lease, said)
                else:
                    self.refused.append(f"{sent.status_code} {sent.text[:200]}")
            time.sleep(0.02 * self.rng.random())


def storm(folder: Path, data: Path, address: str | None, kills: int, hands: int, pause: float) -> list[Hand]:
    data.mkdir()
    site = make_site({}, data, ServeOptions(), address, [folder])
    service = site.collections["judging"].service
    service.start()
    people = [service.join("simulated").id for _ in range(hands)]
    for name in people:
        service.consent(name, "1")
    cookies = [site.signing.worker_pass("judging", name) for name in people]
    site.database.close()
    server, end = Server(folder, data, *(["--database", address] if address else [])), threading.Event()
    server.start()
    working = [Hand(k, server.address, cookie, end) for k, cookie in enumerate(cookies)]
    for one in working:
        one.start()
    rng = random.Random(0)
    try:
        for _ in range(kills):
            time.sleep(pause * rng.random())
            server.kill()
            server.start()
        time.sleep(pause)
    finally:
        end.set()
        for one in working:
            one.join()
            one.client.close()
        server.kill()
    return working


def check(working: list[Hand], database: Database) -> int:
    """What must hold afterwards; how many answers there are."""
    with database.read() as session:
        there = session.execute(select(answers)).mappings().all()
        held = session.execute(select(leases)).mappings().all()
        every = {row["id"]: row for row in session.execute(select(tasks)).mappings()}
        paid = Counter(session.execute(select(payments.c.id)).scalars())
    by_id = {row["id"]: row for row in there}
    assert len(by_id) == len(there)
    acknowledged = {lease: said for one in working for lease, said in one.acknowledged.items()}
    assert acknowledged
    verdicts = {"true": '{"verdict":true}', "false": '{"verdict":false}', "nonsense": '{"verdict":"nonsense"}'}
    assert not [lease for lease, said in acknowledged.items() if by_id.get(lease, {}).get("value") != verdicts[said]]
    assert not [text for one in working for text in one.refused]
    # none half there: with an answer its lease ended, its task was counted and its payment written
    ended = {row["id"] for row in held if row["ended"] == "answered"}
    assert ended == by_id.keys()
    assert paid == Counter(f"task:{name}" for name in by_id)
    given: dict[str, list[str]] = defaultdict(list)
    for row in held:
        if row["ended"] in (None, "answered"):
            given[row["task"]].append(row["worker"])
    done = Counter(row["task"] for row in there)
    open_now = Counter(row["task"] for row in held if row["ended"] is None)
    for name, row in every.items():
        assert (row["done"], row["leased"]) == (done[name], open_now[name]), name
        assert len(given[name]) <= row["needed"], name  # never to too many
        assert len(set(given[name])) == len(given[name]), name  # never twice to one
        assert row["free"] == (row["closed"] is None and row["done"] + row["leased"] < row["needed"]), (
            name
        )  # never lost
    return len(there)


def test_two_kills_while_four_work(judging_folder: Path, tmp_path: Path) -> None:
    working = storm(judging_folder, tmp_path / "data", None, kills=2, hands=4, pause=1.0)
    database = Database(sqlite_address(tmp_path / "data" / "board.sqlite"))
    assert check(working, database)
    database.close()


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_hundred_kills_while_thirty_work(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = write_judging(tmp_path / "judging", 20_000, NEEDED)
    address = request.getfixturevalue("postgres")() if kind == "postgres" else None
    working = storm(folder, tmp_path / "data", address, kills=SOAK_KILLS, hands=30, pause=2.0)
    database = Database(address or sqlite_address(tmp_path / "data" / "board.sqlite"))
    found = check(working, database)
    database.close()
    acknowledged = sum(len(one.acknowledged) for one in working)
    print(f"{kind}: {SOAK_KILLS} kills, {acknowledged} acknowledged, {found} there, each once")
