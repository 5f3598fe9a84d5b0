"""Matching with tags: questions are left out where too few photographs have what a response names.

A response with few places may find them taken in a later round. Then those of its fold with the fewest places are left
out, as few as will do, from both stages, and all is matched again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veridical.errors import UserError
from veridical.matching.assignment.problem import NoRoom
from veridical.matching.wrong_choices import Matched, Models, Options, Responses, check_folds, match_stage

Ints = npt.NDArray[np.int64]

MOST_LEFT_OUT = 0.2  # share of questions; more is an error
UNFIT = "its tags fit too few photographs"  # why a question was left out


@dataclass(frozen=True)
class Roomy:
    """The questions for which there was room, and what they got."""

    kept: Ints  # rows of those that were given; everything else here is of these rows alone
    stages: dict[str, Responses]
    models: dict[str, Models]
    matched: dict[str, Matched]


def match_with_room(
    stages: Mapping[str, Responses],
    models: Mapping[str, Models],
    options: Options,
    done: Callable[[str], None] = lambda stage: None,
) -> Roomy:
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
            return Roomy(kept, some, fitted, matched)
        except NoRoom as error:
            if all(found.needs is None for found in stages.values()):
                raise
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


def scarce(rows: Responses, least: Mapping[str, int]) -> npt.NDArray[np.bool_]:
    """Which responses fit the photographs of too few other questions of their fold: fewer than `least` says for it."""
    out = np.zeros(len(rows), bool)
    if rows.needs is None or rows.have is None:
        return out
    for fold in sorted(set(rows.folds)):
        here = rows.rows(fold)
        needs, which = np.unique(rows.needs[here], axis=0, return_inverse=True)
        have, counts = np.unique(rows.have[here], axis=0, return_counts=True)
        fits = (needs[:, None, :] <= have[None, :, :]).all(2) @ counts  # for each kind of response
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
