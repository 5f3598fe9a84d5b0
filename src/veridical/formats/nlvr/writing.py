"""NLVR written as the official release writes it: one JSON line and six PNG files an item."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import msgspec

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.records import Item, Panel, SceneObject

COLORS = {"Black": "black", "Yellow": "yellow", "#0099ff": "blue"}
SIZES = {10: "small", 20: "medium", 30: "large"}
_OFFICIAL_COLORS = {ours: theirs for theirs, ours in COLORS.items()}
_PIXELS = {word: size for size, word in SIZES.items()}
_IDENTIFIER = re.compile(r"(?:.*-)?(\d+-\d+)")
_WORDS = {"0": "false", "1": "true", "nonsense": "nonsense"}
PER_FOLDER = 160  # items; the official folders hold up to 1,000 images


def encode(benchmark: Benchmark, split: str, out: Path) -> None:
    """Write one split as `out/<split>/<split>.json` and `out/<split>/images/<directory>/`."""
    items = list(benchmark.items(split, answers=benchmark.is_hidden(split) and benchmark.hidden_directory.exists()))
    judgements = _judgements(benchmark)
    folder = out / split
    folder.mkdir(parents=True)
    with (folder / f"{split}.json").open("wb") as file:
        for (item, identifier), directory in zip(_identifiers(items), _directories(items), strict=True):
            file.write(_line(item, identifier, directory, benchmark.panels, judgements.get(item.id, {})) + b"\n")
            for view, picture in enumerate(item.views):
                if picture.image is not None:
                    place = folder / "images" / directory
                    place.mkdir(parents=True, exist_ok=True)
                    path = place / f"{split}-{identifier}-{view}.png"
                    path.write_bytes(benchmark.image(picture.image))


def _judgements(benchmark: Benchmark) -> dict[str, dict[str, str]]:
    table = benchmark.judgements_table(hidden=True).select(["item", "worker", "verdict", "kind"])
    out: dict[str, dict[str, str]] = defaultdict(dict)
    for item, worker, verdict, kind in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if kind == "validation" and verdict in _WORDS:
            out[item][worker] = _WORDS[verdict]
    return out


def _identifiers(items: list[Item]) -> list[tuple[Item, str]]:
    """Official identifiers: an item's own where all have one, otherwise presentations counted in their order."""
    own = [_IDENTIFIER.fullmatch(item.id) for item in items]
    names = [match[1] for match in own if match]
    if len(set(names)) == len(items):
        return list(zip(items, names, strict=True))
    presentations: dict[str, int] = {}
    seen: dict[str, int] = defaultdict(int)
    out = []
    for item in items:
        group = item.group or item.id
        number = presentations.setdefault(group, len(presentations))
        out.append((item, f"{number}-{seen[group]}"))
        seen[group] += 1
    return out


def _directories(items: list[Item]) -> list[str]:
    """A numbered folder for each item; a presentation is never divided."""
    sizes: dict[str, int] = defaultdict(int)
    for item in items:
        sizes[item.group or item.id] += 1
    folder, filled = 0, 0
    place: dict[str, str] = {}
    for group, size in sizes.items():
        if filled and filled + size > PER_FOLDER:
            folder, filled = folder + 1, 0
        place[group] = str(folder)
        filled += size
    return [place[item.group or item.id] for item in items]


def _line(item: Item, identifier: str, directory: str, panels: dict[str, Panel], judged: dict[str, str]) -> bytes:
    fields: dict[str, object] = {"sentence": item.query.raw if item.query else ""}
    if item.answer is not None:
        fields["label"] = ("false", "true")[item.answer]
    fields |= {"identifier": identifier, "directory": directory, "evals": judged}
    fields["structured_rep"] = [[_object(o, item.id) for o in panels[panel].objects] for panel in item.panels]
    return msgspec.json.encode(fields)


def _object(o: SceneObject, item: str) -> dict[str, object]:
    size, color = o.attribute("size"), o.attribute("color")
    if o.box is None or size not in _PIXELS or color not in _OFFICIAL_COLORS:
        raise UserError(
            f"Item {item} has an object that NLVR's format cannot hold: {o.category}, color {color}, size {size}.",
            "NLVR objects are small, medium or large; black, yellow or blue; and have a box.",
        )
    return {
        "y_loc": _number(o.box[1]),
        "type": o.category,
        "color": _OFFICIAL_COLORS[color],
        "x_loc": _number(o.box[0]),
        "size": _PIXELS[size],
    }


def _number(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value
