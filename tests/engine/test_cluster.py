"""Ray: the same bytes as one process, whatever dies. Clusters of several nodes are on this machine."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from veridical.builders.nlvr import build_nlvr
from veridical.engine import run
from veridical.errors import UserError
from veridical.options import Workers

from . import _jobs as jobs

ROOT = Path(__file__).resolve().parents[2]
SECRET = "7f1c9a2e5b8d4036f1aa93c2"
ray = pytest.importorskip("ray")


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    """What a test started ends with it."""
    yield
    if ray.is_initialized():
        ray.shutdown()


def digest(folder: Path) -> dict[str, str]:
    found = [folder, folder.with_name(folder.name + ".hidden")]
    paths = sorted(path for one in found for path in one.rglob("*") if path.is_file())
    return {str(path.relative_to(folder.parent)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_a_build_by_ray_has_the_same_bytes(tmp_path: Path) -> None:
    """End to end, on a cluster that Ray starts here: presentations, statements, drawings, hidden answers."""
    built = {}
    for name, workers in {"one": Workers(1), "ray": Workers(2, "ray")}.items():
        (tmp_path / name).mkdir()
        build_nlvr(tmp_path / name / "made", presentations=8, seed=5, secret=SECRET, workers=workers)
        built[name] = digest(tmp_path / name / "made")
    assert built["ray"] == built["one"]
    assert built["ray"]["made/benchmark.json"]


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"veridical\[ray\]"):
        run(jobs.square, [1], workers=Workers(engine="ray"))


def test_what_ray_says_is_not_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    from ray._private import worker

    from veridical.engine.cluster import _keep_stdout_clean

    _keep_stdout_clean()
    told = {"is_err": False, "lines": ["a node is lost"], "pid": "raylet", "ip": "here", "localhost": "here"}
    worker.print_to_stdstream({**told, "job": None, "actor_name": None, "task_name": None}, ignore_prefix=False)
    out, errors = capsys.readouterr()
    assert out == ""
    assert "a node is lost" in errors


def test_options_of_ray_need_ray() -> None:
    with pytest.raises(UserError, match="--gpus-per-worker"):
        Workers(gpus_per_worker=1)
    with pytest.raises(UserError, match="--ray-address"):
        Workers(ray_address="auto")
    with pytest.raises(UserError, match="-1"):
        Workers(engine="ray", gpus_per_worker=-1)


# --- several nodes ---------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Three nodes of one processor each; the driver's own has none, so that any of them may be lost."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.others = [made.add_node(num_cpus=1) for _ in range(3)]
    made.wait_for_nodes()
    yield made
    made.shutdown()


def drive(cluster: Any, marks: Path, work: Path, count: int) -> subprocess.Popen[str]:
    """A run in a process of its own."""
    marks.mkdir(exist_ok=True)
    script = str(Path(__file__).with_name("_jobs.py"))
    words = [sys.executable, script, str(marks), str(work), str(count), "3", "ray", cluster.address]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0"}
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(work: Path) -> int:
    return len(list(work.glob("*/*.result")))


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def actors() -> list[int]:
    """The processes of workers, of whichever node."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"ray::_Actor" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def begun_last(marks: Path) -> int:
    """The worker that began a batch last: it is in the middle of it."""
    newest = max((mark.name for mark in marks.iterdir()), key=lambda name: int(name.split("-")[2]))
    return int(newest.split("-")[1])


COUNT = 900
VICTIMS = ("nothing-lost", "lost-worker", "lost-node", "lost-driver")


@pytest.mark.soak
@pytest.mark.parametrize("victim", VICTIMS)
def test_three_nodes_give_the_same_results_whoever_dies(cluster: Any, tmp_path: Path, victim: str) -> None:
    marks, work = tmp_path / "marks", tmp_path / "work"
    running = drive(cluster, marks, work, COUNT)
    until(lambda: len({mark.name.split("-")[1] for mark in marks.iterdir()}) == 3)  # all of them work
    assert finished(work) < COUNT
    if victim == "lost-worker":
        os.kill(begun_last(marks), signal.SIGKILL)
    elif victim == "lost-node":
        cluster.remove_node(cluster.others[0], allow_graceful=False)
    elif victim == "lost-driver":
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        until(lambda: not actors())  # nobody works on for a dead driver
        done, started = finished(work), len(list(marks.iterdir()))
        running = drive(cluster, marks, work, COUNT)
    out, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    assert out.split() == [str(n * 10) for n in range(COUNT)]
    again = len(list(marks.iterdir()))
    if victim == "lost-driver":
        assert again <= started + COUNT - done
    elif victim == "nothing-lost":
        assert again == COUNT
    else:
        assert COUNT < again <= COUNT + 3  # what it was working on, and no more


@pytest.mark.soak
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_benchmark_built_by_three_nodes(cluster: Any, tmp_path: Path, victim: str) -> None:
    """The verb itself, by command line, on three nodes of which one may be lost midway."""
    words = [sys.executable, "-m", "veridical", "build", "nlvr", "--presentations", "240", "--seed", "3"]
    words += ["--secret", SECRET, "--engine", "ray", "--ray-address", cluster.address, "--processes", "3"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0"}
    (tmp_path / "ray").mkdir()
    (tmp_path / "one").mkdir()
    command = [*words, "--out", str(tmp_path / "ray" / "made")]
    running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: len(list((tmp_path / "ray").glob(".made*/??/*.result"))) >= 2 or running.poll() is not None, 300)
    assert running.poll() is None
    if victim == "lost-worker":
        os.kill(actors()[0], signal.SIGKILL)
    elif victim == "lost-node":
        cluster.remove_node(cluster.others[0], allow_graceful=False)
    elif victim == "lost-driver":
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _, errors = running.communicate(timeout=600)
    assert running.returncode == 0, errors
    build_nlvr(tmp_path / "one" / "made", presentations=240, seed=3, secret=SECRET, processes=1)
    assert digest(tmp_path / "ray" / "made") == digest(tmp_path / "one" / "made")


@pytest.mark.soak
def test_a_storm_of_kills(cluster: Any, tmp_path: Path) -> None:
    """Workers and drivers, again and again; nothing is lost, and nothing that was finished is done twice."""
    marks, work = tmp_path / "marks", tmp_path / "work"
    for storm in range(12):
        running, before = drive(cluster, marks, work, 400), finished(work)
        until(lambda: finished(work) > before + 10 or running.poll() is not None)  # noqa: B023
        if storm % 3 and actors():
            os.kill(actors()[storm % len(actors())], signal.SIGKILL)
            time.sleep(0.5)
        running.kill()
        running.communicate()
    last = drive(cluster, marks, work, 400)
    out, errors = last.communicate(timeout=300)
    assert last.returncode == 0, errors
    assert out.split() == [str(n * 10) for n in range(400)]


@pytest.mark.soak
def test_an_abandoned_run_leaves_no_actor(tmp_path: Path) -> None:
    results = run(jobs.marked_slowly, [(str(tmp_path), n) for n in range(100)], workers=Workers(2, "ray"))
    next(results)
    assert actors()
    results.close()  # type: ignore[attr-defined]
    until(lambda: not actors(), 20)


@pytest.mark.soak
@pytest.mark.parametrize(("each", "workers"), [(1.0, 2), (0.5, 4), (2.0, 1)])
def test_a_worker_holds_its_share_of_the_cards(each: float, workers: int) -> None:
    """A node that says it has two: Ray gives cards by number, whether or not there are any."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        made.add_node(num_cpus=4, num_gpus=2)
        made.wait_for_nodes()
        found = list(run(jobs.card, range(40), workers=Workers(None, "ray", made.address, each)))
        cards = dict(found)
        assert len(cards) == workers
        assert len(set(found)) == workers  # nobody's card changes
        held = [number for number in "01" for card in cards.values() if number in card.split(",")]
        assert sorted(held) == sorted("01" * max(1, round(1 / each)))
    finally:
        ray.shutdown()
        made.shutdown()


@pytest.mark.soak
def test_a_card_that_is_not_there() -> None:
    with pytest.raises(UserError, match="this machine has 0"):
        list(run(jobs.square, [1], workers=Workers(1, "ray", gpus_per_worker=1)))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_no_cluster_at_an_address(address: str) -> None:
    """Said at once: nobody listens there, so Ray, which would try for minutes, is not asked."""
    with pytest.raises(UserError, match=r"No cluster of Ray .* refused"):
        list(run(jobs.square, [1], workers=Workers(1, "ray", ray_address=address)))


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
    print(list(run(double, [Point(1), Point(2), Point(3)], workers=Workers(2, "ray"))))
"""


@pytest.mark.soak
def test_functions_and_records_of_a_script_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(OWN_FUNCTION)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0"}
    words = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "[Point(x=2), Point(x=4), Point(x=6)]\n", done.stderr
