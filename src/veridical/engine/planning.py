"""`veridical plan`: machines, hours and cost of work that outgrows one machine, and what of it breaks first.

Everything follows from `rates.json`, measured on one machine (`benchmarks/rates.py`; `how` says it of each kind):
processor seconds of workers and of the process that leads them, bytes on disk, and memory that grows with the work.
Seconds are of a processor and not of a clock. Prices are the user's; those here are assumptions.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec

from veridical.common.files import read_bytes
from veridical.common.result import Caution, Result, Table
from veridical.errors import UserError

HOUR, GIGA = 3600.0, 1e9
_NO_LIMIT = 10**9  # workers of whom nobody has to be led
_FIX = "Write JSON or TOML such as: pictures = 10000000, pairs = 3000000, hours = 24, [machine] cores = 32."


class Rate(msgspec.Struct, frozen=True):
    """What one unit of a kind of work costs."""

    unit: str  # of what
    how: str  # it was measured
    worker_seconds: float  # of a processor, in workers
    leader_seconds: float  # of a processor, in the process that leads them: it is one
    bytes: float  # on disk
    leader_bytes: float  # of memory in the leading process, for every unit
    leader_base: float  # of its memory to begin with
    worker_base: float  # of memory in a worker


class Rates(msgspec.Struct, frozen=True):
    """What was measured, and where."""

    machine: str
    measured: str  # when
    batch_seconds: float  # that the engine adds to a batch
    batch_seconds_ray: float
    work: dict[str, Rate]


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What can be rented."""

    cores: int = 32
    memory_gb: float = 128.0
    disk_gb: float = 1000.0
    network_gbit: float = 10.0
    dollars_per_hour: float = 1.5  # an assumption: put in your own


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be planned: how much of each kind of work, by when, on what."""

    pictures: int = 0  # drawn, with their statements (NLVR)
    matrices: int = 0  # V-PROM's
    images: int = 0  # encoded by efficientnet-lite0
    texts: int = 0  # encoded by minilm
    pairs: int = 0  # read by a cross-encoder of BERT's size
    hours: float = 24.0  # by when it is to be done
    machine: Machine = Machine()

    def work(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in rates().work if getattr(self, name)}


DEFAULT = Asked(pictures=10_000_000, pairs=3_000_000)


@cache
def rates() -> Rates:
    """What was measured here."""
    return msgspec.json.decode(Path(__file__).with_name("rates.json").read_bytes(), type=Rates)


@dataclass(frozen=True)
class Limit:
    """Something that there is only so much of."""

    what: str  # in words, with how much of it is used
    used: float  # the share of it; above 1 it breaks
    fix: str  # what helps then


@dataclass(frozen=True)
class Stage:
    """One kind of work, planned."""

    name: str
    count: int
    core_hours: float
    machines: int  # so that it is done in time
    hours: float  # that it then takes
    dollars: float
    disk_gb: float
    leader_gb: float  # of memory in the leading process
    most_workers: int  # that one leading process keeps busy
    limits: tuple[Limit, ...]  # what breaks, the nearest to it first


@dataclass(frozen=True)
class Planned(Result):
    """Machines, hours and cost."""

    asked: Asked
    stages: tuple[Stage, ...]
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, object]:
        stages: list[object] = [msgspec.to_builtins(stage) for stage in self.stages]
        return {"asked": msgspec.to_builtins(self.asked), "stages": stages, "notes": list(self.notes)}

    def parts(self) -> Iterator[Table | str]:
        rows = [
            (s.name, f"{s.count:,}", f"{s.core_hours:,.1f}", s.machines, _time(s.hours), f"{s.dollars:,.2f}",
             f"{s.disk_gb:,.1f}", f"{s.leader_gb:,.1f}")
            for s in self.stages
        ]  # fmt: skip
        head = ("work", "how much", "core-hours", "machines", "time", "dollars", "disk, GB", "leader's memory, GB")
        yield Table(f"On machines of {self.asked.machine.cores} cores, in {self.asked.hours:g} hours", head, rows)
        nearest = [(s.name, f"{one.used:.0%}", one.what) for s in self.stages for one in s.limits[:2]]
        yield Table("What breaks first", ("work", "used", "of what"), nearest)
        for stage in self.stages:
            for one in stage.limits:
                if one.used > 1:
                    yield Caution(f"{stage.name}: {one.what}, which is too little. {one.fix}")
        yield from self.notes


def _time(hours: float) -> str:
    """
    >>> _time(0.02), _time(0.75), _time(30)
    ('1.2 min', '45 min', '30 h')
    """
    number, unit = (60 * hours, "min") if hours < 1 else (hours, "h")
    return f"{number:,.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"


def plan(config: Path | str | None = None) -> Planned:
    """Plan what a file asks for; ten million pictures and three million pairs without one."""
    asked = DEFAULT if config is None else read_asked(Path(config))
    if not asked.work():
        raise UserError("There is nothing to plan.", _FIX)
    _check(asked)
    stages = tuple(_stage(name, count, asked) for name, count in asked.work().items())
    found = rates()
    notes = (
        f"Rates were measured on {found.machine}, {found.measured} (benchmarks/rates.py). A core of another kind may "
        "be twice as fast or half: measure there, and scale.",
        f"The engine adds {1e6 * found.batch_seconds:,.0f} us to a batch by processes, "
        f"{1e6 * found.batch_seconds_ray:,.0f} us by Ray: let a batch take a second.",
        f"A price of {asked.machine.dollars_per_hour:g} dollars an hour and machine is what was given, or assumed.",
    )
    return Planned(asked, stages, notes)


def _check(asked: Asked) -> None:
    """Refuse what no plan could be made of."""
    has = msgspec.to_builtins(asked.machine)
    free = has.pop("dollars_per_hour")  # some have their machines for nothing
    told = {**asked.work(), "hours": asked.hours, **has}
    for name, value in told.items():
        if not 0 < value < math.inf:
            raise UserError(f"{name} is {value:g}.", f"Give a number above 0. {_FIX}")
    if not 0 <= free < math.inf:
        raise UserError(f"dollars_per_hour is {free:g}.", "Give a number from 0.")


def read_asked(path: Path) -> Asked:
    """What a JSON or TOML file asks for."""
    data = read_bytes(path)
    try:
        if path.suffix == ".toml":
            return msgspec.convert(tomllib.loads(data.decode()), Asked)
        return msgspec.json.decode(data, type=Asked)
    except (
        msgspec.DecodeError,
        msgspec.ValidationError,
        tomllib.TOMLDecodeError,
        UnicodeDecodeError,
        RecursionError,
    ) as e:
        raise UserError(f"{path} is no plan: {e}.", _FIX) from None


def _stage(name: str, count: int, asked: Asked) -> Stage:
    rate, machine = rates().work[name], asked.machine
    worker_hours = count * rate.worker_seconds / HOUR
    leader_hours = count * rate.leader_seconds / HOUR
    spent = worker_hours + leader_hours
    most = math.floor(rate.worker_seconds / rate.leader_seconds) if rate.leader_seconds else _NO_LIMIT
    machines = max(1, math.ceil(spent / asked.hours / machine.cores))
    hours = max(spent / (machines * machine.cores), leader_hours)
    disk, leader = count * rate.bytes / GIGA, (rate.leader_base + count * rate.leader_bytes) / GIGA
    found = [_leading(rate, leader_hours, most, asked), *_holding(rate, disk, leader, hours, machine)]
    limits = tuple(sorted((one for one in found if one.used > 0), key=lambda one: -one.used))
    dollars = machines * hours * machine.dollars_per_hour
    return Stage(name, count, spent, machines, hours, dollars, disk, leader, most, limits)


def _leading(rate: Rate, hours: float, most: int, asked: Asked) -> Limit:
    """However many machines there are, one process leads."""
    used = hours / asked.hours
    what = f"the leading process: {_time(hours)} of {_time(asked.hours)}; it keeps {most:,} workers busy"
    return Limit(what, used, f"Cut the {rate.unit} into {math.ceil(used)} benchmarks with seeds of their own.")


def _holding(rate: Rate, disk: float, leader: float, hours: float, machine: Machine) -> Iterator[Limit]:
    """What the leader's machine has room for, and its network."""
    used = disk / machine.disk_gb
    fix = f"Take a larger one, or cut the {rate.unit} into {math.ceil(used)} benchmarks, each on a disk of its own."
    yield Limit(f"the disk: {disk:,.1f} of {machine.disk_gb:,.0f} GB", used, fix)
    workers = machine.cores * rate.worker_base / GIGA
    memory = workers + leader
    fix = f"Cut the {rate.unit} into several benchmarks with seeds of their own, or take more memory."
    if workers > leader:
        fits = max(1, int((machine.memory_gb - leader) * GIGA / rate.worker_base))
        fix = f"Take more memory, or --processes {fits:,} on a machine."
    what = f"memory where the leader runs, with its {machine.cores:,} workers: {memory:,.1f} of "
    yield Limit(f"{what}{machine.memory_gb:,.0f} GB", memory / machine.memory_gb, fix)
    sent = disk * 8 / (hours * HOUR)  # gigabits a second, all to the leading process
    what = f"the network: {sent:,.2f} of {machine.network_gbit:,.0f} Gbit/s"
    yield Limit(what, sent / machine.network_gbit, "Give it more hours, or a faster network.")
