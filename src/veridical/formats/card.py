"""What describes a benchmark: its dataset card (README.md) and its Croissant 1.0 metadata.

Both are made from the manifest alone, so the same benchmark always has the same description. They say what it is, how
many items each split has, what is hidden, how to open it, and carry the canary by which contamination of training data
can be found. The words (papers, columns of tables, Croissant's standard context) are in card.json.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from veridical.benchmark import Benchmark
from veridical.benchmark.place import outside
from veridical.common.files import Json, write_whole
from veridical.formats import QUESTIONS

CARD, CROISSANT = "README.md", "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_CANARIES = uuid.UUID("0f6f1a52-7b0c-5c6e-9d0a-5b8e4c1a2f37")  # the namespace of all our canaries
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_CATEGORIES = {"statement": "visual-question-answering", "choice": "multiple-choice", "matrix": "multiple-choice"}
_FORMATS = {
    ".parquet": "application/x-parquet",
    ".arrow": "application/vnd.apache.arrow.file",
    ".json": "application/json",
    ".md": "text/markdown",
}


@dataclass(frozen=True)
class Paper:
    """The paper that a benchmark comes from."""

    title: str
    authors: str
    venue: str
    year: int
    item: str  # what one item is

    def text(self) -> str:
        return f"{self.authors}. {self.title}. {self.venue}, {self.year}."

    def bibtex(self, key: str) -> str:
        names = self.authors.replace(", ", " and ")
        fields = {"title": self.title, "author": names, "booktitle": self.venue, "year": str(self.year)}
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@inproceedings{{{key},\n{lines}}}\n"


@dataclass(frozen=True)
class Column:
    """One field of a record set: a column of a table, or something inside it."""

    name: str
    type: str
    about: str
    many: bool = False
    column: str = ""  # where it differs from the name
    inside: str = ""  # a path within the column's values


@dataclass(frozen=True)
class CardWords:
    """What card.json holds."""

    papers: dict[str, Paper]  # by builder
    tasks: dict[str, str]  # what an item of a benchmark without a paper is
    tables: dict[str, tuple[Column, ...]]  # the columns of items, panels and judgements
    context: Json  # of every Croissant document


_WORDS = msgspec.json.decode(Path(__file__).with_name("card.json").read_bytes(), type=CardWords)


def builder_of(manifest: Mapping[str, Any]) -> str:
    """Which of the four systems a benchmark belongs to; empty where it is something else."""
    config = manifest["config"]
    for name in (config.get("format"), config.get("kind"), manifest["name"]):
        short = str(name or "").lower().replace("-", "").replace("_", "")
        if short in _WORDS.papers:
            return short
    return ""


def title(manifest: Mapping[str, Any]) -> str:
    """The name for people; VCR is always spelt out, as other tools use the letters for something else."""
    name = str(manifest["name"])
    spelt = "visual commonsense reasoning (VCR)"
    if builder_of(manifest) != "vcr" or spelt.lower() in name.lower():
        return name
    return spelt if name.lower() == "vcr" else f"{name}: {spelt}"


def summary(manifest: Mapping[str, Any]) -> str:
    """One paragraph: what it is, how large, where from."""
    paper = _WORDS.papers.get(builder_of(manifest))
    task = f"Each item is {paper.item}" if paper else _WORDS.tasks.get(str(manifest["task"]), "")
    counts = manifest["counts"]
    items = sum(sum(splits.values()) for splits in counts["items"].values())
    size = f"{_count(items, 'item')}, {_count(counts.get('images', 0), 'image')}."
    if manifest["config"].get("format") in QUESTIONS:
        origin = "Imported by veridical from a table of questions."
    elif manifest["official"]:
        origin = "The official release, imported by veridical."
    else:
        origin = f"Built by veridical {manifest['veridical']}" + (" after the paper cited." if paper else ".")
    return " ".join(part for part in (task, size, origin) if part)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def citation(manifest: Mapping[str, Any]) -> str:
    """BibTeX of the paper behind a benchmark."""
    short = builder_of(manifest)
    return _WORDS.papers[short].bibtex(f"{short}{_WORDS.papers[short].year}") if short else ""


def canary(manifest: Mapping[str, Any]) -> str:
    """A string in the card and the metadata, to search training data for: the same for every build of one config."""
    content = [manifest["name"], manifest["config"], manifest["seed"]]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return f"veridical:canary:{uuid.uuid5(_CANARIES, text)}"


# --- the card --------------------------------------------------------------------------------------------------------


def describe(manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """The files that describe a benchmark: give this to `BenchmarkWriter(describe=...)`."""
    files = {
        scheme: {split: f"items-{scheme}-{split}.parquet" for split in sorted(splits)}
        for scheme, splits in sorted(manifest["counts"]["items"].items())
    }
    return {CARD: card(manifest, files, _open_benchmark(manifest)), CROISSANT: croissant(manifest)}


def card(manifest: Mapping[str, Any], files: Mapping[str, Mapping[str, str]], opening: str) -> bytes:
    """A card; `files` are the data files of each scheme's splits, `opening` is how to open them."""
    made = manifest["config"].get("card", ())  # what the builder has to say: paragraphs
    unstated = "The release's files state none: ask its authors." if manifest["official"] else "Not stated."
    parts = [
        front_matter(manifest, files),
        f"# {title(manifest)}\n",
        summary(manifest) + "\n",
        *(["## How it was made\n\n" + "\n\n".join(map(str, made)) + "\n"] if made else []),
        "## Splits\n\n" + _splits(manifest),
        "## Open it\n\n" + opening,
        "## Contamination\n\nPlease keep this data out of training corpora. If a model can complete this line, it has "
        f"seen the benchmark:\n\n`{canary(manifest)}`\n",
        f"## Licence\n\n{manifest['licence'] or unstated}\n",
    ]
    paper = _WORDS.papers.get(builder_of(manifest))
    if paper:
        lead = "Please cite the paper" if manifest["official"] else "The method is from this paper"
        parts.append(f"## Citation\n\n{lead}: {paper.text()}\n\n```bibtex\n{citation(manifest)}```\n")
    return "\n".join(parts).encode()


def front_matter(manifest: Mapping[str, Any], files: Mapping[str, Mapping[str, str]]) -> str:
    """YAML for dataset hubs; one config per scheme. Every JSON string is a YAML string."""
    items = sum(sum(splits.values()) for splits in manifest["counts"]["items"].values())
    licence = str(manifest["licence"])
    size = next((name for limit, name in _SIZES if items < limit), "n>1M")
    lines = [
        "---",
        f"pretty_name: {json.dumps(title(manifest), ensure_ascii=False)}",
        f"license: {licence.lower() if re.fullmatch(r'[A-Za-z0-9.-]+', licence) else 'other'}",
        "language:\n- en",
        f"task_categories:\n- {_CATEGORIES.get(str(manifest['task']), 'visual-question-answering')}",
        f"size_categories:\n- {size}",
        "tags:\n- visual-reasoning\n- benchmark\n- croissant",
        "configs:",
    ]
    for number, (scheme, splits) in enumerate(files.items()):
        lines.append(f"- config_name: {json.dumps(scheme)}")
        if number == 0:
            lines.append("  default: true")
        lines.append("  data_files:")
        for split, path in splits.items():
            lines += [f"  - split: {hub_split(split)}", f"    path: {json.dumps(path)}"]
    return "\n".join([*lines, "---", ""])


def hub_split(split: str) -> str:
    """A split's name as `datasets` allows it.

    >>> hub_split("val-1")
    'val_1'
    """
    return re.sub(r"\W", "_", split)


def _splits(manifest: Mapping[str, Any]) -> str:
    schemes = sorted(manifest["counts"]["items"].items())
    head: Sequence[str] = ("scheme", "split", "items", "answers")
    rows = [
        (scheme, split, f"{count:,}", "hidden" if split in manifest["hidden"] else "public")
        for scheme, splits in schemes
        for split, count in sorted(splits.items())
    ]
    if len(schemes) == 1:
        head, rows = head[1:], [row[1:] for row in rows]  # type: ignore[misc]
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    note = ""
    if manifest["hidden"]:
        note = (
            "\nThe answers of hidden splits are not in this folder: send predictions to whoever publishes the "
            "benchmark. A prediction is one score per candidate for each item id.\n"
        )
    return "\n".join(lines) + "\n" + note


def _open_benchmark(manifest: Mapping[str, Any]) -> str:
    scheme, splits = min(manifest["counts"]["items"].items(), default=("main", {"train": 0}))
    split = min(splits, key=lambda name: (name in manifest["hidden"], name))
    return f"""```python
import pyarrow.parquet as pq
items = pq.read_table("items-{scheme}-{split}.parquet")          # also DuckDB, Polars, pandas

from datasets import load_dataset
items = load_dataset("DIR", "{scheme}", split="{hub_split(split)}")

from veridical.benchmark import Benchmark
benchmark = Benchmark("DIR")
for item in benchmark.items("{split}", "{scheme}"):
    panels = [benchmark.panels[id] for id in item.panels]         # panel.image is an address: benchmark.image(address)
```

`veridical check DIR` proves it whole, `veridical evaluate DIR PREDICTIONS` scores predictions, and `veridical export
hf DIR` makes a data set with the images inside. `{CROISSANT}` describes every file with its hash.
"""


# --- Croissant -------------------------------------------------------------------------------------------------------


def croissant(manifest: Mapping[str, Any], base: str = "") -> bytes:
    """The metadata of a benchmark as JSON; `base` stands before every file's name."""
    files: Mapping[str, Any] = manifest["files"]
    document = {
        "@context": _WORDS.context,
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


def _file(name: str, entry: Mapping[str, Any], base: str) -> dict[str, object]:
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
            out.append(_record_set(f"items-{scheme}-{split}", _WORDS.tables["items"], about))
    others = [name for name in ("panels", "judgements") if f"{name}.parquet" in manifest["files"]]
    return out + [_record_set(name, _WORDS.tables[name], f"All {name}.") for name in others]


def _record_set(name: str, columns: Sequence[Column], about: str) -> dict[str, object]:
    fields = [_field(name, f"{name}.parquet", column) for column in columns]
    out = {"@type": "cr:RecordSet", "@id": name, "name": name, "description": about}
    key = {"key": {"@id": f"{name}/id"}} if columns[0].name == "id" else {}
    return {**out, **key, "field": fields}


def _field(record_set: str, file: str, column: Column) -> dict[str, object]:
    source: Json = {"fileObject": {"@id": file}, "extract": {"column": column.column or column.name}}
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
