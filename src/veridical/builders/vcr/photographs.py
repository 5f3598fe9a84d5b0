"""Which photographs are worth asking about (VCR, section 3): at least three confident objects, and no close-ups.

Where people labelled some photographs, a classifier over what was detected (and an encoder's vectors, where one is
named) decides; otherwise a rule does: several people, or a person among things, or things of several categories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np

from veridical.builders.interest import learn_interest
from veridical.common.arrays import Doubles
from veridical.common.files import Json, read_lines
from veridical.language.english import PEOPLE
from veridical.records import Panel, Pruned, SceneObject
from veridical.sources import Photograph, Source

LEAST_OBJECTS = 3
CONFIDENT = 0.5  # of a detector; annotated objects have no score and are certain
CLOSE_UP = 0.8  # share of the picture that its largest object covers
RULE = "several people, a person among things, or three kinds of things; no close-up"
FEW, DULL = "fewer than three confident objects", "not interesting"


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


class _Interest(msgspec.Struct, frozen=True):
    photograph: str
    interesting: bool


def read_interest(path: Path) -> dict[str, bool]:
    """Labels of people: lines `{"photograph": "...", "interesting": true}`."""
    lines = read_lines(path, _Interest, 'Each line is {"photograph": "photo.jpg", "interesting": true}.')
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
        named = _by_id(labels, enough)
        said, facts = learn_interest(named, [panel.id for panel in enough], table, seed)
        about = {"interesting": "classifier", "encoder": encoder, **facts}
    kept = [panel for panel in enough if said[panel.id]]
    left += [Pruned(panel.id, DULL, "photographs") for panel in enough if not said[panel.id]]
    return kept, left, about


def _by_id(labels: Mapping[str, bool], panels: Iterable[Panel]) -> dict[str, bool]:
    """Labels by photograph id; people may have written file names."""
    ids = {name: panel.id for panel in panels for name in (panel.id, Path(panel.uri or panel.id).name)}
    return {ids[name]: value for name, value in labels.items() if name in ids}


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
