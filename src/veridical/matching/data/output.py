"""Where matched choices go: a benchmark whose hidden splits keep their answers, or a table."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.hidden import SECRET
from veridical.formats.card import describe
from veridical.matching.assignment.feasibility import UNFIT
from veridical.matching.data.items import Laid, items_of
from veridical.matching.data.table import Asked
from veridical.records import Pruned

TABLES = (".csv", ".jsonl", ".parquet")


@dataclass(frozen=True)
class Label:
    """What a benchmark says of itself."""

    name: str
    licence: str
    seed: int
    config: Mapping[str, Any]
    hidden: tuple[str, ...] = ()
    secret: bytes = b""  # kept in the hidden folder
    pruned: tuple[str, ...] = ()  # questions that were left out


def write_benchmark(
    out: Path,
    rows: Sequence[Asked],
    splits: Sequence[str],
    laid: Mapping[str, Laid],
    label: Label,
    old: Benchmark | None = None,
) -> None:
    """Write items of both stages; photographs and names come from the `old` benchmark where one is matched anew."""
    with BenchmarkWriter(
        out,
        name=label.name,
        task="choice",
        config=dict(label.config) | ({"format": old.manifest["config"].get("format")} if old else {}),
        seed=label.seed,
        licence=label.licence,
        hidden=label.hidden,
        describe=describe,
    ) as writer:
        if label.secret:
            writer.add_hidden_file(SECRET, label.secret)
        if old is not None:
            for table in old.image_tables:
                for data in table["data"]:
                    writer.add_image(data.as_py())
        items = list(items_of(rows, laid["answer"], laid.get("rationale")))
        of_question = dict(zip((row.id for row in rows), splits, strict=True))
        for split in sorted(set(splits)):
            writer.add_items(split, [item for item in items if of_question[item.parent or item.id] == split])
        if old is not None:
            writer.add_panels(old.panels_table())
        if label.pruned:
            writer.add_pruned(Pruned(one, UNFIT, "matching") for one in label.pruned)


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV, JSON lines or Parquet; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as work:
        part = Path(work) / path.name
        if path.suffix.lower() == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), part)
        elif path.suffix.lower() == ".jsonl":
            part.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        else:
            with part.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        part.replace(path)
