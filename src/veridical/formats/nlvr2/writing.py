"""NLVR2 written as the official release writes it: `<split>.json`, `<split>_hashes.json`, `images/<split>/`."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from veridical.benchmark import Benchmark
from veridical.records import Item, Panel

_IDENTIFIER = re.compile(r"[A-Za-z0-9_.]+(?:-[A-Za-z0-9_.]+)*-\d+-\d+-\d+")
_WORDS = {"0": "False", "1": "True"}


def encode(benchmark: Benchmark, split: str, out: Path) -> None:
    """Write one split."""
    items = list(benchmark.items(split, answers=benchmark.is_hidden(split) and benchmark.hidden_directory.exists()))
    judged = _judgements(benchmark)
    hashes: dict[str, str] = {}
    photographs: dict[str, str] = {}
    with (out / f"{split}.json").open("w", encoding="utf-8", newline="\n") as file:
        for item, identifier in zip(items, _identifiers(items, split), strict=True):
            panels = [benchmark.panels[name] for name in item.panels]
            file.write(json.dumps(_fields(item, identifier, panels, judged)) + "\n")
            pair = identifier.rpartition("-")[0]
            for side, panel in enumerate(panels):
                name = f"{pair}-img{side}.png"
                if panel.phash is not None:
                    hashes[name] = panel.phash
                if panel.image is not None:
                    photographs[name] = panel.image
    if hashes:
        (out / f"{split}_hashes.json").write_text(json.dumps(hashes), encoding="utf-8")
    if photographs:
        folder = out / "images" / split
        folder.mkdir(parents=True)
        for name, address in photographs.items():
            (folder / name).write_bytes(benchmark.image(address))


def _fields(item: Item, identifier: str, panels: list[Panel], judged: dict[tuple[str, str], dict[str, str]]) -> Any:
    fields: dict[str, Any] = {"validation": judged.get((item.id, "validation"), {})}
    fields["sentence"] = item.query.raw if item.query else ""
    fields["left_url"] = panels[0].uri or ""
    if item.writer is not None:
        fields["writer"] = item.writer
    if item.answer is not None:
        fields["label"] = ("False", "True")[item.answer]
    fields["right_url"] = panels[1].uri or ""
    fields |= {name: item.tag(name)[0] for name in ("synset", "query") if item.tag(name)}
    fields["identifier"] = identifier
    if extra := judged.get((item.id, "extra")):
        fields["extra_validations"] = extra
    return fields


def _judgements(benchmark: Benchmark) -> dict[tuple[str, str], dict[str, str]]:
    table = benchmark.judgements_table(hidden=True).select(["item", "worker", "verdict", "kind"])
    out: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for item, worker, verdict, kind in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if verdict in _WORDS:
            out[item, kind][worker] = _WORDS[verdict]
    return out


def _identifiers(items: list[Item], split: str) -> list[str]:
    """Official identifiers: the items' own where all have one, otherwise sets, pairs and sentences in their order."""
    if all(_IDENTIFIER.fullmatch(item.id) for item in items):
        return [item.id for item in items]
    sets: dict[str, int] = {}
    pairs: dict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    sentences: dict[str, dict[str, int]] = defaultdict(dict)
    out = []
    for item in items:
        origin = item.origins[0] if item.origins else item.id
        number = sets.setdefault(origin, len(sets))
        pair = pairs[origin].setdefault(item.panels, len(pairs[origin]))
        group = item.group or item.id
        sentence = sentences[origin].setdefault(group, len(sentences[origin]))
        out.append(f"{split}-{number}-{pair}-{sentence}")
    return out
