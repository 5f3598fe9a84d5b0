"""The families of sentences about two images: which images are meant, and what is claimed, compared or counted.

Each family drafts a sentence together with the sentence that denies it. Left and right, more and fewer, at least and
at most are drawn with equal chances, so that no sort of sentence favours some sort of pair. The weights bring the
phenomena near to the shares of the paper's Table 5. Of photographs of which much is doubtful some families can be
written of nearly all pairs and others of few: there, the common ones wait.
"""

from __future__ import annotations

from collections.abc import Callable

from veridical.language.english import a
from veridical.language.programs.terms import Term, term
from veridical.language.writing.drafting import PANELS, NoDraft, exists
from veridical.language.writing.pairs import claims
from veridical.language.writing.pairs.claims import PairDraft, PairFamily, there
from veridical.language.writing.pairs.phrases import SIDES, Desk, Phrase
from veridical.language.writing.pairs.quantified import alike, definite, hypernym, of_them, partitive, universal


def side(desk: Desk) -> PairDraft:
    """The left image contains ..., there are ... in the right image."""
    at, name, _ = claims.a_side(desk)
    what = claims.claim(desk, at)
    desk.must_tell([flags[at] for flags in what.flags])
    readings = claims.of_side(at, what.readings)
    if desk.chance(0.3):
        said, denied = there(what)
        if desk.chance(0.3) or what.spatial:
            return PairDraft(f"in {name}, {said}", denied and f"in {name}, {denied}", readings, what.spatial)
        return PairDraft(f"{said} in {name}", denied and f"{denied} in {name}", readings, what.spatial)
    said, denied = claims.has(what, True, claims.verbs(desk))
    return PairDraft(f"{name} {said}", denied and f"{name} {denied}", readings, what.spatial)


def each(desk: Desk) -> PairDraft:
    """Both images, each image; at least one does not."""
    what, verb = _not_none(claims.claim(desk)), claims.verbs(desk)
    desk.must_tell([all(flags) for flags in what.flags])
    readings = tuple(term("every", PANELS, reading) for reading in what.readings)
    one, denied = claims.has(what, True, verb)
    if desk.chance(0.3) and not what.spatial:
        said = f"{there(what)[0]} in {desk.pick('each', 'each', 'every')} {desk.image}"
    elif desk.chance(0.5) and what.number > 1:
        said = f"both {desk.image}s {claims.has(what, False, verb)[0]}"
    else:
        subject = desk.pick(*[f"each {desk.image}"] * 2, f"every {desk.image}", f"each of the two {desk.image}s")
        said = f"{subject} {one}"
    return PairDraft(said, denied and f"at least one {desk.image} {denied}", readings, what.spatial)


def _not_none(what: claims.Claim) -> claims.Claim:
    """A claim of something: that images have none of something is said by "neither image"."""
    if what.said.startswith("no "):
        raise NoDraft
    return what


def some_image(desk: Desk) -> PairDraft:
    """At least one image, one of the images; neither."""
    what, verb = _not_none(claims.claim(desk)), claims.verbs(desk)
    desk.must_tell([any(flags) for flags in what.flags])
    amounts = [claims.AT_LEAST_ONE]
    subject = desk.pick(f"one {desk.image}", f"one of the {desk.image}s")
    if desk.chance(0.25):
        subject = f"at least {subject}"
    else:  # one alone, or one at least
        amounts.append(term("exactly", 1))
    said = f"{subject} {claims.has(what, True, verb)[0]}"
    if desk.chance(0.25):
        said = f"in {subject}, {there(what)[0]}"
    none = desk.pick(*[f"neither {desk.image}"] * 2, f"neither of the {desk.image}s")
    denied = None if " but " in what.said else f"{none} {verb[0]} {what.after_not or what.said}"
    return PairDraft(said, denied, claims.of_images(amounts, what.readings), what.spatial)


def one_image(desk: Desk) -> PairDraft:
    """Exactly one image; both or neither."""
    what, verb = _not_none(claims.claim(desk)), claims.verbs(desk)
    desk.must_tell([left != right for left, right in what.flags])
    subject = f"{desk.pick('exactly', 'only')} {desk.pick(f'one {desk.image}', f'one of the {desk.image}s')}"
    return PairDraft(
        f"{subject} {claims.has(what, True, verb)[0]}",
        f"either both {desk.image}s {claims.has(what, False, verb)[0]} or neither of them does",
        claims.of_images([term("exactly", 1)], what.readings),
        what.spatial,
    )


def only_side(desk: Desk) -> PairDraft:
    """Only the left image."""
    what, (at, name, _) = _not_none(claims.amount_claim(desk)), claims.a_side(desk)
    desk.must_tell([flags[at] and not flags[1 - at] for flags in what.flags])
    readings = tuple(
        term("and", term("every", SIDES[at], reading), term("every", SIDES[1 - at], claims.deny(reading)))
        for reading in what.readings
    )
    return PairDraft(f"only {name} {claims.has(what, True, claims.verbs(desk))[0]}", None, readings, what.spatial)


def also(desk: Desk) -> PairDraft:
    """One image contains two dogs, and it also contains a cat; no image that does the one does the other."""
    first, second = _two_claims(desk)
    desk.must_tell([any(flags) for flags in claims.both_flags(first.flags, second.flags)])
    verb = claims.verbs(desk)
    both = claims.both(first.readings, second.readings)
    subject = desk.pick(f"one {desk.image}", f"one of the {desk.image}s")
    return PairDraft(
        f"{subject} {verb[0]} {first.said}, and it also {verb[0]} {second.said}",
        f"no {desk.image} that {verb[0]} {first.said} also {verb[0]} {second.said}",
        claims.of_images([claims.AT_LEAST_ONE, term("exactly", 1)], both),
        first.spatial or second.spatial,
    )


def _two_claims(desk: Desk) -> tuple[claims.Claim, claims.Claim]:
    """Claims of two phrases; the first may be told by where its things are."""
    one = desk.phrase(rich=False, plain=True, telling=False)
    other = desk.other(one)
    rich = desk.relation_of(one) if desk.facts.boxed and desk.chance(0.35) else one
    return _not_none(claims.amount_claim(desk, rich)), _not_none(claims.amount_claim(desk, other))


def conditional(desk: Desk) -> PairDraft:
    """Every image that contains a dog also contains a cat."""
    first, second = _two_claims(desk)
    implied = zip(first.flags, second.flags, strict=True)
    desk.must_tell([all(y or not x for x, y in zip(*flags, strict=True)) for flags in implied])
    verb = claims.verbs(desk)
    given = [term("where", reading, PANELS) for reading in first.readings]
    held = claims.every_way(lambda whole, then: term("every", whole, then), given, second.readings)
    seen = claims.every_way(  # and that there are such images
        lambda some, then: term("and", term("count", claims.AT_LEAST_ONE, some), term("every", some, then)),
        given,
        second.readings,
    )
    denied = claims.has(second, True, verb)[1]
    who = f"{desk.image} that {verb[0]} {first.said}"
    said = f"{desk.pick('every', 'each')} {who} also {verb[0]} {second.said}"
    no = denied and f"at least one {who} {denied}"
    return PairDraft(said, no, (*held, *seen), first.spatial or second.spatial, presupposes=True)


def two_sides(desk: Desk) -> PairDraft:
    """The left image contains two dogs, and the right image contains a cat."""
    first, second = (claims.amount_claim(desk, desk.phrase(telling=False)) for _ in range(2))
    at, name, other = claims.a_side(desk)
    if first.single and second.single:
        raise NoDraft
    desk.must_tell([x[at] and y[1 - at] for x, y in zip(first.flags, second.flags, strict=True)])
    verb = claims.verbs(desk)[0]
    readings = claims.both(claims.of_side(at, first.readings), claims.of_side(1 - at, second.readings))
    joint = desk.pick(", and", ", and", ", while")
    said = f"{name} {verb} {first.said}{joint} {other} {verb} {second.said}"
    return PairDraft(said, None, readings, first.spatial or second.spatial)


def each_and_total(desk: Desk) -> PairDraft:
    """Each image contains a dog, and there are at least five of them in total."""
    phrase = desk.phrase(0.3, plain=True)
    much = total_amount(desk, phrase, False)
    if much.number < 3 or min(claims.panels_of(phrase)) > 2:
        raise NoDraft
    desk.must_tell([left > 0 and right > 0 and much.fits(left + right) for left, right in phrase.counts])
    every = tuple(term("every", PANELS, exists(items)) for items in phrase.readings)
    readings = claims.both(every, claims.count(much.readings, phrase.readings))
    said = f"each {desk.image} {claims.verbs(desk)[0]} {a(phrase.one)}, and there are {much.words} of them in total"
    return PairDraft(said, None, readings)


# --- the two images compared by number, or counted together -----------------------------------------------------------


def more_than(desk: Desk) -> PairDraft:
    """More or fewer of something than the other image."""
    phrase, (at, name, other) = desk.phrase(0.4, plain=desk.chance(0.8)), claims.a_side(desk)
    how, word = desk.pick(("more-than", "more"), ("fewer-than", "fewer"))
    desk.must_tell([claims.COMPARE[how](pair[at], pair[1 - at]) for pair in phrase.counts])
    readings = claims.compared(how, claims.within(at, phrase.readings), claims.within(1 - at, phrase.readings))
    if desk.chance(0.35) and phrase.plain:
        said, tail = f"there are {word} {phrase.many} in {name}", f"than in {other}"
        return PairDraft(f"{said} {tail}", f"there are no {word} {phrase.many} in {name} {tail}", readings)
    verb = claims.verbs(desk)
    other = desk.pick(other, other, f"the other {desk.image}")
    tail = f"{word} {phrase.many} than {other}"
    return PairDraft(f"{name} {verb[0]} {tail}", f"{name} does not {verb[1]} {tail}", readings, phrase.spatial)


def same_number(desk: Desk) -> PairDraft:
    """As many in one image as in the other."""
    phrase = desk.phrase(0.4, plain=desk.chance(0.8))
    desk.must_tell([left == right for left, right in phrase.counts])
    if desk.chance(0.25) and phrase.plain:
        at, name, other = claims.a_side(desk)
        tail = f"as many {phrase.many} in {name} as in {other}"
        here, far = claims.within(at, phrase.readings), claims.within(1 - at, phrase.readings)
        same, least = claims.compared("exactly", here, far), claims.compared("at-least", here, far)
        # "not as many" means fewer, and none at all may be a case of it or not
        readings = (*same, *least, *claims.seen(same, phrase))
        return PairDraft(f"there are {tail}", f"there are not {tail}", readings)
    same = tuple(term("agree", term("exactly", 2), term("tally", items), PANELS) for items in phrase.readings)
    seen = claims.seen(same, phrase)
    images, verb = desk.pick("both", "the two", "the"), claims.verbs(desk)[1]
    return PairDraft(
        f"{images} {desk.image}s {verb} the same number of {phrase.many}",
        f"{images.replace('both', 'the two')} {desk.image}s {verb} different numbers of {phrase.many}",
        (*same, *seen),
        phrase.spatial,
    )


def multiple(desk: Desk) -> PairDraft:
    """Twice as many, half as many."""
    at, name, other = claims.a_side(desk)
    double = desk.chance(0.5)
    large, small = (at, 1 - at) if double else (1 - at, at)
    facts = desk.facts
    phrase = facts.phrase(desk.key(among=facts.described if desk.chance(0.3) else facts.bases, telling=True))
    if not phrase.plain:
        raise NoDraft
    desk.must_tell([pair[large] == 2 * pair[small] for pair in phrase.counts])
    held = tuple(_exceeds(items, large, small, lambda size: term("times", 2, size)) for items in phrase.readings)
    seen = claims.seen(held, phrase)
    words = desk.pick(*[f"twice as many {phrase.many} as"] * 2, f"twice the number of {phrase.many} as")
    if not double:
        words = f"half as many {phrase.many} as"
    verb = claims.verbs(desk)
    return PairDraft(f"{name} {verb[0]} {words} {other}", f"{name} does not {verb[1]} {words} {other}", (*held, *seen))


def _exceeds(items: Term, large: int, small: int, by: Callable[[Term], Term]) -> Term:
    """That one image has exactly so many more than the other, or so many times as many."""
    few = term("size", term("within", items, SIDES[small]))
    return term("count", term("exactly", by(few)), term("within", items, SIDES[large]))


def difference(desk: Desk) -> PairDraft:
    """Exactly two more than the other image."""
    phrase, (at, name, other) = desk.phrase(0.35, plain=True), claims.a_side(desk)
    seen = [abs(left - right) for left, right in phrase.counts if left != right]
    if not seen:
        raise NoDraft
    by, word = desk.pick(*seen), desk.pick("more", "fewer")
    large, small = (at, 1 - at) if word == "more" else (1 - at, at)
    desk.must_tell([pair[large] == pair[small] + by for pair in phrase.counts])
    readings = tuple(_exceeds(items, large, small, lambda size: term("plus", by, size)) for items in phrase.readings)
    words = f"exactly {claims.numeral(desk, by)} {word} {phrase.one if by == 1 else phrase.many} than {other}"
    verb = claims.verbs(desk)
    return PairDraft(f"{name} {verb[0]} {words}", f"{name} does not {verb[1]} {words}", readings)


def crossed(desk: Desk) -> PairDraft:
    """More dogs in the left image than cats in the right one."""
    one = desk.phrase(0.3, plain=True, telling=False)
    other, (at, name, far) = desk.other(one), claims.a_side(desk)
    how, word = desk.pick(("more-than", "more"), ("fewer-than", "fewer"))
    desk.must_tell([claims.COMPARE[how](x[at], y[1 - at]) for x, y in zip(one.counts, other.counts, strict=True)])
    readings = claims.compared(how, claims.within(at, one.readings), claims.within(1 - at, other.readings))
    if desk.chance(0.4):
        verb = claims.verbs(desk)
        tail = f"{word} {one.many} than {far} {verb[0]} {other.many}"
        return PairDraft(f"{name} {verb[0]} {tail}", f"{name} does not {verb[1]} {tail}", readings)
    tail = f"{word} {one.many} in {name} than {other.many} in {far}"
    return PairDraft(f"there are {tail}", f"there are no {tail}", readings)


def total(desk: Desk) -> PairDraft:
    """So many in both images together."""
    phrase = desk.phrase(0.5)
    much = total_amount(desk, phrase)
    if much.readings[0] is claims.AT_LEAST_ONE and len(phrase.key) == 1 and phrase.plain and desk.chance(0.8):
        raise NoDraft  # bare presence, which writers were asked to avoid (Table 3)
    readings = claims.count(much.readings, phrase.readings)
    be = "is" if much.number == 1 else "are"
    denied = much.denied_of(phrase)
    exact = f"exactly {claims.numeral(desk, much.number)} {phrase.one if much.number == 1 else phrase.many}"
    if desk.chance(0.25):
        subject, verb = f"the two {desk.image}s together", claims.verbs(desk)[1]
        no = f"{subject} {verb} {denied}" if denied else f"{subject} do not {verb} {exact}"
        return PairDraft(f"{subject} {verb} {much.of(phrase)}", no, readings, phrase.spatial)
    where = desk.pick("", f" in the two {desk.image}s", f" in the pair of {desk.image}s")
    if phrase.plain and much.number > 1 and (denied is None or not denied.startswith("no ")):
        where = desk.pick(where, " in total", " in total", " altogether")
    no = f"{claims.there_be(denied)}{where}" if denied else f"there {be} not {exact}{where}"
    return PairDraft(f"there {be} {much.of(phrase)}{where}", no, readings, phrase.spatial)


def total_amount(desk: Desk, phrase: Phrase, telling: bool = True) -> claims.Amount:
    """A number or a bound for both images together."""
    observed = [left + right for left, right in phrase.counts]
    return claims.hard(desk, observed, telling) if desk.chance(0.75) else claims.soft(desk, observed, telling)


def total_contrast(desk: Desk) -> PairDraft:
    """More of one thing than of another in total."""
    one = desk.phrase(0.35, plain=True, telling=False)
    what = claims.contrast(desk, one, desk.other(one))
    where = desk.pick(" in total", f" in the two {desk.image}s", "")
    said, denied = there(what)
    return PairDraft(f"{said}{where}", denied and f"{denied}{where}", what.readings)


FAMILIES = (
    PairFamily("side", 10, side, doubted=2),
    PairFamily("each", 13, each, 40),
    PairFamily("some image", 9, some_image, doubted=3),
    PairFamily("exactly one image", 2.5, one_image, doubted=1.5),
    PairFamily("only one side", 3, only_side, doubted=4),
    PairFamily("more than the other", 1.5, more_than, doubted=2),
    PairFamily("same number", 2, same_number, doubted=8),
    PairFamily("twice as many", 7, multiple, 60, doubted=10),
    PairFamily("difference", 1, difference, doubted=6),
    PairFamily("crossed", 0.7, crossed, doubted=5),
    PairFamily("total", 4, total, doubted=2),
    PairFamily("total contrast", 0.7, total_contrast, doubted=8),
    PairFamily("universal", 10, universal, 50),
    PairFamily("partitive", 4, partitive, doubted=6),
    PairFamily("definite", 9, definite, 40),
    PairFamily("alike", 3, alike, 40),
    PairFamily("hypernym", 4, hypernym, 40),
    PairFamily("also", 14, also, 40),
    PairFamily("conditional", 6, conditional, 40, doubted=10),
    PairFamily("of them", 20, of_them, 50),
    PairFamily("two sides", 8, two_sides, 40, doubted=10),
    PairFamily("each and total", 5, each_and_total, 24, doubted=8),
)
