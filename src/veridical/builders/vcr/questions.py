"""Questions about stories of the icon world, each with its right answer and a reason that cites tagged objects.

Every template is a line with `{names}`: those of objects become tags, the others words. What they say is read off the
scene, so it holds. Things are tagged, never described: a borrowed answer then speaks of things that the other picture
shows too, and only what happens there tells whether it is right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veridical.language.english import NUMBER_WORDS
from veridical.records import Ref, Text
from veridical.sources.icons.glyphs import CATEGORIES, PERSON, PERSON_NOUNS
from veridical.sources.icons.stories import Event, Story, tales

Values = Mapping[str, "str | Ref"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A question, its answer and its rationale."""

    kind: str  # why, what, how many, who, where, next, feeling, role, what if
    question: Text
    answer: Text
    rationale: Text
    says: str  # the fact behind the answer: two answers of one fact are never choices of one question
    because: str  # the fact behind the rationale
    about: tuple[str, ...] = ()  # the things of this fact, tagged or not: a picture without them gives it away


def draft_questions(story: Story, rng: np.random.Generator, most: int = 3) -> list[Draft]:
    """Up to `most` questions about a story, one of each event: an answer to one must not answer another as well."""
    topics = [list(_ASKED[event.verb](story, event, rng)) for event in story.events]
    topics += [[_how_many(story, rng)], [_where(story, rng)]]
    chosen = [topics[k] for k in rng.permutation(len(topics))[:most]]
    return [drafts[int(rng.integers(len(drafts)))] for drafts in chosen]


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
    listed = [t if isinstance(t, str) else [int(o) for o in t.objects] for t in tokens]
    return Text(json.dumps(listed, ensure_ascii=False), tuple(tokens))


@dataclass(frozen=True, slots=True)
class _Pen:
    """Writes drafts about one fact."""

    rng: np.random.Generator
    values: Values
    fact: str

    @property
    def about(self) -> tuple[str, ...]:
        found = (self.values.get(name) for name in ("o", "one"))
        return tuple(o for one in found if isinstance(one, Ref) for o in one.objects)

    def draft(
        self,
        kind: str,
        question: Sequence[str],
        answer: Sequence[str],
        why: Sequence[str],
        says: str | None = None,
        because: str | None = None,
    ) -> Draft:
        chosen = [text(w[int(self.rng.integers(len(w)))], self.values) for w in (question, answer, why)]
        return Draft(kind, chosen[0], chosen[1], chosen[2], says or self.fact, because or self.fact, self.about)


def _hold(story: Story, event: Event, rng: np.random.Generator) -> Iterator[Draft]:
    thing = _name(story, event.other)
    tale = tales().held[thing]
    values = _values(story, event) | {one: tale[one] for one in ("purpose", "next", "fact")}
    pen = _Pen(rng, values, f"hold {thing}")
    near = ["{o} is right beside {p} , at arm 's length .", "{p} stands so close to {o} that they touch ."]
    holds = ["{o} is in the hand of {p} , and {fact} .", "{p} is holding {o} , and {fact} ."]
    yield pen.draft(
        "what",
        ["What is {p} doing ?", "What is {p} busy with ?"],
        ["{p} is holding {o} .", "{p} has {o} in hand ."],
        near,
    )
    yield pen.draft(
        "why",
        ["Why is {p} holding {o} ?", "Why does {p} have {o} ?"],
        ["{p} wants to {purpose} .", "{p} is planning to {purpose} ."],
        holds,
    )
    yield pen.draft(
        "next",
        ["What will {p} do next ?", "What is {p} about to do ?"],
        ["{p} will {next} .", "{p} is going to {next} ."],
        holds,
    )
    yield pen.draft(
        "who",
        ["Who has {o} ?", "Who is holding {o} ?"],
        ["{p} , the {person} in {wears} , has {o} .", "It is {p} , the {person} dressed in {wears} ."],
        ["Nobody stands closer to {o} than {p} , in {wears} .", "{p} wears {wears} and touches {o} ."],
        says="who {person} {wears}".format(**{k: v for k, v in values.items() if isinstance(v, str)}),
        because=f"hold {thing} {values['wears']}",
    )


def _watch(story: Story, event: Event, rng: np.random.Generator) -> Iterator[Draft]:
    thing = _name(story, event.other)
    tale = tales().watched[thing]
    pen = _Pen(rng, _values(story, event) | {one: tale[one] for one in ("wish", "mood", "fact")}, f"watch {thing}")
    ahead = ["{p} faces {side} , and {o} is straight ahead .", "{o} is in front of {p} , who faces {side} ."]
    yield pen.draft(
        "what",
        ["What is {p} looking at ?", "What has {p} noticed ?"],
        ["{p} is looking at {o} .", "{p} has noticed {o} ."],
        ahead,
    )
    yield pen.draft(
        "feeling",
        ["How does {p} feel ?", "What is the mood of {p} ?"],
        ["{p} is {mood} .", "{p} looks {mood} ."],
        ["{p} looks at {o} , and {fact} .", "{o} is ahead of {p} , and {fact} ."],
    )
    yield pen.draft(
        "why",
        ["Why is {p} walking that way ?", "Why is {p} going {side} ?"],
        ["{p} has seen {o} and wants to {wish} .", "{p} is drawn by {o} and wants to {wish} ."],
        ahead,
    )


def _chase(story: Story, event: Event, rng: np.random.Generator) -> Iterator[Draft]:
    animal = _name(story, event.other)
    tale = tales().chasers[animal]
    pen = _Pen(rng, _values(story, event) | {"does": tale["does"], "mood": tale["mood"]}, f"chase {animal}")
    behind = ["{o} is right behind {p} , and both face {side} .", "{p} runs {side} with {o} just behind ."]
    yield pen.draft(
        "why",
        ["Why is {p} running ?", "Why is {p} in such a hurry ?"],
        ["{o} is chasing {p} .", "{p} is fleeing from {o} ."],
        behind,
    )
    yield pen.draft(
        "feeling",
        ["How does {p} feel ?", "What is the mood of {p} ?"],
        ["{p} is {mood} .", "{p} looks {mood} ."],
        behind,
    )
    yield pen.draft(
        "what if",
        ["What would happen if {p} stopped ?", "What would happen if {p} fell ?"],
        ["{o} would catch up with {p} and {does} .", "{o} would reach {p} and {does} ."],
        behind,
    )
    yield pen.draft(
        "next",
        ["What will happen to {p} next ?", "What is about to happen to {p} ?"],
        ["{o} will catch {p} .", "{o} is going to get {p} ."],
        behind,
    )


def _act(story: Story, event: Event, rng: np.random.Generator) -> Iterator[Draft]:
    action = str(dict(story.scene.objects[event.person].attributes)["action"])
    tale = tales().acts[action]
    values = _values(story, event) | {"action": action, "role": tale["role"], "evidence": tale["evidence"]}
    pen = _Pen(rng, values, f"act {action}")
    seen = ["One can see of {p} that {evidence} .", "With {p} , {evidence} ."]
    yield pen.draft(
        "what",
        ["What is {p} doing ?", "What is {p} busy with ?"],
        ["{p} is {action} .", "{p} , in {wears} , is {action} .", "The {person} {p} is {action} ."],
        seen,
    )
    yield pen.draft(
        "role",
        ["Who is {p} ?", "What is the role of {p} here ?"],
        ["{p} is {role} .", "{p} , in {wears} , is {role} ."],
        seen,
    )


def _how_many(story: Story, rng: np.random.Generator) -> Draft:
    kind = CATEGORIES[story.counted]
    middle = story.scene.width / 2
    found = [k for k, one in enumerate(story.scene.objects) if one.category == story.counted]
    left = sum((story.scene.box(k)[0] + story.scene.box(k)[2]) / 2 < middle for k in found)
    number, right = len(found), len(found) - left
    values: Values = {
        "p": _person(story, rng),
        "one": Ref((str(found[int(rng.integers(number))]),)),
        "many": kind.plural,
        "count": f"{NUMBER_WORDS[number]} {kind.plural if number != 1 else kind.name}",
        "are": "are" if number != 1 else "is",
        "left": NUMBER_WORDS[left] if left else "none",
        "right": NUMBER_WORDS[right] if right else "none",
    }
    pen = _Pen(rng, values, f"count {number} {kind.name}")
    alone = ["{one} is the only one to be seen .", "There is nothing like {one} besides it ."]
    several = [
        "Like {one} , {left} can be seen in the left half and {right} in the right half .",
        "Counting {one} , there are {left} on the left side and {right} on the right side .",
    ]
    return pen.draft(
        "how many",
        ["How many {many} are there around {p} ?", "How many {many} can {p} see ?"],
        ["There {are} {count} .", "{p} can see {count} ."],
        several if number > 1 else alone,
        because=f"count {left} {right} {kind.name}",
    )


def _where(story: Story, rng: np.random.Generator) -> Draft:
    tale = tales().places[story.scene.background]
    values: Values = {"p": _person(story, rng), "place": tale["place"], "evidence": tale["evidence"]}
    return _Pen(rng, values, f"place {tale['place']}").draft(
        "where",
        ["Where is {p} ?", "In what place can one meet {p} ?"],
        ["{p} is {place} .", "One can meet {p} {place} ."],
        ["Around {p} {evidence} .", "Behind {p} one can see that {evidence} ."],
    )


_ASKED: dict[str, Callable[[Story, Event, np.random.Generator], Iterator[Draft]]] = {
    "hold": _hold,
    "watch": _watch,
    "chase": _chase,
    "act": _act,
}


def _values(story: Story, event: Event) -> dict[str, str | Ref]:
    """What every template of an event may speak of."""
    attributes = dict(story.scene.objects[event.person].attributes)
    values: dict[str, str | Ref] = {
        "p": Ref((str(event.person),)),
        "person": PERSON_NOUNS[attributes["age"], attributes["gender"]][0],
        "wears": attributes["color"],
        "side": attributes.get("facing", ""),
    }
    if event.other is not None:
        values["o"] = Ref((str(event.other),))
    return values


def _name(story: Story, index: int | None) -> str:
    if index is None:
        raise ValueError("the event has no second object")
    return story.scene.objects[index].category


def _person(story: Story, rng: np.random.Generator) -> Ref:
    people = [str(k) for k, one in enumerate(story.scene.objects) if one.category == PERSON]
    return Ref((people[int(rng.integers(len(people)))],))
