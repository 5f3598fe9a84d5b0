"""Sentences about all, none, some or the one of the things in an image, and about "them".

They take for granted that there are such things. A pair without any is read in two ways (all of none are red, or not),
so that a sentence is only used where all pairs have what it speaks of, or fail it in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from veridical.language.english import Values, a
from veridical.language.programs.terms import Term, term
from veridical.language.writing.drafting import NoDraft, Readings
from veridical.language.writing.pairs import claims
from veridical.language.writing.pairs.claims import PairDraft
from veridical.language.writing.pairs.phrases import HYPERNYM, RELATIONS, Counts, Desk, Phrase

Sizes = Callable[[Counts], list[int]]


def _place(desk: Desk, one_image: float = 0.65) -> tuple[str, Callable[[Readings], Readings], Sizes]:
    """Where things are: in one image or in both; their objects there, and how many there are."""
    if desk.chance(one_image):
        at, name, _ = claims.a_side(desk)
        return f" in {name}", lambda readings: claims.within(at, readings), lambda counts: [pair[at] for pair in counts]
    words = desk.pick(f" in the two {desk.image}s", "")
    return words, lambda readings: readings, lambda counts: [sum(pair) for pair in counts]


def _property(desk: Desk, fits: Callable[[list[int]], bool], sizes: Sizes) -> tuple[Phrase, Phrase, str, Readings]:
    """A phrase whose numbers fit, those of it with an attribute or in a place, the words for that, and its tests."""
    facts = desk.facts
    if facts.boxed and desk.chance(0.6):
        one = facts.phrase(_fitting(desk, facts.bases, lambda key: fits(sizes(facts.counts[key]))))
        other, words = desk.other(one, 0.2), desk.pick(*RELATIONS)
        if not desk.apart(_of_all(one.counts, facts.related_counts(one, words, other), sizes)):
            raise NoDraft
        held = facts.related(one, words, other)
        tests = tuple(
            term("related", relation, claims.AT_LEAST_ONE, landmark)
            for relation in RELATIONS[words]
            for landmark in other.readings
        )
        return one, held, f"{words} {a(other.one)}", tests
    key = _fitting(desk, facts.described, lambda key: fits(sizes(facts.counts.get(key[:-1], ((0, 0),)))))
    name, value = key[-1]
    whole = facts.phrase(key[:-1])
    if not whole.plain or not desk.apart(_of_all(whole.counts, facts.counts[key], sizes)):
        raise NoDraft
    return whole, facts.phrase(key), facts.predicate(whole.head, name, value), (term("is", name, value),)


def _fitting(desk: Desk, among: Sequence[Values], fits: Callable[[Values], bool]) -> Values:
    """A key that fits."""
    for _ in range(10):
        key = desk.key(among=among)
        if fits(key):
            return key
    raise NoDraft


def _of_all(whole: Counts, held: Counts, sizes: Sizes) -> list[tuple[int, int]]:
    """How many there are in each pair, and how many of them are so."""
    return list(zip(sizes(whole), sizes(held), strict=True))


def universal(desk: Desk) -> PairDraft:
    """Every dog in the left image is red; all of them, none of them."""
    where, placed, sizes = _place(desk)
    whole, held, words, tests = _property(desk, lambda n: min(n) >= 1 and max(n) >= 2, sizes)
    none = desk.chance(0.1)
    desk.must_tell([m == (0 if none else n) for n, m in _of_all(whole.counts, held.counts, sizes)])
    meant = tuple(term("not", test) for test in tests) if none else tests
    readings = _all(placed(whole.readings), meant)
    if none:
        said = f"none of the {whole.many}{where} {desk.pick('is', 'are')} {words}"
        denied = f"at least one of the {whole.many}{where} is {words}"
    else:
        said = desk.pick(
            f"all the {whole.many}{where} are {words}",
            f"all of the {whole.many}{where} are {words}",
            f"every {whole.one}{where} is {words}",
            f"each of the {whole.many}{where} is {words}",
        )
        denied = desk.pick(
            f"not all of the {whole.many}{where} are {words}",
            f"at least one of the {whole.many}{where} is not {words}",
            f"not every {whole.one}{where} is {words}",
        )
    return PairDraft(said, denied, readings, held.spatial, True)


def _all(objects: Readings, tests: Sequence[Term], least: int = 2) -> Readings:
    """That all are so; and that there are as many as "all of them" takes for granted, and all are so."""
    held = _every(objects, tests)
    some = term("at-least", least)
    return (*held, *claims.every_way(lambda r, items: term("and", term("count", some, items), r), held, objects))


def _every(objects: Readings, tests: Sequence[Term]) -> Readings:
    return claims.every_way(lambda items, test: term("every", items, test), objects, tests)


def partitive(desk: Desk) -> PairDraft:
    """Exactly two of the dogs in the left image are red."""
    desk.digits = False  # no sentence starts with one
    where, placed, sizes = _place(desk)
    whole, held, words, _ = _property(desk, lambda n: min(n) >= 2, sizes)
    much = claims.hard(desk, sizes(held.counts)) if desk.chance(0.65) else claims.soft(desk, sizes(held.counts))
    if much.words in ("a single", "just one"):
        raise NoDraft
    if any(n == m == much.number for n, m in _of_all(whole.counts, held.counts, sizes)):
        raise NoDraft  # two of the dogs are red: that there are no more than two would be "both" or "all"
    said = f"{much.words} of the {whole.many}{where} {'is' if much.number == 1 else 'are'} {words}"
    denied = None
    if much.opposite is not None:
        less, number = much.opposite
        less = "none" if less == "no" else less
        denied = f"{less} of the {whole.many}{where} {'is' if number == 1 or less == 'none' else 'are'} {words}"
    return PairDraft(said, denied, claims.count(much.readings, placed(held.readings)), held.spatial, True)


def definite(desk: Desk) -> PairDraft:
    """The dog in the left image is red: each of the pairs has just one there."""
    at, name, _ = claims.a_side(desk)
    whole, held, words, tests = _property(desk, lambda n: min(n) == max(n) == 1, lambda c: [pair[at] for pair in c])
    desk.must_tell([pair[at] == 1 for pair in held.counts])
    readings = _all(claims.within(at, whole.readings), tests, 1)
    said = f"the {whole.one} in {name}"
    return PairDraft(f"{said} is {words}", f"{said} is not {words}", readings, held.spatial, True)


def alike(desk: Desk) -> PairDraft:
    """All the dogs in the left image are the same color."""
    where, placed, sizes = _place(desk)
    facts = desk.facts

    def fits(key: Values) -> bool:
        whole = facts.counts.get(key[:-1])
        return whole is not None and min(sizes(whole)) >= 2 and bool(facts.way(key[-1][0], key[0]).noun)

    key = _fitting(desk, facts.described, fits)
    name, whole = key[-1][0], facts.phrase(key[:-1])
    if not whole.plain:
        raise NoDraft
    readings = tuple(term("values", name, term("exactly", 1), items) for items in placed(whole.readings))
    what = f"the same {facts.way(name, whole.head).noun}"
    said = desk.pick(f"all the {whole.many}{where} are {what}", f"the {whole.many}{where} are all {what}")
    return PairDraft(said, f"the {whole.many}{where} are not all {what}", readings, presupposes=True)


def hypernym(desk: Desk) -> PairDraft:
    """All the animals in the left image are dogs."""
    facts = desk.facts
    where, placed, sizes = _place(desk)
    above = [k for k in facts.bases if k[0][0] == HYPERNYM and max(sizes(facts.counts[k])) >= 2]
    whole = facts.phrase(desk.key(among=above))
    inside = [k for k in facts.bases if len(k) == 1 and facts.nouns.above.get(k[0][1]) == whole.key[0][1]]
    if len(inside) < 2:
        raise NoDraft
    phrase = facts.phrase(desk.pick(*inside))
    desk.must_tell([n == m for n, m in _of_all(whole.counts, phrase.counts, sizes)])
    tests = [test for test in (reading.args[0] for reading in phrase.readings) if isinstance(test, Term)]
    return PairDraft(
        f"{desk.pick('all the', 'all of the')} {whole.many}{where} are {phrase.many}",
        f"not all of the {whole.many}{where} are {phrase.many}",
        _all(placed(whole.readings), tests),
        presupposes=True,
    )


def of_them(desk: Desk) -> PairDraft:
    """The left image contains three dogs, and all of them are red."""
    at, name, _ = claims.a_side(desk)

    def sizes(counts: Counts) -> list[int]:
        return [pair[at] for pair in counts]

    whole, held, words, tests = _property(desk, lambda n: max(n) >= 2, sizes)
    seen = sizes(whole.counts)
    numbers = [n for n in seen if n > 1]
    much = claims.hard(desk, numbers, False) if desk.chance(0.6) else claims.soft(desk, [1, *seen], False)
    if much.readings[0].op == "fewer-than" or much.number < 2:
        raise NoDraft
    two = much.number == 2 and much.readings[0].op == "exactly"
    most = much.number - 1 if much.readings[0].op == "exactly" else None  # "two of them" of two would be "both"
    rest, fits, more = _some_of_them(desk, (whole, held), words, tests, sizes(held.counts), most)
    if two:
        rest = rest.replace("all of them", "both of them").replace("none of them", "neither of them")
    desk.must_tell([much.fits(n) and fits(n, m) for n, m in _of_all(whole.counts, held.counts, sizes)])
    held_there = claims.both(claims.count(much.readings, whole.readings), more())
    readings = claims.of_side(at, held_there)
    if desk.chance(0.3):
        return PairDraft(f"there are {much.of(whole)} in {name}, and {rest}", None, readings, held.spatial)
    return PairDraft(f"{name} {claims.verbs(desk)[0]} {much.of(whole)}, and {rest}", None, readings, held.spatial)


def _some_of_them(
    desk: Desk, phrases: tuple[Phrase, Phrase], words: str, tests: Readings, seen: list[int], most: int | None
) -> tuple[str, Callable[[int, int], bool], Callable[[], Readings]]:
    """What is said of the things named before, at `most` so many; whether it fits so many of so many; the programs."""
    whole, held = phrases
    way = float(desk.rng.random())
    if way < 0.4:
        return f"all of them are {words}", lambda n, m: n == m, lambda: _every(whole.readings, tests)
    if way < 0.48:
        return (
            f"none of them is {words}",
            lambda n, m: m == 0,
            lambda: claims.count([term("exactly", 0)], held.readings),
        )
    much = claims.amount(desk, seen, True, False)
    if much.words in ("a", "", "no", "a single", "just one") or (most is not None and much.number > most):
        raise NoDraft
    said = f"{much.words} of them {'is' if much.number == 1 else 'are'} {words}"
    return said, lambda n, m: much.fits(m), lambda: claims.count(much.readings, held.readings)
