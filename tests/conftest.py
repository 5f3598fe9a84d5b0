"""Fixtures that all tests share."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: programs under test would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the project."""
    if not SHARED.is_dir():
        pytest.skip(f"the real data is not here ({SHARED})")
    return SHARED


@pytest.fixture(scope="session")
def chromium() -> str:
    """A real browser."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium on this machine: sudo apt-get install -y chromium")
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under CI=true nothing is skipped: a part that is missing there fails the test that wanted it."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"skipped, though nothing may be missing here: {report.longrepr}"
    return report
