"""Rows become questions: choices, answers, ids and splits, each bad row with its line and what was expected.

The whole table is read before anything is decided: what stands between choices, what an answer means, and which splits
have none is a matter of all rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from veridical.benchmark.writer import SPLIT_NAME
from veridical.errors import UserError
from veridical.formats.lines import KEEP_GOING, Problems
from veridical.formats.table import cells
from veridical.formats.table.answers import IN_WORDS, READERS, AnswerCell, by_text, guess_style, single, unread
from veridical.formats.table.cells import BadCell, Choice, words
from veridical.formats.table.files import QuestionFile
from veridical.formats.table.roles import Roles, plain
from veridical.options.importing import AnswerStyle, TableOptions
from veridical.records import LETTERS, TRUTH, Item, Pairs, Panel, Task, Text

YES_OR_NO = [Choice("A", "yes", 0), Choice("B", "no", 1)]
_LONGEST = 200  # characters of an id


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question of a table, without its pictures."""

    file: int  # which of the files
    number: int  # of its line or row
    id: str
    split: str
    query: str
    choices: tuple[str, ...]
    answer: int | None
    group: str | None = None
    tags: Pairs = ()

    def item(self, task: Task, panels: Sequence[Panel]) -> Item:
        """The item; pictures, and what the group is, must not cross splits."""
        origins = dict.fromkeys(panel.image or panel.uri or panel.id for panel in panels)
        return Item(
            self.id,
            task,
            tuple(panel.id for panel in panels),
            Text(self.query),
            TRUTH if task == "statement" else tuple(map(Text, self.choices)),
            self.answer,
            self.group,
            (*([f"group {self.group}"] if self.group else []), *origins),
            tags=self.tags,
        )


@dataclass
class _Row:
    """A row on its way to a question."""

    file: int
    number: int
    cells: Mapping[str, Any]  # of every column but those of pictures
    choices: list[Choice] = field(default_factory=list)
    answer: int | None = None


@dataclass(frozen=True)
class TableRead:
    """What a table holds."""

    questions: list[TableQuestion]
    task: Task
    answers: str = ""  # what an answer is, in words
    choices: str = ""  # how choices were read, in words
    notes: tuple[str, ...] = ()


class TableReader:
    """Reads the words of a table's files."""

    def __init__(self, files: Sequence[QuestionFile], roles: Roles, options: TableOptions, problems: Problems) -> None:
        self.files, self.roles, self.options, self.problems = files, roles, options, problems
        self.notes: list[str] = []

    def bad(self, row: _Row, problem: str, fix: str = KEEP_GOING) -> None:
        file = self.files[row.file]
        self.problems.found(file.name, row.number, problem, fix, file.unit)

    def read(self, split: str, hide: Sequence[str], numbered: bool, secret: str = "") -> TableRead:
        """All questions. `split` is that of rows that name none; ids are their numbers where they are `numbered`.

        The rows of a split to hide are in an order that the `secret` decides, and numbered in that order.
        """
        rows, how = self._with_choices(self._rows())
        rows, style = self._with_answers(rows)
        task = self._task(rows, style)
        questions = [q for row in rows if (q := self._question(row, split)) is not None]
        if self.roles.id is None:
            questions = self._named(_mixed(questions, hide, secret), numbered)
        else:
            questions = _mixed(self._named(questions, numbered), hide, secret)
        questions = self._complete(questions, hide)
        return TableRead(questions, task, "" if style is None else IN_WORDS[style], how, tuple(self.notes))

    def _rows(self) -> list[_Row]:
        wanted = [name for name, role in self.roles.each() if role != "picture"]
        out = []
        for number, file in enumerate(self.files):
            for line, values in file.rows():
                row = _Row(number, line, {})
                if isinstance(values, str):
                    self.bad(row, values)
                    continue
                row.cells = {name: _spelled(values.get(name), file.names.get(name, ())) for name in wanted}
                out.append(row)
        return out

    # --- choices -----------------------------------------------------------------------------------------------------

    def _with_choices(self, rows: list[_Row]) -> tuple[list[_Row], str]:
        """Rows with their choices, and how they were read; rows that say they have none are open questions."""
        roles = self.roles
        if not roles.choices:
            return rows, ""
        if not roles.in_list:
            labels = _letters(roles.choices)
            for row in rows:
                row.choices = cells.lettered((words(row.cells[name]) for name in roles.choices), labels)
            if roles.wrong:
                return self._with_right(rows), "the answer among the wrong choices, shuffled"
            return self._enough(self._unlettered(rows)), ""
        (column,) = roles.choices
        texts = [v.strip() for row in rows if isinstance(v := row.cells[column], str)]
        plain_texts = [text for text in texts if cells.read_list(text) is None]
        separator = self.options.separator or cells.separator_of(plain_texts)
        kept, empty = [], 0
        for row in rows:
            if _is_empty_list(row.cells[column]):
                empty += 1
                continue
            try:
                row.choices = cells.listed_choices(row.cells[column], separator)
                kept.append(row)
            except BadCell as error:
                self.bad(row, str(error))
        if empty:
            self.notes.append(f"Left out: {empty:,} open questions, whose list of choices is empty.")
        how = f"texts between {separator!r}" if plain_texts and separator else "lists"
        return self._enough(self._unlettered(kept)), how

    def _with_right(self, rows: list[_Row]) -> list[_Row]:
        """The right answer among the wrong ones, in an order that does not depend on which of them is right."""
        out = []
        for row in rows:
            right = words(row.cells[self.roles.answer]) if self.roles.answer else ""
            if not right:
                self.bad(row, "the right answer is missing, and the other columns hold wrong ones.")
                continue
            asked = words(row.cells[self.roles.question])
            texts = sorted([right, *(one.text for one in row.choices)], key=lambda text: _drawn(asked, text))
            row.choices = cells.lettered(texts)
            out.append(row)
        return self._enough(out)

    def _unlettered(self, rows: list[_Row]) -> list[_Row]:
        """`A. a cat` is `a cat`, where the choices of every row begin so."""
        if rows and all(cells.says_its_letter(row.choices) for row in rows if row.choices):
            for row in rows:
                row.choices = cells.without_letters(row.choices)
        return rows

    def _enough(self, rows: list[_Row]) -> list[_Row]:
        out = []
        twice = 0
        for row in rows:
            if not 2 <= len(row.choices) <= cells.MOST_CHOICES:
                found = words(row.cells[self.roles.choices[0]])[:60] if self.roles.in_list else ""
                shown = f" ({found!r})" if found else ""
                self.bad(row, f"{len(row.choices)} choices{shown}; expected 2 to {cells.MOST_CHOICES}.")
                continue
            twice += len({one.text for one in row.choices}) < len(row.choices)
            out.append(row)
        if twice:
            self.notes.append(f"{twice:,} rows have the same choice twice.")
        return out

    # --- answers -----------------------------------------------------------------------------------------------------

    def _with_answers(self, rows: list[_Row]) -> tuple[list[_Row], AnswerStyle | None]:
        roles = self.roles
        if roles.answer is None:
            if not roles.choices and not roles.is_statement:
                raise self._no_choices("")
            return rows, None
        asked: list[tuple[_Row, AnswerCell]] = []
        for row in rows:
            try:
                whole = AnswerCell(row.cells[roles.answer], row.choices)
                is_text = isinstance(whole.value, str) and by_text(whole) is not None  # a choice may be "[0, 1]"
                asked.append((row, whole if is_text else AnswerCell(single(whole.value), row.choices)))
            except BadCell as error:
                self.bad(row, str(error))
        known = [cell.value for _, cell in asked if not cells.is_missing(cell.value)]
        if not roles.choices and not all(cells.truth(value) is not None for value in known):
            odd = next(value for value in known if cells.truth(value) is None)
            raise self._no_choices(f", and the answers are not true or false ({words(odd)[:40]!r})")
        if not roles.choices and not known and not roles.is_statement:
            raise self._no_choices("")
        if not roles.choices and not roles.is_statement and all(map(cells.is_yes_or_no, known)):
            self._refuse_style("truth", "text")
            for row, _ in asked:
                row.choices = list(YES_OR_NO)
            spelled = {1: "yes", 0: "no", None: None}
            asked = [(row, AnswerCell(spelled[cells.truth(cell.value)], row.choices)) for row, cell in asked]
            return self._answered(asked, "text"), "text"
        if not roles.choices:
            self._refuse_style("truth")
            return self._answered(asked, "truth"), "truth"
        told: AnswerStyle | None = "text" if roles.wrong else self.options.answer_as
        style = told or guess_style([cell for _, cell in asked], roles.answer)
        return self._answered(asked, style), style

    def _refuse_style(self, *fitting: AnswerStyle) -> None:
        """Refuse another --answer-as where no column holds choices."""
        told = self.options.answer_as
        if told is not None and told not in fitting:
            raise self._no_choices(f", and --answer-as {told} says that an answer is {IN_WORDS[told]}")

    def _answered(self, asked: list[tuple[_Row, AnswerCell]], style: AnswerStyle) -> list[_Row]:
        out = []
        for row, cell in asked:
            row.answer = READERS[style](cell)
            if row.answer is None and not cell.is_missing:
                self.bad(row, unread(style, cell))
                continue
            out.append(row)
        return out

    def _no_choices(self, why: str) -> UserError:
        columns = ", ".join(list(dict.fromkeys(name for file in self.files for name in file.columns))[:30])
        return UserError(
            f"No column of choices was found among: {columns}{why}.",
            "Name it with --choices NAME (repeated: a column for each choice). Statements are true or false. Questions "
            "that have answers and no choices become a test by `veridical match`.",
        )

    def _task(self, rows: list[_Row], style: AnswerStyle | None) -> Task:
        """Statements where nothing but true and false can be answered; their candidates are false, then true."""
        if not any(row.choices for row in rows):
            return "statement" if style in ("truth", None) else "choice"
        if not all(sorted(one.text.casefold() for one in row.choices) == ["false", "true"] for row in rows):
            return "choice"
        for row in rows:
            if row.answer is not None:
                row.answer = int(row.choices[row.answer].text.casefold() == "true")
            row.choices = []
        return "statement"

    # --- everything else ---------------------------------------------------------------------------------------------

    def _question(self, row: _Row, split: str) -> TableQuestion | None:
        roles, file = self.roles, self.files[row.file]

        def cell(name: str | None) -> str:
            return "" if name is None else words(row.cells[name])

        try:
            query, hint, id = cell(roles.question), cell(roles.hint), cell(roles.id)
            group, own = cell(roles.group) or None, cell(roles.split) if roles.split else file.split or split
            tags = tuple(pair for name in roles.tags for pair in _tags(name, row.cells[name]))
        except BadCell as error:
            self.bad(row, str(error))
            return None
        problem, fix = None, KEEP_GOING
        if not query:
            problem = f"the question is empty (column {roles.question!r})."
        elif not own:
            problem = f"the split is empty (column {roles.split!r}); other rows name theirs."
            fix = "Fill it in, take all rows as one split (--split-column none), or leave it out: --keep-going."
        elif not SPLIT_NAME.fullmatch(own) or not own.strip("."):
            problem = f"{own[:60]!r} cannot name a split; expected letters, digits, '.', '_' and '-'."
        elif roles.id and (not id or not id.isprintable() or len(id) > _LONGEST):
            problem = f"{id[:60]!r} cannot be an id; expected 1 to {_LONGEST} printable characters."
        if problem:
            self.bad(row, problem, fix)
            return None
        query = f"{hint}\n{query}" if hint else query
        texts = tuple(one.text for one in row.choices)
        return TableQuestion(row.file, row.number, id, own, query, texts, row.answer, group, file.tags + tags)

    def _named(self, questions: list[TableQuestion], numbered: bool) -> list[TableQuestion]:
        """Questions with ids of their own: as the table says, or numbers."""
        several = len(self.files) > 1
        if self.roles.id is None:
            count: Counter[str] = Counter()
            out = []
            for one in questions:
                count[one.split if several else ""] += 1
                id = f"{one.split}-{count[one.split]}" if several else str(count[""])
                out.append(replace(one, id=id))
            return out
        where: dict[str, TableQuestion] = {}
        splits: dict[str, set[str]] = defaultdict(set)
        for one in questions:
            splits[one.id].add(one.split)
        if numbered and any(len(found) > 1 for found in splits.values()):
            questions = [replace(one, id=f"{one.split}-{one.id}") for one in questions]
            self.notes.append(f"The column {self.roles.id!r} starts anew in each split: ids are SPLIT-ID.")
        kept = []
        for one in questions:
            before = where.setdefault(one.id, one)
            if before is not one:
                place = self.files[before.file].where(before.number)
                row = _Row(one.file, one.number, {})
                fix = (
                    f"Give each row its own, number the rows with --id none, or {KEEP_GOING[0].lower()}{KEEP_GOING[1:]}"
                )
                self.bad(row, f"the id {one.id!r} is also that of {place}.", fix)
                continue
            kept.append(one)
        return kept

    def _complete(self, questions: list[TableQuestion], hide: Sequence[str]) -> list[TableQuestion]:
        """Without the questions whose answer is missing, where others of their split have one and it is not hidden."""
        labelled = {one.split for one in questions if one.answer is not None}
        kept = []
        for one in questions:
            if one.answer is None and one.split in labelled and one.split not in hide:
                fix = f"Fill it in, hide the answers of the split (--hide {one.split}), or leave it out: --keep-going."
                problem = f"the answer is missing; other rows of {one.split!r} have one."
                self.bad(_Row(one.file, one.number, {}), problem, fix)
                continue
            kept.append(one)
        return kept


def _mixed(questions: Sequence[TableQuestion], hide: Sequence[str], secret: str) -> list[TableQuestion]:
    """The questions of each split to hide in an order that only the secret tells, in the places that they have."""
    hidden: dict[str, list[TableQuestion]] = defaultdict(list)
    for one in questions:
        if one.split in hide:
            hidden[one.split].append(one)
    orders = {
        split: iter(sorted(found, key=lambda one: _drawn(secret, f"{one.file} {one.number}")))
        for split, found in hidden.items()
    }
    return [next(orders[one.split]) if one.split in orders else one for one in questions]


def _drawn(first: str, second: str) -> bytes:
    return hashlib.sha256(f"{first}\0{second}".encode("utf-8", "surrogateescape")).digest()


def _spelled(value: Any, names: Sequence[str]) -> Any:
    """A number that stands for a name, as `datasets` keeps classes."""
    return names[value] if names and isinstance(value, int) and 0 <= value < len(names) else value


def _letters(columns: Sequence[str]) -> list[str]:
    """The letters that columns end with, where all do: B is B although there is no column A."""
    endings = [plain(name)[-1:].upper() for name in columns]
    same = len({plain(name)[:-1] for name in columns}) == 1
    return endings if same and all(one in LETTERS for one in endings) and len(set(endings)) == len(endings) else []


def _is_empty_list(value: Any) -> bool:
    return value == [] or (isinstance(value, str) and cells.read_list(value.strip()) == [])


def _tags(name: str, value: Any) -> list[tuple[str, str]]:
    """A cell as tags: of its column's name; or in a column `tags` pairs, an object, or a list of words."""
    found = cells.read_list(value.strip()) if isinstance(value, str) else value
    label = "tag" if plain(name) == "tags" else name
    if isinstance(found, dict):
        return [(str(key), words(one)) for key, one in found.items() if words(one)]
    if isinstance(found, list) and found and all(isinstance(one, list) and len(one) == 2 for one in found):
        return [(words(one[0]), words(one[1])) for one in found]
    many = found if isinstance(found, list) else [value]
    return [(label, words(one)) for one in many if not cells.is_missing(one)]
