"""What four pairs of images have to be told apart by: noun phrases for things in them, and how many each image has.

A phrase ("red dogs", "animals", "boys running", "a cat above a tree") has the objects it means, once for each way to
take its words: a taxi may count as a car, a cat whose middle is higher may be above or not yet.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from veridical.language.english import Nouns, Spoken, Values, Word, a
from veridical.language.programs.domain import RELATE, Thing, domain_of
from veridical.language.programs.terms import Term, term
from veridical.language.writing.drafting import THINGS, Dice, NoDraft, keep
from veridical.language.writing.pairs.doubts import sure, uncountable, ways
from veridical.records import Panel, SceneObject

SIDES = (term("panel", 1), term("panel", 2))
HYPERNYM = "hypernym"  # how a key names it; the program asks for the attribute or the categories
RELATIONS = {  # said of a thing whose middle, or all of it, is beyond another's
    "to the left of": ("left", "well-left"),
    "to the right of": ("right", "well-right"),
    "above": ("above", "well-above"),
    "below": ("below", "well-below"),
}
Counts = tuple[tuple[int, int], ...]  # of each pair: left, right


@dataclass(frozen=True, slots=True)
class Phrase(Word):
    """A noun phrase for some things of the images: "red dog", "red dogs"."""

    key: Values  # (("category", "dog"), ("color", "red")): what it is named by; empty parts for a relation
    readings: tuple[Term, ...]  # the objects of a panel or a pair, for each way to take the words
    counts: Counts  # under the first of the readings
    plain: bool = True  # whether nothing follows the noun
    spatial: bool = False

    @property
    def head(self) -> tuple[str, str]:
        """Its category or hypernym."""
        return self.key[0]


class Facts:
    """What the things in some pairs of panels can be called, counted once; terms are made for phrases in use.

    Only what is sure to be seen is spoken of; `seen` are the panels with what may count or not, too.
    """

    def __init__(self, seen: Sequence[tuple[Panel, Panel]], nouns: Nouns) -> None:
        self.nouns = nouns
        self.seen = tuple(seen)
        pairs = [(sure(left), sure(right)) for left, right in seen]
        self.doubted = any(len(ways(o)) > 1 for pair in seen for panel in pair for o in panel.objects)
        self.domains = tuple(domain_of(pair) for pair in pairs)
        self.boxed = all(o.box is not None for pair in pairs for panel in pair for o in panel.objects)
        self._shortest: dict[str, float] = {}  # the shortest side of any box of each category
        for one in (o for pair in pairs for panel in pair for o in panel.objects if o.box is not None):
            left, top, right, bottom = one.box or (0.0, 0.0, 0.0, 0.0)
            shortest = min(self._shortest.get(one.category, math.inf), right - left, bottom - top)
            self._shortest[one.category] = shortest
        self._spoken: dict[tuple[str, str], tuple[Spoken, ...]] = {}
        self._phrases: dict[Values, Phrase] = {}
        self._named = {n.values: n for n in nouns.named}
        self._people = {n.values[0] for n in nouns.named}  # categories whose things have names of their own
        hidden = uncountable([panel for pair in seen for panel in pair])
        self._uncounted = hidden | {above for c, above in nouns.above.items() if c in hidden}
        self._members: dict[Values, list[list[Thing]]] = {}  # key -> for each image, left and right by turns
        size = 2 * len(pairs)
        for at, image in enumerate(image for domain in self.domains for image in domain.by_panel):
            for thing in image.things:
                for key in self._keys(thing.object):
                    if key not in self._members:
                        self._members[key] = [[] for _ in range(size)]
                    self._members[key][at].append(thing)
        self._members = {k: m for k, m in self._members.items() if sum(map(bool, m)) >= nouns.holders}
        self.counts = {key: _by_pair([len(m) for m in members]) for key, members in self._members.items()}
        self.bases = tuple(k for k in self.counts if k in self._named or len(k) == 1)
        self.described = tuple(k for k in self.counts if k not in self._named and len(k) > 1)

    def _keys(self, thing: SceneObject) -> list[Values]:
        """What the thing may be called: category, hypernym or name, alone or with one attribute or two."""
        nouns = self.nouns
        if thing.category in self._uncounted:
            return []
        values = dict(reversed(thing.attributes)) | {"category": thing.category}
        own: Values = (("category", thing.category),)
        bases: list[Values] = [own] if thing.category in nouns.categories else []
        above = nouns.above.get(thing.category)
        if above is not None and above not in self._uncounted:
            bases.append(((HYPERNYM, above),))
        bases += [n.values for n in nouns.named if all(values.get(k) == v for k, v in n.values)]
        out = list(bases)
        for base in bases:
            given = [name for name, _ in base]
            ways = [way for way in self._ways(base[0]) if way.name not in given and way.says(values.get(way.name))]
            fresh = [(way.name, values[way.name]) for way in ways]
            out += [(*base, one) for one in fresh]
            if base is own:
                out += [(*base, one, other) for i, one in enumerate(fresh) for other in fresh[i + 1 :]]
        return out

    def phrase(self, key: Values) -> Phrase:
        """The phrase that a key stands for."""
        made = self._phrases.get(key)
        if made is None:
            base, described = self._split(key)
            words = self._base_word(base)
            one, many = words.one, words.many
            for name, value in described:
                pattern = self.way(name, base[0]).phrase
                one, many = (pattern.format(value=value, noun=noun) for noun in (one, many))
            plain = all(self.way(name, base[0]).phrase.endswith("{noun}") for name, _ in described)
            readings = tuple(keep(tests) for tests in self._tests(base, described))
            made = self._phrases[key] = Phrase(one, many, key, readings, self.counts[key], plain)
        return made

    def _split(self, key: Values) -> tuple[Values, Values]:
        for length in range(len(key), 0, -1):
            if key[:length] in self._named:
                return key[:length], key[length:]
        return key[:1], key[1:]

    def _base_word(self, base: Values) -> Word:
        if base in self._named:
            return self._named[base].word
        name, value = base[0]
        return (self.nouns.hypernyms if name == HYPERNYM else self.nouns.categories)[value]

    def _tests(self, base: Values, described: Values) -> list[list[Term]]:
        """The tests of a key, for each reading of its noun."""
        (name, value), rest = base[0], [term("is", k, v) for k, v in described]
        exact = [term("is", k, v) for k, v in base[1:]]
        if base in self._named:
            wider = dict(self._named[base].wider)
            loose = [term("is", k, v, wider[k]) if k in wider else term("is", k, v) for k, v in base[1:]]
            first = term("is", name, value)
            return [[first, *exact, *rest], *([[first, *loose, *rest]] if wider else [])]
        if name != HYPERNYM:
            also = self.nouns.also.get(value, ())
            readings = [(value,), (value, *also)] if also else [(value,)]
        elif self.nouns.hypernym_attribute is not None:
            return [[term("is", self.nouns.hypernym_attribute, value), *rest]]
        else:
            members = self.nouns.under(value)
            sure = tuple(c for c in members if c not in self.nouns.doubtful)
            readings = [members, sure] if sure and sure != members else [members]
        return [[term("is", "category", *found), *rest] for found in readings]

    def unlike(self, phrase: Phrase) -> Phrase:
        """The things of a phrase's noun that lack its last attribute: "dogs that are not red"."""
        base, described = self._split(phrase.key)
        if not described:
            raise NoDraft
        whole, (name, value) = self.phrase(phrase.key[:-1]), phrase.key[-1]
        said = self.predicate(phrase.head, name, value)
        readings = tuple(
            keep([*tests, term("not", term("is", name, value))]) for tests in self._tests(base, described[:-1])
        )
        counts = tuple((x[0] - y[0], x[1] - y[1]) for x, y in zip(whole.counts, phrase.counts, strict=True))
        who = "who" if whole.head in self._people else "that"
        one, many = f"{whole.one} {who} is not {said}", f"{whole.many} {who} are not {said}"
        return Phrase(one, many, phrase.key, readings, counts, plain=False)

    def related_counts(self, one: Phrase, words: str, other: Phrase) -> Counts:
        """How many things of one phrase stand so to a thing of another; found without making the phrase itself."""
        relate = RELATE[RELATIONS[words][0]]
        images = zip(self._members[one.key], self._members[other.key], strict=True)
        return _by_pair([sum(any(relate(x, y) for y in others) for x in things) for things, others in images])

    def related(self, one: Phrase, words: str, other: Phrase) -> Phrase:
        """The things of one phrase that stand so to a thing of another: "dogs to the left of a tree"."""
        readings = []
        for objects, landmark, relation in product(one.readings, other.readings, RELATIONS[words]):
            held = term("related", relation, term("at-least", 1), landmark)
            readings.append(term("keep", term("and", objects.args[0], held), THINGS))
        counts, tail = self.related_counts(one, words, other), f"{words} {a(other.one)}"
        distinct = tuple(dict.fromkeys(readings))
        return Phrase(f"{one.one} {tail}", f"{one.many} {tail}", one.key, distinct, counts, plain=False, spatial=True)

    def _ways(self, head: tuple[str, str]) -> tuple[Spoken, ...]:
        """How each attribute is spoken of in a category (in its own way where it has one) or under a hypernym."""
        known = self._spoken.get(head)
        if known is None:
            categories = set(self.nouns.under(head[1]) if head[0] == HYPERNYM else [head[1]])
            found: dict[str, Spoken] = {}
            for way in self.nouns.attributes:
                small = any(self._shortest.get(c, way.least) < way.least for c in categories)
                if not small and (way.of is None or categories <= way.of):
                    found.setdefault(way.name, way)
            known = self._spoken[head] = tuple(found.values())
        return known

    def way(self, name: str, head: tuple[str, str]) -> Spoken:
        """How an attribute is spoken of in a category or under a hypernym."""
        return next(way for way in self._ways(head) if way.name == name)

    def predicate(self, head: tuple[str, str], name: str, value: str) -> str:
        """What follows "is" to say that a thing has an attribute."""
        return self.way(name, head).predicate.format(value=value)


def _by_pair(numbers: list[int]) -> Counts:
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def varies(values: Sequence[object]) -> bool:
    """Whether something differs at all."""
    return any(v != values[0] for v in values)


class Desk(Dice):
    """Where one sentence is written: chance, facts, and the style of the sentence."""

    def __init__(
        self,
        rng: np.random.Generator,
        facts: Facts,
        truth: tuple[bool, ...],
        focus: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        super().__init__(rng)
        self.facts = facts
        self._truth = truth  # only ever asked how it splits the pairs, never which half is which
        self.focus = focus  # categories and hypernyms to speak of where it can be done
        self.image = self.pick(*["image"] * 8, "photo", "picture")
        self.digits = self.chance(0.06)

    # --- what tells the pairs apart

    def tells(self, flags: Sequence[bool]) -> bool:
        """Whether something is so of just the pairs to be told from the others, or of just the others."""
        same = flags[0] == self._truth[0]
        return all((flag == value) == same for flag, value in zip(flags, self._truth, strict=True))

    def must_tell(self, flags: Sequence[bool]) -> None:
        """Give up a draft that would not tell them apart, before its programs are made."""
        if not self.tells(flags):
            raise NoDraft

    def apart(self, facts: Sequence[Hashable]) -> bool:
        """Whether no pair has a fact in common with one that it is to be told from."""
        halves: tuple[set[Hashable], set[Hashable]] = (set(), set())
        for fact, value in zip(facts, self._truth, strict=True):
            halves[value].add(fact)
        return halves[0].isdisjoint(halves[1])

    # --- phrases

    def key(self, described: float = 0.5, among: Sequence[Values] | None = None, telling: bool = False) -> Values:
        """A key that is not the same everywhere; with an attribute at this rate, of the focus more often than not.

        A `telling` one has other numbers in the pairs that are to be told apart.
        """
        if among is None:
            among = self.facts.described if self.chance(described) else self.facts.bases
        if self.focus and self.chance(0.7):
            among = [k for k in among if k[0] in self.focus] or among
        if not among:
            raise NoDraft
        for _ in range(12):
            found = among[int(self.rng.random() * len(among))]
            counts = self.facts.counts[found]
            if (len(found) < 3 or self.chance(0.3)) and (self.apart(counts) if telling else varies(counts)):
                return found
        raise NoDraft

    def phrase(self, described: float = 0.45, plain: bool = False, rich: bool = True, telling: bool = True) -> Phrase:
        """A phrase; `rich` ones may be told by what they lack or by where they are."""
        chance = float(self.rng.random())
        if rich and not plain and chance < 0.6 and self.facts.boxed:
            return self.relation_of(self.phrase(0.4, plain=True, telling=False), telling)
        phrase = self.facts.phrase(self.key(described, telling=telling))
        if rich and not plain and chance > 0.94:
            return self.facts.unlike(phrase)
        if plain and not phrase.plain:
            raise NoDraft
        return phrase

    def relation_of(self, one: Phrase, telling: bool = True) -> Phrase:
        """Those of a phrase that stand to things of another in a certain way."""
        words, other = self.pick(*RELATIONS), self.other(one, 0.2)
        counts = self.facts.related_counts(one, words, other)
        if not (self.apart(counts) if telling else varies(counts)):
            raise NoDraft
        return self.facts.related(one, words, other)

    def other(self, one: Phrase, described: float = 0.3) -> Phrase:
        """A plain phrase that shares no things with a first one: another category, or another value of an attribute."""
        facts = self.facts
        if described and len(one.key) > 1 and self.chance(0.35):
            name = one.key[-1][0]
            alike = [k for k in facts.counts if k[:-1] == one.key[:-1] and k[-1][0] == name and k != one.key]
            if alike and name != "category" and one.key not in facts.bases:
                return facts.phrase(self.pick(*alike))
        for _ in range(8):
            among = facts.described if self.chance(described) and facts.described else facts.bases
            found = among[int(self.rng.random() * len(among))]
            phrase = facts.phrase(found)
            if phrase.plain and len(found) < 3 and self._apart(one.head, phrase.head):
                return phrase
        raise NoDraft

    def _apart(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        nouns = self.facts.nouns
        if one == other or other[1] in nouns.also.get(one[1], ()) or one[1] in nouns.also.get(other[1], ()):
            return False
        return one[0] == other[0] or (nouns.above.get(one[1]) != other[1] and nouns.above.get(other[1]) != one[1])
