"""The files that SLURM and Kubernetes are given: read as they are, and run with stand-ins for SLURM's own commands."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from veridical import open as open_benchmark

from ..zoo import _small as small

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "docs" / "how-to" / "cluster"
SECRET = "7f1c9a2e5b8d4036f1aa93c2"


def kubernetes() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    return {one["kind"]: one for one in yaml.safe_load_all((FILES / "kuberay.yaml").read_text())}


def test_the_job_of_kubernetes_names_what_there_is() -> None:
    found = kubernetes()
    spec = found["RayJob"]["spec"]
    cluster = spec["rayClusterSpec"]
    pinned = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["ray"]
    assert pinned == [f"ray=={cluster['rayVersion']}"]
    assert f"rayproject/ray:{cluster['rayVersion']}-" in (FILES / "kuberay.yaml").read_text()
    head = cluster["headGroupSpec"]["template"]["spec"]
    assert (
        head["volumes"][0]["persistentVolumeClaim"]["claimName"] == found["PersistentVolumeClaim"]["metadata"]["name"]
    )
    mounted = head["containers"][0]["volumeMounts"][0]
    assert mounted["name"] == head["volumes"][0]["name"]
    for one in head["containers"][0]["env"]:  # what a new head continues from
        assert one["value"].startswith(mounted["mountPath"])
    words = shlex.split(spec["entrypoint"])
    assert words[:3] == ["veridical", "build", "nlvr"]
    options = {word for word in words if word.startswith("--")}
    known = (ROOT / "docs" / "commands.md").read_text().partition("## veridical build nlvr\n")[2]
    assert options <= set(re.findall(r"--[a-z-]+", known.partition("\n## ")[0]))


SRUN = """#!/bin/bash
# SLURM's srun on one machine: the command as often as there are tasks, side by side, each told how many processors
tasks=$SLURM_JOB_NUM_NODES
while [[ $1 == -* ]]; do
  [ "$1" = --ntasks ] && tasks=$2
  [ "$1" = --cpus-per-task ] && processors=$2
  shift 2
done
[ -n "$processors" ] || { echo "srun: no --cpus-per-task" >&2; exit 1; }
for _ in $(seq "$tasks"); do "$@" & done
wait
"""
SCONTROL = """#!/bin/bash
[ "$1 $2" = "show hostnames" ] && echo "$3"
"""


def submitted(
    script: str, words: list[str], tmp_path: Path, nodes: int, **more: str
) -> subprocess.CompletedProcess[str]:
    """What comes of `sbatch SCRIPT WORDS` on so many nodes, all of them this machine."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, text in {"srun": SRUN, "scontrol": SCONTROL}.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0", "OMP_NUM_THREADS": "1",
        "SLURM_JOB_NODELIST": "localhost", "SLURM_JOB_NUM_NODES": str(nodes), "SLURM_CPUS_PER_TASK": "1",
        "SLURM_JOB_ID": "7",
    }  # fmt: skip
    told = tmp_path / "told.txt"  # not a pipe: the cluster outlives the command, and holds its end open
    with told.open("w") as file:
        running = subprocess.Popen(
            ["bash", str(FILES / script), *words], env=environment, start_new_session=True, stdout=file, stderr=file
        )
        try:
            running.wait(timeout=300)
        finally:
            end(running.pid)
    return subprocess.CompletedProcess(words, running.returncode, told.read_text())


def end(session: int) -> None:
    """As SLURM does with a job: whatever of it is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(session, signal.SIGTERM)


@pytest.mark.soak
def test_a_cluster_on_the_nodes_of_a_job(tmp_path: Path) -> None:
    """Two nodes of one processor: Ray is there, the command finds it, both work, and the bytes are the same."""
    pytest.importorskip("ray")
    words = ["veridical", "build", "nlvr", "--presentations", "12", "--secret", SECRET]
    done = submitted("ray.sbatch", [*words, "--out", str(tmp_path / "ray")], tmp_path, nodes=2)
    assert done.returncode == 0, done.stdout
    subprocess.run([sys.executable, "-m", *words, "--out", str(tmp_path / "one")], check=True, env=os.environ | {
        "PYTHONPATH": str(ROOT / "src")})  # fmt: skip
    assert open_benchmark(tmp_path / "ray").hash == open_benchmark(tmp_path / "one").hash


@pytest.mark.soak
def test_a_training_on_the_nodes_of_a_job(tmp_path: Path) -> None:
    """Two nodes without graphics cards: one process each."""
    bench = small.write_statements(tmp_path / "b", 12)
    words = ["text", str(bench), str(tmp_path / "run"), "--set", "epochs=1"]
    done = submitted("train.sbatch", words, tmp_path, nodes=2)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "run" / "trial-0" / "model.safetensors").is_file()
