"""From found sets to sets of eight photographs (NLVR2, section 3.1): two rounds of pruning, and who decides in them.

First what is not wanted goes, and sets with fewer than eight left; then duplicates go, interesting photographs come
first, sets with fewer than three of these go, and eight stay. Unlike the paper's, our sets share no photograph: it
would tie them together, and splits could not be kept apart.

People's marks, a named rule or a classifier say which photographs are removed and which are interesting; the
benchmark's config carries the name of what was used. Table 2: an image is interesting if it has more than one instance
of the synset, shows an instance that interacts with other objects or performs an activity, or displays a set of diverse
objects or features.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from veridical.builders.interest import learn_interest
from veridical.builders.nlvr2.queries import ACTIVITIES, Synset
from veridical.builders.nlvr2.search import instances, spellings
from veridical.builders.nlvr2.work import Found, ImageSet, PrunedSet, Seen, check_once, wrong

SIZE = 8  # photographs of a set
LEAST_INTERESTING = 3
TOO_FEW = f"fewer than {SIZE} photographs left"
TOO_DULL = f"fewer than {LEAST_INTERESTING} interesting photographs"
ENOUGH = "enough sets"
USED = "used in another set"
NO_PICTURE = "does not load"
NO_INSTANCE = "no instance of the synset"
DUPLICATE = "duplicate"
CROWD = "a crowd that cannot be counted"
MARKED = "marked by people"  # removed, without a reason given
SEVERAL, INTERACTS, ACTS, DIVERSE = "more than one instance", "interaction", "activity", "diverse objects"
_SET = re.compile(r"[A-Za-z0-9_.]+")  # its name
DIVERSITY = 3  # categories beside the synset's own that make a photograph diverse

Judge = Callable[[Seen, Synset, str], str]  # of a photograph in a set (its number): a reason, or ""


@dataclass(frozen=True)
class Rule:
    """How photographs are judged, and what the benchmark says about it."""

    name: str
    about: str
    judge: Judge
    facts: Mapping[str, float] = field(default_factory=dict)  # such as a classifier's F1


def _no_instance(one: Seen, synset: Synset, number: str) -> str:
    if one.problem:
        return NO_PICTURE
    names = spellings(synset)
    named = bool(names & set(one.words)) and not one.objects  # captions alone, where no object is annotated
    return "" if instances(one, names) or named else NO_INSTANCE


def interesting(one: Seen, synset: Synset, number: str = "") -> str:
    """The first criterion of Table 2 that a photograph's annotations fit; "" where it fits none."""
    names = spellings(synset)
    if instances(one, names) > 1:
        return SEVERAL
    if any(category.lower() in names for category in one.touching):
        return INTERACTS
    if set(ACTIVITIES) & set(one.words):
        return ACTS
    others = [category for category in one.objects if category.lower() not in names]
    return DIVERSE if len(others) >= DIVERSITY else ""


BY_ANNOTATIONS = Rule("annotations", "removed: no annotated object is an instance of the synset", _no_instance)
# without annotations and people
NOTHING_KNOWN = Rule(
    "none", "nothing removed but what does not load", lambda one, *_: NO_PICTURE if one.problem else ""
)
INTERESTING = Rule(  # Table 2, asked of the annotations
    "annotations",
    "interesting: two instances or more, an instance that overlaps or is related to something else, a named activity, "
    f"or {DIVERSITY} other categories or more",
    interesting,
)


def without_crowds(rule: Rule) -> Rule:
    """A rule of pruning that removes photographs in which a crowd is marked as one object, too: sentences count."""
    return replace(rule, judge=lambda one, *place: CROWD if one.crowd else rule.judge(one, *place))


def removal_marks(marks: Mapping[tuple[str, str], str]) -> Rule:
    """What people removed: reasons by set and photograph."""

    def judge(one: Seen, synset: Synset, number: str) -> str:
        return NO_PICTURE if one.problem else marks.get((number, one.id), "")

    return Rule("people", "removed by people", judge, {"marks": len(marks)})


def interest_marks(dull: set[tuple[str, str]]) -> Rule:
    """What people did not mark as dull is interesting (section 3.1)."""
    about, facts = "interesting unless people marked a photograph as not", {"marks": len(dull)}
    return Rule("people", about, lambda one, _, number: "" if (number, one.id) in dull else "people", facts)


def classifier(labels: Mapping[str, bool], seen: Sequence[Seen], vectors: np.ndarray, seed: int) -> Rule:
    """A classifier over embeddings and counts, trained on labels; its F1 is measured on held-out folds."""
    counts = np.array([[len(one.objects), sum(one.objects.values()), len(one.touching)] for one in seen], np.float64)
    table = np.hstack([vectors.astype(np.float64), np.log1p(counts)])  # (N, D + 3)
    said, facts = learn_interest(labels, [one.id for one in seen], table, seed)
    about = "interesting: a classifier trained on labels"
    return Rule("classifier", about, lambda one, *_: "classifier" if said.get(one.id, False) else "", facts)


def prune(
    found: Sequence[Found], seen: Mapping[str, Seen], synsets: Mapping[str, Synset], rule: Rule
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


SetOfPhotographs = TypeVar("SetOfPhotographs", Found, PrunedSet)


def turns(pruned: Sequence[SetOfPhotographs]) -> list[SetOfPhotographs]:
    """Sets in rounds: the first of each synset, the second of each ..., rarer synsets first, so that no synset takes
    the photographs of all others."""
    number = Counter(one.synset for one in pruned)
    place: Counter[str] = Counter()
    keyed: list[tuple[tuple[int, int, str], SetOfPhotographs]] = []
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


def check_sets(
    path: Path,
    sets: Sequence[Found] | Sequence[PrunedSet] | Sequence[ImageSet],
    photographs: Collection[str],
    synsets: Collection[str],
) -> None:
    """Refuse sets of unknown photographs or synsets, and twice the same set."""
    check_once(path, "set", (one.set for one in sets))
    for one in sets:
        if not _SET.fullmatch(one.set):
            raise wrong(path, f"{one.set!r} cannot name a set", "Use letters and digits.")
        if one.synset not in synsets:
            raise wrong(path, f"set {one.set} is of the synset {one.synset!r}", "Name a synset of queries.jsonl.")
        unknown = next((name for name in one.photographs if name not in photographs), None)
        if unknown is not None:
            raise wrong(path, f"set {one.set} has the photograph {unknown!r}", "Name those of photographs.jsonl.")
        if isinstance(one, ImageSet) and not one.discarded and len(set(one.photographs)) != SIZE:
            raise wrong(path, f"set {one.set} has {len(set(one.photographs))} photographs", f"Give it {SIZE}.")
