"""Tables of results once, written three ways: on the page, in Markdown and in LaTeX (booktabs)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from veridical.common.intervals import Estimate
from veridical.pages.markup import Block
from veridical.pages.plots import percent

Role = Literal["ours", "baseline", "published", "plain"]  # whose numbers a row holds; plain: the table has no blocks
_BLOCKS = {"ours": "", "baseline": "Computed on this benchmark", "published": "Published", "plain": ""}


@dataclass(frozen=True)
class Cell:
    """A value and, smaller, what belongs to it (its interval)."""

    text: str = ""
    detail: str = ""
    look: Literal["", "code", "verdict", "told", "words"] = ""  # how the page writes it
    link: str = ""  # the page that a verdict leads to


@dataclass(frozen=True)
class TableRow:
    """One line of a table; `source` says where a published one stands."""

    name: str
    cells: tuple[Cell, ...]
    role: Role = "ours"
    group: str = ""
    source: str = ""
    more: bool = False  # folded away on the page


@dataclass(frozen=True)
class PageTable(Block):
    """A table with one or two lines of heads; rows that are `more` can be unfolded below it."""

    macro = "table"
    title: str
    columns: tuple[str, ...]  # of the cells, without the name's
    rows: tuple[TableRow, ...]
    heads: tuple[tuple[str, int], ...] = ()  # (label, columns it spans), above the columns
    notes: tuple[str, ...] = ()
    corner: str = ""  # the head of the names

    @property
    def shown(self) -> list[TableRow]:
        return [row for row in self.rows if not row.more]

    @property
    def folded(self) -> list[TableRow]:
        return [row for row in self.rows if row.more]

    @property
    def labels(self) -> list[str]:
        """Each column by its whole name: what stands above it, then its own."""
        above = [label for label, span in self.heads for _ in range(span)] or [""] * len(self.columns)
        return [" ".join(filter(None, pair)) for pair in zip(above, self.columns, strict=True)]

    @property
    def ends(self) -> set[int]:
        """The columns after which a span ends."""
        out, at = set(), 0
        for _, span in self.heads:
            at += span
            out.add(at - 1)
        return out - {len(self.columns) - 1}

    @staticmethod
    def titled(rows: Sequence[TableRow]) -> Iterator[tuple[TableRow, str, str]]:
        """Each row with the title of the block and of the group that it begins, where it begins one."""
        block, group = "", ""
        for row in rows:
            title = (row.source and f"Published: {row.source}") or _BLOCKS[row.role]
            new_block = title if title != block else ""
            if new_block:
                group = ""
            new_group = row.group if row.group != group else ""
            block, group = title, row.group
            yield row, new_block, new_group


def facts(
    columns: Sequence[str], rows: Sequence[Sequence[str | Cell]], corner: str = "", title: str = "", note: str = ""
) -> PageTable:
    """A small table: the first value of a row names it."""
    body = (
        TableRow(str(name), tuple(v if isinstance(v, Cell) else Cell(v) for v in values), "plain")
        for name, *values in rows
    )
    return PageTable(title, tuple(columns), tuple(body), (), (note,) if note else (), corner)


def estimate_cell(value: Estimate | float | None, std: float | None = None) -> Cell:
    """A number with its interval or deviation."""
    if value is None:
        return Cell()
    if isinstance(value, Estimate):
        return Cell(percent(value.value), f"[{percent(value.low)}, {percent(value.high)}]")
    return Cell(percent(value) + (f"±{percent(std)}" if std is not None else ""))


def to_markdown(table: PageTable) -> str:
    """The table in Markdown; spans are written before each column's own name."""
    names = table.labels
    out = [f"**{_md(table.title)}**", ""] if table.title else []
    out.append(f"| {_md(table.corner)} | {' | '.join(map(_md, names))} |")
    out.append("|---|" + "---:|" * len(names))
    for row in table.rows:
        mark = " *(published)*" if row.role == "published" else " *(computed)*" if row.role == "baseline" else ""
        cells = (_md(" ".join(filter(None, (cell.text, cell.detail)))) for cell in row.cells)
        group = f"{_md(row.group)}: " if row.group else ""
        out.append(f"| {group}{_md(row.name)}{mark} | {' | '.join(cells)} |")
    sources = dict.fromkeys(row.source for row in table.rows if row.source)
    notes = [*table.notes, *(f"Published: {source}." for source in sources)]
    return "\n".join([*out, "", *(f"{_md(note)}  " for note in notes)]).rstrip() + "\n"


def _md(text: str) -> str:
    text = " ".join(text.split())
    for letter in "\\`*_{}[]<>|#":
        text = text.replace(letter, f"\\{letter}")
    return text


def to_latex(table: PageTable) -> str:
    """The table in LaTeX, for the booktabs package."""
    count = len(table.columns)
    out = [r"\begin{table}", r"\centering", r"\small", rf"\begin{{tabular}}{{l{'r' * count}}}", r"\toprule"]
    if table.heads:
        spans = (rf"\multicolumn{{{span}}}{{c}}{{{_tex(label)}}}" for label, span in table.heads)
        out.append(" & ".join(["", *spans]) + r" \\")
    out.append(" & ".join([_tex(table.corner), *map(_tex, table.columns)]) + r" \\")
    for row, title, group in table.titled(table.rows):
        if title or row is table.rows[0]:
            out.append(r"\midrule")
        if title:
            short = f"Published: {short_source(row.source)}" if row.source else title
            out.append(rf"\multicolumn{{{count + 1}}}{{l}}{{\emph{{{_tex(short)}}}}} \\")
        if group:
            out.append(rf"\multicolumn{{{count + 1}}}{{l}}{{{_tex(group)}}} \\")
        cells = [_tex(c.text) + (rf" {{\scriptsize {_tex(c.detail)}}}" if c.detail else "") for c in row.cells]
        out.append(" & ".join([("\\quad " if row.group else "") + _tex(row.name), *cells]) + r" \\")
    out += [r"\bottomrule", r"\end{tabular}"]
    sources = dict.fromkeys(f"{row.source}." for row in table.rows if row.source)
    caption = " ".join([f"{table.title}.", *table.notes, *sources])
    return "\n".join([*out, rf"\caption{{{_tex(caption)}}}", r"\end{table}"]) + "\n"


def short_source(source: str) -> str:
    """A citation in a few words.

    >>> short_source("Suhr, Lewis, Yeh, Artzi: A Corpus. ACL 2017, Table 3")
    'Suhr et al., ACL 2017, Table 3'
    """
    authors, _, rest = source.partition(":")
    return f"{authors.partition(',')[0]} et al., {rest.rpartition('. ')[2].strip()}"


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "→": r"$\rightarrow$",
    "–": "--",
    "−": "$-$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}


def _tex(text: str) -> str:
    """Text for LaTeX.

    >>> _tex("50% of a_b ± 1")
    '50\\\\% of a\\\\_b $\\\\pm$ 1'
    """
    return "".join(_TEX.get(letter, letter) for letter in " ".join(text.split()))
