"""What models of the zoo came to: figures of the papers, and ours (`figures.json`, beside this file).

`published` are copied from the papers, digit by digit. `measured` are written by `record`, of a script of `benchmarks/`
or, where a row's files are lost, of the line that it printed: no figure is there that was not measured.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from veridical.common.files import write_whole

PATH = Path(__file__).with_name("figures.json")


class Published(msgspec.Struct, frozen=True):
    """A figure of a paper."""

    model: str
    benchmark: str  # what it was measured on: "NLVR dev"
    accuracy: str  # as printed
    source: str  # who measured it


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """A figure of ours."""

    model: str
    benchmark: str
    accuracy: float  # a fraction; the mean over trials
    low: float  # 95% interval, of the first trial
    high: float
    minutes: float  # from the first item read to the last one solved, on the machine it was measured on
    script: str  # what measured it
    when: str  # UTC
    row: str = ""  # what sets it apart from the model as it is: "pretrained"
    consistency: float | None = None
    trials: int = 1


class Figures(msgspec.Struct):
    """All of `figures.json`."""

    published: list[Published]
    measured: list[Measured]


def read(path: Path = PATH) -> Figures:
    """All figures."""
    return msgspec.json.decode(path.read_bytes(), type=Figures)


@cache
def figures() -> Figures:
    """All figures, read once."""
    return read()


def record(found: Measured, path: Path = PATH) -> None:
    """Keep a figure, in place of an older one of the same row."""
    known = read(path)
    same = (found.model, found.benchmark, found.row)
    rest = [one for one in known.measured if (one.model, one.benchmark, one.row) != same]
    known.measured = sorted([*rest, found], key=lambda one: (one.model, one.benchmark, one.row))
    write_whole(path, msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")
