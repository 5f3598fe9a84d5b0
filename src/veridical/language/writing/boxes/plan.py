"""How often each family is written, so that the phenomena come in the shares asked for.

Of all mixtures with those shares, the one nearest to the families' own weights (least relative entropy) is taken:

    p_arrangement(family) ~ weight(family) * exp(sum of tilt(phenomenon) over the phenomena of the family)

and the tilts, one for each phenomenon asked for, are found by Newton's method on the convex dual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from veridical.errors import UserError
from veridical.language.phenomena.tagger import PHENOMENA
from veridical.language.writing.boxes.families import FAMILIES
from veridical.language.writing.boxes.frames import Family
from veridical.sources.boxes.sample import ARRANGEMENTS

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


@dataclass(frozen=True)
class Plan:
    """Families and their chances, for each arrangement of scenes."""

    families: dict[str, tuple[Family, ...]]
    chances: dict[str, np.ndarray]  # cumulative
    shares: dict[str, float]  # of each phenomenon, expected

    def draw(self, rng: np.random.Generator, arrangement: str) -> Family:
        """The family of the next statement."""
        at = int(np.searchsorted(self.chances[arrangement], rng.random(), side="right"))
        return self.families[arrangement][min(at, len(self.families[arrangement]) - 1)]


def make_plan(phenomena: Mapping[str, float] | None = None) -> Plan:
    """The plan for some shares of phenomena (fractions of all statements); those not named are left as they come."""
    wanted = dict(PAPER if phenomena is None else phenomena)
    for name, share in wanted.items():
        if name not in PAPER:
            raise UserError(f"No statements show {name!r}.", f"Choose from: {', '.join(PAPER)}.")
        if not 0 <= share <= 1:
            raise UserError(f"The share of {name} is {share}.", "Give a fraction from 0 to 1.")
    return _plan(tuple(sorted(wanted.items())))


@cache
def _plan(wanted: tuple[tuple[str, float], ...]) -> Plan:
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
    return Plan(families, {arrangement: np.cumsum(p) for arrangement, p in chances.items()}, shares)


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
