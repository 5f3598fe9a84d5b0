"""What people wrote about photographs: questions, answers and rationales, with tags of objects.

One line of JSON for each question: `image` (the photograph's id or file name), `question`, `answer`, `rationale`, and
maybe `id`, `writer` and `movie`. A text is a token list as in the official files (`["Why", "is", [0], "sad", "?"]`) or
a sentence with tags by class and number (`Why is [person1] sad?`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from veridical.common.files import numbered_lines
from veridical.errors import UserError
from veridical.records import Panel, Ref, Text

_TAG = re.compile(r"\[([^\[\]]+?)\s*([0-9]+)\]")
_WORD = re.compile(r"[\w’'-]+|[^\w\s]")


@dataclass(frozen=True)
class Written:
    """A question with its right answer and rationale."""

    id: str
    image: str  # the photograph's id
    question: Text
    answer: Text
    rationale: Text
    writer: str | None = None
    movie: str | None = None
    says: str | None = None  # what the answer says, whatever its wording; None: its own words
    because: str | None = None
    kind: str | None = None  # of a generated question
    about: tuple[str, ...] = ()  # objects that answer and rationale are about, tagged or not


class _Line(msgspec.Struct, frozen=True):
    image: str
    question: str | list[str | list[int]]
    answer: str | list[str | list[int]]
    rationale: str | list[str | list[int]]
    id: str | None = None
    writer: str | None = None
    movie: str | None = None


def read_written(path: Path, panels: Mapping[str, Panel]) -> tuple[list[Written], dict[str, int]]:
    """The lines about photographs that are there, and how many were left out and why.

    `panels` are the photographs by id and by file name. A line that cannot be read is an error; one about a photograph
    that is not in the source, or was filtered out, is only counted.
    """
    out: list[Written] = []
    left: dict[str, int] = {}
    seen: set[str] = set()
    for number, one in numbered_lines(path, _Line, _EXAMPLE):
        panel = panels.get(one.image)
        if panel is None:
            left["photograph not there or filtered out"] = left.get("photograph not there or filtered out", 0) + 1
            continue
        name = one.id or f"q{number}"
        if name in seen:
            raise UserError(f"{path.name}, line {number}: the id {name!r} was used before.", "Give each line its own.")
        seen.add(name)
        where = f"{path.name}, line {number}"
        question = _text(one.question, panel, f"{where}, question")
        answer = _text(one.answer, panel, f"{where}, answer")
        rationale = _text(one.rationale, panel, f"{where}, rationale")
        out.append(Written(name, panel.id, question, answer, rationale, one.writer, one.movie))
    return out, left


_EXAMPLE = (
    'Each line is {"image": "photo.jpg", "question": "Why is [person1] sad?", "answer": "...", "rationale": "..."}; '
    "a text may also be a token list with tags as [0]."
)


def _text(value: str | Sequence[str | Sequence[int]], panel: Panel, where: str) -> Text:
    tokens: list[str | Ref] = []
    if isinstance(value, str):
        tokens = _tokens(value, panel, where)
    else:
        for token in value:
            tokens.append(token if isinstance(token, str) else _ref(token, panel, where))
    if not any(isinstance(t, Ref) or any(c.isalnum() for c in t) for t in tokens):
        raise UserError(f"{where}: there are no words.", "Write something, or leave the line out.")
    listed: list[Any] = [t if isinstance(t, str) else [int(o) for o in t.objects] for t in tokens]
    return Text(json.dumps(listed, ensure_ascii=False), tuple(tokens))


def _ref(numbers: Sequence[int], panel: Panel, where: str) -> Ref:
    for number in numbers:
        if not 0 <= number < len(panel.objects):
            raise UserError(
                f"{where}: tag {number} points at nothing; {panel.id} has {len(panel.objects)} objects.",
                "Tags count the objects of the photograph from 0.",
            )
    if not numbers:
        raise UserError(f"{where}: an empty tag.", "A tag names at least one object.")
    return Ref(tuple(str(number) for number in numbers))


def _tokens(sentence: str, panel: Panel, where: str) -> list[str | Ref]:
    """Words and tags of a sentence; `[person2]` is the second person of the photograph's objects."""
    by_class: dict[str, list[int]] = {}
    for k, one in enumerate(panel.objects):
        by_class.setdefault(one.category.lower(), []).append(k)
    out: list[str | Ref] = []
    place = 0
    for tag in _TAG.finditer(sentence):
        out += _WORD.findall(sentence[place : tag.start()])
        found = by_class.get(tag[1].strip().lower(), [])
        number = int(tag[2])
        if not 1 <= number <= len(found):
            raise UserError(
                f"{where}: {tag[0]} points at nothing; {panel.id} has {len(found)} of that class.",
                f"Its classes are: {', '.join(f'{name} ({len(k)})' for name, k in by_class.items()) or 'none'}.",
            )
        out.append(Ref((str(found[number - 1]),)))
        place = tag.end()
    return out + _WORD.findall(sentence[place:])
