"""What a verb returns: a result shows itself as tables on a terminal, as HTML in a notebook, as JSON for scripts.

A result says what it consists of (`parts`): tables, which go to stdout, and remarks about them, which go to stderr.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeVar

from veridical.errors import printable

QUIET = "VERIDICAL_QUIET"  # 1: no remarks
WIDTH = 1000  # characters of a line where stdout is no terminal: nothing is folded
NUMBER = re.compile(r"[-+<>~(\[]?\s*\$?[\d.]|[-–—]?$")  # what a cell of a column of numbers begins with

Element = TypeVar("Element")


@dataclass(frozen=True)
class Table:
    """Rows under columns; those of numbers are aligned right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]

    def is_numeric(self, column: int) -> bool:
        """Whether a column has numbers, with what stands behind them (a unit, an interval), or nothing.

        >>> table = Table("", ["model", "accuracy", "note"], [["text", "55.4 [54, 56]", "blind"], ["cnn", "-", ""]])
        >>> [table.is_numeric(column) for column in range(3)]
        [False, True, False]
        """
        cells = [str(row[column]) for row in self.rows]
        return column > 0 and all(NUMBER.match(cell) for cell in cells)


class Verbatim(str):
    """Text that is the result itself, and is printed as it stands, also where JSON was asked for."""


class Caution(str):
    """A remark that must be read: `--quiet` does not silence it."""


class Result:
    """The base of what verbs return."""

    def parts(self) -> Iterable[Table | str]:
        """What to show: tables, and remarks about them."""
        return ()

    @property
    def exit_code(self) -> int:
        """What the command ends with; 1 where it did its work and the answer is no."""
        return 0

    def to_json(self) -> Any:
        """The result for scripts."""
        return plain(self)

    def show(self, *, json: bool = False) -> None:
        """Print it: tables, or with `json` one JSON document, to stdout; remarks to stderr."""
        parts = list(self.parts())  # before anything is printed: they may be refused
        if json and not any(isinstance(part, Verbatim) for part in parts):
            import msgspec

            sys.stdout.flush()
            text = msgspec.json.format(msgspec.json.encode(plain(self.to_json())), indent=2)
            sys.stdout.write(text.decode() + "\n")
        for part in parts:
            if isinstance(part, Verbatim) or (isinstance(part, Table) and not json):
                _print(part)
            elif not isinstance(part, Table):
                remark(part)
        sys.stdout.flush()

    def _repr_html_(self) -> str:
        return html(self.parts())


class ResultList(list[Element], Result):
    """A list that is a result."""

    def to_json(self) -> Any:
        return [plain(one) for one in self]


def remark(text: str) -> None:
    """Say something to people beside the result; `--quiet` silences it, unless it is a `Caution`."""
    if isinstance(text, Caution) or os.environ.get(QUIET) != "1":
        print(printable(text), file=sys.stderr)


def plain(value: Any) -> Any:
    """A record as JSON has it: NumPy's numbers, paths and sets too."""
    import msgspec

    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _print(part: Table | Verbatim) -> None:
    if isinstance(part, Verbatim):
        sys.stdout.write(part)
        return
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    title = Text(printable(part.title)) if part.title else None  # text, and not rich's markup: `[` may stand in a name
    out = RichTable(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(part.columns):
        out.add_column(Text(printable(name)), justify="right" if part.is_numeric(number) else "left", overflow="fold")
    for row in part.rows:
        out.add_row(*(Text(printable(str(cell))) for cell in row))
    Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else WIDTH).print(out)


def html(parts: Iterable[Table | str]) -> str:
    """Tables and remarks for a notebook."""
    return "\n".join(_html(part) for part in parts)


def _html(part: Table | str) -> str:
    if not isinstance(part, Table):
        return f"<p>{escape(part)}</p>"
    head = "".join(f"<th>{escape(name)}</th>" for name in part.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in part.rows)
    look = "text-align: left; white-space: nowrap; font-weight: bold"
    caption = f'<caption style="{look}">{escape(part.title)}</caption>' if part.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
