"""A stage matched, the answers of all questions or their rationales: fold by fold, each response wrong three times.

Both stages take the same steps: fit P_rel and P_sim over all rows, then solve each fold by itself. Rows of one fold
never meet those of another. A response with tags fits only photographs that have what it names; one with few places may
find them taken in a later round. Then those of its fold with the fewest places are left out, as few as will do, from
both stages, and all is matched again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Bools, Ints
from veridical.encoders.encoder import resolved_precision
from veridical.engine.pool import available
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.matching import folds
from veridical.matching.assignment.auction import peak_bytes
from veridical.matching.assignment.problem import NoMatching
from veridical.matching.folds import FoldMatch
from veridical.matching.items import needs_and_have, plain
from veridical.matching.scores.crossencoder import Reranked, Reranker, rerank
from veridical.matching.scores.fit import fit_relevance, fit_similarity
from veridical.matching.scores.models import WORDS, Encode, PairModel, encoder
from veridical.options.building import Matching
from veridical.options.running import Workers
from veridical.records import Panel, Text

METHODS = ("fours", "paper")
WORDS_READER = "hashed-words"
MOST_LEFT_OUT = 0.2  # share of questions; more is an error


@dataclass(frozen=True)
class StageOptions:
    """How responses are matched."""

    relevance: str = "minilm"
    similarity: str = "minilm"
    learned: bool = True  # learn relevance on the data, cross-fitted by fold
    weight: float = 1.0  # lambda
    method: str = "fours"  # blocks that share their responses, or the paper's rounds
    wrong: int = 3
    shortlist: int = 64
    tolerance: float = 1e-3
    seed: int = 0
    secret: str = ""  # mixed into the seed of what is random in `hidden` folds
    hidden: frozenset[str] = frozenset()  # folds whose answers are hidden
    precision: str = "fp32"  # of encoders of texts: fp32 or bf16
    reranker: Reranker | None = None  # a cross-encoder for P_rel over the shortlist
    similarity_reranker: Reranker | None = None  # the same for P_sim
    workers: Workers = field(default_factory=Workers)  # who runs the models and solves the folds

    @classmethod
    def of(cls, matching: Matching, **more: Any) -> StageOptions:
        """What a verb was told of the models and the trade-off, and the rest."""
        named = matching.relevance, matching.similarity, matching.learn, matching.weight, matching.method
        return cls(*named, precision=resolved_precision(matching.precision), **more)

    def encoder(self, name: str) -> Encode | None:
        """The text encoder of a name; None where the name stands for counts of words."""
        return None if name in WORDS else encoder(name, self.precision, self.workers)


@dataclass(frozen=True)
class Responses:
    """What is matched: a query and its right response for each row."""

    queries: list[str]  # as models read them
    responses: list[str]
    texts: Ints  # equal numbers: equal texts
    folds: list[str]
    needs: npt.NDArray[np.int16] | None = None
    have: npt.NDArray[np.int16] | None = None

    def __len__(self) -> int:
        return len(self.queries)

    def rows(self, fold: str) -> Ints:
        return np.flatnonzero(np.asarray(self.folds, dtype=object) == fold)


@dataclass(frozen=True)
class Models:
    """P_rel and P_sim, fitted: one fit serves every lambda."""

    relevance: PairModel
    similarity: PairModel
    reranked: Reranked | None = None  # what cross-encoders said of the pairs that these find best
    readers: tuple[PairModel, ...] = ()  # other models of relevance, which fours weigh against

    def take(self, kept: Ints) -> Models:
        """The same models over some of the rows."""
        reranked = None if self.reranked is None else self.reranked.take(kept)
        readers = tuple(one.take(kept) for one in self.readers)
        return Models(self.relevance.take(kept), self.similarity.take(kept), reranked, readers)

    def to_json(self) -> dict[str, object]:
        about: dict[str, object] = {} if self.reranked is None else {"rerank": self.reranked.about}
        if self.readers:
            about["readers"] = [one.to_json() for one in self.readers]
        return {"relevance": self.relevance.to_json(), "similarity": self.similarity.to_json(), **about}


@dataclass(frozen=True)
class Matched:
    """The wrong responses of each row, and the proof of their quality."""

    wrong: Ints  # (rounds, N) rows whose right response is a wrong one here
    weight: float  # the sum of W over all wrong choices
    bound: float  # no choice of them by this method weighs more
    gap: float  # paper: the largest certified gap of any fold and round; fours: that of weight and bound
    seconds: float  # of the solver alone
    peak_bytes: int
    reserved: tuple[str, ...] = ()  # folds where frequent texts left little choice: their gap is to a restricted best
    blocks: Ints | None = None  # (N,): fours: rows of equal numbers share their responses


def normal(text: str) -> str:
    """A text without case, spacing and final punctuation: what counts as the same response.

    >>> normal("  Yes. ") == normal("yes")
    True
    """
    return " ".join(text.lower().split()).rstrip(" .!?,;") or text.strip()


def responses_of(
    queries: Sequence[Text], responses: Sequence[Text], panels: Sequence[Panel | None], folds: Sequence[str]
) -> Responses:
    """Texts and panels as rows to match; tags are read by the names of their classes."""
    asked = [plain(text, panel) for text, panel in zip(queries, panels, strict=True)]
    said = [plain(text, panel) for text, panel in zip(responses, panels, strict=True)]
    texts = np.unique([normal(text) for text in said], return_inverse=True)[1].reshape(-1).astype(np.int64)
    made = Responses(asked, said, texts, list(folds))
    known = [panel for panel in panels if panel is not None]
    if len(known) < len(panels) or not any(text.tokens for text in responses):
        return made
    needs, have, classes = needs_and_have(responses, known)
    return replace(made, needs=needs, have=have) if classes else made


def check_folds(rows: Responses, wrong: int, noun: str = "answer") -> None:
    """Refuse folds in which no matching can exist, before any model is run."""
    if not len(rows):
        raise UserError("There is nothing to match.", "Give at least four questions with answers.")
    if len(set(rows.texts.tolist())) == 1:
        raise UserError(
            f"All {len(rows):,} {noun}s are {rows.responses[0]!r}.", f"Give questions whose {noun}s differ."
        )
    for fold in sorted(set(rows.folds)):
        here = rows.rows(fold)
        if len(here) <= wrong:
            raise UserError(
                f"Fold {fold} has {len(here)} questions; {wrong + 1} choices need at least {wrong + 1} {noun}s.",
                "Use fewer folds (--folds), or more data.",
            )
        numbers, counts = np.unique(rows.texts[here], return_counts=True)
        if counts.max() * (wrong + 1) > len(here):
            common = rows.responses[int(here[rows.texts[here] == numbers[counts.argmax()]][0])]
            raise UserError(
                f"Fold {fold}: {counts.max():,} of {len(here):,} {noun}s are {common!r}. A text that is right so often "
                f"cannot be wrong {wrong} times as often, once in a question; {len(here) // (wrong + 1):,} can.",
                "Leave some of these questions out, use larger folds (--folds), or fewer wrong choices (--wrong).",
            )


def check_options(options: StageOptions) -> None:
    """Refuse numbers that make no sense, before any model is run."""
    weight, tolerance = options.weight, options.tolerance
    rules = (
        (options.seed >= 0, f"The seed is {options.seed}.", "Give a whole number from 0."),
        (0 <= weight < math.inf, f"lambda is {weight}; it weighs similarity.", "Choose a number of 0 or more."),
        (options.wrong >= 1, f"{options.wrong} wrong choices for each question were asked for.",
         "Choose 1 or more (VCR has 3)."),
        (options.shortlist >= 1, f"A shortlist of {options.shortlist}.",
         "Choose 1 or more (--shortlist); 64 is usual."),
        (0 < tolerance < math.inf, f"A tolerance of {tolerance}.",
         "Choose a number above 0 (--tolerance), such as 0.001."),
        (options.method in METHODS, f"There is no method {options.method!r}.", f"Choose {' or '.join(METHODS)}."),
    )  # fmt: skip
    for good, problem, fix in rules:
        if not good:
            raise UserError(problem, fix)


def fit_models(rows: Responses, options: StageOptions) -> Models:
    """P_rel and P_sim of a stage."""
    check_options(options)
    rng = np.random.default_rng([options.seed, 1])
    relevance = fit_relevance(
        options.relevance, rows.queries, rows.responses, rows.texts, rows.folds, rng, learned=options.learned,
        encode=options.encoder(options.relevance),
    )  # fmt: skip
    drawn = np.random.default_rng([options.seed, 2])
    encode = options.encoder(options.similarity)
    similarity = fit_similarity(options.similarity, rows.responses, drawn, encode=encode)
    models = Models(relevance, similarity, readers=_readers(rows, options))
    if options.reranker is None and options.similarity_reranker is None:
        return models
    return replace(models, reranked=rerank(rows, models, options))


def _readers(rows: Responses, options: StageOptions) -> tuple[PairModel, ...]:
    """A reader that goes by words alone, where these teach anything."""
    if not options.learned or options.relevance == WORDS_READER:
        return ()
    rng = np.random.default_rng([options.seed, 10])
    found = fit_relevance(WORDS_READER, rows.queries, rows.responses, rows.texts, rows.folds, rng)
    return (found,) if found.learned else ()


def match_stage(rows: Responses, models: Models, options: StageOptions, label: str = "Matching") -> Matched:
    """Solve every fold. By fours they are searched side by side, each by one thread, whatever their number."""
    names = sorted(set(rows.folds))
    began, threads = time.perf_counter(), available()
    out, blocks = np.full((options.wrong, len(rows)), -1, np.int64), np.full(len(rows), -1, np.int64)
    with Progress(label, len(rows), "questions") as progress:
        parts: list[FoldMatch] = []
        for fold, part in zip(names, folds.matched(rows, models, options, names, threads), strict=True):
            here = rows.rows(fold)
            out[:, here] = here[part.wrong]
            if part.block is not None:
                blocks[here] = part.block + blocks.max() + 1
            parts.append(part)
            progress.advance(len(here))
    weight, bound = sum(part.weight for part in parts), sum(part.bound for part in parts)
    by_fours = options.method == "fours"
    gap = (bound - weight) / max(abs(weight), 1e-12) if by_fours else max(part.gap for part in parts)
    reserved = tuple(fold for fold, part in zip(names, parts, strict=True) if part.reserved)
    spent = time.perf_counter() - began
    return Matched(out, weight, bound, gap, spent, peak_bytes(), reserved, blocks if by_fours else None)


def mean_relevance(models: Models, wrong: Ints) -> dict[str, float]:
    """The mean P_rel of right and of wrong choices."""
    own = np.arange(wrong.shape[1])
    model = models.relevance
    both = {"right": model.of_pairs(own, own), "wrong": model.of_pairs(np.tile(own, len(wrong)), wrong.reshape(-1))}
    return {name: float(np.mean(model.calibration.probability(scores))) for name, scores in both.items()}


@dataclass(frozen=True)
class MatchedStages:
    """The questions for which there was room, and what they got."""

    kept: Ints  # rows of those that were given; everything else here is of these rows alone
    stages: dict[str, Responses]
    models: dict[str, Models]
    matched: dict[str, Matched]


def match_stages(
    stages: Mapping[str, Responses],
    models: Mapping[str, Models],
    options: StageOptions,
    done: Callable[[str], None] = lambda stage: None,
) -> MatchedStages:
    """Match every stage (answer, rationale) of the same questions; `done` is told of each that is finished.

    Models are those of all questions. A question that is left out of one stage is left out of all.
    """
    whole = len(next(iter(stages.values())))
    kept = np.arange(whole)
    least = {fold: options.wrong for found in stages.values() for fold in found.folds}
    while True:
        kept = _with_places(stages, kept, least)
        if len(kept) < whole:
            some = {stage: subset(found, kept) for stage, found in stages.items()}
            fitted = {stage: one.take(kept) for stage, one in models.items()}
            for stage, found in some.items():
                check_folds(found, options.wrong, stage)
        else:
            some, fitted = dict(stages), dict(models)
        matched: dict[str, Matched] = {}
        try:
            for stage, found in some.items():
                matched[stage] = match_stage(found, fitted[stage], options, f"Matching {stage}s")
                done(f"matching, {stage}s")
            return MatchedStages(kept, some, fitted, matched)
        except NoMatching as error:
            if all(found.needs is None for found in stages.values()):
                raise
            if len(error.rows):
                kept = np.delete(kept, error.rows)
            else:
                least[error.fold] *= 2
            if len(_with_places(stages, kept, least)) < (1 - MOST_LEFT_OUT) * whole:
                raise UserError(
                    f"{error.problem} Leaving out {MOST_LEFT_OUT:.0%} of the questions does not help.", error.fix
                ) from None


def _with_places(stages: Mapping[str, Responses], kept: Ints, least: Mapping[str, int]) -> Ints:
    """The rows whose responses all have places enough among each other."""
    while len(kept):
        bad = np.any([scarce(subset(found, kept), least) for found in stages.values()], axis=0)
        if not bad.any():
            break
        kept = kept[~bad]
    return kept


def scarce(rows: Responses, least: Mapping[str, int]) -> Bools:
    """Which responses fit the photographs of too few other questions of their fold: fewer than `least` says for it."""
    out = np.zeros(len(rows), bool)
    if rows.needs is None or rows.have is None:
        return out
    for fold in sorted(set(rows.folds)):
        here = rows.rows(fold)
        needs, which = np.unique(rows.needs[here], axis=0, return_inverse=True)
        have, counts = np.unique(rows.have[here], axis=0, return_counts=True)
        fits = (needs[:, None, :] <= have[None, :, :]).all(2) @ counts  # for each lot of response
        out[here] = fits[which.reshape(-1)] - 1 < least[fold]
    return out


def subset(rows: Responses, kept: Ints) -> Responses:
    """Some of the rows."""
    return Responses(
        [rows.queries[i] for i in kept],
        [rows.responses[i] for i in kept],
        np.unique(rows.texts[kept], return_inverse=True)[1].reshape(-1).astype(np.int64),
        [rows.folds[i] for i in kept],
        None if rows.needs is None else rows.needs[kept],
        None if rows.have is None else rows.have[kept],
    )
