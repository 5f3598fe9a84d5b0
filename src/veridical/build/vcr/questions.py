"""Questions about stories of the icon world, each with its right answer and a reason that cites tagged objects.

Every template is a line with `{names}`: those of objects become tags, the others words. What they say is read off the
scene, so it holds. Of several wordings the first is the plainest: wordings whose first ones agree mean the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veridical.build.vcr.stories import Event, Story, tales
from veridical.language.tokens import NUMBER_WORDS
from veridical.records import Ref, Text
from veridical.sources.icons import CATEGORIES, PERSON, PERSON_NOUNS

Values = Mapping[str, "str | Ref"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A question, its answer and its rationale."""

    kind: str  # why, what, how many, who, where, next, feeling, role, what if
    question: Text
    answer: Text
    rationale: Text
    says: str  # what the answer says, whatever its wording: two that say the same are never choices of one question
    because: str  # what the rationale says


def draft_questions(story: Story, rng: np.random.Generator, most: int = 3) -> list[Draft]:
    """Up to `most` questions about a story, one of each event: an answer to one must not answer another as well."""
    topics = [list(_ASKED[event.kind](story, event, rng)) for event in story.events]
    topics += [[_how_many(story, rng)], [_where(story, rng)]]
    chosen = [topics[k] for k in rng.permutation(len(topics))[:most]]
    return [drafts[int(rng.integers(len(drafts)))] for drafts in chosen]


def text(template: str, values: Values) -> Text:
    """The tokens of a template, in the form of the official files.

    >>> text("Why is {p} near the {thing} ?", {"p": Ref(("0",)), "thing": "red key"}).raw
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


def _draft(
    kind: str,
    rng: np.random.Generator,
    values: Values,
    question: Sequence[str],
    answer: Sequence[str],
    why: Sequence[str],
) -> Draft:
    def word(wordings: Sequence[str]) -> Text:
        return text(wordings[int(rng.integers(len(wordings)))], values)

    def meaning(wordings: Sequence[str]) -> str:
        return text(wordings[0], values).words(dict.fromkeys(_tagged(values), PERSON))

    return Draft(kind, word(question), word(answer), word(why), meaning(answer), meaning(why))


def _hold(story: Story, event: Event, rng: np.random.Generator) -> Iterator[Draft]:
    tale = tales()["held"][_name(story, event.other)]
    values = _values(story, event) | {one: tale[one] for one in ("purpose", "next", "fact")}
    near = ["{a_thing} is right beside {p} , at arm 's length .", "{p} stands so close to {a_thing} that they touch ."]
    yield _draft(
        "what", rng, values, ["What is {p} doing ?", "What is {p} busy with ?"],
        ["{p} is holding {a_thing} .", "{p} has {a_thing} in hand ."], near,
    )  # fmt: skip
    yield _draft(
        "why", rng, values, ["Why is {p} holding {o} ?", "Why does {p} have {o} ?"],
        ["{p} wants to {purpose} .", "{p} needs it to {purpose} ."],
        ["{p} has {a_thing} , and {fact} .", "{a_thing} is in the hand of {p} , and {fact} ."],
    )  # fmt: skip
    yield _draft(
        "next", rng, values, ["What will {p} do next ?", "What is {p} about to do ?"],
        ["{p} will {next} .", "{p} is going to {next} ."],
        ["{p} already has {a_thing} , and {fact} .", "{p} is holding {a_thing} , and {fact} ."],
    )  # fmt: skip
    yield _draft(
        "who", rng, values, ["Who has the {thing} ?", "Who is holding the {thing} ?"],
        ["{p} , the {person} in {wears} , has it .", "It is {p} , the {person} dressed in {wears} ."],
        ["Nobody stands closer to the {thing} than {p} , in {wears} .", "{p} wears {wears} and touches the {thing} ."],
    )  # fmt: skip


def _watch(story: Story, event: Event, rng: np.random.Generator) -> Iterator[Draft]:
    tale = tales()["watched"][_name(story, event.other)]
    values = _values(story, event) | {one: tale[one] for one in ("wish", "mood", "fact")}
    ahead = [
        "{p} faces {side} , and {a_thing} is straight ahead .",
        "{a_thing} is in front of {p} , who faces {side} .",
    ]
    yield _draft(
        "what", rng, values, ["What is {p} looking at ?", "What has {p} noticed ?"],
        ["{p} is looking at {a_thing} .", "{p} has noticed {a_thing} ."], ahead,
    )  # fmt: skip
    yield _draft(
        "feeling", rng, values, ["How does {p} feel ?", "What is the mood of {p} ?"],
        ["{p} is {mood} .", "{p} looks {mood} ."],
        ["{p} looks at {a_thing} , and {fact} .", "There is {a_thing} ahead of {p} , and {fact} ."],
    )  # fmt: skip
    yield _draft(
        "why", rng, values, ["Why is {p} walking that way ?", "Why is {p} going {side} ?"],
        ["{p} has seen {a_thing} and wants to {wish} .", "There is {a_thing} , and {p} wants to {wish} ."], ahead,
    )  # fmt: skip


def _chase(story: Story, event: Event, rng: np.random.Generator) -> Iterator[Draft]:
    values = _values(story, event) | {"does": tales()["chasers"][_name(story, event.other)]}
    behind = ["{a_thing} is right behind {p} , and both face {side} .", "{p} runs {side} with {a_thing} just behind ."]
    yield _draft(
        "why", rng, values, ["Why is {p} running ?", "Why is {p} in such a hurry ?"],
        ["{a_thing} is chasing {p} .", "{p} is fleeing from {a_thing} ."], behind,
    )  # fmt: skip
    yield _draft(
        "feeling", rng, values, ["How does {p} feel ?", "What is the mood of {p} ?"],
        ["{p} is afraid of the {thing} .", "{p} is scared by the {thing} ."], behind,
    )  # fmt: skip
    yield _draft(
        "what if", rng, values, ["What would happen if {p} stopped ?", "What would happen if {p} fell ?"],
        ["{a_thing} would catch up with {p} and {does} .", "{a_thing} would reach {p} and {does} ."], behind,
    )  # fmt: skip
    yield _draft(
        "next", rng, values, ["What will happen to {p} next ?", "What is about to happen to {p} ?"],
        ["{a_thing} will catch {p} .", "{a_thing} is going to get {p} ."], behind,
    )  # fmt: skip


def _act(story: Story, event: Event, rng: np.random.Generator) -> Iterator[Draft]:
    action = str(dict(story.scene.objects[event.person].attributes)["action"])
    tale = tales()["acts"][action]
    values = _values(story, event) | {"action": action, "role": tale["role"], "evidence": tale["evidence"]}
    seen = ["One can see of {p} that {evidence} .", "With {p} , {evidence} ."]
    yield _draft(
        "what", rng, values, ["What is {p} doing ?", "What is {p} busy with ?"],
        ["{p} is {action} .", "{p} , in {wears} , is {action} .", "The {person} {p} is {action} ."], seen,
    )  # fmt: skip
    yield _draft(
        "role", rng, values, ["Who is {p} ?", "What is the role of {p} here ?"],
        ["{p} is {role} .", "{p} , in {wears} , is {role} ."], seen,
    )  # fmt: skip


def _how_many(story: Story, rng: np.random.Generator) -> Draft:
    kind = CATEGORIES[story.counted]
    middle = story.scene.width / 2
    found = [k for k, one in enumerate(story.scene.objects) if one.category == story.counted]
    left = sum((story.scene.box(k)[0] + story.scene.box(k)[2]) / 2 < middle for k in found)
    number, right = len(found), len(found) - left
    values: Values = {
        "p": _person(story, rng),
        "many": kind.plural,
        "count": f"{NUMBER_WORDS[number]} {kind.plural if number != 1 else kind.name}",
        "are": "are" if number != 1 else "is",
        "left": NUMBER_WORDS[left] if left else "none",
        "right": NUMBER_WORDS[right] if right else "none",
    }
    return _draft(
        "how many", rng, values, ["How many {many} are there around {p} ?", "How many {many} can {p} see ?"],
        ["There {are} {count} .", "{p} can see {count} ."],
        ["Of the {many} , {left} can be seen in the left half and {right} in the right half .",
         "There are {many} : {left} on the left side and {right} on the right side ."],
    )  # fmt: skip


def _where(story: Story, rng: np.random.Generator) -> Draft:
    tale = tales()["places"][story.scene.background]
    values: Values = {"p": _person(story, rng), "place": tale["place"], "evidence": tale["evidence"]}
    return _draft(
        "where", rng, values, ["Where is {p} ?", "Where is this taking place ?"],
        ["{p} is {place} .", "They are {place} ."], ["Around {p} {evidence} .", "One can see that {evidence} ."],
    )  # fmt: skip


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
        other = story.scene.objects[event.other]
        color = dict(other.attributes)["color"]
        article = "an" if color[0] in "aeiou" else "a"
        plural = CATEGORIES[other.category].plural == other.category  # scissors
        values |= {
            "o": Ref((str(event.other),)),
            "thing": other.category,
            "a_thing": f"{color} {other.category}" if plural else f"{article} {color} {other.category}",
        }
    return values


def _name(story: Story, index: int | None) -> str:
    if index is None:
        raise ValueError("the event has no second object")
    return story.scene.objects[index].category


def _person(story: Story, rng: np.random.Generator) -> Ref:
    people = [str(k) for k, one in enumerate(story.scene.objects) if one.category == PERSON]
    return Ref((people[int(rng.integers(len(people)))],))


def _tagged(values: Values) -> list[str]:
    return [name for value in values.values() if isinstance(value, Ref) for name in value.objects]
