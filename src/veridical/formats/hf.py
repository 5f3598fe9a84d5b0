"""`export hf`: a folder that `datasets.load_dataset` opens, with the images inside its Parquet files.

A row is one item with everything it needs: its images once each, and panels, views and candidates that point at them
by position. Rows are written in row groups of bounded size, so that any benchmark fits in memory. Answers of hidden
splits are never read. Photographs that are only addresses stay addresses: nothing is fetched behind the user's back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from veridical.benchmark import Benchmark, tables
from veridical.benchmark.place import outside, staging
from veridical.common.files import Json
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.formats.card import CARD, card, hub_split
from veridical.records import Item, Panel, Text

ROWS_PER_GROUP = 1000
BYTES_PER_GROUP = 64 << 20  # of images
BYTES_PER_FILE = 500 << 20  # what dataset hubs like

ExportedRow = Json  # a value for each of `_FIELDS`

_string, _pairs = pa.string(), tables.ITEMS.field("tags").type
IMAGE = pa.struct([("bytes", pa.binary()), ("path", _string)])  # the Image feature of `datasets`
_panel = pa.struct(
    [
        ("id", _string),
        ("image", pa.int32()),  # position in `images`; empty where only the address is known
        ("region", pa.list_(pa.float64())),
        ("url", _string),
    ]
)
_object = pa.struct(
    [
        ("panel", _string),
        ("id", _string),
        ("category", _string),
        ("attributes", _pairs),
        ("box", pa.list_(pa.float64())),
    ]
)
_FIELDS: list[tuple[str, pa.DataType]] = [
    ("id", _string),
    ("images", pa.list_(IMAGE)),
    ("query", _string),
    ("query_raw", _string),
    ("candidates", pa.list_(_string)),
    ("candidates_raw", pa.list_(_string)),
    ("answer", pa.int8()),
    ("task", _string),
    ("panels", pa.list_(_panel)),
    ("candidate_panels", pa.list_(_panel)),
    ("views", pa.list_(pa.struct([("order", pa.list_(pa.int8())), ("image", pa.int32())]))),
    ("objects", pa.list_(_object)),
    ("group", _string),
    ("parent", _string),
    ("given", pa.int8()),
    ("writer", _string),
    ("program", _string),
    ("tags", _pairs),
]


def export_hf(benchmark: Path | str, out: Path | str) -> dict[str, dict[str, int]]:
    """Write a benchmark as a Hugging Face data set: one config per scheme. Gives the items of each scheme's splits."""
    source = Benchmark(benchmark)
    target = outside(out, source.directory)
    _refuse_same_names(source)
    counts: dict[str, dict[str, int]] = source.manifest["counts"]["items"]
    rows = _Rows(source)
    with staging(target) as work:
        folder = work / "data set"
        total = sum(sum(splits.values()) for splits in counts.values())
        with Progress("exporting", total, "items") as progress:
            for scheme, split in source.parts:
                _write(rows, scheme, split, folder / "data" / scheme, progress)
        files = {
            scheme: {split: f"data/{scheme}/{hub_split(split)}-*.parquet" for split in source.splits_of(scheme)}
            for scheme in source.schemes
        }
        (folder / CARD).write_bytes(card(source.manifest, files, _opening(source)))
        if target.exists():
            target.rmdir()
        folder.rename(target)
    return counts


def _refuse_same_names(source: Benchmark) -> None:
    for scheme in source.schemes:
        home: dict[str, str] = {}
        for split in source.splits_of(scheme):
            if home.setdefault(hub_split(split), split) != split:
                raise UserError(
                    f"Splits {home[hub_split(split)]!r} and {split!r} are both {hub_split(split)!r} in a data set.",
                    "Build the benchmark with other names of splits.",
                )


class _Rows:
    """Items as rows; panels and images are looked up as they are needed."""

    def __init__(self, source: Benchmark) -> None:
        self.source = source
        self.panels = source.panels_table()
        self.places = {panel: row for row, panel in enumerate(self.panels["id"].to_pylist())}

    def batches(self, scheme: str, split: str) -> Iterator[tuple[list[ExportedRow], int]]:
        """Rows of one row group at a time, and the bytes of their images."""
        rows: list[ExportedRow] = []
        size = 0
        for batch in self.source.items_table(split, scheme).to_batches(max_chunksize=ROWS_PER_GROUP):
            items = list(tables.items_from(pa.Table.from_batches([batch])))
            panels = self._panels(items)
            for item in items:
                rows.append(self._row(item, panels))
                size += sum(len(image["bytes"]) for image in rows[-1]["images"])
                if len(rows) >= ROWS_PER_GROUP or size >= BYTES_PER_GROUP:
                    yield rows, size
                    rows, size = [], 0
        if rows:
            yield rows, size

    def _panels(self, items: list[Item]) -> dict[str, Panel]:
        wanted = sorted({id for item in items for id in (*item.panels, *_candidate_panels(item))})
        missing = [id for id in wanted if id not in self.places]
        if missing:
            raise UserError(
                f"{self.source.directory} has no panel {missing[0]!r}.", "Run `veridical check` on it; it is damaged."
            )
        table = self.panels.take([self.places[id] for id in wanted])
        return {panel.id: panel for panel in tables.panels_from(table)}

    def _row(self, item: Item, panels: Mapping[str, Panel]) -> ExportedRow:
        shown = [panels[id] for id in item.panels]
        offered = [panels[id] for id in _candidate_panels(item)]
        addresses = [panel.image for panel in (*shown, *offered)] + [view.image for view in item.views]
        place = {address: n for n, address in enumerate(dict.fromkeys(a for a in addresses if a is not None))}
        texts = [c for c in item.candidates if isinstance(c, Text)]
        # what a text calls each object: its category and its number among the objects, as in [person 1]
        names = {o.id: f"[{o.category} {n}]" for panel in shown for n, o in enumerate(panel.objects, 1)}
        same = ("id", "answer", "task", "group", "parent", "given", "writer", "program", "tags")
        return {
            **{name: getattr(item, name) for name in same},
            "images": [{"bytes": self.source.image(a).to_pybytes(), "path": None} for a in place],
            "query": None if item.query is None else item.query.words(names),
            "query_raw": None if item.query is None else item.query.raw,
            "candidates": [text.words(names) for text in texts],
            "candidates_raw": [text.raw for text in texts],
            "panels": [_panel_row(panel, place) for panel in shown],
            "candidate_panels": [_panel_row(panel, place) for panel in offered],
            "views": [{"order": v.order, "image": place.get(v.image or "")} for v in item.views],
            "objects": [
                {"panel": p.id, "id": o.id, "category": o.category, "attributes": o.attributes, "box": o.box}
                for p in shown
                for o in p.objects
            ],
        }


def _candidate_panels(item: Item) -> tuple[str, ...]:
    return tuple(c for c in item.candidates if isinstance(c, str))


def _panel_row(panel: Panel, place: Mapping[str, int]) -> ExportedRow:
    return {"id": panel.id, "image": place.get(panel.image or ""), "region": panel.region, "url": panel.uri}


def _write(rows: _Rows, scheme: str, split: str, folder: Path, progress: Progress) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    schema = hub_schema(_FIELDS)
    writer: pq.ParquetWriter | None = None
    number = written = 0
    for batch, size in rows.batches(scheme, split):
        if writer is not None and written + size > BYTES_PER_FILE:
            writer.close()
            writer, number, written = None, number + 1, 0
        if writer is None:
            path = folder / f"{hub_split(split)}-{number:05d}.parquet"
            writer = pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=["task", "writer"])
        writer.write_table(pa.Table.from_pylist(batch, schema=schema))
        written += size
        progress.advance(len(batch))
    if writer is None:  # a split without items is still a split
        writer = pq.ParquetWriter(folder / f"{hub_split(split)}-{0:05d}.parquet", schema)
    writer.close()


def hub_schema(fields: Sequence[tuple[str, pa.DataType]]) -> pa.Schema:
    """Columns, with what `datasets` writes about them into a file."""
    return pa.schema(fields, metadata={"huggingface": json.dumps({"info": {"features": features(fields)}})})


def features(fields: Sequence[tuple[str, pa.DataType]] = tuple(_FIELDS)) -> dict[str, object]:
    """Columns as `datasets` describes them."""
    return {name: _feature(dtype) for name, dtype in fields}


def _feature(dtype: pa.DataType) -> Any:
    if dtype == IMAGE:
        return {"_type": "Image"}
    if pa.types.is_list(dtype):
        return [_feature(dtype.value_type)]
    if pa.types.is_struct(dtype):
        return {dtype.field(n).name: _feature(dtype.field(n).type) for n in range(dtype.num_fields)}
    return {"dtype": {"double": "float64"}.get(str(dtype), str(dtype)), "_type": "Value"}


def _opening(source: Benchmark) -> str:
    scheme = source.schemes[0] if source.schemes else "main"
    split = min(source.splits_of(scheme), key=lambda name: (source.is_hidden(name), name))
    return f"""```python
from datasets import load_dataset
items = load_dataset("DIR", "{scheme}", split="{hub_split(split)}")
item = items[0]
item["images"], item["query"], item["candidates"], item["answer"]
```

`panels`, `candidate_panels` and `views` point at `images` by position; a panel's `region` is its part of that image
(empty: all of it). Where an image may not be passed on, `images` lacks it and the panel has its `url`.
"""
