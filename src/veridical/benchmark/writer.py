"""Writing a benchmark: stream records in, get either a complete directory or none.

Everything goes into a temporary sibling first and is renamed at the end, so that a build killed at any moment leaves
the old benchmark or none. Files are cut into row groups of fixed size, so that the same records give the same bytes
whatever the batches they came in. Hidden splits are taken apart here and nowhere else: what would give an answer
away goes to the sibling `DIR.hidden`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veridical import __version__
from veridical.benchmark import place, tables
from veridical.benchmark.place import HIDDEN_MANIFEST, MANIFEST
from veridical.common.files import Json, refuse_endless
from veridical.errors import UserError
from veridical.records import Item, Judgement, Panel, Pruned, Task

FORMAT = 1  # version of the on-disk layout
ROWS_PER_GROUP = 32_768
IMAGE_BYTES_PER_BATCH = 16 << 20
IMAGE_BYTES_PER_FILE = 1 << 30
IMAGES = pa.schema([("address", pa.string()), ("data", pa.large_binary())])
# Tags that say nothing about the answer. Any other tag of a hidden item is hidden with it.
PUBLIC_TAGS = frozenset({"cultural", "inference", "phenomenon", "query", "region", "scene", "source", "synset"})
NAME = re.compile(r"[A-Za-z0-9_.]{1,64}")  # of a scheme; a split may also have dashes: items-<scheme>-<split>.parquet
SPLIT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")  # of the files of a benchmark

Describe = Callable[[Mapping[str, Any]], Mapping[str, bytes]]


def content_address(data: bytes | memoryview) -> str:
    """The name of an image in the store: its SHA-256, in hex."""
    return hashlib.sha256(data).hexdigest()


def check_names(split: str, scheme: str = "main") -> None:
    """Refuse what cannot name a split and a scheme."""
    named = NAME.fullmatch(scheme) and SPLIT_NAME.fullmatch(split)
    if not named or not split.strip(".") or not scheme.strip("."):
        raise UserError(f"{scheme!r:.90}, {split!r:.90} cannot name a scheme and a split.", "Use letters and digits.")


class FileEntry(TypedDict):
    """What a manifest says of a file."""

    sha256: str
    bytes: int


class BenchmarkWriter:
    """Writes one benchmark; use as a context manager. Nothing is visible until the block ends without an error."""

    def __init__(
        self,
        out: Path | str,
        *,
        name: str,
        task: Task,
        config: Mapping[str, Any] | None = None,
        seed: int | None = None,
        licence: str = "",
        hidden: Sequence[str] = (),
        official: bool = False,
        hide_objects: bool = False,
        describe: Describe | None = None,
    ) -> None:
        """With `hide_objects`, what is in the panels that hidden items show is hidden as well: where a solver is meant
        to look at photographs, annotations that decide the answer would do it for them."""
        self.out = Path(os.path.abspath(out))
        self.hidden = tuple(hidden)
        self._describe = describe
        self._manifest: Json = {
            "format": FORMAT,
            "veridical": __version__,
            "name": name,
            "task": task,
            "config": dict(config or {}),
            "seed": seed,
            "licence": licence,
            "hidden": sorted(self.hidden),
            "official": official,
        }
        if hide_objects:
            self._manifest["hide_objects"] = True
        place.refuse_other(self.out, name, task)
        self._place = place.start(self.out)
        self._work = self._place.path
        self._public, self._secret = self._work / "public", self._work / "hidden"
        self._public.mkdir()
        self._secret.mkdir()
        self._files: dict[Path, _ParquetFile] = {}
        self._images = _ImageFiles(self._public)
        self._hidden_splits: set[str] = set()
        self._public_ids: list[pa.ChunkedArray] = []  # known only where something is hidden
        self._hidden_panels: set[str] = set()  # those whose objects are hidden
        self._judgements: list[pa.Table] = []

    def add_image(self, data: bytes) -> str:
        """Store an image once and return its content address."""
        return self._images.add(data)

    def add_items(
        self,
        split: str,
        items: Iterable[Item] | pa.Table,
        scheme: str = "main",
        public_tags: Collection[str] = PUBLIC_TAGS,
    ) -> None:
        """Add items to a split. Items of a hidden split are stored without what gives their answer away, which
        `public_tags` do not: none, where nobody knows what the tags of a stranger say."""
        check_names(split, scheme)
        table = items if isinstance(items, pa.Table) else tables.items_table(items)
        table = table.cast(tables.ITEMS)
        if split in self.hidden:
            answers, table = _take_apart(table, public_tags)
            if answers["answer"].null_count < len(answers):  # a release may itself come without answers
                self._write(self._secret / f"answers-{scheme}-{split}.parquet", answers)
            self._hidden_splits.add(split)
            panels = pc.struct_field(pc.list_flatten(table["candidates"]), "panel").drop_null()
            self._hidden_panels.update(panels.to_pylist())
            if self._manifest.get("hide_objects"):
                self._hidden_panels.update(pc.list_flatten(table["panels"]).to_pylist())
        elif self.hidden:
            self._public_ids.append(table["id"])
        self._write(self._public / f"items-{scheme}-{split}.parquet", table)

    def hide_panels(self, names: Iterable[str]) -> None:
        """Hide the objects of further panels, before they are added: those that tell what is in hidden ones."""
        self._hidden_panels.update(names)

    def add_panels(self, panels: Iterable[Panel] | pa.Table) -> None:
        """Add panels, after the items: the objects of candidates of hidden items (and with `hide_objects` of all that
        they show) are hidden."""
        table = (panels if isinstance(panels, pa.Table) else tables.panels_table(panels)).cast(tables.PANELS)
        if self._hidden_panels:
            secret = pc.is_in(table["id"], pa.array(sorted(self._hidden_panels)))
            if pc.any(secret).as_py():
                self._write(self._secret / "panels.parquet", table.filter(secret))
                empty = pa.scalar([], type=tables.PANELS.field("objects").type)
                objects = pc.if_else(secret, empty, table["objects"])
                table = table.set_column(table.schema.get_field_index("objects"), "objects", objects)
        self._write(self._public / "panels.parquet", table.cast(tables.PANELS))

    def add_judgements(self, judgements: Iterable[Judgement] | pa.Table) -> None:
        """Add judgements. Where a split is hidden, only those of public items stay public: what was said of a pruned
        item tells about the others of its group."""
        table = judgements if isinstance(judgements, pa.Table) else tables.judgements_table(judgements)
        table = table.cast(tables.JUDGEMENTS)
        if self.hidden:
            self._judgements.append(table)  # which of them to hide is known at the end
        elif len(table):
            self._write(self._public / "judgements.parquet", table)

    def add_pruned(self, pruned: Iterable[Pruned]) -> None:
        """Record what was removed and why."""
        self._write(self._public / "pruned.parquet", tables.pruned_table(pruned))

    def add_photographs(self, photographs: pa.Table) -> None:
        """Record each photograph's source, address and licence (columns `tables.PHOTOGRAPHS`)."""
        self._write(self._public / "photographs.parquet", photographs.cast(tables.PHOTOGRAPHS))

    def add_raw(self, split: str, raw: pa.Table) -> None:
        """Keep the original files of a split (columns `tables.RAW`), so that export gives the same bytes."""
        where = self._secret if split in self.hidden else self._public
        self._write(where / f"raw-{split}.parquet", raw.cast(tables.RAW))

    def add_hidden_file(self, name: str, data: bytes) -> None:
        """Keep a file in the hidden folder, such as what a build needs to be repeated and nobody else may know."""
        if Path(name).name != name:
            raise ValueError(f"{name!r} is not the name of a file")
        if not self.hidden:
            raise ValueError("no split is hidden, so there is no hidden folder")
        (self._secret / name).write_bytes(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error_type is None:
                self._commit()
        finally:
            for file in self._files.values():
                file.abandon()
            self._place.remove()

    def _write(self, path: Path, table: pa.Table) -> None:
        if path not in self._files:
            self._files[path] = _ParquetFile(path, table.schema)
        self._files[path].write(table)

    def _commit(self) -> None:
        unknown = [s for s in self.hidden if s not in self._hidden_splits]
        if unknown:
            raise UserError(f"There is no split {unknown[0]!r} to hide.", "Hide a split that the benchmark has.")
        public_ids = pa.chunked_array([c for ids in self._public_ids for c in ids.chunks], type=pa.string())
        for table in self._judgements:
            public = pc.is_in(table["item"], value_set=public_ids)
            for where, mask in ((self._public, public), (self._secret, pc.invert(public))):
                if pc.any(mask).as_py():
                    self._write(where / "judgements.parquet", table.filter(mask))
        for file in self._files.values():
            file.close()
        self._images.close()
        manifest = self._manifest | {"counts": self._counts(), "files": _hashes(self._public)}
        for name, data in (self._describe(manifest) if self._describe else {}).items():
            (self._public / name).write_bytes(data)
            manifest["files"][name] = _hash(self._public / name)
        manifest["files"] = dict(sorted(manifest["files"].items()))
        text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"
        (self._public / MANIFEST).write_bytes(text)
        has_hidden = any(self._secret.iterdir())
        if has_hidden:
            secret_manifest = {"benchmark": hashlib.sha256(text).hexdigest(), "files": _hashes(self._secret)}
            (self._secret / HIDDEN_MANIFEST).write_text(json.dumps(secret_manifest, indent=1, sort_keys=True) + "\n")
        place.keep_private(self._secret)
        place.sync_files(self._work)
        place.put_in_place(self._work, self._public, self._secret if has_hidden else None, self.out)

    def _counts(self) -> dict[str, object]:
        items: dict[str, dict[str, int]] = {}
        others: dict[str, int] = {"images": self._images.count}
        for path, file in sorted(self._files.items()):
            table, _, rest = path.stem.partition("-")
            if table == "items":
                scheme, _, split = rest.partition("-")
                items.setdefault(scheme, {})[split] = file.rows
            elif path.parent == self._public and not rest:
                others[table] = file.rows
        return {"items": items, **others}


class _ParquetFile:
    """A Parquet file cut into row groups of a fixed size, whatever the sizes of the tables it is fed."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = 0
        self._writer = pq.ParquetWriter(path, schema, compression="zstd", compression_level=1)
        self._waiting: list[pa.Table] = []
        self._count = 0

    def write(self, table: pa.Table) -> None:
        self._waiting.append(table)
        self._count += table.num_rows
        self.rows += table.num_rows
        if self._count >= ROWS_PER_GROUP:
            table = pa.concat_tables(self._waiting)
            whole = self._count // ROWS_PER_GROUP * ROWS_PER_GROUP
            self._writer.write_table(table.slice(0, whole).combine_chunks(), row_group_size=ROWS_PER_GROUP)
            self._waiting, self._count = [table.slice(whole)], self._count - whole

    def close(self) -> None:
        if self._count:
            self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks(), row_group_size=ROWS_PER_GROUP)
        self._writer.close()

    def abandon(self) -> None:
        """Close it without a word, where it is still open: what it holds goes away."""
        with contextlib.suppress(OSError, pa.ArrowException):
            self._writer.close()
        self._writer.is_open = False  # or it would be closed, and complain, once more


class _ImageFiles:
    """Image bytes by content address in a few uncompressed Arrow files; each image once, in order of first use."""

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self._folder = folder
        self._seen: set[str] = set()
        self._addresses: list[str] = []
        self._data: list[bytes] = []
        self._batch_bytes = self._file_bytes = self._file_number = 0
        self._writer: pa.ipc.RecordBatchFileWriter | None = None

    def add(self, data: bytes) -> str:
        address = content_address(data)
        if address not in self._seen:
            self._seen.add(address)
            self._addresses.append(address)
            self._data.append(data)
            self._batch_bytes += len(data)
            self.count += 1
            if self._batch_bytes >= IMAGE_BYTES_PER_BATCH:
                self._flush()
        return address

    def _flush(self) -> None:
        if not self._addresses:
            return
        if self._writer is None:
            path = self._folder / f"images-{self._file_number:05d}.arrow"
            self._writer = pa.ipc.new_file(str(path), IMAGES)
        self._writer.write_batch(pa.record_batch([self._addresses, self._data], schema=IMAGES))
        self._file_bytes += self._batch_bytes
        self._addresses, self._data, self._batch_bytes = [], [], 0
        if self._file_bytes >= IMAGE_BYTES_PER_FILE:
            self._end_file()

    def _end_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer, self._file_bytes, self._file_number = None, 0, self._file_number + 1

    def close(self) -> None:
        self._flush()
        self._end_file()


def _take_apart(table: pa.Table, public_tags: Collection[str]) -> tuple[pa.Table, pa.Table]:
    """Split a hidden split's items into (what is hidden, what is public)."""
    rows = table["tags"].to_pylist()
    secret = [[t for t in tags if t["name"] not in public_tags] for tags in rows]
    public = [[t for t in tags if t["name"] in public_tags] for tags in rows]
    answers = pa.table(
        [table["id"], table["answer"], table["program"], pa.array(secret, tables.ANSWERS.field("tags").type)],
        schema=tables.ANSWERS,
    )
    for name in ("answer", "program"):
        index = table.schema.get_field_index(name)
        table = table.set_column(index, table.field(index), pa.nulls(len(table), table.field(index).type))
    index = table.schema.get_field_index("tags")
    return answers, table.set_column(index, table.field(index), pa.array(public, table.field(index).type))


def _hashes(folder: Path) -> dict[str, FileEntry]:
    return {path.name: _hash(path) for path in sorted(folder.iterdir())}


def _hash(path: Path) -> FileEntry:
    return {"sha256": file_hash(path), "bytes": path.stat().st_size}


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    refuse_endless(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
