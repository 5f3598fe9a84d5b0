"""What the command line prints: results for machines on stdout, words and tables for people on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    import msgspec

    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """A line for people."""
    print(text, file=sys.stderr)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table for people; every column but the first is aligned right."""
    from rich.console import Console
    from rich.table import Table

    out = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        out.add_column(name, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        out.add_row(*(str(cell) for cell in row))
    console = Console(stderr=True, highlight=False)
    console.print(out, width=None if console.is_terminal else 160)
