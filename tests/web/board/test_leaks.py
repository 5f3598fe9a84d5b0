"""The hidden answers cannot be had: every route, as everybody, and complaints that do not depend on answers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.web.board.town import ITEMS, MARK, OPTIONS, Person, Town, opened, predictions, routes_of, write_benchmark

from veridical.benchmark import Benchmark
from veridical.web.board.hosted import hosted
from veridical.web.board.scoring import do
from veridical.web.board.workers import Limits, job_of

PRIVATE = "Unpublished breakthrough"
FORMS = [
    {"do": "withdraw"}, {"do": "token", "name": "t"}, {"do": "add", "name": "eve"}, {"do": "status", "status": "open"},
    {"do": "appoint", "name": "eve"}, {"do": "password", "name": "ada"}, {"name": "x", "public": "yes"},
]  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """A board with a private entry on it, and everybody who might want to know."""

    town: Town
    people: dict[str, Person]
    tokens: dict[str, str | None]
    entry: dict[str, str]
    team: int


@pytest.fixture
def scene(either: Town, benchmarks: dict[str, Path]) -> Scene:
    admin = either.admin()
    people = {"anonymous": either.person(), **{name: either.person(name) for name in ("ada", "eve", "bob")}}
    admin.post("/boards/other-test/host", {"do": "appoint", "name": people["bob"].name})
    tokens = {name: person.token() if name != "anonymous" else None for name, person in people.items()}
    for name, public in ((PRIVATE, False), ("Shown", True)):
        data = predictions(benchmarks["boxes"], 0.8, int(public))
        sent = {"params": {"name": name, "public": public}, "content": data}
        made = either.api(tokens["ada"] or "", "POST", "/boards/boxes-test/entries", **sent).json()
        if not public:
            entry = made
    return Scene(either, people, tokens, entry, people["ada"].team)


def answers(benchmark: Path) -> str:
    table = Benchmark(benchmark).items_table("test", answers=True, columns=("answer",))
    return "".join(map(str, table["answer"].to_pylist()))


def addresses(scene: Scene) -> Iterator[tuple[str, str]]:
    """Every route with every name that there is, and with names that there are not."""
    entries = [folder.name for folder in scene.town.site.entries.folder.iterdir()]
    values = {
        "board": ["boxes-test", "other-test", "nothing", "..%2f..%2fboxes.hidden"],
        "entry": [*entries, "nothing", "..%2f"],
        "team": [str(scene.team), "1", "99999999999999999999", "x"],
        "purpose": ["claim", "password"],
        "token": ["x"],
        "path": ["board.css", "..%2f..%2fboxes.hidden/hidden.json"],
    }
    for path, methods in routes_of(scene.town.client.app):
        names = re.findall(r"\{(\w+)(?::\w+)?\}", path)
        for chosen in itertools.product(*(values[name] for name in names)):
            address = path
            for name, value in zip(names, chosen, strict=True):
                address = re.sub(rf"\{{{name}(:\w+)?\}}", value, address)
            yield from ((method, address) for method in methods)
            if "GET" in methods:
                yield "GET", f"{address}?sort=consistency&start=1"
    for path in ("/static/../../secret.key", "/boxes.hidden/hidden.json", "/boards/boxes-test/items", "/data", "/docs"):
        yield "GET", path


def everything(scene: Scene, who: str) -> Iterator[tuple[str, bytes]]:
    """What somebody gets from every route: by page and by token, with forms and without."""
    person, token = scene.people[who], scene.tokens[who]
    headers = {"authorization": f"Bearer {token}"} if token else {}
    mine = person.form_token("/account" if token else "/log-in")
    for method, address in addresses(scene):
        if address.startswith("/log-out"):
            continue
        calls: list[dict[str, object]] = [{}]
        if method == "POST" and not address.startswith("/api/"):
            calls = [{"data": {"form_token": mine, **fields}} for fields in FORMS]
        elif method in ("PATCH", "POST"):
            calls = [{"json": {"public": False}}, {"content": b"x", "params": {"name": "n"}}]
        if who == "ada" and method not in ("GET", "HEAD"):
            continue  # her own team may change its entries: only look
        for values in calls:
            answer = person.request(method, address, headers=headers, **values)
            assert answer.status_code < 500, (who, method, address, answer.text)
            yield f"{method} {address}", answer.content + repr(answer.headers.raw).encode()


def test_nobody_gets_answers_or_what_is_private(scene: Scene, benchmarks: dict[str, Path]) -> None:
    key = answers(benchmarks["boxes"])
    private = [PRIVATE, scene.entry["id"], scene.entry["sha256"]]
    for who in scene.people:
        seen = 0
        for where, body in everything(scene, who):
            seen += 1
            text = body.decode("utf-8", "replace")
            assert MARK not in text, (who, where)
            assert not re.search(r"(test|train)-qx?\d", text), (who, where)  # no item, and so no result of one
            assert key[:40] not in re.sub(r"[^01]", "", text), (who, where)
            assert ".hidden" not in text, (who, where)
            assert str(scene.town.site.data) not in text, (who, where)
            if who != "ada" and scene.entry["id"] not in where:
                assert not any(one in text for one in private), (who, where)
            if who != "ada":
                assert PRIVATE not in text, (who, where)
        assert seen > 40, who
    status = scene.town.api(scene.tokens["ada"] or "", "GET", f"/entries/{scene.entry['id']}").json()
    assert (status["public"], status["withdrawn"], status["removed"]) == (False, False, None)


def test_the_host_of_another_board_is_nobody_here(scene: Scene) -> None:
    bob = scene.people["bob"]
    assert bob.get("/boards/other-test/host").status_code == 200
    assert bob.get("/boards/boxes-test/host").status_code == 404
    fields = {"do": "remove", "entry": scene.entry["id"], "reason": "x"}
    assert bob.post("/boards/other-test/host", fields).status_code == 404


def test_shown_items_are_the_public_part(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    with opened([benchmarks["boxes"]], tmp_path / "data", replace(OPTIONS, show_items=True)) as town:
        pages = [town.client.get(f"/boards/boxes-test/items?start={start}").text for start in range(0, ITEMS, 6)]
        assert "Sentence 0." in pages[0]
        assert not any(MARK in page for page in pages)
        assert all(page.count("hidden") >= 6 for page in pages)  # where the label would stand
        assert town.client.get(f"/boards/boxes-test/items?start={ITEMS}").status_code == 404


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_complaints_do_not_depend_on_answers(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bad file against two benchmarks that differ in their answers alone: the same words."""
    pair = twins(tmp_path_factory)
    lines = predictions(pair[0]).decode().splitlines()
    cut = data.draw(st.lists(st.integers(0, ITEMS - 1), max_size=5))
    odd = ["", "{", "[]", '{"item": "test-qx1"}', '{"item": "test-qx1", "scores": [0.5]}']
    odd += ['{"item": "test-qx3", "scores": [1, 0]}', '{"item": "", "scores": []}']
    for place in cut:
        lines[place] = data.draw(st.sampled_from(odd) | st.text(max_size=8))
    folder = tmp_path_factory.mktemp("sent")
    (folder / "mine.jsonl").write_text("\n".join(lines), encoding="utf-8", errors="replace")
    monkeypatch.chdir(folder)
    done = [do(job_of(one, Limits(), (str(folder), "mine.jsonl"))) for path in pair for one in hosted([path]).values()]
    assert done[0].status == done[1].status
    assert done[0].said == done[1].said


_TWINS: list[Path] = []


def twins(factory: pytest.TempPathFactory) -> list[Path]:
    if not _TWINS:
        _TWINS.extend(write_benchmark(factory.mktemp(f"twin{seed}"), "twin", seed) for seed in (1, 2))
    return _TWINS
