"""What can be seen of annotated things: boxes of one thing are merged, and what may count or not is marked.

Annotations name what is a few pixels wide, cut off by the border or hidden behind something; two boxes are drawn around
one thing, as a car and as a truck; captions speak of what has no box. Of such things some readers would say that they
are there and others not. They stay, with an attribute that says why (`language.writing.pairs.doubts`), and no label
depends on them. With a `margin` more is doubtful: a label that then changes hangs on something close to a threshold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

from veridical.language.english import HYPERNYM_ATTRIBUTES, word
from veridical.language.writing.pairs.doubts import CROWD, DOUBTFUL, PERHAPS, SEVERAL
from veridical.records import Box, Panel, SceneObject
from veridical.sources import Coverage, Photograph

MERGED = "merged"  # the attribute with the id of an annotation that is of the same thing
SMALL, CUT, COVERED, BESIDE = "small", "cut off", "covered", "in the box of another"
UNSURE, MENTIONED, MANY = "the detector is not sure", "only captions name it", "one of many"
BEHIND = "another may stand behind"
COMPANY = 3  # things of a category that are seldom alone
SURE_SCORE = 0.75  # of a detection that nobody has to look at
PORTION = "not counted by all in the same way"
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class Thresholds:
    """From when on a thing counts; shares are of the photograph."""

    area: float = 0.0045  # of its outline, or of its box
    side: float = 0.03  # the shorter one of its box, of the longer one of the photograph
    cut_area: float = 0.025  # of a thing that the border cuts off
    cut_side: float = 0.13  # the shorter one of its box: an arm, a foot, the edge of a chair
    covered_area: float = 0.012  # of a thing in several parts, or that fills little of its box
    filled: float = 0.3  # how little of its box a covered thing fills
    front_area: float = 0.0075  # of a thing whose box is mostly in that of something larger
    inside: float = 0.5  # how much "mostly" is
    score: float = 0.0  # of a detection; what the detector's own threshold let through counts
    same: float = 0.7  # intersection over union of two boxes of one thing
    beside: float = 0.5  # of two boxes of which one may be of the other's thing
    aligned: float = 0.1  # by how much, of their length, boxes of one thing's halves may differ where they meet
    most: int = 8  # things of a category; nobody counts more

    def widened(self, margin: float) -> Thresholds:
        """Those under which so many times as much is doubtful."""
        areas = {name: getattr(self, name) * margin for name in ("area", "cut_area", "covered_area", "front_area")}
        boxes = {"beside": self.beside / margin**0.25}  # not `same`: what is merged only then would be certain
        sides = {name: getattr(self, name) * margin**0.5 for name in ("side", "cut_side")}
        return replace(self, score=SURE_SCORE, **areas, **sides, **boxes)


THRESHOLDS = Thresholds()


def visible(photograph: Photograph, coverage: Coverage, margin: float = 1.0) -> Photograph:
    """A photograph whose things are merged and marked."""
    least = THRESHOLDS.widened(margin) if margin != 1 else THRESHOLDS
    panel = photograph.panel
    merged = _merge(panel.objects, coverage, least)
    boxes = [thing.box for thing in merged if thing.box is not None]
    marked = [_mark(thing, panel, boxes, coverage, least) for thing in merged]
    counted = _beyond(_beside(marked, coverage, least), least.most)
    objects = (*counted, *_behind(counted, photograph, coverage), *_mentioned(photograph, coverage))
    return replace(photograph, panel=replace(panel, objects=objects))


def about_thresholds() -> dict[str, float]:
    """The thresholds, for a benchmark's config."""
    return asdict(THRESHOLDS)


# --- two boxes of one thing -------------------------------------------------------------------------------------------


def overlap(one: Box, other: Box) -> float:
    """Intersection over union.

    >>> overlap((0, 0, 2, 1), (1, 0, 3, 1))
    0.3333333333333333
    """
    common = _common(one, other)
    union = _area(one) + _area(other) - common
    return common / union if union else 0.0


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _common(one: Box, other: Box) -> float:
    """The area of two boxes' intersection."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def _alike(one: SceneObject, other: SceneObject, coverage: Coverage) -> bool:
    """Whether two things may be taken for each other: of one category or supercategory, or often confused."""
    if CROWD in one.attributes or CROWD in other.attributes:
        return False
    if one.category == other.category or other.category in coverage.confused.get(one.category, ()):
        return True
    if one.category in coverage.confused.get(other.category, ()):
        return True
    above = [next((value for name, value in o.attributes if name in HYPERNYM_ATTRIBUTES), o.id) for o in (one, other)]
    return above[0] == above[1]


def _merge(things: Sequence[SceneObject], coverage: Coverage, least: Thresholds) -> list[SceneObject]:
    """Things once each; one that was annotated as two keeps the first category and may be of the other."""
    out: list[SceneObject] = []
    for thing in things:
        place = next(
            (
                k
                for k, known in enumerate(out)
                if thing.box is not None
                and known.box is not None
                and _alike(known, thing, coverage)
                and overlap(known.box, thing.box) >= least.same ** (0.3 if known.category == thing.category else 1)
            ),
            None,
        )
        if place is None:
            out.append(thing)
            continue
        known = out[place]
        also = () if thing.category == known.category else ((PERHAPS, thing.category),)
        out[place] = replace(known, attributes=(*known.attributes, *also, (MERGED, thing.id)))
    return out


def _beside(things: Sequence[SceneObject], coverage: Coverage, least: Thresholds) -> list[SceneObject]:
    """Of two things alike whose boxes have much in common, or that are like the halves of one, the smaller one may be
    part of the larger: the two doors of a refrigerator."""
    out = list(things)
    for k, one in enumerate(out):
        for other in out[:k] + out[k + 1 :]:
            if one.box is None or other.box is None or not _alike(one, other, coverage):
                continue
            smaller = (_area(one.box), one.id) < (_area(other.box), other.id)
            halves = one.category == other.category and _halves(one.box, other.box, least.aligned)
            if smaller and (halves or overlap(one.box, other.box) >= least.beside):
                out[k] = _doubted(one, BESIDE)
    return out


def _halves(one: Box, other: Box, aligned: float) -> bool:
    """Whether two boxes stand side by side, or one on the other, without a gap and about equally long there.

    >>> _halves((0, 0, 3, 9), (3, 0, 5, 9), 0.1), _halves((0, 0, 3, 9), (3, 4, 5, 9), 0.1)
    (True, False)
    """
    for a, b in ((0, 1), (1, 0)):  # the axis on which they follow each other, and the one on which they are alike
        first, second = sorted((one, other), key=lambda box: box[a])
        gap = abs(second[a] - first[a + 2])
        length = max(box[b + 2] - box[b] for box in (one, other))
        apart = max(abs(one[b] - other[b]), abs(one[b + 2] - other[b + 2]))
        if gap <= aligned * (first[a + 2] - first[a]) and apart <= aligned * length:
            return True
    return False


# --- one thing --------------------------------------------------------------------------------------------------------


def _doubted(thing: SceneObject, why: str) -> SceneObject:
    """A thing that may count or not; the first reason stays."""
    known = thing.attribute(DOUBTFUL) is not None
    return thing if known else replace(thing, attributes=(*thing.attributes, (DOUBTFUL, why)))


def _mark(thing: SceneObject, panel: Panel, boxes: Sequence[Box], coverage: Coverage, least: Thresholds) -> SceneObject:
    if thing.category in coverage.portions:
        thing = replace(thing, attributes=(*thing.attributes, (SEVERAL, PORTION)))
    why = _reason(thing, panel, boxes, least)
    return _doubted(thing, why) if why else thing


def _reason(thing: SceneObject, panel: Panel, boxes: Sequence[Box], least: Thresholds) -> str:
    """Why a thing may not count; "" where it does."""
    if CROWD in thing.attributes:
        return ""
    if thing.score is not None and thing.score < least.score:
        return UNSURE
    if thing.box is None or not panel.width or not panel.height:
        return ""
    left, top, right, bottom = thing.box
    whole, longer = panel.width * panel.height, max(panel.width, panel.height)
    seen = outlined_area(thing.polygons) or _area(thing.box)
    shorter = min(right - left, bottom - top)
    if seen < least.area * whole or shorter < least.side * longer:
        return SMALL
    near = 0.005 * longer
    cut = left <= near or top <= near or right >= panel.width - near or bottom >= panel.height - near
    if cut and (seen < least.cut_area * whole or shorter < least.cut_side * longer):
        return CUT
    parted = len(thing.polygons) > 1 or seen < least.filled * _area(thing.box)
    if parted and seen < least.covered_area * whole:
        return COVERED
    own = _area(thing.box)
    within = any(_area(box) > own and _common(thing.box, box) > least.inside * own for box in boxes)
    return COVERED if within and seen < least.front_area * whole else ""


def outlined_area(outlines: Sequence[Sequence[tuple[float, float]]]) -> float:
    """The area within some outlines.

    >>> outlined_area([[(0, 0), (2, 0), (2, 2), (0, 2)]])
    4.0
    """
    out = 0.0
    for one in outlines:
        after = (*one[1:], *one[:1])
        out += abs(sum(x * v - u * y for (x, y), (u, v) in zip(one, after, strict=True))) / 2
    return out


def _beyond(things: Sequence[SceneObject], most: int) -> list[SceneObject]:
    """Where a category has many things, those past the largest may count or not."""
    size = {one.id: _area(one.box) if one.box else 0.0 for one in things}
    certain = [one for one in things if one.attribute(DOUBTFUL) is None]
    many = {category for category, count in Counter(one.category for one in certain).items() if count > most}
    spare: set[str] = set()
    for category in many:
        own = sorted((o for o in certain if o.category == category), key=lambda o: (-size[o.id], o.id))
        spare |= {one.id for one in own[most:]}
    return [_doubted(one, MANY) if one.id in spare else one for one in things]


def _behind(things: Sequence[SceneObject], photograph: Photograph, coverage: Coverage) -> list[SceneObject]:
    """One more of what stands behind others without being annotated, where there is a sign of it: one that is annotated
    is hardly seen, there are several, or captions speak of several where there is one."""
    said = {name for caption in photograph.captions for name in _names(caption)}
    out = []
    for category, words in coverage.company.items():
        own = [one for one in things if one.category == category and one.box is not None]
        certain = sum(one.attribute(DOUBTFUL) is None for one in own)
        hardly = certain < len(own)
        if own and (hardly or certain >= COMPANY or (certain == 1 and not said.isdisjoint(words))):
            out.append(SceneObject(f"behind-{category}", category, ((DOUBTFUL, BEHIND),), own[0].box))
    return out


def _mentioned(photograph: Photograph, coverage: Coverage) -> list[SceneObject]:
    """What captions name and no annotation has: it may be anywhere, or not be there."""
    said = {name for caption in photograph.captions for name in _names(caption)}
    known = {one.category for one in photograph.panel.objects}
    known |= {above for above, categories in coverage.under.items() if categories & known}
    out = []
    for category in sorted(coverage.names - known):
        plain = word(category)
        if said & {category, plain.one, plain.many, *coverage.spoken.get(category, ())}:
            out.append(SceneObject(f"caption-{category}", category, ((DOUBTFUL, MENTIONED),)))
    return out


def _names(caption: str) -> set[str]:
    """The words of a caption, one and two together."""
    words = _WORD.findall(caption.lower())
    return {*words, *(f"{a} {b}" for a, b in pairwise(words))}
