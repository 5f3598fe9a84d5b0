"""What somebody shows before doing tasks (NLVR2, section 3.5 of the draft), and how well they do among them.

A qualification is a list of tasks: tutorial questions, each asked until it is answered rightly; judgements, of which
enough must be right; and for writers one writing task that a person reviews. For validators eight examples. Later, gold
tasks hidden among the others, and what writers meant, say whether somebody looks or guesses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from veridical.common.intervals import Estimate, wilson
from veridical.web.collect.records import GOLD, MEANT, WRITING, Answer, Project, Review, Role, Standing, Task, Worker


@dataclass(frozen=True)
class Step:
    """Where a worker stands with a role, and what comes next."""

    standing: Standing
    next: Task | None
    place: int  # of the next task, from 1
    steps: int  # tasks of the qualification


def step(role: Role, tasks: Sequence[Task], answers: Sequence[Answer], reviews: Mapping[str, Review]) -> Step:
    """What a worker's answers to a role's qualification mean.

    `tasks` are in their order, `answers` this worker's by time, `reviews` by answer. A tutorial question counts once it
    was answered rightly; a judgement counts as it was answered first, right or wrong.
    """
    given: dict[str, Answer] = {}
    for one in answers:
        if one.task not in given or (one.kind == "tutorial" and one.right):
            given[one.task] = one
    done = [given[task.id] for task in tasks if _is_done(task, given)]
    judged = [one for one in done if one.kind not in ("tutorial", *WRITING)]
    right = sum(bool(one.right) for one in judged)
    wrong = len(judged) - right
    allowed = sum(task.kind not in ("tutorial", *WRITING) for task in tasks) - role.least_right
    if wrong > allowed:
        words = f"{right} of {len(judged)} answers were right; {role.least_right} are needed."
        return Step(Standing("failed", len(done), right, reason=words), None, 0, len(tasks))
    following = next((task for task in tasks if not _is_done(task, given)), None)
    if following is not None:
        stage = Standing("questions" if done else "new", len(done), right)
        return Step(stage, following, len(done) + 1, len(tasks))
    for one in done:
        if one.kind in WRITING:
            said = reviews.get(one.id)
            if said is None or said.follows is None:
                return Step(Standing("review", len(done), right, one.id), None, 0, len(tasks))
            if not said.follows:
                words = said.note or "The sentence does not follow the guidelines."
                return Step(Standing("failed", len(done), right, one.id, words), None, 0, len(tasks))
    return Step(Standing("qualified", len(done), right), None, 0, len(tasks))


def _is_done(task: Task, given: Mapping[str, Answer]) -> bool:
    return task.id in given and (task.kind != "tutorial" or bool(given[task.id].right))


@dataclass(frozen=True)
class Gold:
    """How a worker did on gold."""

    right: int
    asked: int
    accuracy: Estimate | None  # with its interval; None before there is any


def measured(worker: Worker, answer: Answer, times: int = 1) -> Worker:
    """A worker with one more answer that can be compared with gold, or with what a writer meant; -1 takes it back."""
    if answer.right is None or (answer.purpose == "work" and answer.kind != "validate"):
        return worker
    name = GOLD if answer.purpose == "gold" else MEANT
    before = worker.standings.get(name, Standing())
    now = replace(before, asked=before.asked + times, right=before.right + times * bool(answer.right))
    return replace(worker, standings={**worker.standings, name: now})


def gold(worker: Worker) -> Gold:
    """How somebody's answers compare with what was known."""
    met = worker.standings.get(GOLD, Standing())
    right, asked = met.right, met.asked
    return Gold(right, asked, Estimate(right / asked, *wilson(right, asked)) if asked else None)


# --- who guesses -----------------------------------------------------------------------------------------------------

LEAST = 6  # answers before anybody is blocked for more than gold: one bad sentence is judged four times
TRUSTED = math.log(0.05)  # evidence below which somebody is one of twenty times likelier to guess than to look


def evidence(project: Project, worker: Worker) -> float:
    """How much likelier (its logarithm) answers are of somebody who guesses than of the least of honest people.

        sum over gold and over judgements against what writers meant:
            right log(chance / accuracy) + wrong log((1 - chance) / (1 - accuracy))

    Wald's sequential test (1945). Of honest people the exponential of it is a martingale of mean 1 at most, so the
    share of them for whom it ever exceeds 1 / alpha is alpha at most, however long they work (Ville 1939).

    >>> some = Worker("w1", standings={GOLD: Standing(asked=8, right=3), MEANT: Standing(asked=10, right=6)})
    >>> round(evidence(Project("p", "nlvr2", "P"), some), 2)
    4.77
    """
    meant = _evidence(worker.standings.get(MEANT, Standing()), 0.5, project.meant_accuracy)
    return _evidence(worker.standings.get(GOLD, Standing()), project.chance, project.gold_accuracy) + meant


def _evidence(met: Standing, chance: float, accuracy: float) -> float:
    right, wrong = met.right, met.asked - met.right
    return right * math.log(chance / accuracy) + wrong * math.log((1 - chance) / (1 - accuracy))


def is_trusted(project: Project, worker: Worker) -> bool:
    """Whether somebody showed that they look at what they judge: gold is rare from then on."""
    return evidence(project, worker) < TRUSTED


def caught(project: Project, worker: Worker) -> str:
    """Why a worker is to be blocked for guessing; nothing where they may go on."""
    known, meant = (worker.standings.get(name, Standing()) for name in (GOLD, MEANT))
    if not project.false_alarms:
        return ""
    enough = -math.log(project.false_alarms)
    by_gold = _evidence(known, project.chance, project.gold_accuracy) >= enough  # three wrong, where a guess is a coin
    if evidence(project, worker) < enough or (known.asked + meant.asked < LEAST and not by_gold):
        return ""
    return (
        f"{known.right} of {known.asked} answers to tasks with a known answer were right, and {meant.right} of "
        f"{meant.asked} judgements were what the writer meant: as if by chance."
    )
