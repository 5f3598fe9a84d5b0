"""A site with people on it, for tests: benchmarks with hidden splits, and browsers that fill in forms."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.options.serving import ServeOptions
from veridical.records import TRUTH, Item, Text, pairs
from veridical.web.board.app import make_app, make_site
from veridical.web.board.hosted import hosted
from veridical.web.board.serving import claim_link, prepare
from veridical.web.board.site import Site

ITEMS = 120
PASSWORD = "correct horse battery"
MARK = "zzsecret"  # in everything that is hidden, and nowhere else
OPTIONS = ServeOptions(per_day=5, smallest_part=20, processes=1, patience=20.0)


def statements(split: str, count: int = ITEMS, seed: int = 7) -> Iterator[Item]:
    """True/false items whose answers a seed decides."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        yield Item(
            f"{split}-qx{number}",
            "statement",
            (),
            Text(f"Sentence {number}."),
            TRUTH,
            answer=int(rng.integers(2)),
            group=f"{split}-{number // 4}",
            program=f"({MARK} {number})",
            tags=pairs(phenomenon=["negation" if number % 3 else "counting"]),
        )


def write_benchmark(folder: Path, name: str, seed: int = 7, count: int = ITEMS) -> Path:
    with BenchmarkWriter(folder / name, name=name, task="statement", hidden=("test",)) as writer:
        writer.add_items("train", statements("train", 40))
        writer.add_items("test", statements("test", count, seed))
    return folder / name


def predictions(benchmark: Path, right: float = 1.0, seed: int = 0) -> bytes:
    """A complete file that is right on a share of the items."""
    table = Benchmark(benchmark).items_table("test", answers=True, columns=("id", "answer"))
    rng = np.random.default_rng(seed)
    lines = []
    for name, answer in zip(table["id"].to_pylist(), table["answer"].to_pylist(), strict=True):
        chosen = answer if rng.random() < right else 1 - answer
        lines.append(json.dumps({"item": name, "scores": [1.0 - chosen, float(chosen)]}) + "\n")
    return "".join(lines).encode()


# --- a site with people on it ----------------------------------------------------------------------------------------


@dataclass
class Person:
    """Somebody with a browser, who fills in forms as pages have them."""

    client: TestClient
    name: str = ""
    cookies: dict[str, str] = field(default_factory=dict)

    def request(self, method: str, path: str, **values: Any) -> Any:
        self.client.cookies.clear()
        for name, value in self.cookies.items():
            self.client.cookies.set(name, value)
        answer = self.client.request(method, path, follow_redirects=False, **values)
        for name, value in answer.cookies.items():
            self.cookies[name] = value
        for line in answer.headers.get_list("set-cookie"):
            if "Max-Age=0" in line:
                self.cookies.pop(line.partition("=")[0], None)
        return answer

    def get(self, path: str, **values: Any) -> Any:
        return self.request("GET", path, **values)

    def form_token(self, path: str) -> str:
        return re.search(r'name="form_token" value="([0-9a-f]+)"', self.get(path).text)[1]

    def post(self, path: str, fields: dict[str, str], page: str | None = None, files: Any = None) -> Any:
        fields = {"form_token": self.form_token(page or path), **fields}
        return self.request("POST", path, data=fields, files=files)

    def sign_up(self, name: str, team: str = "") -> Any:
        self.name = name
        return self.post("/sign-up", {"name": name, "password": PASSWORD, "team": team})

    def send(
        self, board: str, data: bytes, name: str = "A system", public: bool = True, file: str = "mine.jsonl"
    ) -> Any:
        fields = {"name": name, **({"public": "yes"} if public else {})}
        sent = {"file": (file, data)}
        return self.post(f"/boards/{board}/entries", fields, f"/boards/{board}", sent)

    @property
    def team(self) -> int:
        return int(re.search(r"/teams/(\d+)", self.get("/account").text)[1])

    def token(self) -> str:
        """A token of their team."""
        answer = self.post(f"/teams/{self.team}", {"do": "token", "name": "for tests"})
        return re.search(r"(vrd_[\w-]+)", answer.text)[1]


@dataclass
class Town:
    """A running site, and whoever comes to it."""

    site: Site
    client: TestClient
    people: int = 0

    def person(self, name: str = "", team: str = "") -> Person:
        """Somebody new; with a name they sign up, under one that nobody else has."""
        made, self.people = Person(self.client), self.people + 1
        if name:
            team = f"{team} {self.people}" if team else ""
            assert made.sign_up(f"{name} {self.people}", team).status_code == 303
        return made

    def admin(self) -> Person:
        path = claim_link(self.site, "")
        assert path is not None
        made = Person(self.client, "admin")
        assert made.post(path, {"name": "admin", "password": PASSWORD}).status_code == 303
        return made

    def api(self, token: str, method: str, path: str, **values: Any) -> Any:
        self.client.cookies.clear()
        headers = {"authorization": f"Bearer {token}"}
        return self.client.request(method, f"/api{path}", headers=headers, **values)

    def settled(self) -> None:
        """Wait until nothing is to be scored or compared any more."""
        until = time.monotonic() + 60
        while self.site.workers.waiting and time.monotonic() < until:
            time.sleep(0.05)
        assert not self.site.workers.waiting


@contextmanager
def opened(
    folders: list[Path], data: Path, options: ServeOptions = OPTIONS, database: str | None = None
) -> Iterator[Town]:
    site = make_site(hosted(folders), data, options, database)
    prepare(site)
    with TestClient(make_app(site, options.largest_file << 20), raise_server_exceptions=False) as client:
        yield Town(site, client)


def routes_of(app: Any) -> list[tuple[str, set[str]]]:
    """Every path of an app with its methods, those of included routers too."""
    found, todo = [], list(app.routes)
    for route in todo:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            todo += inner.routes
        elif getattr(route, "methods", None):
            found.append((route.path, set(route.methods)))
    return found
