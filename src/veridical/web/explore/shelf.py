"""Rows of a benchmark's large tables, taken one by one: in Parquet a row costs the decoding of thousands beside it.

So tables are laid out once, in small batches, in a temporary file that goes with the explorer. It is read and not
mapped: what was looked at once would stay in the memory of the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veridical.benchmark import tables

BATCH = 100_000  # bytes of a batch, as Parquet counts them
FEWEST, MOST = 64, 8192  # rows of a batch


class Shelf:
    """A table of which single rows are read."""

    def __init__(self, path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self._schema, self._lock = schema, Lock()
        lengths = []
        with pa.ipc.new_file(path, schema) as out:
            for batch in batches:
                out.write_batch(batch)
                lengths.append(len(batch))
        self._starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self._reader = pa.ipc.open_file(pa.OSFile(str(path)))

    @classmethod
    def of_file(cls, path: Path, schema: pa.Schema, source: Path) -> Shelf:
        """The rows of a Parquet file; ValueError where it is damaged or has other columns."""
        file = _opened(source)
        groups = (file.metadata.row_group(k) for k in range(file.metadata.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        rows = min(max(BATCH * file.metadata.num_rows // max(size, 1), FEWEST), MOST)
        return cls(path, schema, _read(file, rows, schema))

    @classmethod
    def of_table(cls, path: Path, table: pa.Table) -> Shelf:
        """The rows of a table in memory."""
        return cls(path, table.schema, table.combine_chunks().to_batches(FEWEST))

    def take(self, rows: Sequence[int]) -> pa.Table:
        """Some rows, in their order, as far as nothing is damaged in them."""
        wanted = np.asarray(rows, np.int64)
        places = np.searchsorted(self._starts, wanted, side="right") - 1
        order = np.argsort(places, kind="stable")
        used, first = np.unique(places[order], return_index=True)
        parts = []
        for place, own in zip(used.tolist(), np.split(wanted[order], first[1:]), strict=True):
            with self._lock:
                batch = self._reader.get_batch(place)
            parts.append(batch.take(pa.array(own - self._starts[place])))
        found = pa.Table.from_batches(parts, self._schema).combine_chunks().take(pa.array(np.argsort(order)))
        return tables.check_table(found, self._schema)


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except OSError as error:
        if error.errno is not None:  # of the system: the file is not there, or may not be read
            raise
        raise ValueError(str(error)) from None  # of Arrow: what the file says of its columns is damaged


def _read(file: pq.ParquetFile, rows: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        for batch in file.iter_batches(rows, columns=schema.names):
            yield _cast(batch, schema)
    except (OSError, LookupError) as error:  # so Arrow says that a page is damaged, that a column is missing
        raise ValueError(str(error)) from None


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if batch.schema.equals(schema):
        return batch
    return pa.Table.from_batches([batch]).select(schema.names).cast(schema).combine_chunks().to_batches()[0]
