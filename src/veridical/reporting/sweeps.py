"""Folders of `veridical sweep` in a report: V-PROM's tables 2 and 4, the two controls, and figure 7.

Table 5 is the table of results that every study has. Of table 4 only the overall column was published legibly, and it
is the neutral column of table 5; so the accuracies per type are ours alone.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from veridical.common.files import read_json
from veridical.common.intervals import Estimate
from veridical.errors import UserError
from veridical.experiments.sweep import SWEEP, TYPES
from veridical.pages.blocks import Section, figure
from veridical.pages.markup import Markup
from veridical.pages.plots import Series, colour, legend, lines, percent
from veridical.reporting.layouts import estimate_cell
from veridical.reporting.published import part_name, tables_for
from veridical.reporting.tables import Cell, Table, TableRow, to_html

CHANCE = 1 / 8


class SweptRun(msgspec.Struct, frozen=True):
    """One run of a sweep and its scores on the test split."""

    model: str
    scheme: str
    features: str
    auxiliary: bool
    fraction: float
    context: str
    folder: str
    title: str
    accuracy: Estimate
    by: dict[str, dict[str, Estimate]]
    controls: dict[str, Estimate]
    training_items: int

    @property
    def whole(self) -> bool:
        """Whether it is one of the paper's systems: all training data, its own contexts."""
        return self.fraction == 1 and self.context == "own"

    @property
    def system(self) -> str:
        """The model, as tables call it."""
        return self.title.partition(",")[0]


class FailedRun(msgspec.Struct, frozen=True):
    """One run of a sweep that has no scores, and why."""

    title: str
    scheme: str
    fraction: float
    context: str
    problem: str

    @property
    def whole(self) -> bool:
        return self.fraction == 1 and self.context == "own"


class _Home(msgspec.Struct, frozen=True):
    name: str
    hash: str
    folder: str


class Sweep(msgspec.Struct, frozen=True):
    """What a sweep's folder says."""

    benchmark: _Home
    points: tuple[SweptRun, ...]
    failed: tuple[FailedRun, ...] = ()
    path: Path = Path()

    @property
    def first_scheme(self) -> str:
        return self.points[0].scheme


def read_sweep(folder: Path) -> Sweep:
    """The scores of a sweep."""
    path = folder / SWEEP
    found = read_json(path, Sweep, "what `veridical sweep` writes", "Run the sweep again.")
    if not found.points:
        raise UserError(f"{path} has no runs.", "Run the sweep again, with at least one model.")
    return msgspec.structs.replace(found, path=folder)


def sweep_tables(sweep: Sweep) -> list[Table]:
    """By features, by type, the controls, and what failed."""
    return [_by_features(sweep), _by_type(sweep), _controls(sweep), *([_failed(sweep)] if sweep.failed else [])]


def sweep_section(sweep: Sweep) -> Section:
    """Everything that a study does not show by itself."""
    parts: list[Markup] = [to_html(table) for table in sweep_tables(sweep)]
    efficiency = sample_efficiency(sweep)
    return Section("Sweep", (*parts, efficiency) if efficiency else tuple(parts))


def _by_features(sweep: Sweep) -> Table:
    """Table 2: one scheme, a column for each kind of features with and without the auxiliary loss."""
    scheme = sweep.first_scheme
    found = [(_parts(p.title), estimate_cell(p.accuracy)) for p in sweep.points if p.whole and p.scheme == scheme]
    found += [(_parts(p.title), Cell("failed")) for p in sweep.failed if p.whole and p.scheme == scheme]
    own = dict(found)
    kinds = list(dict.fromkeys(kind for _, kind in own))
    printed = _published(scheme)
    theirs = list(dict.fromkeys(kind for by in printed.values() for kind in by))
    rows = []
    for system in dict.fromkeys(system for system, _ in own):
        cells = [own.get((system, kind), Cell()) for kind in kinds]
        rows.append(TableRow(system, (*cells, *(Cell(printed.get(system, {}).get(k, "")) for k in theirs))))
    heads = ((f"{scheme}, here", len(kinds)), *([("published, Table 5", len(theirs))] if theirs else []))
    return Table(f"{sweep.benchmark.name}: by features, percent", (*kinds, *theirs), tuple(rows), heads)


def _parts(title: str) -> tuple[str, str]:
    """The system and the kind of features that a whole run's title is made of."""
    system, _, kind = title.partition(", ")
    return system, kind


def _published(scheme: str) -> dict[str, dict[str, str]]:
    """Table 5's column of a scheme: system -> features -> what is printed."""
    out: dict[str, dict[str, str]] = {}
    for table in tables_for("vprom", "results"):
        places = [k for k, column in enumerate(table.columns) if column.part == part_name(scheme)]
        for row in table.rows:
            system, comma, kind = row.name.partition(", ")
            if comma and places:
                out.setdefault(system, {})[kind] = row.values[places[0]]
    return out


def _by_type(sweep: Sweep) -> Table:
    """Table 4 (figure 5): one scheme, accuracy per relation and element type."""
    scheme = sweep.first_scheme
    runs = [run for run in sweep.points if run.whole and run.scheme == scheme]
    types = [(tag, sorted({name for run in runs for name in run.by.get(tag, {})})) for tag in TYPES]
    rows = []
    for run in runs:
        cells = [run.by.get(tag, {}).get(name) for tag, names in types for name in names]
        rows.append(TableRow(run.title, (estimate_cell(run.accuracy), *(estimate_cell(c) for c in cells))))
    columns = ("overall", *(name for _, names in types for name in names))
    heads = (("", 1), *((tag, len(names)) for tag, names in types if names))
    note = "The published columns per type are not legible in our copy of the paper, so there are none beside ours."
    return Table(f"{sweep.benchmark.name}: {scheme} by type, percent", columns, tuple(rows), heads, (note,))


def _controls(sweep: Sweep) -> Table:
    """Accuracy with the item's own context, with that of another item, and with its own in random order."""
    rows = []
    for run in sweep.points:
        if run.controls or run.context != "own":
            own = Cell() if run.context != "own" else estimate_cell(run.accuracy)
            other = run.accuracy if run.context == "other" else run.controls.get("other")
            shuffled = run.controls.get("shuffled")
            found = (estimate_cell(one) for one in (other, shuffled))
            rows.append(TableRow(f"{run.title}, {run.scheme}", (own, *found)))
    columns = ("own context", "context of another item", "context shuffled")
    notes = (
        f"Chance is {percent(CHANCE)}. With the context of another item nothing can be known; a model that does better "
        "reads the answer off the candidates. A model without panel ids cannot notice shuffling.",
    )
    return Table(f"{sweep.benchmark.name}: controls, percent", columns, tuple(rows), (), notes)


def _failed(sweep: Sweep) -> Table:
    """Runs without scores: they are nowhere else."""
    rows = tuple(TableRow(f"{run.title}, {run.scheme}", (Cell(run.problem),)) for run in sweep.failed)
    return Table(f"{sweep.benchmark.name}: runs that failed", ("why",), rows)


def sample_efficiency(sweep: Sweep) -> Markup | None:
    """Figure 7: accuracy on the test split by how much of the training data was used."""
    first = sweep.points[0]
    same = [p for p in sweep.points if (p.scheme, p.features) == (first.scheme, first.features)]
    same = [p for p in same if p.context == "own" and not p.auxiliary]
    series: list[Series] = []
    for system in dict.fromkeys(p.system for p in same):
        own = sorted((p.fraction, p.accuracy.value) for p in same if p.system == system)
        if len(own) > 1:
            series.append(Series(system, tuple((100 * x, y) for x, y in own), colour(len(series))))
    if not series:
        return None
    plot = lines("Accuracy by share of the training data", series, "training data, %", "test accuracy, %")
    caption = f"Accuracy on the test split of {first.scheme} by how much of its training data was used (figure 7)."
    return figure(plot, caption, legend([(s.name, s.colour) for s in series]))
