"""Files that are wrong in any way, read by every verb: one of our errors or a result, and nothing else.

FUZZ_CASES and FUZZ_SEED set how many cases are run, and which. A finding is repeated with
`python -m tests.fuzz.run WORLD --target NAME --only SEED`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHUNK = 2000  # cases of one process: what a case leaves in memory is not carried on for ever


def fuzz(world: Path, cases: int, seed: int, *more: str) -> list[str]:
    """Run cases in a process of its own, which may die: the findings."""
    command = [sys.executable, "-m", "tests.fuzz.run", str(world), "--cases", str(cases), "--seed", str(seed), *more]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    found = ran.stdout.splitlines()
    if ran.returncode not in (0, 1) or (ran.returncode == 1 and not found):
        case = world.with_name(f"{world.name}.case")
        where = case.read_text() if case.exists() else "the end"
        found.append(f"exit code {ran.returncode} at {where}: {ran.stderr[-3000:]}")
    return found


def test_some_cases(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    cases, seed = int(os.environ.get("FUZZ_CASES", "210")), int(os.environ.get("FUZZ_SEED", "0"))
    found = fuzz(tmp_path / "world", cases, seed, "--quick")
    assert not found, "\n".join(found)


@pytest.mark.soak
def test_many_cases(tmp_path: Path) -> None:
    from tests.fuzz.targets import TARGETS

    cases, seed = int(os.environ.get("FUZZ_CASES", "50000")), int(os.environ.get("FUZZ_SEED", "1000"))
    found: list[str] = []
    for start in range(0, cases, CHUNK):
        found += fuzz(tmp_path / "world", min(CHUNK, cases - start), seed + start // len(TARGETS) + start // CHUNK)
        print(f"{min(start + CHUNK, cases):,} cases, {len(found)} findings", file=sys.stderr, flush=True)
    problems = sorted({json.loads(one)["problem"] if one.startswith("{") else one for one in found})
    assert not found, "\n".join([*problems, *found[:50]])
