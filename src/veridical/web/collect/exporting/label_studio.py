"""Tasks and judgements as Label Studio has them, both ways.

A task is `{"data": {...}, "annotations": [...], "meta": {...}}`: `data` holds addresses of pictures and texts, an
annotation holds `result` (what each control of the labelling page said), who (`completed_by`) and for how long
(`lead_time`). Verdicts, choices and flags are `choices`; sentences are a `textarea`, in VCR's the tags as `[person1]`,
and the boxes they name are a prediction (`rectanglelabels`); a picture's reason is `choices` of the control
`removed-K`. `meta.veridical` keeps the task's id and payload, so that nothing is lost on the way.

`CONFIGS` has the labelling page of each kind. What people did there comes back as answers, and each is checked as if it
had been given here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from veridical.common.files import read_json
from veridical.errors import UserError
from veridical.web.collect import kinds
from veridical.web.collect.records import FORGOTTEN, Answer, Kind, Task
from veridical.web.collect.tagging import text_of, tokens_of

Json = dict[str, Any]
KINDS: tuple[Kind, ...] = ("prune", "sets", "sentence", "contrast", "validate", "questions", "accept", "choose")
PARTS = ("question", "answer", "rationale")
TRUE, FALSE, NONSENSE, SKIP = "true", "false", "nonsense", "skip"
MOST_QUESTIONS = 3  # about a photograph
BOXES = "objects"  # the control that draws what can be tagged
_FIX = "Give the JSON (not JSON-MIN) that Label Studio exports."


class _Annotation(msgspec.Struct):
    result: list[Json]
    completed_by: int | str | Json = ""
    lead_time: float | None = None
    created_at: str | None = None
    was_cancelled: bool = False
    id: int | str | None = None


class _Task(msgspec.Struct):
    data: Json
    annotations: list[_Annotation] = []
    meta: Json = {}


# --- out -------------------------------------------------------------------------------------------------------------


def tasks_json(tasks: Iterable[Task], answers: Mapping[str, Sequence[Answer]], base: str = "") -> list[Json]:
    """Tasks with their answers, as Label Studio imports them; `base` is put before the names of pictures."""
    out = []
    for task in tasks:
        if task.kind not in KINDS or task.purpose == "qualification":
            continue
        kept = {"task": task.id, "kind": task.kind, "payload": dict(task.payload)}
        out.append({
            "data": _data(task, base),
            "annotations": [_annotation(task, one) for one in answers.get(task.id, ())],
            "predictions": _boxes(task),
            "meta": {"veridical": kept},
        })  # fmt: skip
    return out


def _data(task: Task, base: str) -> Json:
    """What a labelling page shows: pictures by number, texts by name."""
    shown = kinds.payload(task)
    found: Json = {"kind": task.kind}
    for name in ("sentence", "synset", "query", "stage"):
        value = getattr(shown, name, None)
        if isinstance(value, str):
            found[name] = value
    for name in ("question", "answer", "rationale", "given"):
        if value := getattr(shown, name, None):
            found[name] = words(value, shown.objects)
    if task.kind == "choose":
        found["query"] = words(shown.query, shown.objects)
    if task.kind == "questions":
        found["captions"] = " ".join(shown.captions)
    if _has_boxes(task):
        found["labels"] = [{"value": one.name} for one in shown.objects]
    found |= {f"image{k}": base + name for k, name in enumerate(pictures(shown))}
    return found


def _has_boxes(task: Task) -> bool:
    """Whether a labelling page shows the boxes of what texts name."""
    return task.kind in ("questions", "accept")


def _boxes(task: Task) -> list[Json]:
    """What can be tagged, as a prediction that the labelling page draws: boxes in percent of the picture."""
    if not _has_boxes(task):
        return []
    shown = kinds.payload(task)
    width, height = max(shown.picture.width, 1), max(shown.picture.height, 1)
    drawn = []
    for one in shown.objects:
        left, top, right, bottom = one.box
        box = {"x": left / width, "y": top / height, "width": (right - left) / width, "height": (bottom - top) / height}
        value = {**{name: round(100 * part, 3) for name, part in box.items()}, "rectanglelabels": [one.name]}
        size = {"original_width": width, "original_height": height}
        drawn.append({"from_name": BOXES, "to_name": "image0", "type": "rectanglelabels", "value": value, **size})
    return [{"model_version": "objects", "result": drawn}]


def words(tokens: Sequence[Any], objects: Sequence[Any]) -> str:
    """Tokens as people read them."""
    named = (t if isinstance(t, str) else " and ".join(objects[k].name for k in t if k < len(objects)) for t in tokens)
    return " ".join(named)


def pictures(shown: Any) -> list[str]:
    """The names of a payload's pictures, in order."""
    if hasattr(shown, "pairs"):
        return [one.name for pair in shown.pairs for one in pair]
    if hasattr(shown, "picture"):
        return [shown.picture.name]
    names = [one.name for one in shown.pictures]
    candidates = getattr(shown, "candidates", ())
    return names + [one["name"] for one in candidates if isinstance(one, dict)]


def _annotation(task: Task, one: Answer) -> Json:
    return {
        "id": one.id,
        "completed_by": one.worker,
        "lead_time": round(one.time - one.start, 3),
        "created_at": datetime.fromtimestamp(one.time, UTC).isoformat(),
        "was_cancelled": bool(one.void),
        "ground_truth": False,
        "result": [] if FORGOTTEN in one.value else _result(task, one.value),
    }


def _choices(name: str, *values: str, to: str = "image0") -> Json:
    return {"from_name": name, "to_name": to, "type": "choices", "value": {"choices": list(values)}}


def _text(name: str, text: str) -> Json:
    return {"from_name": name, "to_name": "image0", "type": "textarea", "value": {"text": [text]}}


def _result(task: Task, value: Mapping[str, Any]) -> list[Json]:
    """What the controls of a labelling page said."""
    shown = kinds.payload(task)
    names = pictures(shown)
    if task.kind == "questions":
        out = []
        for k, one in enumerate(value["questions"]):
            out += [_text(f"{part}-{k}", text_of(one[part], shown.objects)) for part in PARTS]
            out.append(_choices(f"likelihood-{k}", one["likelihood"]))
        return out
    if task.kind in ("validate", "accept"):
        said = value["verdict"]
        return [_choices("verdict", said if isinstance(said, str) else (TRUE if said else FALSE))]
    if task.kind == "choose":
        return [_choices("choice", SKIP if value["skip"] else str(value["choice"]))]
    if task.kind == "prune":
        return [_choices(f"removed-{names.index(name)}", why) for name, why in value["removed"].items()]
    if task.kind == "sets":
        marks = [("duplicate", value["duplicates"]), ("dull", value["dull"])]
        return [_choices(f"marked-{names.index(name)}", mark) for mark, some in marks for name in some]
    if task.kind == "sentence":
        return [_text("sentence", value["sentence"])]
    if value["flag"]:
        return [_choices("flag", value["flag"])]
    selected = [str(k) for k in value["selected"]]
    return [_choices("selected", *selected), _text("sentence", value["sentence"])]


# --- back ------------------------------------------------------------------------------------------------------------


def read_export(path: Path) -> list[tuple[Task, Answer]]:
    """Tasks and answers of a file that Label Studio exported; whatever does not fit its task is refused, by place."""
    found = read_json(path, list[_Task], "an export of Label Studio", _FIX)
    out = []
    for place, one in enumerate(found, 1):
        task = _task(path, place, one)
        for number, said in enumerate(one.annotations, 1):
            if not said.was_cancelled:
                out.append((task, _answer(f"{path.name}, task {place}, annotation {number}", task, said, number)))
    return out


def _task(path: Path, place: int, one: _Task) -> Task:
    kept = one.meta.get("veridical")
    if not isinstance(kept, dict) or not {"task", "kind", "payload"} <= kept.keys():
        raise UserError(f"{path.name}, task {place}: nothing says which task it is.", "Import the tasks that we wrote.")
    try:
        task = msgspec.convert({"id": kept["task"], "kind": kept["kind"], "payload": kept["payload"]}, Task)
        kinds.payload(task)
    except msgspec.ValidationError as error:
        raise UserError(f"{path.name}, task {place}: {error}.", _FIX) from None
    if task.kind not in KINDS:
        raise UserError(f"{path.name}, task {place}: {task.kind} is not done there.", _FIX)
    return task


def _answer(where: str, task: Task, said: _Annotation, number: int) -> Answer:
    shown = kinds.payload(task)
    try:
        given = {_field(one, "from_name"): _values(one) for one in said.result if one["from_name"] != BOXES}
        value = _READERS[task.kind](given, shown if task.kind == "questions" else pictures(shown))
    except (KeyError, IndexError, ValueError, TypeError):
        raise UserError(f"{where} does not answer its task ({task.kind}).", _FIX) from None
    problems = kinds.check(task, value)
    if problems:
        raise UserError(f"{where}: {problems[0]}", "Correct it in Label Studio, and export again.")
    end = _moment(where, said.created_at)
    name = f"{task.id}-{number}" if said.id is None else str(said.id)
    who = _who(said.completed_by)
    start = end - (said.lead_time or 0.0)
    return Answer(name, task.id, who, task.kind, "work", kinds.normal(task, value), start, end)


def _field(one: Json, name: str) -> str:
    return str(one[name])


def _values(one: Json) -> list[str]:
    value = one["value"]
    found = value["choices"] if one["type"] == "choices" else value["text"]
    return [str(v) for v in (found if isinstance(found, list) else [found])]


def _who(said: int | str | Json) -> str:
    if isinstance(said, dict):
        return str(said.get("id", ""))
    return str(said)


def _moment(where: str, text: str | None) -> float:
    if text is None:
        return 0.0
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise UserError(f"{where}: {text!r} is no moment.", _FIX) from None


def _read_verdict(said: Mapping[str, list[str]], names: Sequence[str]) -> Json:
    word = said["verdict"][0]
    return {"verdict": {TRUE: True, FALSE: False}.get(word, word)}


def _read_choice(said: Mapping[str, list[str]], names: Sequence[str]) -> Json:
    word = said["choice"][0]
    return {"skip": True} if word == SKIP else {"choice": int(word)}


def _read_removed(said: Mapping[str, list[str]], names: Sequence[str]) -> Json:
    return {"removed": {names[int(name.removeprefix("removed-"))]: why[0] for name, why in said.items()}}


def _read_marked(said: Mapping[str, list[str]], names: Sequence[str]) -> Json:
    marks = {names[int(name.removeprefix("marked-"))]: why[0] for name, why in said.items()}
    doubled = [name for name, mark in marks.items() if mark == "duplicate"]
    return {"duplicates": doubled, "dull": [name for name in marks if name not in doubled]}


def _read_sentence(said: Mapping[str, list[str]], names: Sequence[str]) -> Json:
    return {"sentence": said["sentence"][0]}


def _read_contrast(said: Mapping[str, list[str]], names: Sequence[str]) -> Json:
    if "flag" in said:
        return {"flag": said["flag"][0]}
    return {"selected": [int(k) for k in said["selected"]], "sentence": said["sentence"][0]}


def _read_questions(said: Mapping[str, list[str]], shown: kinds.Asking) -> Json:
    out = []
    for k in range(shown.most):
        if any(f"{part}-{k}" in said for part in PARTS):
            texts = {part: tokens_of(said[f"{part}-{k}"][0], shown.objects, f"Question {k + 1}") for part in PARTS}
            out.append({**texts, "likelihood": said[f"likelihood-{k}"][0]})
    return {"questions": out}


_READERS: dict[Kind, Callable[[Mapping[str, list[str]], Any], Json]] = {
    "questions": _read_questions,
    "validate": _read_verdict,
    "accept": _read_verdict,
    "choose": _read_choice,
    "prune": _read_removed,
    "sets": _read_marked,
    "sentence": _read_sentence,
    "contrast": _read_contrast,
}


# --- labelling pages -------------------------------------------------------------------------------------------------


def config(kind: Kind, most: int = 16) -> str:
    """The labelling page of a kind, to be pasted into a project of Label Studio; `most` pictures are shown."""
    images = "".join(f'<Image name="image{k}" value="$image{k}"/>' for k in range(most))
    many = {"sentence": 4, "contrast": 8, "validate": 2, "questions": 1, "accept": 1}.get(kind, most)
    shown = "".join(f'<Image name="image{k}" value="$image{k}"/>' for k in range(many)) if many < most else images
    if kind in ("questions", "accept"):
        shown += f'<RectangleLabels name="{BOXES}" toName="image0" value="$labels"/>'
    if kind == "questions":
        boxes = ('<Header value="$captions"/>', shown, *(_question(k) for k in range(MOST_QUESTIONS)))
        return f"<View>{''.join(boxes)}</View>"
    if kind in ("validate", "accept"):
        texts = ("sentence",) if kind == "validate" else ("question", "answer", "rationale")
        head = "".join(f'<Header value="${name}"/>' for name in texts)
        return f"<View>{head}{shown}{_single('verdict', TRUE, FALSE, NONSENSE)}</View>"
    if kind == "choose":
        return f'<View><Header value="$query"/>{shown}{_single("choice", *map(str, range(8)), SKIP)}</View>'
    if kind in ("prune", "sets"):
        name, words_ = ("removed", kinds.PRUNE_REASONS) if kind == "prune" else ("marked", ("duplicate", "dull"))
        controls = "".join(_single(f"{name}-{k}", *words_, to=f"image{k}") for k in range(most))
        return f'<View><Header value="$synset"/>{shown}{controls}</View>'
    text = '<TextArea name="sentence" toName="image0" maxSubmissions="1"/>'
    if kind == "sentence":
        return f"<View>{shown}{text}</View>"
    several = _single("selected", "0", "1", "2", "3", several=True)
    return f"<View>{shown}{several}{text}{_single('flag', *kinds.FLAG_REASONS)}</View>"


def _question(k: int) -> str:
    """The fields of a question; objects are written as `[person1]`."""
    areas = "".join(
        f'<TextArea name="{part}-{k}" toName="image0" maxSubmissions="1" placeholder="{part}, objects as [person1]"/>'
        for part in PARTS
    )
    return f'<Header value="Question {k + 1}"/>{areas}{_single(f"likelihood-{k}", *kinds.LIKELIHOODS)}'


def _single(name: str, *values: str, to: str = "image0", several: bool = False) -> str:
    options = "".join(f'<Choice value="{value}"/>' for value in values)
    how = "multiple" if several else "single"
    return f'<Choices name="{name}" toName="{to}" choice="{how}">{options}</Choices>'
