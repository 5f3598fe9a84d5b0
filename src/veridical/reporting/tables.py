"""Tables of results once, written three ways: HTML, Markdown and LaTeX (booktabs)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from veridical.pages.markup import Markup, element

Kind = Literal["ours", "baseline", "published"]


@dataclass(frozen=True)
class Cell:
    """A value and, smaller, what belongs to it (its interval)."""

    text: str = ""
    detail: str = ""


@dataclass(frozen=True)
class TableRow:
    """One line of a table; `source` says where a published one stands."""

    name: str
    cells: tuple[Cell, ...]
    kind: Kind = "ours"
    group: str = ""
    source: str = ""
    more: bool = False  # folded away on the page


@dataclass(frozen=True)
class Table:
    """A table with one or two lines of heads."""

    title: str
    columns: tuple[str, ...]  # of the cells, without the name's
    rows: tuple[TableRow, ...]
    heads: tuple[tuple[str, int], ...] = ()  # (label, columns it spans), above the columns
    notes: tuple[str, ...] = ()
    corner: str = ""  # the head of the names


_KINDS = {"ours": "", "baseline": "Computed on this benchmark", "published": "Published"}


def to_html(table: Table) -> Markup:
    """The table for the page; rows that are `more` go into a second table that can be unfolded."""
    shown, folded = [r for r in table.rows if not r.more], [r for r in table.rows if r.more]
    caption = element("h4", table.title) if table.title else Markup("")
    notes = [element("p", note, class_="note") for note in table.notes]
    parts = [caption, element("div", _html_table(table, shown), class_="scroll"), *notes]
    if folded:
        label = f"{len(folded)} more published rows"
        inner = element("div", _html_table(table, folded), class_="scroll")
        parts.append(element("details", element("summary", label), inner))
    return element("div", *parts, class_="table")


def _html_table(table: Table, rows: Sequence[TableRow]) -> Markup:
    head: list[Markup] = []
    if table.heads:
        spans = (element("th", label, colspan=span, class_="span") for label, span in table.heads)
        head.append(element("tr", element("th", class_="name"), *spans))
    ends = _last_columns(table)
    columns = (element("th", c, class_="end" if k in ends else None) for k, c in enumerate(table.columns))
    head.append(element("tr", element("th", table.corner, class_="name"), *columns))
    body: list[Markup] = []
    width = len(table.columns) + 1
    for row, title, group in _with_titles(rows):
        if title:
            body.append(element("tr", element("td", title, colspan=width), class_="block"))
        if group:
            body.append(element("tr", element("td", group, colspan=width), class_="group"))
        cells = (_html_cell(cell, k in ends) for k, cell in enumerate(row.cells))
        name = element("th", row.name, scope="row", class_="name inner" if row.group else "name")
        body.append(element("tr", name, *cells, class_=row.kind))
    return element("table", element("thead", *head), element("tbody", *body))


def _html_cell(cell: Cell, end: bool) -> Markup:
    detail = [element("small", cell.detail)] if cell.detail else []
    return element("td", cell.text, *detail, class_="num end" if end else "num")


def _last_columns(table: Table) -> set[int]:
    """The columns after which a span ends."""
    out, at = set(), 0
    for _, span in table.heads:
        at += span
        out.add(at - 1)
    return out - {len(table.columns) - 1}


def _with_titles(rows: Sequence[TableRow]) -> Iterator[tuple[TableRow, str, str]]:
    """Each row with the title of the block and of the group that it begins, where it begins one."""
    block, group = "", ""
    for row in rows:
        title = (row.source and f"Published: {row.source}") or _KINDS[row.kind]
        new_block = title if title != block else ""
        if new_block:
            group = ""
        new_group = row.group if row.group != group else ""
        block, group = title, row.group
        yield row, new_block, new_group


def to_markdown(table: Table) -> str:
    """The table in Markdown; spans are written before each column's own name."""
    names = _flat_columns(table)
    out = [f"**{_md(table.title)}**", ""] if table.title else []
    out.append(f"| {_md(table.corner)} | {' | '.join(map(_md, names))} |")
    out.append("|---|" + "---:|" * len(names))
    for row in table.rows:
        mark = " *(published)*" if row.kind == "published" else " *(computed)*" if row.kind == "baseline" else ""
        cells = (_md(" ".join(filter(None, (cell.text, cell.detail)))) for cell in row.cells)
        group = f"{_md(row.group)}: " if row.group else ""
        out.append(f"| {group}{_md(row.name)}{mark} | {' | '.join(cells)} |")
    sources = dict.fromkeys(row.source for row in table.rows if row.source)
    notes = [*table.notes, *(f"Published: {source}." for source in sources)]
    return "\n".join([*out, "", *(f"{_md(note)}  " for note in notes)]).rstrip() + "\n"


def _flat_columns(table: Table) -> list[str]:
    if not table.heads:
        return list(table.columns)
    above = [label for label, span in table.heads for _ in range(span)]
    return [" ".join(filter(None, pair)) for pair in zip(above, table.columns, strict=True)]


def _md(text: str) -> str:
    text = " ".join(text.split())
    for letter in "\\`*_{}[]<>|#":
        text = text.replace(letter, f"\\{letter}")
    return text


def to_latex(table: Table) -> str:
    """The table in LaTeX, for the booktabs package."""
    count = len(table.columns)
    out = [r"\begin{table}", r"\centering", r"\small", rf"\begin{{tabular}}{{l{'r' * count}}}", r"\toprule"]
    if table.heads:
        spans = (rf"\multicolumn{{{span}}}{{c}}{{{_tex(label)}}}" for label, span in table.heads)
        out.append(" & ".join(["", *spans]) + r" \\")
    out.append(" & ".join([_tex(table.corner), *map(_tex, table.columns)]) + r" \\")
    for row, title, group in _with_titles(table.rows):
        if title or row is table.rows[0]:
            out.append(r"\midrule")
        if title:
            short = f"Published: {short_source(row.source)}" if row.source else title
            out.append(rf"\multicolumn{{{count + 1}}}{{l}}{{\emph{{{_tex(short)}}}}} \\")
        if group:
            out.append(rf"\multicolumn{{{count + 1}}}{{l}}{{{_tex(group)}}} \\")
        out.append(" & ".join([("\\quad " if row.group else "") + _tex(row.name), *map(_tex_cell, row.cells)]) + r" \\")
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


def _tex_cell(cell: Cell) -> str:
    detail = rf" {{\scriptsize {_tex(cell.detail)}}}" if cell.detail else ""
    return _tex(cell.text) + detail


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[object]], corner: str = "") -> Markup:
    """A small table of text: the first cell of a row names it."""
    head = element("tr", element("th", corner, class_="name"), *(element("th", c) for c in columns))
    body = (
        element(
            "tr", element("th", row[0], scope="row", class_="name"), *(element("td", c, class_="num") for c in row[1:])
        )
        for row in rows
    )
    return element("div", element("table", element("thead", head), element("tbody", *body)), class_="scroll")
