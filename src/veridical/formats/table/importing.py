"""`import table`, and what all imports of questions share: read the words, then the pictures, and write a benchmark.

The result shows every column with the role it was given, so that a wrong guess is seen at once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.place import hidden_dir
from veridical.benchmark.splits import RANDOM, SECRET, mix_secret
from veridical.benchmark.writer import PUBLIC_TAGS, content_address
from veridical.common.result import Caution, Table
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.formats import QUESTIONS
from veridical.formats.card import describe
from veridical.formats.lines import Problems
from veridical.formats.releases import ImportResult, Request, find_files
from veridical.formats.table.cells import BadCell
from veridical.formats.table.files import KINDS, SUFFIXES, QuestionFile, open_file
from veridical.formats.table.pictures import PictureFinder, addresses_in, fetch_pictures, scratch_folder
from veridical.formats.table.questions import TableQuestion, TableRead, TableReader
from veridical.formats.table.roles import NONE, Roles, guess_roles
from veridical.options.importing import TableOptions
from veridical.records import Item, Panel

SAMPLE = 1000  # rows that columns are guessed from
_BATCH = 256  # items written at a time
_SHARD = re.compile(r"-\d{5}-of-\d{5}$|-\d{5}$")
_SPLITS = re.compile(r"(?:.*[-_.])?(train|training|dev|val|valid|validation|test|testmini)(?:[-_]\w+)?", re.IGNORECASE)
ONLY = "test"  # the split of a table that names none


class ColumnUse(NamedTuple):
    """What became of a column."""

    column: str
    role: str
    read_as: str = ""


@dataclass(frozen=True)
class QuestionsImport(ImportResult):
    """What was made of a table, and of each of its columns."""

    columns: tuple[ColumnUse, ...] = ()
    notes: tuple[str, ...] = ()

    def parts(self) -> Iterator[Table | str]:
        rows = [(use.column, use.role, use.read_as) for use in self.columns]
        yield Table("", ("column", "role", "read as"), rows)
        yield from self.notes
        yield from super().parts()


@dataclass(frozen=True)
class QuestionSource:
    """Files of questions, and what their format says of the columns."""

    format: str
    title: str
    files: Sequence[QuestionFile]
    options: TableOptions


def read_table(request: Request, options: TableOptions) -> QuestionSource:
    """A table, or the tables of a folder: one for each split."""
    path = request.path
    if not path.is_dir():
        return QuestionSource("table", path.stem, [open_file(path)], options)
    paths = list(find_files(path, lambda name: name.lower().endswith(SUFFIXES), depth=0))
    if not paths:
        raise UserError(f"{path} holds no table of questions.", KINDS)
    files = [replace(open_file(one), split=split_name(one.stem)) for one in paths]
    return QuestionSource("table", path.resolve().name, files, options)


def split_name(stem: str) -> str:
    """The split that a file's name tells: `train-00000-of-00002` is train.

    >>> split_name("train-00000-of-00002"), split_name("MMBench_dev_en"), split_name("questions")
    ('train', 'dev', 'questions')
    """
    stem = _SHARD.sub("", stem)
    match = _SPLITS.fullmatch(stem)
    return match[1].lower() if match else stem


def import_table(
    format: str,
    path: Path | str,
    out: Path | str,
    options: TableOptions = TableOptions(),
    *,
    images: Path | str | None = None,
    split: str | None = None,
    hide: Sequence[str] = (),
    keep_going: bool = False,
) -> QuestionsImport:
    """Turn a table of questions into a benchmark: `table`, `vlmevalkit` or `hf`."""
    path = Path(path)
    if images is not None and not Path(images).is_dir():
        raise UserError(f"{images} is not a folder of images.", "Give the folder with --images.")
    if format != "hf" and not path.exists():  # which may be a name on a hub
        raise UserError(f"{path} does not exist.", KINDS)
    request = Request(path, split, None if images is None else Path(images))
    if format != "hf" and options.config is not None:
        raise UserError(f"import {format} has no use for --config.", "Leave it out.")
    source: QuestionSource = resolve_name(QUESTIONS[format])(request, options)
    return import_questions(source, request, out, hide, keep_going)


def import_questions(
    source: QuestionSource, request: Request, out: Path | str, hide: Sequence[str] = (), keep_going: bool = False
) -> QuestionsImport:
    """Make a benchmark of questions."""
    files, options = source.files, source.options
    problems = Problems(keep_going)
    mixed = mix_secret(options.secret or RANDOM, hidden_dir(Path(out)) / SECRET, None)
    roles, read = read_questions(source, request, hide, problems, mixed.secret)
    splits = list(dict.fromkeys(one.split for one in read.questions))
    labelled = {one.split for one in read.questions if one.answer is not None}
    secret = labelled & set(hide)  # the splits that have answers to hide
    uses = _uses(_columns(files), roles, read)
    writer = BenchmarkWriter(
        out,
        name=options.name or source.title,
        task=read.task,
        config={
            "format": source.format,
            "columns": {use.column: use.role for use in uses},
            "answers": read.answers,
            "left_out": problems.counts,
        },
        licence=options.licence,
        hidden=sorted({*hide, *(set(splits) - labelled)}),
        official=True,
        describe=describe,
    )
    with writer:
        for split in splits:
            writer.add_items(split, [])
        if secret:
            writer.add_hidden_file(SECRET, mixed.kept)
        about = _Writing(files, roles, read, problems, request, options, secret).write(writer)
    made = Benchmark(out)
    notes = (*read.notes, *about, *_hidden_notes(set(splits) - labelled))
    if secret:
        kept = made.hidden_directory / SECRET
        notes += (f"Hidden rows are in a secret order. To get the same again, give the text of {kept} as --secret.",)
    return QuestionsImport(made.directory, made.manifest["counts"], tuple(problems.left_out), uses, notes)


def read_questions(
    source: QuestionSource, request: Request, hide: Sequence[str], problems: Problems, secret: str = ""
) -> tuple[Roles, TableRead]:
    """The words of a table, and what its columns hold; the rows of splits to hide in the secret's order."""
    files, options = source.files, source.options
    pictures = frozenset().union(*(file.pictures for file in files))
    roles = guess_roles(_columns(files), _sample(files), options, pictures)
    reader = TableReader(files, roles, options, problems)
    read = reader.read(_only_split(request), hide, options.id is None, secret)
    read = _chosen(read, request, roles, files)
    if not read.questions:
        left = f" The first: {problems.left_out[0]}" if problems.left_out else ""
        raise UserError(f"{request.path} holds no question that is whole.{left}", "Correct the file.")
    splits = sorted({one.split for one in read.questions})
    for name in hide:
        if name not in splits:
            raise UserError(f"{request.path} has no split {name!r} to hide.", f"It has: {', '.join(splits)}.")
    return roles, read


def _columns(files: Sequence[QuestionFile]) -> list[str]:
    return list(dict.fromkeys(name for file in files for name in file.columns))


def _sample(files: Sequence[QuestionFile]) -> list[Any]:
    rows = [row for file in files for _, row in islice(file.rows(), max(SAMPLE // len(files), 20))]
    return [row for row in rows if not isinstance(row, str)]


def _only_split(request: Request) -> str:
    """The split of rows that name none."""
    if request.split:
        return request.split
    match = _SPLITS.fullmatch(_SHARD.sub("", request.path.stem))
    return match[1].lower() if match else ONLY


def _chosen(read: TableRead, request: Request, roles: Roles, files: Sequence[QuestionFile]) -> TableRead:
    """Only the split that was asked for, where the table has several."""
    if request.split is None or (roles.split is None and not any(file.split for file in files)):
        return read
    found = sorted({one.split for one in read.questions})
    if request.split not in found:
        raise UserError(
            f"{request.path} has no split {request.split!r}; found: {', '.join(found)}.",
            "Choose one of these, or leave out the column of splits: --split-column none.",
        )
    return replace(read, questions=[one for one in read.questions if one.split == request.split])


def _uses(columns: Sequence[str], roles: Roles, read: TableRead) -> tuple[ColumnUse, ...]:
    """Every column of the table, in its order, with what became of it."""
    how = {"answer": read.answers, "choices": read.choices, "wrong choice": read.choices}
    given = dict(roles.each())
    if read.task == "statement" and given.get(roles.question) == "question":
        given[roles.question] = "statement"
    return tuple(ColumnUse(name, given.get(name, "ignored"), how.get(given.get(name, ""), "")) for name in columns)


def _hidden_notes(unlabelled: set[str]) -> list[str]:
    return [f"Split {name!r} has no answers: they count as hidden." for name in sorted(unlabelled)]


class _Writing:
    """Goes through the table a second time, for its pictures, and writes items and panels."""

    def __init__(
        self,
        files: Sequence[QuestionFile],
        roles: Roles,
        read: TableRead,
        problems: Problems,
        request: Request,
        options: TableOptions,
        secret: Collection[str],  # splits whose answers are hidden
    ) -> None:
        self.files, self.roles, self.read, self.problems = files, roles, read, problems
        self.request, self.options = request, options
        self.secret = secret
        self.finder = PictureFinder(request.root, request.images, bare=bool(secret))
        self.known: set[str] = set()  # panels that are written

    def write(self, writer: BenchmarkWriter) -> list[str]:
        """Write everything; gives what people should know about the pictures."""
        notes: list[str] = []
        with scratch_folder() as folder:
            if self.options.fetch and self.roles.images:
                self.finder.fetched, failed = fetch_pictures(self._addresses(), Path(folder))
                notes += [Caution(f"Not fetched: {url} ({why})") for url, why in sorted(failed.items())[:10]]
            with Progress("writing", len(self.read.questions), "questions") as progress:
                for batch in _batches(self._items(writer, Path(folder)), _BATCH):
                    for split in dict.fromkeys(one.split for one, _, _ in batch):
                        found = [item for one, item, _ in batch if one.split == split]
                        writer.add_items(split, found, public_tags=() if split in self.secret else PUBLIC_TAGS)
                    writer.add_panels(self._new(panel for _, _, panels in batch for panel in panels))
                    progress.advance(len(batch))
        if self.finder.addresses:
            notes.append(
                f"{len(self.finder.addresses):,} pictures are addresses, which are kept and were not fetched (--fetch)."
            )
        return notes

    def _new(self, panels: Iterator[Panel]) -> list[Panel]:
        out = {panel.id: panel for panel in panels if panel.id not in self.known}
        self.known |= out.keys()
        return list(out.values())

    def _cells(self) -> Iterator[tuple[TableQuestion, list[Any]]]:
        """Every question with its cells of pictures, in the table's order."""
        wanted = {(one.file, one.number): one for one in self.read.questions}
        for file, table in enumerate(self.files):
            for number, row in table.rows() if self.roles.images else ():
                if (one := wanted.get((file, number))) is not None and not isinstance(row, str):
                    yield one, [row.get(name) for name in self.roles.images]
        if not self.roles.images:
            yield from ((one, []) for one in self.read.questions)

    def _addresses(self) -> list[str]:
        out: list[str] = []
        for _, found in self._cells():
            try:
                out += addresses_in(found, self.finder)
            except BadCell:
                continue  # reported where it is read
        return out

    def _items(self, writer: BenchmarkWriter, folder: Path) -> Iterator[tuple[TableQuestion, Item, list[Panel]]]:
        """Public questions in the table's order; then hidden ones in theirs, whose pictures wait in a folder."""

        def wait(data: bytes) -> str:
            address = content_address(data)
            (folder / address).write_bytes(data)
            return address

        waiting: dict[str, list[Panel]] = {}
        for one, found in self._cells():
            try:
                panels = self.finder.panels(found, wait if one.split in self.secret else writer.add_image)
            except BadCell as error:
                file = self.files[one.file]
                fix = (
                    f"Give the folder of pictures with --images, import without them (--image {NONE}), or --keep-going."
                )
                self.problems.found(file.name, one.number, str(error), fix, file.unit)
                continue
            if one.split in self.secret:
                waiting[one.id] = panels
            else:
                yield one, one.item(self.read.task, panels), panels
        for one in self.read.questions:
            if one.id in waiting:
                for panel in waiting[one.id]:
                    if panel.image is not None:
                        writer.add_image((folder / panel.image).read_bytes())
                yield one, one.item(self.read.task, waiting[one.id]), waiting[one.id]


def _batches(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while batch := list(islice(items, size)):
        yield batch
