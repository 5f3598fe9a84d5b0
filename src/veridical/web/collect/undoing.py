"""What happens when somebody's answers count no more: they are asked of others, and what came of them goes.

Judgements are asked again. A sentence is written again by somebody else, and the judgements on it go with it. Pictures
that somebody pruned or sorted are looked at again, unless sentences were written about them already.
"""

from __future__ import annotations

from veridical.web.collect.following import items_of, question_id
from veridical.web.collect.qualifying import measured
from veridical.web.collect.records import WRITING, Answer, Task
from veridical.web.collect.store import Transaction


def void_answers(tx: Transaction, worker: str, why: str, now: float) -> int:
    """Make all that a worker did count no more; how many answers that are."""
    found = [one for one in tx.answers_by(worker) if one.purpose != "qualification" and not one.void]
    kept = 0
    for one in found:
        task = tx.task(one.task)
        if task is None or not _void(tx, task, one, why, now):
            kept += 1
    return len(found) - kept


def _void(tx: Transaction, task: Task, answer: Answer, why: str, now: float) -> bool:
    if task.purpose != "work":
        tx.void([answer.id], why)
        return True
    if task.kind in ("prune", "sets") and _built_on(tx, task):
        return False
    tx.void([answer.id], why)
    if task.kind in (*WRITING, "prune", "sets"):
        _remove(tx, dependents(task, answer), "what it was about was removed", now)
    if tx.closed(task.id) in ("done", "flagged"):
        tx.reopen_task(task.id)
    return True


def _built_on(tx: Transaction, task: Task) -> bool:
    """Whether anybody answered what followed from pruning a set."""
    return any(
        tx.answers_of(name) or _built_on(tx, child)
        for name in dependents(task)
        if (child := tx.task(name)) is not None and tx.closed(name) != "removed"
    )


def _remove(tx: Transaction, names: list[str], why: str, now: float) -> None:
    for name in names:
        task = tx.task(name)
        if task is None or tx.closed(name) == "removed":
            continue
        answers = tx.answers_of(name)
        tx.void([one.id for one in answers], why, again=True)
        for one in answers:
            if (judge := tx.worker(one.worker)) is not None:
                tx.put_worker(measured(judge, one, -1))  # nobody is blamed for what a spammer meant
            _remove(tx, dependents(task, one), why, now)
        if not answers:
            _remove(tx, dependents(task), why, now)
        tx.release(name, now)
        tx.close_task(name, "removed")


def dependents(task: Task, answer: Answer | None = None) -> list[str]:
    """The tasks that may have followed from a task, and from an answer to it."""
    if task.purpose != "work":
        return []
    if task.kind == "prune":
        return [f"sets:{task.origin}"]
    if task.kind == "sets":
        return [f"write:{task.origin}-0", f"write:{task.origin}-1"]
    if task.kind == "validate":
        return [f"extra:{task.key}", f"gold:{task.key}"] if not task.id.startswith("extra:") else [f"gold:{task.key}"]
    if task.kind == "questions" and answer is not None:
        return [f"accept:{question_id(task, number)}" for number in range(len(answer.value["questions"]))]
    if task.kind in ("contrast", "sentence") and answer is not None:
        return [f"validate:{item}" for item in items_of(task)]
    return []
