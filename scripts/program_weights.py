"""Makes the program solver's weights that ship with the package again, byte for byte, from NLVR's training split.

    python scripts/program_weights.py               compare with what ships; exit code 1 where they differ
    python scripts/program_weights.py --write       put them in the package
    python scripts/program_weights.py TRAIN.json    from another place than ../shared/data/nlvr/train.json

Only `train.json` is read. Its SHA-256 is printed: the bytes are the same for the same file and the versions of
constraints.txt. (The published file has two examples more and its objects in another order, so it gives other bytes.)
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

from veridical.benchmark import Benchmark
from veridical.formats.releases import import_release
from veridical.solvers.programs import SHIPPED, ProgramSolver, compressed, examples

TRAIN = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr" / "train.json"


def made(train: Path) -> ProgramSolver:
    """The solver that a training file gives."""
    with tempfile.TemporaryDirectory() as folder:
        imported = import_release("nlvr", train, Path(folder) / "train", split="train")
        return ProgramSolver().fit(examples(Benchmark(imported.benchmark), "train"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", nargs="?", type=Path, default=TRAIN, help="NLVR's train.json")
    parser.add_argument("--write", action="store_true", help="put the weights in the package")
    given = parser.parse_args()
    if not given.train.is_file():
        print(f"{given.train} is not here: nothing was made.")
        return 2
    solver = made(given.train)
    data = compressed(solver.state())
    print(f"train.json  sha256 {hashlib.sha256(given.train.read_bytes()).hexdigest()}")
    print(f"weights     sha256 {solver.digest}, {len(solver.state()):,} bytes of JSON")
    print(f"compressed  sha256 {hashlib.sha256(data).hexdigest()}, {len(data):,} bytes")
    if given.write:
        SHIPPED.write_bytes(data)
        print(f"written: {SHIPPED}")
        return 0
    same = SHIPPED.is_file() and SHIPPED.read_bytes() == data
    print("the same as what ships" if same else f"NOT the same as {SHIPPED}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
