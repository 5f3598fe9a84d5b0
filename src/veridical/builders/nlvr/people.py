"""What people collect for NLVR: presentations they saw, sentences they wrote, judgements they gave, all JSON lines.

presentations.jsonl  {"presentation": "7", "kind": "tower", "images": [{"id": "7-2", "file": "images/7-2.png",
                      "boxes": [[{"x_loc": 40, "y_loc": 80, "size": 20, "type": "square", "color": "Black"}], ...]}]}
                     four images, in the order A, B, C, D
statements           {"presentation": "7", "sentence": "There is a tower with ...", "writer": "w3"}
judgements           {"item": "7-2", "worker": "w5", "verdict": true}     or false, "nonsense", "skip"
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from veridical.builders.nlvr.scenes import Packed, pack, unpack
from veridical.common.characters import unseen
from veridical.common.files import bad_line, numbered_lines
from veridical.formats.nlvr import COLORS, BoxObject
from veridical.records import Judgement, Panel, Verdict
from veridical.sources.boxes.scenes import Figure, Placed, Scene, panel, placed
from veridical.statistics.judgements import NO_REASON, SKIP, Judged, prune_nlvr

NO_JUDGEMENT = "no judgement"
_COLOR_NAMES = {"black": "Black", "yellow": "Yellow", "blue": "#0099ff"}  # as the official release writes them
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")  # of a presentation
_VERDICTS: dict[object, Verdict] = {True: 1, False: 0, "true": 1, "false": 0, "nonsense": "nonsense", "skip": "skip"}


class _FigureLine(BoxObject):
    """An object of a box, as the release writes it; ours stand on whole pixels."""

    x_loc: int
    y_loc: int


class _ImageLine(msgspec.Struct, frozen=True):
    """One of a presentation's four images."""

    id: str
    boxes: list[list[_FigureLine]]
    file: str = ""


class _PresentationLine(msgspec.Struct, frozen=True):
    """What people look at when they write."""

    presentation: str
    kind: Literal["scatter", "tower"]
    images: list[_ImageLine]


class _StatementLine(msgspec.Struct, frozen=True):
    """What somebody wrote about a presentation: it should be true of the images A and B and false of C and D, so that
    nobody can tell from a sentence alone whether an item is true."""

    presentation: str
    sentence: str
    writer: str


class _JudgementLine(msgspec.Struct, frozen=True):
    """What somebody said of an item."""

    item: str
    worker: str
    verdict: bool | Literal["true", "false", "nonsense", "skip"]
    time: float | None = None


def presentation_line(example: Packed) -> bytes:
    """A presentation for the file that a collection reads."""
    images = [
        _ImageLine(name, [_objects(box) for box in unpack(packed)], f"images/{name}.png")
        for name, packed in zip(example.ids, example.scenes, strict=True)
    ]
    return msgspec.json.encode(_PresentationLine(example.presentation, example.arrangement, images)) + b"\n"


def _objects(box: Panel) -> list[_FigureLine]:
    rows = [(x, y, size, shape, _COLOR_NAMES[color]) for y, x, (shape, color, size) in placed(box)]
    return [msgspec.convert(dict(zip(_FigureLine.__struct_fields__, row, strict=True)), _FigureLine) for row in rows]


def read_presentations(path: Path) -> list[Packed]:
    """The presentations that people saw."""
    out = []
    seen: set[str] = set()
    for number, line in numbered_lines(path, _PresentationLine):
        names = [image.id for image in line.images]
        expected = [f"{line.presentation}-{place}" for place in range(4)]
        if sorted(names) != expected:
            raise bad_line(
                path, number, f"the images are {names}; expected the four of {expected}, in the order A to D"
            )
        if not _NAME.fullmatch(line.presentation):
            problem = f"{line.presentation!r} cannot name a presentation; use letters, digits, '.', '-' and '_'"
            raise bad_line(path, number, problem)
        _new(seen, line.presentation, path, number, "presentation")
        scenes = tuple(pack(_scene(image, path, number)) for image in line.images)
        out.append(Packed(line.presentation, line.kind, tuple(names), scenes))
    return out


def _scene(image: _ImageLine, path: Path, number: int) -> Scene:
    if len(image.boxes) != 3:
        raise bad_line(path, number, f"image {image.id} has {len(image.boxes)} boxes; expected 3")
    boxes = [[Placed(o.y_loc, o.x_loc, Figure(o.type, COLORS[o.color], o.size)) for o in box] for box in image.boxes]
    return tuple(panel(box, index, image.id) for index, box in enumerate(boxes))


def read_statements(path: Path, examples: Sequence[Packed]) -> list[Packed]:
    """The presentations that have a sentence, with it."""
    known = {one.presentation: one for one in examples}
    seen: set[str] = set()
    written: dict[str, Packed] = {}
    for number, line in numbered_lines(path, _StatementLine):
        if line.presentation not in known:
            raise bad_line(path, number, f"there is no presentation {line.presentation!r}")
        _named(line.sentence, "sentence", path, number)
        _named(line.writer, "writer", path, number)
        _new(seen, line.presentation, path, number, "statement on presentation")
        one = known[line.presentation]
        written[line.presentation] = replace(one, sentence=line.sentence.strip(), writer=line.writer)
    return [written[one.presentation] for one in examples if one.presentation in written]


def read_judgements(path: Path, examples: Iterable[Packed]) -> tuple[list[Judgement], int]:
    """Validation judgements on the items of some presentations, and how many were left out: nobody validates a
    sentence of his own."""
    known = {name: one.writer for one in examples for name in one.ids}
    seen: set[str] = set()
    out = []
    own = 0
    for number, line in numbered_lines(path, _JudgementLine):
        if line.item not in known:
            raise bad_line(path, number, f"there is no item {line.item!r} that has a statement")
        _named(line.worker, "worker", path, number)
        _new(seen, f"{line.item} by {line.worker}", path, number, "judgement on")
        if line.worker == known[line.item]:
            own += 1
            continue
        out.append(Judgement(line.item, line.worker, _VERDICTS[line.verdict], "validation", line.time))
    return out, own


def selections(examples: Iterable[Packed]) -> list[Judgement]:
    """What the writers meant: their sentence is true of A and B."""
    return [
        Judgement(name, one.writer or "", int(letter < 2), "selection")
        for one in examples
        for letter, name in enumerate(one.ids)
    ]


@dataclass(frozen=True)
class Verdicts:
    """What the judgements make of the items: a label, or a reason to remove one."""

    labels: dict[str, int]
    removed: dict[str, str]  # item -> reason

    @property
    def reasons(self) -> dict[str, int]:
        return dict(sorted(Counter(self.removed.values()).items()))


def settle(items: Sequence[str], judgements: Sequence[Judgement]) -> Verdicts:
    """NLVR, section 4: remove majority nonsense and small gaps; the label of the others is the majority's."""
    judged = Judged.of(items, judgements)
    reasons = prune_nlvr(judged)
    said = judged.verdict != SKIP
    votes = np.bincount(judged.item[said], minlength=len(items))
    chosen = judged.where(judged.verdict >= 0).counts()
    labels, removed = {}, {}
    for index, name in enumerate(items):
        reason = str(reasons[index]) if votes[index] else NO_JUDGEMENT
        if reason == NO_REASON:
            labels[name] = int(chosen[index].argmax())
        else:
            removed[name] = reason
    return Verdicts(labels, removed)


def _named(text: str, noun: str, path: Path, number: int) -> None:
    """Refuse an empty text, and one with characters that cannot be seen or that turn others around."""
    if not text.strip():
        raise bad_line(path, number, f"the {noun} is empty")
    if bad := unseen(text.strip()):
        raise bad_line(path, number, f"the {noun} has the control character {bad}")


def _new(seen: set[str], key: str, path: Path, number: int, noun: str) -> None:
    if key in seen:
        raise bad_line(path, number, f"a second {noun} {key}")
    seen.add(key)
