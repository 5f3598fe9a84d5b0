"""The families of sentences about two images: which images are meant, and what is claimed, compared or counted.

Each family drafts a sentence together with the sentence that denies it. Left and right, more and fewer, at least and
at most are drawn with equal chances, so that no kind of sentence favours some kind of pair. The weights bring the
phenomena near to the shares of the paper's Table 5.
"""

from __future__ import annotations

from veridical.language.programs.terms import Term, term
from veridical.language.writing.pairs.claims import (
    AT_LEAST_ONE,
    Claim,
    amount_claim,
    both_flags,
    claim,
    count,
    deny,
    every_way,
    panels_of,
)
from veridical.language.writing.pairs.compared import (
    crossed,
    difference,
    more_than,
    multiple,
    same_number,
    total,
    total_amount,
    total_contrast,
)
from veridical.language.writing.pairs.frames import Draft, Family, a_side, exists, has, of_images, of_side, there, verbs
from veridical.language.writing.pairs.kinds import PANELS, SIDES, Desk, NoDraft
from veridical.language.writing.pairs.quantified import alike, definite, hypernym, of_them, partitive, universal
from veridical.language.writing.pairs.words import a

__all__ = ["FAMILIES"]


def side(desk: Desk) -> Draft:
    """The left image contains ..., there are ... in the right image."""
    at, name, _ = a_side(desk)
    what = claim(desk, at)
    desk.must_tell([flags[at] for flags in what.flags])
    readings = of_side(at, what.readings)
    if desk.chance(0.3):
        said, denied = there(what)
        if desk.chance(0.3) or what.spatial:
            return Draft(f"in {name}, {said}", denied and f"in {name}, {denied}", readings, what.spatial)
        return Draft(f"{said} in {name}", denied and f"{denied} in {name}", readings, what.spatial)
    said, denied = has(what, True, verbs(desk))
    return Draft(f"{name} {said}", denied and f"{name} {denied}", readings, what.spatial)


def each(desk: Desk) -> Draft:
    """Both images, each image; at least one does not."""
    what, verb = _not_none(claim(desk)), verbs(desk)
    desk.must_tell([all(flags) for flags in what.flags])
    readings = tuple(term("every", PANELS, reading) for reading in what.readings)
    one, denied = has(what, True, verb)
    if desk.chance(0.3) and not what.spatial:
        said = f"{there(what)[0]} in {desk.pick('each', 'each', 'every')} {desk.image}"
    elif desk.chance(0.5) and what.number > 1:
        said = f"both {desk.image}s {has(what, False, verb)[0]}"
    else:
        subject = desk.pick(*[f"each {desk.image}"] * 2, f"every {desk.image}", f"each of the two {desk.image}s")
        said = f"{subject} {one}"
    return Draft(said, denied and f"at least one {desk.image} {denied}", readings, what.spatial)


def _not_none(what: Claim) -> Claim:
    """A claim of something: that images have none of a kind is said by "neither image"."""
    if what.said.startswith("no "):
        raise NoDraft
    return what


def some_image(desk: Desk) -> Draft:
    """At least one image, one of the images; neither."""
    what, verb = _not_none(claim(desk)), verbs(desk)
    desk.must_tell([any(flags) for flags in what.flags])
    amounts = [AT_LEAST_ONE]
    subject = desk.pick(f"one {desk.image}", f"one of the {desk.image}s")
    if desk.chance(0.25):
        subject = f"at least {subject}"
    else:  # one alone, or one at least
        amounts.append(term("exactly", 1))
    said = f"{subject} {has(what, True, verb)[0]}"
    if desk.chance(0.25):
        said = f"in {subject}, {there(what)[0]}"
    none = desk.pick(*[f"neither {desk.image}"] * 2, f"neither of the {desk.image}s")
    denied = None if " but " in what.said else f"{none} {verb[0]} {what.after_not or what.said}"
    return Draft(said, denied, of_images(amounts, what.readings), what.spatial)


def one_image(desk: Desk) -> Draft:
    """Exactly one image; both or neither."""
    what, verb = _not_none(claim(desk)), verbs(desk)
    desk.must_tell([left != right for left, right in what.flags])
    subject = f"{desk.pick('exactly', 'only')} {desk.pick(f'one {desk.image}', f'one of the {desk.image}s')}"
    return Draft(
        f"{subject} {has(what, True, verb)[0]}",
        f"either both {desk.image}s {has(what, False, verb)[0]} or neither of them does",
        of_images([term("exactly", 1)], what.readings),
        what.spatial,
    )


def only_side(desk: Desk) -> Draft:
    """Only the left image."""
    what, (at, name, _) = _not_none(amount_claim(desk)), a_side(desk)
    desk.must_tell([flags[at] and not flags[1 - at] for flags in what.flags])
    readings = tuple(
        term("and", term("every", SIDES[at], reading), term("every", SIDES[1 - at], deny(reading)))
        for reading in what.readings
    )
    return Draft(f"only {name} {has(what, True, verbs(desk))[0]}", None, readings, what.spatial)


def also(desk: Desk) -> Draft:
    """One image contains two dogs, and it also contains a cat; no image that does the one does the other."""
    first, second = _two_claims(desk)
    desk.must_tell([any(flags) for flags in both_flags(first.flags, second.flags)])
    verb = verbs(desk)
    both = every_way(lambda x, y: term("and", x, y), first.readings, second.readings)
    subject = desk.pick(f"one {desk.image}", f"one of the {desk.image}s")
    return Draft(
        f"{subject} {verb[0]} {first.said}, and it also {verb[0]} {second.said}",
        f"no {desk.image} that {verb[0]} {first.said} also {verb[0]} {second.said}",
        of_images([AT_LEAST_ONE, term("exactly", 1)], both),
        first.spatial or second.spatial,
    )


def _two_claims(desk: Desk) -> tuple[Claim, Claim]:
    """Claims of two kinds; the first may be told by where its things are."""
    one = desk.kind(rich=False, plain=True, telling=False)
    other = desk.other(one)
    rich = desk.relation_of(one) if desk.facts.boxed and desk.chance(0.35) else one
    return _not_none(amount_claim(desk, rich)), _not_none(amount_claim(desk, other))


def conditional(desk: Desk) -> Draft:
    """Every image that contains a dog also contains a cat."""
    first, second = _two_claims(desk)
    implied = zip(first.flags, second.flags, strict=True)
    desk.must_tell([all(y or not x for x, y in zip(*flags, strict=True)) for flags in implied])
    verb = verbs(desk)
    given = [term("where", reading, PANELS) for reading in first.readings]
    held = every_way(lambda whole, then: term("every", whole, then), given, second.readings)
    seen = every_way(_of_some, given, second.readings)
    denied = has(second, True, verb)[1]
    who = f"{desk.image} that {verb[0]} {first.said}"
    said = f"{desk.pick('every', 'each')} {who} also {verb[0]} {second.said}"
    no = denied and f"at least one {who} {denied}"
    return Draft(said, no, (*held, *seen), first.spatial or second.spatial, presupposes=True)


def _of_some(images: Term, then: Term) -> Term:
    """That something holds of all of some images, and that there are such images."""
    return term("and", term("count", AT_LEAST_ONE, images), term("every", images, then))


def two_sides(desk: Desk) -> Draft:
    """The left image contains two dogs, and the right image contains a cat."""
    first, second = (amount_claim(desk, desk.kind(telling=False)) for _ in range(2))
    at, name, other = a_side(desk)
    if first.single and second.single:
        raise NoDraft
    desk.must_tell([x[at] and y[1 - at] for x, y in zip(first.flags, second.flags, strict=True)])
    verb = verbs(desk)[0]
    readings = every_way(lambda x, y: term("and", x, y), of_side(at, first.readings), of_side(1 - at, second.readings))
    joint = desk.pick(", and", ", and", ", while")
    said = f"{name} {verb} {first.said}{joint} {other} {verb} {second.said}"
    return Draft(said, None, readings, first.spatial or second.spatial)


def each_and_total(desk: Desk) -> Draft:
    """Each image contains a dog, and there are at least five of them in total."""
    kind = desk.kind(0.3, plain=True)
    much = total_amount(desk, kind, False)
    if much.number < 3 or min(panels_of(kind)) > 2:
        raise NoDraft
    desk.must_tell([left > 0 and right > 0 and much.fits(left + right) for left, right in kind.counts])
    every = tuple(term("every", PANELS, exists(items)) for items in kind.readings)
    readings = every_way(lambda x, y: term("and", x, y), every, count(much.readings, kind.readings))
    said = f"each {desk.image} {verbs(desk)[0]} {a(kind.one)}, and there are {much.words} of them in total"
    return Draft(said, None, readings)


FAMILIES = (
    Family("side", 10, side),
    Family("each", 13, each, 40),
    Family("some image", 9, some_image),
    Family("exactly one image", 2.5, one_image),
    Family("only one side", 3, only_side),
    Family("more than the other", 1.5, more_than),
    Family("same number", 2, same_number),
    Family("twice as many", 7, multiple, 60),
    Family("difference", 1, difference),
    Family("crossed", 0.7, crossed),
    Family("total", 4, total),
    Family("total contrast", 0.7, total_contrast),
    Family("universal", 10, universal, 50),
    Family("partitive", 4, partitive),
    Family("definite", 9, definite, 40),
    Family("alike", 3, alike, 40),
    Family("hypernym", 4, hypernym, 40),
    Family("also", 14, also, 40),
    Family("conditional", 6, conditional, 40),
    Family("of them", 20, of_them, 50),
    Family("two sides", 8, two_sides, 40),
    Family("each and total", 5, each_and_total, 24),
)
