"""The clock of a rehearsal: people come, work, leave, come back; a requester reviews, and ends rounds.

Everything goes through the service, on a database of its own in the folder of the rehearsal; then it is exported, and
the benchmark is built and checked.
"""

from __future__ import annotations

import heapq
import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from veridical.benchmark.place import staging
from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.web.collect.exporting import Exported, export
from veridical.web.collect.ledger import money
from veridical.web.collect.managing import PersonShown
from veridical.web.collect.progress import Progress
from veridical.web.collect.records import Nothing, Offer, Project, Task
from veridical.web.collect.rehearsal.answers import answer
from veridical.web.collect.rehearsal.people import CHARACTERS, Character, Person, crowd
from veridical.web.collect.rehearsal.world import World
from veridical.web.collect.service import Service
from veridical.web.collect.starting.folder import open_project
from veridical.web.collect.store import Store
from veridical.web.collect.working import Refused

START = 1_700_000_000.0
HOUR = 3600.0
LOOK = 0.5 * HOUR  # how often the requester looks, and people who found nothing come back
ROUND = 6 * HOUR
IDLE = 36 * HOUR  # without an answer, after which it is over
TWICE = 0.02  # how often a button is clicked twice
DATABASE, EXPORT, BENCHMARK = "rehearsal.sqlite", "export", "benchmark"


@dataclass(frozen=True)
class CharacterShown:
    """How people of one character fared."""

    name: str
    people: int
    blocked: int
    failed: int  # did not qualify for anything
    answers: int
    gold: float | None
    mills: int  # on average


@dataclass(frozen=True)
class Rehearsed(Result):
    """What a rehearsal showed."""

    folder: Path
    progress: Progress
    exported: Exported
    characters: tuple[CharacterShown, ...]
    days: float
    benchmark: Path | None = None
    items: int = 0
    problem: str = ""  # why no benchmark came of it
    people: tuple[PersonShown, ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "days": self.days,
            "characters": msgspec.to_builtins(self.characters),
            "alpha": self.progress.alpha,
            "kappa": self.progress.kappa,
            "cost": self.progress.cost,
            "benchmark": None if self.benchmark is None else str(self.benchmark),
            "items": self.items,
            "problem": self.problem,
            **self.exported.to_json(),
        }

    def parts(self) -> list[Table | str]:
        found = self.progress
        rows = [
            (one.name, one.people, one.blocked, one.failed, f"{one.answers:,}", _percent(one.gold), money(one.mills))
            for one in self.characters
        ]
        columns = ("people", "number", "blocked", "not qualified", "answers", "gold", "earned each")
        totals: list[tuple[object, ...]] = [
            ("days", f"{self.days:.1f}"),
            ("cost, with fees", money(found.cost)),
            ("Krippendorff's alpha", "" if found.alpha is None else f"{found.alpha:.3f}"),
            ("Fleiss' kappa", "" if found.kappa is None else f"{found.kappa:.3f}"),
            ("items of the benchmark", f"{self.items:,}"),
        ]
        out = [*self.exported.parts()[:2], Table("", columns, rows), Table("", ("", ""), totals)]
        out.append("Nobody was paid: these people were simulated, and so is what they wrote.")
        if self.problem:
            out.append(f"No benchmark came of it: {self.problem}")
        return out


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def rehearse(
    folder: Path,
    out: Path,
    *,
    workers: int = 60,
    seed: int = 0,
    characters: tuple[Character, ...] = CHARACTERS,
    build: bool = True,
) -> Rehearsed:
    """Let simulated people do the whole collection of a project; see `veridical.api.collect`."""
    from veridical.web.collect.sql_store import SqlStore
    from veridical.web.database import Database, sqlite_address, usable

    if workers < 1:
        raise UserError(f"{workers} workers were asked for.", "Ask for 1 or more.")
    if out.exists():
        raise UserError(f"{out} is there already.", "Choose another folder, or delete it.")
    with staging(Path(os.path.abspath(out))) as work:
        made = work / "made"
        made.mkdir()
        with closing(Database(sqlite_address(made / DATABASE), passing=True)) as database, usable(database):
            database.upgrade()
            people = crowd(workers, seed, characters)
            found = rehearse_on(SqlStore(database), folder, made, people, seed=seed, build=build)
        made.rename(out)
    exported = replace(found.exported, out=out / EXPORT)
    return replace(found, folder=out, exported=exported, benchmark=found.benchmark and out / BENCHMARK)


def rehearse_on(
    store: Store, folder: Path, out: Path, people: list[Person], *, seed: int = 0, build: bool = True
) -> Rehearsed:
    """The same on a store, with people."""
    project, tasks = open_project(folder)
    simulation = Simulation(store, project, tasks, people, seed)
    simulation.run()
    exported = export(store, project.name, folder, out / EXPORT)
    shown = simulation.service.people()
    progress = simulation.service.progress()
    made, items, problem = _build(project, exported.out, out / BENCHMARK) if build else (None, 0, "")
    days = (simulation.ended - START) / 24 / HOUR
    fared = _characters(simulation.people, shown)
    return Rehearsed(out, progress, exported, fared, days, made, items, problem, tuple(shown))


@dataclass
class Simulation:
    """People and a requester, with a clock."""

    store: Store
    project: Project
    tasks: Sequence[Task]
    people: list[Person]
    seed: int = 0
    now: float = START
    ended: float = START  # the last answer
    world: World = field(init=False)
    service: Service = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(self.seed, self.tasks, _answers(self.project))
        self.service = Service(self.store, self.project.name, lambda: self.now)

    def run(self) -> None:
        """Until nothing is left to do, or nobody does anything for a day and a half."""
        self.store.create(self.project, self.tasks, START)
        self.service.start()
        queue: list[tuple[float, int, Offer | None]] = []
        for one in self.people:
            one.worker = self.service.join("simulated").id
            self.service.consent(one.worker, self.project.consent_version)
            queue.append((START + float(one.rng.random()) * HOUR, one.number, None))
        heapq.heapify(queue)
        look, ends = START + LOOK, START + ROUND
        while queue and self.now - self.ended < IDLE:
            self.now, number, offer = heapq.heappop(queue)
            while look <= self.now:
                ends = self.look_after(look, ends)
                look += LOOK
            back = self.act(self.people[number], offer)
            if back is not None:
                heapq.heappush(queue, (back[0], number, back[1]))
            if not queue or queue[0][0] > self.now + LOOK:  # all wait: for a review, or for the end
                self.look_after(self.now, self.now)
        self.service.end_round()
        self.look_after(self.now, self.now)
        self.service.finish()

    def look_after(self, now: float, ends: float) -> float:
        """The requester looks: returns abandoned tasks, reviews, ends a round every few hours."""
        before, self.now = self.now, now
        self.service.tick()
        if now >= ends:
            self.service.end_round()
            ends = now + ROUND
        for one in self.service.reviews():
            self.service.review(one.answer.id, self.follows(one.answer.value), "requester")
        self.now = max(before, now)
        return ends

    def follows(self, value: Any) -> bool:
        """Whether what was written follows the guidelines, as the world knows."""
        if "questions" in value:
            return True
        return self.world.follows.get(value.get("sentence", ""), not value.get("flag"))

    def act(self, one: Person, offer: Offer | None) -> tuple[float, Offer | None] | None:
        """Ask for a task, or send the answer; when this person acts again, if ever."""
        if offer is None:
            found = self.service.next(one.worker)
            if isinstance(found, Nothing):
                one.waited += 1
                wait = LOOK * min(one.waited, 8)
                return (self.now + wait, None) if found.why in ("waiting", "review", "paused") else None
            one.waited = 0
            if one.leaves():
                return self.now + 3 * HOUR, None
            return self.now + one.takes(found.task.kind), found
        said = answer(one, self.world, offer)
        told = self.service.submit(one.worker, offer.lease.id, said)
        if isinstance(told, Refused) and not told.gone:
            raise ValueError(f"{offer.task.kind}: {told.problems} of {said}")
        if one.rng.random() < TWICE:
            self.service.submit(one.worker, offer.lease.id, said)
        self.ended = self.now
        return self.now, None


def _answers(project: Project) -> dict[str, int]:
    """The right answers of a study's benchmark."""
    if not project.about.get("study"):
        return {}
    from veridical.benchmark import Benchmark

    benchmark = Benchmark(str(project.about["benchmark"]))
    return {
        item.id: item.answer
        for scheme, split in benchmark.parts
        for item in benchmark.items(split, scheme, answers=benchmark.is_hidden(split))
        if item.answer is not None
    }


def _build(project: Project, exported: Path, out: Path) -> tuple[Path | None, int, str]:
    """The benchmark that comes of it, checked."""
    from veridical.benchmark import Benchmark
    from veridical.benchmark.check import check
    from veridical.builders import load_builder

    options: dict[str, Any] = {"from_collection": exported, "processes": 1}
    if project.benchmark == "vcr":
        if project.about.get("study"):
            return None, 0, "the answers of a study are added to the build that people saw, with --answers."
        asked = sum(1 for _ in (exported / "questions.jsonl").open("rb"))
        options |= {"relevance": "tfidf", "similarity": "tfidf", "folds": min(11, max(3, asked // 24))}
    try:
        load_builder(project.benchmark)(out, **options)
    except UserError as error:
        return None, 0, error.problem
    found = check(out)
    problem = "" if found.ok else "it is not whole."
    return out, len(Benchmark(out)), problem


def _characters(people: Sequence[Person], shown: Sequence[PersonShown]) -> tuple[CharacterShown, ...]:
    by_worker = {one.worker.id: one for one in shown}
    groups: dict[str, list[PersonShown]] = defaultdict(list)
    for one in people:
        groups[one.character.name].append(by_worker[one.worker])
    out = []
    for name, some in groups.items():
        asked = sum(one.gold.asked for one in some)
        right = sum(one.gold.right for one in some)
        out.append(
            CharacterShown(
                name,
                len(some),
                sum(one.worker.blocked is not None for one in some),
                sum(_failed(one) for one in some),
                sum(one.answers for one in some),
                right / asked if asked else None,
                sum(one.mills for one in some) // len(some),
            )
        )
    return tuple(sorted(out, key=lambda one: -one.people))


def _failed(one: PersonShown) -> bool:
    return not one.answers and any(standing.stage == "failed" for standing in one.worker.standings.values())
