"""Contact sheets: sets and written tasks as pictures, for people to look at before they trust a build."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from veridical.builders.nlvr2.collection import Collection
from veridical.builders.nlvr2.photographs import fetch
from veridical.errors import UserError
from veridical.sources import Photograph, Source

if TYPE_CHECKING:
    from PIL import Image

Shown = TypeVar("Shown")
Show = Callable[[str], "Image.Image | None"]
SIDE = (200, 150)  # of a photograph
PAD = 12
FRAME = 3
SETS, TASKS = 40, 40  # that are shown, evenly spaced
ON_A_PAGE = 8


def write_sheets(folder: Path, made: Collection) -> list[Path]:
    """PNG files of some sets (`sets-0.png` ...) and some tasks with their sentences (`tasks-0.png` ...)."""
    source = made.source
    if source is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    shown = _some([one for one in made.sets if not one.discarded], SETS)
    known = dict(made.used)
    if missing := {name for one in shown for name in one.photographs} - known.keys():
        known |= fetch(source, missing)
    show = lru_cache(maxsize=None)(partial(_thumbnail, known, source))
    rows = []
    for one in shown:  # a green frame means interesting
        title = f"set {one.set}   synset: {one.synset}   query: {one.query}"
        framed = [(name, "green" if name in one.interesting else "gray") for name in one.photographs]
        rows.append(_row(title, framed, show))
    out = write_pages(folder, "sets", rows)
    said = {one.task: one for one in made.sentences if one.sentence}
    rows = []
    for task in _some([task for task in made.tasks if task.task in said], TASKS):  # green: true, red: false
        sentence = said[task.task]
        title = f"task {task.task} ({task.synset}; {sentence.kind})   {sentence.sentence}"
        frames = ["green" if i in sentence.selected else "red" for i in range(len(task.pairs))]
        framed = [(name, frame) for pair, frame in zip(task.pairs, frames, strict=True) for name in pair]
        rows.append(_row(title, framed, show))
    return out + write_pages(folder, "tasks", rows)


def _some(values: Sequence[Shown], count: int) -> list[Shown]:
    step = max(len(values) / count, 1)
    return [values[int(i * step)] for i in range(min(count, len(values)))]


def _thumbnail(known: Mapping[str, Photograph], source: Source, name: str) -> Image.Image | None:
    """A small copy of a photograph; None where it does not load."""
    from PIL import Image

    try:
        image = Image.open(BytesIO(source.picture(known[name]))).convert("RGB")
    except UserError:
        return None
    image.thumbnail((SIDE[0] - 2 * FRAME, SIDE[1] - 2 * FRAME))
    return image


def _row(title: str, framed: Sequence[tuple[str, str]], show: Show) -> Image.Image:
    """Photographs with the colours of their frames, side by side."""
    from PIL import Image, ImageDraw

    lines = textwrap.wrap(title, 200)
    top = 14 * len(lines) + PAD
    width, height = SIDE[0] + PAD, SIDE[1] + PAD
    out = Image.new("RGB", (width * len(framed) + PAD, top + height + PAD), "white")
    draw = ImageDraw.Draw(out)
    draw.text((PAD, 2), "\n".join(lines), fill="black")
    for i, (name, frame) in enumerate(framed):
        left = PAD + i * width - (PAD - FRAME if i % 2 else 0)  # the two of a pair stand close together
        image = show(name)
        if image is None:
            continue
        draw.rectangle((left, top, left + image.width + 2 * FRAME - 1, top + image.height + 2 * FRAME - 1), fill=frame)
        out.paste(image, (left + FRAME, top + FRAME))
    return out


def write_pages(folder: Path, name: str, rows: Iterable[Image.Image], on_a_page: int = ON_A_PAGE) -> list[Path]:
    """Rows below each other, in files `name-0.png` ..."""
    from PIL import Image

    out: list[Path] = []
    waiting = iter(rows)
    while some := list(islice(waiting, on_a_page)):
        page = Image.new("RGB", (max(r.width for r in some), sum(r.height for r in some)), "white")
        at = 0
        for row in some:
            page.paste(row, (0, at))
            at += row.height
        out.append(folder / f"{name}-{len(out)}.png")
        page.save(out[-1])
    return out
