"""A real browser for pages of the app, and real databases."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher

from veridical.web import accounts

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
FLAGS += ["--force-prefers-reduced-motion"]  # a click would wait for a smooth scroll, on a busy machine for long
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


@pytest.fixture(scope="session", autouse=True)
def _quick_hashes() -> Iterator[None]:
    """Argon2 with less work: its strength is not what is tested."""
    quick = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "hasher", lambda: quick)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """A real PostgreSQL server; calling it gives the address of a new database."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("no PostgreSQL on this machine: sudo apt-get install -y postgresql")
    tools, folder = found[-1].parent, Path(tempfile_for_postgres())
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []

    def run(*words: str) -> None:
        subprocess.run([*as_user, *words], check=True, capture_output=True, cwd=folder)

    try:
        run(str(tools / "initdb"), "-D", f"{folder}/data", "-A", "trust", "-U", "postgres", "--no-sync")
        settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(str(tools / "pg_ctl"), "-D", f"{folder}/data", "-w", "-o", settings, "-l", f"{folder}/log", "start")
        made = iter(range(1000))

        def database() -> str:
            name = f"board{next(made)}"
            run(str(tools / "createdb"), "-h", str(folder), "-U", "postgres", name)
            return f"postgresql://postgres@/{name}?host={folder}"

        yield database
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            run(str(tools / "pg_ctl"), "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder)


def tempfile_for_postgres() -> str:
    """A short path (of sockets at most 107 letters) that the user postgres may enter."""
    folder = tempfile.mkdtemp(prefix="vrdpg", dir="/tmp")
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    return folder
