"""Writing a benchmark: stream records in, get either a complete directory or none.

Everything goes into a temporary sibling first and is renamed at the end, so that a build killed at any moment leaves
the old benchmark or none. Files are cut into row groups of fixed size, so that the same records give the same bytes
whatever the batches they came in. Hidden splits are taken apart here and nowhere else: what would give an answer
away goes to the sibling `DIR.hidden`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veridical import __version__
from veridical.benchmark import tables
from veridical.errors import UserError
from veridical.records import Item, Judgement, Panel, Pruned, Task

FORMAT = 1  # version of the on-disk layout
MANIFEST = "benchmark.json"
HIDDEN_MANIFEST = "hidden.json"
ROWS_PER_GROUP = 32_768
IMAGE_BYTES_PER_BATCH = 16 << 20
IMAGE_BYTES_PER_FILE = 1 << 30
IMAGES = pa.schema([("address", pa.string()), ("data", pa.large_binary())])
# Tags that say something about the answer; hidden with it.
REVEALING_TAGS = frozenset({"balance", "relation", "element", "likelihood", "answer_iteration", "rationale_iteration"})

Describe = Callable[[Mapping[str, Any]], Mapping[str, bytes]]


def content_address(data: bytes | memoryview) -> str:
    """The name of an image in the store: its SHA-256, in hex."""
    return hashlib.sha256(data).hexdigest()


def hidden_dir(directory: Path) -> Path:
    """Where the hidden part of a benchmark lies: a sibling, so that uploading DIR cannot publish it."""
    return directory.with_name(directory.name + ".hidden")


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
        describe: Describe | None = None,
    ) -> None:
        self.out = Path(os.path.abspath(out))
        self.hidden = tuple(hidden)
        self._describe = describe
        self._manifest: dict[str, Any] = {
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
        _refuse_other(self.out)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        _sweep(self.out)
        self._work = Path(tempfile.mkdtemp(prefix=_prefix(self.out), suffix=f"-{os.getpid()}", dir=self.out.parent))
        self._public, self._secret = self._work / "public", self._work / "hidden"
        self._public.mkdir()
        self._secret.mkdir()
        self._files: dict[Path, _ParquetFile] = {}
        self._images = _ImageFiles(self._public)
        self._hidden_ids: list[pa.ChunkedArray] = []
        self._hidden_candidates: set[str] = set()
        self._judgements: list[pa.Table] = []

    def add_image(self, data: bytes) -> str:
        """Store an image once and return its content address."""
        return self._images.add(data)

    def add_items(self, split: str, items: Iterable[Item] | pa.Table, scheme: str = "main") -> None:
        """Add items to a split. Items of a hidden split are stored without what gives their answer away."""
        table = items if isinstance(items, pa.Table) else tables.items_table(items)
        table = table.cast(tables.ITEMS)
        if split in self.hidden:
            answers, table = _take_apart(table)
            if answers["answer"].null_count < len(answers):  # a release may itself come without answers
                self._write(self._secret / f"answers-{scheme}-{split}.parquet", answers)
            self._hidden_ids.append(table["id"])
            panels = pc.struct_field(pc.list_flatten(table["candidates"]), "panel").drop_null()
            self._hidden_candidates.update(panels.to_pylist())
        self._write(self._public / f"items-{scheme}-{split}.parquet", table)

    def add_panels(self, panels: Iterable[Panel] | pa.Table) -> None:
        """Add panels. Where a hidden split's candidates are panels, add its items first: their objects are hidden."""
        table = (panels if isinstance(panels, pa.Table) else tables.panels_table(panels)).cast(tables.PANELS)
        if self._hidden_candidates:
            secret = pc.is_in(table["id"], pa.array(sorted(self._hidden_candidates)))
            if pc.any(secret).as_py():
                self._write(self._secret / "panels.parquet", table.filter(secret))
                empty = pa.scalar([], type=tables.PANELS.field("objects").type)
                objects = pc.if_else(secret, empty, table["objects"])
                table = table.set_column(table.schema.get_field_index("objects"), "objects", objects)
        self._write(self._public / "panels.parquet", table.cast(tables.PANELS))

    def add_judgements(self, judgements: Iterable[Judgement] | pa.Table) -> None:
        """Add judgements; those of hidden items are kept apart."""
        table = judgements if isinstance(judgements, pa.Table) else tables.judgements_table(judgements)
        table = table.cast(tables.JUDGEMENTS)
        if self.hidden:
            self._judgements.append(table)  # which of them to hide is known at the end
        elif len(table):
            self._write(self._public / "judgements.parquet", table)

    def add_pruned(self, pruned: Iterable[Pruned]) -> None:
        """Record what was removed and why."""
        self._write(self._public / "pruned.parquet", tables.pruned_table(pruned))

    def add_raw(self, split: str, raw: pa.Table) -> None:
        """Keep the original files of a split (columns `tables.RAW`), so that export gives the same bytes."""
        where = self._secret if split in self.hidden else self._public
        self._write(where / f"raw-{split}.parquet", raw.cast(tables.RAW))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            shutil.rmtree(self._work, ignore_errors=True)

    def _write(self, path: Path, table: pa.Table) -> None:
        if path not in self._files:
            self._files[path] = _ParquetFile(path, table.schema)
        self._files[path].write(table)

    def _commit(self) -> None:
        hidden_ids = pa.chunked_array([c for ids in self._hidden_ids for c in ids.chunks], type=pa.string())
        for table in self._judgements:
            secret = pc.is_in(table["item"], value_set=hidden_ids)
            for where, mask in ((self._secret, secret), (self._public, pc.invert(secret))):
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
        _sync(self._work)
        self._put_in_place(has_hidden)

    def _put_in_place(self, has_hidden: bool) -> None:
        """The old benchmark goes first, the new public part comes last: at any moment there is the old one or none."""
        for old in (self.out, hidden_dir(self.out)):
            if old.exists():
                old.rename(self._work / f"old-{old.name}")
        if has_hidden:
            self._secret.rename(hidden_dir(self.out))
        self._public.rename(self.out)
        _sync_folder(self.out.parent)

    def _counts(self) -> dict[str, Any]:
        items: dict[str, dict[str, int]] = {}
        others: dict[str, int] = {"images": self._images.count}
        for path, file in sorted(self._files.items()):
            kind, _, rest = path.stem.partition("-")
            if kind == "items":
                scheme, _, split = rest.partition("-")
                items.setdefault(scheme, {})[split] = file.rows
            elif path.parent == self._public and not rest:
                others[kind] = file.rows
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


def _take_apart(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Split a hidden split's items into (what is hidden, what is public)."""
    rows = table["tags"].to_pylist()
    secret = [[t for t in tags if t["name"] in REVEALING_TAGS] for tags in rows]
    public = [[t for t in tags if t["name"] not in REVEALING_TAGS] for tags in rows]
    answers = pa.table(
        [table["id"], table["answer"], table["program"], pa.array(secret, tables.ANSWERS.field("tags").type)],
        schema=tables.ANSWERS,
    )
    for name in ("answer", "program"):
        index = table.schema.get_field_index(name)
        table = table.set_column(index, table.field(index), pa.nulls(len(table), table.field(index).type))
    index = table.schema.get_field_index("tags")
    return answers, table.set_column(index, table.field(index), pa.array(public, table.field(index).type))


def _hashes(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.name: _hash(path) for path in sorted(folder.iterdir())}


def _hash(path: Path) -> dict[str, Any]:
    return {"sha256": file_hash(path), "bytes": path.stat().st_size}


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _prefix(out: Path) -> str:
    return f".{out.name}.building-"


def _refuse_other(out: Path) -> None:
    """Never replace a folder that is not a benchmark."""
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).exists():
        raise UserError(f"{out} exists and is not a benchmark: it has no {MANIFEST}.", "Choose another --out.")
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file, and a benchmark is a folder.", "Choose another --out.")


def _sweep(out: Path) -> None:
    """Remove what a killed build of the same benchmark left behind."""
    for left in out.parent.glob(_prefix(out) + "*"):
        pid = left.name.rpartition("-")[2]
        if not (pid.isdigit() and Path(f"/proc/{pid}").exists()):
            shutil.rmtree(left, ignore_errors=True)


def _sync(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
