"""What blind readers make of the choices: of wrong ones drawn at random, by the paper's equation, and by fours.

No reader sees a picture. One sees the choices alone; one the question, too; one reads all questions of a fold jointly,
knowing that each response is right once. Each is the better of two: a small network, trained on some folds and tested
on others, and the untrained rule that takes the most relevant choice. They look at a few thousand questions, whole
blocks of them, among which the other two sets of wrong choices are made for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from veridical.common.arrays import Doubles, Ints
from veridical.common.intervals import Estimate
from veridical.common.result import Caution, Table
from veridical.errors import UserError
from veridical.matching.blind_readers import (
    Choices,
    Vectors,
    View,
    accuracy,
    by_machine,
    graded,
    random_wrong,
    sides,
)
from veridical.matching.items import Laid, choices_of, lay_out
from veridical.matching.joint import balanced
from veridical.matching.questions import AnsweredQuestion
from veridical.matching.stages import Matched, Models, Responses, StageOptions, match_stage, subset

SAMPLE = 4000  # questions
PARTS = 4  # of a single fold, whose blocks are trained and tested on apart
MARGIN = 0.2  # above chance: a reader that passes by so much is warned of (45% of four choices)
ALONE, QUESTION, JOINT = "choices alone", "question and choices", "jointly (each response is right once in the fold)"
SETS = ("random", "paper", "fours")


class Reading(msgspec.Struct, frozen=True):
    """How often one reader is right, by how the wrong choices were found; None where they could not be."""

    reader: str
    stage: str
    random: Estimate | None
    paper: Estimate | None
    fours: Estimate | None
    questions: int  # that were looked at

    def of(self, method: str) -> Estimate | None:
        found: dict[str, Estimate | None] = {"random": self.random, "paper": self.paper, "fours": self.fours}
        return found[method]


@dataclass(frozen=True)
class MatchedChoices:
    """A stage as it was matched and laid out."""

    rows: Sequence[AnsweredQuestion]
    stage: str  # answer, or rationale
    found: Responses
    models: Models
    matched: Matched
    laid: Laid


def readings(made: MatchedChoices, options: StageOptions, vectors: Vectors) -> list[Reading]:
    """All readers on all three sets; nothing where one fold or block is all there is."""
    rng = np.random.default_rng([options.seed, 9])
    sample, folds = _sample(made, rng)
    if len(set(folds)) < 2:
        return []
    found = replace(subset(made.found, sample), folds=folds)
    models, rows = made.models.take(sample), [made.rows[i] for i in sample]
    measured: dict[str, dict[str, Estimate]] = {}
    for name in SETS:
        if name == options.method:
            choices, order = choices_of(made.rows, made.laid, made.stage).take(sample), made.laid.order[sample]
            relevance = _relevance(made.models, sample, order)
        else:
            wrong = _other(name, found, models, options, rng)
            if wrong is None:
                continue
            laid = lay_out(wrong, rows, made.stage, options.seed)
            choices, order = choices_of(rows, laid, made.stage), laid.order
            relevance = _relevance(models, np.arange(len(rows)), order)
        measured[name] = _read(replace(choices, folds=folds), order, relevance, vectors, options.seed)
    readers = measured[options.method]
    out = []
    for one in readers:
        drawn, paper, fours = (measured.get(name, {}).get(one) for name in SETS)
        out.append(Reading(one, made.stage, drawn, paper, fours, len(sample)))
    return out


def _sample(made: MatchedChoices, rng: np.random.Generator) -> tuple[Ints, list[str]]:
    """The rows that are looked at, and what is never on both sides of training and test: their folds.

    By fours, where there is one fold, parts of it will do: blocks share nothing.
    """
    folds, block = made.found.folds, made.matched.blocks
    if block is None:
        rows = np.sort(rng.permutation(len(folds))[:SAMPLE])
        return rows, [folds[i] for i in rows]
    number = int(block.max()) + 1
    order = rng.permutation(number)
    kept = order[: max(2, SAMPLE * number // len(folds))]
    rows = np.flatnonzero(np.isin(block, kept))
    if len(set(folds)) > 1:
        return rows, [folds[i] for i in rows]
    part = dict(zip(kept.tolist(), (f"part {k % PARTS}" for k in range(len(kept))), strict=True))
    return rows, [part[int(block[i])] for i in rows]


def _other(name: str, found: Responses, models: Models, options: StageOptions, rng: np.random.Generator) -> Ints | None:
    """(wrong, n) wrong choices by another way, for comparison; None where the sample has none."""
    needs, have = found.needs, found.have
    fits = None if needs is None or have is None else (lambda i, j: (needs[j] <= have[i]).all(1))
    try:
        if name == "random":
            return random_wrong(found.texts, found.folds, options.wrong, rng, fits)
        asked = replace(options, method=name, secret="", hidden=frozenset())
        return match_stage(found, models, asked, f"Matching by {name}, for comparison").wrong
    except UserError:
        return None


def _relevance(models: Models, rows: Ints, order: Ints) -> Doubles:
    """(n, C) the log-odds of P_rel of each choice."""
    model = models.relevance
    scores = model.of_pairs(np.repeat(rows, order.shape[1]), order.reshape(-1)).reshape(order.shape)
    return np.round(model.calibration.slope * scores, 5)


def _read(choices: Choices, order: Ints, relevance: Doubles, vectors: Vectors, seed: int) -> dict[str, Estimate]:
    """What each reader gets right of one set."""
    rows, test = sides(choices.folds, seed)
    learned, tested = rows[~test], rows[test]
    train, held = choices.take(learned), choices.take(tested)

    def machine(view: View) -> Doubles:
        return by_machine(train, held, view, vectors, np.random.default_rng([seed, 7]))

    with_question = [machine("question"), relevance[tested]]
    right = {
        ALONE: [graded(machine("all"), held.answer)],
        QUESTION: [graded(scores, held.answer) for scores in with_question],
        JOINT: [graded(balanced(scores, order[tested]), held.answer) for scores in with_question],
    }
    best = {reader: max(found, key=lambda hits: float(hits.mean())) for reader, found in right.items()}
    return {reader: accuracy(hits, held.groups) for reader, hits in best.items()}


def shown(found: Sequence[Reading], choices: int) -> Iterator[Table]:
    """The readings as a table."""
    if not found:
        return
    rows = [(one.stage, one.reader, *(str(one.of(name) or "") for name in SETS)) for one in found]
    title = (
        f"Blind readers, right in % of the test part of {found[0].questions:,} questions, by chance {100 / choices:.3g}"
    )
    yield Table(title, ("stage", "reader", *SETS), rows)


def cautions(found: Sequence[Reading], method: str, choices: int) -> Iterator[Caution]:
    """A warning in words for each reader that passes."""
    limit = 1 / choices + MARGIN
    for one in found:
        made = one.of(method)
        if made is not None and made.value > limit:
            yield Caution(
                f"The {one.stage}s can be passed without looking: a reader of {_sees(one.reader)} is right in "
                f"{made} % where chance is {100 / choices:.3g}. Questions that only their own {one.stage} fits do so: "
                "use more questions, fewer folds where there are several (--folds), a lower --lambda, or a --relevance "
                "that knows more."
            )


def _sees(reader: str) -> str:
    seen: Mapping[str, str] = {ALONE: "the choices alone", QUESTION: "the question and the choices"}
    return seen.get(reader, "all questions and choices jointly")
