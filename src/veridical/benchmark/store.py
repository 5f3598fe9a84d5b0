"""Reading a benchmark: items and panels as tables or records, images as zero-copy slices of memory-mapped files.

A benchmark is a folder with a manifest; `Benchmark.hash` (of the manifest, which holds the hash of every file) names
its exact content, and predictions and models carry it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veridical.benchmark import tables
from veridical.benchmark.item import BenchmarkItem
from veridical.benchmark.manifest import HiddenManifest, PublicManifest, read_manifest, refuse_odd_names
from veridical.benchmark.place import HIDDEN_MANIFEST, MANIFEST, hidden_dir
from veridical.benchmark.writer import FORMAT, IMAGES
from veridical.common import addresses
from veridical.common.files import Json, refuse_endless
from veridical.common.result import Table, html
from veridical.errors import MOST_NAME, UserError, shortened
from veridical.options import several
from veridical.records import Item, Judgement, Panel

if TYPE_CHECKING:
    import pandas as pd

# What shows a benchmark; by name, because pages are made of benchmarks and not the other way round.
EXPLORE = "veridical.web.explore.server:explore"


class Benchmark:
    """A benchmark on disk, opened for reading.

    It is the sequence of its items (`len`, iteration, `benchmark["an id"]`), and may stand wherever the path of its
    folder may.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        given: str | os.PathLike[str] = directory.address if isinstance(directory, Benchmark) else directory
        remote = addresses.is_address(given)
        self.address: str = addresses.spelled(given) if remote else os.path.abspath(given)  # by which others open it
        self.directory = addresses.fetch(self.address, MANIFEST) if remote else Path(self.address)
        path = self.directory / MANIFEST
        if not path.is_file():
            raise UserError(
                f"{self.directory} is not a benchmark: it has no {MANIFEST}.",
                "Make one with `veridical import` or `veridical build`.",
            )
        text = path.read_bytes()
        self.hash = hashlib.sha256(text).hexdigest()
        self.manifest = read_manifest(path, text, PublicManifest)
        if self.manifest["format"] != FORMAT:
            raise UserError(
                f"{path} has format {self.manifest['format']!r}; this version of veridical reads format {FORMAT}.",
                "Install the matching version of veridical, or build the benchmark again.",
            )
        refuse_odd_names(path, self.manifest)
        self._distrusted: frozenset[str] = frozenset()
        self._tables: dict[tuple[str, str], pa.Table] = {}  # of the splits that items were taken from by id

    def __reduce__(self) -> tuple[type[Benchmark], tuple[str]]:  # another process opens it anew
        return Benchmark, (self.address,)

    def distrust(self, names: Iterable[str]) -> None:
        """Look into none of these files any more: their content is not what the manifest says."""
        self._distrusted |= frozenset(names)

    @property
    def name(self) -> str:
        return str(self.manifest["name"])

    @property
    def task(self) -> str:
        return str(self.manifest["task"])

    @property
    def hidden_directory(self) -> Path:
        return hidden_dir(self.directory)

    def hidden_manifest(self) -> Json | None:
        """What the hidden folder says of itself; None where it is not here."""
        path = self.hidden_directory / HIDDEN_MANIFEST
        return read_manifest(path, path.read_bytes(), HiddenManifest) if path.is_file() else None

    def own_hidden_manifest(self) -> Json:
        """The same; an error where the folder is not here, or was written with another build."""
        found = self.hidden_manifest()
        if found is None or found["benchmark"] != self.hash:
            which = "is not here" if found is None else "belongs to another build of this benchmark"
            fix = "Put the hidden folder that was written together with the benchmark beside it."
            if addresses.is_address(self.address):
                fix = f"Use `veridical copy {self.address} --out DIR`, and put the answers into DIR.hidden."
            raise UserError(f"{self.hidden_directory}, which holds the answers, {which}.", fix)
        return found

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(sorted(self.manifest["counts"]["items"]))

    @property
    def scheme(self) -> str:
        """The scheme that is meant where none is named: main, the only one, or the first."""
        return "main" if "main" in self.schemes or not self.schemes else self.schemes[0]

    def certain_scheme(self, scheme: str | None) -> str:
        """A scheme; where none is named, or main is and there is none, the only one; several are an error."""
        if scheme not in (None, "main") or "main" in self.schemes:
            return scheme or "main"
        if len(self.schemes) > 1:
            raise UserError(
                f"{self.name} has {len(self.schemes)} schemes of splits.",
                f"Say which with --scheme, one of: {', '.join(self.schemes)}.",
            )
        return self.scheme

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of its scheme, in alphabetical order."""
        return self.splits_of(self.scheme)

    def splits_of(self, scheme: str) -> tuple[str, ...]:
        """The splits of a scheme, in alphabetical order."""
        if scheme not in self.manifest["counts"]["items"]:
            raise UserError(f"{self.name} has no scheme {scheme!r}.", f"It has: {', '.join(self.schemes)}.")
        return tuple(sorted(self.manifest["counts"]["items"][scheme]))

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Every scheme with each of its splits."""
        return [(scheme, split) for scheme in self.schemes for split in self.splits_of(scheme)]

    def is_hidden(self, split: str) -> bool:
        return split in self.manifest["hidden"]

    def items_table(
        self, split: str, scheme: str | None = None, columns: Sequence[str] | None = None, answers: bool = False
    ) -> pa.Table:
        """Items of a split. With `answers`, the answers of a hidden split are filled in from `DIR.hidden`."""
        scheme, want = scheme or self.scheme, None if columns is None else list(columns)
        if split not in self.splits_of(scheme):
            raise UserError(
                f"{self.name} has no split {split!r} in scheme {scheme!r}.",
                f"It has: {', '.join(self.splits_of(scheme))}.",
            )
        table = self._read(self.directory / f"items-{scheme}-{split}.parquet", tables.ITEMS, want)
        if answers and self.is_hidden(split):
            ids = table["id"] if "id" in table.column_names else self.items_table(split, scheme, ["id"])["id"]
            table = self._reveal(table, ids, split, scheme)
        return table

    def items(
        self, split: str | None = None, scheme: str | None = None, answers: bool = False
    ) -> Iterator[BenchmarkItem]:
        """Items of a split (left out: the only one) as records; what their fields say together is checked."""
        scheme = scheme or self.scheme
        names = (split,) if split is not None else self.splits_of(scheme)
        if len(names) != 1:
            problem = f"{self.name} has {len(names)} splits: say whose items."
            raise UserError(problem, f"It has: {', '.join(names)}. The benchmark itself goes through all of them.")
        return self._items_of(self._lawful(names[0], scheme, answers))

    def _lawful(self, split: str, scheme: str, answers: bool = False) -> pa.Table:
        """Whole items, of which nobody who has them need ask whether their fields fit together."""
        table = self.items_table(split, scheme, answers=answers)
        try:
            tables.check_laws(table, self.task)
        except ValueError as error:
            raise _damaged(self.directory / f"items-{scheme}-{split}.parquet", error) from None
        return table

    def _items_of(self, table: pa.Table) -> Iterator[BenchmarkItem]:
        return (BenchmarkItem.of(self, **values) for values in tables.item_values(table))

    def __len__(self) -> int:
        return sum(self.manifest["counts"]["items"].get(self.scheme, {}).values())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[BenchmarkItem]:
        return (item for split in self.splits for item in self.items(split, self.scheme))

    def __contains__(self, name: object) -> bool:
        name = name.id if isinstance(name, Item) else name
        return isinstance(name, str) and name in self._item_places

    def __getitem__(self, name: str) -> BenchmarkItem:
        """The item of an id."""
        place = self._item_places.get(name) if isinstance(name, str) else None
        if place is None:
            near = get_close_matches(str(name), list(self._item_places), 1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            fix = "Items are taken by id, one at a time: look at `benchmark.splits` and `benchmark.frame(split)`. "
            fix += "Several by their places: `list(benchmark)[0:3]`."
            raise UserError(f"{self.name} has no item {name!r}.{meant}", fix)
        scheme, split, row = place
        if (scheme, split) not in self._tables:
            self._tables[scheme, split] = self._lawful(split, scheme)
        return next(self._items_of(self._tables[scheme, split].slice(row, 1)))

    def frame(self, split: str | None = None, scheme: str | None = None) -> pd.DataFrame:
        """Items as a table of pandas, by id: text, choices, answer, group and tags.

        Args:
            split: Of one split only.
            scheme: The scheme of splits; left out: main, the only one, or the first.
        """
        from veridical.benchmark.frame import frame

        scheme = scheme or self.scheme
        wanted = self.splits_of(scheme) if split is None else (split,)
        return frame((name, self.items(name, scheme)) for name in wanted)

    @cached_property
    def _item_places(self) -> dict[str, tuple[str, str, int]]:
        """Scheme, split and row of every item; of those in several schemes, in the scheme that is meant."""
        parts = sorted(self.parts, key=lambda part: part[0] == self.scheme)
        ids = ((part, self.items_table(part[1], part[0], ["id"])["id"].to_pylist()) for part in parts)
        return {name: (*part, row) for part, names in ids for row, name in enumerate(names)}

    def __fspath__(self) -> str:
        return str(self.directory)

    def __repr__(self) -> str:
        return f"Benchmark({str(self.directory)!r})"

    def _repr_html_(self) -> str:
        counts = self.manifest["counts"]["items"]
        rows = [(split, scheme, f"{counts[scheme][split]:,}") for scheme, split in self.parts]
        hidden = ["The answers of some splits are hidden."] if self.manifest["hidden"] else []
        return html([Table(f"{self.name}: {self.task} items", ("split", "scheme", "items"), rows), *hidden])

    def explore(
        self, predictions: Sequence[Path | str] = (), audit: Sequence[Path | str] = (), hidden: bool = False
    ) -> Any:
        """The explorer of `veridical show` beside a notebook, in a frame; it has its `url`, and `close()` ends it.

        Args:
            predictions: Prediction files, as `veridical show` takes them.
            audit: What `veridical audit` wrote as JSON.
            hidden: Show hidden answers, too, where they are here.
        """
        return resolve_name(EXPLORE)(self, several(predictions), several(audit), hidden)

    def panels_table(self, columns: Sequence[str] | None = None, hidden: bool = False) -> pa.Table:
        """Panels and their objects. With `hidden`, objects that are hidden are filled in from `DIR.hidden`."""
        path = self.directory / "panels.parquet"
        want = None if columns is None else list(columns)
        if not path.exists():
            return tables.PANELS.empty_table() if want is None else tables.PANELS.empty_table().select(want)
        table = self._read(path, tables.PANELS, want)
        secret = self.hidden_directory / "panels.parquet"
        if not hidden or not secret.exists():
            return table
        known = self._read(secret, tables.PANELS)
        ids = self._read(path, tables.PANELS, ["id"])["id"]
        rows = pa.concat_tables([self._read(path, tables.PANELS), known])
        place = pc.index_in(ids, value_set=known["id"].combine_chunks())
        chosen = pc.if_else(pc.is_null(place), pa.array(range(len(ids))), pc.add(place, len(ids)))
        filled = rows.take(chosen)
        return filled if want is None else filled.select(want)

    @cached_property
    def panels(self) -> dict[str, Panel]:
        """All panels by id."""
        return _Panels(self.directory, self.panels_table())

    @cached_property
    def whole_panels(self) -> dict[str, Panel]:
        """All panels by id, with the objects that are hidden, where the hidden folder is here."""
        return _Panels(self.directory, self.panels_table(hidden=True))

    def judgements_table(self, hidden: bool = False) -> pa.Table:
        """Public judgements; with `hidden`, those of hidden items too."""
        folders = [self.directory, self.hidden_directory] if hidden else [self.directory]
        paths = [folder / "judgements.parquet" for folder in folders]
        found = [self._read(path, tables.JUDGEMENTS) for path in paths if path.exists()]
        return pa.concat_tables(found) if found else tables.JUDGEMENTS.empty_table()

    def judgements(self, hidden: bool = False) -> Iterator[Judgement]:
        return tables.judgements_from(self.judgements_table(hidden))

    def pruned_table(self) -> pa.Table:
        path = self.directory / "pruned.parquet"
        return self._read(path, tables.PRUNED) if path.exists() else tables.PRUNED.empty_table()

    def photographs_table(self) -> pa.Table:
        """Where the photographs came from, and their licences; empty where that is not recorded."""
        path = self.directory / "photographs.parquet"
        return self._read(path, tables.PHOTOGRAPHS) if path.exists() else tables.PHOTOGRAPHS.empty_table()

    def raw_table(self, split: str) -> pa.Table | None:
        """The original files of a split, or None where it was not imported. Hidden splits keep theirs apart."""
        folder = self.hidden_directory if self.is_hidden(split) else self.directory
        path = folder / f"raw-{split}.parquet"
        return self._read(path, tables.RAW) if path.exists() else None

    @cached_property
    def image_tables(self) -> tuple[pa.Table, ...]:
        """The memory-mapped image files."""
        return tuple(self._images(name) for name in sorted(self.manifest["files"]) if name.startswith("images-"))

    def _images(self, name: str) -> pa.Table:
        path = self.trusted(self.directory / name)
        try:
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            table.validate(full=True)  # without it, one flipped bit may end the process
            if table.schema != IMAGES or any(column.null_count for column in table.columns):
                raise ValueError("it has other columns than a file of images, or holes in them")
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _damaged(path, error) from None
        return table

    @cached_property
    def _image_places(self) -> dict[str, tuple[int, int]]:
        return {
            address: (number, row)
            for number, table in enumerate(self.image_tables)
            for row, address in enumerate(table["address"].to_pylist())
        }

    def has_image(self, address: str) -> bool:
        """Whether an image is stored here."""
        return address in self._image_places

    def image(self, address: str) -> pa.Buffer:
        """The bytes of an image: a zero-copy slice of a memory-mapped file."""
        place = self._image_places.get(address)
        if place is None:
            raise UserError(
                f"{self.directory} has no image {address}.", "Run `veridical check` on it; it may be damaged."
            )
        number, row = place
        return self.image_tables[number]["data"][row].as_buffer()

    def _reveal(self, table: pa.Table, ids: pa.ChunkedArray, split: str, scheme: str) -> pa.Table:
        path = self.hidden_directory / f"answers-{scheme}-{split}.parquet"
        if not path.exists():
            raise UserError(
                f"The answers of split {split!r} are hidden, and {path} is not here.",
                "Score a split whose answers are public, or send predictions to whoever holds the hidden part.",
            )
        self.own_hidden_manifest()
        secret = self._read(path, tables.ANSWERS)
        rows = pc.index_in(ids, value_set=secret["id"].combine_chunks())
        if rows.null_count:
            lacking = shortened(repr(ids.filter(rows.is_null())[0].as_py()), MOST_NAME)
            raise _damaged(path, ValueError(f"it says nothing of {lacking}"))
        secret = secret.take(rows)
        for name in ("answer", "program"):
            if name in table.column_names:
                table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), secret[name])
        if "tags" in table.column_names:
            both = [a + b for a, b in zip(table["tags"].to_pylist(), secret["tags"].to_pylist(), strict=True)]
            field = table.schema.field("tags")
            table = table.set_column(table.schema.get_field_index("tags"), field, pa.array(both, field.type))
        return table

    def _read(self, path: Path, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
        try:
            table = pq.read_table(self.trusted(path), columns=columns or schema.names, partitioning=None)
            if missing := [name for name in columns or schema.names if name not in table.column_names]:
                raise ValueError(f"it has no column {missing[0]!r}")
            return tables.check_table(table, schema)
        except FileNotFoundError:
            raise UserError(f"{path} is missing.", "Import or build the benchmark again.") from None
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _damaged(path, error) from None

    def trusted(self, path: Path) -> Path:
        """The path of a file, unless it is not to be looked into."""
        if path.parent == self.directory and path.name in self._distrusted:
            raise _damaged(path, ValueError("its content is not what the manifest says."))
        refuse_endless(path)
        return path


class _Panels(dict[str, Panel]):
    """Panels by id; one that an item names and nobody has is an error in words."""

    def __init__(self, directory: Path, table: pa.Table) -> None:
        super().__init__((panel.id, panel) for panel in tables.panels_from(table))
        self.directory = directory

    def __missing__(self, name: str) -> Panel:
        raise UserError(f"{self.directory} has no panel {name!r}.", "Run `veridical check` on it; it may be damaged.")


def _damaged(path: Path, error: Exception) -> UserError:
    return UserError(f"{path} is damaged: {str(error).splitlines()[0]}", "Run `veridical check`, then build it again.")
