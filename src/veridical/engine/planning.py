"""`veridical plan`: machines, hours and cost of work that outgrows one machine, and what of it breaks first.

Everything follows from `rates.json`, measured on one machine (`benchmarks/rates.py`; `how` says it of each kind):
processor seconds of workers and of the process that leads them, bytes on disk, and memory that grows with the work.
Seconds are of a processor and not of a clock, so that a busy machine measures the same. Prices are the user's; those
here are assumptions.
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
from veridical.common.result import Result, Table
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
    limits: tuple[str, ...]  # what breaks, the first first
    most_workers: int  # that one leading process keeps busy


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
            (s.name, f"{s.count:,}", f"{s.core_hours:,.1f}", s.machines, f"{s.hours:,.1f}", f"{s.dollars:,.2f}",
             f"{s.disk_gb:,.1f}", f"{s.leader_gb:,.1f}")
            for s in self.stages
        ]  # fmt: skip
        head = ("work", "how much", "core-hours", "machines", "hours", "dollars", "disk, GB", "leader's memory, GB")
        yield Table(f"On machines of {self.asked.machine.cores} cores, in {self.asked.hours:g} hours", head, rows)
        for stage in self.stages:
            yield f"{stage.name}: " + " ".join(stage.limits)
        yield from self.notes


def plan(config: Path | str | None = None) -> Planned:
    """Plan what a file asks for; ten million pictures and three million pairs without one."""
    asked = DEFAULT if config is None else read_asked(Path(config))
    if not asked.work():
        raise UserError("There is nothing to plan.", _FIX)
    if asked.hours <= 0 or min(msgspec.to_builtins(asked.machine).values()) < 0 or asked.machine.cores < 1:
        raise UserError("A machine has at least one core, and work takes time.", _FIX)
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
    most = math.floor(rate.worker_seconds / rate.leader_seconds) if rate.leader_seconds else _NO_LIMIT
    each = machine.cores
    machines = max(1, math.ceil((worker_hours + leader_hours) / asked.hours / each))
    hours = max((worker_hours + leader_hours) / (machines * each), leader_hours)
    disk, leader = count * rate.bytes / GIGA, (rate.leader_base + count * rate.leader_bytes) / GIGA
    limits = _limits(rate, count, machines, hours, disk, leader, most, machine)
    return Stage(
        name, count, worker_hours + leader_hours, machines, hours, machines * hours * machine.dollars_per_hour, disk,
        leader, tuple(limits), most,
    )  # fmt: skip


def _limits(
    rate: Rate, count: int, machines: int, hours: float, disk: float, leader: float, most: int, machine: Machine
) -> list[str]:
    """What breaks, the nearest to its limit first, each with the share of it that is used."""
    workers = machines * machine.cores
    sent = disk * 8 / (hours * HOUR)  # gigabits a second, all to the leading process
    led = workers / most if most < _NO_LIMIT else 0.0
    memory = machine.cores * rate.worker_base / GIGA + leader
    found = [
        (led, f"the leading process, which keeps {most:,} workers busy, and there are {workers:,}"),
        (disk / machine.disk_gb, f"the disk: {disk:,.1f} of {machine.disk_gb:,.0f} GB"),
        (memory / machine.memory_gb, f"memory where the leader runs: {memory:,.1f} of {machine.memory_gb:,.0f} GB"),
        (sent / machine.network_gbit, f"the network: {sent:,.2f} of {machine.network_gbit:,.0f} Gbit/s"),
    ]
    found = [one for one in found if one[0] > 0]
    found.sort(key=lambda one: -one[0])
    share, words = found[0]
    verb = "breaks" if share > 1 else "would break"
    first = f"first {verb} {words} ({share:.0%} used)"
    if share > 1:
        first += f"; cut the {rate.unit} into {math.ceil(share)} benchmarks with seeds of their own"
    return [f"{first}.", *(f"Then {words} ({share:.0%})." for share, words in found[1:2])]
