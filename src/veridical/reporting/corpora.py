"""What sentences show, here and in other corpora as the papers counted it: NLVR's Table 2, NLVR2's Table 5, and the
sorts of reasoning about pairs of NLVR2's first draft (Table 9)."""

from __future__ import annotations

from collections.abc import Mapping

from veridical.pages.markup import Block
from veridical.pages.plots import percent
from veridical.pages.tables import facts
from veridical.reporting.analysis import value_shares
from veridical.reporting.published import tables_for
from veridical.reporting.studies import Part, Study
from veridical.reporting.tagged import pair_reasonings


def phenomena_table(study: Study, part: Part, shares: Mapping[str, float], total: int) -> list[Block]:
    """Shares of phenomena here, and in each corpus that the paper has a column for."""
    return _beside(study, part, "phenomena", "Phenomena, here and in other corpora", "phenomenon", shares, total)


def pairs_table(study: Study, part: Part) -> list[Block]:
    """Shares of sentences that call for each sort of reasoning over two images; nothing for other benchmarks."""
    if not tables_for(study.paper, "pairs"):
        return []
    found = pair_reasonings(study.benchmark.directory, study.benchmark.hash, part)
    if found is None:
        return []
    shares, total = value_shares(study.on(part)[0].results[part].grades.key.group.tolist(), found)
    return _beside(study, part, "pairs", "Reasoning about the two images", "reasoning", shares, total)


def _beside(
    study: Study, part: Part, topic: str, title: str, corner: str, shares: Mapping[str, float], total: int
) -> list[Block]:
    tables = tables_for(study.paper, topic)
    if not tables:
        return []
    printed: dict[str, dict[str, str]] = {}  # column -> row -> as printed
    for table in tables:
        for place, column in enumerate(table.columns):
            if column.metric == "share":
                name = f"{column.label}, {table.table} (published)"
                printed[name] = {row.name: row.values[place] for row in table.rows}
    names = [row.name for table in tables for row in table.rows]
    names += sorted(name for name in shares if name not in names)
    rows = [[name, percent(shares.get(name, 0.0)), *(by.get(name, "") for by in printed.values())] for name in names]
    here = f"{study.benchmark.name} {part[1]}, here"
    note = f"Percent of sentences; here of {total:,}. " + " ".join(f"{t.table}: {t.source}. {t.note}" for t in tables)
    return [facts([here, *printed], rows, corner, title, note)]
