"""NLVR: JSON lines with three boxes of objects, and six drawings of each item (one per order of the boxes).

Item ids are the official identifiers `n-m` (image m of presentation n), and presentations are numbered across the
whole release. Should two splits of one import use the same identifier, every id, group and origin of that import gets
its split in front, as the image names do: `train-1304-0`. So an official prediction named `1304-0` or
`train-1304-0-3.png` is either an item's id, or that with or without its split.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark, tables
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.formats import columns
from veridical.formats.images import BadImage, ImageFile, is_inside, read_image, walk
from veridical.formats.lines import Lines, Problems, decode_lines, find_duplicates, find_wrong, raw_table, read_text
from veridical.formats.releases import Format, ReleaseSplit, Request, Writer, items_to_write, judgements_of
from veridical.records import Item, Panel, SceneObject

ORDERS = list(itertools.permutations(range(3)))
BOX = 100  # pixels
STEP = 150  # from one box to the next
DRAWING = (400, 100)
SPLITS = frozenset({"train", "dev", "val", "test", "test-p", "test-u", "hidden"})
_IDENTIFIER = re.compile(r"[0-9]+-[0-9]+")
_IMAGE = re.compile(r"(?:(?P<split>.+)-)?(?P<item>[0-9]+-[0-9]+)-(?P<view>[0-5])\.png")
_EXPECTED = {
    "label": '"true" or "false"',
    "evals": 'a judgement "true", "false" or "nonsense" for each rater',
    "color": '"Black", "Yellow" or "#0099ff"',
    "type": '"square", "triangle" or "circle"',
    "size": "10, 20 or 30",
    "structured_rep": "three boxes, each a list of objects",
}


class BoxObject(msgspec.Struct, gc=False):
    """An object of a box, as the release writes it."""

    x_loc: float
    y_loc: float
    size: Literal[10, 20, 30]
    type: Literal["square", "triangle", "circle"]
    color: Literal["Black", "Yellow", "#0099ff"]


class _Example(msgspec.Struct, gc=False):
    sentence: str
    identifier: str
    structured_rep: list[list[BoxObject]]
    label: Literal["true", "false"] | None = None
    directory: str | None = None
    evals: dict[str, Literal["true", "false", "nonsense"]] = {}


@dataclass
class _NLVRSplit:
    """One split of NLVR, read and found whole."""

    split: str
    labelled: bool
    lines: Lines[_Example]
    images: dict[str, list[ImageFile | None]]  # six drawings of each identifier
    prefix: str = ""

    @property
    def ids(self) -> list[str]:
        return [self.prefix + line.identifier for line in self.lines.records]

    @property
    def panels(self) -> list[str]:
        return self.ids  # three of each item, named after it

    def write(self, writer: Writer, problems: Problems) -> Mapping[str, int]:
        views, raw = self._add_images(writer, problems)
        ids, records = self.ids, self.lines.records
        writer.add_items(self.split, _items(ids, records, self.prefix, views))
        writer.add_panels(_panels(ids, records, views))
        words = {"false": "0", "true": "1", "nonsense": "nonsense"}
        judged = [(i, worker, words[v]) for i, r in zip(ids, records, strict=True) for worker, v in r.evals.items()]
        if judged:
            items, workers, verdicts = (pa.array(column, pa.string()) for column in zip(*judged, strict=True))
            writer.add_judgements(columns.judgements(items, workers, verdicts, "validation"))
        writer.add_raw(self.split, self.lines.raw())
        writer.add_raw(self.split, raw)
        return {"missing_images": sum(view is None for six in views for view in six)}

    def _add_images(self, writer: Writer, problems: Problems) -> tuple[list[list[str | None]], pa.Table]:
        """The content addresses of each item's six drawings, and the rows that keep their file names."""
        views: list[list[str | None]] = []
        names: list[str] = []
        addresses: list[str | None] = []
        total = sum(file is not None for six in self.images.values() for file in six)
        with Progress(f"{self.split} images", total, "images") as progress:
            for record, number in zip(self.lines.records, self.lines.numbers, strict=True):
                six: list[str | None] = []
                for file in self.images.get(record.identifier, [None] * 6):
                    address = None
                    if file is not None:
                        progress.advance()
                        address = self._add_image(file, int(number) + 1, writer, problems)
                    if file is not None and address is not None:
                        names.append(file.name)
                        addresses.append(address)
                    six.append(address)
                views.append(six)
        return views, raw_table(names, images=addresses)

    def _add_image(self, file: ImageFile, line: int, writer: Writer, problems: Problems) -> str | None:
        try:
            data, size = read_image(file.path, file.outside)
            if size != DRAWING:
                raise BadImage(f"the image is {size[0]} x {size[1]} pixels; an NLVR drawing is 400 x 100.")
        except BadImage as error:
            problems.found(file.name, None, f"{error} It belongs to line {line} of {self.lines.file.name}.")
            return None
        return writer.add_image(data)


def read(request: Request, problems: Problems) -> list[ReleaseSplit]:
    """All splits of a release."""
    missing = "NLVR split: no train.json, dev/dev.json or the like"
    files = request.files(lambda path: path.stem in SPLITS or path.parent.name == path.stem, missing)
    splits = [_read_split(split, path, request, problems) for split, path in files.items()]
    ids = [one for split in splits for one in split.ids]
    if len(set(ids)) != len(ids):
        for split in splits:
            split.prefix = f"{split.split}-"
    return list(splits)


def _read_split(split: str, path: Path, request: Request, problems: Problems) -> _NLVRSplit:
    lines = decode_lines(
        read_text(path, request.name_of(path)), msgspec.json.Decoder(_Example), problems, expected=_EXPECTED
    )
    labelled = not lines.records or any(line.label is not None for line in lines.records)
    lines.drop(find_wrong(lines.records, lambda line: _problem(line, labelled)), problems)
    lines.drop(find_duplicates([line.identifier for line in lines.records], lines.numbers), problems)
    if (base := request.images) is not None:
        places = [base / split / "images", base / f"{split}-images", base / split, base]
    else:
        places = [path.parent / "images", path.parent / f"{split}-images", path.parent / split / "images"]
    folder = next((place for place in places if place.is_dir()), None)
    images = {} if folder is None else _index_images(split, folder, request, problems)
    return _NLVRSplit(split, labelled, lines, images)


def _problem(line: _Example, labelled: bool) -> str | None:
    """What is wrong with a line that has the right types."""
    if line.label is None and labelled:
        return "the field 'label' is missing; other lines have one."
    if not _IDENTIFIER.fullmatch(line.identifier):
        return f"the identifier is {line.identifier!r}; expected presentation-image, such as 1304-0."
    if line.directory is not None and not is_inside(line.directory):
        return f"the directory {line.directory!r} leads out of the folder of images."
    if len(line.structured_rep) != 3:
        return f"'structured_rep' has {len(line.structured_rep)} boxes; expected 3."
    for box, objects in enumerate(line.structured_rep):
        for o in objects:
            if not (0 <= o.x_loc <= BOX - o.size and 0 <= o.y_loc <= BOX - o.size):
                return (
                    f"a {o.type} of size {o.size} at ({o.x_loc:g}, {o.y_loc:g}) does not fit into box {box + 1}, "
                    f"which is {BOX} x {BOX}."
                )
    return None


def _index_images(split: str, folder: Path, request: Request, problems: Problems) -> dict[str, list[ImageFile | None]]:
    """The drawings in a folder, six places for each identifier. Names start with the split, or all with one word."""
    inside = folder.is_relative_to(request.root)
    prefix = request.name_of(folder) if inside else f"{split}/images"
    by_word: dict[str, dict[str, list[ImageFile | None]]] = {}
    for file in walk(folder, "" if prefix == "." else prefix):
        if match := _IMAGE.fullmatch(file.path.name):
            six = by_word.setdefault(match["split"] or "", {}).setdefault(match["item"], [None] * 6)
            if (other := six[int(match["view"])]) is not None:
                problems.found(file.name, None, f"the same drawing is here as {other.name}.")
                continue
            six[int(match["view"])] = file
    if split in by_word:
        return by_word[split]
    return next(iter(by_word.values())) if len(by_word) == 1 else {}


def _items(ids: list[str], records: list[_Example], prefix: str, views: list[list[str | None]]) -> pa.Table:
    n = len(ids)
    presentations = pa.array([prefix + r.identifier.partition("-")[0] for r in records], pa.string())
    dtype = columns.ITEM["views"]
    orders = columns.constant([list(order) for order in ORDERS], pa.list_(dtype.value_type.field("order").type), n)
    addresses = pa.array([address for six in views for address in six], pa.string())
    drawings = pa.StructArray.from_arrays([orders.flatten(), addresses], fields=list(dtype.value_type))
    answers = {"false": 0, "true": 1}
    boxes = pa.array([f"{one}/{box}" for one in ids for box in range(3)], pa.string())
    return columns.table(
        tables.ITEMS,
        n,
        {
            "id": pa.array(ids, pa.string()),
            "task": columns.constant("statement", pa.string(), n),
            "panels": columns.fixed(boxes, 3, columns.ITEM["panels"]),
            "query": columns.texts([r.sentence for r in records]),
            "candidates": columns.constant(columns.TRUTH_ROW, columns.ITEM["candidates"], n),
            "answer": pa.array([None if r.label is None else answers[r.label] for r in records], pa.int8()),
            "group": presentations,
            "origins": columns.fixed(presentations, 1, columns.ITEM["origins"]),
            "views": columns.fixed(drawings, 6, dtype),
            "tags": columns.pairs(
                columns.constant("scene", pa.string(), n),
                pa.array(["tower" if _is_tower(r) else "scatter" for r in records], pa.string()),
                np.ones(n),
            ),
        },
    )


def _is_tower(line: _Example) -> bool:
    """Tower scenes stack squares of one size in the middle of each box."""
    return all(o.type == "square" and o.size == 20 and o.x_loc == 40 for box in line.structured_rep for o in box)


def _panels(ids: list[str], records: list[_Example], views: list[list[str | None]]) -> pa.Table:
    """Three panels an item. A panel's image is the item's first drawing that is here, its region the place in it."""
    first = [next((k for k, address in enumerate(six) if address is not None), 0) for six in views]
    place = np.array([[order.index(box) for box in range(3)] for order in ORDERS])[first]  # (n, 3)
    left = place.reshape(-1, 1) * STEP
    regions = np.hstack([left, np.zeros_like(left), left + BOX, np.full_like(left, BOX)]).astype(float)
    images = [six[k] for six, k in zip(views, first, strict=True) for _ in range(3)]
    n = len(ids) * 3
    return columns.table(
        tables.PANELS,
        n,
        {
            "id": pa.array([f"{one}/{box}" for one in ids for box in range(3)], pa.string()),
            "image": pa.array(images, pa.string()),
            "region": columns.fixed(pa.array(regions.ravel()), 4, columns.PANEL["region"]),
            "width": columns.constant(BOX, pa.int32(), n),
            "height": columns.constant(BOX, pa.int32(), n),
            "objects": _objects(records),
        },
    )


def _objects(records: list[_Example]) -> pa.Array:
    boxes = [box for r in records for box in r.structured_rep]
    objects = [o for box in boxes for o in box]
    lengths = np.array([len(box) for box in boxes], np.int64)
    n = len(objects)
    numbers = np.arange(n) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    size = np.array([o.size for o in objects], float)
    x, y = np.array([o.x_loc for o in objects], float), np.array([o.y_loc for o in objects], float)
    corners = np.stack([x, y, x + size, y + size], axis=1)
    values = [text for o in objects for text in (COLORS[o.color], SIZES[o.size])]
    names = columns.constant(["color", "size"], pa.list_(pa.string()), n).flatten()
    dtypes = columns.OBJECT
    fields = {
        "id": pa.array(numbers).cast(pa.string()),
        "category": pa.array([o.type for o in objects], pa.string()),
        "attributes": columns.pairs(names, pa.array(values, pa.string()), np.full(n, 2)),
        "box": columns.fixed(pa.array(corners.ravel()), 4, dtypes["box"]),
        "score": pa.nulls(n, dtypes["score"]),
        "polygons": columns.constant([], dtypes["polygons"], n),
    }
    struct = columns.PANEL["objects"].value_type
    return columns.lists(
        pa.StructArray.from_arrays([fields[f.name] for f in struct], fields=list(struct)),
        lengths,
        columns.PANEL["objects"],
    )


COLORS = {"Black": "black", "Yellow": "yellow", "#0099ff": "blue"}
SIZES = {10: "small", 20: "medium", 30: "large"}
_OFFICIAL_COLORS = {ours: theirs for theirs, ours in COLORS.items()}
_PIXELS = {word: size for size, word in SIZES.items()}
_ENDING = re.compile(r"(?:.*-)?(\d+-\d+)")
_WORDS = {"0": "false", "1": "true", "nonsense": "nonsense"}
PER_FOLDER = 160  # items; the official folders hold up to 1,000 images


def encode(benchmark: Benchmark, split: str, out: Path) -> None:
    """Write one split as `out/<split>/<split>.json` and `out/<split>/images/<directory>/`."""
    items = items_to_write(benchmark, split)
    judged = judgements_of(benchmark, _WORDS)
    folder = out / split
    folder.mkdir(parents=True)
    with (folder / f"{split}.json").open("wb") as file:
        for (item, identifier), directory in zip(_identifiers(items), _directories(items), strict=True):
            said = judged.get((item.id, "validation"), {})
            file.write(_written(item, identifier, directory, benchmark.panels, said) + b"\n")
            for view, picture in enumerate(item.views):
                if picture.image is not None:
                    place = folder / "images" / directory
                    place.mkdir(parents=True, exist_ok=True)
                    path = place / f"{split}-{identifier}-{view}.png"
                    path.write_bytes(benchmark.image(picture.image))


def _identifiers(items: list[Item]) -> list[tuple[Item, str]]:
    """Official identifiers: an item's own where all have one, otherwise presentations counted in their order."""
    own = [_ENDING.fullmatch(item.id) for item in items]
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


def _written(item: Item, identifier: str, directory: str, panels: dict[str, Panel], judged: dict[str, str]) -> bytes:
    fields: dict[str, object] = {"sentence": item.query.raw if item.query else ""}
    if item.answer is not None:
        fields["label"] = ("false", "true")[item.answer]
    fields |= {"identifier": identifier, "directory": directory, "evals": judged}
    fields["structured_rep"] = [[_written_object(o, item.id) for o in panels[panel].objects] for panel in item.panels]
    return msgspec.json.encode(fields)


def _written_object(o: SceneObject, item: str) -> dict[str, object]:
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


FORMAT = Format("nlvr", "NLVR", "statement", "CC-BY-4.0", read, encode)
