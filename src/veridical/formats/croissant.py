"""Croissant 1.0 metadata of a benchmark: every file with its hash, and one record set per table with typed fields.

It is made from the manifest alone, so the same benchmark always has the same description. Readers such as
mlcroissant open the record sets; images lie in Arrow files that these readers list but do not open.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.benchmark import Benchmark
from veridical.benchmark.place import outside
from veridical.common.files import Json, write_whole
from veridical.formats.about import canary, citation, summary, title

CROISSANT = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_FORMATS = {
    ".parquet": "application/x-parquet",
    ".arrow": "application/vnd.apache.arrow.file",
    ".json": "application/json",
    ".md": "text/markdown",
}
# The standard context of Croissant 1.0.
_CONTEXT: Json = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
    **{
        name: f"cr:{name}"
        for name in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet"),
            *("format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
            *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField"),
            "transform",
        )
    },
}


@dataclass(frozen=True)
class _Column:
    """One field of a record set: a column of a table, or something inside it."""

    name: str
    type: str
    about: str
    many: bool = False
    column: str = ""  # where it differs from the name
    inside: str = ""  # a path within the column's values


_ITEMS = (
    _Column("id", "sc:Text", "The item's name; predictions refer to it."),
    _Column("task", "sc:Text", "statement (true or false), matrix or choice."),
    _Column("panels", "sc:Text", "Ids of the panels to look at.", many=True),
    _Column("query", "sc:Text", "The sentence or question, as it was written.", inside="raw"),
    _Column("candidates", "sc:Text", "The texts to choose from.", many=True, inside="raw"),
    _Column("candidate_panels", "sc:Text", "The panels to choose from.", True, "candidates", "panel"),
    _Column("answer", "sc:Integer", "Index of the right candidate; empty where it is hidden."),
    _Column("group", "sc:Text", "Items of one group count together for consistency."),
    _Column("origins", "sc:Text", "What must not be in two splits: presentation, image set, movie.", many=True),
    _Column("parent", "sc:Text", "Of a rationale item: its answer item."),
    _Column("given", "sc:Integer", "Of a rationale item: the answer that it assumes."),
    _Column("program", "sc:Text", "The program behind a generated statement."),
    _Column("writer", "sc:Text", "Who wrote the text."),
    _Column("tag_names", "sc:Text", "Names of the tags.", True, "tags", "name"),
    _Column("tag_values", "sc:Text", "Values of the tags, in the same order.", True, "tags", "value"),
)
_PANELS = (
    _Column("id", "sc:Text", "The panel's name."),
    _Column("image", "sc:Text", "Content address (SHA-256) of its image; empty where only its address is known."),
    _Column("region", "sc:Float", "Left, top, right, bottom within the image; empty means all of it.", many=True),
    _Column("width", "sc:Integer", "In pixels."),
    _Column("height", "sc:Integer", "In pixels."),
    _Column("categories", "sc:Text", "What its objects are.", True, "objects", "category"),
    _Column("uri", "sc:Text", "Where the image came from."),
    _Column("phash", "sc:Text", "The perceptual hash published with it."),
)
_JUDGEMENTS = (
    _Column("item", "sc:Text", "The item judged."),
    _Column("worker", "sc:Text", "Who judged."),
    _Column("verdict", "sc:Text", "A candidate's index, nonsense or skip."),
    _Column("kind", "sc:Text", "selection, validation, extra or human."),
    _Column("time", "sc:Float", "Seconds since the epoch, where known."),
)
_TABLES = {"panels.parquet": _PANELS, "judgements.parquet": _JUDGEMENTS}


def croissant(manifest: Mapping[str, Any], base: str = "") -> bytes:
    """The metadata of a benchmark as JSON; `base` stands before every file's name."""
    files: Mapping[str, Any] = manifest["files"]
    document = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": title(manifest),
        "description": f"{summary(manifest)} Canary: {canary(manifest)}",
        "license": licence_url(str(manifest["licence"])),
        "version": f"{manifest['format']}.0.0",
        "citeAs": citation(manifest),
        "isLiveDataset": False,
        "distribution": [_file(name, files[name], base) for name in sorted(files) if name != CROISSANT],
        "recordSet": _record_sets(manifest),
    }
    document = {key: value for key, value in document.items() if value != ""}
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def export_croissant(benchmark: Path | str, out: Path | str, url: str = "") -> Path:
    """Write a benchmark's Croissant metadata to a file or folder; `url` is where its files are published, if so."""
    source = Benchmark(benchmark)
    target = outside(out, source.directory)
    target = target if target.suffix == ".json" else target / CROISSANT
    base = url.rstrip("/") if url else Path(os.path.relpath(source.directory, target.parent)).as_posix()
    write_whole(target, croissant(source.manifest, base + "/"))
    return target


def licence_url(licence: str) -> str:
    """A licence as an address, where it has one.

    >>> licence_url("CC-BY-4.0")
    'https://spdx.org/licenses/CC-BY-4.0'
    """
    known = licence and not any(character.isspace() for character in licence) and "://" not in licence
    return f"https://spdx.org/licenses/{licence}" if known else licence


def _file(name: str, entry: Mapping[str, Any], base: str) -> Json:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": base + name,
        "contentSize": f"{entry['bytes']} B",
        "encodingFormat": _FORMATS.get(Path(name).suffix, "application/octet-stream"),
        "sha256": entry["sha256"],
    }


def _record_sets(manifest: Mapping[str, Any]) -> list[Json]:
    hidden = set(manifest["hidden"])
    out = []
    for scheme, splits in sorted(manifest["counts"]["items"].items()):
        for split, count in sorted(splits.items()):
            where = "" if scheme == "main" else f" of scheme {scheme}"
            secret = " Its answers are hidden." if split in hidden else ""
            about = f"Split {split}{where}: {count:,} items.{secret}"
            out.append(_record_set(f"items-{scheme}-{split}", f"items-{scheme}-{split}.parquet", _ITEMS, about))
    for name, columns in _TABLES.items():
        if name in manifest["files"]:
            kind = name.removesuffix(".parquet")
            out.append(_record_set(kind, name, columns, f"All {kind}."))
    return out


def _record_set(name: str, file: str, columns: Sequence[_Column], about: str) -> Json:
    fields = [_field(name, file, column) for column in columns]
    out = {"@type": "cr:RecordSet", "@id": name, "name": name, "description": about}
    key = {"key": {"@id": f"{name}/id"}} if columns[0].name == "id" else {}
    return {**out, **key, "field": fields}


def _field(record_set: str, file: str, column: _Column) -> Json:
    source: Json = {
        "fileObject": {"@id": file},
        "extract": {"column": column.column or column.name},
    }
    if column.inside:
        source["transform"] = {"jsonPath": f"$.{column.inside}"}
    field = {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column.name}",
        "name": column.name,
        "description": column.about,
        "dataType": column.type,
    }
    return {**field, **({"repeated": True} if column.many else {}), "source": source}
