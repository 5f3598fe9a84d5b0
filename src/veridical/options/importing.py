"""Options of `import` for tables of questions: what the columns hold, and how cells are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

AnswerStyle = Literal["letter", "index0", "index1", "text", "truth"]


@dataclass(frozen=True)
class TableOptions:
    """What a table's columns hold, and how its cells are read: guessed and shown, unless given."""

    question: str | None = None
    """table, hf: the column of questions or statements."""
    choices: Sequence[str] = ()
    """table, hf: the column that lists the choices; repeated, a column for each choice, in this order."""
    answer: str | None = None
    """table, hf: the column of right answers."""
    answer_as: AnswerStyle | None = None
    """What an answer is: letter, index0 (a place from 0), index1 (from 1), text, or truth (true and false)."""
    image: Sequence[str] = ()
    """table, hf: a column of pictures; may be repeated. 'none' where there are none to show."""
    hint: str | None = None
    """table, hf: a column of context, shown before the question."""
    group: str | None = None
    """A column of what counts together, and stays in one split."""
    split_column: str | None = None
    """A column that names each row's split."""
    id: str | None = None
    """table, hf: the column of ids; 'none' numbers the rows."""
    tag: Sequence[str] = ()
    """A column to keep as a tag, by which scores are listed; may be repeated. Guessed unless given."""
    ignore: Sequence[str] = ()
    """A column to leave out; may be repeated."""
    separator: str | None = None
    """What stands between the choices of one cell, such as '|'."""
    config: str | None = None
    """hf: only this configuration of the data set."""
    fetch: bool = False
    """Fetch pictures that are addresses; otherwise only the addresses are kept."""
    secret: str = "random"
    """Decides the order of hidden rows; random draws one, kept in OUT.hidden, that gives the same order again."""
    name: str = ""
    """The benchmark's name; the file's unless given."""
    licence: str = ""
    """The licence of the benchmark, such as CC-BY-4.0."""
