"""Fixtures that all tests share."""

from __future__ import annotations

import signal
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
