"""What `pip install veridical` costs: megabytes installed without extras, and CPU seconds of `veridical --help`.

Run: .venv/bin/python benchmarks/install_size.py      (makes a temporary environment; needs a package index)
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def megabytes(folder: Path) -> float:
    return sum(p.lstat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6


def cpu_seconds(*command: str | Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = Path(folder) / "env"
        subprocess.run([sys.executable, "-m", "venv", env], check=True)
        empty = megabytes(env)
        constraints = ROOT / "constraints.txt"
        install = [env / "bin/python", "-m", "pip", "install", "-q", "-c", constraints, ROOT]
        subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
        size = megabytes(env)
        helps = [cpu_seconds(env / "bin/veridical", "--help") for _ in range(5)]
    print(f"installed without extras: {size - empty:.0f} MB (limit 400 MB); the empty environment is {empty:.0f} MB")
    print(f"veridical --help: {min(helps):.3f} to {max(helps):.3f} s of CPU over 5 runs (limit 0.3 s)")


if __name__ == "__main__":
    main()
