"""English statements with programs, written by NLVR's contrast: true of two images, false of two (section 4).

What to write (a family, drawn from a plan of phenomena) is settled first; then presentations are sampled until one has
a sentence of that family which is true of A and B and false of C and D under every reading of its words. So the shares
of phenomena do not depend on how hard a family is to satisfy, and no label depends on how a word is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veridical.errors import UserError
from veridical.language.phenomena.tagger import PHENOMENA
from veridical.language.programs.execution import Domain, domain_of, execute
from veridical.language.programs.terms import Term
from veridical.language.writing.boxes.families import FAMILIES
from veridical.language.writing.boxes.frames import Family
from veridical.language.writing.boxes.pen import NoDraft, Part, Pen
from veridical.language.writing.boxes.plan import PAPER, Plan, make_plan
from veridical.records import Panel
from veridical.sources.boxes.sample import Arrangement, Presentation, sample_presentation

__all__ = [
    "FAMILIES",
    "PAPER",
    "Family",
    "NoStatement",
    "Plan",
    "Statement",
    "Written",
    "contrast",
    "make_plan",
    "present",
    "write",
]

DRAFTS = 60  # sentences tried on a presentation
PRESENTATIONS = 2000  # presentations tried for a sentence


class NoStatement(UserError):
    """No sentence was found within the bounded search."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, what it means, and the phenomena it shows by construction."""

    sentence: str
    program: Term
    phenomena: tuple[str, ...]  # in the order of `PHENOMENA`
    family: str
    readings: tuple[Term, ...]  # the program and every other way to take the words; all give the same labels


@dataclass(frozen=True, slots=True)
class Written:
    """A presentation and the statement written about it."""

    presentation: Presentation  # the statement is true of its first two scenes, false of the others
    statement: Statement
    tried: int  # presentations sampled on the way, this one included


def contrast(
    scenes: Sequence[Sequence[Panel]],
    arrangement: Arrangement,
    family: Family,
    rng: np.random.Generator,
    drafts: int = DRAFTS,
) -> Statement | None:
    """A statement of a family that is true of the first two scenes and false of the last two, or None."""
    a, b, c, d = (domain_of(scene) for scene in scenes)
    seen: set[Term] = set()
    for draft in range(drafts):
        guide, other = ((a, c), (b, d))[draft % 2]
        try:
            part = family.write(Pen(rng, arrangement == "tower", guide, other))
        except NoDraft:
            continue
        if part.readings[0] in seen:
            continue
        seen.add(part.readings[0])
        if all(_separates(reading, a, b, c, d) for reading in part.readings):
            return _statement(part, family)
    return None


def present(rng: np.random.Generator, arrangement: Arrangement, name: str = "") -> Presentation:
    """A presentation to write about; its scenes are named `name-0` to `name-3`.

    Which of a scene and its reshuffle is to be true, and which false, is drawn for each of the two pairs, so that
    nothing in how a scene was made tells its label.
    """
    a, b, c, d = sample_presentation(rng, arrangement, name).scenes
    if rng.random() < 0.5:
        a, c = c, a
    if rng.random() < 0.5:
        b, d = d, b
    return Presentation(arrangement, (a, b, c, d))


def write(rng: np.random.Generator, plan: Plan, arrangement: Arrangement, name: str = "") -> Written:
    """A presentation with a statement about it."""
    family = plan.draw(rng, arrangement)
    for tried in range(1, PRESENTATIONS + 1):
        made = present(rng, arrangement, name)
        found = contrast(made.scenes, arrangement, family, rng)
        if found is not None:
            return Written(made, found, tried)
    raise NoStatement(
        f"{PRESENTATIONS:,} {arrangement} presentations had no statement of the family {family.name!r}.",
        "Try another seed, or other shares of phenomena.",
    )


def _separates(reading: Term, a: Domain, b: Domain, c: Domain, d: Domain) -> bool:
    return execute(reading, a) and not execute(reading, c) and execute(reading, b) and not execute(reading, d)


def _statement(part: Part, family: Family) -> Statement:
    sentence = f"{part.text[0].upper()}{part.text[1:]}."
    shown = tuple(name for name in PHENOMENA if name in family.phenomena)
    return Statement(sentence, part.readings[0], shown, family.name, part.readings)
