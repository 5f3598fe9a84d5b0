"""Prediction files as solvers write them: one JSON line per item, tied to the benchmark by its hash.

Each line is {"item", "scores", "raw", "benchmark"}; beside the file lies `FILE.meta.json` with what made it. Both are
written whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from veridical import __version__
from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.records import Prediction


def write_predictions(path: Path, predictions: Iterable[Prediction], benchmark: Benchmark) -> int:
    """Write predictions about a benchmark; how many there were."""
    count = 0
    part = _part(path)
    try:
        with part.open("wb") as file:
            for one in predictions:
                line = {"item": one.item, "scores": one.scores, "raw": one.raw, "benchmark": benchmark.hash}
                file.write(msgspec.json.encode(line) + b"\n")
                count += 1
            _settle(file, part, path)
    finally:
        part.unlink(missing_ok=True)
    return count


def write_meta(path: Path, benchmark: Benchmark, split: str, scheme: str, about: Mapping[str, Any]) -> Path:
    """Write beside a prediction file what made it, so that a number can be traced."""
    where = {"benchmark": benchmark.name, "benchmark_hash": benchmark.hash, "split": split, "scheme": scheme}
    record = {**where, "solver": about, "veridical": __version__}
    target = path.with_name(path.name + ".meta.json")
    part = _part(target)
    with part.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        _settle(file, part, target)
    return target


def _part(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path.parent} cannot be made: {error.strerror}.", "Choose another --out.") from None
    if path.is_dir():
        raise UserError(f"{path} is a folder.", "Give a file with --out, such as predictions.jsonl.")
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _settle(file: Any, part: Path, path: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    part.replace(path)
