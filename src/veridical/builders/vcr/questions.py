"""Questions about quartets of the icon world, each with its right answer and a reason that says where to look.

A block is one question about each photograph of a quartet, from one template of `questions.json`; its four answers are
different, and so are its four reasons. Some blocks put one question to the four photographs. In the others every row
asks in its own words, and no choice has a tag: it says something that is true of somebody in each of the four
photographs, and only the question says who is meant.

The four people of a block share one property and differ in all others (`stories.plane`). A question says some
properties of them ("the woman in red", "the blue tool"), the answers say others, the reasons still others: no wording
of a block says what another part has said. So neither the question nor the right answer tells the right choice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from veridical.builders.vcr.written import Written, text_of
from veridical.engine import run
from veridical.language.english import NUMBER_WORDS, a
from veridical.options.running import Workers
from veridical.records import Ref, Text
from veridical.sources import Photograph
from veridical.sources.icons.draw import encode
from veridical.sources.icons.glyphs import CATEGORIES
from veridical.sources.icons.stories import FOUR, IconStories, Story, StoryPerson, seen_as, tales
from veridical.sources.icons.worlds import one_of

BATCH = 25  # quartets
Words = tuple[str, ...]  # one text in several wordings
Values = Mapping[str, str | Ref]  # what templates may speak of: objects become tags, the others are words
Said = frozenset[str]  # properties that a wording gives away
PROPERTIES = ("topic", "wears", "where", "hue")  # of people; four of a block share one of them
TAGGED = 0.45  # how often somebody is tagged; otherwise described
TRIES = 200  # to find wordings of a block that go together
_PLACE = re.compile(r"{([\w]+)}")
# What words of templates say; every other one is a fact about the topic.
_SAYS = {
    **dict.fromkeys(("P", "p", "o", "kind", "many", "color", "are"), ()),
    **dict.fromkeys(("person", "wears", "who", "a_who"), ("wears",)),
    # a thing beside somebody has one colour in all four photographs: its class tells as much
    **dict.fromkeys(("hue", "thing", "a_beside", "b"), ("hue",)),
    **dict.fromkeys(("whole", "a_whole"), ("topic", "hue")),
    **dict.fromkeys(("setting", "ground"), ("place",)),
    **dict.fromkeys(("number", "amount", "the_amount"), ("number",)),
    "where": ("where",),
    **dict.fromkeys(("paint", "the_painted"), ("paint",)),
}


class Template(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to ask, each part in several wordings. {P} is whom it is about, tagged or described."""

    about: str  # the style of a quartet; alike or mixed: the things to count; any
    asks: str  # an inference of the paper's Figure 2, attribute, count or relation
    question: Words
    answer: Words
    why: str  # a key of the reasons
    of_children: Words = ()  # the question, where it is about a child
    near: bool = True  # people may be described by what they have to do with; not where that is asked

    def wordings(self, one: StoryPerson) -> Words:
        return self.of_children if self.of_children and one.looks[0] == "child" else self.question


class Writing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `questions.json` holds."""

    people: dict[str, Words]  # descriptions: by clothes, by place, and for each style by what they have to do with
    reasons: dict[str, Words]  # where to look
    templates: tuple[Template, ...]


class Block(NamedTuple):
    """How the four photographs are asked about."""

    people: list[StoryPerson]  # one of each photograph; they share one property
    questions: list[str]  # wordings, one for each photograph
    answers: Words
    reasons: Words


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


def tell(stories: IconStories, each: int, *, workers: Workers, work: Path | None) -> list[ToldStory]:
    """Every story with `each` questions."""
    quartets = range(stories.count // FOUR)
    batches = [quartets[k : k + BATCH] for k in range(0, len(quartets), BATCH)]
    made = run(partial(_tell, stories, each), batches, workers=workers, work=work, label="telling stories")
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
    """Up to four blocks about a quartet, none of one template."""
    style = four[0].style
    left = [one for one in writing().templates if one.about in (style, "mixed" if four[0].mixed else "alike", "any")]
    blocks = []
    for number in range(min(most, FOUR)):
        together = rng.random() < 0.5  # one question to all four
        # what is known of a photograph as a whole is no choice that is true of each
        fitting = [one for one in left if together or one.about in (style, "any")]
        inference = one_of(rng, dict.fromkeys(one.asks for one in fitting))  # all as often
        template = one_of(rng, [one for one in fitting if one.asks == inference])
        left.remove(template)
        people, questions, answers, reasons = block(template, four, rng, together)
        written = []
        for story, one, question, image in zip(four, people, questions, images, strict=True):
            values = _values(story, one)
            asks, answer, why = (text(w, values) for w in (question, one_of(rng, answers), one_of(rng, reasons)))
            name, kin = f"{image}-{number}", f"{quartet}-{number}"
            written.append(Written(name, image, asks, answer, why, movie=quartet, asks=template.asks, kin=kin))
        blocks.append(written)
    return blocks


def block(template: Template, four: Sequence[Story], rng: np.random.Generator, together: bool) -> Block:
    """Wordings that say different things in question, answers and reasons; every template has some that do."""
    style = four[0].style
    for _ in range(TRIES):
        first = one_of(rng, four[0].people)
        question = _picked(rng, _wordings(template, first, style))
        said = _given_away(template, question)
        tags = _tags(question) if together else frozenset()
        answers = [w for w in template.answer if _tags(w) <= tags and not says(w) & said]
        if not answers or (together and len(said) > 1):
            continue
        told = says(one_of(rng, answers))  # all four answers say as much
        for shared in rng.permutation(PROPERTIES).tolist():
            if shared in told or (together and not said <= {shared}):
                continue
            silent = said | told | {shared}
            reasons = [w for w in writing().reasons[template.why] if _tags(w) <= tags and says(w) - silent == says(w)]
            people = [story.who(shared, getattr(first, shared)) for story in four]
            questions = [question] * FOUR if together else [_own(template, one, style, said, rng) for one in people]
            if reasons:
                return Block(people, questions, tuple(w for w in answers if says(w) == told), tuple(reasons))
    raise ValueError(f"no wordings of {template.question[0]!r} go together")


def _wordings(template: Template, one: StoryPerson, style: str) -> list[str]:
    """All ways to ask, with everybody tagged or described."""
    out = []
    for wording in template.wordings(one):
        if "{P}" not in wording:
            out.append(wording)
            continue
        near = template.near and not {"thing", "o", "b"} & set(_PLACE.findall(wording))
        by = ("wears", "where", style) if near else ("wears", "where")
        found = ["{p}", *(words for key in by for words in writing().people[key])]
        out += [wording.replace("{P}", words) for words in found]
    return out


def _picked(rng: np.random.Generator, wordings: Sequence[str]) -> str:
    """One of them, as often with a tagged person as with one that is described."""
    tagged = rng.random() < TAGGED
    return one_of(rng, [w for w in wordings if ("{p}" in w) == tagged] or wordings)


def _own(template: Template, one: StoryPerson, style: str, said: Said, rng: np.random.Generator) -> str:
    """A question about somebody that says as much as the others of its block."""
    wordings = {w: _given_away(template, w) for w in _wordings(template, one, style)}
    as_much = [w for w, gives in wordings.items() if gives == said]
    return _picked(rng, as_much or [w for w, gives in wordings.items() if gives <= said])


def _given_away(template: Template, question: str) -> Said:
    return says(question) | {"wears"} if template.of_children else says(question)


@cache
def says(wording: str) -> Said:
    """The properties that a wording gives away.

    >>> sorted(says("What is the {person} in {wears} doing next to {thing} ?")), sorted(says("To {use} ."))
    (['hue', 'wears'], ['topic'])
    """
    return frozenset(one for word in _PLACE.findall(wording) for one in _SAYS.get(word, ("topic",)))


def _tags(wording: str) -> frozenset[str]:
    return frozenset(_PLACE.findall(wording)) & {"p", "o", "b"}


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


def _values(story: Story, one: StoryPerson) -> dict[str, str | Ref]:
    """What can be said of one person of a story, and of the story."""
    told, thing = tales(), story.scene.objects[one.other].category
    kind, noun = seen_as(thing), CATEGORIES[story.counted]
    single = story.count == 1
    number = NUMBER_WORDS[story.count]
    things = noun.name if single else noun.plural
    who = f"{one.noun} in {one.wears}"
    return {
        **told.places[story.scene.background],
        **told.known(story.style)[one.topic],
        "p": Ref((str(one.person),)),
        "o": Ref((str(one.other),)),
        "b": Ref((str(one.other),)),
        "topic": one.topic,
        "a_topic": a(one.topic),
        "the_topic": f"the {one.topic}",
        "whole": f"{one.hue} {one.topic}",
        "a_whole": a(f"{one.hue} {one.topic}"),
        "kind": kind,
        "thing": f"the {one.hue} {thing if story.style == 'acts' else kind}",
        "a_beside": a(f"{one.hue} {thing}"),
        "person": one.noun,
        "who": f"the {who}",
        "a_who": a(who),
        "wears": one.wears,
        "where": one.where,
        "hue": one.hue,
        "paint": story.hue,
        "color": story.hue,
        "many": noun.plural,
        "are": "is" if single else "are",
        "number": number,
        "amount": f"{number} {things}",
        "the_amount": f"the {'only' if single else number} {story.hue} {things}",
        "the_painted": f"the {story.hue} {things}",
    }
