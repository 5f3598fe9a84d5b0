"""Visual Genome: photographs with objects, attributes, described regions and relationships (Krishna et al. 2017).

The official files are JSON arrays with an element for each image, hundreds of megabytes each. They are streamed side by
side and joined by image id; a file in another order is indexed first, by place, and then read out of order. The first
of image_data.json, attributes.json and objects.json that is there decides which images there are, and their order.

Annotators' words are lower-cased and stripped, and otherwise as they were: `("attribute", "red")`,
`("synset", "clock.n.01")`, `("name", ...)` for further names of an object. Objects that only attributes.json or a
relationship mentions are objects too; one without any name is left out.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from veridical.common.files import refuse_endless
from veridical.errors import UserError
from veridical.formats.images import is_inside
from veridical.records import Box, Pairs, Panel, SceneObject
from veridical.sources import Photograph, Region, Relationship, Source
from veridical.sources.json_array import elements
from veridical.sources.pictures import BadPhotograph, clipped, fitting, read_picture, scaled

FILES = ("image_data", "attributes", "objects", "region_descriptions", "relationships")
_FIX = "Visual Genome's files are image_data.json, objects.json, attributes.json ..., unpacked, in one folder."
_WORDS = 1 << 16  # words whose normal form is remembered
D = TypeVar("D")  # what a decoder gives


class _Mention(msgspec.Struct, gc=False):
    """An object, as one of the files has it."""

    object_id: int
    x: float
    y: float
    w: float
    h: float
    names: tuple[str, ...] = ()
    name: str | None = None  # of relationships
    synsets: tuple[str, ...] = ()
    attributes: tuple[str | None, ...] | None = None


class _Phrase(msgspec.Struct, gc=False):
    phrase: str
    x: float
    y: float
    width: float
    height: float


class _Link(msgspec.Struct, gc=False):
    predicate: str
    subject: _Mention
    object: _Mention


class _Identity(msgspec.Struct):
    """Which image an element is about; region_descriptions.json calls the image's id `id`."""

    image_id: int | None = None
    id: int | None = None

    @property
    def image(self) -> int | None:
        return self.id if self.image_id is None else self.image_id


class _Element(_Identity):
    """An element of any of the files: image_data.json has the first five fields, each other file one list."""

    width: int | None = None
    height: int | None = None
    url: str | None = None
    coco_id: int | None = None
    flickr_id: int | None = None
    attributes: list[_Mention] = []
    objects: list[_Mention] = []
    regions: list[_Phrase] = []
    relationships: list[_Link] = []


class VisualGenome(Source):
    """The photographs of a folder of Visual Genome's files."""

    name = "visual_genome"
    exact = False

    def __init__(
        self,
        path: Path | str,
        *,
        pictures: Path | str | None = None,  # the folder with VG_100K and VG_100K_2; by default the same
        regions: bool = True,  # read region_descriptions.json, the largest file
        relationships: bool = True,
        max_side: int | None = None,  # larger photographs are made smaller, and their boxes with them
    ) -> None:
        self.folder = Path(path).expanduser()
        self.pictures = self.folder if pictures is None else Path(pictures).expanduser()
        self.max_side = max_side
        unwanted = {"region_descriptions": not regions, "relationships": not relationships}
        self.files = {
            name: self.folder / f"{name}.json"
            for name in FILES
            if (self.folder / f"{name}.json").is_file() and not unwanted.get(name)
        }
        if not {"attributes", "objects"} & set(self.files):
            packed = ", ".join(sorted(p.name for p in self.folder.glob("*.json.zip")))
            found = f"only {packed}" if packed else "neither"
            raise UserError(f"{self.folder} should have objects.json or attributes.json, and has {found}.", _FIX)

    def photographs(self) -> Iterator[Photograph]:
        """Every photograph, in the order of image_data.json."""
        primary = next(name for name in FILES if name in self.files)
        images = _Joined(self.files[primary])
        others = {name: _Joined(self.files[name]) for name in self.files if name != primary}
        seen: set[int] = set()
        try:
            for element in images.all():
                image = images.image(element)
                if image in seen:
                    raise UserError(f"{images.path} lists image {image} twice.", _FIX)
                seen.add(image)
                found = {name: other.find(image) for name, other in others.items()}
                yield scaled(_photograph(image, found | {primary: element}), self.max_side)
            for other in others.values():
                other.finish(seen)
        finally:
            for one in (images, *others.values()):
                one.close()

    def picture(self, photograph: Photograph) -> bytes:
        """The encoded picture; `BadPhotograph` says where it was expected if it is not there."""
        panel = photograph.panel
        places = [self.pictures / folder / f"{panel.id}.jpg" for folder in ("VG_100K", "VG_100K_2", "images", "")]
        file = next((value for name, value in photograph.tags if name == "file"), "")
        if file and is_inside(file):
            places = [self.pictures / file, *(p for p in places if p != self.pictures / file)]
        path = next((p for p in places if p.is_file()), None)
        if path is None:
            raise BadPhotograph(
                f"Visual Genome's photograph {panel.id}",
                f"it was expected at {places[0]}, and is not there",
                "Unpack images.zip and images2.zip there, or name the folder of VG_100K with `pictures`.",
            )
        return fitting(read_picture(path, max_side=self.max_side), panel, str(path))

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.folder, self.pictures

    def config(self) -> dict[str, object]:
        files = sorted(self.files)
        return {"source": self.name, "files": files, "annotations": "CC-BY-4.0", "max_side": self.max_side}


class _Joined:
    """One of the files, streamed as long as it has the same images in the same order, and then by an index."""

    def __init__(self, path: Path) -> None:
        self.path = path
        refuse_endless(path)
        try:
            self.file = path.open("rb")
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}.", _FIX) from None
        self.decoder = msgspec.json.Decoder(_Element)
        self.stream = elements(self.file, str(path))
        self.index: dict[int, tuple[int, int]] | None = None  # image -> its element's place and length

    def all(self) -> Iterator[_Element]:
        for place, data in self.stream:
            yield self._decode(self.decoder, data, place)

    def find(self, image: int) -> _Element | None:
        """The element of an image, or None."""
        if self.index is None:
            place, data = next(self.stream, (0, b""))
            if data:
                element = self._decode(self.decoder, data, place)
                if element.image == image:
                    return element
            self.index = self._indexed()
        place, length = self.index.get(image, (0, 0))
        if not length:
            return None
        self.file.seek(place)
        return self._decode(self.decoder, self.file.read(length), place)

    def finish(self, seen: Container[int]) -> None:
        """Read what is left, so that a file that is cut off or goes on after its end is not taken for a whole one."""
        if self.index is not None:  # it was read to its end
            return
        ids = msgspec.json.Decoder(_Identity)
        for place, data in self.stream:
            image = self.image(self._decode(ids, data, place), place)
            if image in seen:
                raise UserError(f"{self.path}, byte {place:,}: image {image} is there twice.", _FIX)

    def image(self, element: _Identity, place: int | None = None) -> int:
        """The id of an element's image."""
        if element.image is None:
            where = "" if place is None else f", byte {place:,}"
            raise UserError(f"{self.path}{where}: an element has no image_id.", _FIX)
        return element.image

    def close(self) -> None:
        self.file.close()

    def _indexed(self) -> dict[int, tuple[int, int]]:
        ids = msgspec.json.Decoder(_Identity)
        index: dict[int, tuple[int, int]] = {}
        self.file.seek(0)
        for place, data in elements(self.file, str(self.path)):
            image = self.image(self._decode(ids, data, place), place)
            if image in index:
                raise UserError(f"{self.path}, byte {place:,}: image {image} is there twice.", _FIX)
            index[image] = (place, len(data))
        return index

    def _decode(self, decoder: msgspec.json.Decoder[D], data: bytes, place: int) -> D:
        try:
            return decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(f"{self.path}, the element at byte {place:,}: {error}.", _FIX) from None


def _photograph(image: int, found: Mapping[str, _Element | None]) -> Photograph:
    """One image from its elements of all files."""
    data, attributes, things, regions, links = (found.get(name) or _Element() for name in FILES)
    width, height = data.width, data.height
    ends = [thing for one in links.relationships for thing in (one.subject, one.object)]
    mentioned = [*attributes.attributes, *things.objects, *ends]
    known, objects = _objects(mentioned, width, height)
    described = (
        (
            region.phrase.strip(),
            clipped((region.x, region.y, region.x + region.width, region.y + region.height), width, height),
        )
        for region in regions.regions
    )
    panel = Panel(str(image), None, None, width, height, tuple(objects), data.url)
    file = None if data.url is None else "/".join(data.url.split("/")[-2:])
    told = (("file", file), ("coco", data.coco_id), ("flickr", data.flickr_id))
    return Photograph(
        panel=panel,
        regions=tuple(Region(phrase, box) for phrase, box in described if phrase and box is not None),
        relationships=tuple(
            Relationship(str(one.subject.object_id), normal(one.predicate), str(one.object.object_id))
            for one in links.relationships
            if one.subject.object_id in known and one.object.object_id in known
        ),
        tags=tuple((name, str(value)) for name, value in told if value is not None),
    )


def _objects(
    mentioned: list[_Mention], width: int | None, height: int | None
) -> tuple[Container[int], list[SceneObject]]:
    """Ids, and objects in the order of their first mention, with the attributes of all."""
    row: dict[int, int] = {}
    categories: list[str] = []
    attributes: list[Pairs] = []
    boxes: list[Box | None] = []
    wide, high = math.inf if width is None else width, math.inf if height is None else height
    for one in mentioned:
        category, pairs = _called(one.names or (one.name or "",), one.synsets)
        if one.attributes:
            pairs = _attributes(one.attributes) + pairs
        number = one.object_id
        if number in row:
            known = attributes[row[number]]
            if pairs != known:
                attributes[row[number]] = known + tuple(pair for pair in pairs if pair not in known)
        elif category:
            left, top = one.x, one.y
            right, bottom = left + one.w, top + one.h
            inside = 0 <= left < right <= wide and 0 <= top < bottom <= high
            row[number] = len(boxes)
            categories.append(category)
            attributes.append(pairs)
            boxes.append((left, top, right, bottom) if inside else clipped((left, top, right, bottom), width, height))
    return row, _records(id=map(str, row), category=categories, attributes=attributes, box=boxes, count=len(boxes))


def _records(*, count: int, **columns: Iterable[Any]) -> list[SceneObject]:
    """Many objects at once. Calling the class costs more than all of the parsing: its slots are filled by column."""
    made = list(map(SceneObject.__new__, repeat(SceneObject, count)))
    for name, (put, default) in _SLOTS.items():
        deque(map(put, made, columns.get(name) or repeat(default)), maxlen=0)
    return made


# how to fill each slot of an object, and what with where nothing is known
_SLOTS: dict[str, tuple[Callable[[SceneObject, Any], None], Any]] = {
    field.name: (getattr(SceneObject, field.name).__set__, field.default) for field in fields(SceneObject)
}


@lru_cache(_WORDS)
def normal(word: str) -> str:
    """A word as it is compared.

    >>> normal(" Made of  Bricks ")
    'made of bricks'
    """
    return " ".join(word.lower().split())


@lru_cache(_WORDS)
def _called(names: tuple[str, ...], synsets: tuple[str, ...]) -> tuple[str, Pairs]:
    """An object's category, and what else it is called."""
    others = [("name", normal(name)) for name in names[1:]]
    return normal(names[0]), (*(("synset", normal(synset)) for synset in synsets), *others)


@lru_cache(_WORDS)
def _attributes(words: tuple[str | None, ...]) -> Pairs:
    return tuple(("attribute", normal(word)) for word in words if word and not word.isspace())
