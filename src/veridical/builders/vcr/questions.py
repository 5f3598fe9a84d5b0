"""Questions about quartets of the icon world, each with its right answer and a reason that says where to look.

A block is one question about each photograph of a quartet, from one template of `questions.json`; its four answers are
different, and so are its four reasons. Some blocks put one question to the four photographs, and what is said of a
person is said of whoever the question tags. In the others every row asks in its own words, and no choice has a tag: it
says something that is true of somebody in each of the four photographs, and only the question says who is meant.

What a question mentions (`views`), what answers it and what its reason describes are properties that the quartet dealt
by Latin squares of their own. So neither the question nor the right answer says anything of the right choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path

import msgspec
import numpy as np

from veridical.builders.vcr.written import Written, text_of
from veridical.engine import run
from veridical.language.english import NUMBER_WORDS, a
from veridical.records import Ref, Text
from veridical.sources import Photograph
from veridical.sources.icons.draw import encode
from veridical.sources.icons.glyphs import CATEGORIES, PERSON_NOUNS
from veridical.sources.icons.stories import FOUR, Facts, IconStories, Story, Style, tales
from veridical.sources.icons.worlds import one_of

BATCH = 25  # quartets
Words = tuple[str, ...]  # one text in several wordings
Values = Mapping[str, str | Ref]  # what templates may speak of: objects become tags, the others are words


class Reasons(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where to look, of whoever is tagged and of somebody who is described."""

    tagged: Words = ()
    free: Words = ()


class Template(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to ask, each part in several wordings."""

    about: str  # the style of a quartet; any
    asks: str  # an inference of the paper's Figure 2, count or relation
    question: Words
    why: str  # a key of the reasons
    answer: Words = ()  # to one question about four photographs; none: it is never asked so
    free_answer: Words = ()  # without tags, to four questions


class Writing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `questions.json` holds."""

    views: Words  # what else can be seen
    reasons: dict[str, Reasons]
    templates: tuple[Template, ...]


@dataclass(frozen=True)
class ToldStory:
    """A story as a photograph with its questions."""

    photograph: Photograph
    picture: bytes
    written: list[Written]


@lru_cache(maxsize=1)
def writing() -> Writing:
    """The wordings of `questions.json`."""
    return msgspec.json.decode((files("veridical.builders.vcr") / "questions.json").read_bytes(), type=Writing)


def tell(stories: IconStories, each: int, *, processes: int | None, work: Path | None) -> list[ToldStory]:
    """Every story with `each` questions."""
    quartets = range(stories.count // FOUR)
    batches = [quartets[k : k + BATCH] for k in range(0, len(quartets), BATCH)]
    made = run(partial(_tell, stories, each), batches, processes=processes, work=work, label="telling stories")
    return [one for batch in made for one in batch]


def _tell(stories: IconStories, each: int, quartets: range) -> list[ToldStory]:
    out = []
    for quartet in quartets:
        four, rng = stories.begin(quartet)
        shown = [stories.photograph(FOUR * quartet + k, story.scene) for k, story in enumerate(four)]
        written = ask(four, rng, each, [one.panel.id for one in shown], f"quartet-{quartet}")
        for k, (story, one) in enumerate(zip(four, shown, strict=True)):
            own = [block[k] for block in written]
            out.append(ToldStory(one, encode(story.scene), own))
    return out


def ask(
    four: Sequence[Story], rng: np.random.Generator, most: int, images: Sequence[str], quartet: str
) -> list[list[Written]]:
    """Up to four blocks about a quartet, none of one template; the b-th asks about the b-th people."""
    left = [one for one in writing().templates if one.about in ("any", four[0].style)]
    blocks = []
    for b in range(min(most, FOUR)):
        together = rng.random() < 0.5  # one question to all four
        fitting = [one for one in left if (one.answer if together else one.free_answer)]
        asks = one_of(rng, dict.fromkeys(one.asks for one in fitting))  # all inferences as often
        alike = [one for one in fitting if one.asks == asks]
        template = alike[int(rng.integers(len(alike)))]
        left.remove(template)
        blocks.append(_block(template, four, rng, b, images, quartet, together))
    return blocks


def _block(
    template: Template,
    four: Sequence[Story],
    rng: np.random.Generator,
    person: int,
    images: Sequence[str],
    quartet: str,
    together: bool,
) -> list[Written]:
    reasons = writing().reasons[template.why]
    answers, whys = (template.answer, reasons.tagged) if together else (template.free_answer, reasons.free)
    asked = [_question(template, rng)] * FOUR if together else [_question(template, rng) for _ in four]
    out = []
    for story, image, question in zip(four, images, asked, strict=True):
        said = _values(story, person)
        answer, why = (text(one_of(rng, some), said) for some in (answers, whys))
        name, kin = f"{image}-{person}", f"{quartet}-{person}"
        asks = text(question, said)
        out.append(Written(name, image, asks, answer, why, movie=quartet, asks=template.asks, kin=kin))
    return out


def _question(template: Template, rng: np.random.Generator) -> str:
    return one_of(rng, template.question).replace("{view}", one_of(rng, writing().views))


def text(template: str, values: Values) -> Text:
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


def _values(story: Story, person: int) -> dict[str, str | Ref]:
    """What can be said of one person of a story, and of the story."""
    told, one, objects = tales(), story.people[person], story.scene.objects
    known: dict[Style, Facts] = {"held": told.held, "acts": told.acts, "visited": told.visited}
    looks = dict(objects[one.person].attributes)
    noun = PERSON_NOUNS[looks["age"], looks["gender"]][0]
    many = CATEGORIES[story.counted].plural
    return {
        **told.places[story.scene.background],
        **known[story.style][one.topic],
        "p": Ref((str(one.person),)),
        "o": Ref((str(one.other),)),
        "l": Ref((str(story.landmarks[0]),)),
        "m": Ref((str(story.landmarks[1]),)),
        "person": noun,
        "a_person": a(noun),
        "a_beside": a(f"{one.hue} {objects[one.other].category}"),
        "wears": one.wears,
        "where": one.where,
        "hue": one.hue,
        "hue_of_all": story.hue,
        "many": many,
        "are": "is" if story.count == 1 else "are",
        "count": f"{NUMBER_WORDS[story.count]} {story.counted if story.count == 1 else many}",
    }
