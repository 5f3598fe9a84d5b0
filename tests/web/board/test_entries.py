"""Entries from the first byte to withdrawal: what is refused, what counts, what is scored when."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.test_disk import room_for
from tests.web.board.town import ITEMS, OPTIONS, Town, opened, predictions, write_benchmark

from veridical.errors import UserError
from veridical.options.serving import ServeOptions
from veridical.web.accounts import Limited
from veridical.web.board.entries import RECEIVING, Said, checked_link
from veridical.web.board.tables import Entry

BOARD = "/boards/boxes-test/entries"


def test_a_complete_file_is_scored_in_the_same_request(town: Town, benchmarks: dict[str, Path]) -> None:
    token = town.person("ada", "Engines").token()
    sent = town.api(token, "POST", BOARD, params={"name": "All right"}, content=predictions(benchmarks["boxes"]))
    assert sent.status_code == 201, sent.text
    found = sent.json()
    assert found["status"] == "scored"
    assert found["team"].startswith("Engines")
    assert found["scores"]["metrics"]["accuracy"] == {"value": 1.0, "low": 0.884, "high": 1.0}
    assert found["scores"]["by"]["phenomenon"]["counting"]["value"] == 1.0
    assert found["tries_left"] == OPTIONS.per_day - 1


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda lines: [*lines[:2], "{nonsense", *lines[3:]], "mine.jsonl, line 3"),
        (lambda lines: [*lines[:4], json.dumps({"item": "test-qx4", "scores": [1, 2, 3]}), *lines[5:]], "line 5"),
        (lambda lines: lines[:-7], f"7 of {ITEMS} have no prediction"),
        (lambda lines: [*lines[:-1], json.dumps({"item": f"test-qx{ITEMS - 1}", "scores": []})], "cannot be read"),
        (lambda lines: [line.replace("test-", "dev-") for line in lines], "none of its 120 predictions"),
        (lambda lines: [""], "has no predictions"),
    ],
)
def test_a_bad_file_says_where_and_costs_no_try(
    town: Town, benchmarks: dict[str, Path], spoil: object, said: str
) -> None:
    token = town.person("ada").token()
    lines = predictions(benchmarks["boxes"]).decode().splitlines()
    bad = "\n".join(spoil(lines)).encode()  # type: ignore[operator]
    sent = town.api(token, "POST", BOARD, params={"name": "Bad", "file": "mine.jsonl"}, content=bad)
    assert sent.status_code == 422
    assert said in sent.json()["problem"]
    assert "/" not in sent.json()["problem"].partition(":")[0]  # no path of ours
    good = town.api(token, "POST", BOARD, params={"name": "Good"}, content=predictions(benchmarks["boxes"]))
    assert good.json()["tries_left"] == OPTIONS.per_day - 1


def test_the_official_csv_and_the_same_in_json_score_alike(town: Town, benchmarks: dict[str, Path]) -> None:
    token = town.person("ada").token()
    lines = [json.loads(line) for line in predictions(benchmarks["boxes"], 0.7).splitlines()]
    csv = "".join(f"{one['item']},{'true' if one['scores'][1] else 'false'}\n" for one in lines).encode()
    scores = [
        town.api(token, "POST", BOARD, params={"name": name}, content=data).json()["scores"]
        for name, data in (("csv", csv), ("jsonl", predictions(benchmarks["boxes"], 0.7)))
    ]
    assert scores[0] == scores[1]


def test_the_same_file_again_is_the_same_entry(town: Town, benchmarks: dict[str, Path]) -> None:
    token, data = town.person("ada").token(), predictions(benchmarks["boxes"])
    first, second = (town.api(token, "POST", BOARD, params={"name": "One"}, content=data).json() for _ in range(2))
    assert first["id"] == second["id"]
    assert second["tries_left"] == OPTIONS.per_day - 1
    assert [one["id"] for one in town.api(token, "GET", "/entries").json()] == [first["id"]]


def test_the_same_file_again_says_more_of_its_entry(town: Town, benchmarks: dict[str, Path]) -> None:
    token, data = town.person("ada").token(), predictions(benchmarks["boxes"], 0.8, 5)

    def sent(**said: str) -> dict[str, object]:
        found = town.api(token, "POST", BOARD, params={"name": "One", **said}, content=data).json()
        return {name: found[name] for name in ("public", "paper", "code", "tries_left")}

    left = OPTIONS.per_day - 1
    first, code = "https://example.org/1", "https://example.org/code"
    assert sent(paper=first) == {"public": False, "paper": first, "code": "", "tries_left": left}
    assert sent(public="true", code=code) == {"public": True, "paper": first, "code": code, "tries_left": left}
    second = "https://example.org/2"
    assert sent(paper=second) == {"public": True, "paper": second, "code": code, "tries_left": left}


def test_the_last_try_of_a_day_can_be_sent_again(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    with opened([benchmarks["boxes"]], tmp_path / "data", replace(OPTIONS, per_day=1)) as town:
        token, data = town.person("ada").token(), predictions(benchmarks["boxes"])
        first, again = (town.api(token, "POST", BOARD, params={"name": "One"}, content=data) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 201), again.text
        assert first.json()["id"] == again.json()["id"]
        for name, other in (("Two", data), ("One", predictions(benchmarks["boxes"], 0.5))):
            assert town.api(token, "POST", BOARD, params={"name": name}, content=other).status_code == 429
        assert [one.name for one in town.site.entries.folder.iterdir()] == [first.json()["id"]]


def test_tries_are_counted_by_day_and_board(either: Town, benchmarks: dict[str, Path]) -> None:
    object.__setattr__(either.site.entries, "rules", replace(either.site.entries.rules, per_day=2))
    token = either.person("ada").token()
    sent = [
        either.api(token, "POST", BOARD, params={"name": f"{k}"}, content=predictions(benchmarks["boxes"], 0.5, k))
        for k in range(3)
    ]
    assert [one.status_code for one in sent] == [201, 201, 429]
    assert "no try left" in sent[2].json()["problem"]
    assert either.api(token, "DELETE", f"/entries/{sent[0].json()['id']}").json()["tries_left"] == 0
    other = {"params": {"name": "x"}, "content": predictions(benchmarks["other"])}
    assert either.api(token, "POST", "/boards/other-test/entries", **other).status_code == 201


def test_all_teams_that_one_account_made_have_their_tries_together(either: Town, benchmarks: dict[str, Path]) -> None:
    """Five teams would be five times the scores; and nobody pays for a team that they were added to."""
    object.__setattr__(either.site.entries, "rules", replace(either.site.entries.rules, per_day=2))
    ada, bob = either.person("ada"), either.person("bob")
    teams = [ada.team]
    for name in ("Second", "Third"):
        made = ada.post("/teams", {"name": f"{name} {either.people}"}, "/account")
        teams.append(int(made.headers["location"].rpartition("/")[2]))
    assert ada.post(f"/teams/{teams[1]}", {"do": "add", "name": bob.name}).status_code == 303
    assert ada.post(f"/teams/{teams[1]}", {"do": "leave"}).status_code == 303  # its tries stay hers

    def take(place: int) -> bool:
        folder = either.site.entries.new_folder()
        (folder / "mine.jsonl").write_bytes(predictions(benchmarks["boxes"], 0.5, place))
        team, said = teams[place % 3], Said(f"{place}")
        try:
            either.site.entries.take(folder, "mine.jsonl", f"{place}", team, "boxes-test", said)
        except Limited:
            return False
        return True

    with ThreadPoolExecutor(9) as pool:
        assert sum(pool.map(take, range(9))) == 2
    assert "0 tries left today" in ada.get("/boards/boxes-test").text
    sent = bob.send("boxes-test", predictions(benchmarks["boxes"]))  # of his own team
    assert sent.status_code == 303
    assert ada.send("boxes-test", predictions(benchmarks["boxes"])).status_code == 429


def test_the_total_counts_for_all_teams_too(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    with opened([benchmarks["boxes"]], tmp_path / "data", replace(OPTIONS, total=1)) as town:
        ada = town.person("ada")
        assert ada.send("boxes-test", predictions(benchmarks["boxes"])).status_code == 303
        made = ada.post("/teams", {"name": "Second"}, "/account").headers["location"]
        token = re.search(r"(vrd_[\w-]+)", ada.post(made, {"do": "token", "name": "t"}).text)[1]  # type: ignore[index]
        sent = town.api(token, "POST", BOARD, params={"name": "x"}, content=predictions(benchmarks["boxes"]))
        assert (sent.status_code, "all teams that one account made" in sent.json()["problem"]) == (429, True)


def test_what_is_slow_is_taken_now_and_scored_later(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    with opened([benchmarks["boxes"]], tmp_path / "data", replace(OPTIONS, patience=0.0)) as town:
        token = town.person("ada").token()
        sent = town.api(token, "POST", BOARD, params={"name": "Later"}, content=predictions(benchmarks["boxes"]))
        assert (sent.status_code, sent.json()["status"]) == (202, "waiting")
        town.settled()
        assert town.api(token, "GET", f"/entries/{sent.json()['id']}").json()["status"] == "scored"


def test_what_was_cut_off_is_scored_after_a_restart(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    data = tmp_path / "data"
    with opened([benchmarks["boxes"]], data) as town:
        token = town.person("ada").token()
        sent = town.api(token, "POST", BOARD, params={"name": "Cut"}, content=predictions(benchmarks["boxes"]))
        with town.site.database.write() as session:
            entry = session.get(Entry, sent.json()["id"])
            assert entry is not None
            entry.status, entry.scores = "waiting", None  # as a kill would have left it
    cut_off = town.site.entries.new_folder()  # a file that never became an entry
    (cut_off / "mine.jsonl").write_bytes(b"{")
    (data / "entries" / sent.json()["id"] / RECEIVING).touch()  # killed between its row and the answer
    with opened([benchmarks["boxes"]], data) as town:
        town.settled()
        assert town.api(token, "GET", f"/entries/{sent.json()['id']}").json()["scores"] is not None
        assert not cut_off.exists()
        assert [one.name for one in (data / "entries" / sent.json()["id"]).iterdir()] == ["predictions"]


@pytest.mark.parametrize(
    ("options", "said"), [({"seconds": 1}, "seconds"), ({"megabytes": 64}, "64 MB")], ids=["time", "memory"]
)
def test_scoring_is_limited(tmp_path: Path, options: dict[str, int], said: str, benchmarks: dict[str, Path]) -> None:
    """A file that asks for too much fails for good, says so, costs no try, and the next one is scored."""
    limited = replace(OPTIONS, patience=30.0, **options)
    with opened([benchmarks["boxes"]], tmp_path / "data", limited) as town:
        token = town.person("ada").token()
        lines = b'{"item": "x", "scores": [1.0, 0.0]}\n' * 1_000_000
        sent = town.api(token, "POST", BOARD, params={"name": "Greedy"}, content=lines)
        assert sent.json()["status"] == "failed", sent.text
        assert said in sent.json()["said"]
        assert sent.json()["tries_left"] == OPTIONS.per_day


def test_a_scoring_process_that_dies_is_started_again(town: Town, benchmarks: dict[str, Path]) -> None:
    token = town.person("ada").token()
    town.api(token, "POST", BOARD, params={"name": "One"}, content=predictions(benchmarks["boxes"], 0.9, 1))
    find = ["pgrep", "-f", f"-P{os.getpid()}", "veridical.web.board.scoring"]
    ours = subprocess.run(find, capture_output=True, text=True).stdout.split()
    assert ours
    for process in ours:
        subprocess.run(["kill", "-9", process], check=True)
    sent = town.api(token, "POST", BOARD, params={"name": "Two"}, content=predictions(benchmarks["boxes"], 0.9, 2))
    assert sent.json()["status"] == "scored"


def test_publish_change_withdraw(town: Town, benchmarks: dict[str, Path]) -> None:
    ada = town.person("ada", "Engines")
    token = ada.token()
    made = town.api(token, "POST", BOARD, params={"name": "Our own"}, content=predictions(benchmarks["boxes"])).json()
    assert "Our own" not in town.client.get("/boards/boxes-test").text
    changed = town.api(token, "PATCH", f"/entries/{made['id']}", json={"public": True, "code": "https://example.org"})
    assert changed.json()["public"] is True
    town.client.cookies.clear()
    page = town.client.get("/boards/boxes-test").text
    assert "Our own" in page
    assert "https://example.org" in page
    assert ada.post(f"/entries/{made['id']}", {"do": "withdraw"}).status_code == 303
    assert "Our own" not in town.client.get("/boards/boxes-test").text
    assert town.api(token, "GET", f"/entries/{made['id']}").json()["withdrawn"] is True


def test_another_team_can_do_nothing_with_it(town: Town, benchmarks: dict[str, Path]) -> None:
    ada, eve = town.person("ada"), town.person("eve")
    made = town.api(
        ada.token(), "POST", BOARD, params={"name": "Our own"}, content=predictions(benchmarks["boxes"])
    ).json()
    theirs = eve.token()
    for method, values in (("GET", {}), ("PATCH", {"json": {"public": True}}), ("DELETE", {})):
        assert town.api(theirs, method, f"/entries/{made['id']}", **values).status_code == 404
    assert eve.get(f"/entries/{made['id']}").status_code == 404
    assert eve.get(f"/teams/{ada.team}").status_code == 404
    page = "/boards/boxes-test"
    assert eve.post(f"/entries/{made['id']}", {"do": "withdraw"}, page).status_code == 404
    assert eve.post(f"/teams/{ada.team}", {"do": "token", "name": "x"}, page).status_code == 404


def test_tokens_can_be_revoked(town: Town) -> None:
    ada = town.person("ada")
    token = ada.token()
    assert town.api(token, "GET", "/entries").status_code == 200
    number = re.search(r'name="token" value="(\d+)"', ada.get(f"/teams/{ada.team}").text)[1]  # type: ignore[index]
    assert ada.post(f"/teams/{ada.team}", {"do": "revoke", "token": number}).status_code == 303
    assert town.api(token, "GET", "/entries").status_code == 401
    assert token not in Path(town.site.data / "board.sqlite").read_bytes().decode("latin-1")


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "ftp://x.org", "https://", "https://a b.org", "http://u:p@x.org"]
)
def test_links_are_addresses_of_the_web(link: str) -> None:
    with pytest.raises(UserError, match="address of the web"):
        checked_link(link)


def test_a_file_that_is_too_long_is_refused(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    with opened([benchmarks["boxes"]], tmp_path / "data", ServeOptions(largest_file=1, processes=1)) as town:
        ada = town.person("ada")
        token, data = ada.token(), b"x" * (2 << 20)
        assert town.api(token, "POST", BOARD, params={"name": "Long"}, content=data).status_code == 413
        assert (
            town.api(token, "POST", BOARD, params={"name": "Long"}, content=iter([data[:1000]] * 3000)).status_code
            == 413
        )
        assert ada.send("boxes-test", data).status_code == 413
        assert not list(town.site.entries.folder.iterdir())


def test_a_full_disk_is_said_and_nothing_is_kept(town: Town, benchmarks: dict[str, Path]) -> None:
    token, data = town.person("ada").token(), predictions(benchmarks["boxes"], 0.7, 77)
    before = set(town.site.entries.folder.iterdir())
    with room_for(100):
        sent = town.api(token, "POST", "/boards/boxes-test/entries", params={"name": "x"}, content=data)
    assert sent.status_code == 503
    assert sent.json()["problem"] == "The server has no room for this."
    assert set(town.site.entries.folder.iterdir()) == before
    assert town.api(token, "POST", "/boards/boxes-test/entries", params={"name": "x"}, content=data).status_code == 201


def test_a_board_whose_benchmark_changed_does_not_go_on(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    with opened([benchmarks["boxes"]], tmp_path / "data"):
        pass
    changed = write_benchmark(tmp_path, "boxes", seed=9)
    with pytest.raises(UserError, match="another build"), opened([changed], tmp_path / "data"):
        pass


def test_what_has_nothing_hidden_cannot_be_hosted(tmp_path: Path) -> None:
    code = "import veridical; veridical.serve(['/nowhere'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert "is not a benchmark" in ran.stderr
