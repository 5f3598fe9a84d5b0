"""The table of a board: who is where, rounded, with marks of differences that are real; as JSON and CSV.

Everything that leaves the server is rounded here, and order is by the rounded numbers, the older entry first: an order
by exact ones would tell more than is shown. Parts by tag are rounded to whole points.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from veridical.common.files import as_cell
from veridical.errors import UserError
from veridical.web.board.tables import BASELINE, BLIND, COMPUTED, HUMAN, SCORED, TEAM, Board, Entry, Mark, Team

PART_POINTS = 1.0  # the points that the score of a part is rounded to
LEADS = ("Q->AR", "accuracy")  # what a table is sorted by unless told, the first that it has
LOOKS = {TEAM: "", BASELINE: "baseline", BLIND: "blind", HUMAN: "people", COMPUTED: "computed"}
_COLUMNS = ("rank", "name", "team", "kind", "date", "paper", "code", "real_difference_to_above")


@dataclass(frozen=True)
class Value:
    """A rounded number, as a fraction, with its interval where it has one."""

    value: float
    low: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, float]:
        known = {"value": self.value, "low": self.low, "high": self.high}
        return {name: one for name, one in known.items() if one is not None}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    entry: str | None  # None: computed by us
    name: str
    kind: str
    values: Mapping[str, Value]  # by metric
    team: str = ""
    date: str = ""
    paper: str = ""
    code: str = ""
    note: str = ""
    rank: int | None = None  # among teams
    real: bool | None = None  # the difference to the entry above; None: not known, or nothing above
    by: Mapping[str, Mapping[str, Value]] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "entry": self.entry,
            "name": self.name,
            "team": self.team,
            "kind": self.kind,
            "date": self.date,
            "paper": self.paper,
            "code": self.code,
            "note": self.note,
            "metrics": {name: value.to_json() for name, value in self.values.items()},
            "by": {tag: {name: v.to_json() for name, v in row.items()} for tag, row in (self.by or {}).items()},
            "real_difference_to_above": self.real,
        }


@dataclass(frozen=True)
class Standings:
    """The table of a board, sorted by one metric."""

    board: str
    metrics: tuple[str, ...]
    metric: str
    rows: tuple[Row, ...]
    unmarked: tuple[tuple[str, str], ...]  # neighbours that have not been compared yet

    def to_json(self) -> dict[str, Any]:
        return {
            "board": self.board,
            "metrics": list(self.metrics),
            "sorted_by": self.metric,
            "rows": [row.to_json() for row in self.rows],
        }

    def to_csv(self) -> str:
        """For spreadsheets: no cell is a formula."""
        out = io.StringIO(newline="")
        writer = csv.writer(out)
        ends = ("", "_low", "_high")
        writer.writerow([*_COLUMNS, *(f"{name}{end}" for name in self.metrics for end in ends)])
        for row in self.rows:
            first = (row.rank, row.name, row.team, row.kind, row.date, row.paper, row.code, row.real)
            values = [row.values.get(name) for name in self.metrics]
            numbers = [n for v in values for n in ((v.value, v.low, v.high) if v else (None, None, None))]
            writer.writerow([as_cell("" if cell is None else cell) for cell in (*first, *numbers)])
        return out.getvalue()


class Rounding:
    """Rounds to so many points of a hundred."""

    def __init__(self, points: float) -> None:
        self.points = points

    def __call__(self, number: float, points: float | None = None) -> float:
        step = points or self.points
        return round(round(100 * number / step) * step / 100, 6)

    def value(self, known: Mapping[str, Any], points: float | None = None) -> Value:
        """A rounded number; the ends of its interval are rounded, too."""
        ends = [None if known.get(end) is None else self(known[end], points) for end in ("low", "high")]
        return Value(self(known["value"], points), *ends)

    def values(self, scores: Mapping[str, Any]) -> dict[str, Value]:
        return {name: self.value(known) for name, known in scores["metrics"].items()}

    def parts(self, scores: Mapping[str, Any]) -> dict[str, dict[str, Value]]:
        return {
            tag: {name: self.value(known, max(PART_POINTS, self.points)) for name, known in row.items()}
            for tag, row in scores.get("by", {}).items()
        }


def standings(session: Session, board: Board, rounding: Rounding, metric: str | None = None) -> Standings:
    """The table of a board as everybody sees it."""
    found = select(Entry, Team).outerjoin(Team, Team.id == Entry.team_id)
    shown = (Entry.public, Entry.withdrawn.is_(False), Entry.removed.is_(None), Entry.status == SCORED)
    entries = session.execute(found.where(Entry.board_id == board.id, *shown)).all()
    rows = [_row(entry, team, rounding) for entry, team in entries]
    rows += [_computed(name, known, rounding) for name, known in (board.beside or {}).items()]
    metrics = _metrics(rows)
    lead = metric or next((name for name in LEADS if name in metrics), metrics[0] if metrics else "accuracy")
    if metrics and lead not in metrics:
        raise UserError(f"There is no metric {lead!r}.", f"Sort by {', '.join(metrics)}.")
    ordered = sorted(rows, key=lambda row: (_minus(row.values.get(lead)), row.date, row.name))
    marked, unmarked = _marked(session, ordered, lead)
    return Standings(board.id, metrics, lead, tuple(marked), tuple(unmarked))


def _minus(value: Value | None) -> float:
    return 1.0 if value is None else -value.value


def _row(entry: Entry, team: Team | None, rounding: Rounding) -> Row:
    assert entry.scores is not None
    return Row(
        entry=entry.id,
        name=entry.name,
        kind=entry.kind,
        values=rounding.values(entry.scores),
        team=team.name if team else "",
        date=entry.at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        paper=entry.paper,
        code=entry.code,
        by=rounding.parts(entry.scores),
    )


def _computed(name: str, known: Mapping[str, Any], rounding: Rounding) -> Row:
    kind = HUMAN if name == HUMAN else COMPUTED
    return Row(entry=None, name=name, kind=kind, values=rounding.values(known), note=known["rule"])


def _metrics(rows: Iterable[Row]) -> tuple[str, ...]:
    """The metrics of a table: those of its entries, in their order."""
    entries = [row for row in rows if row.entry is not None] or list(rows)
    return tuple(dict.fromkeys(name for row in entries for name in row.values))


def _marked(session: Session, rows: Sequence[Row], metric: str) -> tuple[list[Row], list[tuple[str, str]]]:
    """Rows with their ranks, and whether each differs from the entry above."""
    entries = [row.entry for row in rows if row.entry is not None]
    pairs = [(below, above) for above, below in pairwise(entries)]
    known = session.scalars(select(Mark).where(Mark.one.in_(entries)))
    found = {(mark.one, mark.other): mark.found for mark in known}
    above = dict(pairs)
    out, rank = [], 0
    for row in rows:
        rank += row.kind == TEAM
        real = None
        if row.entry is not None and row.entry in above:
            mark = found.get((row.entry, above[row.entry])) or found.get((above[row.entry], row.entry))
            real = None if mark is None else mark.get(metric)
        out.append(replace(row, rank=rank if row.kind == TEAM else None, real=real))
    return out, [(one, two) for one, two in pairs if (one, two) not in found and (two, one) not in found]
