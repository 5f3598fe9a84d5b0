"""Who says which photographs are removed and which are interesting: people's marks, a named rule, or a classifier.

The benchmark's config carries the name of what was used. Table 2 of NLVR2: an image is interesting if it has more than
one instance of the synset, shows an instance that interacts with other objects or performs an activity, or displays a
set of diverse objects or features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.builders.interest import learn_interest
from veridical.builders.nlvr2.queries import ACTIVITIES
from veridical.builders.nlvr2.records import Seen
from veridical.builders.nlvr2.search import instances, spellings
from veridical.builders.nlvr2.synsets import Synset

NO_PICTURE = "does not load"
NO_INSTANCE = "no instance of the synset"
DUPLICATE = "duplicate"
CROWD = "a crowd that cannot be counted"
MARKED = "marked by people"  # removed, without a reason given
SEVERAL, INTERACTS, ACTS, DIVERSE = "more than one instance", "interaction", "activity", "diverse objects"
DIVERSITY = 3  # categories beside the synset's own that make a photograph diverse

Judge = Callable[[Seen, Synset, str], str]  # of a photograph in a set (its number): a reason, or ""


@dataclass(frozen=True)
class Rule:
    """How photographs are judged, and what the benchmark says about it."""

    name: str
    about: str
    judge: Judge
    facts: Mapping[str, Any]  # such as a classifier's F1


def by_annotations() -> tuple[Rule, Rule]:
    """The rules for pruning and for interest that ask the annotations."""
    prune = Rule("annotations", "removed: no annotated object is an instance of the synset", _no_instance, {})
    about = "interesting: two instances or more, an instance that overlaps or is related to something else, a named "
    about += f"activity, or {DIVERSITY} other categories or more"
    return prune, Rule("annotations", about, interesting, {})


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


def nothing_known(one: Seen, synset: Synset, number: str) -> str:
    """Without annotations and people, only pictures that do not load are removed."""
    return NO_PICTURE if one.problem else ""


def without_crowds(rule: Rule) -> Rule:
    """A rule of pruning that removes photographs in which a crowd is marked as one object, too: sentences count."""

    def judge(one: Seen, synset: Synset, number: str) -> str:
        return CROWD if one.crowd else rule.judge(one, synset, number)

    return Rule(rule.name, rule.about, judge, rule.facts)


def removal_marks(marks: Mapping[tuple[str, str], str]) -> Rule:
    """What people removed: reasons by set and photograph."""

    def judge(one: Seen, synset: Synset, number: str) -> str:
        return NO_PICTURE if one.problem else marks.get((number, one.id), "")

    return Rule("people", "removed by people", judge, {"marks": len(marks)})


def interest_marks(dull: set[tuple[str, str]]) -> Rule:
    """What people did not mark as dull is interesting (section 3.1)."""

    def judge(one: Seen, synset: Synset, number: str) -> str:
        return "" if (number, one.id) in dull else "people"

    return Rule("people", "interesting unless people marked a photograph as not", judge, {"marks": len(dull)})


def classifier(labels: Mapping[str, bool], seen: Sequence[Seen], vectors: np.ndarray, seed: int) -> Rule:
    """A classifier over embeddings and counts, trained on labels; its F1 is measured on held-out folds."""
    counts = np.array([[len(one.objects), sum(one.objects.values()), len(one.touching)] for one in seen], np.float64)
    table = np.hstack([vectors.astype(np.float64), np.log1p(counts)])  # (N, D + 3)
    said, facts = learn_interest(labels, [one.id for one in seen], table, seed)

    def judge(one: Seen, synset: Synset, number: str) -> str:
        return "classifier" if said.get(one.id, False) else ""

    return Rule("classifier", "interesting: a classifier trained on labels", judge, facts)
