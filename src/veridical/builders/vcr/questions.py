"""Questions about stories of the icon world, each with its right answer and a reason that cites tagged objects.

Every template of `questions.json` is a line with `{names}`: those of objects become tags, the others words. What they
say is read off the scene, so it holds. Things are tagged, never described: a borrowed answer then speaks of things that
the other picture shows too, and only what happens there tells whether it is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path

import msgspec
import numpy as np

from veridical.builders.vcr.written import Written, text_of
from veridical.engine import run
from veridical.language.english import NUMBER_WORDS
from veridical.records import Ref, Text
from veridical.sources import Photograph
from veridical.sources.icons.draw import encode
from veridical.sources.icons.glyphs import CATEGORIES, PERSON, PERSON_NOUNS
from veridical.sources.icons.stories import Event, Facts, IconStories, Story, Verb, tales

BATCH = 100  # stories


class Template(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to ask, each part in several wordings."""

    asks: str  # why, what, how many, who, where, next, feeling, role, what if
    question: tuple[str, ...]
    answer: tuple[str, ...]
    why: tuple[str, ...]
    says: str | None = None  # the fact behind the answer, where it is not the topic's
    because: str | None = None  # the fact behind the rationale


@dataclass(frozen=True, slots=True)
class _Topic:
    """What can be asked about: an event, the things that are counted, the place."""

    templates: str  # a key of `questions.json`
    fact: str  # two answers of one fact are never choices of one question
    values: Mapping[str, str | Ref]  # what templates may speak of

    @property
    def about(self) -> tuple[str, ...]:
        """The things of this fact, tagged or not: a picture without them gives it away."""
        found = (self.values.get(name) for name in ("o", "one"))
        return tuple(o for one in found if isinstance(one, Ref) for o in one.objects)


@dataclass(frozen=True)
class ToldStory:
    """A story as a photograph with its questions."""

    photograph: Photograph
    picture: bytes
    written: list[Written]


def tell(stories: IconStories, each: int, *, processes: int | None, work: Path | None) -> list[ToldStory]:
    """Every story with up to `each` questions."""
    batches = [range(k, min(k + BATCH, stories.count)) for k in range(0, stories.count, BATCH)]
    made = run(partial(_tell, stories, each), batches, processes=processes, work=work, label="telling stories")
    return [one for batch in made for one in batch]


def _tell(stories: IconStories, each: int, numbers: range) -> list[ToldStory]:
    out = []
    for number in numbers:
        story, rng = stories.begin(number)
        photograph = stories.photograph(number, story.scene)
        written = draft_questions(story, rng, each, photograph.panel.id)
        out.append(ToldStory(photograph, encode(story.scene), written))
    return out


def draft_questions(story: Story, rng: np.random.Generator, most: int = 3, image: str = "") -> list[Written]:
    """Up to `most` questions about a story, one of each topic: an answer to one must not answer another as well."""
    drafts = [_drafts(_event(story, event), rng) for event in story.events]
    drafts.append(_drafts(_count(story, rng), rng))
    place = tales().places[story.scene.background]
    where = _Topic("where", f"place {place['place']}", {"p": _person(story, rng), **place})
    drafts.append(_drafts(where, rng))
    chosen = [drafts[k] for k in rng.permutation(len(drafts))[:most]]
    asked = [some[int(rng.integers(len(some)))] for some in chosen]
    return [replace(one, id=f"{image}-{k}", image=image) for k, one in enumerate(asked)]


@lru_cache(maxsize=1)
def templates() -> dict[str, tuple[Template, ...]]:
    """The templates of `questions.json`, by topic."""
    data = (files("veridical.builders.vcr") / "questions.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, tuple[Template, ...]])


def text(template: str, values: Mapping[str, str | Ref]) -> Text:
    """The tokens of a template, in the form of the official files.

    >>> text("Why is {p} near {a} ?", {"p": Ref(("0",)), "a": "the red key"}).raw
    '["Why", "is", [0], "near", "the", "red", "key", "?"]'
    """
    tokens: list[str | Ref] = []
    for word in template.split():
        value = values[word[1:-1]] if word.startswith("{") else word
        tokens += [value] if isinstance(value, Ref) else value.split()
    if isinstance(tokens[0], str):
        tokens[0] = tokens[0][0].upper() + tokens[0][1:]
    return text_of(tokens)


def _drafts(topic: _Topic, rng: np.random.Generator) -> list[Written]:
    """A question of each template, in one of its wordings."""
    words = {name: value for name, value in topic.values.items() if isinstance(value, str)}
    out = []
    for one in templates()[topic.templates]:
        wordings = (one.question, one.answer, one.why)
        question, answer, why = (text(some[int(rng.integers(len(some)))], topic.values) for some in wordings)
        says, because = (topic.fact if fact is None else fact.format(**words) for fact in (one.says, one.because))
        out.append(Written("", "", question, answer, why, says=says, because=because, asks=one.asks, about=topic.about))
    return out


def _event(story: Story, event: Event) -> _Topic:
    told, person = tales(), dict(story.scene.objects[event.person].attributes)
    known: dict[Verb, Facts] = {"hold": told.held, "watch": told.watched, "chase": told.chasers, "act": told.acts}
    thing = person["action"] if event.other is None else story.scene.objects[event.other].category
    values: dict[str, str | Ref] = {
        "p": Ref((str(event.person),)),
        "person": PERSON_NOUNS[person["age"], person["gender"]][0],
        "wears": person["color"],
        "side": person.get("facing", ""),
        "action": person["action"],
        "thing": thing,
        **known[event.verb][thing],
    }
    if event.other is not None:
        values["o"] = Ref((str(event.other),))
    return _Topic(event.verb, f"{event.verb} {thing}", values)


def _count(story: Story, rng: np.random.Generator) -> _Topic:
    category = CATEGORIES[story.counted]
    middle = story.scene.width / 2
    found = [k for k, one in enumerate(story.scene.objects) if one.category == story.counted]
    left = sum((story.scene.box(k)[0] + story.scene.box(k)[2]) / 2 < middle for k in found)
    number, right = len(found), len(found) - left
    values: dict[str, str | Ref] = {
        "p": _person(story, rng),
        "one": Ref((str(found[int(rng.integers(number))]),)),
        "name": category.name,
        "many": category.plural,
        "count": f"{NUMBER_WORDS[number]} {category.plural if number != 1 else category.name}",
        "are": "are" if number != 1 else "is",
        "left": NUMBER_WORDS[left] if left else "none",
        "right": NUMBER_WORDS[right] if right else "none",
        "lefts": str(left),
        "rights": str(right),
    }
    return _Topic("how many" if number > 1 else "how many, of one", f"count {number} {category.name}", values)


def _person(story: Story, rng: np.random.Generator) -> Ref:
    people = [str(k) for k, one in enumerate(story.scene.objects) if one.category == PERSON]
    return Ref((people[int(rng.integers(len(people)))],))
