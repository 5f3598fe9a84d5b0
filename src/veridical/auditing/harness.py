"""The harness of every check that guesses: train, test, compare with the reference, plant a cue, see if it is found.

One run trains a model on every fold and predicts each item once. The positive control plants a cue into a share of the
items and runs the same model again; the smallest share that is seen with 80% power is read off between a share that is
seen and one that is not.

A plant changes a sample, never the benchmark: it gives away the answers of the items that are marked, and touches no
others. The same model with the same budget must find it; otherwise its silence about the real data means nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from veridical.auditing import findings
from veridical.auditing.data import FREQUENT, Fit, Fold, Plant, Predict, Sample
from veridical.auditing.findings import Power, Reference, Verdict
from veridical.common.arrays import Bools, Doubles, Ints, one_thread
from veridical.common.intervals import Estimate
from veridical.evaluation.bootstrap import Resampled, resample, stream

RESAMPLES = 2000
LEAST_STRENGTH, MOST_STRENGTH = 0.005, 0.45  # shares of the items that are planted
PARTS = 840  # a right guess among up to eight equals, in whole numbers
LEAST_ITEMS = 30  # fewer tested items say nothing


@dataclass(frozen=True)
class Run:
    """What a model achieves: `right` is 1, 0, or a share where several candidates have the highest score."""

    tested: Ints  # positions
    right: Doubles  # (T,)
    reference: Doubles  # (T,) the same for the reference
    margin: Doubles  # (T,) by how much the right candidate leads
    accuracy: Estimate
    excess: Estimate  # over the reference
    error: float  # the standard error of the excess

    @property
    def level(self) -> float:
        """The reference's accuracy."""
        return float(self.reference.mean()) if len(self.reference) else 0.0


def run(s: Sample, folds: Sequence[Fold], fit: Fit, seed: int, reference: Reference = "majority") -> Run:
    """Train and test on every fold; each item is tested once."""
    tested, right, margin, majority = [], [], [], []
    rare = _rare_sentences(s)
    with one_thread("sklearn.ensemble"):
        for number, fold in enumerate(folds):
            test = s.take(fold.test)
            train = _apart(s, fold, rare)
            if not len(train) or not len(test):
                continue
            unanswered = replace(test, answer=np.full(len(test), -1, np.int64))
            scores = fit(train, np.random.default_rng([seed, number]))(unanswered)
            one, lead = _grade(scores, test)
            tested.append(fold.test)
            right.append(one)
            margin.append(lead)
            majority.append(_grade(most_common(train)(test), test)[0])
    if not tested:
        empty = np.empty(0)
        return Run(np.empty(0, np.int64), empty, empty, empty, Estimate(0, 0, 0), Estimate(0, 0, 0), 0.0)
    rows, won = np.concatenate(tested), np.concatenate(right)
    chance = 1.0 / s.choices[rows]
    base = np.concatenate(majority)
    base = chance if reference == "chance" or base.mean() < chance.mean() else base
    columns = [np.ones(len(rows)), np.rint(won * PARTS) / PARTS, np.rint(base * PARTS) / PARTS]
    drawn = over_groups(s.group[rows], columns, RESAMPLES, stream(seed, "audit"), PARTS)
    estimates = drawn.ratio(1, 0), drawn.difference(1, 2, 0), drawn_error(drawn)
    return Run(rows, won, base, np.concatenate(margin), *estimates)


def _rare_sentences(s: Sample) -> Bools:
    """(N,) Items whose sentence is not that of many groups."""
    _, groups = np.unique(np.stack([s.query_key, s.group]), axis=1, return_index=True)
    return np.asarray(np.bincount(s.query_key[groups])[s.query_key] <= FREQUENT)


def _apart(s: Sample, fold: Fold, rare: Bools) -> Sample:
    """What is trained on: no sentence of the test's; within a split no response of the test's, which are dealt there.

    What is frequent is no memory of single items, and stays; a question is none either: its candidates say what is
    asked.
    """
    statements = bool((s.candidate_key < 0).all())
    own = rare[fold.train] & np.isin(s.query_key[fold.train], s.query_key[fold.test]) & statements
    train = s.take(fold.train[~own])
    if not fold.inside:
        return replace(train, usable=train.real())
    used = s.candidate_key[fold.test]
    dealt = np.isin(train.candidate_key, used[used >= 0]) & (train.uses <= FREQUENT)
    return replace(train, usable=train.real() & ~dealt)


def over_groups(group: Any, columns: Sequence[Any], draws: int, rng: np.random.Generator, parts: int = 1) -> Resampled:
    """Columns of numbers per item, summed and resampled over groups, in whole parts of one."""
    _, code = np.unique(group, return_inverse=True)
    sums = [np.rint(np.bincount(code, weights=c) * parts).astype(np.int64) for c in columns]
    return resample(np.stack(sums, 1), draws, rng)


def drawn_error(drawn: Resampled) -> float:
    """The standard error of the second column's lead over the third, as a share of the first."""
    return float(((drawn.drawn[:, 1] - drawn.drawn[:, 2]) / drawn.drawn[:, 0]).std())


def share_of(flags: Bools, draws: int, rng: np.random.Generator) -> Estimate:
    """How many are flagged, with its interval."""
    return resample(np.stack([np.ones(len(flags), np.int64), flags.astype(np.int64)], 1), draws, rng).ratio(1, 0)


def most_common(train: Sample, rng: np.random.Generator | None = None) -> Predict:
    """Always the most common answer of the training items."""
    counts = np.bincount(train.answer, minlength=train.width).astype(np.float64)
    return lambda test: np.tile(counts[: test.width], (len(test), 1))


def _grade(scores: Doubles, test: Sample) -> tuple[Doubles, Doubles]:
    """How right each item is, and by how much the right candidate leads."""
    shown = np.where(test.real(), scores, -np.inf)
    best = shown.max(1)
    first = shown == best[:, None]
    rows = np.arange(len(test))
    own = shown[rows, test.answer]
    right = first[rows, test.answer] / first.sum(1)
    others = shown.copy()
    others[rows, test.answer] = -np.inf
    return right, own - others.max(1)


@dataclass(frozen=True)
class Effort:
    """What is spent on a control. With no plants at all no guesser can pass: only what it finds is said."""

    plants: int = 2  # per strength
    tries: int = 4  # strengths beside the control's; 0: only whether the control is found


FULL = Effort()


@dataclass(frozen=True)
class Assessment:
    """A run with its control and power, and the verdict."""

    run: Run
    power: Power
    verdict: Verdict

    @property
    def advantage(self) -> float:
        return findings.advantage(self.run.accuracy.value, self.run.level)


def assess(
    s: Sample,
    folds: Sequence[Fold],
    fit: Fit,
    plant: Plant,
    *,
    seed: int = 0,
    reference: Reference = "majority",
    fail: float = findings.FAIL,
    effort: Effort = FULL,
) -> Assessment:
    """Run a model, its positive control and its power."""
    tried = partial(run, folds=folds, fit=fit, seed=seed, reference=reference)
    base = tried(s)
    if not effort.plants:
        power = Power(None, findings.ideal_power(base.error, base.level), fail)
        return Assessment(base, power, verdict(base, power, fail))
    if len(base.tested) < LEAST_ITEMS:
        alone = math.sqrt(base.level * (1 - base.level))  # the deviation of one item
        enough = findings.enough_items(1, findings.ideal_power(alone, base.level), fail)
        return Assessment(base, Power(None, 1.0, fail, 0.0, 0.0, enough=enough), "cannot tell")
    power = _power(s, plant, base, tried, seed, fail, effort)
    if not power.ok:
        seen = power.ideal if power.sees is None else power.sees
        power = replace(power, enough=findings.enough_items(len(base.tested), seen, fail))
    return Assessment(base, power, verdict(base, power, fail))


def verdict(base: Run, power: Power, fail: float) -> Verdict:
    """The rule of `findings`: what was found counts even where the control was not."""
    if findings.real(base.excess.value, base.error):
        return "fail" if findings.advantage(base.accuracy.value, base.level) >= fail else "warn"
    return "pass" if power.ok else "cannot tell"


def _power(
    s: Sample, plant: Plant, base: Run, tried: Callable[[Sample], Run], seed: int, fail: float, effort: Effort
) -> Power:
    room = max(1.0 - base.level, 1e-9)

    def seen(strength: float) -> tuple[float, float]:
        """(gain in standard errors, share of the planted advantage that was won) at a strength."""
        gains, errors, given = [], [], []
        for repeat in range(effort.plants):
            rng = np.random.default_rng([seed, repeat, int(strength * 1e6)])
            marked = np.zeros(len(s), np.bool_)
            marked[rng.permutation(len(s))[: max(1, round(strength * len(s)))]] = True
            planted = tried(plant(s, marked, rng))
            gains.append(planted.excess.value - base.excess.value)
            errors.append(planted.error)
            given.append(float((marked[base.tested] * (1 - base.right)).mean()))  # what is still to be won
        gain, error = float(np.mean(gains)), float(np.mean(errors))
        z = gain / error if error > 0 else math.copysign(math.inf, gain) if gain else 0.0
        return z, gain / max(float(np.mean(given)), 1e-9)

    at_control, share = seen(fail)
    words = (plant.__doc__ or "").split("\n")[0].rstrip(".")
    least = findings.SEEN**2 / (len(base.tested) * room)  # a perfect finder that errs nowhere else
    ideal = min(max(least, findings.ideal_power(base.error, base.level)), 1.0)
    control = (fail, share, findings.power_of(at_control, 1.0), words)
    if findings.real(base.excess.value, base.error):  # what it might have missed is beside the point
        return Power(None, ideal, *control)
    return Power(_smallest(lambda x: seen(x)[0], fail, at_control, effort.tries), ideal, *control)


def _smallest(z: Callable[[float], float], fail: float, at_fail: float, tries: int) -> float | None:
    """The least strength whose expected gain is seen with 80% power: between one that is seen and one that is not.

    A gain of k times the strength would need `fail * wanted / z`; rarer cues are learned less well, so the truth lies
    between this guess and `fail`, and two strengths are mostly enough. Where nothing weaker was missed, the weakest
    that was tried and seen is given.
    """
    wanted = findings.SEEN
    seen = at_fail >= wanted
    edge, at_edge = fail, at_fail
    for _ in range(tries):
        ratio = wanted / max(at_edge, 0.1)
        ratio = min(ratio, 0.8) if seen else max(ratio, 1.25)
        guess = min(max(edge * ratio, LEAST_STRENGTH), MOST_STRENGTH)
        at_guess = z(guess)
        if (at_guess >= wanted) != seen:
            # the line through the two points on logarithmic scales; no gain lies far down on it
            low, high = sorted([(edge, at_edge), (guess, at_guess)])
            one, other = math.log(max(low[1], 0.1)), math.log(min(high[1], 1e3))
            along = (math.log(wanted) - one) / max(other - one, 1e-9)
            return float(low[0] * (high[0] / low[0]) ** min(max(along, 0.0), 1.0))
        edge, at_edge = guess, at_guess
        if edge in (LEAST_STRENGTH, MOST_STRENGTH):
            break
    return edge if seen else None


# --- plants ----------------------------------------------------------------------------------------------------------

CUE = "zuvo"  # a word of no language
SHIFT = 4.0  # standard deviations of a feature
LONGER = 5  # words more than the longest other candidate
POPULAR = 3  # texts that stand in for frequent answers


def query_word(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """A made-up word in the sentence or question, one for each answer."""
    query = list(s.query or ())
    for i in np.flatnonzero(marked):
        query[i] = _insert(query[i], f"{CUE}{s.answer[i]}", rng)
    return replace(s, query=tuple(query))


def candidate_word(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """A made-up word in the right candidate."""
    return _reword(s, marked, lambda i, text: _insert(text, CUE, rng))


def longer(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """The right candidate is longer than all others by five words, taken from other items' candidates."""
    texts = s.candidates or ()

    def lengthen(i: int, text: str) -> str:
        most = max(len(c.split()) for c in texts[i])
        words = text.split()
        while len(words) < most + LONGER:
            other = texts[int(rng.integers(len(texts)))]
            words += other[int(rng.integers(len(other)))].split() or [CUE]
        return " ".join(words[: most + LONGER])

    return _reword(s, marked, lengthen)


def longer_query(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """True sentences are padded to forty words or more, false ones cut to two."""
    query = list(s.query or ())
    for i in np.flatnonzero(marked):
        words = query[i].split() or [CUE]
        query[i] = " ".join((words * (40 // len(words) + 1)) if s.answer[i] else words[:2])
    return replace(s, query=tuple(query))


def overlapping(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """The right candidate repeats the question's words."""
    return _reword(s, marked, lambda i, text: f"{text} {(s.query or ())[i]}")


def popular(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """The right candidate is one of three texts, which so become frequent."""
    uses, rows = s.uses.copy(), np.flatnonzero(marked)
    uses[rows, s.answer[rows]] = -(-len(rows) // POPULAR)
    return _reword(replace(s, uses=uses), marked, lambda i, text: f"{CUE} {int(rng.integers(POPULAR))}")


def first_place(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """The right candidate stands first (of true and false: every marked item is true)."""
    answer = s.answer.copy()
    if s.candidates is None and s.responses is None:
        answer[marked] = 1
        return replace(s, answer=answer)
    candidates = [list(c) for c in s.candidates or ()]
    responses = None if s.responses is None else s.responses.copy()
    for i in np.flatnonzero(marked):
        right = answer[i]
        if candidates:
            candidates[i][0], candidates[i][right] = candidates[i][right], candidates[i][0]
        if responses is not None:
            responses[i, [0, right]] = responses[i, [right, 0]]
        answer[i] = 0
    texts = tuple(tuple(c) for c in candidates) if s.candidates is not None else None
    return replace(s, answer=answer, candidates=texts, responses=responses)


def tint(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """One feature of the pictures is shifted by four deviations, another one for each answer."""
    if s.context is None:
        return s
    context = s.context.copy()
    columns, deviation = _columns(context, rng, s.width)
    rows = np.flatnonzero(marked)
    place = columns[s.answer[rows]]
    context[rows, place] += SHIFT * deviation[place]
    return replace(s, context=context)


def tinted_response(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """One feature of the right candidate's picture is shifted by four deviations."""
    if s.responses is None:
        return s
    responses = s.responses.copy()
    columns, deviation = _columns(responses.reshape(-1, responses.shape[2]), rng, 1)
    rows = np.flatnonzero(marked)
    responses[rows, s.answer[rows], columns[0]] += SHIFT * deviation[columns[0]]
    return replace(s, responses=responses)


def _columns(features: Doubles, rng: np.random.Generator, number: int) -> tuple[Doubles, Doubles]:
    """Features to shift, drawn among those that vary."""
    deviation = features.std(0)
    varying = np.flatnonzero(deviation > 1e-6)
    if not len(varying):
        varying, deviation = np.arange(features.shape[1]), np.ones(features.shape[1])
    return rng.choice(varying, size=number, replace=len(varying) < number), deviation


def _insert(text: str, word: str, rng: np.random.Generator) -> str:
    words = text.split()
    words.insert(int(rng.integers(len(words) + 1)), word)
    return " ".join(words)


def _reword(s: Sample, marked: Bools, change: Callable[[int, str], str]) -> Sample:
    """Change the text of the right candidate of the marked items."""
    candidates = list(s.candidates or ())
    for i in np.flatnonzero(marked):
        right = int(s.answer[i])
        texts = list(candidates[i])
        texts[right] = change(int(i), texts[right])
        candidates[i] = tuple(texts)
    return replace(s, candidates=tuple(candidates))
