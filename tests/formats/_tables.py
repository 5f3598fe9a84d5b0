"""Tables as ScienceQA, MMBench and MMMU are published, with questions that a picture decides, or that a shortcut does.

A picture is a square of one colour; the question asks for it, and the choices are colours in a random order, so that
nothing but the picture tells the right one. With a shortcut, the right choice alone is called "a plain ...".
"""

from __future__ import annotations

import base64
import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from veridical.formats.hf import IMAGE, hub_schema

COLOURS = {
    "red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 60, 200), "yellow": (230, 210, 40),
    "purple": (130, 40, 150), "orange": (240, 140, 20), "brown": (120, 80, 40), "grey": (128, 128, 128),
}  # fmt: skip
THINGS = ("square", "field", "sheet", "tile", "cloth", "wall")
SUBJECTS = ("natural science", "language science", "social science")


@dataclass(frozen=True)
class Asked:
    """A question, its choices and the picture that decides it."""

    question: str
    choices: list[str]
    answer: int
    image: bytes
    subject: str


def picture(colour: str, seed: int = 0, size: int = 24) -> bytes:
    rng = np.random.default_rng(seed)
    pixels = np.clip(np.array(COLOURS[colour]) + rng.integers(-20, 20, (size, size, 3)), 0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def questions(count: int, *, shortcut: bool = False, ragged: bool = False, seed: int = 0) -> list[Asked]:
    rng = np.random.default_rng(seed)
    out = []
    for number in range(count):
        width = int(rng.integers(2, 6)) if ragged else 4
        names = [str(name) for name in rng.permutation(list(COLOURS))[:width]]
        answer = int(rng.integers(width))
        thing, subject = THINGS[int(rng.integers(len(THINGS)))], SUBJECTS[int(rng.integers(len(SUBJECTS)))]
        said = [
            f"a plain {one} {thing}" if shortcut and k == answer else f"a {one} {thing}" for k, one in enumerate(names)
        ]
        text = f"Which {thing} does the picture show, in scene {number}?"
        out.append(Asked(text, said, answer, picture(names[answer], number), subject))
    return out


def mmbench(path: Path, asked: list[Asked], *, circular: bool = False) -> Path:
    """A TSV of VLMEvalKit; circular rows share the picture of their first, by its index."""
    rows: list[dict[str, Any]] = []
    for number, one in enumerate(asked):
        for turn in range(len(one.choices) if circular else 1):
            turned = [one.choices[(k + turn) % len(one.choices)] for k in range(len(one.choices))]
            rows.append(
                {
                    "index": number + turn * 10**6,
                    "question": one.question,
                    "hint": "Look closely." if number % 3 == 0 else "",
                    **dict(zip("ABCDE", turned, strict=False)),
                    "answer": "ABCDE"[(one.answer - turn) % len(one.choices)],
                    "category": one.subject,
                    "l2-category": "perception",
                    "split": "dev",
                    "image": base64.b64encode(one.image).decode() if turn == 0 else str(number),
                }
            )
    columns = ["index", "question", "hint", "A", "B", "C", "D", "answer", "category", "image", "l2-category", "split"]
    columns += ["E"] if any("E" in row for row in rows) else []
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, delimiter="\t", restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def saved(folder: Path, asked: list[Asked], splits: dict[str, int]) -> Path:
    """What `datasets` saves to disk: pictures are features, answers classes not in the order of the alphabet."""
    import datasets

    features = datasets.Features(
        {
            "image": datasets.Image(),
            "question": datasets.Value("string"),
            "options": datasets.List(datasets.Value("string")),
            "label": datasets.ClassLabel(names=["D", "C", "B", "A"]),
        }
    )
    rows = [
        {"image": {"bytes": one.image, "path": None}, "question": one.question, "options": one.choices}
        | {"label": "DCBA".index("ABCD"[one.answer])}
        for one in asked
    ]
    parts, start = {}, 0
    for split, count in splits.items():
        parts[split] = datasets.Dataset.from_list(rows[start : start + count], features=features)
        start += count
    datasets.DatasetDict(parts).save_to_disk(folder)
    return folder


def scienceqa(folder: Path, asked: list[Asked], splits: dict[str, int] | None = None) -> Path:
    """Parquet files of a data set: choices as lists, answers as places from 0, pictures as structs, hints."""
    string = pa.string()
    fields = [("image", IMAGE), ("question", string), ("choices", pa.list_(string)), ("answer", pa.int8())]
    fields += [(name, string) for name in ("hint", "task", "grade", "subject", "lecture", "solution")]
    (folder / "data").mkdir(parents=True)
    start = 0
    for split, count in (splits or {"test": len(asked)}).items():
        rows = [
            {
                "image": None if number % 7 == 6 else {"bytes": one.image, "path": None},
                "question": one.question,
                "choices": one.choices,
                "answer": one.answer,
                "hint": "" if number % 2 else f"The light is even in scene {number}.",
                "task": "closed choice",
                "grade": f"grade{number % 5 + 1}",
                "subject": one.subject,
                "lecture": f"Colours are seen, lecture {number}.",
                "solution": f"It is {one.choices[one.answer]}.",
            }
            for number, one in enumerate(asked[start : start + count], start)
        ]
        start += count
        table = pa.Table.from_pylist(rows, schema=hub_schema(fields))
        pq.write_table(table, folder / "data" / f"{split}-00000-of-00001.parquet")
    return folder


def mmmu(folder: Path, asked: list[Asked]) -> Path:
    """Parquet files of two configurations: options as Python prints them, up to seven pictures, some open questions."""
    string = pa.string()
    fields = [("id", string), ("question", string), ("options", string), ("explanation", string)]
    fields += [(f"image_{k}", IMAGE) for k in range(1, 8)]
    fields += [(name, string) for name in ("img_type", "answer", "topic_difficulty", "question_type", "subfield")]
    for place, config in enumerate(("Art", "Biology")):
        (folder / config).mkdir(parents=True)
        rows = []
        for number, one in enumerate(asked[place::2]):
            is_open = number % 20 == 19
            rows.append(
                {
                    "id": f"validation_{config}_{number}",
                    "question": f"<image 1> {one.question}",
                    "options": "[]" if is_open else str(one.choices),
                    "explanation": f"It is {one.choices[one.answer]}.",
                    "image_1": {"bytes": one.image, "path": None},
                    "image_2": {"bytes": picture("grey", number), "path": None} if number % 4 == 0 else None,
                    "img_type": "['Paintings']",
                    "answer": one.choices[one.answer] if is_open else "ABCDE"[one.answer],
                    "topic_difficulty": ("Easy", "Medium", "Hard")[number % 3],
                    "question_type": "open" if is_open else "multiple-choice",
                    "subfield": one.subject,
                }
            )
        table = pa.Table.from_pylist(rows, schema=hub_schema(fields))
        pq.write_table(table, folder / config / "validation-00000-of-00001.parquet")
    return folder
