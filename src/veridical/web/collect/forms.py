"""Answers as forms send them: plain fields, so that every task can be done without a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import FormData

from veridical.web.collect.kinds import payload
from veridical.web.collect.records import Kind, Task
from veridical.web.collect.tagging import tokens_of
from veridical.web.visitors import field

PARTS = ("question", "answer", "rationale", "likelihood")


def answer_of(task: Task, form: FormData) -> dict[str, Any]:
    """What a form says, as the JSON of an answer to this task; whether it fits is checked later."""
    return _READERS[task.kind](payload(task), form)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 4 else None


def _chosen(shown: Any, form: FormData) -> dict[str, Any]:
    if field(form, "skip"):
        return {"skip": True}
    return {"choice": _number(field(form, "choice"))}


def _follows(shown: Any, form: FormData) -> dict[str, Any]:
    return {"follows": {"yes": True, "no": False}.get(field(form, "follows"))}


def _removed(shown: Any, form: FormData) -> dict[str, Any]:
    said = {one.name: field(form, f"reason-{place}") for place, one in enumerate(shown.pictures)}
    return {"removed": {name: reason for name, reason in said.items() if reason}}


def _marked(shown: Any, form: FormData) -> dict[str, Any]:
    said = {one.name: field(form, f"mark-{place}") for place, one in enumerate(shown.pictures)}
    named = {"duplicates": "duplicate", "dull": "dull"}
    return {out: [name for name, mark in said.items() if mark == wanted] for out, wanted in named.items()}


def _written(shown: Any, form: FormData) -> dict[str, Any]:
    return {"sentence": field(form, "sentence")}


def _contrasted(shown: Any, form: FormData) -> dict[str, Any]:
    if field(form, "flagged"):
        return {"flag": field(form, "flag") or "?"}
    chosen = [_number(one) for one in form.getlist("pair") if isinstance(one, str)]
    return {"selected": [one for one in chosen if one is not None], "sentence": field(form, "sentence")}


def _judged(shown: Any, form: FormData) -> dict[str, Any]:
    said = field(form, "verdict")
    return {"verdict": {"true": True, "false": False}.get(said, said)}


def _asked(shown: Any, form: FormData) -> dict[str, Any]:
    out = []
    for number in range(1, shown.most + 1):
        said = {part: field(form, f"{part}-{number}").strip() for part in PARTS}
        if number == 1 or any(said[part] for part in PARTS[:3]):
            texts = {part: tokens_of(said[part], shown.objects, f"Question {number}, {part}") for part in PARTS[:3]}
            out.append({**texts, "likelihood": said["likelihood"]})
    return {"questions": out}


_READERS: Mapping[Kind, Callable[[Any, FormData], dict[str, Any]]] = {
    "tutorial": _chosen,
    "guideline": _follows,
    "prune": _removed,
    "sets": _marked,
    "sentence": _written,
    "contrast": _contrasted,
    "validate": _judged,
    "questions": _asked,
    "accept": _judged,
    "choose": _chosen,
}
