"""Small projects to try things on: tasks with pictures that nobody looks at."""

from __future__ import annotations

from typing import Any

from veridical.web.collect import kinds
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Offer, Picture, Project, Role, Task

PAY = {"prune": 40, "sets": 50, "contrast": 200, "sentence": 300, "validate": 25, "questions": 500, "accept": 30}
SENTENCE = "There are more dogs on the left than on the right."


def pictures(*names: str) -> tuple[Picture, ...]:
    return tuple(Picture(f"{name}.png", 100, 80) for name in names)


def prune_task(origin: str, size: int = 12, split: str = "train") -> Task:
    shown = kinds.Prune("dog", "two dogs", pictures(*(f"{origin}-{k}" for k in range(size))))
    return Task(f"prune:{origin}", "prune", plain(shown), origin=origin, split=split)


def contrast_task(origin: str, split: str = "train", number: int = 0, pool: int = 0) -> Task:
    names = pictures(*(f"{origin}-{k}" for k in range(8)))
    shown = kinds.Pairs("dog", tuple((names[k], names[k + 1]) for k in range(0, 8, 2)), "two dogs")
    return Task(f"write:{origin}-{number}", "contrast", plain(shown), origin=origin, split=split, pool=pool)


def validate_task(item: str, needed: int = 1, author: str = "", meant: bool = True, **more: Any) -> Task:
    shown = plain(kinds.Validate(SENTENCE, pictures(f"{item}-l", f"{item}-r")))
    return Task(
        f"validate:{item}", "validate", shown, needed, expected={"verdict": meant}, once=item, author=author, **more
    )


def project(**fields: Any) -> Project:
    made: dict[str, Any] = {
        "name": "dogs",
        "benchmark": "nlvr2",
        "title": "Dogs",
        "roles": (Role("pruner", ("prune", "sets")), Role("writer", ("contrast",)), Role("validator", ("validate",))),
        "pay": PAY,
        "gold_every": 0,
    }
    return Project(**{**made, **fields})


def answer(offer: Offer, *, verdict: Any = True, selected: tuple[int, int] = (0, 1)) -> dict[str, Any]:
    """An answer that fits a task."""
    answers: dict[str, dict[str, Any]] = {
        "tutorial": {"choice": 0},
        "guideline": {"follows": True},
        "prune": {"removed": {}},
        "sets": {},
        "contrast": {"selected": list(selected), "sentence": SENTENCE},
        "sentence": {"sentence": "There is a tower with a yellow base"},
        "validate": {"verdict": verdict},
        "accept": {"verdict": verdict},
        "choose": {"choice": 0},
    }
    return answers[offer.task.kind]
