"""What a simulated person says to each kind of task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veridical.language.english import NUMBER_WORDS, a, plural
from veridical.web.collect import kinds
from veridical.web.collect.records import Offer
from veridical.web.collect.rehearsal.people import Person
from veridical.web.collect.rehearsal.world import World

SKIPS = 0.045  # V-PROM, section 3.3
_COLORS, _SHAPES = ("black", "blue", "yellow"), ("square", "circle", "triangle")
_DOING = ("standing", "lying on the ground", "facing the camera", "facing left", "next to each other", "partly covered")
_REASONS = ("needs help with", "wants to buy", "has just lost", "is proud of", "was asked about", "cannot lift",
            "has to sell", "is afraid of", "forgot to bring", "was given", "has broken", "looks for")  # fmt: skip
_THINGS = ("letter", "ladder", "guitar", "lamp", "ticket", "map", "coat", "basket", "clock", "rope", "kettle", "mirror",
           "bicycle", "violin", "hammer", "blanket", "suitcase", "candle", "shovel", "umbrella")  # fmt: skip
_WHEN = ("at last", "this morning", "once more", "by mistake", "after lunch", "before the rain", "for the first time",
         "without a word", "on the way home", "as every day")  # fmt: skip
_WHY = ("waiting for", "looking at", "talking to", "walking towards", "smiling at", "pointing at")


def answer(one: Person, world: World, offer: Offer) -> dict[str, Any]:
    """The answer of a person to an offer."""
    shown = kinds.payload(offer.task)
    qualifying = offer.task.purpose == "qualification"
    return _ANSWERS[offer.task.kind](one, world, shown, offer, qualifying)


def _tutorial(one: Person, world: World, shown: kinds.Tutorial, offer: Offer, qualifying: bool) -> dict[str, Any]:
    known = world.known(offer.task.payload) or {"choice": 0}
    if one.rng.random() < 0.9:
        return {"choice": known["choice"]}
    return {"choice": int(one.rng.integers(len(shown.options)))}


def _guideline(one: Person, world: World, shown: kinds.Guideline, offer: Offer, qualifying: bool) -> dict[str, Any]:
    known = (world.known(offer.task.payload) or {"follows": True})["follows"]
    return {"follows": bool(known) == one.right(qualifying)}


def _prune(one: Person, world: World, shown: kinds.Prune, offer: Offer, qualifying: bool) -> dict[str, Any]:
    if one.guesses:
        return {"removed": {}}  # clicks on
    out = {}
    planted = (world.known(offer.task.payload) or {"removed": []})["removed"]
    for picture in shown.pictures:
        reason = kinds.PRUNE_REASONS[0] if picture.name in planted else world.reason_to_remove(picture.name)
        slips = one.rng.random() < (1 - one.character.skill) / 5  # nobody takes a good one for bad so easily
        if slips or (reason and one.right(qualifying)):
            out[picture.name] = reason or kinds.PRUNE_REASONS[0]
    return {"removed": out}


def _sets(one: Person, world: World, shown: kinds.Sets, offer: Offer, qualifying: bool) -> dict[str, Any]:
    names = [picture.name for picture in shown.pictures]
    double = [name for name in names[1:] if world.is_double(name) and one.right(qualifying)]
    dull = [name for name in names if name not in double and world.is_dull(name) and one.right(qualifying)]
    return {"duplicates": double, "dull": dull}


def _number(rng: np.random.Generator, least: int = 1) -> str:
    return NUMBER_WORDS[int(rng.integers(least, 9))]


def pair_sentence(one: Person, noun: str, follows: bool) -> str:
    """A sentence about two photographs; many, so that hardly two are alike."""
    rng, many = one.rng, plural(noun)
    doing = _DOING[int(rng.integers(len(_DOING)))]
    if not follows:
        broken = (f"There is {a(noun)}.", f"The {many} look nice and are probably happy.",
                  f"One image is blurry and shows {a(noun)}.", f"There is {a(noun)} in the left image.")  # fmt: skip
        return broken[int(rng.integers(len(broken)))]
    forms = (
        f"There are at least {_number(rng)} {many} in total, and no more than {_number(rng, 2)} of them are {doing}.",
        f"The image on the left has more {many} than the image on the right, and {_number(rng)} of them are {doing}.",
        f"Each image has the same number of {many}, and at most {_number(rng)} of them are {doing}.",
        f"Exactly {_number(rng)} {many} are {doing}, and {_number(rng)} others are not.",
    )
    return forms[int(rng.integers(len(forms)))]


def _contrast(one: Person, world: World, shown: kinds.Pairs, offer: Offer, qualifying: bool) -> dict[str, Any]:
    if one.character.honest and one.rng.random() < 0.02:
        return {"flag": kinds.FLAG_REASONS[int(one.rng.integers(len(kinds.FLAG_REASONS)))]}
    selected = sorted(int(k) for k in one.rng.permutation(len(shown.pairs))[:2])
    follows = bool(one.rng.random() < (0.95 if qualifying else one.character.follows))
    sentence = pair_sentence(one, shown.synset.replace("_", " "), follows)
    world.follows[sentence] = follows
    for place, pair in enumerate(shown.pairs):
        _meant(one, world, sentence, [picture.name for picture in pair], place in selected)
    return {"selected": selected, "sentence": sentence}


def _meant(one: Person, world: World, sentence: str, pictures: Sequence[str], meant: bool) -> None:
    """What a sentence is of some pictures: what its writer meant, but for slips; now and then nonsense."""
    draw = one.rng.random()
    truth: bool | str = meant if draw < one.character.meant else not meant
    world.say(sentence, pictures, "nonsense" if one.guesses and draw > 0.8 else truth)


def _sentence(one: Person, world: World, shown: kinds.Drawings, offer: Offer, qualifying: bool) -> dict[str, Any]:
    rng = one.rng
    color, shape = _COLORS[int(rng.integers(3))], _SHAPES[int(rng.integers(3))]
    other = _COLORS[int(rng.integers(3))]
    text = f"There is a box with at least {_number(rng)} {plural(shape)} and {_number(rng)} {color} items, "
    text += f"one of them above a {other} one"
    world.follows[text] = bool(rng.random() < (0.95 if qualifying else one.character.follows))
    for letter, picture in enumerate(shown.pictures):
        _meant(one, world, text, [picture.name], letter < 2)
    return {"sentence": text}


def _verdict(one: Person, truth: bool | str, qualifying: bool) -> bool | str:
    if one.guesses and not qualifying:
        return bool(one.rng.integers(2))
    if one.right(qualifying):
        return truth
    wrong: list[bool | str] = [not truth] * 9 + ["nonsense"] if isinstance(truth, bool) else [True, False]
    return wrong[int(one.rng.integers(len(wrong)))]


def _validate(one: Person, world: World, shown: kinds.Validate, offer: Offer, qualifying: bool) -> dict[str, Any]:
    known = world.known(offer.task.payload)
    names = [picture.name for picture in shown.pictures]
    truth = world.truth(shown.sentence, names) if known is None else known["verdict"]
    return {"verdict": _verdict(one, truth, qualifying)}


def _questions(one: Person, world: World, shown: kinds.Asking, offer: Offer, qualifying: bool) -> dict[str, Any]:
    rng = one.rng
    people = [k for k, o in enumerate(shown.objects) if o.name.startswith("person")] or list(range(len(shown.objects)))
    out: list[dict[str, Any]] = []
    for _ in range(int(rng.integers(shown.least, shown.most + 1))):
        who, whom = (int(rng.choice(people)) for _ in range(2))
        thing = int(rng.integers(len(shown.objects)))
        does = _WHY[int(rng.integers(len(_WHY)))]
        asked: list[Any] = ["Why", "is", [who], *does.split(), [whom], "now", "?"]
        reason, what, when = (some[int(rng.integers(len(some)))] for some in (_REASONS, _THINGS, _WHEN))
        said: list[Any] = [[who], *reason.split(), "a", what, *when.split(), "and", "sees", [thing], "."]
        because: list[Any] = ["Whoever", *reason.split(), "a", what, "turns", "to", [whom], *when.split(), "."]
        likely = kinds.LIKELIHOODS[int(rng.integers(len(kinds.LIKELIHOODS)))]
        line = {"question": asked, "answer": said, "rationale": because, "likelihood": likely}
        if all(asked != other["question"] for other in out):
            out.append(line)
            good = bool(rng.random() < one.character.meant)
            world.true[_question_key(shown.picture.name, asked, said)] = good
    return {"questions": out}


def _question_key(picture: str, question: Sequence[Any], answer_: Sequence[Any]) -> tuple[str, ...]:
    words = [str(list(t)) if not isinstance(t, str) else t for t in (*question, *answer_)]
    return (picture, *words)


def _accept(one: Person, world: World, shown: kinds.Accept, offer: Offer, qualifying: bool) -> dict[str, Any]:
    known = world.known(offer.task.payload)
    if known is not None:
        return {"verdict": _verdict(one, known["verdict"], qualifying)}
    truth = world.true.get(_question_key(shown.picture.name, shown.question, shown.answer), "nonsense")
    return {"verdict": _verdict(one, truth, qualifying)}


def _choose(one: Person, world: World, shown: kinds.Choose, offer: Offer, qualifying: bool) -> dict[str, Any]:
    known = world.known(offer.task.payload)
    right = int(known["choice"]) if known else world.choice(offer.task.payload)
    if one.guesses:
        return {"choice": int(one.rng.integers(len(shown.candidates)))}
    if one.rng.random() < SKIPS:
        return {"skip": True}
    if one.right(qualifying):
        return {"choice": right}
    wrong = [k for k in range(len(shown.candidates)) if k != right]
    return {"choice": int(one.rng.choice(wrong))}


_ANSWERS: dict[str, Callable[[Person, World, Any, Offer, bool], dict[str, Any]]] = {
    "tutorial": _tutorial,
    "guideline": _guideline,
    "prune": _prune,
    "sets": _sets,
    "sentence": _sentence,
    "contrast": _contrast,
    "validate": _validate,
    "questions": _questions,
    "accept": _accept,
    "choose": _choose,
}
