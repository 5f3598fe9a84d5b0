"""A build killed with kill -9 at any moment leaves the old benchmark or none, and the next build cleans up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check

from .conftest import write_small

FOREVER = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from conftest import write_small
print("ready", flush=True)
n = 0
while True:
    write_small(Path({out!r}), shade=n % 50)
    n += 1
"""


def kill_while_writing(out: Path, seconds: float) -> None:
    code = FOREVER.format(here=str(Path(__file__).parent), out=str(out))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)


def kill_storm(out: Path, kills: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(kills):
        kill_while_writing(out, rng.uniform(0, 0.15))
        if out.exists():
            assert check(out).ok
            assert len(list(Benchmark(out).items("test", answers=True))) == 2
    write_small(out)
    assert check(out).ok
    assert sorted(p.name for p in out.parent.iterdir()) == [out.name, out.name + ".hidden"]


def test_killed_writer_leaves_a_whole_benchmark_or_none(tmp_path: Path) -> None:
    kill_storm(tmp_path / "x", kills=4, seed=0)


@pytest.mark.soak
def test_kill_storm(tmp_path: Path) -> None:
    kill_storm(tmp_path / "x", kills=150, seed=1)


def test_old_benchmark_survives_a_failed_build(tmp_path: Path) -> None:
    out = write_small(tmp_path / "x")
    before = Benchmark(out).hash
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from veridical.benchmark import BenchmarkWriter, place
with place.replacing(True), BenchmarkWriter(Path({str(out)!r}), name="new", task="matrix") as writer:
    writer.add_image(b"x")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert Benchmark(out).hash == before
    assert check(out).ok
