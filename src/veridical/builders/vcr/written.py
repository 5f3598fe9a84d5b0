"""Photographs worth asking about, what people wrote about them, and the rows that are matched.

A photograph has at least three confident objects and is no close-up (VCR, section 3). Where people labelled some, a
classifier over what was detected (and an encoder's vectors, where one is named) decides which are interesting;
otherwise a rule does: several people, or a person among things, or things of several categories.

Questions, answers and rationales have tags of objects. They come in lines of JSON: `image` (the photograph's id or
file name), `question`, `answer`, `rationale`, and maybe `id`, `writer` and `movie`. A text is a token list as in the
official files (`["Why", "is", [0], "sad", "?"]`) or a sentence with tags by class and number (`Why is [person1] sad?`).

A tag of a class that hardly any photograph of the fold shows cannot be re-pointed anywhere, so the response would be no
candidate for any question; such a tag is written out as words, and the person beside it stays a tag.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np

from veridical.benchmark.splits import blocks
from veridical.builders.interest import LabelledPhotograph, learn_interest
from veridical.common.arrays import Doubles
from veridical.common.files import Json, numbered_lines, read_lines
from veridical.errors import UserError
from veridical.language.english import PEOPLE, plain_names
from veridical.language.phenomena.tagger import inferences
from veridical.matching.items import needs_and_have, response, tag_class, tagged
from veridical.matching.questions import AnsweredQuestion
from veridical.records import Panel, Pruned, Ref, SceneObject, Text
from veridical.sources import Photograph, Source

LEAST_OBJECTS = 3
CONFIDENT = 0.5  # of a detector; annotated objects have no score and are certain
CLOSE_UP = 0.8  # share of the picture that its largest object covers
RULE = "several people, a person among things, or three kinds of things; no close-up"
FEW, DULL = "fewer than three confident objects", "not interesting"
_TAG = re.compile(r"\[([^\[\]]+?)\s*([0-9]+)\]")
_WORD = re.compile(r"[\w’'-]+|[^\w\s]")
_EXAMPLE = (
    'Each line is {"image": "photo.jpg", "question": "Why is [person1] sad?", "answer": "...", "rationale": "..."}; '
    "a text may also be a token list with tags as [0]."
)
LEAST_FITTING = 12  # questions of a fold whose photographs show what a response tags


def confident(panel: Panel) -> tuple[SceneObject, ...]:
    """The objects that can be tagged: they have a box, and their detector was sure."""
    return tuple(o for o in panel.objects if o.box is not None and (o.score is None or o.score >= CONFIDENT))


def statistics(panel: Panel) -> list[float]:
    """What was detected, in numbers: objects, people, categories, the largest object, their spread, how sure it is."""
    objects = confident(panel)
    people = sum(o.category.lower() in PEOPLE for o in objects)
    categories = len({o.category for o in objects})
    area = float((panel.width or 1) * (panel.height or 1))
    boxes = np.array([o.box for o in objects], np.float64).reshape(-1, 4)
    shares = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]) / area
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2 / [panel.width or 1, panel.height or 1]
    spread = middle.std(0).sum() if len(middle) else 0.0
    sure = float(np.mean([1.0 if o.score is None else o.score for o in objects])) if objects else 0.0
    most = Counter(o.category for o in objects).most_common(1)
    return [
        np.log1p(len(objects)), np.log1p(people), np.log1p(categories), float(shares.max(initial=0.0)),
        float(shares.sum()), float(spread), sure, np.log1p(most[0][1] if most else 0),
    ]  # fmt: skip


def by_rule(panel: Panel) -> bool:
    """The rule for sources without labels."""
    objects = confident(panel)
    people = sum(o.category.lower() in PEOPLE for o in objects)
    categories = len({o.category for o in objects})
    return statistics(panel)[3] < CLOSE_UP and (people >= 2 or (people >= 1 and categories >= 2) or categories >= 3)


def read_interest(path: Path) -> dict[str, bool]:
    """Labels of people: lines `{"photograph": "...", "interesting": true}`."""
    lines = read_lines(path, LabelledPhotograph, 'Each line is {"photograph": "photo.jpg", "interesting": true}.')
    return {label.photograph: label.interesting for label in lines}


def choose(
    panels: Sequence[Panel],
    *,
    labels: Mapping[str, bool] | None = None,
    picture: Callable[[Panel], bytes] | None = None,
    encoder: str | None = None,
    seed: int = 0,
) -> tuple[list[Panel], list[Pruned], Json]:
    """The photographs to ask about, what was left out and why, and how that was decided."""
    enough = [panel for panel in panels if len(confident(panel)) >= LEAST_OBJECTS]
    left = [Pruned(p.id, FEW, "photographs") for p in panels if len(confident(p)) < LEAST_OBJECTS]
    if labels is None:
        said = {panel.id: by_rule(panel) for panel in enough}
        about: Json = {"interesting": "rule", "rule": RULE}
    else:
        table = np.array([statistics(panel) for panel in enough], np.float64).reshape(len(enough), -1)
        if encoder is not None and picture is not None:
            table = np.hstack([table, _vectors(encoder, (picture(panel) for panel in enough))])
        # people may have written file names
        ids = {name: panel.id for panel in enough for name in (panel.id, Path(panel.uri or panel.id).name)}
        named = {ids[name]: value for name, value in labels.items() if name in ids}
        said, facts = learn_interest(named, [panel.id for panel in enough], table, seed)
        about = {"interesting": "classifier", "encoder": encoder, **facts}
    kept = [panel for panel in enough if said[panel.id]]
    left += [Pruned(panel.id, DULL, "photographs") for panel in enough if not said[panel.id]]
    return kept, left, about


def _vectors(encoder: str, pictures: Iterable[bytes]) -> Doubles:
    from PIL import Image

    from veridical.encoders import open_encoder

    network = open_encoder(encoder)
    rows = []
    for data in pictures:
        with Image.open(BytesIO(data)) as image:
            rows.append(network.images(network.prepare(image.convert("RGB"))[None])[0])
    return np.array(rows, np.float64)


def by_name(source: Source) -> tuple[dict[str, Photograph], dict[str, Panel]]:
    """A source's photographs by id, and their panels by id and by file name; only confident objects can be tagged."""
    photographs: dict[str, Photograph] = {}
    panels: dict[str, Panel] = {}
    for one in source.photographs():
        seen = replace(one.panel, objects=tuple(replace(o, id=str(k)) for k, o in enumerate(confident(one.panel))))
        photographs[seen.id] = replace(one, panel=seen)
        panels[seen.id] = seen
        panels.setdefault(Path(seen.uri or seen.id).name, seen)
    return photographs, panels


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
    left = Counter[str]()
    seen: set[str] = set()
    for number, one in numbered_lines(path, _WrittenLine, _EXAMPLE):
        panel = panels.get(one.image)
        if panel is None:
            left["photograph not there or filtered out"] += 1
            continue
        name, where = one.id or f"q{number}", f"{path.name}, line {number}"
        if name in seen:
            raise UserError(f"{where}: the id {name!r} was used before.", "Give each line its own.")
        seen.add(name)
        parts = {"question": one.question, "answer": one.answer, "rationale": one.rationale}
        question, answer, rationale = (_text(value, panel, f"{where}, {part}") for part, value in parts.items())
        out.append(Written(name, panel.id, question, answer, rationale, one.writer, one.movie))
    return out, dict(left)


def _text(value: str | Sequence[str | Sequence[int]], panel: Panel, where: str) -> Text:
    if isinstance(value, str):
        tokens = _tokens(value, panel, where)
    else:
        tokens = [token if isinstance(token, str) else _ref(token, panel, where) for token in value]
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
