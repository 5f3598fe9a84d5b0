"""`import vlmevalkit`: the TSV of VLMEvalKit, in which MMBench, SEED-Bench, MMStar and many others are published.

A row has an `index`, a `question` (and maybe a `hint`), choices `A`, `B`, `C` ..., the letter of the right one, and an
`image` as base64, a list of them, or the index of the row that has it. Circular evaluation repeats a question with its
choices rotated, under its index plus a million: such rows are one group, so that consistency is what it measures. A
large index alone is no rotation: the row that it is of must be there, with the same question and the same choices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from veridical.errors import UserError
from veridical.formats.releases import Request, find_files
from veridical.formats.table.cells import words
from veridical.formats.table.files import Lines, QuestionFile, open_file
from veridical.formats.table.importing import QuestionSource
from veridical.formats.table.roles import NONE
from veridical.options import filled
from veridical.options.importing import TableOptions
from veridical.records import LETTERS

OWN_ID = "veridical_id"  # of an item whose id cannot be an index; `export vlmevalkit` writes it
CIRCULAR = "index % 1000000"
ROTATED = 10**6  # is added to the index for each rotation
REFERENCE = 64  # characters: a shorter image is the index of another row
_TSV = "Give a TSV of VLMEvalKit, or a folder of them; `import table` reads other tables."


def read_vlmevalkit(request: Request, options: TableOptions) -> QuestionSource:
    """One TSV, or all of a folder."""
    path = request.path
    paths = list(find_files(path, lambda name: name.endswith(".tsv"), depth=0)) if path.is_dir() else [path]
    if not paths:
        raise UserError(f"{path} holds no TSV.", _TSV)
    files = [_resolved(open_file(one)) for one in paths]
    columns = list(dict.fromkeys(name for file in files for name in file.columns))
    for name in ("index", "question"):
        if name not in columns:
            raise UserError(f"{paths[0].name} has no column {name!r}; it has: {', '.join(columns[:30])}.", _TSV)
    letters = tuple(letter for letter in LETTERS if letter in columns)
    has = {name: name if name in columns else NONE for name in ("answer", "hint", "split")}
    circular = [name for name in ("group", CIRCULAR) if name in columns]
    known = {
        "question": "question",
        "choices": letters or (NONE,),
        "answer": has["answer"],
        **({"answer_as": "letter"} if letters else {}),  # a choice may be called B, too
        "image": _image_column(columns),
        "hint": has["hint"],
        "group": circular[0] if circular else NONE,
        "split_column": has["split"] if _has_splits(files) else NONE,
        "id": OWN_ID if OWN_ID in columns else "index",
        **({"tag": ("tags",)} if "tags" in columns else {}),
    }
    title = path.resolve().name if path.is_dir() else path.stem
    return QuestionSource("vlmevalkit", title, files, filled(options, known))


def _has_splits(files: list[QuestionFile]) -> bool:
    """Whether any row names its split: an empty column is as none."""
    rows = (row for file in files for _, row in file.rows() if not isinstance(row, str))
    return any(words(row.get("split")) for row in rows)


def _image_column(columns: list[str]) -> tuple[str, ...]:
    return next(((name,) for name in ("image", "image_path") if name in columns), (NONE,))


def _resolved(file: QuestionFile) -> QuestionFile:
    """The file with every image in its row, and the group of rotated rows."""
    rotated = _rotated(file)
    pictures = _referred_to(file)

    def rows() -> Lines:
        for number, row in file.rows():
            if isinstance(row, str):
                yield number, row
            else:
                index = words(row.get("index"))
                more = {CIRCULAR: rotated.get(index, index)} if rotated else {}
                yield number, {**row, **more, "image": _own(row, pictures)}

    columns = (*file.columns, *([CIRCULAR] if rotated else []))
    return replace(file, columns=columns, rows=rows)


def _rotated(file: QuestionFile) -> dict[str, str]:
    """The index of the first row for each row that repeats it with rotated choices."""
    asked: dict[str, tuple[str, frozenset[str]]] = {}
    for _, row in file.rows():
        if not isinstance(row, str):
            choices = frozenset(words(row.get(letter)) for letter in LETTERS)
            asked[words(row.get("index"))] = (words(row.get("question")), choices)
    out = {}
    for index, one in asked.items():
        if index.isdecimal() and int(index) >= ROTATED and asked.get(first := str(int(index) % ROTATED)) == one:
            out[index] = first
    return out


def _referred_to(file: QuestionFile) -> dict[str, Any]:
    """The images that other rows refer to, by index; the row that is named may name another in its turn."""
    refer: dict[str, str] = {}
    for _, row in file.rows():
        if not isinstance(row, str) and _refers(image := row.get("image")):
            refer[words(row.get("index"))] = str(image).strip()
    named = set(refer.values())
    out: dict[str, Any] = {}
    for _, row in file.rows():
        index = "" if isinstance(row, str) else words(row.get("index"))
        if not isinstance(row, str) and index in named and not _refers(row.get("image")):
            out[index] = row.get("image")
    for index in named - out.keys():
        seen, last = {index}, refer.get(index)
        while last in refer and last not in seen:  # rows that name each other have no picture
            seen.add(last)
            last = refer[last]
        if last in out:
            out[index] = out[last]
    return out


def _refers(image: Any) -> bool:
    return isinstance(image, str) and 0 < len(image.strip()) <= REFERENCE


def _own(row: Mapping[str, Any], pictures: Mapping[str, Any]) -> Any:
    image = row.get("image")
    return pictures.get(str(image).strip(), image) if _refers(image) else image
