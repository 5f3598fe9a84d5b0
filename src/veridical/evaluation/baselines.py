"""What a model's numbers are set beside: the most common answer, chance, and people."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools, Ints
from veridical.common.intervals import Estimate
from veridical.evaluation.key import AnswerKey
from veridical.evaluation.metrics import STAGES, measure


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
    if key.split != "train" and "train" in benchmark.splits(key.scheme) and not benchmark.is_hidden("train"):
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
    what = ("false", "true")[int(guess[0])] if truth else f"candidate {int(guess[0])}"
    if rationale.any():
        what += f", of rationales {int(guess[1])}"
    return Baseline(
        name="majority of train" if where == "train" else "majority",
        rule=f"always the most common answer of {where}: {what}",
        accuracy=found.row.accuracy,
        consistency=found.row.consistency,
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
