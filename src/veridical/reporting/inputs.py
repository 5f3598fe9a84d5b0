"""What the RUNs of a report are: prediction files, folders of `veridical train`, and audits, each with its own story.

A run is called by its solver or file; `NAME=PATH` gives it another name. Runs with one name are one system: files about
different splits fill its row, files about the same split are its trials. A folder of `veridical sweep` is all of its
runs, named as its tables name them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from veridical.common.files import Json, read_json
from veridical.errors import UserError
from veridical.reporting.audits import Audit, read_audit
from veridical.reporting.sweeps import SWEEP, Sweep, read_sweep
from veridical.reporting.trained import RUN, TrainedRun, read_run

_FIX = "Give prediction files, folders of `veridical train` or `veridical sweep`, or the JSON of `veridical audit`."
_STEMS = ("predictions", "prediction", "preds", "out", "output")  # a file called so is named by its folder
_SUFFIXES = (".jsonl", ".csv", ".npy", ".npz")


@dataclass(frozen=True)
class RunFile:
    """One file of predictions, and what is known about it."""

    name: str  # of the system
    path: Path
    split: str | None = None
    scheme: str | None = None
    benchmark_hash: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    named: bool = False  # by the user
    folder: Path | None = None  # the run folder it lies in


@dataclass(frozen=True)
class Inputs:
    """Everything a report is made from."""

    files: tuple[RunFile, ...]
    trained: tuple[TrainedRun, ...]
    audits: tuple[Audit, ...]
    sweeps: tuple[Sweep, ...] = ()


def read_inputs(runs: Sequence[Path | str]) -> Inputs:
    """Look at each RUN and say what it is."""
    files: list[RunFile] = []
    trained: list[TrainedRun] = []
    audits: list[Audit] = []
    sweeps: list[Sweep] = []
    for run in runs:
        name, path = _named(str(run))
        if not path.exists():
            raise UserError(f"{path} does not exist.", _FIX)
        if (path / SWEEP).is_file():
            sweeps.append(read_sweep(path))
            found, runs_of = _swept(sweeps[-1])
            files += found
            trained += runs_of
        elif path.is_dir() and not _holds_arrays(path):
            found, run_of = _folder(path, name)
            files += found
            trained.append(run_of)
        elif path.suffix == ".json":
            audits.append(read_audit(path, name))
        else:
            files.append(_file(path, name))
    if not runs:
        raise UserError("There is nothing to report on.", _FIX)
    return Inputs(*_distinct(files, trained), tuple(audits), tuple(sweeps))


def _named(run: str) -> tuple[str | None, Path]:
    """`NAME=PATH` or a path (which may have an equals sign of its own)."""
    name, mark, rest = run.partition("=")
    if mark and name and rest and os.sep not in name and not Path(run).exists():
        return name, Path(rest)
    return None, Path(run)


def _holds_arrays(folder: Path) -> bool:
    return any((folder / f"{name}.npy").is_file() for name in ("answers", "rationales"))


def _file(path: Path, name: str | None, folder: Path | None = None) -> RunFile:
    """A prediction file; what made it may lie beside it as `FILE.meta.json` (or, of models, `FILE.run.json`)."""
    beside = (path.with_name(path.name + suffix) for suffix in (".meta.json", ".run.json"))
    record = next((_json(p) for p in beside if p.is_file()), {})
    about = record.get("benchmark")
    about = record | (about if isinstance(about, dict) else {"hash": record.get("benchmark_hash")})
    solver = record.get("solver")
    said = solver.get("name") or solver.get("model") if isinstance(solver, dict) else solver
    own = (path.parent.name or path.stem) if path.stem in _STEMS else path.stem
    return RunFile(
        name=name or _text(said) or own,
        path=path,
        split=_text(about.get("split")),
        scheme=_text(about.get("scheme")),
        benchmark_hash=_text(about.get("hash")),
        config=solver if isinstance(solver, dict) else record.get("settings") or {},
        named=name is not None,
        folder=folder,
    )


def _folder(path: Path, name: str | None) -> tuple[list[RunFile], TrainedRun]:
    """A folder of `veridical train`, with the predictions that `veridical solve` wrote into it."""
    if not (path / RUN).is_file():
        raise UserError(f"{path} is a folder without {RUN}: it is no training run.", _FIX)
    trained = read_run(path, name)
    found = []
    for file in sorted(path.rglob("predictions*")):
        if file.suffix in _SUFFIXES:
            one = _file(file, trained.name, path)
            found.append(
                replace(
                    one,
                    split=one.split or _split_of(file),
                    scheme=one.scheme or trained.scheme,
                    benchmark_hash=one.benchmark_hash or trained.benchmark.hash or None,
                    named=name is not None,
                )
            )
    return found, trained


def _swept(sweep: Sweep) -> tuple[list[RunFile], list[TrainedRun]]:
    """All runs of a sweep, and the predictions of those that belong into tables of results."""
    files: list[RunFile] = []
    trained: list[TrainedRun] = []
    for point in sweep.points:
        found, run = _folder(sweep.path / point.folder, point.title)
        files += found if point.whole else []
        trained.append(msgspec.structs.replace(run, name=f"{point.title}, {point.scheme}"))
    return files, trained


def _split_of(file: Path) -> str | None:
    """The split in a name such as `predictions-dev.jsonl`."""
    rest = file.stem.removeprefix("predictions").lstrip("-_.")
    return rest or None


def _json(path: Path) -> Json:
    return read_json(path, Json, "an object in JSON", _FIX)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _distinct(files: list[RunFile], trained: list[TrainedRun]) -> tuple[tuple[RunFile, ...], tuple[TrainedRun, ...]]:
    """Runs that nobody named and that only happen to be called alike get their folder's name too."""
    models = Counter(run.name for run in trained)
    renamed = {
        run.path: f"{run.name} ({run.path.name})" for run in trained if models[run.name] > 1 and run.name == run.model
    }
    loose = [one for one in files if not one.named and one.folder is None]
    times = Counter(one.name for one in loose if not one.config)
    makes: dict[str, set[bytes]] = {}
    for one in loose:
        makes.setdefault(one.name, set()).add(_make(one))
    out = []
    for one in files:
        if one.folder in renamed:
            one = replace(one, name=renamed[one.folder])
        elif one in loose and not one.config and times[one.name] > 1:
            one = replace(one, name=f"{one.path.parent.name}/{one.name}")
        elif one in loose and len(makes[one.name]) > 1 and one.path.stem != one.name:
            one = replace(one, name=f"{one.name} ({one.path.stem})")
        out.append(one)
    return tuple(out), tuple(msgspec.structs.replace(r, name=renamed.get(r.path, r.name)) for r in trained)


def _make(one: RunFile) -> bytes:
    """What distinguishes a solver from another of the same name; trials differ in their seed alone."""
    passing = ("seed", "items", "limit", "benchmark", "split", "scheme")
    return msgspec.json.encode({k: v for k, v in one.config.items() if k not in passing}, order="sorted")
