"""English statements with programs, written by NLVR's contrast: true of two images, false of two (section 4).

What to write (a family, drawn from a plan of phenomena) is settled first; then presentations are sampled until one has
a sentence of that family which is true of A and B and false of C and D under every reading of its words. So the shares
of phenomena do not depend on how hard a family is to satisfy, and no label depends on how a word is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from veridical.errors import UserError
from veridical.language.phenomena.tagger import PHENOMENA
from veridical.language.programs.domain import domain_of
from veridical.language.programs.execution import execute
from veridical.language.programs.terms import Term
from veridical.language.writing.boxes.families import FAMILIES
from veridical.language.writing.boxes.frames import Family
from veridical.language.writing.boxes.pen import Pen
from veridical.language.writing.drafting import NoDraft
from veridical.records import Panel
from veridical.sources.boxes.scenes import ARRANGEMENTS, Arrangement, Presentation, sample_presentation

DRAFTS = 60  # sentences tried on a presentation
PRESENTATIONS = 2000  # presentations tried for a sentence
# NLVR, Table 2: the share of 200 analysed sentences that shows each phenomenon
PAPER: dict[str, float] = {
    "hard cardinality": 0.66,
    "soft cardinality": 0.16,
    "existential quantifier": 0.88,
    "universal quantifier": 0.075,
    "coordination": 0.17,
    "coreference": 0.03,
    "spatial relation": 0.66,
    "comparison": 0.03,
    "presupposition": 0.195,
    "negation": 0.095,
    "cc ambiguity": 0.045,
    "pp ambiguity": 0.23,
}
TOLERANCE = 0.02  # a share further from the one asked for cannot be had
_STEPS = 100
_RIDGE = 1e-6  # keeps tilts finite where a share is 0 or 1


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
class StatedPresentation:
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
        if all(
            execute(reading, a) and not execute(reading, c) and execute(reading, b) and not execute(reading, d)
            for reading in part.readings
        ):
            sentence = f"{part.text[0].upper()}{part.text[1:]}."
            shown = tuple(name for name in PHENOMENA if name in family.phenomena)
            return Statement(sentence, part.readings[0], shown, family.name, part.readings)
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


def write(rng: np.random.Generator, plan: FamilyMix, arrangement: Arrangement, name: str = "") -> StatedPresentation:
    """A presentation with a statement about it."""
    family = plan.draw(rng, arrangement)
    for tried in range(1, PRESENTATIONS + 1):
        made = present(rng, arrangement, name)
        found = contrast(made.scenes, arrangement, family, rng)
        if found is not None:
            return StatedPresentation(made, found, tried)
    raise NoStatement(
        f"{PRESENTATIONS:,} {arrangement} presentations had no statement of the family {family.name!r}.",
        "Try another seed, or other shares of phenomena.",
    )


# --- plans ------------------------------------------------------------------------------------------------------------
# How often each family is written, so that the phenomena come in the shares asked for. Of all mixtures with those
# shares, the one nearest to the families' own weights (least relative entropy) is taken:
#
#     p_arrangement(family) ~ weight(family) * exp(sum of tilt(phenomenon) over the phenomena of the family)
#
# and the tilts, one for each phenomenon asked for, are found by Newton's method on the convex dual.


@dataclass(frozen=True)
class FamilyMix:
    """Families and their chances, for each arrangement of scenes."""

    families: dict[str, tuple[Family, ...]]
    chances: dict[str, np.ndarray]  # cumulative
    shares: dict[str, float]  # of each phenomenon, expected

    def draw(self, rng: np.random.Generator, arrangement: str) -> Family:
        """The family of the next statement."""
        at = int(np.searchsorted(self.chances[arrangement], rng.random(), side="right"))
        return self.families[arrangement][min(at, len(self.families[arrangement]) - 1)]


def make_plan(phenomena: Mapping[str, float] | None = None) -> FamilyMix:
    """The plan for some shares of phenomena (fractions of all statements); those not named are left as they come."""
    wanted = dict(PAPER if phenomena is None else phenomena)
    for name, share in wanted.items():
        if name not in PAPER:
            raise UserError(f"No statements show {name!r}.", f"Choose from: {', '.join(PAPER)}.")
        if not 0 <= share <= 1:
            raise UserError(f"The share of {name} is {share}.", "Give a fraction from 0 to 1.")
    return _plan(tuple(sorted(wanted.items())))


@cache
def _plan(wanted: tuple[tuple[str, float], ...]) -> FamilyMix:
    families: dict[str, tuple[Family, ...]] = {
        k: tuple(f for f in FAMILIES if k in f.arrangements) for k in ARRANGEMENTS
    }
    names = [name for name, _ in wanted]
    target = np.array([share for _, share in wanted])
    chances = _tilted(families, names, target)
    shares = {
        name: float(sum(chances[k] @ _shows(families[k], [name])[:, 0] for k in ARRANGEMENTS) / len(ARRANGEMENTS))
        for name in PHENOMENA
    }
    for name, share in wanted:
        if abs(shares[name] - share) > TOLERANCE:
            raise UserError(
                f"The phenomena cannot be had in these shares together: {name} would come to {shares[name]:.1%}, "
                f"and {share:.1%} is asked for.",
                "Name fewer phenomena, or move their shares nearer to the paper's.",
            )
    return FamilyMix(families, {arrangement: np.cumsum(p) for arrangement, p in chances.items()}, shares)


def _shows(families: tuple[Family, ...], names: list[str]) -> np.ndarray:
    """(families, names) 1 where a family shows a phenomenon."""
    return np.array([[name in f.phenomena for name in names] for f in families], float).reshape(
        len(families), len(names)
    )


def _tilted(families: dict[str, tuple[Family, ...]], names: list[str], target: np.ndarray) -> dict[str, np.ndarray]:
    shows = {arrangement: _shows(group, names) for arrangement, group in families.items()}
    logs = {arrangement: np.log([f.weight for f in group]) for arrangement, group in families.items()}

    def mixture(tilt: np.ndarray) -> tuple[dict[str, np.ndarray], float]:
        out, value = {}, _RIDGE * float(tilt @ tilt) / 2 - float(tilt @ target)
        for arrangement in families:
            scores = logs[arrangement] + shows[arrangement] @ tilt
            top = scores.max()
            mass = np.exp(scores - top)
            out[arrangement] = mass / mass.sum()
            value += (top + float(np.log(mass.sum()))) / len(families)
        return out, value

    tilt = np.zeros(len(names))
    chances, value = mixture(tilt)
    for _ in range(_STEPS):
        means = {arrangement: chances[arrangement] @ shows[arrangement] for arrangement in families}
        gradient = sum(means.values()) / len(families) - target + _RIDGE * tilt
        if np.abs(gradient).max(initial=0.0) < 1e-9:
            break
        curve = _RIDGE * np.eye(len(names))
        for arrangement in families:
            away = shows[arrangement] - means[arrangement]
            curve += (away * chances[arrangement][:, None]).T @ away / len(families)
        move = np.linalg.solve(curve, gradient)
        step = 1.0
        while step > 1e-6:  # halved until the dual falls
            tried, new = mixture(tilt - step * move)
            if new <= value:
                break
            step /= 2
        tilt, chances, value = tilt - step * move, tried, new
    return chances
