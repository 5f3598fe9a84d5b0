"""Which column of a table holds what: guessed from names, types and values, or as the options name it.

Every column is told: its role, or that it is ignored. Columns with few different values are kept as tags; those that
would tell the answer (an explanation, a solution) are not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from veridical.errors import UserError
from veridical.formats.table.cells import WORDS, BadCell, read_list, words
from veridical.options import option
from veridical.options.importing import TableOptions
from veridical.records import LETTERS

NONE = "none"  # as an option: no such column
FEW, SHORT = 64, 80  # different values, and characters, of a tag
_ENDING = re.compile(r"(.*?)(\d{1,2}|[a-z])")

SampleRow = Mapping[str, Any]  # a row of a table: a value for each column


@dataclass(frozen=True)
class Roles:
    """The columns of a table by what they hold."""

    question: str
    answer: str | None = None
    choices: tuple[str, ...] = ()  # one column of lists, or a column for each choice
    in_list: bool = False  # the one
    wrong: bool = False  # the columns hold wrong choices; the answer is the right one
    images: tuple[str, ...] = ()
    hint: str | None = None
    group: str | None = None
    split: str | None = None
    id: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def is_statement(self) -> bool:
        """Whether the questions are called statements."""
        return plain(self.question) in WORDS.statements

    def each(self) -> Iterator[tuple[str, str]]:
        """Every column that is read, and its role."""
        singles = {"id": self.id, "question": self.question, "hint": self.hint}
        yield from ((name, role) for role, name in singles.items() if name is not None)
        role = "choices" if self.in_list else "wrong choice" if self.wrong else "choice"
        yield from ((name, role) for name in self.choices)
        singles = {"answer": self.answer, "group": self.group, "split": self.split}
        yield from ((name, role) for role, name in singles.items() if name is not None)
        yield from ((name, "picture") for name in self.images)
        yield from ((name, "tag") for name in self.tags)


def plain(name: str) -> str:
    """A column's name without case and signs.

    >>> plain("answerKey"), plain("l2-category"), plain("Option A"), plain("问题")
    ('answerkey', 'l2category', 'optiona', '问题')
    """
    return re.sub(r"[^a-z0-9]", "", name.lower()) or name.strip().lower()


def guess_roles(
    columns: Sequence[str], sample: Sequence[SampleRow], options: TableOptions, pictures: Collection[str] = ()
) -> Roles:
    """The roles of columns, given some rows; `pictures` are columns that hold pictures by their type."""
    _check_named(columns, options)
    guess = _Guess(columns, sample, options, frozenset(pictures))
    question = guess.one("question", options.question)
    if question is None:
        raise UserError(
            f"No column of questions was found among: {', '.join(columns[:30]) or 'none'}.",
            "The first line names the columns. Say which it is: --question NAME.",
        )
    choices, in_list, wrong = guess.choices()
    answer = guess.one("answer", options.answer)
    images = guess.images()
    others = {role: guess.one(role, named) for role, named in guess.others.items()}
    return Roles(question, answer, choices, in_list, wrong, images, **others, tags=guess.tags())


def _check_named(columns: Sequence[str], options: TableOptions) -> None:
    """Refuse names that are no column, and a column that is named twice."""
    fields = ("question", "choices", "answer", "image", "hint", "group", "split_column", "id", "tag", "ignore")
    said: dict[str, str] = {}
    for name in fields:
        value = getattr(options, name)
        for one in [value] if isinstance(value, str) else value or ():
            if one in columns:
                if said.setdefault(one, name) != name:
                    problem = f"The column {one!r} is given for {option(said[one])} and {option(name)}."
                    raise UserError(problem, "Name a column of its own for each.")
            elif one != NONE:
                near = get_close_matches(one, columns, 1)
                meant = f" Did you mean {near[0]!r}?" if near else ""
                problem = f"There is no column {one!r} for {option(name)}.{meant}"
                raise UserError(problem, f"Columns: {', '.join(columns[:30])}.")


class _Guess:
    """Takes columns one role after the other; a column has one role."""

    def __init__(
        self, columns: Sequence[str], sample: Sequence[SampleRow], options: TableOptions, pictures: frozenset[str]
    ) -> None:
        self.columns, self.sample, self.options, self.pictures = columns, sample, options, pictures
        named = {*options.choices, *options.image, *options.tag, *options.ignore}
        self.others = {
            "hint": options.hint, "group": options.group, "split": options.split_column, "id": options.id,
        }  # fmt: skip
        named |= {name for name in (options.question, options.answer, *self.others.values()) if name}
        self.free = {name: plain(name) for name in columns if name not in named}

    def one(self, role: str, named: str | None) -> str | None:
        """The column of a role: as named, else the likeliest name that is free and has values."""
        if named is not None:
            return named if named in self.columns else None
        for name in self._named_like(WORDS.columns[role]):
            if name not in self.pictures and self._has_values(name):
                del self.free[name]
                return name
        return None

    def _named_like(self, names: Sequence[str]) -> list[str]:
        """Free columns of these names, in their order."""
        return [column for name in names for column, short in self.free.items() if short == name]

    def _values(self, name: str) -> list[Any]:
        return [value for row in self.sample if not _is_empty(value := row.get(name))]

    def _has_values(self, name: str) -> bool:
        return not self.sample or bool(self._values(name))

    def choices(self) -> tuple[tuple[str, ...], bool, bool]:
        """The columns of choices; whether it is one of lists; whether they are wrong choices."""
        named = tuple(one for one in self.options.choices if one != NONE)
        if self.options.choices:
            return named, len(named) == 1, False
        if each := self._numbered(WORDS.choice, 2):
            return self._take(each), False, False
        for name in self._named_like(WORDS.columns["choices"]):
            if self._is_listed(name):
                return self._take([name]), True, False
        if each := self._numbered(WORDS.wrong, 1):
            return self._take(each), False, True
        return (), False, False

    def _is_listed(self, name: str) -> bool:
        """Whether a column may hold lists: of a name such as `answers` this is not certain."""
        values = self._values(name)
        return bool(values) and (
            plain(name) != "answers" or all(isinstance(v, list | dict) or read_list(str(v).strip()) for v in values)
        )

    def _take(self, names: Sequence[str]) -> tuple[str, ...]:
        for name in names:
            del self.free[name]
        return tuple(names)

    def _numbered(self, stems: Sequence[str], least: int) -> list[str]:
        """Columns such as A, B, C or option_1, option_2: at least so many, the first of them among these."""
        found: dict[str, dict[str, str]] = {}
        for name, short in self.free.items():
            if match := _ENDING.fullmatch(short):
                found.setdefault(match[1], {})[match[2]] = name
        for stem in stems:
            endings = found.get(stem, {})
            letters = [endings[one] for one in LETTERS.lower() if one in endings]
            numbers = [endings[one] for one in sorted(filter(str.isdigit, endings), key=int)] if stem else []
            if len(letters) >= least and "a" in endings:
                return letters
            if len(numbers) >= least and endings.keys() & {"0", "1", "00", "01"}:
                return numbers
        return []

    def images(self) -> tuple[str, ...]:
        """The columns of pictures: by their type, by name, or one for each of several."""
        if self.options.image:
            return tuple(one for one in self.options.image if one != NONE)
        by_type = [name for name in self.free if name in self.pictures and self._has_values(name)]
        each = self._numbered(WORDS.picture, 1)
        if by_type:
            return self._take(each if set(each) & set(by_type) else by_type)
        for pair in WORDS.sides:
            if len(sides := self._named_like(pair)) == len(pair):
                return self._take(sides)
        for name in self._named_like(WORDS.columns["image"]):
            if self._values(name):
                return self._take([name])
        return self._take([name for name in each if self._values(name)] and each)

    def tags(self) -> tuple[str, ...]:
        """Columns with few different short values, unless they are named."""
        if self.options.tag:
            return tuple(one for one in self.options.tag if one != NONE)
        return tuple(name for name, short in self.free.items() if self._is_tag(name, short))

    def _is_tag(self, name: str, short: str) -> bool:
        images, choices = WORDS.columns["image"], WORDS.columns["choices"]
        if short == "tags":  # the table calls them so
            return True
        if name in self.pictures or short in WORDS.telling or short in images or short in choices:
            return False
        if short in WORDS.columns["answer"] or short in WORDS.columns["id"]:
            return False
        try:
            texts = [words(value) for value in self._values(name)]
        except BadCell:
            return False
        different = len(set(texts))
        few = 0 < different <= FEW and all(len(text) <= SHORT for text in texts)
        return few and (short in WORDS.tags or different <= max(len(texts) // 2, 1))


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {}) or (isinstance(value, float) and value != value)
