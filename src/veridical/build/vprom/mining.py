"""Mining visual elements from annotated photographs (V-PROM, section 3.1), the five principles as measured filters.

    richness      an element needs `least_images` photographs
    purity        a crop shows little else, and one element of a super-attribute
    quality       a crop has `least_side` pixels each way
    relatedness   semantic attributes are left out by a list
    independence  objects that are beside most others are left out by a list

A crop is labelled with everything annotated inside it (`shows`), and may stand for what it is a crop of (`depicts`).
Counts come from descriptions ("five bowls of oatmeal") where photographs have some, or from the number of instances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from veridical.build.vprom.counts import count_in
from veridical.build.vprom.elements import MOST, Element, count_element, in_order
from veridical.build.vprom.labels import CROWD, Labels, Reader
from veridical.build.vprom.lists import Lists
from veridical.build.vprom.pool import Lists2D, Pool
from veridical.records import Box
from veridical.sources import Photograph

PRINCIPLES = ("richness", "purity", "quality", "relatedness", "independence", "unlisted")
INSIDE = 0.5  # the part of an object that lies in a crop that shows it
MARGIN = 0.05  # of a crop of several objects, around them


@dataclass(frozen=True)
class Mining:
    """How strict the principles are."""

    least_images: int = 12  # richness: photographs of an element
    most_others: int = 6  # purity: other objects in a crop
    least_side: int = 100  # quality: pixels


@dataclass(frozen=True, slots=True)
class Crop:
    """A part of a photograph that may become a panel."""

    region: Box | None  # None: all of it
    shows: frozenset[Element]
    depicts: frozenset[Element]


@dataclass(frozen=True, slots=True)
class Mined:
    """What was found in some photographs."""

    names: tuple[str, ...]  # photographs
    crops: tuple[tuple[Crop, ...], ...]  # of each photograph
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)  # (principle, kind) -> depictions removed


def mine(photographs: Iterable[Photograph], lists: Lists, config: Mining, *, exact: bool) -> Mined:
    """The crops of some photographs; `exact` where the annotations are all there is to see."""
    reader, lost = Reader(lists), Counter[tuple[str, str]]()
    names, crops = [], []
    for photograph in photographs:
        labels = [reader.read(thing) for thing in photograph.panel.objects]
        for one in labels:
            lost.update(one.lost)
        names.append(photograph.panel.id)
        seen = _Seen(photograph, labels, lists, exact)
        crops.append(tuple(_crops(seen, config, lost)))
    return Mined(tuple(names), tuple(crops), lost)


@dataclass(frozen=True, slots=True)
class _Part:
    """A crop before the filters: where it is, what it is of."""

    region: Box | None
    members: tuple[int, ...]  # objects
    number: int | None = None  # how many things it shows, where that is known


class _Seen:
    """A photograph's annotations as arrays."""

    def __init__(self, photograph: Photograph, labels: Sequence[Labels], lists: Lists, exact: bool) -> None:
        panel = photograph.panel
        self.width, self.height = panel.width or 0, panel.height or 0
        self.exact, self.labels = exact, labels
        self.words = [thing.category for thing in panel.objects]
        self.boxes = np.array([thing.box or (0, 0, 0, 0) for thing in panel.objects], float).reshape(-1, 4)
        self.crowd = {thing.category for thing in panel.objects if CROWD in thing.attributes}
        self.described = bool(photograph.regions)
        counted = [(count_in(region.phrase, lists.counts), region.box) for region in photograph.regions]
        self.counts = [(number, box) for number, box in counted if number is not None]

    def parts(self) -> list[_Part]:
        """What may be cropped."""
        if self.exact:
            return [_Part(None, tuple(range(len(self.words))), len(self.words))]
        single = [_Part(self._clip(box), (row,)) for row, box in enumerate(self.boxes) if self.words[row]]
        if self.described:
            return single + [_Part(self._clip(np.array(box)), (), number) for number, box in self.counts]
        out = []
        for word in dict.fromkeys(self.words):
            rows = tuple(row for row, other in enumerate(self.words) if other == word)
            number = None if word in self.crowd else len(rows)
            out.append(_Part(self._around(rows), rows, number))
        alone = Counter(self.words)
        return out + [part for part in single if alone[self.words[part.members[0]]] > 1]

    def inside(self, region: Box | None, boxes: np.ndarray) -> np.ndarray:
        """Which boxes lie in a region, most of them at least."""
        if region is None or not len(boxes):
            return np.ones(len(boxes), bool)
        low, high = np.maximum(boxes[:, :2], region[:2]), np.minimum(boxes[:, 2:], region[2:])
        area = np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 1e-9), axis=1)
        return np.asarray(np.prod(np.maximum(high - low, 0), axis=1) >= INSIDE * area)

    def numbers(self, region: Box | None, rows: np.ndarray) -> set[int]:
        """Every count that a region is labelled with."""
        if self.described:
            boxes = np.array([box for _, box in self.counts], float).reshape(-1, 4)
            return {self.counts[k][0] for k in np.flatnonzero(self.inside(region, boxes))}
        found = Counter(self.words[row] for row in rows if self.words[row] not in self.crowd)
        return {*found.values(), *({len(rows)} if self.exact else ())}

    def _clip(self, box: np.ndarray) -> Box:
        left, top, right, bottom = (float(value) for value in box)
        return max(left, 0.0), max(top, 0.0), min(right, float(self.width)), min(bottom, float(self.height))

    def _around(self, rows: Sequence[int]) -> Box:
        own = self.boxes[list(rows)]
        low, high = own[:, :2].min(axis=0), own[:, 2:].max(axis=0)
        room = MARGIN * (high - low) if len(rows) > 1 else 0.0
        return self._clip(np.concatenate([low - room, high + room]))


def _crops(seen: _Seen, config: Mining, lost: Counter[tuple[str, str]]) -> list[Crop]:
    out = []
    for part in seen.parts():
        rows = np.flatnonzero(seen.inside(part.region, seen.boxes))
        wanted, mixed = _depicted(seen, part)
        if not wanted and not mixed:
            continue
        lost.update(("purity", element.kind) for element in mixed)
        others = len(set(rows.tolist()) - set(part.members)) if part.members else 0
        reason = None
        if not _is_large(part.region, seen, config.least_side):
            reason = "quality"
        elif others > config.most_others or any(seen.words[row] in seen.crowd for row in part.members):
            reason = "purity"
        if reason is not None:
            lost.update((reason, element.kind) for element in wanted)
            continue
        shows = set(wanted) | set(mixed)
        for row in rows:
            own = seen.labels[int(row)]
            shows |= own.attributes | own.others | ({own.category} if own.category else set())
        shows |= {count_element(n) for n in seen.numbers(part.region, rows) if 1 <= n <= MOST}
        if wanted:
            out.append(Crop(part.region, frozenset(shows), frozenset(wanted)))
    return out


def _depicted(seen: _Seen, part: _Part) -> tuple[set[Element], set[Element]]:
    """The elements that a crop may stand for, and those that others of their super-attribute spoil."""
    own = [seen.labels[row] for row in part.members]
    wanted: set[Element] = set()
    mixed: set[Element] = set()
    if own:
        categories = {one.category for one in own}
        (wanted if len(categories) == 1 else mixed).update(one for one in categories if one is not None)
        groups = Counter(e.group for e in frozenset().union(*(one.attributes for one in own)))
        shared = frozenset.intersection(*(one.attributes for one in own)) if len(categories) == 1 else frozenset()
        wanted |= {e for e in shared if groups[e.group] == 1}
        mixed |= {e for e in shared if groups[e.group] > 1}
    alike = len({seen.words[row] for row in part.members}) <= 1
    if part.number is not None and 1 <= part.number <= MOST and alike:
        wanted.add(count_element(part.number))
    return wanted, mixed


def _is_large(region: Box | None, seen: _Seen, least: int) -> bool:
    if region is None:
        return min(seen.width, seen.height) >= least
    return min(region[2] - region[0], region[3] - region[1]) >= least


def pool_of(parts: Iterable[Mined], config: Mining) -> tuple[Pool, tuple[str, ...]]:
    """One pool of everything mined, without elements of too few photographs, and the names of all photographs."""
    names: list[str] = []
    crops: list[tuple[int, Crop]] = []
    lost = Counter[tuple[str, str]]()
    for part in parts:
        crops.extend((len(names) + k, crop) for k, own in enumerate(part.crops) for crop in own)
        names.extend(part.names)
        lost.update(part.lost)
    seen = {(e, photograph) for photograph, crop in crops for e in crop.depicts}
    photographs, depictions = Counter(e for e, _ in seen), Counter(e for _, crop in crops for e in crop.depicts)
    for element, number in photographs.items():
        if number < config.least_images:
            lost["richness", element.kind] += depictions[element]
    elements = in_order({e for e, number in photographs.items() if number >= config.least_images})
    number_of = {e: k for k, e in enumerate(elements)}
    kept = [(p, crop, _numbers(crop.depicts, number_of)) for p, crop in crops]
    kept = [row for row in kept if row[2]]
    nan = (np.nan,) * 4
    removed = {
        principle: {kind: number for (why, kind), number in sorted(lost.items()) if why == principle}
        for principle in PRINCIPLES
    }
    pool = Pool(
        elements=elements,
        photograph=np.array([p for p, _, _ in kept], np.int32),
        region=np.array([crop.region or nan for _, crop, _ in kept], float).reshape(-1, 4),
        shows=Lists2D.of([_numbers(crop.shows, number_of) for _, crop, _ in kept]),
        depicts=Lists2D.of([depicted for _, _, depicted in kept]),
        removed=removed,
        photographs=len(names),
    )
    return pool, tuple(names)


def _numbers(elements: frozenset[Element], number_of: dict[Element, int]) -> tuple[int, ...]:
    return tuple(sorted(number_of[e] for e in elements if e in number_of))
