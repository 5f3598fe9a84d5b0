"""The photographs that questions are about, and the questions: stories of the icon world, or a source and a file.

Story k is a function of the seed and k alone (and of the secret, where it is hidden), so any process can tell and draw
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from veridical.benchmark.hidden import secret_words
from veridical.builders.vcr.interesting import confident
from veridical.builders.vcr.questions import draft_questions
from veridical.builders.vcr.stories import sample_story
from veridical.builders.vcr.written import Written
from veridical.engine import run
from veridical.records import Panel
from veridical.sources import Photograph, Source
from veridical.sources.icons.source import LICENCE, encode, panel

BATCH = 100


@dataclass(frozen=True)
class Asking:
    """How stories are told."""

    seed: int
    questions: int  # about each, at most
    secret: str = ""  # mixed into the seed of hidden ones


@dataclass(frozen=True)
class Told:
    """A story as a photograph with its questions."""

    photograph: Photograph
    picture: bytes
    written: tuple[Written, ...]


def tell(asking: Asking, hidden: Sequence[bool], *, processes: int | None, work: Path | None) -> list[Told]:
    """One story for each flag, which says whether its answers are hidden."""
    numbered = list(enumerate(hidden))
    batches = [numbered[start : start + BATCH] for start in range(0, len(numbered), BATCH)]
    made = run(partial(_tell_batch, asking), batches, processes=processes, work=work, label="telling stories")
    return [one for batch in made for one in batch]


def _tell_batch(asking: Asking, batch: Sequence[tuple[int, bool]]) -> list[Told]:
    return [_tell(asking, number, is_hidden) for number, is_hidden in batch]


def _tell(asking: Asking, number: int, is_hidden: bool) -> Told:
    salt = secret_words(asking.secret) if is_hidden else []
    rng = np.random.default_rng([asking.seed, number, *salt])
    story = sample_story(rng)
    seen = panel(story.scene, f"story-{number}")
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
        for k, draft in enumerate(draft_questions(story, rng, asking.questions))
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
