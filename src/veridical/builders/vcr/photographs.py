"""The photographs that questions are about, and the questions: stories of the icon world, or a source and a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from veridical.builders.vcr.interesting import confident
from veridical.builders.vcr.questions import draft_questions
from veridical.builders.vcr.written import Written
from veridical.engine import run
from veridical.records import Panel
from veridical.sources import Photograph, Source
from veridical.sources.icons.draw import encode
from veridical.sources.icons.glyphs import LICENCE
from veridical.sources.icons.scene import panel
from veridical.sources.icons.stories import IconStories

BATCH = 100


@dataclass(frozen=True)
class Told:
    """A story as a photograph with its questions."""

    photograph: Photograph
    picture: bytes
    written: tuple[Written, ...]


def tell(stories: IconStories, each: int, *, processes: int | None, work: Path | None) -> list[Told]:
    """Every story with up to `each` questions."""
    batches = [range(k, min(k + BATCH, stories.count)) for k in range(0, stories.count, BATCH)]
    function = partial(_tell_batch, stories, each)
    return [
        one
        for batch in run(function, batches, processes=processes, work=work, label="telling stories")
        for one in batch
    ]


def _tell_batch(stories: IconStories, each: int, numbers: range) -> list[Told]:
    return [_tell(stories, each, number) for number in numbers]


def _tell(stories: IconStories, each: int, number: int) -> Told:
    story, rng = stories.begin(number)
    seen = panel(story.scene, stories.label(number))
    written = tuple(
        Written(
            f"{seen.id}-{k}",
            seen.id,
            draft.question,
            draft.answer,
            draft.rationale,
            says=draft.says,
            because=draft.because,
            kind=draft.kind,
            about=draft.about,
        )
        for k, draft in enumerate(draft_questions(story, rng, each))
    )
    return Told(Photograph(seen, licence=LICENCE), encode(story.scene), written)


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
