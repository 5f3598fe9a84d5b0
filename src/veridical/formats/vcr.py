"""Visual commonsense reasoning (VCR): JSON lines of questions about tagged objects, and metadata for each image.

A question is one answer item (`val-1`) and four rationale items (`val-1:r0` to `:r3`), one for each answer assumed;
only the one that assumes the right answer has an answer itself. Tags in texts are indices into the image's objects,
so object ids are these indices. GD-VCR uses the format with copies of its answers for rationales: such a file has no
rationale stage. Files are named as in the release (`train.jsonl`), or their questions are (`val-1`): that is the split.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from veridical.benchmark import tables
from veridical.common.files import DECODING_ERRORS, in_words
from veridical.common.pictures import MAX_PIXELS
from veridical.engine.progress import Progress
from veridical.formats import columns
from veridical.formats import lines as texts
from veridical.formats.images import BadImage, is_inside, leaves_folder, read_image
from veridical.formats.lines import Lines, Problems, decode_lines, raw_table, read_text
from veridical.formats.releases import Format, ReleaseSplit, Request, Writer, find_files, one_per_split
from veridical.formats.vcr_writing import encode
from veridical.records import Panel, SceneObject

SPLITS = frozenset({"train", "val", "test"})
CHOICES = 4
IMAGE_FOLDER = "vcr1images"
_BATCH = 2048  # questions
_REASON = re.compile(r".*:r[0-9]+", re.DOTALL)  # the id of a rationale item
_Tokens = list[str | list[int]]
_TOKENS = msgspec.json.Decoder(_Tokens)


class _Line(msgspec.Struct, gc=False):
    annot_id: str
    img_id: str
    img_fn: str
    objects: list[str]
    question: msgspec.Raw
    answer_choices: list[msgspec.Raw]
    rationale_choices: list[msgspec.Raw]
    answer_label: int | None = None
    rationale_label: int | None = None
    metadata_fn: str | None = None
    movie: str | None = None
    video_name: str | None = None  # GD-VCR's word for the movie
    answer_likelihood: str | None = None
    region: str | None = None  # GD-VCR
    cultural_or_not: str | int | None = None  # GD-VCR

    @property
    def texts(self) -> list[msgspec.Raw]:
        return [self.question, *self.answer_choices, *self.rationale_choices]


class _Metadata(msgspec.Struct):
    boxes: list[list[float]]
    segms: list[list[list[tuple[float, float]]]]
    names: list[str]
    width: int
    height: int


_METADATA = msgspec.json.Decoder(_Metadata)


@dataclass
class _VCRSplit:
    """One split of VCR, read and found whole."""

    split: str
    labelled: bool
    rationales: bool  # False where the rationale choices are copies of the answers
    lines: Lines[_Line]
    request: Request

    @property
    def ids(self) -> list[str]:
        return [line.annot_id for line in self.lines.records]

    @property
    def panels(self) -> list[str]:
        return [line.img_id for line in self.lines.records]

    def write(self, writer: Writer, problems: Problems) -> Mapping[str, int]:
        writer.add_raw(self.split, self.lines.raw())
        records = self.lines.records
        for start in range(0, max(len(records), 1), _BATCH):  # a split without items is still a split
            writer.add_items(self.split, _items(records[start : start + _BATCH], self.rationales))
        missing = {"missing_images": 0, "missing_metadata": 0}
        first = {line.img_id: index for index, line in reversed(list(enumerate(records)))}
        images = _Images(self.request, writer, problems, self.lines.file.name)
        with Progress(f"{self.split} images", len(first), "images") as progress:
            panels = []
            for index in sorted(first.values()):
                panels.append(images.panel(records[index], int(self.lines.numbers[index]) + 1))
                progress.advance()
                missing["missing_images"] += panels[-1].image is None
                missing["missing_metadata"] += panels[-1].width is None
                if len(panels) == _BATCH:
                    writer.add_panels(panels)
                    panels = []
            writer.add_panels(panels)
        writer.add_raw(self.split, pa.concat_tables([raw_table([]), *images.raw]))
        writer.add_raw(self.split, raw_table(list(images.names), images=list(images.names.values())))
        return missing


@dataclass
class _Images:
    """Finds an image and its metadata, and makes its panel."""

    request: Request
    writer: Writer
    problems: Problems
    lines: str  # the file that names the images
    raw: list[pa.Table] = field(default_factory=list)  # metadata files
    names: dict[str, str] = field(default_factory=dict)  # image file -> content address
    _leaves: Callable[[Path, Path], bool] = field(default_factory=lambda: cache(leaves_folder))  # asked for each image

    def panel(self, line: _Line, number: int) -> Panel:
        """The panel of a line's image."""
        metadata = self._metadata(line, number)
        size = None if metadata is None else (metadata.width, metadata.height)
        image = self._image(line, number, size)
        if metadata is None:
            objects = tuple(SceneObject(str(k), name) for k, name in enumerate(line.objects))
            return Panel(line.img_id, image, objects=objects, uri=line.img_fn)
        objects = tuple(
            SceneObject(
                str(k),
                name,
                box=(box[0], box[1], box[2], box[3]),
                score=box[4] if len(box) > 4 else None,
                polygons=tuple(tuple(outline) for outline in outlines),
            )
            for k, (name, box, outlines) in enumerate(zip(metadata.names, metadata.boxes, metadata.segms, strict=True))
        )
        return Panel(line.img_id, image, None, metadata.width, metadata.height, objects, line.img_fn)

    def _metadata(self, line: _Line, number: int) -> _Metadata | None:
        found = self._find(line.metadata_fn)
        if found is None:
            return None
        path, name = found
        file = read_text(path, name)
        metadata = texts.decode_one(file, _METADATA, self.problems)
        if metadata is None:
            return None
        if problem := _metadata_problem(metadata, line):
            self.problems.found(name, None, f"{problem} It belongs to line {number} of {self.lines}.")
            return None
        self.raw.append(file.raw())
        return metadata

    def _image(self, line: _Line, number: int, expected: tuple[int, int] | None) -> str | None:
        found = self._find(line.img_fn)
        if found is None:
            return None
        path, name = found
        try:
            data, size = read_image(path)
            if expected is not None and size != expected:
                raise BadImage(
                    f"the image is {size[0]} x {size[1]} pixels, its metadata is for {expected[0]} x {expected[1]}."
                )
        except BadImage as error:
            self.problems.found(name, None, f"{error} It belongs to line {number} of {self.lines}.")
            return None
        self.names[name] = self.writer.add_image(data)
        return self.names[name]

    def _find(self, name: str | None) -> tuple[Path, str] | None:
        """A file of the image folder and its name in the release: by its path, or by its name alone."""
        if name is None:
            return None
        for base, prefix in self._bases:
            for place in (name, name.rpartition("/")[2]):
                path = base / place
                if path.is_file():
                    where = f"{prefix}{place}"
                    if self._leaves(path.parent, base) or (path.is_symlink() and leaves_folder(path, base)):
                        self.problems.found(where, None, "a link leads out of the folder of images to it.")
                        return None
                    return path, where
        return None

    @cached_property
    def _bases(self) -> list[tuple[Path, str]]:
        """The folders in which images may lie, and their names in the release."""
        root, given = self.request.root, self.request.images
        bases = (
            [given] if given is not None else [root / IMAGE_FOLDER, root / "images", root.parent / IMAGE_FOLDER, root]
        )
        names = [self.request.name_of(base) if base.is_relative_to(root) else IMAGE_FOLDER for base in bases]
        return [
            (base, "" if name == "." else f"{name}/") for base, name in zip(bases, names, strict=True) if base.is_dir()
        ]


def read(request: Request, problems: Problems) -> list[ReleaseSplit]:
    """All splits of a release."""
    if not request.path.is_dir():
        return [_read_split(request.split, request.path, request, problems)]
    paths = list(find_files(request.path, lambda name: name.endswith(".jsonl")))
    if not paths:
        raise request.holds_none("split of visual commonsense reasoning (VCR): no val.jsonl or the like")
    whole = Request(request.path, None, request.images)
    found: dict[str, list[Path]] = {}
    parts = {path: _read_split(None, path, whole, problems) for path in paths}
    for path, part in parts.items():
        found.setdefault(part.split, []).append(path)
    return [parts[path] for path in one_per_split(found, request).values()]


def _read_split(split: str | None, path: Path, request: Request, problems: Problems) -> _VCRSplit:
    lines = decode_lines(read_text(path, request.name_of(path)), msgspec.json.Decoder(_Line), problems)
    copies = bool(lines.records) and all(
        [bytes(a) for a in line.answer_choices] == [bytes(r) for r in line.rationale_choices] for line in lines.records
    )
    labelled = not lines.records or any(line.answer_label is not None for line in lines.records)
    lines.drop(texts.find_wrong(lines.records, lambda line: _problem(line, labelled, not copies)), problems)
    lines.drop(texts.find_duplicates([line.annot_id for line in lines.records], lines.numbers, "annot_id"), problems)
    lines.drop(_other_images(lines), problems)
    if split is None:
        words = {line.annot_id.rpartition("-")[0] for line in lines.records}
        named = path.stem in SPLITS or len(words) != 1 or not all(words)
        split = path.stem if named else words.pop()
    return _VCRSplit(split, labelled, not copies, lines, request)


def _problem(line: _Line, labelled: bool, rationales: bool) -> str | None:
    """What is wrong with a line that has the right types."""
    for name, one in (("annot_id", line.annot_id), ("img_id", line.img_id)):
        if not one or not one.isprintable():
            return f"{name!r} is {one!r}; expected a name such as val-1."
    if _REASON.fullmatch(line.annot_id):
        return f"'annot_id' is {line.annot_id!r}; names that end so are for the rationales of a question."
    for stage in ("answer", "rationale") if rationales else ("answer",):
        label, choices = getattr(line, f"{stage}_label"), getattr(line, f"{stage}_choices")
        if len(choices) != CHOICES:
            return f"'{stage}_choices' has {len(choices)} choices; expected {CHOICES}."
        if label is None and labelled:
            return f"the field '{stage}_label' is missing; other lines have one."
        if label is not None and not 0 <= label < CHOICES:
            return f"'{stage}_label' is {label}; expected 0 to {CHOICES - 1}."
    for name, value in (("img_fn", line.img_fn), ("metadata_fn", line.metadata_fn)):
        if value is not None and not is_inside(value):
            return f"{name!r} is {value!r}, which leads out of the folder of images."
    for text in line.texts:
        try:
            tokens = _TOKENS.decode(text)
        except DECODING_ERRORS as error:
            return f"the text {bytes(text).decode()[:60]} is not a list of words and tags: {in_words(error)}"
        for token in tokens:
            if not isinstance(token, str):
                for tag in token:
                    if not 0 <= tag < len(line.objects):
                        return f"a text tags object {tag}; the image has {len(line.objects)}, counted from 0."
    return None


def _other_images(lines: Lines[_Line]) -> dict[int, str]:
    """Lines whose img_id stands for another image, or other objects, than on an earlier line."""
    first: dict[str, int] = {}
    wrong = {}
    for index, line in enumerate(lines.records):
        before = first.setdefault(line.img_id, index)
        other = lines.records[before]
        if (line.img_fn, line.objects) != (other.img_fn, other.objects):
            wrong[index] = (
                f"the image {line.img_id!r} is another, or has other objects, on line {lines.numbers[before] + 1}."
            )
    return wrong


def _metadata_problem(metadata: _Metadata, line: _Line) -> str | None:
    if metadata.names != line.objects:
        return "its names are not the objects of the question."
    if not len(metadata.boxes) == len(metadata.segms) == len(metadata.names):
        return f"{len(metadata.names)} names, {len(metadata.boxes)} boxes, {len(metadata.segms)} outlines."
    if any(len(box) not in (4, 5) for box in metadata.boxes):
        return "a box is not left, top, right, bottom and a score."
    width, height = metadata.width, metadata.height
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        return f"its image is {width} x {height} pixels; expected 1 to {MAX_PIXELS:,}."
    for left, top, right, bottom, *_ in metadata.boxes:
        if not (-1 <= left <= right <= width + 1 and -1 <= top <= bottom <= height + 1):  # detectors round
            return f"the box {left:g}, {top:g}, {right:g}, {bottom:g} does not lie in {width} x {height} pixels."
    return None


def _items(records: Sequence[_Line], rationales: bool) -> pa.Table:
    """The answer item of each question, followed by its four rationale items."""
    n = len(records)
    answers = _table(records, {"id": [r.annot_id for r in records], "answer": [r.answer_label for r in records]})
    answers["candidates"] = _candidates([r.answer_choices for r in records])
    if not rationales:
        return columns.table(tables.ITEMS, n, answers)
    times = np.repeat(np.arange(n), CHOICES)
    given = [(r, k) for r in records for k in range(CHOICES)]
    reasons = {name: column.take(pa.array(times)) for name, column in answers.items() if name != "candidates"}
    reasons["id"] = pa.array([f"{r.annot_id}:r{k}" for r, k in given], pa.string())
    reasons["parent"] = answers["id"].take(pa.array(times))
    reasons["given"] = pa.array([k for _, k in given], pa.int8())
    reasons["answer"] = pa.array([r.rationale_label if k == r.answer_label else None for r, k in given], pa.int8())
    reasons["candidates"] = _candidates([r.rationale_choices for r in records]).take(pa.array(times))
    both = pa.concat_tables(
        [columns.table(tables.ITEMS, n, answers), columns.table(tables.ITEMS, n * CHOICES, reasons)]
    )
    order = np.column_stack([np.arange(n), n + np.arange(n * CHOICES).reshape(n, CHOICES)]).ravel()
    return both.take(pa.array(order))


def _table(records: Sequence[_Line], values: dict[str, list[Any]]) -> dict[str, pa.Array]:
    """The columns that a question's items share, and some more."""
    dtypes = columns.ITEM
    origins = [[r.movie or r.video_name for r in records], [r.img_fn for r in records]]
    tags = {
        "likelihood": [r.answer_likelihood for r in records],
        "region": [r.region for r in records],
        "cultural": [None if r.cultural_or_not is None else str(r.cultural_or_not) for r in records],
    }
    return {
        "task": columns.constant("choice", pa.string(), len(records)),
        "panels": columns.fixed(pa.array([r.img_id for r in records], pa.string()), 1, dtypes["panels"]),
        "query": _texts([r.question for r in records], dtypes["query"]),
        "group": pa.array([r.annot_id for r in records], pa.string()),
        "origins": columns.sparse_lists([pa.array(one, pa.string()) for one in origins], dtypes["origins"]),
        "tags": columns.sparse_pairs([(name, pa.array(column, pa.string())) for name, column in tags.items()]),
        **{name: pa.array(column, dtypes[name]) for name, column in values.items()},
    }


def _candidates(choices: Sequence[Sequence[msgspec.Raw]]) -> pa.Array:
    dtype = columns.ITEM["candidates"]
    return columns.fixed(_texts([text for four in choices for text in four], dtype.value_type), CHOICES, dtype)


def _texts(raw: Sequence[msgspec.Raw], dtype: pa.StructType) -> pa.Array:
    """Token lists as texts: words, and references to objects by their index."""
    decoded = [_TOKENS.decode(text) for text in raw]
    tokens = [token for text in decoded for token in text]
    lengths = np.array([len(text) for text in decoded], np.int64)
    token_dtype = dtype.field("tokens").type.value_type
    references = [() if isinstance(token, str) else token for token in tokens]
    refs = columns.lists(
        pa.array([str(tag) for one in references for tag in one], pa.string()),
        [len(one) for one in references],
        token_dtype.field("refs").type,
    )
    words = pa.array([token if isinstance(token, str) else None for token in tokens], pa.string())
    fields = {
        "raw": pa.array([bytes(text).decode() for text in raw], pa.string()),
        "tokens": columns.lists(
            pa.StructArray.from_arrays([words, refs], fields=list(token_dtype)), lengths, dtype.field("tokens").type
        ),
        "panel": pa.nulls(len(raw), pa.string()),
    }
    return pa.StructArray.from_arrays([fields[f.name] for f in dtype], fields=list(dtype))


# its files state no licence
FORMAT = Format("vcr", "visual commonsense reasoning (VCR)", "choice", "", read, encode)
