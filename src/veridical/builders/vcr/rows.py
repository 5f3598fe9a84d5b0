"""What is matched: questions with their folds, and responses whose tags other photographs can take.

A tag of a class that hardly any photograph of the fold shows cannot be re-pointed anywhere, so the response would be no
candidate for any question; such a tag is written out as words, and the person beside it stays a tag.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from veridical.benchmark.splits import blocks
from veridical.builders.vcr.written import Written
from veridical.language.english import PEOPLE, plain_names
from veridical.language.phenomena.inference import inferences
from veridical.matching.data.questions import AnsweredQuestion
from veridical.matching.data.tags import needs_and_have, tag_class
from veridical.records import Panel, Ref, Text

LEAST_FITTING = 12  # questions of a fold whose photographs show what a response tags


def asked(written: Sequence[Written], panels: Mapping[str, Panel], folds: Mapping[str, str]) -> list[AnsweredQuestion]:
    """Rows to match: `folds` says the fold of each photograph."""
    out = []
    for one in written:
        panel = panels[one.image]
        kinds = [("inference", kind) for kind in inferences(one.question.words(plain_names([panel])))]
        tags = (*kinds, *((("question", one.kind),) if one.kind else ()))
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
    listed = [t if isinstance(t, str) else [int(o) for o in t.objects] for t in tokens]
    new = Text(json.dumps(listed, ensure_ascii=False), tuple(tokens))
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
