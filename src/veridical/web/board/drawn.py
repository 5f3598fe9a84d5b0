"""Plots and tables of a board beside its table: entries by part, and the best over time."""

from __future__ import annotations

from datetime import datetime

from markupsafe import Markup

from veridical.pages.plots import Series, colour, lines
from veridical.pages.tables import Cell, PageTable, TableRow
from veridical.web.board.standings import Standings, Value
from veridical.web.board.tables import TEAM

MOST_ENTRIES = 8  # that are set side by side
DAY = 86_400


def breakdown(table: Standings) -> list[tuple[str, PageTable]]:
    """For each tag a table: its values by the best entries. Accuracy, in whole points."""
    best = [row for row in table.rows if row.by][:MOST_ENTRIES]
    out = []
    for tag in dict.fromkeys(tag for row in best for tag in row.by or {}):
        values = dict.fromkeys(value for row in best for value in (row.by or {}).get(tag, {}))
        rows = [
            TableRow(value, tuple(_cell((row.by or {}).get(tag, {}).get(value)) for row in best), "plain")
            for value in values
        ]
        out.append((tag, PageTable("", tuple(row.name for row in best), tuple(rows), corner=tag)))
    return out


def _cell(value: Value | None) -> Cell:
    if value is None:
        return Cell()
    ends = "" if value.low is None or value.high is None else f"[{100 * value.low:.0f}, {100 * value.high:.0f}]"
    return Cell(f"{100 * value.value:.0f}", ends)


def over_time(table: Standings) -> Markup | None:
    """The entries of teams by the day they came, and the best so far; None where there is nothing to see."""
    came = sorted(
        (datetime.fromisoformat(row.date), row.values[table.metric].value, row.name)
        for row in table.rows
        if row.kind == TEAM and table.metric in row.values
    )
    if len(came) < 2:
        return None
    first = came[0][0]
    points = [(round((moment - first).total_seconds() / DAY, 2), value) for moment, value, _ in came]
    best = 0.0
    climb: list[tuple[float, float]] = []
    for day, value in points:
        if value > best:
            climb += [(day, best)] if climb else []
            best = value
            climb.append((day, best))
    climb.append((points[-1][0], best))
    series = [Series("best so far", tuple(climb), colour(0))]
    series += [Series(name, (point,), colour(1)) for point, (*_, name) in zip(points, came, strict=True)]
    since = f"days since {first:%Y-%m-%d}"
    return lines(f"{table.metric} over time", series, since, f"{table.metric}, %")
