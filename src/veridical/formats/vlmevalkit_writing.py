"""`export vlmevalkit`: a TSV for each split, as VLMEvalKit reads its own, and a page that says how to use them.

A statement is a choice between false and true. VLMEvalKit reads a table with pandas, which takes some words (None, NA)
for missing values: such a choice gets a blank behind it, which `import vlmevalkit` takes away again. An id that cannot
name a file, or that pandas would change (0005, 1e3), stands in a column of its own.
"""

from __future__ import annotations

import base64
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

from veridical.benchmark import Benchmark
from veridical.engine.progress import Progress
from veridical.formats.asked import AskedItem, asked, exporting
from veridical.formats.vlmevalkit import OWN_ID, REFERENCE
from veridical.records import LETTERS

# what pandas reads as no value
_NO_VALUE = frozenset(
    [
        *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
        *("NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)
_SAFE = re.compile(r"[A-Za-z0-9_.-]{1,100}")  # it names a file
_USE = """# {title}: tables for VLMEvalKit

{summary}

VLMEvalKit reads a table of its data folder by name, as a custom multiple-choice data set:

```console
cp {folder}/*.tsv ~/LMUData/                      # or the folder that the variable LMUData names
python run.py --data {first} --model ... --judge exact_matching
```

Tables: {names}. Statements are choices between false and true. Splits whose answers are hidden have none: run them
with `--mode infer`.

Please keep this data out of training corpora: `{canary}`
"""


def export_vlmevalkit(benchmark: Path | str, out: Path | str) -> None:
    """Write a folder of tables."""
    with exporting(benchmark, out) as frame:
        for name, (scheme, split) in frame.parts.items():
            _write(frame.source, scheme, split, frame.folder / f"{name}.tsv", frame.progress)
        frame.readme(_USE)


def _write(source: Benchmark, scheme: str, split: str, path: Path, progress: Progress) -> None:
    table = source.items_table(split, scheme, ["id", "candidates", "group", "panels", "tags"])
    ids = table["id"].to_pylist()
    width = max((len(one) for one in table["candidates"].to_pylist()), default=2)
    most = max((len(one) for one in table["panels"].to_pylist()), default=0)
    own_names = not all(map(_is_index, ids))
    tags = {tag["name"] for tags in table["tags"].to_pylist() for tag in tags}
    shown = [name for name in ("category", "l2-category") if name in tags]
    columns = [
        "index", *([OWN_ID] if own_names else []), "question", *LETTERS[:width],
        *([] if source.is_hidden(split) else ["answer"]), *shown, "split",
        *([] if table["group"].null_count == len(table) else ["group"]), *(["tags"] if tags else []),
        *(["image"] if most else []), *(["image_path"] if most > 1 else []),
    ]  # fmt: skip
    with path.open("w", newline="", encoding="utf-8") as file:
        # A text with a sign of the line's end in it is quoted: "\r" alone ends a line for those who read it.
        rows = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\r\n", extrasaction="ignore")
        rows.writeheader()
        for number, one in enumerate(asked(source, scheme, split)):
            rows.writerow(dict(_cells(one, split, str(number) if own_names else one.item.id)))
            progress.advance()


def _is_index(name: str) -> bool:
    """Whether an id names a file and comes back from pandas as it is.

    >>> [_is_index(name) for name in ("dev-5", "5", "0005", "5.0", "1e3", "NA", "True", "a/b")]
    [True, True, False, False, False, False, False, False]
    """
    if _SAFE.fullmatch(name) is None or name in _NO_VALUE or name.lower() in ("true", "false"):
        return False
    try:
        float(name)
    except ValueError:
        return True
    return re.fullmatch(r"0|-?[1-9][0-9]{0,17}", name) is not None


def _cells(one: AskedItem, split: str, index: str) -> Iterator[tuple[str, str]]:
    item = one.item
    yield from (("index", index), (OWN_ID, item.id), ("question", _kept(one.question)), ("split", split))
    yield from ((letter, _kept(text)) for letter, text in zip(LETTERS, one.choices, strict=False))
    yield "answer", "" if item.answer is None else LETTERS[item.answer]
    yield "group", item.group or ""
    yield from ((name, item.tag(name)[0]) for name in ("category", "l2-category") if item.tag(name))
    if item.tags:
        yield "tags", json.dumps(item.tags, ensure_ascii=False)
    pictures = [base64.b64encode(picture.data).decode() for picture in one.pictures]
    if len(pictures) == 1:
        yield "image", pictures[0] if len(pictures[0]) > REFERENCE else json.dumps(pictures)
        yield "image_path", json.dumps([f"{index}.jpg"])
    elif pictures:
        yield "image", json.dumps(pictures)
        yield "image_path", json.dumps([f"{index}_{number}.jpg" for number in range(1, len(pictures) + 1)])


def _kept(text: str) -> str:
    """A text that pandas does not take for a missing value."""
    return f"{text} " if text in _NO_VALUE else text
