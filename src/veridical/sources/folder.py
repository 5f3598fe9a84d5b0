"""A folder of photographs, with labels where a `labels.csv` or `labels.jsonl` lies in it.

A row names a file by its path in the folder. With a `category` it is an object: `box` is left, top, right, bottom in
pixels of the upright photograph, every other column an attribute (several values are separated by `|`). Without one it
is about the whole photograph: `caption`, `licence`, `address`, and every other column a tag. Photographs without rows
are there too, unlabelled. All bad rows are found at once, and named by file and line.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from veridical.common.files import Json, each_line, read_text
from veridical.errors import UserError
from veridical.records import Box, Panel, SceneObject
from veridical.sources import Photograph, Source, pictures

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
LABELS = ("labels.csv", "labels.jsonl")
_OTHER_NAMES = {"license": "licence", "url": "address", "uri": "address", "image": "file"}
_SHOWN = 5  # names that are quoted


@dataclass
class _Labels:
    """What the rows say of one photograph."""

    objects: list[SceneObject] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    tags: list[tuple[str, str]] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)  # licence, address


class Folder(Source):
    """The photographs of a folder and the folders in it."""

    name = "folder"
    exact = False

    def __init__(
        self,
        path: Path | str,
        *,
        labels: Path | str | None = None,  # a CSV or JSONL file elsewhere
        max_side: int | None = None,  # larger photographs are made smaller, and their boxes with them
    ) -> None:
        self.folder = Path(path).expanduser()
        self.max_side = max_side
        if not self.folder.is_dir():
            raise UserError(f"There is no folder {self.folder}.", "Name a folder of photographs: folder:PATH")
        found = [self.folder / name for name in LABELS if (self.folder / name).is_file()]
        if labels is not None:
            found = [Path(labels).expanduser()]
        if len(found) > 1:
            raise UserError(f"{self.folder} has both {LABELS[0]} and {LABELS[1]}.", "Keep one of them.")
        self.labels = found[0] if found else None

    def photographs(self) -> Iterator[Photograph]:
        """Every photograph by name; one that cannot be opened is there too, without a size: `picture` says why."""
        yield from map(self._photograph, self._files)

    def find(self, id: str) -> Photograph:
        if id not in self._files:
            raise UserError(f"{self.folder} has no photograph {id!r}.", "Name it by its path in the folder.")
        return self._photograph(id)

    def picture(self, photograph: Photograph) -> bytes:
        """The encoded picture; `BadPhotograph` where it is missing or damaged."""
        path = self.folder / photograph.panel.id
        return pictures.fitting(pictures.read_picture(path, max_side=self.max_side), photograph.panel, str(path))

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.folder,) if self.labels is None else (self.folder, self.labels)

    def config(self) -> dict[str, object]:
        labels = None if self.labels is None else self.labels.name
        return {"source": self.name, "labels": labels, "max_side": self.max_side}

    @cached_property
    def _files(self) -> dict[str, None]:
        """Names within the folder, with forward slashes, in order."""
        found: list[str] = []
        for place, folders, files in os.walk(self.folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            inside = Path(place).relative_to(self.folder)
            wanted = (file for file in files if file.lower().endswith(SUFFIXES) and not file.startswith("."))
            found.extend((inside / file).as_posix() for file in wanted)
        if not found:
            raise UserError(
                f"{self.folder} has no photographs.",
                f"Photographs end in one of: {', '.join(SUFFIXES)}; any folder deep.",
            )
        if bad := sorted(name for name in found if name.encode(errors="ignore").decode() != name):
            shown = ", ".join(map(repr, bad[:_SHOWN]))
            more = f" and {len(bad) - _SHOWN:,} more" if len(bad) > _SHOWN else ""
            raise UserError(
                f"{self.folder}: not UTF-8, as names of photographs must be: {shown}{more}.",
                "Rename them: names are written to files that other systems read.",
            )
        return dict.fromkeys(sorted(found))

    @cached_property
    def _labels(self) -> dict[str, _Labels]:
        found: dict[str, _Labels] = {}
        problems: list[str] = []
        rows = 0
        for line, row in self._rows():
            rows += 1
            try:
                if isinstance(row, str):
                    raise _BadRow(row)
                self._read(row, line, found)
            except _BadRow as error:
                problems.append(f"line {line}: {error}")
        if self.labels is not None and not rows:
            raise UserError(
                f"{self.labels} has no rows.", "Remove it if the photographs have no labels, or write some."
            )
        if problems:
            one = len(problems) == 1
            raise UserError(
                f"{self.labels}, {problems[0]}" if one else f"{self.labels} has {len(problems):,} bad rows:",
                f"A row has file, category, box (left, top, right, bottom) and attributes. "
                f"{rows - len(problems):,} other rows are fine. Nothing was read.",
                [] if one else problems,
            )
        return found

    def _rows(self) -> Iterable[tuple[int, Json | str]]:
        """Rows with their line, counted from 1; a row that cannot be read is what is wrong with it."""
        if self.labels is None:
            return ()
        text = read_text(self.labels)
        return each_line(text, Json) if self.labels.suffix == ".jsonl" else _csv_rows(text, self.labels)

    def _read(self, row: Mapping[str, Any], line: int, found: dict[str, _Labels]) -> None:
        values = {_OTHER_NAMES.get(name, name): value for name, value in row.items()}
        if len(values) < len(row):
            meant = [_OTHER_NAMES.get(name, name) for name in row]
            doubled = (name for name, meaning in zip(row, meant, strict=True) if meant.count(meaning) > 1)
            raise _BadRow(f"two columns mean the same: {', '.join(doubled)}.")
        file = values.pop("file", None)
        if not isinstance(file, str) or not file:
            raise _BadRow("names no file.")
        if file not in self._files:
            raise _BadRow(f"{file!r} is not a photograph in the folder.")
        category = _text(values.pop("category", ""), "category")
        box = _box(values.pop("box", None))
        labels = found.setdefault(file, _Labels())
        if caption := _text(values.pop("caption", ""), "caption"):
            labels.captions.append(caption)
        for name in ("licence", "address"):
            value = _text(values.pop(name, ""), name)
            if value and labels.known.setdefault(name, value) != value:
                raise _BadRow(f"{file!r} has the {name} {labels.known[name]!r} already, not {value!r}.")
        pairs = _pairs(values)
        if category:
            labels.objects.append(SceneObject(f"{len(labels.objects)}", category, tuple(pairs), box))
        elif box is not None:
            raise _BadRow("has a box and no category.")
        else:
            labels.tags += pairs

    def _photograph(self, file: str) -> Photograph:
        labels = self._labels.get(file) or _Labels()
        try:
            size: tuple[int | None, int | None] = pictures.upright_size(self.folder / file)
        except pictures.BadPhotograph:
            size = (None, None)
        objects = tuple(labels.objects)
        if size[0] is not None and size[1] is not None:
            self._must_meet(objects, file, size[0], size[1])
            objects = pictures.objects_inside(objects, size[0], size[1])
        panel = Panel(file, width=size[0], height=size[1], objects=objects, uri=labels.known.get("address"))
        made = Photograph(panel, labels.known.get("licence", ""), tuple(labels.captions), tags=tuple(labels.tags))
        return pictures.scaled(made, self.max_side)

    def _must_meet(self, objects: tuple[SceneObject, ...], file: str, width: int, height: int) -> None:
        """Refuse a box of which no part is in the picture."""
        for thing in objects:
            if thing.box is not None and pictures.clipped(thing.box, width, height) is None:
                raise UserError(
                    f"{self.labels}: the box {thing.box} of a {thing.category} lies outside of {file}, "
                    f"which has {width} x {height} pixels.",
                    "Boxes are left, top, right, bottom in pixels of the upright photograph.",
                )


class _BadRow(ValueError):
    """What is wrong with a row."""


def _csv_rows(text: str, path: Path) -> Iterator[tuple[int, Json | str]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    try:
        for row in reader:
            if header is None:
                header = [name.strip() for name in row]
                known = [_OTHER_NAMES.get(name, name) for name in header]
                if "file" not in known or len(set(known)) < len(known):
                    raise UserError(
                        f"{path}, line 1: the columns are {', '.join(header)}.",
                        "The first line names the columns: file (or image), category, box ..., each once.",
                    )
            elif len(row) == len(header):
                yield reader.line_num, {name: value.strip() for name, value in zip(header, row, strict=True) if value}
            elif row:
                yield reader.line_num, f"{len(row)} values, and there are {len(header)} columns."
    except csv.Error as error:
        yield reader.line_num, f"{error}."


def _text(value: Any, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _BadRow(f"the {name} {value!r} is not a text.")
    return value.strip()


def _box(value: Any) -> Box | None:
    """A list of numbers, or a text of them.

    >>> _box("1 2, 3;4.5")
    (1.0, 2.0, 3.0, 4.5)
    """
    if value is None or value == "":
        return None
    parts = value.replace(",", " ").replace(";", " ").split() if isinstance(value, str) else value
    try:
        left, top, right, bottom = (float(part) for part in parts)
    except (TypeError, ValueError):
        raise _BadRow(f"the box {value!r} is not four numbers: left, top, right, bottom.") from None
    if not all(map(math.isfinite, (left, top, right, bottom))) or left >= right or top >= bottom:
        raise _BadRow(f"the box {value!r} is empty: it is left, top, right, bottom, not width and height.")
    return left, top, right, bottom


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Columns, or a JSON row's `attributes` (a list, or names with values), as pairs."""
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            pairs += _pairs(value)
            continue
        single = name.removesuffix("s") if name == "attributes" else name
        for one in value if isinstance(value, list) else value.split("|") if isinstance(value, str) else [value]:
            if one is None:
                continue
            if isinstance(one, dict | list):
                raise _BadRow(f"the value of {name} is nested too deep.")
            if text := (str(one).lower() if isinstance(one, bool) else str(one)).strip():
                pairs.append((single, text))
    return pairs
