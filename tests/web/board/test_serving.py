"""`veridical serve` where it cannot: one line that says why, exit code 2, and nothing else happens."""

from __future__ import annotations

import resource
import socket
import sqlite3
from pathlib import Path

import pytest
from tests.commands import invoke

from veridical.web.board import serving
from veridical.web.board.scoring import Done, Job
from veridical.web.board.workers import Process


@pytest.fixture(autouse=True)
def _no_listening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "listen", lambda *_: None)


def test_a_port_that_is_taken_is_said_before_anything_is_made(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ran = invoke("serve", benchmarks["boxes"], "--data", tmp_path / "data", "--port", other.getsockname()[1])
    assert ran.exit_code == 2
    assert "cannot be listened on: Address already in use" in ran.stderr
    assert not (tmp_path / "data").exists()
    for wrong in (["--port", "70000"], ["--host", "no host at all", "--port", "0"]):
        assert invoke("serve", benchmarks["boxes"], "--data", tmp_path / "data", *wrong).exit_code == 2


def test_a_folder_that_cannot_be_made(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = invoke("serve", benchmarks["boxes"], "--data", tmp_path / "file", "--port", "0")
    assert ran.exit_code == 2
    assert "cannot be made: File exists" in ran.stderr


@pytest.mark.parametrize("what", ["garbage", "a newer version"])
def test_a_database_that_cannot_be_used(benchmarks: dict[str, Path], tmp_path: Path, what: str) -> None:
    command = ("serve", benchmarks["boxes"], "--data", tmp_path, "--port", "0")
    if what == "garbage":
        (tmp_path / "board.sqlite").write_text("garbage" * 100)
    else:
        assert invoke(*command).exit_code == 0
        with sqlite3.connect(tmp_path / "board.sqlite") as base:
            base.execute("UPDATE alembic_version SET version_num = 'm9999'")
    ran = invoke(*command)
    assert ran.exit_code == 2
    assert "board.sqlite cannot be used" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_database_is_not_made_where_a_link_leads(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "board.sqlite").symlink_to(tmp_path / "elsewhere")
    ran = invoke("serve", benchmarks["boxes"], "--data", tmp_path / "data", "--port", "0")
    assert ran.exit_code == 2
    assert "a link that leads nowhere" in ran.stderr
    assert not (tmp_path / "elsewhere").exists()


def test_a_server_does_not_begin_without_room(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    """On btrfs with a used-up quota SQLite's mapped file ended the process: a bus error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        ran = invoke("serve", benchmarks["boxes"], "--data", tmp_path / "data", "--port", "0")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ran.exit_code == 2
    assert "The disk is full" in ran.stderr
    assert {path.name for path in (tmp_path / "data").iterdir()} <= {"serving.lock"}


def test_an_empty_secret_is_none(benchmarks: dict[str, Path], tmp_path: Path) -> None:
    """Forms and limits would be keyed by what everybody knows."""
    (tmp_path / "secret.key").touch()
    ran = invoke("serve", benchmarks["boxes"], "--data", tmp_path, "--port", "0")
    assert ran.exit_code == 2
    assert "it cannot be the secret of this board" in ran.stderr


def test_rows_beside_a_board_have_the_limits_of_the_site(
    benchmarks: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[Job] = []

    def asked(process: Process, job: Job) -> Done:
        jobs.append(job)
        return Done("scored", scores={})

    monkeypatch.setattr(Process, "ask", asked)
    limits = ("--seconds", "300", "--megabytes", "4096")
    assert invoke("serve", benchmarks["boxes"], "--data", tmp_path, "--port", "0", *limits).exit_code == 0
    assert [(job.seconds, job.megabytes) for job in jobs] == [(300, 4096)]
