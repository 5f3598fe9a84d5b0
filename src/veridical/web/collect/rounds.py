"""Rounds of writing (NLVR2, section 3.5): a sample of each writer's sentences is looked at; bonuses, tiers, blocking.

Where at least 75% of the twenty follow the guidelines, every sentence of the round earns $0.07 more and the writer may
take from the whole pool; from 50% on, $0.03. Who stays below that twice is blocked; who is surely below it is so
at once, and nothing of theirs counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from veridical.common.intervals import wilson
from veridical.web.collect.assigning import mixed
from veridical.web.collect.records import Answer, Bonus, Project, Review, RoundResult, Worker

HALF = 0.5  # of sentences follow the guidelines, at least, where no bonus says another share


def sentences(answer: Answer) -> int:
    """How many sentences, or questions, an answer to a writing task is: none where the pictures were flagged."""
    if answer.kind == "questions":
        return len(answer.value.get("questions", ()))
    return int(bool(answer.value.get("sentence")))


def sample(answers: Sequence[Answer], size: int, seed: int) -> list[Answer]:
    """Of what one worker wrote in a round, those that are looked at: any equally likely, and always the same."""
    written = [one for one in answers if sentences(one)]
    return sorted(written, key=lambda one: mixed(str(seed), "sample", one.id))[:size]


def result(
    project: Project, worker: Worker, round: int, reviews: Sequence[Review], written: int, strikes: int
) -> RoundResult | None:
    """What a round means for a worker; None before all of the sample was looked at.

    `written` sentences of the round count; `strikes` are earlier rounds below the last bonus.
    """
    if not reviews or any(one.follows is None for one in reviews):
        return None
    following = sum(bool(one.follows) for one in reviews)
    share = following / len(reviews)
    each = next((bonus.mills for bonus in ladder(project) if share >= bonus.least), 0)
    best = project.bonuses and share >= max(bonus.least for bonus in project.bonuses)
    blocked, void = "", bool(project.strikes) and is_hopeless(project, following, len(reviews))
    if void:
        blocked = f"{following} of {len(reviews)} sentences followed the guidelines."
    elif is_strike(project, following, len(reviews)) and strikes + 1 >= project.strikes > 0:
        blocked = f"In {strikes + 1} rounds too few sentences followed the guidelines ({following} of {len(reviews)})."
    tier = max(worker.tier, 1) if best or not project.bonuses else worker.tier
    return RoundResult(worker.id, round, len(reviews), following, written, each * written, tier, blocked, void)


def ladder(project: Project) -> list[Bonus]:
    """The bonuses, the highest bar first."""
    return sorted(project.bonuses, key=lambda bonus: -bonus.least)


def is_strike(project: Project, following: int, sampled: int) -> bool:
    """Whether a round earned nothing."""
    return bool(project.bonuses) and following < sampled * min(bonus.least for bonus in project.bonuses)


def is_hopeless(project: Project, following: int, sampled: int) -> bool:
    """Whether all of the 95% interval of a round lies below the last bonus: 0 of 4, 2 of 12, 5 of 20 sentences."""
    return wilson(following, sampled)[1] < min((bonus.least for bonus in project.bonuses), default=HALF)
