"""Objects for photographs without annotations, found by a detector (threshold 0.5, as NLVR2's authors).

`Detections(source, detector)` is a source too. What was found in a picture is remembered in a file of one line each,
under the hash of its bytes and the detector's identity: a run that was stopped goes on where it was, and the second
pass over the photographs detects nothing again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import islice, tee
from pathlib import Path

import msgspec

from veridical.encoders.detectors import DETECTOR, Detection, Detector, open_detector
from veridical.encoders.spread import stays_here
from veridical.engine import run
from veridical.errors import UserError
from veridical.options.running import Workers
from veridical.records import SceneObject
from veridical.sources import EVERYTHING, Coverage, Photograph, Source
from veridical.sources.pictures import BadPhotograph, clipped


class _Detected(msgspec.Struct):
    """What was found in one picture."""

    detector: str  # identity
    picture: str  # sha256
    threshold: float
    found: list[Detection]


@dataclass(frozen=True)
class _Group:
    photographs: list[Photograph]
    pictures: dict[int, tuple[str, bytes]]  # of those without objects, by their place: hash and content
    unknown: dict[str, bytes]  # what the detector has to look at, by hash


class Detections(Source):
    """The photographs of another source; those without objects get what a detector finds in them."""

    exact = False

    def __init__(
        self,
        source: Source,
        detector: str | Detector = DETECTOR,
        *,
        threshold: float = 0.5,  # the least score that counts
        cache: Path | str | None = None,  # the file that remembers; without one, only this object does
        batch: int = 8,  # pictures that the detector looks at together
        workers: Workers = Workers(),
    ) -> None:
        if not 0 <= threshold <= 1 or batch < 1:
            raise UserError(
                f"The threshold {threshold} or the batch size {batch} cannot be used.",
                "A threshold is between 0 and 1, a batch has at least one picture.",
            )
        self.source = source
        self.detector = open_detector(detector)
        self.threshold = threshold
        self.cache = None if cache is None else Path(cache).expanduser()
        self.batch, self.workers = batch, workers
        self._known: dict[str, list[Detection]] | None = None

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def coverage(self) -> Coverage:
        """Everything that the detector knows: it looks for all of it. What it is not sure of has a low score."""
        return EVERYTHING

    def photographs(self) -> Iterator[Photograph]:
        """Every photograph of the source. One whose picture cannot be used stays as it is: `picture` says why."""
        groups = self._groups()
        if stays_here(self.workers):
            for group in groups:
                yield from self._with_objects(group, self._look(group))
            return
        ahead, waiting = tee(groups)
        find = partial(_find, self.detector, self.threshold)
        found = run(find, (list(g.unknown.values()) for g in ahead), workers=self.workers, label="detecting objects")
        for group, lists in zip(waiting, found, strict=True):
            yield from self._with_objects(group, lists)

    def _groups(self) -> Iterator[_Group]:
        """Photographs that the detector looks at together, with the pictures of those without objects."""
        if self._known is None:
            self._known = self._read()
        photographs = self.source.photographs()
        while some := list(islice(photographs, self.batch)):
            pictures: dict[int, tuple[str, bytes]] = {}
            for place, photograph in enumerate(some):
                if not photograph.panel.objects:
                    try:
                        data = self.source.picture(photograph)
                    except BadPhotograph:
                        continue
                    pictures[place] = hashlib.sha256(data).hexdigest(), data
            # the whole group: a picture's padding, and so the last digits of its scores, depend on those beside it
            new = any(key not in self._known for key, _ in pictures.values())
            yield _Group(some, pictures, dict(pictures.values()) if new else {})

    def picture(self, photograph: Photograph) -> bytes:
        return self.source.picture(photograph)

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.source.paths

    def config(self) -> dict[str, object]:
        found = {"detector": self.detector.name, "identity": self.detector.identity, "threshold": self.threshold}
        return self.source.config() | {"detections": found}

    def _look(self, group: _Group) -> list[list[Detection]]:
        return _find(self.detector, self.threshold, list(group.unknown.values()))

    def _with_objects(self, group: _Group, lists: list[list[Detection]]) -> list[Photograph]:
        known = {} if self._known is None else self._known
        lines = []
        for key, found in zip(group.unknown, lists, strict=True):
            if key not in known:
                known[key] = found
                lines.append(_Detected(self.detector.identity, key, self.threshold, found))
        if self.cache is not None and lines:
            self.cache.parent.mkdir(parents=True, exist_ok=True)
            with self.cache.open("ab") as file:
                # a stopped run may have left half a line: the line end before keeps it apart from ours
                file.write(b"\n" + b"\n".join(map(msgspec.json.encode, lines)) + b"\n")
        out = list(group.photographs)
        for place, (key, data) in group.pictures.items():
            out[place] = _with(out[place], known[key], data)
        return out

    def _read(self) -> dict[str, list[Detection]]:
        """What this detector found before with this threshold or a lower one."""
        known: dict[str, list[Detection]] = {}
        if self.cache is None or not self.cache.is_file():
            return known
        decoder = msgspec.json.Decoder(_Detected)
        with self.cache.open("rb") as file:
            for text in file:
                try:
                    line = decoder.decode(text)
                except msgspec.DecodeError:  # an empty line, or one that a stopped run did not finish
                    continue
                if line.detector == self.detector.identity and line.threshold <= self.threshold:
                    known[line.picture] = [one for one in line.found if one.score >= self.threshold]
        return known


def _find(detector: Detector, threshold: float, pictures: list[bytes]) -> list[list[Detection]]:
    """What is in pictures; here, or in a worker that keeps the detector."""
    from PIL import Image

    if not pictures:
        return []
    images = [Image.open(BytesIO(data)).convert("RGB") for data in pictures]
    found = detector.detect(images, threshold)
    return [[_plain(one) for one in some if one.score >= threshold] for some in found]


def _plain(found: Detection) -> Detection:
    """With Python's own numbers: detectors may give NumPy's, which JSON does not know."""
    left, top, right, bottom = map(float, found.box)
    return Detection(str(found.category), (left, top, right, bottom), float(found.score))


def _with(photograph: Photograph, found: list[Detection], data: bytes) -> Photograph:
    from PIL import Image

    panel = photograph.panel
    with Image.open(BytesIO(data)) as image:
        width, height = image.size
    boxes = [(one, clipped(one.box, width, height)) for one in found]
    objects = tuple(
        SceneObject(str(number), one.category, (), box, one.score)
        for number, (one, box) in enumerate((one, box) for one, box in boxes if box is not None)
    )
    return replace(photograph, panel=replace(panel, width=width, height=height, objects=objects))
