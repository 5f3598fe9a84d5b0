"""The papers' tables (`published.json`), with our rows beside the published ones.

The columns are the paper's, as far as we have numbers for them; parts of the benchmark that the paper has no column for
follow after them. Our rows come first with 95% intervals (or mean and deviation over trials), then what was computed on
the same items (majority, chance, people), then the published rows, digit by digit as printed. Where the paper has more
columns, its whole table can be unfolded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from statistics import fmean, pstdev

import msgspec

from veridical.evaluation.shown import interval_rule
from veridical.pages.plots import percent
from veridical.pages.tables import Cell, PageTable, TableRow, estimate_cell
from veridical.reporting.studies import Part, PartResult, Study, part_in_words

STAGED = ("Q->A", "QA->R", "Q->AR")
ALONE = STAGED[0]  # what the accuracy of answers is called beside the paper's, where there are no rationales
CALLED = {"random": "chance"}  # the expectation, exactly: no run of `random` is meant
SHORT = {"accuracy": "acc.", "consistency": "cons.", "share": "%"}


class PublishedColumn(msgspec.Struct, frozen=True):
    """One column of a published table."""

    part: str  # split, scheme, corpus or feature
    label: str
    metric: str  # accuracy, consistency, Q->A, QA->R, Q->AR, share


class PublishedRow(msgspec.Struct, frozen=True):
    """One row, its values exactly as printed ("56.61±0.5", or a dash)."""

    group: str
    name: str
    values: tuple[str, ...]
    more: bool = False  # shown only on demand


class PublishedTable(msgspec.Struct, frozen=True):
    """One table of a paper."""

    id: str
    benchmark: str
    topic: str  # results, phenomena, features
    source: str
    table: str
    note: str
    columns: tuple[PublishedColumn, ...]
    rows: tuple[PublishedRow, ...]


class PublishedNumbers(msgspec.Struct):
    """All of `published.json`."""

    about: str
    part_names: dict[str, tuple[str, ...]]  # as the tables call a split or scheme -> what else it goes by
    tables: tuple[PublishedTable, ...]


@cache
def numbers() -> PublishedNumbers:
    """All that was published."""
    data = files("veridical.reporting").joinpath("published.json").read_bytes()
    return msgspec.json.decode(data, type=PublishedNumbers)


def tables_for(paper: str | None, topic: str) -> tuple[PublishedTable, ...]:
    """The tables about one of the four benchmarks and one topic."""
    return tuple(t for t in numbers().tables if t.benchmark == paper and t.topic == topic)


def part_name(name: str) -> str:
    """A split or scheme by the name the papers' tables have for it.

    >>> part_name("test1"), part_name("Obj_rel_held"), part_name("train")
    ('test-p', 'obj.rel.held', 'train')
    """
    known = "".join(c for c in name.lower() if c.isalnum())
    return next((part for part, names in numbers().part_names.items() if known in names), name)


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


# --- ours beside them ------------------------------------------------------------------------------------------------


def results_tables(study: Study) -> list[PageTable]:
    """The tables of results for a study: the main one, and what else the paper has beside it."""
    out = _results(study, tables_for(study.paper, "results"))
    for table in tables_for(study.paper, "features"):
        where, title = f"{table.source}, {table.table}", f"{table.table} of the paper, percent"
        rows = (TableRow(r.name, tuple(map(Cell, r.values)), "published", r.group, where, r.more) for r in table.rows)
        notes = (table.note,) if table.note else ()
        out.append(PageTable(title, tuple(c.label for c in table.columns), tuple(rows), (), notes))
    return out


def _results(study: Study, printed: Sequence[PublishedTable]) -> list[PageTable]:
    by_scheme = study.paper == "vprom"
    every = _columns(study, printed, by_scheme)
    homes = {_part_label(part, by_scheme): part for part in study.parts}
    columns = [c for c in every if c.part in homes] or every
    rows = [
        TableRow(system.name, tuple(_ours(system.results, homes.get(c.part), c.metric) for c in columns))
        for system in study.systems
    ]
    rows += _baselines(study, columns, homes)
    elsewhere = [table for table in printed if _of_another_part(table, columns, printed)]
    said = [row for row in _published_rows(printed, columns) if any(c.text not in ("", "–") for c in row.cells)]
    said += [row for table in elsewhere for row in _rows_of_another_part(table, columns)]
    heads, names = _heads(columns)
    title = f"{study.benchmark.name}: results, percent"
    out = [PageTable(title, names, (*rows, *said), heads, (*_notes(study, printed), *map(_whose, elsewhere)))]
    if len(columns) < len([c for c in every if any(c in table.columns for table in printed)]):
        folded = tuple(replace(row, more=True) for row in _published_rows(printed, every))
        heads, names = _heads(every)
        out.append(PageTable("The whole published tables, percent", names, folded, heads))
    return out


def _published_rows(printed: Sequence[PublishedTable], columns: Sequence[PublishedColumn]) -> list[TableRow]:
    """The rows of published tables, under some columns."""
    out = []
    for table in printed:
        where = f"{table.source}, {table.table}"
        for row in table.rows:
            values = {(c.part, c.metric): v for c, v in zip(table.columns, row.values, strict=True)}
            cells = tuple(Cell(values.get((c.part, c.metric), "")) for c in columns)
            out.append(TableRow(row.name, cells, "published", row.group, where, row.more))
    return out


def _of_another_part(
    table: PublishedTable, columns: Sequence[PublishedColumn], printed: Sequence[PublishedTable]
) -> bool:
    """Whether a table is about one part alone, where ours are of another one that the paper has numbers for, too."""
    parts, published = {c.part for c in table.columns}, {c.part for one in printed for c in one.columns}
    ours = {c.part for c in columns}
    return len(parts) == 1 and not parts & ours and bool(ours & published)


def _rows_of_another_part(table: PublishedTable, columns: Sequence[PublishedColumn]) -> list[TableRow]:
    """Its rows, all of them, under our columns of the same measures; their source says of which part they are."""
    places = {column.metric: k for k, column in reversed([*enumerate(columns)])}  # the first of each
    where = f"{table.source}, {table.table}, of {table.columns[0].label} (ours are not)"
    out = []
    for row in table.rows:
        cells = [Cell()] * len(columns)
        for column, value in zip(table.columns, row.values, strict=True):
            if column.metric in places:
                cells[places[column.metric]] = Cell(value)
        out.append(TableRow(row.name, tuple(cells), "published", row.group, where))
    return out


def _whose(table: PublishedTable) -> str:
    label = table.columns[0].label
    return f"{table.table} was published for {label} alone: compare differences between its rows, not digits with ours."


def _columns(study: Study, printed: Sequence[PublishedTable], by_scheme: bool) -> list[PublishedColumn]:
    """The published columns (of the widest table), then those only we have."""
    columns: list[PublishedColumn] = []
    for table in sorted(printed, key=lambda t: -len(t.columns)):
        columns += [c for c in table.columns if (c.part, c.metric) not in {(k.part, k.metric) for k in columns}]
    have = {c.part for c in columns}
    staged = any(r.first.staged for s in study.systems for r in s.results.values())
    grouped = any(r.first.groups < r.first.examples for s in study.systems for r in s.results.values())
    metrics = STAGED if staged else ("accuracy", "consistency") if grouped else ("accuracy",)
    for part in study.parts:
        label = _part_label(part, by_scheme)
        if label not in have:
            columns += [PublishedColumn(label, label, metric) for metric in metrics]
    if staged:  # stage by stage, as the paper has it
        columns.sort(key=lambda c: STAGED.index(c.metric) if c.metric in STAGED else len(STAGED))
    return columns


def _part_label(part: Part, by_scheme: bool) -> str:
    scheme, split = part
    if by_scheme:
        return part_name(scheme) if split == "test" else f"{part_name(scheme)} {split}"
    return part_name(split) if scheme == "main" else f"{scheme} {part_name(split)}"


def _heads(columns: Sequence[PublishedColumn]) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """Two lines of heads: splits over measures, or for staged accuracy measures over splits."""
    if all(c.metric == "accuracy" for c in columns):
        return (), tuple(c.label for c in columns)
    staged = any(c.metric in STAGED for c in columns)
    above = [c.metric.replace("->", "→") if staged else c.label for c in columns]
    below = [c.label if staged else SHORT.get(c.metric, c.metric) for c in columns]
    return tuple((label, len(list(same))) for label, same in groupby(above)), tuple(below)


def _ours(results: dict[Part, PartResult], part: Part | None, metric: str) -> Cell:
    if part is None or part not in results:
        return Cell()
    alone = ALONE if _answers_alone(results[part]) else "accuracy"
    found = [{alone: s.accuracy, "accuracy": s.accuracy, "consistency": s.consistency} | s.staged
             for s in results[part].scores]  # fmt: skip
    values = [measures[metric] for measures in found if metric in measures]
    if len(values) != len(found):
        return Cell()
    if len(values) == 1:
        return estimate_cell(values[0])
    numbers = [e.value for e in values]
    return Cell(f"{percent(fmean(numbers))}±{percent(pstdev(numbers))}", f"{len(numbers)} trials")


def _answers_alone(result: PartResult) -> bool:
    """Whether there are answers without rationales, as in GD-VCR: their accuracy is the first of the stages."""
    return not result.first.staged and not (result.grades.key.parent >= 0).any()


def _baselines(study: Study, columns: Sequence[PublishedColumn], homes: dict[str, Part]) -> list[TableRow]:
    """Majority, chance and people on the same items, from the first system of each part."""
    rows: dict[str, dict[tuple[str, str], Cell]] = {}
    for label, part in homes.items():
        first = study.on(part)[0].results[part].first
        for baseline in first.baselines:
            cells = rows.setdefault(baseline.name, {})
            cells[label, "accuracy"] = estimate_cell(baseline.accuracy, baseline.std)
            if _answers_alone(study.on(part)[0].results[part]):
                cells[label, ALONE] = cells[label, "accuracy"]
            cells[label, "consistency"] = estimate_cell(baseline.consistency)
            for stage, value in baseline.staged.items():
                cells[label, stage] = estimate_cell(value)
    if rows.get("majority of train") == rows.get("majority"):
        rows.pop("majority of train", None)
    return [
        TableRow(CALLED.get(name, name), tuple(cells.get((c.part, c.metric), Cell()) for c in columns), "baseline")
        for name, cells in rows.items()
    ]


def _notes(study: Study, printed: Sequence[PublishedTable]) -> tuple[str, ...]:
    some = next((r.first for s in study.systems for r in s.results.values()), None)
    notes = []
    if some is not None:
        notes.append(interval_rule(some.resamples, some.seed))
    if printed and not study.benchmark.manifest.get("official"):
        notes.append(
            "Published rows are about the papers' own data. This benchmark was built anew: compare orders of systems, "
            "not digits."
        )
    elif printed:
        notes.append("Published rows are as printed in the papers; ± is the deviation over runs that they give.")
    for system in study.draws:
        values = ", ".join(f"{percent(r.main.value)} on {part_in_words(p)}" for p, r in system.results.items())
        notes.append(f"A run of {system.quoted} was given ({values}): a draw of what the row “chance” says exactly.")
    notes += dict.fromkeys(f"{table.table}: {table.note}" for table in printed if table.note)
    return tuple(notes)
