"""`veridical serve --demo`: a board that is filled, with every kind of row, and filled once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from veridical.options import ServeOptions
from veridical.web.board import demo, serving
from veridical.web.board.app import make_app
from veridical.web.board.site import Site

SECRET = "the same in every run"
SMALL: dict[str, dict[str, Any]] = {
    "nlvr": {"presentations": 20, "secret": SECRET}, "vcr": {"photographs": 24, "secret": SECRET}
}  # fmt: skip


def test_the_demo_has_teams_people_a_blind_row_and_the_program_solver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "BUILDS", {name: {**known, **SMALL[name]} for name, known in demo.BUILDS.items()})
    seen: list[list[dict[str, Any]]] = []

    def looked_at(site: Site, listening: object, options: ServeOptions) -> None:
        assert options.title == demo.TITLE
        with TestClient(make_app(site, 1 << 20)) as client:
            while site.workers.waiting:
                time.sleep(0.05)
            assert demo.TITLE in client.get("/").text
            boards = [one["id"] for one in client.get("/api/boards").json()]
            seen.append([row for board in boards for row in client.get(f"/api/boards/{board}").json()["rows"]])

    monkeypatch.setattr(serving, "listen", looked_at)
    for _ in range(2):  # started again, it goes on
        demo.serve_demo(tmp_path / "data", ("127.0.0.1", 0), ServeOptions(processes=1))
    first, again = seen
    systems = sum(len(team.systems) for team in demo.TEAMS)
    kinds = [row["kind"] for row in first]
    assert kinds.count("team") == 2 * systems
    assert kinds.count("human") == kinds.count("blind") == 2
    [solved] = [row for row in first if row["kind"] == "baseline"]
    assert solved["metrics"]["accuracy"]["value"] > 0.7  # of true and false, after two sentences of train
    assert [row["name"] for row in again] == [row["name"] for row in first]
