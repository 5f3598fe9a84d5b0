"""Mining visual elements from annotated photographs (V-PROM, section 3.1), the five principles as measured filters.

    richness      an element needs `least_images` photographs
    purity        a crop shows little else, and one element of a super-attribute
    quality       a crop has `least_side` pixels each way
    relatedness   semantic attributes are left out by a list
    independence  objects that are beside most others are left out by a list

A crop is labelled with everything annotated inside it (`shows`), and may stand for what it is a crop of (`depicts`).
Counts come from descriptions where photographs have some, or from the number of instances. In a description ("five
bowls of oatmeal") a number from 1 to 10 is a count where the phrase begins with it (after words such as "there are"),
no other number is in the phrase, a plural follows before the next little word ("one": a noun that is none), and nothing
in `lists/counts.json` says otherwise.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from veridical.builders.vprom.elements import (
    CROWD,
    MOST,
    CountWords,
    Element,
    LabelReader,
    Lists,
    count_element,
    in_order,
)
from veridical.builders.vprom.pool import Lists2D, Pool
from veridical.language.english import NUMBER_WORDS
from veridical.options.building import Mining
from veridical.records import Box
from veridical.sources import Photograph

PRINCIPLES = ("richness", "purity", "quality", "relatedness", "independence", "unlisted")
INSIDE = 0.5  # the part of an object that lies in a crop that shows it
MARGIN = 0.05  # of a crop of several objects, around them
MOST_LABELS = 2048  # of a property, beside those that matrices are about
_WHOLE = (float("nan"),) * 4
_NUMBERS = {word: n for n, word in enumerate(NUMBER_WORDS) if 1 <= n <= MOST} | {str(n): n for n in range(1, MOST + 1)}
# a word keeps what is joined to it, so that "5:30", "#7", "$5", "2nd", "3/4" and "two-drawer" are no numbers
_WORD = re.compile(r"[^\s,;!?()\"]+")
_NOT_NOUN = ("ing", "ed", "ly")  # endings of "the one standing", "one dressed in white"
_DIGIT = re.compile(r"[0-9]")


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
    lost: dict[tuple[str, str], int] = field(default_factory=dict)  # (principle, element type) -> depictions removed


def mine(photographs: Iterable[Photograph], lists: Lists, config: Mining, *, exact: bool) -> Mined:
    """The crops of some photographs; `exact` where the annotations are all there is to see."""
    reader, lost = LabelReader(lists), Counter[tuple[str, str]]()
    names, crops = [], []
    for photograph in photographs:
        seen = _Seen(photograph, reader, lists, exact)
        for one in seen.labels:
            lost.update(one.lost)
        names.append(photograph.panel.id)
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

    def __init__(self, photograph: Photograph, reader: LabelReader, lists: Lists, exact: bool) -> None:
        panel = photograph.panel
        self.width, self.height = panel.width or 0, panel.height or 0
        self.exact, self.labels = exact, [reader.read(thing) for thing in panel.objects]
        self.words = [thing.category for thing in panel.objects]
        self.boxes = np.array([thing.box or (0, 0, 0, 0) for thing in panel.objects], float).reshape(-1, 4)
        self.is_crowd = [CROWD in thing.attributes for thing in panel.objects]
        self.crowd = {word for word, crowd in zip(self.words, self.is_crowd, strict=True) if crowd}
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
        crowd = {self.words[row] for row in rows if self.is_crowd[row]}  # of which nobody knows how many
        found = Counter(self.words[row] for row in rows if self.words[row] not in crowd)
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
        lost.update(("purity", element.type) for element in mixed)
        others = len(rows) - (np.isin(part.members, rows).sum() if part.members else part.number or 0)
        reason = None
        left, top, right, bottom = part.region or (0, 0, seen.width, seen.height)
        if min(right - left, bottom - top) < config.least_side:
            reason = "quality"
        elif others > config.most_others or any(seen.words[row] in seen.crowd for row in part.members):
            reason = "purity"
        if reason is not None:
            lost.update((reason, element.type) for element in wanted)
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


class _Gathered:
    """Crops as numbers, so that a million of them stay small; elements are numbered as they come."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.lost = Counter[tuple[str, str]]()
        self.number: dict[Element, int] = {}
        self.photograph, self.region = array("i"), array("d")
        self.values = {"shows": array("i"), "depicts": array("i")}
        self.sizes = {"shows": array("i"), "depicts": array("i")}

    def add(self, part: Mined) -> None:
        for row, own in enumerate(part.crops, len(self.names)):
            for crop in own:
                self.photograph.append(row)
                self.region.extend(crop.region or _WHOLE)
                for name, elements in (("shows", crop.shows), ("depicts", crop.depicts)):
                    self.values[name].extend(self.number.setdefault(e, len(self.number)) for e in elements)
                    self.sizes[name].append(len(elements))
        self.names.extend(part.names)
        self.lost.update(part.lost)

    def lists(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The crop and the element of every label."""
        owners = np.repeat(np.arange(len(self.photograph)), np.array(self.sizes[name], np.int64))
        return owners, np.array(self.values[name], np.int64)


def pool_of(parts: Iterable[Mined], config: Mining) -> tuple[Pool, tuple[str, ...]]:
    """One pool of everything mined, without elements of too few photographs, and the names of all photographs."""
    found = _Gathered()
    for part in parts:
        found.add(part)
    photograph = np.array(found.photograph, np.int32)
    owners, values = found.lists("depicts")
    pairs = np.unique(np.stack([values, photograph[owners]]), axis=1)
    rich = np.bincount(pairs[0], minlength=len(found.number)) >= max(config.least_images, 1)
    depictions = np.bincount(values, minlength=len(found.number))
    for element, k in found.number.items():
        if not rich[k] and depictions[k]:
            found.lost["richness", element.type] += int(depictions[k])
    elements = in_order({e for e, k in found.number.items() if rich[k]} | _others(found, photograph, rich))
    place = np.full(len(found.number), -1, np.int64)
    place[[found.number[e] for e in elements]] = np.arange(len(elements))
    kept = np.zeros(len(photograph), bool)
    kept[owners[rich[values]]] = True
    removed = {
        principle: {type_: number for (why, type_), number in sorted(found.lost.items()) if why == principle}
        for principle in PRINCIPLES
    }
    pool = Pool(
        elements=elements,
        photograph=photograph[kept],
        region=np.array(found.region, float).reshape(-1, 4)[kept],
        shows=_renumbered(*found.lists("shows"), place, kept),
        depicts=_renumbered(owners, values, np.where(rich, place, -1), kept),
        removed=removed,
        photographs=len(found.names),
    )
    return pool, tuple(found.names)


def _others(found: _Gathered, photograph: np.ndarray, rich: np.ndarray) -> set[Element]:
    """Labels that no matrix is about and that may still explain one: seen in two photographs or more.

    Of each property the most common; what is rarer than MOST_LABELS others is hardly ever seen in all of a row.
    """
    owners, values = found.lists("shows")
    pairs = np.unique(np.stack([values, photograph[owners]]), axis=1)
    seen = np.bincount(pairs[0], minlength=len(found.number))
    by_property: dict[tuple[str, str], list[tuple[int, Element]]] = {}
    for element, k in found.number.items():
        if not rich[k] and seen[k] > 1:
            by_property.setdefault((element.type, element.group), []).append((-int(seen[k]), element))
    return {element for own in by_property.values() for _, element in sorted(own)[:MOST_LABELS]}


def _renumbered(owners: np.ndarray, values: np.ndarray, place: np.ndarray, kept: np.ndarray) -> Lists2D:
    """The labels of the crops that are kept, by their new numbers and in order."""
    wanted = kept[owners] & (place[values] >= 0)
    rows, labels = (np.cumsum(kept) - 1)[owners[wanted]], place[values[wanted]]
    order = np.lexsort((labels, rows))
    starts = np.zeros(int(kept.sum()) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(starts) - 1), out=starts[1:])
    return Lists2D(starts, labels[order].astype(np.int32))


def count_in(phrase: str, words: CountWords) -> int | None:
    """The number of things that a description says its region shows, or None.

    >>> from veridical.builders.vprom.elements import read_lists
    >>> words = read_lists().counts
    >>> [count_in(p, words) for p in ("There are five bowls of oatmeal.", "five o'clock", "a 10 years old boy")]
    [5, None, None]
    """
    found = [word.rstrip(".'").lstrip("'") for word in _WORD.findall(phrase.lower().replace("’", "'"))]
    found = [word for word in found if word]
    numbers = [place for place, word in enumerate(found) if word in _NUMBERS]
    others = any((_DIGIT.search(w) and w not in _NUMBERS) or w in words.more_than_ten for w in found)
    if len(numbers) != 1 or others:
        return None
    place = numbers[0]
    if not _opens(found[:place], words):
        return None
    count, rest = _NUMBERS[found[place]], found[place + 1 :]
    if not rest or rest[0] in words.not_followed_by:
        return None
    counted = list(takewhile(lambda word: word not in words.stops, rest))
    # groups, of which the picture shows the members: "one large group of people"
    of_members = rest[len(counted) : len(counted) + 1] == ["of"]
    if counted and counted[-1] in words.groups and (of_members or counted[-1] in words.not_followed_by):
        return None
    if (count > 1) != any(_is_plural(word, words) for word in counted):
        return None
    # "one" may stand for a thing that is not named: "the one standing"
    named = any(w in words.nouns or (w not in words.not_nouns and not w.endswith(_NOT_NOUN)) for w in counted)
    return None if count == 1 and (found[:place][-1:] == ["the"] or not named) else count


def _is_plural(word: str, words: CountWords) -> bool:
    regular = word.endswith("s") and not word.endswith(("ss", "'s"))
    return word in words.plurals or (regular and word not in words.singulars)


def _opens(before: list[str], words: CountWords) -> bool:
    """Whether nothing but openers stands before the number: "there are only"."""
    if not before:
        return True
    return any(
        " ".join(before[:size]) in words.openers and _opens(before[size:], words) for size in range(1, len(before) + 1)
    )
