"""A real browser for pages of the app."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
WIDE, NARROW = 1280, 400

NewPage = Callable[..., Any]


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """Debian's Chromium under Playwright; for one module, since its event loop lives in this thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def new_page(browser: Any) -> Iterator[NewPage]:
    """A tab of a width, dark or light; whatever a page complains about in its console fails the test."""
    opened, complaints = [], []

    def make(width: int = WIDE, dark: bool = False) -> Any:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light", reduced_motion="reduce")
        opened.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield make
    for context in opened:
        context.close()
    assert complaints == []


def serious(page: Any) -> list[str]:
    """What axe finds on a page that is serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"preload": False}).response["violations"]
    return [
        f"{one['id']}: {node['html'][:160]} ({node['failureSummary'][:200]})"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]
