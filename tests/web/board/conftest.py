"""Boards to try, on databases of both kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from tests.web.board.town import OPTIONS, Town, opened, write_benchmark

from veridical.web import accounts


@pytest.fixture(scope="session", autouse=True)
def _quick_hashes() -> Iterator[None]:
    """Argon2 with less work: its strength is not what is tested."""
    quick = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "hasher", lambda: quick)
        yield


@pytest.fixture(scope="session")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two benchmarks with hidden test splits: they become the boards boxes-test and other-test."""
    folder = tmp_path_factory.mktemp("hosted")
    return {name: write_benchmark(folder, name, seed) for name, seed in (("boxes", 7), ("other", 8))}


# --- databases -------------------------------------------------------------------------------------------------------


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


@pytest.fixture(scope="module")
def town(benchmarks: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A site with both boards on SQLite, for all tests of a file: each brings people of its own."""
    with opened(list(benchmarks.values()), tmp_path_factory.mktemp("town")) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def either(request: pytest.FixtureRequest, benchmarks: dict[str, Path], tmp_path: Path) -> Iterator[Town]:
    """The same on SQLite, and on PostgreSQL."""
    address = request.getfixturevalue("postgres")() if request.param == "postgres" else None
    with opened(list(benchmarks.values()), tmp_path / "data", replace(OPTIONS, per_day=20), address) as made:
        yield made
