"""What can be said of one image: amounts of things, two phrases side by side, more of one than of another.

A claim is the object of "contains" with its meaning under every reading, and with the words that deny it, so that each
can be written of the pairs it holds of and, in other words, of all others. A frame puts it about an image: "the left
image contains ...", "there are ... in each image".
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from veridical.language.english import a, number
from veridical.language.programs.terms import Term, term
from veridical.language.writing.drafting import PANELS, NoDraft, Readings
from veridical.language.writing.pairs.phrases import SIDES, Desk, Phrase

Flags = tuple[tuple[bool, bool], ...]  # of each pair: left, right
MOST_READINGS = 64  # a sentence that can be taken in more ways is not written
AT_LEAST_ONE = term("at-least", 1)
NONE = term("exactly", 0)
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "exactly": operator.eq,
    "at-least": operator.ge,
    "fewer-than": operator.lt,
    "more-than": operator.gt,
    "at-most": operator.le,
}
VERBS = (
    *[("contains", "contain")] * 4,
    *[("shows", "show")] * 4,
    *[("has", "have")] * 2,
    *(("includes", "include"), ("features", "feature")),
)
OPPOSITE = {"at-least": "fewer-than", "fewer-than": "at-least", "more-than": "at-most", "at-most": "more-than"}


def every_way(join: Callable[..., Term], *parts: Iterable[Term]) -> Readings:
    """The joined meanings for each combination of readings; no draft where they are too many to check them all."""
    choices = list(product(*parts))
    if len(choices) > MOST_READINGS:
        raise NoDraft
    return tuple(dict.fromkeys(join(*choice) for choice in choices))


def count(amounts: Iterable[Term], objects: Iterable[Term]) -> Readings:
    """That there are so many."""
    return every_way(lambda amount, items: term("count", amount, items), amounts, objects)


def both(one: Iterable[Term], other: Iterable[Term]) -> Readings:
    """That both of two hold."""
    return every_way(lambda x, y: term("and", x, y), one, other)


def seen(readings: Readings, phrase: Phrase) -> Readings:
    """The same, and that there are any."""
    return both(readings, count([AT_LEAST_ONE], phrase.readings))


def deny(claim: Term) -> Term:
    """The program that is true wherever another is false."""
    args = claim.args
    if claim.op == "not" and isinstance(args[0], Term):
        return args[0]
    if claim.op == "count" and isinstance(args[0], Term) and isinstance(args[1], Term):
        amount, items = args[0], args[1]
        if amount is AT_LEAST_ONE:
            return term("count", NONE, items)
        if amount is NONE:
            return term("count", AT_LEAST_ONE, items)
        if amount.op in OPPOSITE:
            return term("count", term(OPPOSITE[amount.op], *amount.args), items)
    if claim.op == "every" and isinstance(args[0], Term) and args[0].op == "panel" and isinstance(args[1], Term):
        return term("every", args[0], deny(args[1]))  # of one image, all or none is the same
    return term("not", claim)


@dataclass(frozen=True, slots=True)
class Amount:
    """Words for a number of things, and for any other number."""

    words: str  # "at least two"; "a" and "" stand for one or some
    number: int  # what the noun agrees with
    readings: Readings
    opposite: tuple[str, int] | None = None  # the words that deny it: ("fewer than two", 2)

    def fits(self, count: int) -> bool:
        """Whether a number is such an amount, under the first of the readings."""
        first = self.readings[0]
        return COMPARE[first.op](count, int(str(first.args[0])))

    def of(self, phrase: Phrase) -> str:
        return phrase.counted(self.words, self.number)

    def denied_of(self, phrase: Phrase) -> str | None:
        return None if self.opposite is None else phrase.counted(*self.opposite)


@dataclass(frozen=True, slots=True)
class Claim:
    """Something an image may contain."""

    said: str  # "exactly two dogs"
    denied: str | None  # what it contains otherwise: "fewer than two dogs"; None: "does not contain" says it
    number: int  # what a verb agrees with
    flags: Flags  # whether it holds of the images of each pair: a first look, which the programs then confirm
    make: Callable[[], Readings]  # the programs, made when they are needed
    spatial: bool = False
    single: bool = False  # claims no more than that something is there
    after_not: str | None = None  # what stands after "does not contain" or "neither contains"; None: nothing can

    @property
    def readings(self) -> Readings:
        return self.make()


def numeral(desk: Desk, value: int) -> str:
    """A number as this sentence writes them."""
    return str(value) if desk.digits and value > 1 else number(value)


def hard(desk: Desk, observed: Sequence[int], telling: bool = True) -> Amount:
    """An exact number that was seen; a `telling` one tells the pairs apart, of each of which one number is given."""
    choices = [n for n in observed if n > 0 and not (telling and not desk.tells([o == n for o in observed]))]
    if not choices:
        raise NoDraft
    n = desk.pick(*choices)
    words = numeral(desk, n)
    exactly, least = term("exactly", n), term("at-least", n)
    way = float(desk.rng.random())
    if way < 0.42:
        return Amount(words, n, (exactly, least))
    if way < 0.55 and n == 1:
        return Amount(desk.pick("a single", "just one"), n, (exactly,))
    if way < 0.65:
        return Amount(f"only {words}", n, (exactly,))
    return Amount(f"exactly {words}", n, (exactly,))


def soft(desk: Desk, observed: Sequence[int], telling: bool = True) -> Amount:
    """A bound that some of the numbers seen keep and others do not."""
    bounds = [n for n in set(observed) if n > min(observed)]
    choices = [n for n in bounds if not (telling and not desk.tells([o >= n for o in observed]))]
    if not choices:
        raise NoDraft
    bound = desk.pick(*choices)
    low = max(o for o in observed if o < bound)
    at = low + 1 + int(desk.rng.random() * (bound - low))  # at least `at`, or fewer
    if at == 1:
        return Amount("at least one", 1, (AT_LEAST_ONE,), ("no", 2))
    here, below = numeral(desk, at), numeral(desk, at - 1)
    least = desk.pick(*[(f"at least {here}", at)] * 2, (f"{here} or more", at), (f"more than {below}", at - 1))
    most = desk.pick(*[(f"fewer than {here}", at), (f"at most {below}", at - 1)] * 3, (f"no more than {below}", at - 1))
    if desk.chance(0.5):
        return Amount(*least, (term("at-least", at),), most)
    return Amount(*most, (term("fewer-than", at),), least)


def some(desk: Desk, observed: Sequence[int], telling: bool = True) -> Amount:
    """One or more, or none."""
    if telling and not desk.tells([o > 0 for o in observed]):
        raise NoDraft
    way = float(desk.rng.random())
    if way < 0.12:
        return Amount("no", 2, (NONE,), ("at least one", 1))
    if way < 0.55 and max(observed) > 1:
        return Amount("", 2, (AT_LEAST_ONE, term("at-least", 2)), ("no", 2))
    return Amount("a", 1, (AT_LEAST_ONE,), ("no", 2))


def amount(desk: Desk, observed: Sequence[int], plain: bool, telling: bool = True) -> Amount:
    """An amount of any sort; of a phrase that only names a category, that some are there is said less."""
    way = float(desk.rng.random())
    if way < (0.15 if plain else 0.5):
        return some(desk, observed, telling)
    return hard(desk, observed, telling) if way < 0.86 else soft(desk, observed, telling)


def panels_of(phrase: Phrase, side: int | None = None) -> list[int]:
    """How many things each single image has, or one image of each pair."""
    return [n for pair in phrase.counts for n in (pair if side is None else pair[side : side + 1])]


def amount_claim(desk: Desk, phrase: Phrase | None = None, side: int | None = None) -> Claim:
    """So many things; where it is claimed of one side, a number that tells the pairs apart."""
    phrase = phrase or desk.phrase()
    plain = len(phrase.key) == 1 and phrase.plain
    much = amount(desk, panels_of(phrase, side), plain, side is not None)
    denied = much.denied_of(phrase)
    after: str | None = much.of(phrase)
    if much.readings[0] is AT_LEAST_ONE:
        after = desk.pick(a(phrase.one), f"any {phrase.many}")
    elif much.readings[0].op == "exactly":  # "does not contain a single dog" means none, and "two dogs" leaves it open
        after = f"exactly {numeral(desk, much.number)} {phrase.one if much.number == 1 else phrase.many}"
    single = plain and much.readings[0] in (AT_LEAST_ONE, NONE)
    return Claim(
        much.of(phrase),
        denied,
        much.number,
        flags_of(much, phrase),
        lambda: count(much.readings, phrase.readings),
        phrase.spatial,
        single,
        after,
    )


def flags_of(much: Amount, phrase: Phrase) -> Flags:
    """Of which images an amount of things is right."""
    return tuple((much.fits(left), much.fits(right)) for left, right in phrase.counts)


def both_flags(one: Flags, other: Flags) -> Flags:
    """Of which images both of two claims are right."""
    return tuple((x[0] and y[0], x[1] and y[1]) for x, y in zip(one, other, strict=True))


def pair_claim(desk: Desk) -> Claim:
    """Two phrases side by side: "two dogs and a red car"."""
    one = desk.phrase(rich=False, plain=True, telling=False)
    other = desk.other(one)
    first, second = (amount(desk, panels_of(phrase), desk.chance(0.5), False) for phrase in (one, other))
    if first.words == "no" or not first.words or not second.words:
        raise NoDraft  # "dogs and a cat": which of the two does an amount belong to?
    joint = "but" if second.words == "no" or second.words.startswith(("only", "just")) else "and"
    if one.key[:-1] == other.key[:-1] and joint == "and" and first.words == second.words == "a":
        raise NoDraft

    flags = both_flags(flags_of(first, one), flags_of(second, other))
    after = f"both {first.of(one)} and {second.of(other)}" if first.words == "a" == second.words else None
    return Claim(
        f"{first.of(one)} {joint} {second.of(other)}",
        None,
        first.number,
        flags,
        lambda: both(count(first.readings, one.readings), count(second.readings, other.readings)),
        after_not=after,
    )


def contrast(desk: Desk, one: Phrase, other: Phrase) -> Claim:
    """How two phrases compare in number; "as many" of none and none is doubtful, and so is "at least as many"."""
    way = float(desk.rng.random())
    how = "exactly" if way < 0.3 else "more-than" if way < 0.65 else "fewer-than"
    compare = COMPARE[how]
    flags = tuple((compare(x[0], y[0]), compare(x[1], y[1])) for x, y in zip(one.counts, other.counts, strict=True))
    said, denied = {
        "exactly": (f"as many {one.many} as {other.many}", f"different numbers of {one.many} and {other.many}"),
        "more-than": (f"more {one.many} than {other.many}", f"no more {one.many} than {other.many}"),
        "fewer-than": (f"fewer {one.many} than {other.many}", f"at least as many {one.many} as {other.many}"),
    }[how]

    def make() -> Readings:
        held = compared(how, one.readings, other.readings)
        if how == "exactly":
            return (*held, *seen(held, one))
        least = compared("at-least", one.readings, other.readings) if how == "fewer-than" else ()
        return (*held, *(term("not", reading) for reading in seen(least, one)))

    return Claim(said, denied, 2, flags, make, after_not=said)


def compared(how: str, one: Readings, other: Readings) -> Readings:
    """That there are more of one set than of another, fewer, or as many."""
    return every_way(lambda x, y: term("count", term(how, term("size", y)), x), one, other)


def claim(desk: Desk, side: int | None = None) -> Claim:
    """Any claim; bare presence of a category is mostly passed over, as writers were asked to (Table 3)."""
    way = float(desk.rng.random())
    if way < 0.65:
        found = amount_claim(desk, None, side)
    elif way < 0.94:
        found = pair_claim(desk)
    else:
        one = desk.phrase(rich=False, plain=True, telling=False)
        found = contrast(desk, one, desk.other(one))
    if found.single and desk.chance(0.8):
        raise NoDraft
    return found


# --- frames -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairDraft:
    """A sentence without its capital and full stop, its readings, and the sentence that denies it."""

    said: str
    denied: str | None  # None: only "it is not true that ..." denies it
    readings: Readings
    spatial: bool = False
    presupposes: bool = False


@dataclass(frozen=True, slots=True)
class PairFamily:
    """A way to write a sentence."""

    name: str
    weight: float
    write: Callable[[Desk], PairDraft]
    drafts: int = 14  # tried before another family has its turn; more where most come to nothing
    doubted: float | None = None  # the weight where it is doubtful what is there; the same unless given


def of_side(side: int, readings: Readings) -> Readings:
    """That something holds of one image."""
    return tuple(term("every", SIDES[side], reading) for reading in readings)


def within(side: int, readings: Readings) -> Readings:
    """The objects of one image."""
    return tuple(term("within", reading, SIDES[side]) for reading in readings)


def of_images(amounts: list[Term], readings: Readings) -> Readings:
    """That something holds of so many images."""
    return every_way(lambda amount, reading: term("count", amount, term("where", reading, PANELS)), amounts, readings)


def a_side(desk: Desk) -> tuple[int, str, str]:
    """An image, its name, and the other's."""
    side = int(desk.chance(0.5))
    names = [f"the left {desk.image}", f"the right {desk.image}"]
    if desk.chance(0.2):
        names = [f"the {desk.image} on the left", f"the {desk.image} on the right"]
    return side, names[side], names[1 - side]


def verbs(desk: Desk) -> tuple[str, str]:
    """A verb for what an image does to its things, and its plural."""
    return desk.pick(*VERBS)


def has(what: Claim, one: bool, verb: tuple[str, str]) -> tuple[str, str | None]:
    """What an image or several contain, and the denial."""
    held = verb[0] if one else verb[1]
    said = f"{held} {what.said}"
    if what.denied is not None:
        return said, f"{held} {what.denied}"
    if what.after_not is None:
        return said, None
    return said, f"{'does' if one else 'do'} not {verb[1]} {what.after_not}"


def there(what: Claim) -> tuple[str, str | None]:
    """That there is something, and the denial."""
    be = "is" if what.number == 1 else "are"
    if what.denied is not None:
        return f"there {be} {what.said}", there_be(what.denied)
    if what.after_not is None or what.after_not.startswith("both"):
        return f"there {be} {what.said}", None
    return f"there {be} {what.said}", f"there {be} not {what.after_not}"


def there_be(phrase: str) -> str:
    """ "There is at least one dog", "there are fewer than two dogs"."""
    singular = ("at least one ", "more than one ", "at most one ", "no more than one ", "one ")
    digits = tuple(start.replace("one", "1") for start in singular)
    return f"there {'is' if phrase.startswith((*singular, *digits)) else 'are'} {phrase}"
