"""The first screen of a report: a line for every benchmark, with its audit's verdict, the best, the blind and people.

Blind is the best of those that lack something on purpose, or, where none was run, the best blind reader of the audit.
People are those who judged this benchmark, or, where nobody did and it is the paper's own, the paper's, marked as
published.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from veridical.pages.plots import percent
from veridical.pages.tables import Cell, PageTable, TableRow
from veridical.reporting.inputs import AuditRecord
from veridical.reporting.published import numbers, part_name
from veridical.reporting.studies import Part, PartResult, Study, part_in_words

COLUMNS = ("items", "audit", "best", "blind", "people", "chance")
_READERS = ("text-only", "joint", "image-only", "response-only", "question-only", "swapped-context")
_NONE = Cell("–")
MOST_NAMED = 4  # checks of one verdict; the audit's own table has all


def overview(studies: Sequence[Study], audits: Sequence[AuditRecord], folder: Path) -> list[PageTable]:
    """The table of a report in a folder; nothing where there is neither a benchmark nor an audit."""
    rows, told = [], set()
    for study in studies:
        audit = next((a for a in audits if a.hash and a.hash == study.benchmark.hash), None)
        audit = audit or next((a for a in audits if study.benchmark.name in (a.benchmark, a.name)), None)
        told |= {id(audit)}
        rows.append(_row(study, audit, folder))
    alone = [audit for audit in audits if id(audit) not in told]
    rows += [TableRow(a.name, (_NONE, _verdict(a, folder), *[_NONE] * (len(COLUMNS) - 2)), "plain") for a in alone]
    notes = (
        "Percent right. Blind: without the picture, the sentence or the item's own context. The audit says whether the "
        "benchmark can be passed that way, or leaks; its verdict is that of its worst check. "
        "People: on these items, or as published on the paper's own; – where neither is known.",
    )
    return [PageTable("", COLUMNS, tuple(rows), (), notes, "benchmark")] if rows else []


def _row(study: Study, audit: AuditRecord | None, folder: Path) -> TableRow:
    part = study.focus or next(iter(study.parts), None)
    verdict = _verdict(audit, folder) if audit is not None else Cell("not audited")
    if part is None:
        return TableRow(study.benchmark.name, (_NONE, verdict, *[_NONE] * 4), "plain")
    looking = study.ranked(part, "looks")
    blind = study.ranked(part, "blind", "guess")
    first = study.on(part)[0].results[part]
    cells = (
        Cell(*_size(first, part)),
        verdict,
        _best(looking[0].name, looking[0].results[part]) if looking else _NONE,
        _system(blind[0].name, blind[0].results[part]) if blind else _read(audit),
        _people(study, part, first),
        _baseline(first, "random"),
    )
    return TableRow(study.benchmark.name, cells, "plain")


def _size(result: PartResult, part: Part) -> tuple[str, str]:
    """How many items, or questions where an answer and its reason are asked for together."""
    scores = result.first
    if scores.staged:
        return f"{scores.groups:,}", f"questions of {part_in_words(part)}"
    return f"{scores.items:,}", part_in_words(part)


def _verdict(audit: AuditRecord, folder: Path) -> Cell:
    """The worst verdict, how many checks pass and which do not; a link to its page, if that lies in the folder."""
    told = [c for c in audit.checks if c.verdict != "not applicable"]
    said = [f"{sum(c.verdict == 'pass' for c in told)} of {len(told)} checks pass"] if told else []
    for verdict in ("fail", "warn", "cannot tell"):
        weak = [c.title or c.check for c in told if c.verdict == verdict and (c.title or c.check)]
        more = [f"{len(weak) - MOST_NAMED} more"] if len(weak) > MOST_NAMED else []
        said += [f"{verdict}: {', '.join([*weak[:MOST_NAMED], *more])}"] if weak else []
    page = audit.path.with_suffix(".html")
    beside = page.is_file() and page.resolve().parent == folder
    return Cell(audit.verdict, "; ".join(said), "verdict", quote(page.name) if beside else "")


def _system(name: str, result: PartResult) -> Cell:
    return Cell(percent(result.main.value), name)


def _best(name: str, result: PartResult) -> Cell:
    """The best of those that look; it is said where that is no better than chance."""
    return Cell(percent(result.main.value), name if result.above_chance else f"{name}: not above chance")


def _read(audit: AuditRecord | None) -> Cell:
    """The audit's best reader."""
    checks = audit.checks if audit is not None else ()
    found = [(c.number, c.title) for c in checks if c.check in _READERS and c.number is not None]
    number, title = max(found, default=(None, ""))
    return _NONE if number is None else Cell(percent(number), f"audit: {title}")


def _baseline(result: PartResult, name: str) -> Cell:
    value = result.beside(name)
    return _NONE if value is None else Cell(percent(value))


def _people(study: Study, part: Part, result: PartResult) -> Cell:
    """People on these items; of a published benchmark those of its paper, on the same split or another one."""
    own = _baseline(result, "human")
    if own != _NONE or not study.benchmark.manifest["official"]:
        return own
    metric = "Q->AR" if result.first.staged else "accuracy"
    found: list[tuple[bool, str, str]] = []
    for table in numbers().tables:
        if table.benchmark == study.paper and table.topic == "results":
            for row in (r for r in table.rows if r.name.lower().startswith("human")):
                for column, printed in zip(table.columns, row.values, strict=True):
                    if column.metric == metric and printed != "–":
                        found.append((column.part in map(part_name, part), printed.partition("±")[0], column.label))
    if not found:
        return _NONE
    _, printed, label = max(found, key=lambda one: one[0])
    return Cell(printed, f"published, {label}")
