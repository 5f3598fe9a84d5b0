"""`veridical collect init`: a project from an image set, a seed or a benchmark, in one command.

    folder          a project on disk, written and read
    qualification   what workers are asked before they begin, from the icon world
    nlvr, nlvr2, vcr, study     the first tasks of each

From outside: `init`, `open_project`, `is_project`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.options import check_seed, refuse_unused
from veridical.options.collecting import CollectOptions, RunningOptions
from veridical.web.collect.ledger import money
from veridical.web.collect.records import Bonus, Project, Task
from veridical.web.collect.starting.folder import is_project, making, open_project

__all__ = ["Begun", "init", "is_project", "open_project"]

BENCHMARKS = ("nlvr", "nlvr2", "vcr", "vprom")
SECONDS = {"prune": 900.0, "sets": 900.0, "sentence": 1800.0, "contrast": 1800.0, "questions": 2700.0,
           "validate": 600.0, "accept": 600.0, "choose": 600.0, "tutorial": 900.0, "guideline": 900.0}  # fmt: skip
FEW_HELD_OUT = 6  # sets of NLVR2: some are lost on the way, and three must be left
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_USED = {
    "nlvr": {"presentations"},
    "nlvr2": {"source", "sets", "begin", "synsets", "search"},
    "vcr": {"source", "photographs"},
    "study": {"benchmark", "split", "items"},
}


@dataclass(frozen=True)
class Begun(Result):
    """A project that was made."""

    folder: Path
    project: Project
    tasks: Mapping[str, int]  # of each kind, those of work
    gold: int
    qualification: int
    pictures: int
    held_out: int  # sets, presentations or photographs

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "name": self.project.name,
            "tasks": dict(self.tasks),
            "gold": self.gold,
            "qualification": self.qualification,
            "pictures": self.pictures,
            "held_out": self.held_out,
        }

    def parts(self) -> list[Table | str]:
        pay = [(f"pay, {kind}", money(mills)) for kind, mills in self.project.pay.items()]
        counts = [(f"tasks, {kind}", f"{count:,}") for kind, count in self.tasks.items()]
        more = [("questions of qualification", f"{self.qualification:,}"), ("gold", f"{self.gold:,}")]
        rows = [*counts, *more, ("pictures", f"{self.pictures:,}"), *pay]
        out: list[Table | str] = [
            Table(f"{self.project.title} ({self.project.benchmark})", ("", ""), rows),
            f"{self.folder / 'project.json'} says how it is run: read it, and change what you like.",
        ]
        if self.project.benchmark == "nlvr2" and self.held_out < FEW_HELD_OUT:
            many = "1 set is" if self.held_out == 1 else f"{self.held_out} sets are"
            out.append(
                f"Only {many} held out, and three splits are made of those that are left in the end: give more "
                "photographs or a larger --held-out, and rehearse it."
            )
        return out


def init(
    benchmark: str, folder: Path, options: CollectOptions = CollectOptions(), running: RunningOptions = RunningOptions()
) -> Begun:
    """Make a project; see `veridical.api.collect`."""
    if benchmark not in BENCHMARKS:
        raise UserError(f"There is no collection for {benchmark!r}.", f"Choose one of: {', '.join(BENCHMARKS)}.")
    check_seed(options.seed)
    study = benchmark == "vprom" or (benchmark == "vcr" and options.benchmark is not None)
    if study and options.benchmark is None:
        raise UserError("A human study is of a benchmark.", "Give --benchmark DIR, such as `build vprom` makes.")
    refuse_unused(f"collect init {benchmark}", _USED["study" if study else benchmark] | {"seed"}, options)
    options = replace(options, source=_absolute(options.source))
    folder = Path(folder)
    with making(folder) as made:
        project, start = _project(benchmark, study, folder, options, running)
        tasks: list[Task] = start(made, options, project)
        made.write(project, tasks)
        pictures = len(made.pictures)
    project, tasks = open_project(folder)
    purposes = Counter(one.purpose for one in tasks)
    work = Counter(str(one.kind) for one in tasks if one.purpose == "work")
    held = {one.origin for one in tasks if one.purpose == "work" and one.split != "train"}
    return Begun(folder, project, work, purposes["gold"], purposes["qualification"], pictures, len(held))


def _absolute(source: Any) -> Any:
    """A source whose path is the same wherever the benchmark is built later.

    >>> _absolute("icons"), _absolute("folder:/photos")
    ('icons', 'folder:/photos')
    """
    if not isinstance(source, str) or ":" not in source:
        return source
    base, _, path = source.partition(":")
    return f"{base}:{Path(path).expanduser().absolute()}"


def _built(benchmark: Path | str | None) -> dict[str, Any]:
    """What the manifest of a benchmark says of its build."""
    from veridical.benchmark import Benchmark

    manifest = Benchmark(benchmark or "").manifest
    config = manifest["config"]
    return {**{name: config[name] for name in ("source", "schemes", "matrices") if name in config},
            "seed": manifest["seed"]}  # fmt: skip


def _project(
    benchmark: str, study: bool, folder: Path, options: CollectOptions, running: RunningOptions
) -> tuple[Project, Any]:
    from veridical.web.collect.starting import nlvr, nlvr2, qualification, vcr
    from veridical.web.collect.starting import study as studying

    name = running.name or re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")
    if not _NAME.fullmatch(name):
        raise UserError(f"{name!r} cannot name a project.", "Give --name with small letters, digits and hyphens.")
    words = qualification.texts(benchmark)
    room: Any = studying if study else {"nlvr": nlvr, "nlvr2": nlvr2, "vcr": vcr}[benchmark]
    pay = {**room.PAY, **{kind: round(10 * cents) for kind, cents in (running.pay or {}).items()}}
    for kind in running.pay or {}:
        if kind not in room.PAY:
            raise UserError(f"There are no tasks {kind!r} to pay for.", f"There are: {', '.join(room.PAY)}.")
    about = {
        "source": options.source if isinstance(options.source, str) else str(options.source.name),
        "benchmark": str(options.benchmark or ""),
        "study": study,
        "seed": options.seed,
        "photographs": options.photographs,
        "sets": options.sets,
        "begin": options.begin,
        "synsets": str(options.synsets or ""),
        "search": str(options.search or ""),
        "built": _built(options.benchmark) if study else {},
    }
    made = Project(
        name, benchmark, words.title, options.seed,  # type: ignore[arg-type]
        roles=room.ROLES[benchmark] if study else room.ROLES,
        pay=pay,
        seconds=SECONDS,
        held_out=running.held_out,
        fee=running.fee,
        consent=words.consent,
        contact=running.contact,
        completion_code=running.completion_code,
        prolific_workspace=running.prolific_workspace,
        screen_out_code=running.screen_out_code,
        about=about,
    )  # fmt: skip
    if benchmark == "nlvr2":
        return replace(made, small_pool=0.25, round_size=0), room.start
    if study:
        return replace(made, gold_accuracy=0.6, bonuses=(), held_out=0.0), room.start
    if benchmark == "nlvr":
        return replace(made, bonuses=()), room.start
    return replace(made, bonuses=(Bonus(0.75, 100), Bonus(0.5, 40)), training_judgements=3), room.start
