"""Processes that die: workers and whole runs, by kill -9 and Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from veridical.engine import run
from veridical.errors import UserError
from veridical.options import Workers

from . import _jobs as jobs

ROOT = Path(__file__).resolve().parents[2]


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            pytest.fail("it never happened")
        time.sleep(0.01)


def start(marks: Path, work: Path, count: int, processes: int) -> subprocess.Popen[str]:
    marks.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("_jobs.py")), str(marks), str(work), str(count), str(processes)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def children(pid: int) -> list[int]:
    """The worker processes of a run."""
    out = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        out += [int(child) for child in (task / "children").read_text().split()]
    return [pid for pid in out if "engine.processes import main" in command(pid)]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def gone(pid: int) -> bool:
    """A process that has ended, whether or not anybody has asked how."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_killed_worker_costs_one_try(tmp_path: Path) -> None:
    batches = [(str(tmp_path), number) for number in range(8)]
    assert list(run(jobs.dies_once, batches, workers=Workers(2))) == list(range(8))
    starts = [name.name.partition("-")[0] for name in tmp_path.iterdir()]
    assert sorted(starts) == sorted([*map(str, range(8)), "1", "4"])


def test_a_batch_that_always_kills_its_worker_is_named() -> None:
    with pytest.raises(UserError, match=r"drawing: the process working on batch 2 was killed by signal 9 .*, 2 times"):
        list(run(jobs.dies_always, range(6), workers=Workers(2), retries=1, label="drawing"))


def test_an_exit_is_named_too() -> None:
    with pytest.raises(UserError, match=r"batch \d ended with exit code 7, once"):
        list(run(jobs.exits, range(2), workers=Workers(2), retries=0))


def test_a_run_killed_by_kill_9_continues(tmp_path: Path) -> None:
    marks, work, count = tmp_path / "marks", tmp_path / "work", 30
    first = start(marks, work, count, 2)
    until(lambda: len(list(work.glob("*/*.result"))) >= 8)
    workers = children(first.pid)
    assert len(workers) == 2
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    until(lambda: all(map(gone, workers)), 5)  # nobody works on for a dead parent
    done, started = len(list(work.glob("*/*.result"))), len(list(marks.iterdir()))
    assert 8 <= done < count
    second = start(marks, work, count, 2)
    out, errors = second.communicate(timeout=60)
    assert second.returncode == 0, errors
    assert out.split() == [str(n * 10) for n in range(count)]
    assert len(list(marks.iterdir())) == started + count - done  # what was finished was not done again
    assert not list(work.glob("*/.*.part"))


def test_a_worker_killed_from_outside(tmp_path: Path) -> None:
    running = start(tmp_path / "marks", tmp_path / "work", 30, 2)
    until(lambda: len(list((tmp_path / "work").glob("*/*.result"))) >= 4)
    os.kill(children(running.pid)[0], signal.SIGKILL)
    out, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors
    assert out.split() == [str(n * 10) for n in range(30)]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems end workers between two steps of Python")
def test_no_worker_outlives_its_parent_even_one_that_listens_to_nobody(tmp_path: Path) -> None:
    parent = start(tmp_path / "marks", tmp_path / "work", 0, 2)
    until(lambda: len(children(parent.pid)) == 2)
    workers = children(parent.pid)
    time.sleep(0.5)  # until they are deep in it
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    until(lambda: all(gone(pid) for pid in workers), 5)


def test_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    running = start(tmp_path / "marks", tmp_path / "work", 400, 2)
    until(lambda: len(list((tmp_path / "work").glob("*/*.result"))) >= 4)
    workers = children(running.pid)
    os.killpg(running.pid, signal.SIGINT)  # a terminal sends it to the whole group
    _, errors = running.communicate(timeout=10)
    assert running.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert errors.count("Traceback") == 1  # the workers say nothing
    assert all(map(gone, workers))


def test_an_abandoned_run_leaves_no_process(tmp_path: Path) -> None:
    results = run(jobs.marked_slowly, [(str(tmp_path), n) for n in range(100)], workers=Workers(2))
    next(results)
    workers = children(os.getpid())
    assert len(workers) >= 2
    results.close()  # type: ignore[attr-defined]
    assert all(map(gone, workers))


GUARDLESS = """
import sys
sys.path.insert(0, {tests!r})
import _jobs
from veridical.engine import run
from veridical.options import Workers
with open({log!r}, "a") as file:
    file.write("ran\\n")
print(list(run(_jobs.talks, range(4), workers=Workers(2))))
"""
OWN_FUNCTION = """
from dataclasses import dataclass
from veridical.engine import run
from veridical.options import Workers

@dataclass
class Point:
    x: int

def double(point):
    return Point(2 * point.x)

if __name__ == "__main__":
    print(list(run(double, [Point(1), Point(2), Point(3)], workers=Workers(2))))
"""


def script(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "script.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0"}
    return subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], env=environment, capture_output=True, text=True, timeout=60
    )


def test_a_script_needs_no_guard_and_its_stdout_is_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = script(tmp_path, GUARDLESS.format(tests=str(Path(__file__).parent), log=str(log)))
    assert done.stdout == "[0, 1, 2, 3]\n", done.stderr
    assert "hello from 3" in done.stderr
    assert log.read_text() == "ran\n"  # the workers did not run the script


def test_functions_and_records_of_a_script_can_be_used(tmp_path: Path) -> None:
    done = script(tmp_path, OWN_FUNCTION)
    assert done.stdout == "[Point(x=2), Point(x=4), Point(x=6)]\n", done.stderr


@pytest.mark.soak
def test_a_storm_of_kills(tmp_path: Path) -> None:
    """Whole runs and workers are killed again and again; nothing is lost, nothing finished is done twice."""
    marks, work, count = tmp_path / "marks", tmp_path / "work", 400
    for storm in range(60):
        running = start(marks, work, count, 2)
        done = len(list(work.glob("*/*.result")))
        until(lambda: len(list(work.glob("*/*.result"))) > min(done + 3, count - 1) or running.poll() is not None, 60)  # noqa: B023
        victims = children(running.pid) if running.poll() is None else []
        with contextlib.suppress(ProcessLookupError):
            os.kill(victims[storm % len(victims)] if victims and storm % 3 == 0 else running.pid, signal.SIGKILL)
        if storm % 3 == 0:
            time.sleep(0.3)
            running.kill()
        running.communicate()
    last = start(marks, work, count, 2)
    out, errors = last.communicate(timeout=120)
    assert last.returncode == 0, errors
    assert out.split() == [str(n * 10) for n in range(count)]
    again = start(marks, work, count, 2)
    before = len(list(marks.iterdir()))
    assert again.communicate(timeout=60)[0] == out
    assert len(list(marks.iterdir())) == before


@pytest.mark.parametrize(("parent", "alive"), [(1, True), (77, False)])
def test_a_parent_may_be_the_first_process_of_a_container(parent: int, alive: bool) -> None:
    """In a container that runs `veridical`, it is process 1: that does not mean that it is gone."""
    code = "import os; os.getppid = lambda: 1; from veridical.engine.processes import _end_with"
    code += f"; _end_with({parent}); print('alive')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ("alive" in done.stdout) == alive
