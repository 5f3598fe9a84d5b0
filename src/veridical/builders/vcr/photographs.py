"""Photographs worth asking about, and sheets on which people see what they can tag.

A photograph is kept where it has at least three confident objects and is no close-up (VCR, section 3). Where people
labelled some, a classifier over what was detected (and an encoder's vectors, where one is named) decides which are
interesting; otherwise a rule does: several people, or a person among things, or things of several categories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from veridical.builders.interest import LabelledPhotograph, learn_interest
from veridical.builders.nlvr2.sheets import write_pages
from veridical.common.arrays import Doubles
from veridical.common.files import Json, read_lines, write_lines
from veridical.errors import UserError
from veridical.language.english import PEOPLE
from veridical.pages.cards import tag_colour
from veridical.records import Panel, Pruned, SceneObject, object_names
from veridical.sources import Photograph, Source

if TYPE_CHECKING:
    from PIL import Image

LEAST_OBJECTS = 3
CONFIDENT = 0.5  # of a detector; annotated objects have no score and are certain
CLOSE_UP = 0.8  # share of the picture that its largest object covers
RULE = "several people, a person among things, or three kinds of things; no close-up"
FEW, DULL = "fewer than three confident objects", "not interesting"
FORM, SHEETS, DETECTED = "questions.jsonl", "sheet", "detections.jsonl"
SIDE = 640  # pixels of the longer side of a photograph on a sheet


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


def by_id(source: Source) -> dict[str, Photograph]:
    """A source's photographs; only confident objects can be tagged."""
    out: dict[str, Photograph] = {}
    for one in source.photographs():
        objects = tuple(replace(o, id=str(k)) for k, o in enumerate(confident(one.panel)))
        out[one.panel.id] = replace(one, panel=replace(one.panel, objects=objects))
    return out


def by_name(panels: Iterable[Panel]) -> dict[str, Panel]:
    """Photographs by id and by file name."""
    listed = list(panels)
    return {Path(one.uri or one.id).name: one for one in reversed(listed)} | {one.id: one for one in listed}


# --- sheets ----------------------------------------------------------------------------------------------------------


def write_sheets(folder: Path, source: Source, photographs: Sequence[Photograph]) -> list[Path]:
    """What writers need: pictures with named boxes, and a form with a line for each photograph.

    A line is filled with a question, its answer and its rationale, and copied for another question; one that is left
    empty says nothing. The names on the pictures are those of tags.
    """
    folder.mkdir(parents=True, exist_ok=True)
    forms = []
    for one in photographs:
        tags = [f"[{name}]" for name in object_names([one.panel]).values()]
        forms.append({"image": one.panel.id, "tags": tags, "question": "", "answer": "", "rationale": "", "writer": ""})
    write_lines(folder / FORM, forms)
    return write_pages(folder, SHEETS, _sheet_rows(source, photographs), 2)


def _sheet_rows(source: Source, photographs: Iterable[Photograph]) -> Iterator[Image.Image]:
    from PIL import Image, ImageDraw

    for one in photographs:
        try:
            image: Image.Image = Image.open(BytesIO(source.picture(one))).convert("RGB")
        except (UserError, OSError):
            continue
        scale = SIDE / max(image.size)
        image = image.resize((round(image.width * scale), round(image.height * scale)))
        row = Image.new("RGB", (SIDE + 20, image.height + 40), "white")
        row.paste(image, (10, 28))
        draw = ImageDraw.Draw(row)
        draw.text((10, 8), one.panel.id, fill="black", font_size=14)
        wide, high = (image.width / (one.panel.width or 1), image.height / (one.panel.height or 1))
        names = object_names([one.panel])
        for number, thing in enumerate(one.panel.objects):
            if thing.box is not None:
                x0, y0, x1, y1 = (v * s + o for v, s, o in zip(thing.box, (wide, high) * 2, (10, 28) * 2, strict=True))
                draw.rectangle((x0, y0, x1, y1), outline=tag_colour(number), width=2)
                at, label = (x0 + 3, y0 + 1), names[thing.id]
                draw.rectangle(draw.textbbox(at, label, font_size=14), fill="white")
                draw.text(at, label, fill=tag_colour(number), font_size=14)
        yield row
