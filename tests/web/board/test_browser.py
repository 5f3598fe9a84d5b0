"""The board in a real browser: sign up, a bad file, a fixed one, on the board; host, publish, withdraw. And axe."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.web.board.test_kills import Server
from tests.web.board.town import PASSWORD, predictions
from tests.web.conftest import serious

SHOTS = os.environ.get("SHOTS")  # a folder, to look at the pages


@pytest.fixture(scope="module")
def server(benchmarks: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("served")
    made = Server(benchmarks["boxes"], data, "--patience", "30", "--smallest-part", "20")
    made.start()
    yield made
    made.kill()


def sign_up(page: Page, server: Server, name: str) -> None:
    page.goto(f"{server.address}/sign-up")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_role("link", name=name).wait_for()


def looked_at(page: Page, name: str) -> None:
    """No serious fault for whoever cannot see or use a mouse, at both widths and in both lights; small enough."""
    for width, light in ((1280, "light"), (400, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=light)  # type: ignore[arg-type]
        assert serious(page) == [], (name, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
        if SHOTS:
            page.screenshot(path=f"{SHOTS}/{name}-{width}-{light}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 900})
    size = page.evaluate("performance.getEntries().reduce((sum, one) => sum + (one.transferSize || 0), 0)")
    assert size < 200_000, (name, size)


def test_a_bad_file_a_fixed_one_and_on_the_board(
    server: Server, browser: Browser, benchmarks: dict[str, Path], tmp_path: Path
) -> None:
    page = browser.new_context().new_page()
    errors: list[str] = []
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    sign_up(page, server, "Grace")
    page.get_by_role("link", name="boxes, test").click()
    good = predictions(benchmarks["boxes"], 0.9)
    file = tmp_path / "mine.jsonl"
    file.write_bytes(good.replace(b'"scores"', b'"score', 1))
    page.get_by_label("File of predictions").set_input_files(file)
    page.get_by_label("Name of the system").fill("My first system")
    page.get_by_label("Show it on the board").check()
    page.get_by_role("button", name="Send").click()
    assert "mine.jsonl, line 1" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Name of the system").input_value() == "My first system"
    looked_at(page, "bad-file")
    file.write_bytes(good)
    page.get_by_label("File of predictions").set_input_files(file)
    page.get_by_role("button", name="Send").click()
    page.get_by_text("scored", exact=True).wait_for()
    looked_at(page, "entry")
    page.goto(f"{server.address}/boards/boxes-test")
    assert page.get_by_role("link", name="My first system").is_visible()
    looked_at(page, "board")
    page.get_by_role("link", name="consistency").click()
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("consistency")
    page.goto(f"{server.address}/account")
    looked_at(page, "account")
    page.locator("main li a").first.click()
    page.get_by_label("What the token is for").fill("my laptop")
    page.get_by_role("button", name="Make a token").click()
    assert page.locator("code.token").inner_text().startswith("vrd_")
    looked_at(page, "team")
    assert not [one for one in errors if "422" not in one], errors


def test_host_publishes_a_board_and_a_team_withdraws(
    server: Server, browser: Browser, benchmarks: dict[str, Path], tmp_path: Path
) -> None:
    host, team = browser.new_context().new_page(), browser.new_context().new_page()
    link = re.search(r"http://\S+/links/claim/\S+", server.log.read_text())
    assert link is not None
    host.goto(link[0])
    looked_at(host, "claim")
    host.get_by_label("Name").fill("Host")
    host.get_by_label("Password").fill(PASSWORD)
    host.get_by_role("button", name="Go on").click()
    host.goto(f"{server.address}/boards/boxes-test/host")
    host.get_by_label("a draft").check()
    host.get_by_role("button", name="Save").click()
    sign_up(team, server, "Alan")
    assert not team.get_by_role("link", name="boxes, test").is_visible()
    host.get_by_label("open: it takes entries").check()
    host.get_by_role("button", name="Save").click()
    team.reload()
    team.get_by_role("link", name="boxes, test").click()
    file = tmp_path / "mine.jsonl"
    file.write_bytes(predictions(benchmarks["boxes"], 0.8, 5))
    team.get_by_label("File of predictions").set_input_files(file)
    team.get_by_label("Name of the system").fill("To be withdrawn")
    team.get_by_label("Show it on the board").check()
    team.get_by_role("button", name="Send").click()
    team.get_by_text("scored", exact=True).wait_for()
    host.goto(f"{server.address}/boards/boxes-test/host")
    assert host.get_by_role("link", name="To be withdrawn").is_visible()
    looked_at(host, "host")
    host.goto(f"{server.address}/admin")
    looked_at(host, "admin")
    team.get_by_role("button", name="Withdraw").click()
    team.get_by_text("withdrawn", exact=True).wait_for()
    host.goto(f"{server.address}/boards/boxes-test")
    assert not host.get_by_role("link", name="To be withdrawn").is_visible()


@pytest.mark.parametrize("path", ["/", "/rules", "/sign-up", "/boards/boxes-test", "/nothing"])
def test_pages_that_nobody_signs_in_for(server: Server, browser: Browser, path: str) -> None:
    page = browser.new_context().new_page()
    page.goto(f"{server.address}{path}")
    looked_at(page, f"open-{path.strip('/').replace('/', '-') or 'front'}")


def test_the_rules_say_what_is_taken_limited_and_not_stopped(server: Server, browser: Browser) -> None:
    page = browser.new_context().new_page()
    page.goto(f"{server.address}/boards/boxes-test")
    page.get_by_role("link", name="All formats and rules").click()
    said = page.get_by_role("main").inner_text()
    for words in ("annot_id", "tries a day", "rounded to 0.1 points", "at least 20 items", "Not stopped"):
        assert words in said, words


def test_it_can_be_used_without_a_mouse(server: Server, browser: Browser) -> None:
    page = browser.new_context().new_page()
    page.goto(f"{server.address}/log-in")
    looked_at(page, "log-in")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(6):  # the name of the site, boards, rules, log in, sign up, and the first field
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "name"
