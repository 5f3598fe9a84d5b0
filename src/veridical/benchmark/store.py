"""Reading a benchmark: items and panels as tables or records, images as zero-copy slices of memory-mapped files.

A benchmark is a folder with a manifest; `Benchmark.hash` (of the manifest, which holds the hash of every file) names
its exact content, and predictions and models carry it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veridical.benchmark import tables
from veridical.benchmark.place import HIDDEN_MANIFEST, MANIFEST, hidden_dir
from veridical.benchmark.writer import FILE_NAME, FORMAT, IMAGES, FileEntry, check_names
from veridical.common.files import Json, refuse_pipe
from veridical.errors import UserError
from veridical.records import Item, Judgement, Panel


class _Counts(msgspec.Struct):
    items: dict[str, dict[str, int]]
    images: int


class _Manifest(msgspec.Struct):
    """The shape that a manifest must have."""

    format: int
    name: str
    task: str
    counts: _Counts
    files: dict[str, FileEntry]
    hidden: list[str]
    official: bool


class _HiddenManifest(msgspec.Struct):
    benchmark: str
    files: dict[str, FileEntry]


class Benchmark:
    """A benchmark on disk, opened for reading."""

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(os.path.abspath(directory))
        path = self.directory / MANIFEST
        if not path.is_file():
            raise UserError(
                f"{self.directory} is not a benchmark: it has no {MANIFEST}.",
                "Make one with `veridical import` or `veridical build`.",
            )
        text = path.read_bytes()
        self.hash = hashlib.sha256(text).hexdigest()
        self.manifest = _read_manifest(path, text, _Manifest)
        if self.manifest["format"] != FORMAT:
            raise UserError(
                f"{path} has format {self.manifest['format']!r}; this version of veridical reads format {FORMAT}.",
                "Install the matching version of veridical, or build the benchmark again.",
            )
        _check_names(path, self.manifest)
        self._distrusted: frozenset[str] = frozenset()

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
        return _read_manifest(path, path.read_bytes(), _HiddenManifest) if path.is_file() else None

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(sorted(self.manifest["counts"]["items"]))

    def splits(self, scheme: str = "main") -> tuple[str, ...]:
        """The splits of a scheme, in alphabetical order."""
        if scheme not in self.manifest["counts"]["items"]:
            raise UserError(f"{self.name} has no scheme {scheme!r}.", f"It has: {', '.join(self.schemes)}.")
        return tuple(sorted(self.manifest["counts"]["items"][scheme]))

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Every scheme with each of its splits."""
        return [(scheme, split) for scheme in self.schemes for split in self.splits(scheme)]

    def is_hidden(self, split: str) -> bool:
        return split in self.manifest["hidden"]

    def items_table(
        self, split: str, scheme: str = "main", columns: Sequence[str] | None = None, answers: bool = False
    ) -> pa.Table:
        """Items of a split. With `answers`, the answers of a hidden split are filled in from `DIR.hidden`."""
        if split not in self.splits(scheme):
            raise UserError(
                f"{self.name} has no split {split!r} in scheme {scheme!r}.",
                f"It has: {', '.join(self.splits(scheme))}.",
            )
        want = None if columns is None else list(columns)
        table = self._read(self.directory / f"items-{scheme}-{split}.parquet", tables.ITEMS, want)
        if answers and self.is_hidden(split):
            ids = table["id"] if "id" in table.column_names else self.items_table(split, scheme, ["id"])["id"]
            table = self._reveal(table, ids, split, scheme)
        return table

    def items(self, split: str, scheme: str = "main", answers: bool = False) -> Iterator[Item]:
        """Items of a split as records."""
        return tables.items_from(self.items_table(split, scheme, answers=answers))

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
        return {panel.id: panel for panel in tables.panels_from(self.panels_table())}

    @cached_property
    def whole_panels(self) -> dict[str, Panel]:
        """All panels by id, with the objects that are hidden, where the hidden folder is here."""
        return {panel.id: panel for panel in tables.panels_from(self.panels_table(hidden=True))}

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
            if table.schema != IMAGES:
                raise ValueError("it has other columns than a file of images")
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
        manifest = self.hidden_manifest()
        if manifest is None or manifest["benchmark"] != self.hash:
            raise UserError(
                f"{self.hidden_directory} belongs to another build of this benchmark.",
                "Put back the hidden folder that was written together with it.",
            )
        secret = self._read(path, tables.ANSWERS)
        rows = pc.index_in(ids, value_set=secret["id"].combine_chunks())
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
        refuse_pipe(path)
        return path


def _read_manifest(path: Path, text: bytes, shape: type[msgspec.Struct]) -> Json:
    try:
        msgspec.json.decode(text, type=shape)
        found: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}.", "Import or build the benchmark again.") from None
    return found


def _check_names(path: Path, manifest: Json) -> None:
    """Names that become parts of paths, here and in what is exported, stay in their folder."""
    for scheme, splits in manifest["counts"]["items"].items():
        for split in (*splits, *manifest["hidden"]):
            check_names(split, scheme)
    for name in manifest["files"]:
        if not FILE_NAME.fullmatch(name):
            raise UserError(f"{path} lists {name!r}, which names no file of its folder.", "Do not trust it.")


def _damaged(path: Path, error: Exception) -> UserError:
    return UserError(f"{path} is damaged: {str(error).splitlines()[0]}", "Run `veridical check`, then build it again.")
