"""Who does what next: which of the open tasks a worker gets, when gold is due, what is removed.

Nobody gets a task twice, or one that has all the answers it needs already under way. Nobody judges a sentence of their
own where somebody else can. Work that has begun is finished first; strata take turns; and which of several equals comes
first differs from worker to worker, so that two who ask at once do not walk through the tasks side by side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from veridical.sources.boxes.scenes import ORDERS
from veridical.web.collect.qualifying import is_trusted
from veridical.web.collect.records import Candidate, Project, Task, Worker

DAY = 86_400.0
UNTRUSTED = 2  # one of so many tasks is gold for newcomers


def open_to(worker: Worker, one: Candidate) -> bool:
    """Whether a worker may take a task, whoever wrote its sentence."""
    return (
        worker.active
        and one.done + one.leased < one.needed
        and one.pool <= worker.tier
        and (not one.camp or not worker.camp or one.camp == worker.camp)
    )


def choose(
    worker: Worker, candidates: Sequence[Candidate], counts: Mapping[str, int], able: Callable[[Candidate], int]
) -> Candidate | None:
    """The next task of a worker, of those that this worker neither answered nor holds; None where there is none.

    `counts` are the worker's answers by stratum, `able` says how many others could still do a task: only where nobody
    could is a sentence judged by its own writer.
    """
    mine = [one for one in candidates if open_to(worker, one)]

    def order(one: Candidate) -> tuple[int, bool, int]:
        return counts.get(one.stratum, 0), one.done + one.leased == 0, mixed(worker.id, one.id)

    others = [one for one in mine if one.author != worker.id]
    if others:
        return min(others, key=order)
    own = [one for one in mine if one.author == worker.id and not able(one)]
    return min(own, key=order, default=None)


def mixed(*parts: str) -> int:
    """A number that parts decide, and nothing else: as good as random, and the same tomorrow.

    >>> mixed("w1", "t1") == mixed("w1", "t1") != mixed("w2", "t1")
    True
    """
    return int.from_bytes(hashlib.blake2b("\n".join(parts).encode(), digest_size=8).digest(), "big")


def gold_due(project: Project, worker: Worker) -> bool:
    """Whether a worker's next task is gold: one of every `gold_every`, at a place that nobody can foresee; one of two
    until it is plain that this worker does not guess, and whenever that is in doubt again."""
    if project.gold_every < 1:
        return False
    size = project.gold_every if is_trusted(project, worker) else min(project.gold_every, UNTRUSTED)
    block, place = divmod(worker.given, size)
    return place == mixed(str(project.seed), "gold", worker.id, str(block)) % size


def view(project: Project, task: Task, worker: str) -> int:
    """In which of six orders NLVR's boxes are shown to a worker (section 4: so that no sentence hangs on it)."""
    return mixed(str(project.seed), "view", task.id, worker) % len(ORDERS)


def stale_before(project: Project, now: float) -> float:
    """Writing tasks that were offered before this moment, and that nobody took, are removed (NLVR2, 3.6)."""
    return now - project.stale_days * DAY
