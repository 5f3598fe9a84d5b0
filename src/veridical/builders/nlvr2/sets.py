"""From found sets to sets of eight photographs (NLVR2, section 3.1): two rounds of pruning.

First what is not wanted goes, and sets with fewer than eight left; then duplicates go, interesting photographs come
first, sets with fewer than three of these go, and eight stay. Unlike the paper's, our sets share no photograph: it
would tie them together, and splits could not be kept apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from veridical.builders.nlvr2.records import Found, ImageSet, PrunedSet, Seen
from veridical.builders.nlvr2.rules import DUPLICATE, Rule
from veridical.builders.nlvr2.synsets import Synset
from veridical.encoders.hashes import near_pairs

SIZE = 8  # photographs of a set
LEAST_INTERESTING = 3
DISTANCE = 6  # bits of a perceptual hash in which near duplicates may differ
TOO_FEW = f"fewer than {SIZE} photographs left"
TOO_DULL = f"fewer than {LEAST_INTERESTING} interesting photographs"
ENOUGH = "enough sets"
USED = "used in another set"


def near_duplicates(seen: Sequence[Seen], distance: int = DISTANCE) -> dict[str, str]:
    """Photographs whose perceptual hash is (nearly) that of an earlier one -> that one."""
    hashed = [one for one in seen if one.phash is not None]
    values = np.array([int(one.phash or "0", 16) for one in hashed], np.uint64)
    out: dict[str, str] = {}
    for a, b in sorted((min(p), max(p)) for p in near_pairs(values, distance).tolist()):
        if hashed[a].id not in out:  # an image that itself goes is no reason for another to go
            out.setdefault(hashed[b].id, hashed[a].id)
    return out


def prune(
    found: Sequence[Found],
    seen: Mapping[str, Seen],
    synsets: Mapping[str, Synset],
    rule: Rule,
) -> list[PrunedSet]:
    """The first task: remove what is not wanted; discard sets of which fewer than eight are left."""
    out = []
    for one in found:
        reasons = {name: rule.judge(seen[name], synsets[one.synset], one.set) for name in one.photographs}
        kept = tuple(name for name in one.photographs if not reasons[name])
        removed = {name: reason for name, reason in reasons.items() if reason}
        discarded = TOO_FEW if len(kept) < SIZE else ""
        out.append(PrunedSet(one.set, one.synset, one.query, kept, removed, discarded))
    return out


def construct(
    pruned: Sequence[PrunedSet],
    seen: Mapping[str, Seen],
    synsets: Mapping[str, Synset],
    rule: Rule,
    *,
    duplicates: Mapping[str, str] | None = None,
    marked: Mapping[tuple[str, str], str] | None = None,
    most: int | None = None,
    share: bool = False,
) -> list[ImageSet]:
    """The second task: duplicates out, interesting first, eight stay; in the order of the sets' numbers.

    `duplicates` repeat another photograph, and `marked` are those that people marked in a set. `most` sets are made,
    the synsets taking turns. With `share`, sets may share photographs, as in the paper.
    """
    same = duplicates or {}
    used: set[str] = set()
    out: dict[str, ImageSet] = {}
    made = 0
    for one in turns([p for p in pruned if not p.discarded]):
        if made == most:
            out[one.set] = _discarded(one, {}, ENOUGH)
            continue
        removed = {name: marked[one.set, name] for name in one.photographs if marked and (one.set, name) in marked}
        removed |= _repeated([name for name in one.photographs if name not in removed], same)
        if not share:
            removed |= {name: USED for name in one.photographs if name in used and name not in removed}
        left = [name for name in one.photographs if name not in removed]
        if len(left) < SIZE:
            out[one.set] = _discarded(one, removed, TOO_FEW)
            continue
        reasons = {name: rule.judge(seen[name], synsets[one.synset], one.set) for name in left}
        if sum(map(bool, reasons.values())) < LEAST_INTERESTING:
            out[one.set] = _discarded(one, removed, TOO_DULL)
            continue
        eight = tuple(sorted(left, key=lambda name: not reasons[name]))[:SIZE]  # sorting keeps the order of similarity
        used.update(eight)
        made += 1
        shown = {name: reasons[name] for name in eight if reasons[name]}
        out[one.set] = ImageSet(one.set, one.synset, one.query, eight, shown, removed)
    return [out[one.set] for one in pruned if one.set in out]


def turns(pruned: Sequence[PrunedSet]) -> list[PrunedSet]:
    """Sets in rounds: the first of each synset, the second of each ..., rarer synsets first, so that no synset takes
    the photographs of all others."""
    number = Counter(one.synset for one in pruned)
    place: Counter[str] = Counter()
    keyed: list[tuple[tuple[int, int, str], PrunedSet]] = []
    for one in pruned:
        keyed.append(((place[one.synset], number[one.synset], one.synset), one))
        place[one.synset] += 1
    return [one for _, one in sorted(keyed, key=lambda pair: pair[0])]


def _repeated(photographs: Sequence[str], same: Mapping[str, str]) -> dict[str, str]:
    """Photographs of a set that repeat an earlier one of it."""
    out: dict[str, str] = {}
    first: set[str] = set()
    for name in photographs:
        original = same.get(name, name)
        if original in first:
            out[name] = DUPLICATE
        first.add(original)
    return out


def _discarded(one: PrunedSet, removed: dict[str, str], why: str) -> ImageSet:
    return ImageSet(one.set, one.synset, one.query, (), {}, removed, why)
