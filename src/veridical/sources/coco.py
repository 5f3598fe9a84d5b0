"""COCO: photographs with objects of 80 categories, outlines and captions (Lin et al. 2014).

`Coco(PATH)` takes a folder with `annotations/instances_*.json` (or the file itself) and the photographs in a folder
named after the split, as published. A crowd's mask is kept as its box only, marked `("crowd", "true")`; the mask of a
single object becomes outlines. Outlines stay text in the mapped file until their photograph is asked for, so that the
full file costs little memory. An empty box is none; one outside of its photograph is an error.

The outline of a mask runs along the edges of its pixels. Holes are filled: outlines, as COCO has them, cannot say
otherwise.
"""

from __future__ import annotations

import mmap
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from veridical.common.arrays import Mask
from veridical.common.files import refuse_endless
from veridical.errors import UserError, missing_extra
from veridical.formats.images import is_inside
from veridical.records import Pairs, Panel, SceneObject
from veridical.sources import Coverage, Photograph, Source
from veridical.sources.pictures import BadPhotograph, clipped, fitting, read_picture, scaled

T = TypeVar("T")
Point = tuple[float, float]
Corner = tuple[int, int]  # of pixels
_LAYOUT = "A COCO folder holds annotations/instances_train2017.json and the photographs in train2017/."


class _Licence(msgspec.Struct):
    id: int
    name: str = ""
    url: str = ""


class _Category(msgspec.Struct):
    id: int
    name: str
    supercategory: str = ""


class _CocoImage(msgspec.Struct):
    id: int
    file_name: str
    width: int
    height: int
    license: int | None = None
    coco_url: str = ""
    flickr_url: str = ""


class _Annotation(msgspec.Struct):
    id: int
    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]  # left, top, width, height
    iscrowd: int = 0
    segmentation: msgspec.Raw = msgspec.Raw(b"[]")


class _Instances(msgspec.Struct):
    images: list[_CocoImage]
    annotations: list[_Annotation]
    categories: list[_Category]
    licenses: list[_Licence] = []


class _Caption(msgspec.Struct):
    image_id: int
    caption: str


class _Captions(msgspec.Struct):
    annotations: list[_Caption]


class _Runs(msgspec.Struct):
    """A run-length mask."""

    size: tuple[int, int]  # height, width
    counts: list[int] | str


_RUNS = msgspec.json.Decoder(_Runs)
_OUTLINES = msgspec.json.Decoder(list[list[float]])


class _Covered(msgspec.Struct):
    covered: bool  # whether its name can be used: its categories are nearly all there is of it
    why: str
    categories: frozenset[str]


class _Coverage(msgspec.Struct):
    """What `coco_coverage.json` says, each with its reason."""

    supercategories: dict[str, _Covered]
    not_covered: dict[str, str]  # categories
    portions: dict[str, str]
    confused: dict[str, tuple[str, ...]]
    spoken: dict[str, tuple[str, ...]]
    company: dict[str, tuple[str, ...]]


@cache
def _published() -> _Coverage:
    return msgspec.json.decode(Path(__file__).with_name("coco_coverage.json").read_bytes(), type=_Coverage)


class Coco(Source):
    """The photographs of one COCO split."""

    name = "coco"
    exact = False

    def __init__(
        self,
        path: Path | str,
        *,
        split: str | None = None,  # such as val2017, where the folder holds several
        pictures: Path | str | None = None,  # the folder of photographs, where it is elsewhere
        max_side: int | None = None,  # larger photographs are made smaller, and their boxes with them
    ) -> None:
        self.instances = _find_instances(Path(path).expanduser(), split)
        self.split = self.instances.stem.removeprefix("instances_")
        self.max_side = max_side
        self._pictures = None if pictures is None else Path(pictures).expanduser()

    @property
    def coverage(self) -> Coverage:
        """COCO's own categories that are annotated wherever they are large enough to see; of other files none."""
        known = _published()
        names = {name for one in known.supercategories.values() for name in one.categories - known.not_covered.keys()}
        names &= {one.name for one in self._index.categories}
        whole = {name: one.categories & names for name, one in known.supercategories.items() if one.covered}
        under = {name: categories for name, categories in whole.items() if categories}
        listed = frozenset(names | under.keys()), under, known.confused, frozenset(known.portions)
        return Coverage(False, *listed, known.spoken, known.company)

    def photographs(self) -> Iterator[Photograph]:
        """Every photograph in the file's order."""
        return (self.find(str(id)) for id in self._annotations)

    def picture(self, photograph: Photograph) -> bytes:
        """The encoded picture; `BadPhotograph` where it is missing, damaged or of another size than annotated."""
        image = self._image(photograph.panel.id)
        if not is_inside(image.file_name):
            raise BadPhotograph(image.file_name, f"its name in {self.instances} leads out of the folder")
        tried = [folder / image.file_name for folder in self.folders]
        path = next((p for p in tried if p.is_file()), None)
        if path is None:
            raise BadPhotograph(
                image.file_name,
                f"it is not in {' nor '.join(str(p.parent) for p in tried)}",
                f"Put it there. {_LAYOUT}",
            )
        return fitting(read_picture(path, max_side=self.max_side), photograph.panel, str(path))

    def find(self, id: str) -> Photograph:
        return self._made(self._image(id))

    def config(self) -> dict[str, object]:
        return {"source": self.name, "split": self.split, "max_side": self.max_side}

    def __getstate__(self) -> dict[str, Any]:
        """Another process reads the file itself."""
        return {k: v for k, v in self.__dict__.items() if k in {"instances", "split", "max_side", "_pictures"}}

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.instances, *self.folders)

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Where photographs may be: beside the annotations, in the split's own folder first."""
        if self._pictures is not None:
            return (self._pictures,)
        root = self.instances.parent
        if root.name == "annotations":
            root = root.parent
        places = (root / self.split, root / "images" / self.split, root / "images", root)
        return tuple(p for p in places if p.is_dir())

    @cached_property
    def _index(self) -> _Instances:
        return _decode(self.instances, _Instances)

    @cached_property
    def _by_id(self) -> dict[str, _CocoImage]:
        return {str(image.id): image for image in self._index.images}

    @cached_property
    def _categories(self) -> dict[int, _Category]:
        return {category.id: category for category in self._index.categories}

    @cached_property
    def _licences(self) -> dict[int, str]:
        return {one.id: one.url or one.name for one in self._index.licenses}

    @cached_property
    def _annotations(self) -> dict[int, list[_Annotation]]:
        """The annotations of each photograph, all of which refer to what is in the file."""
        found: dict[int, list[_Annotation]] = {image.id: [] for image in self._index.images}
        if len(found) != len(self._index.images):
            raise UserError(f"{self.instances} lists an image id twice.", "Correct it: ids name photographs.")
        for annotation in self._index.annotations:
            if annotation.image_id not in found or annotation.category_id not in self._categories:
                what = "image" if annotation.image_id not in found else "category"
                number = annotation.image_id if what == "image" else annotation.category_id
                raise UserError(
                    f"{self.instances}: annotation {annotation.id} is of {what} {number}, which is not listed there.",
                    "Correct it, or fetch the file again.",
                )
            found[annotation.image_id].append(annotation)
        return found

    @cached_property
    def _captions(self) -> dict[int, list[str]]:
        path = self.instances.with_name(self.instances.name.replace("instances_", "captions_", 1))
        captions: dict[int, list[str]] = defaultdict(list)
        if path.is_file():
            for one in _decode(path, _Captions).annotations:
                captions[one.image_id].append(one.caption.strip())
        return captions

    def _image(self, id: str) -> _CocoImage:
        if id not in self._by_id:
            raise UserError(f"{self.instances} has no photograph {id!r}.", "Ask the source it came from.")
        return self._by_id[id]

    def _made(self, image: _CocoImage) -> Photograph:
        objects = tuple(self._object(annotation, image) for annotation in self._annotations[image.id])
        panel = Panel(
            id=str(image.id),
            width=image.width,
            height=image.height,
            objects=objects,
            uri=image.coco_url or image.flickr_url or None,
        )
        tags = (("file", image.file_name), *([("flickr", image.flickr_url)] if image.flickr_url else []))
        licence = self._licences.get(image.license, "") if image.license is not None else ""
        made = Photograph(panel, licence, tuple(self._captions.get(image.id, ())), tags=tags)
        return scaled(made, self.max_side)

    def _object(self, annotation: _Annotation, image: _CocoImage) -> SceneObject:
        category = self._categories[annotation.category_id]
        attributes: Pairs = (("supercategory", category.supercategory),) if category.supercategory else ()
        if annotation.iscrowd:
            attributes = (*attributes, ("crowd", "true"))
        left, top, width, height = annotation.bbox
        box = clipped((left, top, left + width, top + height), image.width, image.height)
        if box is None and width * height != 0:  # an empty box is only no box
            raise UserError(
                f"{self.instances}: the box {list(annotation.bbox)} of annotation {annotation.id} has no part in "
                f"{image.file_name}, which has {image.width} x {image.height} pixels.",
                "Boxes are left, top, width, height in pixels. Correct it, or remove the annotation.",
            )
        return SceneObject(
            id=str(annotation.id),
            category=category.name,
            attributes=attributes,
            box=box,
            polygons=() if annotation.iscrowd else self._outlines(annotation, image),
        )

    def _outlines(self, annotation: _Annotation, image: _CocoImage) -> tuple[tuple[Point, ...], ...]:
        text = memoryview(annotation.segmentation)
        try:
            if bytes(text[:1]) == b"{":  # a mask, as some tools write for single objects too
                runs = _RUNS.decode(text)
                if runs.size != (image.height, image.width):
                    raise ValueError(f"its size {list(runs.size)} is not the photograph's height and width")
                return outlines(decode_mask(runs.counts, *runs.size))
            found = _OUTLINES.decode(text)
        except ValueError as error:  # msgspec's errors are ValueErrors
            raise UserError(
                f"{self.instances}: the outlines of annotation {annotation.id} cannot be read: {error}.",
                "Outlines are lists of numbers x, y, x, y ..., or a mask with its size and counts.",
            ) from None
        return tuple(tuple(zip(one[::2], one[1::2], strict=False)) for one in found)


def _find_instances(path: Path, split: str | None) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise UserError(f"There is no folder {path}.", _LAYOUT)
    pattern = f"instances_{split or '*'}.json"
    found = sorted(path.glob(pattern)) + sorted((path / "annotations").glob(pattern))
    if not found:
        raise UserError(f"{path} has no {pattern}, nor has its folder annotations.", _LAYOUT)
    if len(found) > 1:
        names = ", ".join(p.name for p in found)
        raise UserError(f"{path} has several splits: {names}.", f"Name one of the files: coco:{found[0]}")
    return found[0]


def _decode(path: Path, shape: type[T]) -> T:
    """A JSON file as a typed record; it is mapped, not read, so that undecoded parts cost no memory."""
    refuse_endless(path)
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # lives as long as outlines refer to it
        return msgspec.json.decode(mapped, type=shape)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.", "Check that it is there.") from None
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors; an empty file cannot be mapped
        raise UserError(f"{path} is not COCO's JSON: {error}.", _LAYOUT) from None


# --- masks ------------------------------------------------------------------------------------------------------------


def decode_mask(counts: list[int] | str, height: int, width: int) -> Mask:
    """The mask of some runs; ValueError where they do not cover its pixels, no more and no less."""
    try:
        from pycocotools import mask as coco_mask
    except ImportError:
        raise missing_extra("pycocotools", "build") from None
    problem = f"its runs do not cover {height} x {width} = {height * width:,} pixels"
    if isinstance(counts, list) and (min(counts, default=0) < 0 or sum(counts) != height * width):
        raise ValueError(problem)
    size = [height, width]
    runs = coco_mask.frPyObjects({"size": size, "counts": counts}, *size) if isinstance(counts, list) else None
    text = counts if runs is None else runs["counts"]
    try:
        found = coco_mask.decode({"size": size, "counts": text})
    except ValueError:  # they cover more
        raise ValueError(problem) from None
    try:  # pycocotools does not mind runs that end early, and leaves the rest of the mask to chance
        coco_mask.decode({"size": [height * width - 1, 1], "counts": text})
    except ValueError:
        return np.asarray(found == 1)
    raise ValueError(problem)


def outlines(mask: Mask) -> tuple[tuple[Point, ...], ...]:
    """The outer edges of a mask's parts, clockwise from the first corner of each, top to bottom.

    >>> outlines(np.array([[0, 0, 0], [0, 1, 1]], bool))
    (((1.0, 1.0), (3.0, 1.0), (3.0, 2.0), (1.0, 2.0)),)
    """
    ahead = edges(mask)
    found = []
    for start in sorted(ahead, key=lambda corner: (corner[1], corner[0])):
        while ahead[start]:
            corners = _walk(ahead, start)
            after = (*corners[1:], corners[0])
            area = sum(x * v - u * y for (x, y), (u, v) in zip(corners, after, strict=True))
            if area > 0:  # a hole's edge runs the other way
                found.append(tuple((float(x), float(y)) for x, y in corners))
    return tuple(found)


def edges(mask: Mask) -> dict[Corner, list[Corner]]:
    """Where one can go from each corner along a pixel's edge, with the mask on the right hand."""
    padded = np.pad(mask, 1)
    inside = padded[1:-1, 1:-1]
    sides = (  # the neighbour, and the edge's two ends from the pixel's top left corner
        (padded[:-2, 1:-1], (0, 0), (1, 0)),
        (padded[1:-1, 2:], (1, 0), (1, 1)),
        (padded[2:, 1:-1], (1, 1), (0, 1)),
        (padded[1:-1, :-2], (0, 1), (0, 0)),
    )
    ahead: dict[Corner, list[Corner]] = defaultdict(list)
    for neighbour, (x0, y0), (x1, y1) in sides:
        rows, columns = np.nonzero(inside & ~neighbour)
        for x, y in zip(columns.tolist(), rows.tolist(), strict=True):
            ahead[x + x0, y + y0].append((x + x1, y + y1))
    return dict(ahead)


def _walk(ahead: dict[Corner, list[Corner]], start: Corner) -> list[Corner]:
    """The corners of the edge through a point, which is used up; only those where it turns."""
    path = [start]
    here, step = start, (0, 0)
    while True:
        ways = ahead[here]
        right = here[0] - step[1], here[1] + step[0]
        there = right if right in ways else ways[0]  # parts that only touch at a corner are apart
        ways.remove(there)
        step = there[0] - here[0], there[1] - here[1]
        here = there
        if here == start:
            break
        path.append(here)
    return [
        (x, y)
        for (x0, y0), (x, y), (x2, y2) in zip((path[-1], *path), path, (*path[1:], path[0]), strict=False)
        if (x - x0) * (y2 - y) != (y - y0) * (x2 - x)
    ]
