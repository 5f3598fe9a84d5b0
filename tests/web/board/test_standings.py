"""The table: order, ranks, marks of real differences, rounding, parts, files for programs."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from tests.web.board.town import OPTIONS, Town, opened, predictions

from veridical.evaluation import compare
from veridical.options import BoardRows
from veridical.web.board.app import make_site
from veridical.web.board.hosted import hosted
from veridical.web.board.serving import prepare
from veridical.web.board.standings import Rounding

SHARES = {"Best": 1.0, "Good": 0.9, "Nearly as good": 0.88, "Poor": 0.6}


@pytest.fixture(scope="module")
def ranked(benchmarks: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Town:
    """A board with four public entries, a private one, and rows of the host."""
    folder = tmp_path_factory.mktemp("ranked")
    blind, people = folder / "blind.jsonl", folder / "people.jsonl"
    blind.write_bytes(predictions(benchmarks["boxes"], 0.5, 99))
    people.write_bytes(predictions(benchmarks["boxes"], 0.3, 98))
    with opened([benchmarks["boxes"]], folder / "data", replace(OPTIONS, per_day=9)) as town:
        prepare(town.site, BoardRows(blind={"text only": str(blind)}, human={"tired people": str(people)}))
        ada = town.person("ada", "=cmd|' /C calc'!A0")
        token = ada.token()
        for seed, (name, share) in enumerate(SHARES.items()):
            sent = {"params": {"name": name, "public": True}, "content": predictions(benchmarks["boxes"], share, seed)}
            assert town.api(token, "POST", "/boards/boxes-test/entries", **sent).status_code == 201
        hidden = {"params": {"name": "Private"}, "content": predictions(benchmarks["boxes"], 0.7, 50)}
        town.api(token, "POST", "/boards/boxes-test/entries", **hidden)
        town.settled()
        yield town


def rows(town: Town, sort: str | None = None) -> list[dict[str, object]]:
    found = town.client.get("/api/boards/boxes-test", params={"sort": sort} if sort else {})
    return list(found.json()["rows"])


def test_entries_are_ranked_beside_chance_blind_rows_and_people(ranked: Town) -> None:
    found = rows(ranked)
    assert [row["name"] for row in found if row["kind"] == "team"] == list(SHARES)
    assert [row["rank"] for row in found if row["kind"] == "team"] == [1, 2, 3, 4]
    assert {row["name"]: row["kind"] for row in found if row["rank"] is None} == {
        "random": "computed",
        "majority of train": "computed",
        "text only": "blind",
        "tired people": "human",
    }


def test_marks_are_what_compare_says(ranked: Town, benchmarks: dict[str, Path], tmp_path: Path) -> None:
    marks = {row["name"]: row["real_difference_to_above"] for row in rows(ranked)}
    files = []
    for seed, (name, share) in enumerate(SHARES.items()):
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_bytes(predictions(benchmarks["boxes"], share, seed))
    for above, below in pairwise(files):
        said = compare(benchmarks["boxes"], below, above, split="test").found.verdict
        assert marks[below.stem] is (said == "worse"), below.stem
    assert {marks["Nearly as good"], marks["Poor"]} == {False, True}
    assert marks["Best"] is None


def test_it_can_be_sorted_by_any_metric(ranked: Town) -> None:
    by = [row["metrics"]["consistency"]["value"] for row in rows(ranked, "consistency")]  # type: ignore[index]
    assert by == sorted(by, reverse=True)
    assert ranked.client.get("/api/boards/boxes-test", params={"sort": "nonsense"}).status_code == 422
    assert ranked.client.get("/boards/boxes-test", params={"sort": "nonsense"}).status_code == 404
    assert 'aria-sort="descending"' in ranked.client.get("/boards/boxes-test?sort=consistency").text


def test_numbers_are_rounded_and_parts_to_whole_points(ranked: Town) -> None:
    for row in rows(ranked):
        for one in row["metrics"].values():  # type: ignore[attr-defined]
            assert all(abs(1000 * v - round(1000 * v)) < 1e-6 for v in one.values())
        for tag in row["by"].values():  # type: ignore[attr-defined]
            for one in tag.values():
                assert all(abs(100 * v - round(100 * v)) < 1e-6 for v in one.values())
    assert Rounding(0.5)(0.8763) == 0.875


def test_small_parts_are_not_shown(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    """40 of the 120 items count, 80 negate."""
    with opened([benchmarks["boxes"]], tmp_path / "data", replace(OPTIONS, smallest_part=50)) as town:
        sent = {"params": {"name": "One"}, "content": predictions(benchmarks["boxes"])}
        found = town.api(town.person("ada").token(), "POST", "/boards/boxes-test/entries", **sent).json()
        assert list(found["scores"]["by"]["phenomenon"]) == ["negation"]


def test_the_csv_runs_nothing(ranked: Town) -> None:
    found = list(csv.reader(io.StringIO(ranked.client.get("/api/boards/boxes-test/table.csv").text)))
    assert [row[1] for row in found[1:] if row[3] == "team"] == list(SHARES)
    assert any(row[2].startswith("'=cmd") for row in found[1:])
    assert not any(cell[:1] in "=+@\t\r" and cell for row in found for cell in row)


def test_the_page_shows_parts_time_and_no_private_entry(ranked: Town) -> None:
    page = ranked.client.get("/boards/boxes-test").text
    assert "By part" in page
    assert "Over time" in page
    assert re.search(r"<title>Good, days since \d{4}-\d\d-\d\d 0: \d\d\.\d%</title>", page)
    assert "Private" not in page
    assert "<small>people</small>" in page
    assert "really below the entry above" in page
    assert len(page) < 200_000


def test_a_host_removes_an_entry_and_puts_it_back(ranked: Town) -> None:
    admin = ranked.admin()
    entry = next(row["entry"] for row in rows(ranked) if row["name"] == "Poor")
    path = "/boards/boxes-test/host"
    assert admin.post(path, {"do": "remove", "entry": str(entry), "reason": " "}).status_code == 422
    assert admin.post(path, {"do": "remove", "entry": str(entry), "reason": "trained on the test"}).status_code == 303
    assert "Poor" not in [row["name"] for row in rows(ranked)]
    assert "trained on the test" in admin.get(f"/entries/{entry}").text
    admin.post(path, {"do": "restore", "entry": str(entry)})
    assert "Poor" in [row["name"] for row in rows(ranked)]


def test_a_draft_is_seen_by_its_hosts_alone(ranked: Town) -> None:
    ada = ranked.person("ada")
    assert ada.get("/boards/boxes-test/host").status_code == 404
    admin = ranked.person()
    with ranked.site.database.write() as session:
        path = f"/links/claim/{ranked.site.accounts.link(session, 'claim')}"
    admin.post(path, {"name": "second admin", "password": "correct horse battery"})
    admin.post("/boards/boxes-test/host", {"do": "appoint", "name": ada.name})
    admin.post("/boards/boxes-test/host", {"do": "status", "status": "draft"})
    try:
        assert ada.get("/boards/boxes-test").status_code == 200
        stranger = ranked.person("eve")
        assert stranger.get("/boards/boxes-test").status_code == 404
        assert "boxes" not in stranger.get("/").text
        assert ranked.client.get("/api/boards/boxes-test").status_code == 404
        assert ranked.client.get("/api/boards").json() == []
    finally:
        admin.post("/boards/boxes-test/host", {"do": "status", "status": "closed"})
    sent = {"params": {"name": "Late"}, "content": b"x"}
    assert ranked.api(ada.token(), "POST", "/boards/boxes-test/entries", **sent).status_code == 422
    ada.post("/boards/boxes-test/host", {"do": "status", "status": "open"})
    assert ranked.client.get("/api/boards").json()[0]["open"] is True


def test_the_hosts_rows_are_added_once(ranked: Town, benchmarks: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "blind.jsonl"
    path.write_bytes(predictions(benchmarks["boxes"], 0.5, 99))
    site = make_site(hosted([benchmarks["boxes"]]), ranked.site.data, OPTIONS)
    prepare(site, BoardRows(blind={"text only": str(path)}))
    assert sum(row["name"] == "text only" for row in rows(ranked)) == 1
