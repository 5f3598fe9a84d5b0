"""What people wrote about photographs, and what is matched: questions, answers and rationales, with tags of objects.

One line of JSON for each question: `image` (the photograph's id or file name), `question`, `answer`, `rationale`, and
maybe `id`, `writer` and `movie`. A text is a token list as in the official files (`["Why", "is", [0], "sad", "?"]`) or
a sentence with tags by class and number (`Why is [person1] sad?`).

A tag of a class that hardly any photograph of the fold shows cannot be re-pointed anywhere, so the response would be no
candidate for any question; such a tag is written out as words, and the person beside it stays a tag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from veridical.benchmark.splits import blocks
from veridical.common.files import numbered_lines
from veridical.errors import UserError
from veridical.language.english import PEOPLE, plain_names
from veridical.language.phenomena.tagger import inferences
from veridical.matching.data.questions import AnsweredQuestion
from veridical.matching.data.tags import needs_and_have, tag_class
from veridical.records import Panel, Ref, Text

_TAG = re.compile(r"\[([^\[\]]+?)\s*([0-9]+)\]")
_WORD = re.compile(r"[\w’'-]+|[^\w\s]")
_EXAMPLE = (
    'Each line is {"image": "photo.jpg", "question": "Why is [person1] sad?", "answer": "...", "rationale": "..."}; '
    "a text may also be a token list with tags as [0]."
)
LEAST_FITTING = 12  # questions of a fold whose photographs show what a response tags


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
    asks: str | None = None  # of a generated question: why, what, how many ...
    about: tuple[str, ...] = ()  # objects that answer and rationale are about, tagged or not


class _WrittenLine(msgspec.Struct, frozen=True):
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
    for number, one in numbered_lines(path, _WrittenLine, _EXAMPLE):
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


def _text(value: str | Sequence[str | Sequence[int]], panel: Panel, where: str) -> Text:
    tokens: list[str | Ref] = []
    if isinstance(value, str):
        tokens = _tokens(value, panel, where)
    else:
        for token in value:
            tokens.append(token if isinstance(token, str) else _ref(token, panel, where))
    if not any(isinstance(t, Ref) or any(c.isalnum() for c in t) for t in tokens):
        raise UserError(f"{where}: there are no words.", "Write something, or leave the line out.")
    return text_of(tokens)


def text_of(tokens: Sequence[str | Ref]) -> Text:
    """Words and tags in the form of the official files."""
    listed = [t if isinstance(t, str) else [int(o) for o in t.objects] for t in tokens]
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


def asked(written: Sequence[Written], panels: Mapping[str, Panel], folds: Mapping[str, str]) -> list[AnsweredQuestion]:
    """Rows to match: `folds` says the fold of each photograph."""
    out = []
    for one in written:
        panel = panels[one.image]
        found = [("inference", name) for name in inferences(one.question.words(plain_names([panel])))]
        tags = (*found, *((("question", one.asks),) if one.asks else ()))
        origins = (one.movie,) if one.movie else (one.image,)
        out.append(
            AnsweredQuestion(
                one.id, one.question, one.answer, one.rationale, origins, folds[one.image], panel, tags, (panel.id,),
                one.writer,
            )
        )  # fmt: skip
    return out


def same_sayings(texts: Sequence[str], sayings: Sequence[str | None]) -> np.ndarray:
    """Numbers that are equal where two responses have one text, or say the same in other words."""
    return blocks([[f"text {t}", *([f"says {s}"] if s else [])] for t, s in zip(texts, sayings, strict=True)])


def needed(
    texts: Sequence[Text], about: Sequence[Sequence[str]], panels: Sequence[Panel]
) -> tuple[np.ndarray, np.ndarray]:
    """What each response needs and each photograph has, in objects per class (N, K): what is tagged or spoken of."""
    spoken = [
        Text("", (*text.tokens, *((Ref(tuple(objects)),) if objects else ())))
        for text, objects in zip(texts, about, strict=True)
    ]
    needs, have, _ = needs_and_have(spoken, panels)
    return needs, have


def write_out_rare(rows: Sequence[AnsweredQuestion], stage: str) -> tuple[list[AnsweredQuestion], int]:
    """Responses of a stage (answer, rationale) with tags that cannot be re-pointed written out, and how many."""
    out = list(rows)
    changed = 0
    for fold in sorted({row.fold or "" for row in rows}):
        here = [k for k, row in enumerate(rows) if (row.fold or "") == fold]
        texts = [_response(rows[k], stage) for k in here]
        panels = [_panel(rows[k]) for k in here]
        needs, have, _ = needs_and_have(texts, panels)
        patterns, code = np.unique(needs, axis=0, return_inverse=True)
        fitting = np.array([int((have >= pattern).all(1).sum()) for pattern in patterns])
        for k, number in zip(here, code.reshape(-1), strict=True):
            if fitting[number] >= LEAST_FITTING:
                continue
            changed += 1
            out[k] = _replaced(rows[k], stage, people=_people_fit(rows[k], stage, [rows[i] for i in here]))
    return out, changed


def _people_fit(row: AnsweredQuestion, stage: str, others: Sequence[AnsweredQuestion]) -> bool:
    """Whether enough photographs show as many people as the response tags."""
    wanted = len({o for o in _tags(_response(row, stage)) if _is_person(_panel(row), o)})
    shown = sum(sum(o.category.lower() in PEOPLE for o in _panel(other).objects) >= wanted for other in others)
    return shown >= LEAST_FITTING


def _replaced(row: AnsweredQuestion, stage: str, people: bool) -> AnsweredQuestion:
    text, panel = _response(row, stage), _panel(row)
    tokens: list[str | Ref] = []
    for token in text.tokens:
        if isinstance(token, str) or (people and all(_is_person(panel, o) for o in token.objects)):
            tokens.append(token)
            continue
        names = {o.id: tag_class(o.category) for o in panel.objects}
        tokens += " and ".join(f"the {names[o]}" for o in token.objects).split()
    new = text_of(tokens)
    return replace(row, answer=new) if stage == "answer" else replace(row, rationale=new)


def _tags(text: Text) -> list[str]:
    return [o for token in text.tokens if isinstance(token, Ref) for o in token.objects]


def _is_person(panel: Panel, name: str) -> bool:
    return any(o.id == name and o.category.lower() in PEOPLE for o in panel.objects)


def _response(row: AnsweredQuestion, stage: str) -> Text:
    text = row.answer if stage == "answer" else row.rationale
    if text is None:
        raise ValueError(f"{row.id} has no {stage}")
    return text


def _panel(row: AnsweredQuestion) -> Panel:
    if row.panel is None:
        raise ValueError(f"{row.id} has no photograph")
    return row.panel
