"""In a real browser: explore, filter, open, compare; by keyboard, on a phone, for a screen reader, from files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.web.conftest import NARROW, NewPage, serious
from tests.web.explore.conftest import predict

from veridical.benchmark import Benchmark
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.export import export
from veridical.web.explore.server import NotebookExplorer


@pytest.fixture(scope="module")
def served(opened: Explorer) -> Iterator[NotebookExplorer]:
    running = NotebookExplorer(opened)
    yield running
    running.close()


@pytest.fixture(scope="module")
def tagged(vcr: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookExplorer]:
    folder = tmp_path_factory.mktemp("tagged")
    files = [predict(vcr, "val", folder / f"{n}.jsonl", lambda k, item, n=n: k % n > 0) for n in (2, 3)]
    running = NotebookExplorer(Explorer(vcr, files))
    yield running
    running.close()


def root(served: NotebookExplorer) -> str:
    return served.url.partition("?")[0]


def status(page: Any) -> str:
    """How many items the page says it shows."""
    return " ".join(page.get_by_role("status").inner_text().split())


def test_explore_filter_open_compare(new_page: NewPage, served: NotebookExplorer) -> None:
    page = new_page()
    page.goto(served.url)
    assert status(page).startswith("32 of 48 items")  # what the predictions are about
    page.get_by_role("complementary").get_by_role("link", name="wrong").first.click()
    assert status(page).startswith("8 of 48")
    page.get_by_label("Words in the text").fill("there")
    page.keyboard.press("Enter")
    page.wait_for_url("**&split=dev&*q=there")
    name = page.locator(".card a.open").first.inner_text()
    page.locator(".card a.open").first.click()
    assert page.get_by_role("heading", level=1).inner_text() == name
    page.get_by_role("link", name="Next →").click()
    assert page.get_by_role("heading", level=1).inner_text() != name
    page.get_by_role("link", name="Compare solvers").click()
    page.get_by_role("link", name="only keen right").click()
    assert status(page).startswith("8 of 48")


def test_the_keyboard_is_enough(new_page: NewPage, served: NotebookExplorer) -> None:
    page = new_page()
    page.goto(served.url)
    focused = "document.activeElement.textContent"
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(".card a.open").nth(1).inner_text()
    assert page.evaluate(focused) == second
    page.keyboard.press("k")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**/item?*")
    assert page.get_by_role("heading", level=1).inner_text() == second
    page.keyboard.press("j")
    page.wait_for_function(f"document.querySelector('h1').textContent != {second!r}")
    page.keyboard.press("u")
    page.wait_for_selector(".cards")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("?j")  # is typed, and no key of ours
    assert page.get_by_label("Words in the text").input_value() == "?j"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog").is_visible()
    page.keyboard.press("]")
    page.wait_for_url("**page=2*")


def test_a_tag_lights_up_its_box(new_page: NewPage, tagged: NotebookExplorer) -> None:
    page = new_page()
    page.goto(tagged.url)
    page.locator(".card:has(.points) a.open").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/item?*")
    tag = page.locator(".points.t0").first
    lit = "getComputedStyle(document.querySelector('.card .b0 rect')).fillOpacity"
    assert page.evaluate(lit) == "0"
    tag.hover()
    assert page.evaluate(lit) == "0.4"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, NARROW])
def test_nothing_stands_in_a_screen_readers_way_and_nothing_overflows(
    new_page: NewPage, served: NotebookExplorer, tagged: NotebookExplorer, width: int, dark: bool
) -> None:
    page = new_page(width, dark)
    for running in (served, tagged):
        page.goto(running.url)
        first = root(running) + page.locator(".card a.open").first.get_attribute("href").lstrip("/")
        for address in (running.url, first, f"{root(running)}diff"):
            answer = page.goto(address)
            assert len(answer.body()) < 200_000
            page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true })")
            assert serious(page) == [], address
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_exported_site_works_from_files(new_page: NewPage, opened: Explorer, tmp_path: Path) -> None:
    made = export(opened, tmp_path / "site", 30)
    page = new_page()
    page.goto((made.out / "index.html").as_uri())
    assert page.locator(".card").count() == 24
    assert serious(page) == []
    assert page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
    page.get_by_role("complementary").get_by_label("dev").check()
    dev = int(status(page).split()[0])
    assert 0 < dev < 30
    expect(page.locator("#matches .card")).to_have_count(dev)
    page.get_by_label("Words in the text").fill("no such word")
    expect(page.locator("#matches .card")).to_have_count(0)
    page.get_by_label("Words in the text").fill("")
    page.reload()  # what is chosen stands in the address
    expect(page.locator("#matches .card")).to_have_count(dev)
    assert page.locator("#matches .card").first.get_by_text("keen").is_visible()  # what solvers said, as on the pages
    for _ in range(dev + 1):  # keys go through what is shown, and stay at its end
        page.keyboard.press("j")
    last = page.locator("#matches a.open").last.inner_text()
    assert page.evaluate("document.activeElement.textContent") == last
    page.locator("#matches a.open").first.click()
    assert page.locator(".card.whole img").first.evaluate("one => one.decode().then(() => one.naturalWidth)") > 0
    assert serious(page) == []
    page.get_by_role("link", name="Next →").click()
    name = page.get_by_role("heading", level=1).inner_text()
    page.locator(".facts a").first.click()  # a tag leads to all that have it
    expect(page.locator("#matches").get_by_role("link", name=name, exact=True)).to_be_visible()
    expect(page.get_by_role("complementary").get_by_role("checkbox", checked=True)).to_have_count(1)
    page.go_back()
    page.locator("a[rel=up]").click()
    assert page.locator(".card").count() == 24


@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_card_in_a_notebook_is_as_light_as_the_notebook(new_page: NewPage, nlvr: Path, system: str) -> None:
    """Whatever the system's colours are: a page that does not follow them would hold a dark card, or dark words."""
    card = _card(nlvr)
    page = new_page(dark=system == "dark")
    for body, ground in (
        ("<body>", "rgb(255, 255, 255)"),
        ('<body data-jp-theme-light="false" style="background: #111">', "rgb(18, 22, 28)"),
        ('<body class="vscode-dark" style="background: #111">', "rgb(18, 22, 28)"),
    ):
        page.set_content(f"<!doctype html><html lang='en'><title>n</title>{body}<main>{card}</main></body></html>")
        look = "getComputedStyle(document.querySelector('.veridical-item'))"
        assert page.evaluate(f"{look}.backgroundColor") == ground
        assert [one for one in serious(page) if one.startswith("color-contrast")] == []


def _card(benchmark: Path) -> str:
    opened = Benchmark(benchmark)
    return opened[next(iter(opened.items("dev"))).id]._repr_html_()
