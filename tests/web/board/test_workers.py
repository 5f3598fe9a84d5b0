"""What scoring processes say, and what they do not live to say."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.web.board.town import Town, opened, predictions

from veridical.web.board.scoring import Done, Job, known_key, packed, unpacked
from veridical.web.board.tables import Mark
from veridical.web.board.workers import TRIES, Process

JOB = Job("", "", "", 1, 1, 1)
WHOLE = r'{"status": "scored"}\n'


def saying(lines: list[str]) -> Process:
    """A process that says the first line to a job and ends; started again, the next."""

    class Spoken(Process):
        def _started(self) -> subprocess.Popen[bytes]:
            if self._running is None:
                code = f"import sys; sys.stdin.readline(); sys.stdout.write('{lines.pop(0)}'); sys.stdout.flush()"
                command = [sys.executable, "-c", code]
                self._running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            return self._running

    return Spoken()


@pytest.mark.parametrize("partial", ["", '{"status": "sco', '{"status": "scored"}', r"{}\n", r"\n", r"{\n"])
def test_a_process_that_dies_while_it_writes_is_started_again(partial: str) -> None:
    process = saying([partial, WHOLE])
    assert process.ask(JOB) == Done("scored")
    process.close()
    process = saying([partial] * TRIES)
    assert process.ask(JOB).status == "failed"
    process.close()


def test_a_process_that_never_answers_is_ended() -> None:
    class Silent(Process):
        def limit(self, line: bytes) -> float:
            return 0.2

        def _started(self) -> subprocess.Popen[bytes]:
            if self._running is None:
                command = [sys.executable, "-c", "import time; time.sleep(20)"]
                self._running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            return self._running

    start = time.monotonic()
    assert Silent().ask(JOB).status == "failed"
    assert time.monotonic() - start < 10


def test_a_key_goes_to_another_process_and_is_the_same(benchmarks: dict[str, Path]) -> None:
    job = Job(str(benchmarks["boxes"]), "test", "main", 10, 100, 1)
    key = known_key(job)
    found = unpacked(packed(key), job)
    assert found.ids.equals(key.ids)
    assert (found.words, found.groups, found.tags.pairs) == (key.words, key.groups, key.tags.pairs)
    for name in ("answer", "candidates", "views", "group", "parent", "given"):
        assert (getattr(found, name) == getattr(key, name)).all()
    assert (found.tags.item == key.tags.item).all()
    assert (found.tags.pair == key.tags.pair).all()


def test_a_comparison_that_failed_is_not_kept(
    benchmarks: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Job] = []
    true = Process.ask

    def failing(process: Process, job: Job) -> Done:
        asked.extend([job] if job.against else [])
        return Done("failed", why="a bad day") if job.against else true(process, job)

    def marks(town: Town) -> list[Mark]:
        town.client.get("/boards/boxes-test")
        town.settled()
        with town.site.database.read() as session:
            return list(session.scalars(select(Mark)))

    data = tmp_path / "data"
    with monkeypatch.context() as patch, opened([benchmarks["boxes"]], data) as town:
        patch.setattr(Process, "ask", failing)
        ada = town.person("ada")
        for seed, right in enumerate((0.95, 0.5)):
            assert ada.send("boxes-test", predictions(benchmarks["boxes"], right, seed), f"{seed}").status_code == 303
        for _ in range(4):
            assert marks(town) == []
        assert len(asked) == TRIES  # and not at every look
    with opened([benchmarks["boxes"]], data) as town:
        assert [mark.found["accuracy"] for mark in marks(town)] == [True]
