"""Accuracy, consistency, staged accuracy, the breakdown by tags and the comparison of two files, all with intervals.

Accuracy is over all scored examples; consistency is the share of groups all of whose examples are right; staged
accuracy is VCR's: Q->A the answer, QA->R the rationale given the right answer, Q->AR both. They are set beside
baselines: the most common answer, chance, and people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools, Ints
from veridical.common.intervals import Estimate
from veridical.common.result import plain
from veridical.errors import UserError
from veridical.evaluation.bootstrap import intervals_of_parts, resample, sign_test, stream
from veridical.evaluation.grade import MISSING, AnswerKey, Grades
from veridical.records import LETTERS

SURE = 0.05
CompareVerdict = Literal["better", "worse", "cannot be told apart", "not certain"]
STAGES = ("Q->A", "QA->R", "Q->AR")
MEANING = (
    "difference = these predictions minus the others, on the examples that both predict; interval: 95%, resampling "
    "whole groups. Sign test (exact, two-sided): of the examples that exactly one of the two gets right, is it a fair "
    "coin which one? It takes examples as independent, which those of one group are not; the test over groups (which "
    "of the two gets more of a group right) does not."
)


@dataclass(frozen=True)
class Row:
    """The result on the split, or on a part of it."""

    items: int  # with an answer
    groups: int
    accuracy: Estimate  # over all examples; missing and unreadable ones are not right
    consistency: Estimate  # groups all of whose examples are right

    def to_json(self) -> dict[str, object]:
        counts = {"items": self.items, "groups": self.groups}
        return {**self.accuracy.to_json(), **counts, "consistency": self.consistency.to_json()}


@dataclass(frozen=True)
class Measures(Row):
    """What one set of choices achieves on the whole split."""

    answered: Estimate | None  # accuracy over the examples that have a readable prediction; None where there are none
    staged: dict[str, Estimate]  # Q->A, QA->R, Q->AR where items have rationales


def per_item(item: Ints, flags: Bools, items: int) -> Ints:
    """How many examples of each item have the flag."""
    return np.bincount(item[flags], minlength=items)


def measure(key: AnswerKey, examples: Ints, right: Ints, answered: Ints, resamples: int, seed: int) -> Measures:
    """The measures of choices, given per item its examples and how many of them are right, and are answered."""
    n = _by_group(key, examples)
    right_of = _by_group(key, right)
    table = np.stack([n, right_of, n == right_of, np.ones_like(n), _by_group(key, answered)], 1)[n > 0]  # (G, 5)
    drawn = resample(table, resamples, stream(seed, "all"))
    return Measures(
        items=int((examples > 0).sum()),
        groups=len(table),
        accuracy=drawn.ratio(1, 0),
        consistency=drawn.ratio(2, 3),
        answered=drawn.ratio(1, 4) if answered.any() else None,
        staged=_staged(key, right, resamples, seed),
    )


def staged_right(key: AnswerKey, right: Ints) -> tuple[Ints, Ints]:
    """The questions that have all stages, and for each (Q, 3): answer right, rationale right, both right.

    The rationale that counts for Q->AR is the one given the answer that was chosen; where that answer is right, it is
    the one given the right answer, and where it is wrong nothing more can be won. So Q->AR is the conjunction.
    """
    questions, rationales = key.questions(), key.rationales()
    keep = key.answer[questions] >= 0
    questions, rationales = questions[keep], rationales[keep]
    if not rationales.size:
        return questions, np.zeros((0, 3), np.int64)
    rationale = rationales[np.arange(len(questions)), np.minimum(key.answer[questions], rationales.shape[1] - 1)]
    keep = (rationale >= 0) & key.scored[rationale]
    answer_right, rationale_right = right[questions[keep]] > 0, right[rationale[keep]] > 0
    stages = np.stack([answer_right, rationale_right, answer_right & rationale_right], 1)
    return questions[keep], stages.astype(np.int64)


def _staged(key: AnswerKey, right: Ints, resamples: int, seed: int) -> dict[str, Estimate]:
    questions, stages = staged_right(key, right)
    if not len(questions):
        return {}
    group = key.group[questions]
    counts = [np.bincount(group, minlength=key.groups)]
    counts += [np.bincount(group[stages[:, s] > 0], minlength=key.groups) for s in range(3)]
    table = np.stack(counts, 1)  # (G, 4)
    drawn = resample(table[table[:, 0] > 0], resamples, stream(seed, "staged"))
    return {name: drawn.ratio(1 + stage, 0) for stage, name in enumerate(STAGES)}


def by_tags(key: AnswerKey, examples: Ints, right: Ints, resamples: int, seed: int) -> dict[str, dict[str, Row]]:
    """The result on the items of each tag value; a group counts with those of its items that carry the value."""
    item, pair = key.tags.item, key.tags.pair
    scored = examples[item] > 0
    item, pair = item[scored], pair[scored]
    if not len(item):
        return {}
    # One row per (pair, group): items, examples, right examples.
    code = pair * key.groups + key.group[item]
    order = np.argsort(code, kind="stable")  # nearly sorted already, which this sort is quick on
    code, item = code[order], item[order]
    first = np.flatnonzero(np.diff(code, prepend=-1))
    n, good = np.add.reduceat(examples[item], first), np.add.reduceat(right[item], first)
    items = np.diff(first, append=len(item))
    owner = code[first] // key.groups
    ends = np.searchsorted(owner, np.arange(len(key.tags.pairs) + 1))
    low_high = intervals_of_parts(np.stack([n, good, n == good], 1), ends, key.tags.pairs, resamples, seed)
    out: dict[str, dict[str, Row]] = {}
    for number, (name, value) in enumerate(key.tags.pairs):
        part = slice(ends[number], ends[number + 1])
        groups = int(ends[number + 1] - ends[number])
        if groups:
            accuracy, consistency = low_high[number].tolist()
            out.setdefault(name, {})[value] = Row(
                items=int(items[part].sum()),
                groups=groups,
                accuracy=Estimate(float(good[part].sum() / n[part].sum()), *accuracy),
                consistency=Estimate(float((n[part] == good[part]).sum() / groups), *consistency),
            )
    return out


def _by_group(key: AnswerKey, counts: Ints) -> Ints:
    return np.bincount(key.group, weights=counts, minlength=key.groups).astype(np.int64)


@dataclass(frozen=True, slots=True)
class SignTest:
    """An exact two-sided sign test."""

    only_this: int  # only these predictions are right (over groups: more right)
    only_other: int
    p: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """These predictions against others."""

    against: Path
    examples: int  # of the split, or of its first items where there is a limit
    common: int  # of these, what both predict; everything below is about them alone
    accuracy: Estimate  # difference in accuracy
    consistency: Estimate  # difference in consistency
    staged: dict[str, Estimate]
    sign_test: SignTest  # over examples
    sign_test_groups: SignTest

    @property
    def difference(self) -> Estimate:
        """In accuracy; of questions with rationales in having both right."""
        return self.staged.get(STAGES[-1], self.accuracy)

    @property
    def verdict(self) -> CompareVerdict:
        """The interval of the difference and the test over groups must both speak."""
        low, high = self.difference.low, self.difference.high
        if low <= 0 <= high:
            return "cannot be told apart"
        if self.sign_test_groups.p >= SURE:
            return "not certain"
        return "better" if low > 0 else "worse"

    def to_json(self) -> dict[str, object]:
        return {**plain(self), "meaning": MEANING}


def compare(this: Grades, other: Grades, against: Path, resamples: int, seed: int) -> Comparison:
    """Compare two graded files, example by example, where both predict one: what is missing says nothing.

    Where one predicts items and the other single views, what is said of an item is said of each of its views.
    """
    if this.per_view != other.per_view:
        this, other = this.at_views(other), other.at_views(this)
    key = this.key
    group = key.group[this.item]
    both = (this.chosen != MISSING) & (other.chosen != MISSING)
    if not both.any():
        raise UserError(
            f"The two files have nothing in common: {against} predicts no item of {key.split!r} that the other does.",
            "Compare predictions for the same items; `veridical evaluate` scores each file by itself.",
        )
    right, others = this.right & both, other.right & both

    def by_group(flags: Bools) -> Ints:
        return np.bincount(group[flags], minlength=key.groups)

    def by_item(flags: Bools) -> Ints:
        return per_item(this.item, flags, len(key.ids))

    n, mine, theirs = by_group(both), by_group(right), by_group(others)
    table = np.stack([n, mine, theirs, n == mine, n == theirs, np.ones_like(n)], 1)[n > 0]  # (G, 6)
    drawn = resample(table, resamples, stream(seed, "compare"))
    return Comparison(
        against=against,
        examples=len(both),
        common=int(both.sum()),
        accuracy=drawn.difference(1, 2, 0),
        consistency=drawn.difference(3, 4, 5),
        staged=_staged_difference(key.only(by_item(both) > 0), by_item(right), by_item(others), resamples, seed),
        sign_test=_sign(right & ~others, others & ~right),
        sign_test_groups=_sign(mine > theirs, theirs > mine),
    )


def _staged_difference(key: AnswerKey, right: Ints, others: Ints, resamples: int, seed: int) -> dict[str, Estimate]:
    questions, mine = staged_right(key, right)
    if not len(questions):
        return {}
    _, theirs = staged_right(key, others)
    columns = [np.ones(len(questions), np.int64), *mine.T, *theirs.T]
    group = key.group[questions]
    table = np.stack([np.bincount(group, weights=c, minlength=key.groups) for c in columns], 1).astype(np.int64)
    drawn = resample(table[table[:, 0] > 0], resamples, stream(seed, "compare", "staged"))  # of (G, 7)
    return {name: drawn.difference(1 + stage, 4 + stage, 0) for stage, name in enumerate(STAGES)}


def _sign(mine: Bools, theirs: Bools) -> SignTest:
    wins, losses = int(mine.sum()), int(theirs.sum())
    return SignTest(wins, losses, sign_test(wins, losses))


@dataclass(frozen=True, slots=True)
class Baseline:
    """One row beside the model's. Chance is known exactly and people have a deviation: they have no interval."""

    name: str  # majority, majority of train, random, human
    rule: str  # what it is, in words
    accuracy: Estimate | float
    consistency: Estimate | float | None = None
    staged: dict[str, Estimate | float] = field(default_factory=dict)
    std: float | None = None  # over people
    workers: int | None = None
    skip_rate: float | None = None  # of people, where they could skip; `accuracy` is over what they answered
    skips_wrong: float | None = None  # their accuracy with skips counted as wrong

    def to_json(self) -> dict[str, object]:
        out: dict[str, object] = {"rule": self.rule, "accuracy": _json(self.accuracy)}
        if self.consistency is not None:
            out["consistency"] = _json(self.consistency)
        if self.staged:
            out["staged"] = {name: _json(value) for name, value in self.staged.items()}
        if self.workers is not None:
            out |= {"std": self.std, "workers": self.workers}
        if self.skip_rate is not None:
            out |= {"skip_rate": self.skip_rate, "skips_wrong": self.skips_wrong}
        return out


def _json(value: Estimate | float) -> dict[str, float]:
    return value.to_json() if isinstance(value, Estimate) else {"value": value}


def baselines(benchmark: Benchmark, key: AnswerKey, examples: Ints, resamples: int, seed: int) -> tuple[Baseline, ...]:
    """The rows of machines: majority of the split, of train where there is one, chance."""
    truth = benchmark.task == "statement"
    rows = [_majority(key, examples, truth, (f"{key.split} itself", key.answer, key.parent >= 0), resamples, seed)]
    if key.split != "train" and "train" in benchmark.splits_of(key.scheme) and not benchmark.is_hidden("train"):
        table = benchmark.items_table("train", key.scheme, ["answer", "given"])
        answers = np.asarray(table["answer"].combine_chunks().cast("int64").fill_null(-1))
        rationale = np.asarray(table["given"].combine_chunks().is_valid())
        if (answers >= 0).any():
            rows.append(_majority(key, examples, truth, ("train", answers, rationale), resamples, seed))
    return (*rows, _random(key, examples))


def _majority(
    key: AnswerKey,
    examples: Ints,
    truth: bool,  # the candidates are false and true
    source: tuple[str, Ints, Bools],  # in words; the answers to count; which are of rationale items
    resamples: int,
    seed: int,
) -> Baseline:
    """Always the most common answer (the lowest of equals); answers and rationales are counted apart."""
    where, answers, rationale = source
    guess = np.zeros(2, np.int64)
    for stage in range(2):
        counted = answers[(rationale == bool(stage)) & (answers >= 0)]
        guess[stage] = np.bincount(counted).argmax() if len(counted) else 0
    chosen = guess[(key.parent >= 0).astype(np.int64)]
    right = np.where(chosen == key.answer, examples, 0)
    found = measure(key, examples, right, examples, resamples, seed)
    what = ("false", "true")[int(guess[0])] if truth else f"candidate {LETTERS[guess[0]]}"
    if rationale.any():
        what += f", of rationales {LETTERS[guess[1]]}"
    return Baseline(
        name="majority of train" if where == "train" else "majority",
        rule=f"always the most common answer of {where}: {what}",
        accuracy=found.accuracy,
        consistency=found.consistency,
        staged=dict(found.staged),
    )


def _random(key: AnswerKey, examples: Ints) -> Baseline:
    """The expectation of guessing every example independently."""
    scored = examples > 0
    chance = 1.0 / key.candidates[scored]
    n = examples[scored]
    logs = np.bincount(key.group[scored], weights=n * np.log(chance), minlength=key.groups)
    used = np.bincount(key.group[scored], minlength=key.groups) > 0
    questions = key.questions()
    staged: dict[str, Estimate | float] = {}
    if len(questions):
        rationale = key.rationales()
        answer_chance = 1.0 / key.candidates[questions]
        rationale_chance = 1.0 / key.candidates[rationale.max(1)]
        means = [answer_chance.mean(), rationale_chance.mean(), (answer_chance * rationale_chance).mean()]
        staged = dict(zip(STAGES, map(float, means), strict=True))
    return Baseline(
        name="random",
        rule="guessing every example, in expectation",
        accuracy=float((n * chance).sum() / n.sum()),
        consistency=float(np.exp(logs[used]).mean()),
        staged=staged,
    )


def human_row(benchmark: Benchmark, key: AnswerKey) -> Baseline | None:
    """The row of people, where they judged items of the split."""
    if not benchmark.manifest["counts"].get("judgements") and not benchmark.is_hidden(key.split):
        return None
    from veridical.statistics import human_performance

    people = human_performance(benchmark, key.split, scheme=key.scheme, hidden=benchmark.is_hidden(key.split))
    if people is None or people.mean is None:
        return None
    stages = dict(zip(("answer", "rationale", "both"), STAGES, strict=True))
    return Baseline(
        name="human",
        rule=people.rule,
        accuracy=people.mean,
        staged={stages[name]: value for name, value in people.staged.items() if name in stages and value is not None},
        std=people.std,
        workers=people.workers,
        skip_rate=people.skip_rate,
        skips_wrong=people.skips_wrong,
    )
