"""The dataset card of a benchmark: README.md with the front matter that dataset hubs read.

The card says what the benchmark is, how many items each split has, what is hidden, how to open it, and carries the
canary by which contamination of training data can be found. It is made from the manifest alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from veridical.formats.about import PAPERS, builder_of, canary, citation, summary, title
from veridical.formats.croissant import CROISSANT, croissant

CARD = "README.md"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_CATEGORIES = {"statement": "visual-question-answering", "choice": "multiple-choice", "matrix": "multiple-choice"}


def describe(manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """The files that describe a benchmark: give this to `BenchmarkWriter(describe=...)`."""
    files = {
        scheme: {split: f"items-{scheme}-{split}.parquet" for split in sorted(splits)}
        for scheme, splits in sorted(manifest["counts"]["items"].items())
    }
    return {CARD: card(manifest, files, _open_benchmark(manifest)), CROISSANT: croissant(manifest)}


def card(manifest: Mapping[str, Any], files: Mapping[str, Mapping[str, str]], opening: str) -> bytes:
    """A card; `files` are the data files of each scheme's splits, `opening` is how to open them."""
    parts = [
        front_matter(manifest, files),
        f"# {title(manifest)}\n",
        summary(manifest) + "\n",
        *_made(manifest),
        "## Splits\n\n" + _splits(manifest),
        "## Open it\n\n" + opening,
        "## Contamination\n\nPlease keep this data out of training corpora. If a model can complete this line, it has "
        f"seen the benchmark:\n\n`{canary(manifest)}`\n",
        f"## Licence\n\n{_licence(manifest)}\n",
    ]
    paper = PAPERS.get(builder_of(manifest))
    if paper:
        lead = "Please cite the paper" if manifest["official"] else "The method is from this paper"
        parts.append(f"## Citation\n\n{lead}: {paper.text()}\n\n```bibtex\n{citation(manifest)}```\n")
    return "\n".join(parts).encode()


def _made(manifest: Mapping[str, Any]) -> list[str]:
    """What the builder has to say: a list of paragraphs in the config."""
    told = manifest["config"].get("card", ())
    return ["## How it was made\n\n" + "\n\n".join(map(str, told)) + "\n"] if told else []


def front_matter(manifest: Mapping[str, Any], files: Mapping[str, Mapping[str, str]]) -> str:
    """YAML for dataset hubs; one config per scheme. Every JSON string is a YAML string."""
    items = sum(sum(splits.values()) for splits in manifest["counts"]["items"].values())
    size = next((name for limit, name in _SIZES if items < limit), "n>1M")
    lines = [
        "---",
        f"pretty_name: {json.dumps(title(manifest), ensure_ascii=False)}",
        f"license: {_hub_licence(str(manifest['licence']))}",
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


def _licence(manifest: Mapping[str, Any]) -> str:
    if manifest["licence"]:
        return str(manifest["licence"])
    return "The release's files state none: ask its authors." if manifest["official"] else "Not stated."


def _hub_licence(licence: str) -> str:
    return licence.lower() if re.fullmatch(r"[A-Za-z0-9.-]+", licence) else "other"


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
