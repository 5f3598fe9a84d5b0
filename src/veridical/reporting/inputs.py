"""What the RUNs of a report are: prediction files, folders of `veridical train`, and audits, each with its own story.

A run is called by its solver or file; `NAME=PATH` gives it another name. Runs with one name are one system: files about
different splits fill its row, files about the same split are its trials. A folder of `veridical sweep` is all of its
runs, named as its tables name them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Literal

import msgspec

from veridical.common.files import Json, read_json
from veridical.common.intervals import Estimate
from veridical.errors import UserError
from veridical.experiments import SWEEP

_FIX = "Give prediction files, folders of `veridical train` or `veridical sweep`, or the JSON of `veridical audit`."
RUN, RESULT = "run.json", "result.json"
_WRITTEN, _AGAIN = "what `veridical train` writes", "Train again, or leave the run out."
_STEMS = ("predictions", "prediction", "preds", "out", "output")  # a file called so is named by its folder
WORST = ("fail", "cannot tell", "warn", "pass", "not applicable")  # verdicts of checks
_SUFFIXES = (".jsonl", ".csv", ".npy", ".npz")
_PASSING = ("seed", "trial", "items", "limit", "benchmark", "split", "scheme")  # trials have seeds of their own


# It may see everything; it lacks something on purpose; it always says the same; it throws dice.
Role = Literal["looks", "blind", "guess", "random"]
_GUESSES: dict[str, Role] = {"random": "random", "majority": "guess"}
_BLIND_WORDS = ("blind", "text only", "text-only", "responses only", "response-only", "question-only", "image only")


@dataclass(frozen=True)
class RunFile:
    """One file of predictions, and what is known about it."""

    name: str  # of the system
    path: Path
    split: str | None = None
    scheme: str | None = None
    benchmark_hash: str | None = None
    config: Json = field(default_factory=dict)
    named: bool = False  # by the user
    role: Role = "looks"
    folder: Path | None = None  # the run folder it lies in


class Epoch(msgspec.Struct, frozen=True):
    """One epoch of a trial; accuracies are fractions."""

    epoch: float
    loss: float
    train: float
    validation: float


class Trial(msgspec.Struct, frozen=True):
    """One trial of a run."""

    best: float  # accuracy on validation
    best_epoch: int = 0
    history: tuple[Epoch, ...] = ()
    seed: int = 0
    training_items: int = 0


class MadeOn(msgspec.Struct, frozen=True):
    """The benchmark that a run or sweep is about, as its folder says."""

    name: str = ""
    hash: str = ""
    folder: str = ""


class TrainedRun(msgspec.Struct, frozen=True):
    """A run folder."""

    model: str
    benchmark: MadeOn = MadeOn()
    scheme: str = "main"
    config: Json = {}
    training: Json = {}
    name: str = ""  # of the system
    path: Path = Path()
    trials: tuple[Trial, ...] = ()

    @property
    def mean(self) -> float:
        return fmean(t.best for t in self.trials)

    @property
    def deviation(self) -> float:
        return pstdev(t.best for t in self.trials)

    @property
    def training_items(self) -> int:
        return self.trials[0].training_items


class PlannedRun(msgspec.Struct, frozen=True):
    """One run of a sweep."""

    title: str
    scheme: str
    fraction: float
    context: str

    @property
    def whole(self) -> bool:
        """Whether it is one of the paper's systems: all training data, its own contexts."""
        return self.fraction == 1 and self.context == "own"


class SweptRun(PlannedRun, frozen=True):
    """A run with its scores on the test split."""

    features: str
    auxiliary: bool
    folder: str
    accuracy: Estimate
    by: dict[str, dict[str, Estimate]]
    controls: dict[str, Estimate]

    @property
    def system(self) -> str:
        """The model, as tables call it."""
        return self.title.partition(",")[0]


class FailedRun(PlannedRun, frozen=True):
    """A run that has no scores, and why."""

    problem: str


class SweepFolder(msgspec.Struct, frozen=True):
    """What a sweep's folder says."""

    benchmark: MadeOn
    points: tuple[SweptRun, ...]
    failed: tuple[FailedRun, ...] = ()
    path: Path = Path()

    @property
    def first_scheme(self) -> str:
        return self.points[0].scheme


class ExampleRecord(msgspec.Struct, frozen=True):
    """One of the worst items or cues that a check found."""

    id: str
    text: str = ""
    note: str = ""


class CheckRecord(msgspec.Struct, frozen=True):
    """One check, as far as a page shows it."""

    verdict: str
    title: str = ""
    check: str = ""
    says: str = ""
    number: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = "share"
    do: str = ""
    examples: tuple[ExampleRecord, ...] = ()


class AuditRecord(msgspec.Struct, frozen=True):
    """An audit's checks; `findings` is another name for them."""

    checks: tuple[CheckRecord, ...] = ()
    findings: tuple[CheckRecord, ...] = ()
    not_run: tuple[str, ...] = ()
    name: str = ""
    benchmark: str = ""
    hash: str = ""
    path: Path = Path()  # of its JSON; its page has the same name

    @property
    def verdict(self) -> str:
        """The worst of its checks."""
        found = [c.verdict for c in self.checks]
        return next((verdict for verdict in WORST if verdict in found), "not applicable")


@dataclass(frozen=True)
class Inputs:
    """Everything a report is made from."""

    files: tuple[RunFile, ...]
    trained: tuple[TrainedRun, ...]
    audits: tuple[AuditRecord, ...]
    sweeps: tuple[SweepFolder, ...] = ()


def read_inputs(runs: Sequence[Path | str]) -> Inputs:
    """Look at each RUN and say what it is."""
    files: list[RunFile] = []
    trained: list[TrainedRun] = []
    audits: list[AuditRecord] = []
    sweeps: list[SweepFolder] = []
    for run in runs:
        name: str | None = None
        path = Path(run)
        before, _, after = str(run).partition("=")
        if before and after and os.sep not in before and not path.exists():  # a path may have an equals sign too
            name, path = before, Path(after)
        if not path.exists():
            raise UserError(f"{path} does not exist.", _FIX)
        if (path / SWEEP).is_file():
            sweeps.append(read_sweep(path))
            for point in sweeps[-1].points:
                found, run_of = _folder(path / point.folder, point.title)
                files += found if point.whole else []  # the others belong into no table of results
                trained.append(msgspec.structs.replace(run_of, name=f"{point.title}, {point.scheme}"))
        elif path.is_dir() and not any((path / f"{name}.npy").is_file() for name in ("answers", "rationales")):
            found, run_of = _folder(path, name)
            files += found
            trained.append(run_of)
        elif path.suffix == ".json":
            audits.append(_audit(path, name))
        else:
            files.append(_file(path, name))
    if not runs:
        raise UserError("There is nothing to report on.", _FIX)
    return Inputs(*_distinct(files, trained), tuple(audits), tuple(sweeps))


def _file(path: Path, name: str | None, folder: Path | None = None) -> RunFile:
    """A prediction file; what made it may lie beside it as `FILE.meta.json` (or, of models, `FILE.run.json`)."""
    beside = (path.with_name(path.name + suffix) for suffix in (".meta.json", ".run.json"))
    record = next((read_json(p, Json, "an object of JSON", _FIX) for p in beside if p.is_file()), {})
    about = record.get("benchmark")
    about = record | (about if isinstance(about, dict) else {"hash": record.get("benchmark_hash")})
    solver = record.get("solver")
    said = _called(solver) if isinstance(solver, dict) else solver
    own = (path.parent.name or path.stem) if path.stem in _STEMS else path.stem
    return RunFile(
        name=name or _text(said) or own,
        path=path,
        split=_text(about.get("split")),
        scheme=_text(about.get("scheme")),
        benchmark_hash=_text(about.get("hash")),
        config=solver if isinstance(solver, dict) else record.get("settings") or {},
        named=name is not None,
        role=role_of(name or own, solver if isinstance(solver, dict) else {"name": solver}),
        folder=folder,
    )


def _called(solver: Json) -> object:
    """What a solver is called; a trained model, which is opened by its folder, by the folder's own name.

    >>> _called({"name": "/home/me/runs/film-objects", "model": "film"}), _called({"name": "openai/gpt-4o"})
    ('film-objects', 'openai/gpt-4o')
    """
    name = _text(solver.get("name"))
    if name is None or "model" not in solver:
        return name or solver.get("model")
    return Path(name).name or name


def role_of(name: str, made_by: Json) -> Role:
    """Whether a system looks, by what made its predictions; of a file that says nothing about it, by its name.

    >>> role_of("mine", {"name": "random"}), role_of("text-only", {}), role_of("mine", {"asking": {"blind": True}})
    ('random', 'blind', 'blind')
    >>> role_of("mine", {"name": ["no", "name"]})
    'looks'
    """
    for said in (made_by.get("name"), made_by.get("model"), name.lower()):
        if guess := _GUESSES.get(_text(said) or ""):
            return guess
    asked = made_by.get("asking")
    blind = made_by.get("blind", asked.get("blind") if isinstance(asked, dict) else None)
    if blind is None:
        blind = any(words in name.lower() for words in _BLIND_WORDS)
    return "blind" if blind else "looks"


def _folder(path: Path, name: str | None) -> tuple[list[RunFile], TrainedRun]:
    """A folder of `veridical train`, with the predictions that `veridical solve` wrote into it."""
    if not (path / RUN).is_file():
        raise UserError(f"{path} is a folder without {RUN}: it is no training run.", _FIX)
    about = read_json(path / RUN, TrainedRun, _WRITTEN, _AGAIN)
    finished = sorted(path.glob(f"trial-*/{RESULT}"), key=lambda p: (len(p.parent.name), p.parent.name))
    trials = tuple(read_json(one, Trial, _WRITTEN, _AGAIN) for one in finished)
    if not trials:
        raise UserError(f"{path}: no trial of this run is finished.", "Run the same `veridical train` again.")
    trained = msgspec.structs.replace(about, name=name or about.model, path=path, trials=trials)
    found = []
    for file in sorted(path.rglob("predictions*")):
        if file.suffix in _SUFFIXES:
            one = _file(file, trained.name, path)
            found.append(
                replace(
                    one,
                    split=one.split or file.stem.removeprefix("predictions").lstrip("-_.") or None,
                    scheme=one.scheme or trained.scheme,
                    benchmark_hash=one.benchmark_hash or trained.benchmark.hash or None,
                    named=name is not None,
                )
            )
    return found, trained


def read_sweep(folder: Path) -> SweepFolder:
    """The scores of a sweep."""
    path = folder / SWEEP
    found = read_json(path, SweepFolder, "what `veridical sweep` writes", "Run the sweep again.")
    if not found.points:
        raise UserError(f"{path} has no runs.", "Run the sweep again, with at least one model.")
    return msgspec.structs.replace(found, path=folder)


def _audit(path: Path, name: str | None) -> AuditRecord:
    """An audit, with its checks worst first."""
    found = read_json(path, AuditRecord, "the JSON of an audit", _FIX)
    checks = found.checks or found.findings
    if not checks:
        raise UserError(f"{path} is not the JSON of an audit: it has no checks.", _FIX)
    ranked = sorted(checks, key=lambda c: WORST.index(c.verdict) if c.verdict in WORST else len(WORST))
    called = name or found.name or found.benchmark or path.stem
    return msgspec.structs.replace(found, checks=tuple(ranked), findings=(), name=called, path=path)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _make(config: Mapping[str, Any]) -> Json:
    """What made predictions, without what may differ between those of one system; `also` made a part of them."""
    return {
        name: _make(value) if name == "also" and isinstance(value, dict) else value
        for name, value in config.items()
        if name not in _PASSING
    }


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
        makes.setdefault(one.name, set()).add(msgspec.json.encode(_make(one.config), order="sorted"))
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
