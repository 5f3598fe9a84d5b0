"""One scheme for DuckDB: the items of the Parquet files with their facets, filtered, counted and read.

A narrow table holds, of each item, its place, the text that is searched, and a column for each facet; a filter is a
scan of it. Whole items and panels are read row by row from a shelf. What belongs to an
item and is no item of its own (a rationale) is found through its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark, tables
from veridical.benchmark.item import BenchmarkItem
from veridical.records import Judgement, Panel
from veridical.web.explore.facets import FacetTable, Tag, split_facets
from veridical.web.explore.filters import ItemFilter
from veridical.web.explore.findings import ItemFinding
from veridical.web.explore.queries import TEXT, connect, in_words, listed, literal, quoted, tag_column, unnested, worded
from veridical.web.explore.shelf import Shelf
from veridical.web.explore.solvers import ExploredSolver

REMEMBERED = 64  # counted filters


@dataclass(frozen=True)
class Counted:
    """How many items a filter keeps, and of each value of each facet; of a chosen facet, as if it were not chosen."""

    items: int
    values: dict[str, dict[int, int]]  # facet -> place of the value -> items


@dataclass(frozen=True)
class Place:
    """Where an item is."""

    number: int  # over all splits
    split: str
    row: int  # of the split's file


class Catalogue:
    """The items of one scheme."""

    def __init__(
        self,
        benchmark: Benchmark,
        scheme: str,
        solvers: Sequence[ExploredSolver] = (),
        findings: dict[str, list[ItemFinding]] | None = None,
        hidden: bool = False,
    ) -> None:
        self.benchmark, self.scheme, self.hidden = benchmark, scheme, hidden
        self.splits = benchmark.splits_of(scheme)
        self._counted: dict[ItemFilter, Counted] = {}
        self._lock = Lock()
        self._folder = TemporaryDirectory(prefix="veridical-show-")
        self._connection = connect(self._folder.name)
        with in_words(benchmark.directory):
            self._items = {split: self._shelved(split) for split in self.splits}
            self._panels = [self._shelved_panels(place, folder) for place, folder in enumerate(self._folders)]
            checks = sorted({one.check for found in (findings or {}).values() for one in found})
            self.facets = FacetTable(benchmark, scheme, solvers, self._tags(), checks)
            self._load(solvers, findings or {})

    def shows_answers(self, split: str) -> bool:
        """Whether the answers of a split may be shown, if they are known."""
        return self.hidden or not self.benchmark.is_hidden(split)

    # --- loading -----------------------------------------------------------------------------------------------------

    def _source(self, split: str) -> str:
        """A split's items as DuckDB reads them: its file, or, with hidden answers filled in, a table of its own."""
        if not self._reveals(split):
            return f"read_parquet({quoted(self._path(split))}, file_row_number = true)"
        return f"revealed_{self.splits.index(split)}"

    def _reveals(self, split: str) -> bool:
        return self.hidden and self.benchmark.is_hidden(split)

    def _path(self, split: str) -> Path:
        return self.benchmark.trusted(self.benchmark.directory / f"items-{self.scheme}-{split}.parquet")

    def _shelved(self, split: str) -> Shelf:
        """A split's items, row by row."""
        path = Path(self._folder.name) / f"items-{self.splits.index(split)}"
        if not self._reveals(split):
            return Shelf.of_file(path, tables.ITEMS, self._path(split))
        table = self.benchmark.items_table(split, self.scheme, answers=True)
        self._connection.register("arrow", table.append_column("file_row_number", pa.array(np.arange(len(table)))))
        self._connection.execute(f"CREATE TABLE {self._source(split)} AS SELECT * FROM arrow")
        self._connection.unregister("arrow")
        return Shelf.of_table(path, table)

    @property
    def _folders(self) -> list[Path]:
        """Where panels and judgements are: what is hidden comes last."""
        return [self.benchmark.directory, *([self.benchmark.hidden_directory] if self.hidden else [])]

    def _shelved_panels(self, place: int, folder: Path) -> Shelf | None:
        """A folder's panels, row by row, and where each is."""
        path = self.benchmark.trusted(folder / "panels.parquet")
        self._connection.execute(f"CREATE TABLE panels_{place} (id VARCHAR, row INTEGER)")
        if not path.is_file():
            return None
        source = f"read_parquet({quoted(path)}, file_row_number = true)"
        self._connection.execute(f"INSERT INTO panels_{place} SELECT id, file_row_number FROM {source}")
        return Shelf.of_file(Path(self._folder.name) / f"panels-{place}", tables.PANELS, path)

    def _tags(self) -> list[Tag]:
        """Every tag that an item has, with its values."""
        each = " UNION ALL ".join(f"SELECT unnest(tags) AS tag FROM {self._source(split)}" for split in self.splits)
        names = "list_transform(tags, lambda t: t.name)"  # only where one has several values is it asked which
        doubtful = " UNION ALL ".join(
            f"SELECT DISTINCT {place} AS split, file_row_number AS row, unnest(list_distinct(tags)) AS tag"
            f" FROM {self._source(split)} WHERE len(list_distinct(tags)) > len(list_distinct({names}))"
            for place, split in enumerate(self.splits)
        )
        several = f"""SELECT DISTINCT name FROM (SELECT tag.name AS name FROM ({doubtful})
            GROUP BY split, row, tag.name HAVING count(*) > 1)"""
        many = {name for (name,) in self._rows(several)}
        values: dict[str, list[str]] = {}
        for name, value in self._rows(f"SELECT DISTINCT tag.name, tag.value FROM ({each}) ORDER BY ALL"):
            values.setdefault(name, []).append(value)
        return [Tag(name, tuple(own), name in many) for name, own in values.items()]

    def _load(self, solvers: Sequence[ExploredSolver], findings: dict[str, list[ItemFinding]]) -> None:
        own = self._connection
        columns = ", ".join(f"{one.column} INTEGER{'[]' if one.several else ''}" for one in self.facets)
        own.execute(
            f"CREATE TABLE items (number INTEGER, split INTEGER, row INTEGER, id VARCHAR, text VARCHAR, {columns})"
        )
        own.execute("CREATE TABLE children (parent VARCHAR, split INTEGER, row INTEGER, given INTEGER)")
        own.execute(self._names())
        for facet in self.facets:
            if facet.tag is not None:  # an ENUM knows the places of its values
                values = ", ".join(map(literal, facet.values))
                own.execute(f"CREATE TYPE values_{facet.column} AS ENUM ({values})")
        base = 0
        for place, split in enumerate(self.splits):
            source = self._source(split)
            table = self.benchmark.items_table(split, self.scheme, ["id", "answer"], answers=self.hidden)
            if not self.shows_answers(split):  # whatever the file says
                table = table.set_column(1, "answer", pa.nulls(len(table), pa.int8()))
            known = findings if self.shows_answers(split) else {}
            own.register("marked", split_facets(self.facets, split, table, solvers, known))
            own.execute(self._insert(place, base, source))
            below = f"SELECT parent, {place}, file_row_number, given FROM {source} WHERE parent IS NOT NULL"
            own.execute(f"INSERT INTO children {below}")
            own.unregister("marked")
            base += len(table)
        own.execute("DROP TABLE named")

    def _names(self) -> str:
        """Of each panel, what texts call its objects: `records.object_names`. Only choices name objects, each of one
        panel."""
        columns = "CREATE TABLE named (panel VARCHAR, names MAP(VARCHAR, VARCHAR))"
        path = self.benchmark.directory / "panels.parquet"
        if self.benchmark.task != "choice" or not path.is_file():
            return columns
        return f"""{columns};
            INSERT INTO named SELECT panel, map(list(object), list(name)) FROM (
                SELECT panel, one.id AS object,
                    one.category || row_number() OVER (PARTITION BY panel, one.category ORDER BY place) AS name
                FROM (SELECT id AS panel, unnest(objects) AS one, generate_subscripts(objects, 1) AS place
                    FROM read_parquet({quoted(self.benchmark.trusted(path))}))
            ) GROUP BY panel"""

    def _insert(self, place: int, base: int, source: str) -> str:
        texts = ["id", TEXT.format("query")]
        if self.benchmark.task == "choice":
            texts.append(f"array_to_string(list_transform(candidates, lambda c: {TEXT.format('c')}), ' ')")
        values = ", ".join(f"marked.{one.column}" if one.tag is None else tag_column(one) for one in self.facets)
        return f"""
            INSERT INTO items
            SELECT {base} + file_row_number, {place}, file_row_number, id,
                lower(concat_ws(' ', {", ".join(texts)})), {values}
            FROM {source} POSITIONAL JOIN marked LEFT JOIN named ON panels[1] = named.panel WHERE parent IS NULL"""

    # --- filtering ---------------------------------------------------------------------------------------------------

    def _where(self, wanted: ItemFilter) -> tuple[str, list[Any]]:
        """The condition of a filter, and the words in it."""
        return f"{self._chosen(wanted)} AND {worded(wanted)}", list(wanted.words)

    def _chosen(self, wanted: ItemFilter) -> str:
        conditions = ["true"]
        for name, chosen in wanted.chosen:
            facet = self.facets.facets.get(name)
            known = [str(code) for one in chosen if (code := self.facets.code(name, one)) is not None]
            if facet is None or not known:
                conditions.append("false")
            elif facet.several:
                conditions.append(f"list_has_any({facet.column}, [{', '.join(known)}])")
            else:
                conditions.append(f"{facet.column} IN ({', '.join(known)})")
        return " AND ".join(conditions)

    def count(self, wanted: ItemFilter) -> Counted:
        """How many items a filter keeps, and what they are; the last answers are remembered."""
        with self._lock:
            if wanted in self._counted:
                return self._counted[wanted]
        made = self._count(wanted)
        with self._lock:
            self._counted[wanted] = made
            while len(self._counted) > REMEMBERED:
                del self._counted[next(iter(self._counted))]
        return made

    def _count(self, wanted: ItemFilter) -> Counted:
        """All of it in one query, so that texts are searched once."""
        columns = ", ".join(one.column for one in self.facets)
        found = f"SELECT {columns} FROM items WHERE {worded(wanted)}"
        kept = f"SELECT {columns} FROM found WHERE {self._chosen(wanted)}"
        each = ["SELECT -1, 0, count(*) FROM kept"]
        facets = list(self.facets)
        for place, one in enumerate(facets):
            among = "kept"
            if one.name in wanted.facets:
                among = f"(SELECT {one.column} FROM found WHERE {self._chosen(wanted.without(one.name))})"
            each.append(
                f"SELECT {place}, code, count(*) FROM (SELECT {unnested(one)} AS code FROM {among}) GROUP BY code"
            )
        once = "MATERIALIZED" if wanted.words else "NOT MATERIALIZED"
        query = f"WITH found AS {once} ({found}), kept AS MATERIALIZED ({kept}) {' UNION ALL '.join(each)}"
        items, values = 0, {one.name: dict[int, int]() for one in facets}
        for place, code, count in self._rows(query, wanted.words):
            if place < 0:
                items = count
            elif code is not None:
                values[facets[place].name][code] = count
        return Counted(items, values)

    def numbers(self, wanted: ItemFilter, limit: int, offset: int = 0) -> list[int]:
        """Some of the items that a filter keeps, in the order of the files."""
        where, values = self._where(wanted)
        query = f"SELECT number FROM items WHERE {where} ORDER BY number LIMIT ? OFFSET ?"
        return [number for (number,) in self._rows(query, [*values, limit, offset])]

    def sample(self, wanted: ItemFilter, count: int) -> list[int]:
        """So many of the items that a filter keeps, evenly spread."""
        where, values = self._where(wanted)
        kept = [number for (number,) in self._rows(f"SELECT number FROM items WHERE {where} ORDER BY number", values)]
        return [kept[k] for k in np.unique(np.linspace(0, len(kept) - 1, min(count, len(kept))).round().astype(int))]

    def values_of(self, numbers: Sequence[int]) -> dict[int, dict[str, list[int]]]:
        """What some items are: the places of their values of each facet."""
        columns = ", ".join(one.column for one in self.facets)
        out = {}
        for number, *own in self._rows(f"SELECT number, {columns} FROM items WHERE number IN ({listed(numbers)})"):
            found = zip(self.facets, own, strict=True)
            out[number] = {f.name: [] if v is None else v if f.several else [v] for f, v in found}
        return out

    def beside(self, wanted: ItemFilter, number: int) -> tuple[str | None, str | None, int]:
        """The ids of the item before and the item after one, within a filter, and how many come before it."""
        where, values = self._where(wanted)
        query = f"""SELECT arg_max(id, number) FILTER (number < ?), arg_min(id, number) FILTER (number > ?),
                count(*) FILTER (number < ?) FROM items WHERE {where}"""
        before, after, earlier = self._rows(query, [number, number, number, *values])[0]
        return before, after, earlier

    # --- reading -----------------------------------------------------------------------------------------------------

    def place(self, name: str) -> Place | None:
        """Where the item of an id is; of a rationale, its question."""
        own = "SELECT number, split, row FROM items WHERE id = ?"
        found = self._rows(own, [name]) or [
            one
            for place, split in enumerate(self.splits)
            for (parent,) in self._rows(
                f"SELECT parent FROM {self._source(split)} WHERE id = ? AND parent IS NOT NULL"
                f" AND {place} IN (SELECT split FROM children)", [name]
            )
            for one in self._rows(own, [parent])
        ]  # fmt: skip
        return None if not found else Place(found[0][0], self.splits[found[0][1]], found[0][2])

    def places(self, numbers: Sequence[int]) -> dict[int, Place]:
        query = f"SELECT number, split, row FROM items WHERE number IN ({listed(numbers)})"
        return {n: Place(n, self.splits[split], row) for n, split, row in self._rows(query)}

    def items(self, places: Iterable[Place]) -> dict[tuple[str, int], BenchmarkItem]:
        """Whole items, by split and row."""
        wanted: dict[str, list[int]] = {}
        for one in places:
            wanted.setdefault(one.split, []).append(one.row)
        return {key: item for split, rows in wanted.items() for key, item in self._read(split, rows)}

    def _read(self, split: str, rows: Sequence[int]) -> Iterator[tuple[tuple[str, int], BenchmarkItem]]:
        with in_words(self.benchmark.directory):
            found = self._items[split].take(rows)
        for row, one in zip(rows, tables.item_values(found), strict=True):
            if not self.shows_answers(split):
                one |= {"answer": None, "program": None}
            yield (split, row), BenchmarkItem.of(self.benchmark, **one)

    def children(self, name: str) -> dict[int, Place]:
        """The rationale items of a question, by the answer that they assume."""
        query = "SELECT given, split, row FROM children WHERE parent = ? ORDER BY given"
        return {given: Place(-1, self.splits[split], row) for given, split, row in self._rows(query, [name])}

    def panels(self, names: Sequence[str]) -> list[Panel]:
        """Panels by their ids; with hidden objects, where they may be shown, last."""
        out: list[Panel] = []
        for place, shelf in enumerate(self._panels):
            query = f"SELECT row FROM panels_{place} WHERE id IN (SELECT unnest(?::VARCHAR[])) ORDER BY row"
            rows = [row for (row,) in self._rows(query, [list(names)])] if shelf is not None else []
            if shelf is not None and rows:
                with in_words(self.benchmark.directory):
                    out += tables.panels_from(shelf.take(rows))
        return out

    def judgements(self, name: str) -> list[Judgement]:
        """What people said about an item, where that may be shown."""
        found = [self._named(folder / "judgements.parquet", "item", name) for folder in self._folders]
        return [one for table in found if table is not None for one in tables.judgements_from(table)]

    def _named(self, path: Path, column: str, name: str) -> pa.Table | None:
        """The rows of a file of judgements that are about a name; None where there is no such file."""
        if not path.is_file():
            return None
        source = f"read_parquet({quoted(self.benchmark.trusted(path))})"
        with in_words(self.benchmark.directory):
            found = self._table(f"SELECT * FROM {source} WHERE {column} = ?", [name])
            return tables.check_table(found, tables.JUDGEMENTS)

    @cached_property
    def everything(self) -> ItemFilter:
        return ItemFilter(self.scheme)

    # --- DuckDB ------------------------------------------------------------------------------------------------------

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with in_words(self.benchmark.directory), self._connection.cursor() as cursor:
            return cursor.execute(query, list(values)).fetchall()

    def _table(self, query: str, values: Sequence[Any] = ()) -> pa.Table:
        with in_words(self.benchmark.directory), self._connection.cursor() as cursor:
            return cursor.sql(query, params=list(values)).to_arrow_table()
