"""The lambda knob: how hard the choices are for machines, and for people, as wrong choices are kept from the right one.

Small lambdas leave wrong choices that are as good as right; people then fail too. The paper (footnote 7) asked people
at several values and took one at which they are above 90%. The lambda curve (`--sweep`) matches the same questions at
every value, measures machines, and writes the choices out for people; with their answers it recommends the hardest
value that they can do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from veridical.common.intervals import Estimate
from veridical.errors import UserError
from veridical.matching.blind_readers import Choices, Vectors, accuracy, by_machine, graded, sides
from veridical.matching.questions import read_people
from veridical.matching.stages import MatchedStages, Models, Responses, StageOptions, match_stages
from veridical.pages.drawing import WIDTH
from veridical.pages.plots import Series, lines, picture

PEOPLE = 0.9  # footnote 7
PEOPLE_CAN = "the hardest choices that people get right above 90%"
PEOPLE_CANNOT = "people are above 90% nowhere; this is where they do best"
CLOSE = 0.03  # a guesser this near to chance has found little
SERIES = {
    "people": "people",
    "question": "machine with the question",
    "relevance": "the most relevant choice",
    "all": "machine without the question, all choices",
    "alone": "machine without the question, one choice at a time",
}
_COLOURS = {"people": "#1d2531", "question": "#2b5c8a", "relevance": "#3d8b6d", "all": "#c2593f", "alone": "#8765a8"}


@dataclass(frozen=True)
class LambdaPoint:
    """What one lambda gives."""

    weight: float
    machines: dict[str, Estimate]  # alone, all, question, relevance
    people: Estimate | None
    gap: float

    def to_json(self) -> dict[str, object]:
        people = None if self.people is None else self.people.to_json()
        machines = {name: value.to_json() for name, value in self.machines.items()}
        return {"lambda": self.weight, "gap": self.gap, "people": people, **machines}


@dataclass(frozen=True)
class LambdaCurve:
    """All points and the advice that follows."""

    points: tuple[LambdaPoint, ...]
    recommended: float
    why: str
    chance: float = 0.25

    def to_json(self) -> dict[str, object]:
        points = [point.to_json() for point in self.points]
        return {"points": points, "recommended": self.recommended, "why": self.why, "chance": self.chance}


def check_lambdas(weights: Sequence[float], rows: Responses | None = None) -> None:
    """Refuse lambdas that are none, and data of one fold, before any model is run."""
    if not weights or any(not math.isfinite(w) or w < 0 for w in weights):
        raise UserError(f"A sweep over {list(weights)}.", "Give lambdas of 0 or more, such as 0.01,0.1,0.3,1,3.")
    if rows is not None and len(set(rows.folds)) < 2:
        raise UserError(
            "A sweep trains machines on some folds and tests them on others; there is one fold.",
            "Use --folds 3 or more.",
        )


def lambda_curve(
    rows: Responses,
    models: Models,
    options: StageOptions,
    weights: Sequence[float],
    choices: Callable[[MatchedStages], Choices],
    vectors: Vectors,
    people: Path | None = None,
) -> tuple[LambdaCurve, dict[float, MatchedStages]]:
    """Match at every lambda and measure; also gives the matchings themselves."""
    check_lambdas(weights, rows)
    answers = {} if people is None else read_people(people)
    made: dict[float, MatchedStages] = {}
    points = []
    for weight in sorted(set(weights)):
        one = match_stages({"answer": rows}, {"answer": models}, replace(options, weight=weight))
        made[weight], found = one, choices(one)
        person = _people(answers.get(weight, {}), found) if people is not None else None
        machines = {**_machines(found, vectors, options.seed), "relevance": _relevance(one, found)}
        points.append(LambdaPoint(weight, machines, person, one.matched["answer"].gap))
    return recommend(points, 1 / (options.wrong + 1)), made


def _machines(found: Choices, vectors: Vectors, seed: int) -> dict[str, Estimate]:
    rows, test = sides(found.folds, seed)
    train, rest = found.take(rows[~test]), found.take(rows[test])
    out = {}
    for view in ("alone", "all", "question"):
        scores = by_machine(train, rest, view, vectors, np.random.default_rng([seed, 7]))
        out[view] = accuracy(graded(scores, rest.answer), rest.groups)
    return out


def _relevance(one: MatchedStages, found: Choices) -> Estimate:
    """A solver that takes the choice with the highest P_rel."""
    size = len(found)
    own = np.arange(size)
    columns = np.concatenate([own[None], one.matched["answer"].wrong])  # (C, N), the right one first
    relevance = one.models["answer"].relevance
    scores = np.stack([relevance.of_pairs(own, column) for column in columns], 1)
    return accuracy(graded(np.round(scores, 6), np.zeros(size, np.int64)), found.groups)


def _people(answers: Mapping[str, list[int]], found: Choices) -> Estimate | None:
    right, groups = [], []
    places = {name: k for k, name in enumerate(found.ids)}
    for name, chosen in answers.items():
        if name not in places:
            raise UserError(
                f"People answered question {name!r}, which is not in the file.",
                "Give the answers to this file's questions.",
            )
        k = places[name]
        right += [float(one == found.answer[k]) for one in chosen]
        groups += [found.groups[k]] * len(chosen)
    return accuracy(right, groups) if right else None


def recommend(points: Sequence[LambdaPoint], chance: float = 0.25) -> LambdaCurve:
    """The smallest lambda at which people are above 90%; without people the smallest that gives little away."""
    asked = {point.weight: point.people.value for point in points if point.people is not None}
    if asked:
        able = [weight for weight, right in asked.items() if right > PEOPLE]
        best = able[0] if able else max(asked, key=asked.__getitem__)
        return LambdaCurve(tuple(points), best, PEOPLE_CAN if able else PEOPLE_CANNOT, chance)
    fair = [point for point in points if point.machines["all"].value <= chance + CLOSE]
    if fair:
        hardest = min(fair, key=lambda point: point.machines["question"].value)
        why = "of the values that give little away without the question, the hardest for machines with it"
    else:
        hardest = min(points, key=lambda point: point.machines["all"].value)
        why = "the value that gives the least away without the question"
    return LambdaCurve(tuple(points), hardest.weight, f"{why}; ask people before you rely on it (--people)", chance)


def plot(found: LambdaCurve) -> str:
    """Accuracy over lambda as an SVG picture."""
    series = []
    for name, label in SERIES.items():
        values = [p.people if name == "people" else p.machines.get(name) for p in found.points]
        known = [(float(place), value) for place, value in enumerate(values) if value is not None]
        if known:
            points = tuple((place, value.value) for place, value in known)
            whiskers = tuple((value.low, value.high) for _, value in known)
            series.append(Series(label, points, _COLOURS[name], whiskers=whiskers))
    places = [f"{p.weight:g}{' (recommended)' if p.weight == found.recommended else ''}" for p in found.points]
    marked = (found.chance, PEOPLE)
    drawn = lines(
        "Accuracy over lambda",
        series,
        "lambda",
        "right, %",
        y_range=(0, 1),
        places=places,
        references=marked,
        width=WIDTH,
    )
    return picture("Accuracy over lambda", [drawn], [(one.name, one.colour) for one in series])
