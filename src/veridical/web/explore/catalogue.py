"""One scheme for DuckDB: items as sets of facets, filtered and counted in memory, read from the Parquet files.

A narrow table holds, of each item, its place, the text that is searched, and the numbers of its (facet, value) pairs; a
filter is a scan of it. Whole items, panels and judgements stay in the benchmark's files and are read row by row. What
belongs to an item and is no item of its own (a rationale) is found through its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark, tables
from veridical.benchmark.item import BenchmarkItem
from veridical.errors import UserError
from veridical.records import Judgement, Panel
from veridical.web.explore.facets import FacetTable, split_facets
from veridical.web.explore.filters import ItemFilter
from veridical.web.explore.findings import ItemFinding
from veridical.web.explore.solvers import ExploredSolver

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "256MB"  # that DuckDB may take
REMEMBERED = 64  # counted filters
_WORDS = "array_to_string(list_transform({0}.tokens, lambda one: one.word), ' ')"
_TEXT = f"CASE WHEN len({{0}}.tokens) > 0 THEN {_WORDS} ELSE {{0}}.raw END"


@dataclass(frozen=True)
class Counted:
    """How many items a filter keeps, and of each pair of a facet and a value."""

    items: int
    pairs: dict[int, int]


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
        self._connection = _connect()
        with _in_words(benchmark.directory):
            checks = sorted({one.check for found in (findings or {}).values() for one in found})
            self.facets = FacetTable(benchmark, scheme, solvers, self._tags(), checks)
            self._load(solvers, findings or {})

    def shows_answers(self, split: str) -> bool:
        """Whether the answers of a split may be shown, if they are known."""
        return self.hidden or not self.benchmark.is_hidden(split)

    # --- loading -----------------------------------------------------------------------------------------------------

    def _source(self, split: str) -> str:
        """A split's items as DuckDB reads them: its file, or, with hidden answers filled in, a table of its own."""
        if not (self.hidden and self.benchmark.is_hidden(split)):
            path = self.benchmark.trusted(self.benchmark.directory / f"items-{self.scheme}-{split}.parquet")
            return f"read_parquet({_quoted(path)}, file_row_number = true)"
        name = f"revealed_{self.splits.index(split)}"
        if not self._rows("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [name]):
            table = self.benchmark.items_table(split, self.scheme, answers=True)
            numbered = table.append_column("file_row_number", pa.array(np.arange(len(table))))
            self._connection.register("arrow", numbered)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
            self._connection.unregister("arrow")
        return name

    def _tags(self) -> list[tuple[str, str]]:
        """Every tag that an item has."""
        each = " UNION ALL ".join(f"SELECT unnest(tags) AS tag FROM {self._source(split)}" for split in self.splits)
        return self._rows(f"SELECT DISTINCT tag.name, tag.value FROM ({each}) ORDER BY ALL") if each else []

    def _load(self, solvers: Sequence[ExploredSolver], findings: dict[str, list[ItemFinding]]) -> None:
        own = self._connection
        own.execute("CREATE TABLE items (number INTEGER, split INTEGER, row INTEGER, id VARCHAR, text VARCHAR,"
                    " pairs INTEGER[])")  # fmt: skip
        own.execute("CREATE TABLE children (parent VARCHAR, split INTEGER, row INTEGER, given INTEGER)")
        own.register("tag_pairs", self.facets.tag_pairs())
        base = 0
        for place, split in enumerate(self.splits):
            source = self._source(split)
            table = self.benchmark.items_table(split, self.scheme, ["id", "answer"], answers=self.hidden)
            if not self.shows_answers(split):  # whatever the file says
                table = table.set_column(1, "answer", pa.nulls(len(table), pa.int8()))
            known = findings if self.shows_answers(split) else {}
            marked = split_facets(self.facets, split, table, solvers, known)
            own.register("marked", marked)
            own.execute(self._insert(place, base, source, len(marked.column_names) - 2))
            own.execute(f"INSERT INTO children SELECT parent, {place}, file_row_number, given FROM {source}"
                        " WHERE parent IS NOT NULL")  # fmt: skip
            own.unregister("marked")
            base += len(table)
        own.unregister("tag_pairs")

    def _insert(self, place: int, base: int, source: str, marks: int) -> str:
        texts = ["id", _TEXT.format("query")]
        if self.benchmark.task == "choice":
            texts.append(f"array_to_string(list_transform(candidates, lambda c: {_TEXT.format('c')}), ' ')")
        single = ", ".join(f"m{number}" for number in range(marks))
        return f"""
            INSERT INTO items
            SELECT {base} + own.row, {place}, own.row, id, text,
                list_concat(list_concat(tagged.pairs, list_filter([{single}], lambda p: p >= 0)), marked.found)
            FROM (
                SELECT file_row_number AS row, id, lower(concat_ws(' ', {", ".join(texts)})) AS text
                FROM {source} WHERE parent IS NULL
            ) AS own
            LEFT JOIN (
                SELECT row, list(DISTINCT pair) AS pairs
                FROM (SELECT file_row_number AS row, unnest(tags) AS tag FROM {source})
                JOIN tag_pairs ON tag.name = tag_pairs.name AND tag.value = tag_pairs.value
                GROUP BY row
            ) AS tagged ON own.row = tagged.row
            JOIN marked ON own.row = marked.row
            ORDER BY own.row"""

    # --- filtering ---------------------------------------------------------------------------------------------------

    def _where(self, wanted: ItemFilter) -> tuple[str, list[Any]]:
        conditions: list[str] = ["true"]
        values: list[Any] = []
        for facet, chosen in wanted.chosen:
            known = [pair for one in chosen if (pair := self.facets.pair(facet, one)) is not None]
            if len(known) == 1:
                conditions.append("list_contains(pairs, ?)")
                values.append(known[0])
            else:
                conditions.append("list_has_any(pairs, ?::INTEGER[])")
                values.append(known)
        for word in wanted.words:
            conditions.append("contains(text, lower(?))")
            values.append(word)
        return " AND ".join(conditions), values

    def count(self, wanted: ItemFilter) -> Counted:
        """How many items of each value of each facet; of a facet that is chosen from, as if it were not."""
        with self._lock:
            if wanted in self._counted:
                return self._counted[wanted]
        where, values = self._where(wanted)
        items = int(self._rows(f"SELECT count(*) FROM items WHERE {where}", values)[0][0])
        pairs = self._pair_counts(wanted)
        for facet in wanted.facets:
            others = self._pair_counts(wanted.without(facet))
            mine = set(self.facets.numbers(facet))
            pairs = {p: n for p, n in pairs.items() if p not in mine} | {p: n for p, n in others.items() if p in mine}
        made = Counted(items, pairs)
        with self._lock:
            self._counted[wanted] = made
            while len(self._counted) > REMEMBERED:
                del self._counted[next(iter(self._counted))]
        return made

    def _pair_counts(self, wanted: ItemFilter) -> dict[int, int]:
        where, values = self._where(wanted)
        inner = f"SELECT unnest(pairs) AS pair FROM items WHERE {where}"
        return dict(self._rows(f"SELECT pair, count(*) FROM ({inner}) GROUP BY pair", values))

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

    def pairs_of(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """The numbers of all that some items are."""
        query = "SELECT number, pairs FROM items WHERE list_contains(?::INTEGER[], number)"
        return dict(self._rows(query, [list(numbers)]))

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
        query = "SELECT number, split, row FROM items WHERE list_contains(?::INTEGER[], number)"
        return {n: Place(n, self.splits[split], row) for n, split, row in self._rows(query, [list(numbers)])}

    def items(self, places: Iterable[Place]) -> dict[tuple[str, int], BenchmarkItem]:
        """Whole items, by split and row."""
        wanted: dict[str, list[int]] = {}
        for one in places:
            wanted.setdefault(one.split, []).append(one.row)
        return {key: item for split, rows in wanted.items() for key, item in self._read(split, rows)}

    def _read(self, split: str, rows: Sequence[int]) -> Iterator[tuple[tuple[str, int], BenchmarkItem]]:
        among = ", ".join(str(int(row)) for row in rows)
        names = ", ".join(f'"{name}"' for name in tables.ITEMS.names)
        query = f"SELECT {names}, file_row_number FROM {self._source(split)} WHERE file_row_number IN ({among})"
        found = self._table(query)
        places = found["file_row_number"].to_pylist()
        values = tables.item_values(self._checked(found.drop_columns("file_row_number"), tables.ITEMS))
        for row, one in zip(places, values, strict=True):
            if not self.shows_answers(split):
                one |= {"answer": None, "program": None}
            yield (split, row), BenchmarkItem.of(self.benchmark, **one)

    def children(self, name: str) -> dict[int, Place]:
        """The rationale items of a question, by the answer that they assume."""
        query = "SELECT given, split, row FROM children WHERE parent = ? ORDER BY given"
        return {given: Place(-1, self.splits[split], row) for given, split, row in self._rows(query, [name])}

    def panels(self, names: Sequence[str]) -> list[Panel]:
        """Panels by their ids."""
        folders = [self.benchmark.directory, *([self.benchmark.hidden_directory] if self.hidden else [])]
        return [one for folder in folders for one in self._panels(folder / "panels.parquet", names)]

    def _panels(self, path: Path, names: Sequence[str]) -> Iterator[Panel]:
        found = self._named(path, "id", names)
        return iter(()) if found is None else tables.panels_from(self._checked(found, tables.PANELS))

    def judgements(self, name: str) -> list[Judgement]:
        """What people said about an item, where that may be shown."""
        folders = [self.benchmark.directory, *([self.benchmark.hidden_directory] if self.hidden else [])]
        found = [self._named(folder / "judgements.parquet", "item", [name]) for folder in folders]
        checked = (self._checked(one, tables.JUDGEMENTS) for one in found if one is not None)
        return [one for table in checked for one in tables.judgements_from(table)]

    def _named(self, path: Path, column: str, names: Sequence[str]) -> pa.Table | None:
        """The rows of a file that are about some names; None where there is no such file."""
        if not path.is_file() or not names:
            return None
        marks = ", ".join("?" for _ in names)
        source = f"read_parquet({_quoted(self.benchmark.trusted(path))})"
        return self._table(f"SELECT * FROM {source} WHERE {column} IN ({marks})", list(names))

    def _checked(self, found: pa.Table, schema: pa.Schema) -> pa.Table:
        try:
            return tables.check_table(found, schema)
        except (ValueError, pa.ArrowException) as error:
            raise _damaged(self.benchmark.directory, error) from None

    @cached_property
    def everything(self) -> ItemFilter:
        return ItemFilter(self.scheme)

    # --- DuckDB ------------------------------------------------------------------------------------------------------

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with _in_words(self.benchmark.directory), self._connection.cursor() as cursor:
            return cursor.execute(query, list(values)).fetchall()

    def _table(self, query: str, values: Sequence[Any] = ()) -> pa.Table:
        with _in_words(self.benchmark.directory), self._connection.cursor() as cursor:
            return cursor.sql(query, params=list(values)).to_arrow_table()


def _connect() -> DuckDBPyConnection:
    import duckdb

    settings: dict[str, Any] = {
        "threads": 2,
        "memory_limit": MEMORY,
        "temp_directory": "",
        "autoinstall_known_extensions": False,
    }
    return duckdb.connect(":memory:", config=settings)


def _quoted(path: Path) -> str:
    """A path for DuckDB, in which nothing is a pattern."""
    text = str(path).replace("'", "''")
    return "'" + "".join(f"[{c}]" if c in "*?[" else c for c in text) + "'"


@contextmanager
def _in_words(directory: Path) -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise _damaged(directory, error) from None


def _damaged(directory: Path, error: Exception) -> UserError:
    said = str(error).splitlines()[0]
    return UserError(f"{directory} cannot be read: {said}", "Run `veridical check` on it, then build it again.")
