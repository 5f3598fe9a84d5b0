"""Sentences that compare the two images by number, or count over both of them."""

from __future__ import annotations

from collections.abc import Callable

from veridical.language.programs.terms import Term, term
from veridical.language.writing.pairs.claims import (
    AT_LEAST_ONE,
    COMPARE,
    Amount,
    Readings,
    compared,
    contrast,
    count,
    every_way,
    hard,
    numeral,
    soft,
)
from veridical.language.writing.pairs.frames import Draft, a_side, exists, there, there_be, verbs, within
from veridical.language.writing.pairs.kinds import PANELS, SIDES, Desk, Kind, NoDraft


def more_than(desk: Desk) -> Draft:
    """More or fewer of a kind than the other image."""
    kind, (at, name, other) = desk.kind(0.4, plain=desk.chance(0.8)), a_side(desk)
    how, word = desk.pick(("more-than", "more"), ("fewer-than", "fewer"))
    desk.must_tell([COMPARE[how](pair[at], pair[1 - at]) for pair in kind.counts])
    readings = compared(how, within(at, kind.readings), within(1 - at, kind.readings))
    if desk.chance(0.35) and kind.plain:
        said, tail = f"there are {word} {kind.many} in {name}", f"than in {other}"
        return Draft(f"{said} {tail}", f"there are no {word} {kind.many} in {name} {tail}", readings)
    verb = verbs(desk)
    other = desk.pick(other, other, f"the other {desk.image}")
    tail = f"{word} {kind.many} than {other}"
    return Draft(f"{name} {verb[0]} {tail}", f"{name} does not {verb[1]} {tail}", readings, kind.spatial)


def same_number(desk: Desk) -> Draft:
    """As many in one image as in the other."""
    kind = desk.kind(0.4, plain=desk.chance(0.8))
    desk.must_tell([left == right for left, right in kind.counts])
    if desk.chance(0.25) and kind.plain:
        at, name, other = a_side(desk)
        tail = f"as many {kind.many} in {name} as in {other}"
        return Draft(f"there are {tail}", f"there are not {tail}", _as_many(at, kind))
    same = tuple(term("agree", term("exactly", 2), term("tally", items), PANELS) for items in kind.readings)
    seen = every_way(lambda reading, items: term("and", reading, exists(items)), same, kind.readings)
    images, verb = desk.pick("both", "the two", "the"), verbs(desk)[1]
    return Draft(
        f"{images} {desk.image}s {verb} the same number of {kind.many}",
        f"{images.replace('both', 'the two')} {desk.image}s {verb} different numbers of {kind.many}",
        (*same, *seen),
        kind.spatial,
    )


def _as_many(at: int, kind: Kind) -> Readings:
    """As many here as there: "not as many" means fewer, and none at all may be a case of it or not."""
    here, there = within(at, kind.readings), within(1 - at, kind.readings)
    same, least = compared("exactly", here, there), compared("at-least", here, there)
    seen = every_way(lambda reading, items: term("and", reading, exists(items)), same, kind.readings)
    return (*same, *least, *seen)


def multiple(desk: Desk) -> Draft:
    """Twice as many, half as many."""
    at, name, other = a_side(desk)
    double = desk.chance(0.5)
    large, small = (at, 1 - at) if double else (1 - at, at)
    facts = desk.facts
    kind = facts.kind(desk.key(among=facts.described if desk.chance(0.3) else facts.bases, telling=True))
    if not kind.plain:
        raise NoDraft
    desk.must_tell([pair[large] == 2 * pair[small] for pair in kind.counts])
    held = tuple(_exceeds(items, large, small, lambda size: term("times", 2, size)) for items in kind.readings)
    seen = every_way(lambda reading, items: term("and", reading, exists(items)), held, kind.readings)
    words = desk.pick(*[f"twice as many {kind.many} as"] * 2, f"twice the number of {kind.many} as")
    if not double:
        words = f"half as many {kind.many} as"
    verb = verbs(desk)
    return Draft(f"{name} {verb[0]} {words} {other}", f"{name} does not {verb[1]} {words} {other}", (*held, *seen))


def _exceeds(items: Term, large: int, small: int, by: Callable[[Term], Term]) -> Term:
    """That one image has exactly so many more than the other, or so many times as many."""
    few = term("size", term("within", items, SIDES[small]))
    return term("count", term("exactly", by(few)), term("within", items, SIDES[large]))


def difference(desk: Desk) -> Draft:
    """Exactly two more than the other image."""
    kind, (at, name, other) = desk.kind(0.35, plain=True), a_side(desk)
    seen = [abs(left - right) for left, right in kind.counts if left != right]
    if not seen:
        raise NoDraft
    by, word = desk.pick(*seen), desk.pick("more", "fewer")
    large, small = (at, 1 - at) if word == "more" else (1 - at, at)
    desk.must_tell([pair[large] == pair[small] + by for pair in kind.counts])
    readings = tuple(_exceeds(items, large, small, lambda size: term("plus", by, size)) for items in kind.readings)
    words = f"exactly {numeral(desk, by)} {word} {kind.one if by == 1 else kind.many} than {other}"
    verb = verbs(desk)
    return Draft(f"{name} {verb[0]} {words}", f"{name} does not {verb[1]} {words}", readings)


def crossed(desk: Desk) -> Draft:
    """More dogs in the left image than cats in the right one."""
    one = desk.kind(0.3, plain=True, telling=False)
    other, (at, name, far) = desk.other(one), a_side(desk)
    how, word = desk.pick(("more-than", "more"), ("fewer-than", "fewer"))
    desk.must_tell([COMPARE[how](x[at], y[1 - at]) for x, y in zip(one.counts, other.counts, strict=True)])
    readings = compared(how, within(at, one.readings), within(1 - at, other.readings))
    if desk.chance(0.4):
        verb = verbs(desk)
        tail = f"{word} {one.many} than {far} {verb[0]} {other.many}"
        return Draft(f"{name} {verb[0]} {tail}", f"{name} does not {verb[1]} {tail}", readings)
    tail = f"{word} {one.many} in {name} than {other.many} in {far}"
    return Draft(f"there are {tail}", f"there are no {tail}", readings)


def total(desk: Desk) -> Draft:
    """So many in both images together."""
    kind = desk.kind(0.5)
    much = total_amount(desk, kind)
    if much.readings[0] is AT_LEAST_ONE and len(kind.key) == 1 and kind.plain and desk.chance(0.8):
        raise NoDraft  # bare presence, which writers were asked to avoid (Table 3)
    readings = count(much.readings, kind.readings)
    be = "is" if much.number == 1 else "are"
    denied = much.denied_of(kind)
    exact = f"exactly {numeral(desk, much.number)} {kind.one if much.number == 1 else kind.many}"
    if desk.chance(0.25):
        subject, verb = f"the two {desk.image}s together", verbs(desk)[1]
        no = f"{subject} {verb} {denied}" if denied else f"{subject} do not {verb} {exact}"
        return Draft(f"{subject} {verb} {much.of(kind)}", no, readings, kind.spatial)
    where = desk.pick("", f" in the two {desk.image}s", f" in the pair of {desk.image}s")
    if kind.plain and much.number > 1 and (denied is None or not denied.startswith("no ")):
        where = desk.pick(where, " in total", " in total", " altogether")
    no = f"{there_be(denied)}{where}" if denied else f"there {be} not {exact}{where}"
    return Draft(f"there {be} {much.of(kind)}{where}", no, readings, kind.spatial)


def total_amount(desk: Desk, kind: Kind, telling: bool = True) -> Amount:
    """A number or a bound for both images together."""
    observed = [left + right for left, right in kind.counts]
    return hard(desk, observed, telling) if desk.chance(0.75) else soft(desk, observed, telling)


def total_contrast(desk: Desk) -> Draft:
    """More of one kind than of another in total."""
    one = desk.kind(0.35, plain=True, telling=False)
    what = contrast(desk, one, desk.other(one))
    where = desk.pick(" in total", f" in the two {desk.image}s", "")
    said, denied = there(what)
    return Draft(f"{said}{where}", denied and f"{denied}{where}", what.readings)
