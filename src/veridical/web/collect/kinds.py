"""What each kind of task shows, and what it takes: a payload, an answer, and what can be wrong with an answer.

Both are JSON of the shape of the dataclasses here. Whatever a worker's browser sends is checked against its task; what
is wrong with it is said in words for the worker, and only what the shape has is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from veridical.builders.nlvr2.sets import DUPLICATE, NO_INSTANCE, NO_PICTURE
from veridical.builders.vcr.written import check_texts
from veridical.common.characters import unseen
from veridical.records import Panel, SceneObject
from veridical.web.collect import rules
from veridical.web.collect.records import Kind, Picture, Tagged, Task

# NLVR2, section 3.1 of the draft
PRUNE_REASONS = (NO_INSTANCE, "artwork or collage", "inappropriate", NO_PICTURE)
FLAG_REASONS = (DUPLICATE, NO_INSTANCE, "artwork or collage", "inappropriate", NO_PICTURE, "cannot be told apart")
LIKELIHOODS = ("possible", "likely", "definitely")
LONGEST = 600  # characters of a sentence
Tokens = tuple[str | tuple[int, ...], ...]  # words, and tags: places of objects
Verdict = bool | Literal["nonsense"]


# --- what is shown ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tutorial:
    question: str
    options: tuple[str, ...]
    explanation: str = ""  # shown after the answer


@dataclass(frozen=True, slots=True)
class Guideline:
    sentence: str
    pairs: tuple[tuple[Picture, Picture], ...]
    selected: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Prune:
    synset: str
    query: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class Sets:
    synset: str
    pictures: tuple[Picture, ...]
    query: str = ""


@dataclass(frozen=True, slots=True)
class Drawings:
    pictures: tuple[Picture, ...]  # A, B, C, D


@dataclass(frozen=True, slots=True)
class Pairs:
    synset: str
    pairs: tuple[tuple[Picture, Picture], ...]
    query: str = ""


@dataclass(frozen=True, slots=True)
class Validate:
    sentence: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class Asking:
    picture: Picture
    objects: tuple[Tagged, ...]
    captions: tuple[str, ...] = ()
    least: int = 1
    most: int = 3


@dataclass(frozen=True, slots=True)
class Accept:
    picture: Picture
    objects: tuple[Tagged, ...]
    question: Tokens
    answer: Tokens
    rationale: Tokens
    captions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choose:
    pictures: tuple[Picture, ...]
    candidates: tuple[Any, ...]  # tokens or pictures
    stage: Literal["answer", "rationale", "matrix"]
    objects: tuple[Tagged, ...] = ()
    query: Tokens = ()
    given: Tokens = ()  # the answer that a rationale is for


# --- what is answered ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    choice: int | None = None
    skip: bool = False


@dataclass(frozen=True, slots=True)
class Follows:
    follows: bool


@dataclass(frozen=True, slots=True)
class Removed:
    removed: dict[str, str] = field(default_factory=dict)  # picture -> reason


@dataclass(frozen=True, slots=True)
class Marked:
    duplicates: tuple[str, ...] = ()
    dull: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    sentence: str


@dataclass(frozen=True, slots=True)
class Contrasted:
    selected: tuple[int, ...] = ()
    sentence: str = ""
    flag: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Question:
    question: Tokens
    answer: Tokens
    rationale: Tokens
    likelihood: str


@dataclass(frozen=True, slots=True)
class Asked:
    questions: tuple[Question, ...]


SHAPES: dict[Kind, tuple[type[Any], type[Any]]] = {  # payload, answer
    "tutorial": (Tutorial, Chosen),
    "guideline": (Guideline, Follows),
    "prune": (Prune, Removed),
    "sets": (Sets, Marked),
    "sentence": (Drawings, Written),
    "contrast": (Pairs, Contrasted),
    "validate": (Validate, Judged),
    "questions": (Asking, Asked),
    "accept": (Accept, Judged),
    "choose": (Choose, Chosen),
}
RULES: dict[str, str] = {"sentence": "nlvr", "contrast": "nlvr2", "questions": "vcr"}  # kind -> file of rules


def payload(task: Task) -> Any:
    """What a task shows, as the dataclass of its kind."""
    return msgspec.convert(dict(task.payload), SHAPES[task.kind][0])


def blank(task: Task) -> dict[str, Any]:
    """The payload of a task that was made of somebody's words, without them."""
    words: dict[str, dict[str, Any]] = {
        "validate": {"sentence": ""},
        "accept": {"question": [], "answer": [], "rationale": []},
    }
    return {**task.payload, **words.get(task.kind, {})}


def plain(shown: Any) -> dict[str, Any]:
    """A payload or an answer as JSON.

    >>> plain(Follows(True))
    {'follows': True}
    """
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(shown))  # as a database gives it back
    return made


def read(kind: Kind, value: Any) -> Any:
    """An answer as the dataclass of its kind; `msgspec.ValidationError` where it has another shape."""
    return msgspec.convert(value, SHAPES[kind][1], strict=True)


def normal(task: Task, value: Any) -> dict[str, Any]:
    """An answer that was checked, without anything that its shape has not; sentences trimmed."""
    made = plain(read(task.kind, value))
    if "sentence" in made:
        made["sentence"] = " ".join(made["sentence"].split())
    if task.kind == "contrast":
        made["selected"] = sorted(made["selected"])
    return made


def check(task: Task, value: Any) -> list[str]:
    """What is wrong with an answer, in words for whoever gave it; nothing where it fits its task."""
    try:
        said = read(task.kind, value)
    except (msgspec.ValidationError, RecursionError):
        return ["The answer did not arrive as it should. Load the page again."]
    return _CHECKS[task.kind](payload(task), said)


def warnings(task: Task, value: Mapping[str, Any]) -> tuple[str, ...]:
    """The guidelines that an answer seems to break without being refused for it."""
    if task.kind not in RULES or not value.get("sentence", "questions" in value):
        return ()
    said = [value["sentence"]] if "sentence" in value else _phrases(value["questions"])
    found = [one.rule for text in said for one in rules.check(rules.load(RULES[task.kind]), text)]
    return tuple(dict.fromkeys(found))


def is_right(task: Task, value: Mapping[str, Any]) -> bool | None:
    """Whether an answer is the expected one; None where none is expected."""
    if task.expected is None:
        return None
    if task.kind == "prune":  # what surely does not belong there is gone, and not just everything
        removed = value["removed"]
        return set(task.expected["removed"]) <= set(removed) and 2 * len(removed) <= len(task.payload["pictures"])
    return all(value.get(name) == wanted for name, wanted in task.expected.items())


# --- what can be wrong -----------------------------------------------------------------------------------------------


def _choice(shown: Tutorial | Choose, said: Chosen) -> list[str]:
    many = len(shown.options if isinstance(shown, Tutorial) else shown.candidates)
    if said.skip:
        return ["This question cannot be skipped."] if isinstance(shown, Tutorial) or said.choice is not None else []
    if said.choice is None or not 0 <= said.choice < many:
        return [f"Choose one of the {many} answers."]
    return []


def _nothing(shown: Any, said: Any) -> list[str]:
    return []


def _removed(shown: Prune, said: Removed) -> list[str]:
    known = {one.name for one in shown.pictures}
    out = [f"Give one of the reasons for each picture, not {reason!r}." for reason in said.removed.values()
           if reason not in PRUNE_REASONS]  # fmt: skip
    if not said.removed.keys() <= known:
        out.append("A picture that is not shown was removed. Load the page again.")
    return out


def _marked(shown: Sets, said: Marked) -> list[str]:
    known = {one.name for one in shown.pictures}
    out = []
    if not {*said.duplicates, *said.dull} <= known:
        out.append("A picture that is not shown was marked. Load the page again.")
    if set(said.duplicates) & set(said.dull):
        out.append("A picture is marked as a duplicate and as not interesting: mark it once.")
    if len(set(said.duplicates)) == len(known) and known:
        out.append("All pictures are marked as duplicates: leave the one that the others repeat.")
    return out


def _sentence(text: str, name: str) -> list[str]:
    bad = unseen(text.strip())
    if bad:
        return [f"The sentence has the character {bad}, which nobody can see: type it again."]
    if len(text) > LONGEST:
        return [f"The sentence has {len(text):,} characters: write up to {LONGEST}."]
    return [one.words for one in rules.check(rules.load(name), text) if one.refuse]


def _written(shown: Drawings, said: Written) -> list[str]:
    return _sentence(said.sentence, RULES["sentence"])


def _contrasted(shown: Pairs, said: Contrasted) -> list[str]:
    if said.flag:
        out = [] if said.flag in FLAG_REASONS else ["Give one of the reasons for flagging these pictures."]
        return out + (["Either flag the pictures or write a sentence."] if said.sentence or said.selected else [])
    many = len(shown.pairs)
    out = [] if len(set(said.selected)) == len(said.selected) == 2 else ["Select two pairs."]
    if not set(said.selected) <= set(range(many)):
        out.append("A pair that is not shown was selected. Load the page again.")
    return out + _sentence(said.sentence, RULES["contrast"])


def _asked(shown: Asking, said: Asked) -> list[str]:
    if not shown.least <= len(said.questions) <= shown.most:
        return [f"Write {shown.least} to {shown.most} questions."]
    panel = Panel("photograph", objects=tuple(_object(k, one) for k, one in enumerate(shown.objects)))
    out = []
    texts = set()
    for number, one in enumerate(said.questions, 1):
        parts = {name: getattr(one, name) for name in ("question", "answer", "rationale")}
        listed = {name: [t if isinstance(t, str) else list(t) for t in tokens] for name, tokens in parts.items()}
        wrong = [f"{name}: nobody can see {unseen(t)}" for name, tokens in listed.items() for t in tokens
                 if isinstance(t, str) and unseen(t)]  # fmt: skip
        wrong += [f"{name}: it is too long" for name, tokens in listed.items() if _length(tokens) > LONGEST]
        wrong = wrong or check_texts(listed, panel)[1]
        wrong += [] if one.likelihood in LIKELIHOODS else ["say how likely the answer is"]
        refused = (rules.check(rules.load(RULES["questions"]), text) for text in _phrases([plain(one)]))
        wrong += [broken.words for found in refused for broken in found if broken.refuse]
        out += [f"Question {number}, {problem}." for problem in dict.fromkeys(w.rstrip(".") for w in wrong)]
        texts.add(msgspec.json.encode(one.question).lower())
    if len(texts) < len(said.questions):
        out.append("Two questions are the same.")
    return out


def _length(tokens: Sequence[Any]) -> int:
    return sum(len(t) + 1 if isinstance(t, str) else len(t) + 8 for t in tokens)


def _object(place: int, one: Tagged) -> SceneObject:
    return SceneObject(str(place), one.name.rstrip("0123456789") or one.name)


def _phrases(questions: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of questions without their tags, to look for words in."""
    return [
        " ".join(t if isinstance(t, str) else "[tag]" for t in one[name])
        for one in questions
        for name in ("question", "answer", "rationale")
    ]


_CHECKS: dict[Kind, Callable[[Any, Any], list[str]]] = {
    "tutorial": _choice,
    "guideline": _nothing,
    "prune": _removed,
    "sets": _marked,
    "sentence": _written,
    "contrast": _contrasted,
    "validate": _nothing,
    "questions": _asked,
    "accept": _nothing,
    "choose": _choice,
}
