"""What `veridical match` tells of its work: sizes, the objective, models, notes, blind readers, and its integrity.

The integrity report says what a question's choices give away, with wrong choices drawn at random and with matched ones.
Every line is a guesser that sees less than it should need: one response alone, all of them, their lengths, their
places, how often a text is right elsewhere, the words or tags a response shares with the question. Chance is one in
four if there are four choices, and a guesser above it has found a bias. The last line sees the question too: what is
left to be learned honestly from text. Guessers are fitted on some folds and tested on others; with one fold only those
remain that need no fitting. Answers and rationales are looked at separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np

from veridical.common.arrays import Bools, Doubles
from veridical.common.files import Json
from veridical.common.intervals import Estimate
from veridical.common.result import Caution, Result, Table, plain
from veridical.matching.blind_readers import VIEWS, Choices, Vectors, accuracy, by_machine, graded, sides
from veridical.matching.lambda_curve import LambdaCurve
from veridical.matching.readings import Reading, cautions, shown
from veridical.matching.stages import Matched, normal

KNOWS = 0.6  # AUC: a judge below it is warned of; chance is 0.5
Cue = Callable[[Choices], Doubles]  # (N, C) a number per choice


class Bias(msgspec.Struct, frozen=True, rename={"name": "bias"}):
    """One guesser on both sets."""

    name: str
    says: str
    before: Estimate | None  # random wrong choices
    after: Estimate  # matched ones
    stage: str  # what the choices are: answers, or rationales


@dataclass(frozen=True)
class MatchReport(Result):
    """What was matched, how well, and what it gives away."""

    out: Path
    pairs: int
    rounds: int
    gap: float  # paper: the largest certified one of a fold and round; fours: of the objective and what bounds it
    reserved: bool  # in some fold that is the optimum of a restricted problem: see `auction.match`
    seconds: float
    peak_bytes: int
    splits: dict[str, int]
    folds: int
    models: dict[str, Json]  # stage -> models and their calibration
    method: str
    weights: dict[str, tuple[float, float]]  # stage -> the sum of W over its wrong choices, and what bounds it
    weight: float
    readings: tuple[Reading, ...] = ()
    integrity: tuple[Bias, ...] = ()
    sweep: LambdaCurve | None = None
    notes: tuple[str, ...] = ()
    stages: dict[str, float] = field(default_factory=dict)  # seconds of each

    def to_json(self) -> dict[str, object]:
        out: Json = plain(self)
        return out | {"lambda": out.pop("weight"), "sweep": None if self.sweep is None else self.sweep.to_json()}

    def parts(self) -> Iterator[Table | str]:
        rows = [("question/answer pairs", f"{self.pairs:,}"), ("folds", f"{self.folds:,}")]
        rows += [(f"questions, {split}", f"{count:,}") for split, count in self.splits.items()]
        rows += [("method", self.method), ("lambda", f"{self.weight:g}")]
        if self.method == "paper":
            restricted = " (of what frequent texts left)" if self.reserved else ""
            rows.append(("largest certified gap", f"{self.gap:.3%}{restricted}"))
        for stage, (weight, bound) in self.weights.items():
            rows.append((f"{stage}s, objective and its upper bound", f"{weight:,.1f}, {bound:,.1f}"))
        rows += [(f"seconds, {stage}", f"{seconds:.1f}") for stage, seconds in self.stages.items()]
        for stage, models in self.models.items():
            for kind in ("relevance", "similarity"):
                found = models[kind]["calibration"]
                label = f"{stage}s, {kind} ({models[kind]['model']})"
                rows.append((label, f"AUC {found['auc']:.3f}, calibration error {found['error']:.3f}"))
            rows += [
                (f"{stage}s, {judge.kind} of the shortlist ({judge.model})", judge.said) for judge in judges_of(models)
            ]
            if choices := models.get("choices"):
                said = f"{choices['right']:.3f}, {choices['wrong']:.3f}"
                rows.append((f"{stage}s, mean P_rel of right and wrong choices ({models['relevance']['model']})", said))
        yield Table("", ("what", "value"), rows)
        yield from shown(self.readings, self.rounds + 1)
        if self.integrity:
            biases = [
                (b.stage, b.name, b.says, str(b.before) if b.before else "", str(b.after)) for b in self.integrity
            ]
            title = f"Right choices in %, by chance {100 / (self.rounds + 1):.3g}"
            yield Table(title, ("stage", "bias", "guesses", "random", "matched"), biases)
        if self.sweep is not None:
            names = ("alone", "all", "relevance", "question")
            points = [
                (f"{p.weight:g}", *(str(p.machines[n]) for n in names), str(p.people) if p.people else "")
                for p in self.sweep.points
            ]
            yield Table("Right choices in %", ("lambda", *names, "people"), points)
            yield f"Recommended: lambda {self.sweep.recommended:g}, {self.sweep.why}."
        yield from self.notes
        yield from cautions(self.readings, self.method, self.rounds + 1)
        for stage, models in self.models.items():
            yield from (judge.caution(stage) for judge in judges_of(models) if not judge.knows)
        yield f"Made: {self.out}"


@dataclass(frozen=True)
class Judge:
    """A run or cross-encoder that judged the shortlists, and how well it told own pairs from drawn ones."""

    kind: str  # relevance, or similarity
    model: str
    aucs: tuple[float, ...]  # of each part of the folds that it was trained for; of similarity, one
    errors: tuple[float, ...]  # of their calibrations

    @property
    def auc(self) -> float:
        return fmean(self.aucs)

    @property
    def knows(self) -> bool:
        """Whether it told them apart in every part: each was judged by its own."""
        return min(self.aucs) >= KNOWS

    @property
    def said(self) -> str:
        parts = f" ({', '.join(f'{auc:.3f}' for auc in self.aucs)} by part)" if len(self.aucs) > 1 else ""
        return f"AUC {self.auc:.3f}{parts}, calibration error {fmean(self.errors):.3f}"

    def caution(self, stage: str) -> Caution:
        """What to do about one that knows nothing."""
        if self.kind == "relevance":
            tells = f"which {stage}s belong to which questions, on folds that it was not trained on"
            fix = "train a run with more epochs or another rate (its options are what is taken), give more questions"
        else:
            tells = f"{stage}s that say the same in other words from others"
            fix = "train it longer, or on more pairs that follow from each other"
        return Caution(
            f"{self.model} hardly tells {tells}: {self.said}, where an AUC of 0.5 is chance. It judged the shortlists "
            f"nevertheless: {fix}, or leave it out, and match again."
        )


def judges_of(models: Json) -> list[Judge]:
    """The judges of a stage's shortlists, from what its models say of themselves."""
    out = []
    for kind, one in models.get("rerank", {}).items():
        found = one["calibration"] if isinstance(one["calibration"], list) else [one["calibration"]]
        scores = tuple(part["auc"] for part in found), tuple(part["error"] for part in found)
        out.append(Judge(kind, one["model"], *scores))
    return out


def notes_on(matched: Mapping[str, Matched]) -> list[str]:
    """What people should know of a matching before they rely on it."""
    out = []
    for stage, one in matched.items():
        if one.reserved:
            out.append(
                f"Frequent {stage}s left little choice in folds {_listed(one.reserved)}: places were kept free for "
                "later rounds, and the gap is to the best of what was left."
            )
    return out


def _listed(folds: list[str] | tuple[str, ...], most: int = 5) -> str:
    """
    >>> _listed(["0", "1"]), _listed([str(k) for k in range(9)])
    ('0, 1', '0, 1, 2, 3, 4 and 4 others')
    """
    more = f" and {len(folds) - most} others" if len(folds) > most else ""
    return ", ".join(folds[:most]) + more


# --- integrity -------------------------------------------------------------------------------------------------------


def integrity(
    after: Choices,
    before: Choices | None,
    vectors: Vectors,
    seed: int = 0,
    tags: tuple[Doubles, Doubles] | None = None,
    stage: str = "answer",
) -> list[Bias]:
    """All guessers on matched choices and on random ones. `tags` are the shared tags of both, in this order."""
    rows, test = sides(after.folds, seed)
    pair_of_sets = [None if side is None else side.take(rows) for side in (after, before)]
    found: dict[str, list[Estimate | None]] = {}
    for number, side in enumerate(pair_of_sets):
        shared = None if tags is None else tags[number][rows]
        for name, value in ({} if side is None else _guesses(side, test, vectors, seed, shared)).items():
            found.setdefault(name, [None, None])[number] = value
    return [Bias(name, _SAYS[name], pair[1], pair[0], stage) for name, pair in found.items() if pair[0] is not None]


def _guesses(side: Choices, test: Bools, vectors: Vectors, seed: int, shared: Doubles | None) -> dict[str, Estimate]:
    train_rows, test_rows = np.flatnonzero(~test), np.flatnonzero(test)
    train, held = side.take(train_rows), side.take(test_rows)
    out: dict[str, Estimate] = {}
    if not len(train):  # nothing can be fitted: always the highest
        cues_of = {"length": lengths(held), "overlap": overlap(held)} | ({} if shared is None else {"tags": shared})
        return {name: accuracy(graded(cue, held.answer), held.groups) for name, cue in cues_of.items()}
    for view in VIEWS:
        scores = by_machine(train, held, view, vectors, np.random.default_rng([seed, 7]))
        out[view] = accuracy(graded(scores, held.answer), held.groups)
    places = np.bincount(train.answer, minlength=len(side.candidates[0])).astype(np.float64)
    out["position"] = accuracy(graded(np.tile(places, (len(held), 1)), held.answer), held.groups)
    cues: dict[str, Cue] = {"length": lengths, "frequency": frequency_in(train), "overlap": overlap}
    for name, cue in cues.items():
        out[name] = _by_cue(cue(train), cue(held), train, held)
    if shared is not None:
        out["tags"] = _by_cue(shared[train_rows], shared[test_rows], train, held)
    order = ["alone", "all", "length", "position", "frequency", "overlap", "tags", "question"]
    return {name: out[name] for name in order if name in out}


def _by_cue(train_cue: Doubles, test_cue: Doubles, train: Choices, test: Choices) -> Estimate:
    """Always the highest, or always the lowest: whichever is right more often in training."""
    up = graded(train_cue, train.answer).mean() >= graded(-train_cue, train.answer).mean()
    return accuracy(graded(test_cue if up else -test_cue, test.answer), test.groups)


def lengths(choices: Choices) -> Doubles:
    """(N, C) words of each choice."""
    return _each(choices, lambda _, text: len(text.split()))


def overlap(choices: Choices) -> Doubles:
    """(N, C) the share of a choice's words that the question has."""
    asked = [set(normal(question).split()) for question in choices.questions]
    return _each(choices, lambda i, text: len(asked[i] & set(normal(text).split())) / max(len(set(text.split())), 1))


def frequency_in(train: Choices) -> Cue:
    """(N, C) how often each text is right in training, as a share of how often it is a choice there."""
    right = Counter(normal(texts[k]) for texts, k in zip(train.candidates, train.answer.tolist(), strict=True))
    shown = Counter(normal(text) for texts in train.candidates for text in texts)
    usual = 1 / len(train.candidates[0])

    def cue(choices: Choices) -> Doubles:
        return _each(choices, lambda _, text: (right[normal(text)] + 4 * usual) / (shown[normal(text)] + 4))

    return cue


def shared_tags(queries: Sequence[Sequence[str]], candidates: Sequence[Sequence[Sequence[str]]]) -> Doubles:
    """(N, C) how many of the question's tags each choice has."""
    return np.array(
        [[len(set(asked) & set(one)) for one in four] for asked, four in zip(queries, candidates, strict=True)],
        np.float64,
    )


def _each(choices: Choices, number: Callable[[int, str], float]) -> Doubles:
    return np.array([[number(i, text) for text in texts] for i, texts in enumerate(choices.candidates)], np.float64)


_SAYS: dict[str, str] = {
    **{name: f"a network that sees {what}" for name, what in VIEWS.items()},
    "length": "the longest response, or the shortest",
    "position": "the commonest place",
    "frequency": "the text that is right most often elsewhere",
    "overlap": "the response that repeats the question's words, or does not",
    "tags": "the response that tags what the question tags, or does not",
}
