"""The numbers printed in the papers (`published.json`), and which of them belongs beside a benchmark of ours."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from veridical.benchmark import Benchmark

KINDS = ("nlvr2", "nlvr", "vprom", "vcr")  # the longer of two that begin alike comes first
# Names that splits and schemes go by, as the papers' tables call them.
ALIASES = {
    "dev": "dev",
    "development": "dev",
    "val": "val",
    "validation": "val",
    "testp": "test-p",
    "test1": "test-p",
    "testpublic": "test-p",
    "testu": "test-u",
    "test2": "test-u",
    "testhidden": "test-u",
    "heldoutattributes": "att.held",
    "attributes": "att.held",
    "attheld": "att.held",
    "attributesheld": "att.held",
    "heldoutobjects": "obj.held",
    "objects": "obj.held",
    "objheld": "obj.held",
    "objectsheld": "obj.held",
    "attrelheld": "att.rel.held",
    "heldoutrelationattribute": "att.rel.held",
    "relationattribute": "att.rel.held",
    "attributerelations": "att.rel.held",
    "objrelheld": "obj.rel.held",
    "heldoutrelationobject": "obj.rel.held",
    "relationobject": "obj.rel.held",
    "objectrelations": "obj.rel.held",
}


class Column(msgspec.Struct, frozen=True):
    """One column of a published table."""

    part: str  # split, scheme, corpus or feature
    label: str
    metric: str  # accuracy, consistency, Q->A, QA->R, Q->AR, share


class Row(msgspec.Struct, frozen=True):
    """One row, its values exactly as printed ("56.61±0.5", or a dash)."""

    group: str
    name: str
    values: tuple[str, ...]
    more: bool = False  # shown only on demand


class PublishedTable(msgspec.Struct, frozen=True):
    """One table of a paper."""

    id: str
    benchmark: str
    kind: str  # results, phenomena, features
    source: str
    table: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


class _File(msgspec.Struct):
    about: str
    tables: tuple[PublishedTable, ...]


@cache
def published() -> tuple[PublishedTable, ...]:
    """All tables."""
    data = files("veridical.reporting").joinpath("published.json").read_bytes()
    return msgspec.json.decode(data, type=_File).tables


def tables_for(benchmark: str | None, kind: str) -> tuple[PublishedTable, ...]:
    """The tables of one kind about one of the four benchmarks."""
    return tuple(t for t in published() if t.benchmark == benchmark and t.kind == kind)


def benchmark_kind(benchmark: Benchmark) -> str | None:
    """Which of the four a benchmark is, by how it was made, by its name, or by its task; None where it is none.

    A choice among texts is visual commonsense reasoning (VCR) only if its name says so.
    """
    config = benchmark.manifest.get("config") or {}
    for said in (config.get("format"), config.get("builder"), config.get("kind"), benchmark.name):
        plain_name = "".join(c for c in str(said or "").lower() if c.isalnum())
        for kind in KINDS:
            if kind in plain_name:
                return kind
    return "vprom" if benchmark.task == "matrix" else None


def part_name(name: str) -> str:
    """A split or scheme by the name the papers' tables have for it.

    >>> part_name("test1"), part_name("Obj_rel_held"), part_name("train")
    ('test-p', 'obj.rel.held', 'train')
    """
    known = "".join(c for c in name.lower() if c.isalnum())
    return ALIASES.get(known, name)


def number(printed: str) -> float | None:
    """The value of a printed cell as a fraction, without its deviation.

    >>> number("56.61±0.5"), number("–")
    (0.5661, None)
    """
    value = printed.partition("±")[0]
    try:
        return round(float(value) / 100, 6)
    except ValueError:
        return None
