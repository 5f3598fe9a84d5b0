"""What people wrote about photographs, checked line by line, and the rows that are matched.

Questions, answers and rationales have tags of objects. They come in lines of JSON: `image` (the photograph's id or
file name), `question`, `answer`, `rationale`, and maybe `id`, `writer` and `movie`; `build vcr --until sheets` writes a
form. A text is a token list as in the official files (`["Why", "is", [0], "sad", "?"]`) or a sentence with tags by
class and number (`Why is [person1] sad?`). All that is wrong with a file is said at once.

A tag of a class that hardly any photograph of the fold shows cannot be re-pointed anywhere, so the response would be no
candidate for any question; such a tag is written out as words, and the person beside it stays a tag.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from veridical.builders.nlvr2.work import Verdict
from veridical.common.arrays import Ints
from veridical.common.files import BadLine, each_line, read_text
from veridical.errors import UserError
from veridical.language.english import PEOPLE, plain_names
from veridical.language.phenomena.tagger import INFERENCES, inferences
from veridical.matching.items import needs_and_have, response, tag_class, tagged
from veridical.matching.questions import AnsweredQuestion
from veridical.records import Panel, Pruned, Ref, Text

_TAG = re.compile(r"\[([^\[\]]+?)\s*([0-9]+)\]")
_WORD = re.compile(r"[\w’'-]+|[^\w\s]")
_EXAMPLE = (
    'Each line is {"image": "photo.jpg", "question": "Why is [person1] sad?", "answer": "...", "rationale": "..."}; '
    "a text may also be a token list with tags as [0]."
)
LEAST_FITTING = 12  # questions of a fold whose photographs show what a response tags
LENGTHS = {"question": (3, 60), "answer": (1, 60), "rationale": (3, 90)}  # words and tags, at least and at most
MOST_ASKED = 3  # questions about a photograph (VCR, section 3)
# words that answer nothing by themselves
_EMPTY = frozenset(
    word
    for line in (
        "a an the is are was were be been being am do does did has have had will would can could may might to of in on",
        "at by for from with and or that this these those it its he she they his her their him them there because so",
    )
    for word in line.split()
)
REJECTED, NONSENSE, NOT_JUDGED = "people reject its answer or rationale", "reported as nonsense", "not judged"


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
    asks: str | None = None  # of a generated question: its inference, count or relation
    kin: str | None = None  # of a generated question: the four of one name are each other's wrong choices
    likelihood: str | None = None  # of the answer, as its writer says


class _WrittenLine(msgspec.Struct, frozen=True):
    image: str
    question: str | list[str | list[int]]
    answer: str | list[str | list[int]]
    rationale: str | list[str | list[int]]
    id: str | None = None
    writer: str | None = None
    movie: str | None = None
    likelihood: str | None = None

    @property
    def parts(self) -> dict[str, str | list[str | list[int]]]:
        return {"question": self.question, "answer": self.answer, "rationale": self.rationale}


def read_written(path: Path, panels: Mapping[str, Panel]) -> tuple[list[Written], dict[str, int]]:
    """The lines about photographs that are there, and how many were left out and why.

    `panels` are the photographs by id and by file name. Lines with anything wrong are an error that names them all; one
    about a photograph that is not in the source, or was filtered out, is only counted, and an empty form is nothing.
    """
    out: list[Written] = []
    problems: list[str] = []
    left = Counter[str]()
    asked: dict[str, list[int]] = defaultdict(list)
    seen: set[str] = set()
    for number, one in each_line(read_text(path, "Give a file of JSON lines."), _WrittenLine):
        if isinstance(one, BadLine):
            problems.append(f"line {number}: {one}")
            continue
        if not any(one.parts.values()):
            continue
        panel = panels.get(one.image)
        if panel is None:
            left["photograph not there or filtered out"] += 1
            continue
        name = one.id or f"q{number}"
        if name in seen:
            problems.append(f"line {number}: the id {name!r} was used before")
        seen.add(name)
        asked[panel.id].append(number)
        texts, wrong = check_texts(one.parts, panel)
        problems += [f"line {number}, {problem}" for problem in wrong]
        if texts is not None:
            question, answer, rationale = texts
            out.append(
                Written(
                    name,
                    panel.id,
                    question,
                    answer,
                    rationale,
                    one.writer or None,
                    one.movie,
                    likelihood=one.likelihood,
                )
            )
    for image, numbers in asked.items():
        if len(numbers) > MOST_ASKED:
            problems.append(f"line {numbers[MOST_ASKED]}: {len(numbers)} questions about {image}; {MOST_ASKED} at most")
    if problems:
        raise _all_of(path, problems)
    return out, dict(left)


def _all_of(path: Path, problems: Sequence[str]) -> UserError:
    if len(problems) == 1:
        return UserError(f"{path.name}, {problems[0]}.", _EXAMPLE)
    return UserError(f"{path.name} has {len(problems):,} problems:", _EXAMPLE, [f"{one}." for one in problems])


def check_texts(
    parts: Mapping[str, str | list[str | list[int]]], panel: Panel
) -> tuple[tuple[Text, Text, Text] | None, list[str]]:
    """A question, its answer and its rationale as texts, or what is wrong with them."""
    texts: list[Text] = []
    wrong: list[str] = []
    for part, value in parts.items():
        try:
            texts.append(_text(value, panel))
        except ValueError as error:
            wrong.append(f"{part}: {error}")
            continue
        size, (least, most) = _size(texts[-1]), LENGTHS[part]
        if not least <= size <= most:
            wrong.append(f"{part}: {size} words; expected {least} to {most}")
    if wrong:
        return None, wrong
    question, answer, rationale = texts
    if says_no_more(answer, question):
        wrong.append("answer: it stands in the question already")
    if says_no_more(rationale, answer):
        wrong.append("rationale: it says no more than the answer")
    return (None if wrong else (question, answer, rationale)), wrong


def _size(text: Text) -> int:
    return sum(not isinstance(t, str) or any(c.isalnum() for c in t) for t in text.tokens)


def says_no_more(text: Text, than: Text) -> bool:
    """Whether every word of a text that means something, and every tag, stands in the other one.

    >>> asked = Text("", ("Is", Ref(("0",)), "sad", "or", "glad", "?"))
    >>> says_no_more(Text("", (Ref(("0",)), "is", "glad", ".")), asked), says_no_more(Text("", ("Yes", ".")), asked)
    (True, False)
    """
    words, known = (
        {t if isinstance(t, Ref) else t.lower() for t in one.tokens if isinstance(t, Ref) or any(map(str.isalnum, t))}
        for one in (text, than)
    )
    return words - _EMPTY <= known


def judged(path: Path, written: Sequence[Written]) -> tuple[list[Written], list[Pruned], dict[str, int]]:
    """Those that people let pass: more say true than false, and nobody nonsense; what is left out, and the verdicts.

    Lines are `{"item": "q1", "worker": "w5", "verdict": true}`: the question makes sense, its answer is right, and the
    rationale says why; false, nonsense or skip otherwise.
    """
    known = {one.id for one in written}
    said: dict[str, Counter[str]] = defaultdict(Counter)
    problems: list[str] = []
    seen: set[tuple[str, str]] = set()
    for number, line in each_line(read_text(path, "Give a file of JSON lines."), Verdict):
        if isinstance(line, BadLine):
            problems.append(f"line {number}: {line}")
        elif line.item not in known:
            problems.append(f"line {number}: there is no question {line.item!r}")
        elif line.verdict not in (True, False, "nonsense", "skip"):
            problems.append(f"line {number}: the verdict is {line.verdict!r}; expected true, false, nonsense or skip")
        elif (line.item, line.worker) in seen:
            problems.append(f"line {number}: a second judgement on {line.item} by {line.worker}")
        else:
            seen.add((line.item, line.worker))
            said[line.item][str(line.verdict).lower()] += 1
    if problems:
        raise _all_of(path, problems)
    reasons = {one.id: _rejection(said[one.id]) for one in written}
    kept = [one for one in written if not reasons[one.id]]
    if not kept:
        raise UserError(f"{path.name} lets no question pass.", f"Reasons: {dict(Counter(reasons.values()))}.")
    left = [Pruned(name, reason, "judgements") for name, reason in reasons.items() if reason]
    return kept, left, dict(sum(said.values(), Counter[str]()))


def _rejection(said: Counter[str]) -> str:
    """Why people do not let a question pass; nothing where they do."""
    if said["nonsense"]:
        return NONSENSE
    if not said["true"] and not said["false"]:
        return NOT_JUDGED
    return "" if said["true"] > said["false"] else REJECTED


def _text(value: str | Sequence[str | Sequence[int]], panel: Panel) -> Text:
    if isinstance(value, str):
        tokens = _tokens(value, panel)
    else:
        tokens = [token if isinstance(token, str) else _ref(token, panel) for token in value]
    if not any(isinstance(t, Ref) or any(c.isalnum() for c in t) for t in tokens):
        raise ValueError("there are no words")
    return text_of(tokens)


def text_of(tokens: Sequence[str | Ref]) -> Text:
    """Words and tags in the form of the official files."""
    listed = [t if isinstance(t, str) else [int(o) for o in t.objects] for t in tokens]
    return Text(json.dumps(listed, ensure_ascii=False), tuple(tokens))


def _ref(numbers: Sequence[int], panel: Panel) -> Ref:
    for number in numbers:
        if not 0 <= number < len(panel.objects):
            raise ValueError(f"tag {number} points at nothing; {panel.id} has {len(panel.objects)} objects, from 0")
    if not numbers:
        raise ValueError("an empty tag")
    return Ref(tuple(str(number) for number in numbers))


def _tokens(sentence: str, panel: Panel) -> list[str | Ref]:
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
            known = ", ".join(f"{name} ({len(k)})" for name, k in by_class.items()) or "none"
            raise ValueError(f"{tag[0]} points at nothing; {panel.id} has {len(found)} of that class, of all: {known}")
        out.append(Ref((str(found[number - 1]),)))
        place = tag.end()
    return out + _WORD.findall(sentence[place:])


def asked(written: Sequence[Written], panels: Mapping[str, Panel], folds: Mapping[str, str]) -> list[AnsweredQuestion]:
    """Rows to match: `folds` says the fold of each photograph."""
    out = []
    for one in written:
        panel = panels[one.image]
        found = (one.asks,) if one.asks else inferences(one.question.words(plain_names([panel])))
        named = tuple(("inference", name) for name in found if name in INFERENCES)
        tags = (*named, *((("question", one.asks),) if one.asks else ()))
        tags += (("likelihood", one.likelihood),) if one.likelihood else ()
        origins = (one.movie,) if one.movie else (one.image,)
        out.append(
            AnsweredQuestion(
                one.id, one.question, one.answer, one.rationale, origins, folds[one.image], panel, tags, (panel.id,),
                one.writer,
            )
        )  # fmt: skip
    return out


def kin_of(written: Sequence[Written]) -> Ints:
    """The other rows of each row's kin: (3, N), the wrong choices of generated questions."""
    rows: dict[str | None, list[int]] = defaultdict(list)
    for row, one in enumerate(written):
        rows[one.kin].append(row)
    return np.array([[k for k in rows[one.kin] if k != row] for row, one in enumerate(written)], np.int64).T


def write_out_rare(rows: Sequence[AnsweredQuestion], stage: str) -> tuple[list[AnsweredQuestion], int]:
    """Responses of a stage (answer, rationale) with tags that cannot be re-pointed written out, and how many."""
    out = list(rows)
    changed = 0
    for fold in sorted({row.fold or "" for row in rows}):
        here = [k for k, row in enumerate(rows) if (row.fold or "") == fold]
        panels = [_panel(rows[k]) for k in here]
        needs, have, _ = needs_and_have([response(rows[k], stage) for k in here], panels)
        patterns, code = np.unique(needs, axis=0, return_inverse=True)
        fitting = np.array([int((have >= pattern).all(1).sum()) for pattern in patterns])
        people = np.array([sum(o.category.lower() in PEOPLE for o in panel.objects) for panel in panels])
        for k, number in zip(here, code.reshape(-1), strict=True):
            if fitting[number] < LEAST_FITTING:
                changed += 1
                out[k] = _written_out(rows[k], stage, people)
    return out, changed


def _written_out(row: AnsweredQuestion, stage: str, people: np.ndarray) -> AnsweredQuestion:
    """A row whose response has words for tags; people stay tags where enough photographs show as many `people`."""
    text, objects = response(row, stage), _panel(row).objects
    persons = {o.id for o in objects if o.category.lower() in PEOPLE}
    fit = (people >= len(persons.intersection(tagged(text)))).sum() >= LEAST_FITTING
    names = {o.id: tag_class(o.category) for o in objects}
    tokens: list[str | Ref] = []
    for token in text.tokens:
        if isinstance(token, str) or (fit and persons.issuperset(token.objects)):
            tokens.append(token)
        else:
            tokens += " and ".join(f"the {names[o]}" for o in token.objects).split()
    new = text_of(tokens)
    return replace(row, answer=new) if stage == "answer" else replace(row, rationale=new)


def _panel(row: AnsweredQuestion) -> Panel:
    if row.panel is None:
        raise ValueError(f"{row.id} has no photograph")
    return row.panel
