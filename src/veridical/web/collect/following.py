"""What a task leads to once it has its answers: the papers' pipelines, a step at a time.

    NLVR    sentence -> four drawings to validate, their boxes in another order
    NLVR2   prune -> sets -> two tasks over four pairs -> four pairs to validate -> four more judgements of some
    VCR     questions -> each of them to accept

Items on which five people agree become gold for others: nobody can tell them from the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from veridical.builders.nlvr2 import pairs, sets, work
from veridical.builders.nlvr2.collection import seeds
from veridical.web.collect import kinds
from veridical.web.collect.assigning import mixed
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Answer, Closed, Kind, Picture, Project, Task

TRAIN = "train"
GOLD_FROM = 5  # people who agree


@dataclass(frozen=True)
class Followed:
    """What answers mean for their task: whether it is closed, and what comes after it."""

    close: Closed | None = None
    tasks: tuple[Task, ...] = ()


def after(project: Project, task: Task, answers: Sequence[Answer]) -> Followed:
    """What follows from the answers that a task has so far (those that count, by time)."""
    if task.purpose != "work" or len(answers) < task.needed:
        return Followed()
    if task.kind == "contrast" and answers[0].value["flag"]:
        return Followed("flagged")
    found = _NEXT.get(task.kind)
    return Followed("done", tuple(found(project, task, answers)) if found else ())


def pool_of(project: Project, name: str) -> int:
    """Whether a writing task is open to everybody (0), or to those who passed a round (1)."""
    return int(mixed(str(project.seed), "pool", name) / 2**64 >= project.small_pool)


def _after_prune(project: Project, task: Task, answers: Sequence[Answer]) -> list[Task]:
    shown, removed = kinds.payload(task), answers[0].value["removed"]
    left = tuple(one for one in shown.pictures if one.name not in removed)
    if len(left) < sets.SIZE:
        return []
    made = kinds.Sets(shown.synset, left, shown.query)
    return [Task(f"sets:{task.origin}", "sets", plain(made), origin=task.origin, split=task.split)]


def _after_sets(project: Project, task: Task, answers: Sequence[Answer]) -> list[Task]:
    shown, said = kinds.payload(task), answers[0].value
    left = [one for one in shown.pictures if one.name not in said["duplicates"]]
    bright = [one for one in left if one.name not in said["dull"]]
    if len(left) < sets.SIZE or len(bright) < sets.LEAST_INTERESTING:
        return []
    eight = sorted(left, key=lambda one: one.name in said["dull"])[: sets.SIZE]  # sorting keeps the order of similarity
    return writing_tasks(project, task.origin, shown.synset, shown.query, eight, task.split)


def writing_tasks(
    project: Project, origin: str, synset: str, query: str, eight: Sequence[Picture], split: str
) -> list[Task]:
    """The two sentence-writing tasks over four random pairs of a set of eight."""
    by_name = {one.name: one for one in eight}
    image_set = work.ImageSet(origin, synset, query, tuple(by_name))
    rng = np.random.default_rng(seeds(project.seed, "tasks", origin))
    return [contrast_task(project, one, by_name, split) for one in pairs.make_tasks(image_set, rng)]


def contrast_task(project: Project, one: work.Task, pictures: Mapping[str, Picture], split: str) -> Task:
    """A sentence-writing task of the builder, to be shown."""
    shown = tuple((pictures[left], pictures[right]) for left, right in one.pairs)
    made = plain(kinds.Pairs(one.synset, shown, one.query))
    name = f"write:{one.task}"
    return Task(name, "contrast", made, pool=pool_of(project, name), origin=one.set, split=split)


def items_of(task: Task) -> list[str]:
    """The names of the items that a sentence for a writing task makes."""
    shown = kinds.payload(task)
    if task.kind == "sentence":
        return [PurePath(one.name).stem for one in shown.pictures]
    named = work.Task(task.id.removeprefix("write:"), task.origin, shown.synset, shown.query, ())
    return [work.item_id(named, place) for place in range(len(shown.pairs))]


def _after_contrast(project: Project, task: Task, answers: Sequence[Answer]) -> list[Task]:
    said = answers[0]
    return [
        _validate(task, item, said, tuple(two), place in said.value["selected"], 1)
        for place, (item, two) in enumerate(zip(items_of(task), kinds.payload(task).pairs, strict=True))
    ]


def _validate(task: Task, item: str, said: Answer, pictures: tuple[Picture, ...], meant: bool, needed: int) -> Task:
    shown = plain(kinds.Validate(said.value["sentence"], pictures))
    return Task(
        f"validate:{item}", "validate", shown, needed, expected={"verdict": meant}, once=item, author=said.worker,
        origin=task.origin, split=task.split,
    )  # fmt: skip


def judgements_of(project: Project, split: str) -> int:
    """How many people judge an item: one where it is for training, five otherwise (NLVR, section 5)."""
    return project.training_judgements if split == TRAIN else project.judgements


def _after_sentence(project: Project, task: Task, answers: Sequence[Answer]) -> list[Task]:
    needed = judgements_of(project, task.split)
    return [
        _validate(task, item, answers[0], (picture,), letter < 2, needed)
        for letter, (item, picture) in enumerate(zip(items_of(task), kinds.payload(task).pictures, strict=True))
    ]


def _after_validate(project: Project, task: Task, answers: Sequence[Answer]) -> list[Task]:
    """Four more judgements of a held-out pair that its first validator confirmed; gold, where all agree."""
    item, extra = task.key, task.id.startswith("extra:")
    meant = (task.expected or {}).get("verdict")
    more = project.judgements - 1
    if project.benchmark == "nlvr2" and not extra:
        if task.split == TRAIN or more < 1 or answers[0].value["verdict"] != meant:
            return []
        return [replace(task, id=f"extra:{item}", needed=more)]
    said = [one.value["verdict"] for one in answers]
    if len(said) + extra < GOLD_FROM or any(verdict != meant for verdict in said):
        return []
    made = replace(task, id=f"gold:{item}", needed=0, purpose="gold", origin="")
    return [made]


def _after_questions(project: Project, task: Task, answers: Sequence[Answer]) -> list[Task]:
    shown, said = kinds.payload(task), answers[0]
    out = []
    for number, one in enumerate(said.value["questions"]):
        parts = {name: tuple(one[name]) for name in ("question", "answer", "rationale")}
        made = plain(kinds.Accept(shown.picture, shown.objects, captions=shown.captions, **parts))
        name = question_id(task, number)
        needed = project.training_judgements
        out.append(Task(f"accept:{name}", "accept", made, needed, once=name, author=said.worker, origin=task.origin))
    return out


def question_id(task: Task, number: int) -> str:
    """The name of a question that was written for a task."""
    return f"{task.id.removeprefix('ask:')}-{number}"


_NEXT: dict[Kind, Callable[[Project, Task, Sequence[Answer]], list[Task]]] = {
    "prune": _after_prune,
    "sets": _after_sets,
    "sentence": _after_sentence,
    "contrast": _after_contrast,
    "validate": _after_validate,
    "questions": _after_questions,
}


def chain(project: Project) -> list[tuple[Kind, Kind, float]]:
    """What a finished task of a kind makes: kind, next kind, answers that are needed then. Where nothing is known yet
    of how many are discarded, all are taken to go on."""
    share = project.held_out
    if project.benchmark == "nlvr2":
        validate = project.training_judgements * 4 + share * 4 * max(project.judgements - 1, 0)
        return [("prune", "sets", 1), ("sets", "contrast", 2), ("contrast", "validate", validate)]
    if project.benchmark == "nlvr":
        each = (1 - share) * project.training_judgements + share * project.judgements
        return [("sentence", "validate", 4 * each)]
    if project.benchmark == "vcr":
        return [("questions", "accept", 2.0 * project.training_judgements)]
    return []


def shown(task: Task, order: Sequence[int]) -> dict[str, Any]:
    """A task's payload with NLVR's boxes in an order; others as they are."""
    if task.kind != "validate" or len(task.payload["pictures"]) != 1:
        return dict(task.payload)
    only = {**task.payload["pictures"][0], "order": list(order)}
    return {**task.payload, "pictures": [only]}
