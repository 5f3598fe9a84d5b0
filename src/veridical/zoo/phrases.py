"""Noun phrases of a sentence, for layouts of modules: each a noun with its describing words, its amount ("exactly two")
and what links it to the phrase it hangs on ("above", "with").

By a dependency parse (spaCy's, of the `[offline]` extra), or cut by lists of words where there is none: then each
phrase hangs on the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from veridical.language.phenomena.parse import Parse, ParsedWord
from veridical.language.phenomena.parse import words as listed
from veridical.language.reading.lexicon import NUMBERS

CONTAINERS = listed("box tower image picture photo photograph pair scene")
PLACES = listed("wall edge corner side base bottom top middle border floor ceiling ground left right")
AMOUNTS = listed(
    "a an the exactly only least most more less fewer no not all every each both any one of single just none neither "
    "either another same different many as its"
)
LINKS = listed(
    "with has have having contains containing contain in on at under above below beneath over touching touch touches "
    "near next to left right behind beside between inside from by against directly closely that which is are there "
    "than second third first fourth"
)
AMOUNTS_AFTER_AT = listed("least most")
LOOKS = listed("color colour shape size kind")
JOINS = frozenset({"and", "or", ",", "but"})


@dataclass(frozen=True)
class Phrase:
    """A noun with what belongs to it."""

    noun: tuple[str, ...]  # with its describing words
    amount: tuple[str, ...] = ()
    link: tuple[str, ...] = ()  # how it hangs on another phrase
    parent: int | None = None  # which; None: it stands by itself
    said: tuple[str, ...] = ()  # what a sentence says of it: all the squares are "yellow"

    @property
    def contains(self) -> bool:
        return self.noun[-1] in CONTAINERS

    @property
    def is_place(self) -> bool:
        """A wall, a bottom; not "a yellow bottom", which is a thing."""
        return self.noun[-1] in PLACES and {*self.noun} <= PLACES

    @property
    def is_look(self) -> bool:
        """A colour as such: "all of the same color"."""
        return self.noun[-1] in LOOKS


# --- phrases by lists of words ----------------------------------------------------------------------------------------


def lemma(word: str) -> str:
    """A noun without its plural ending.

    >>> [lemma(w) for w in ("boxes", "circles", "is", "grass")]
    ['box', 'circle', 'is', 'grass']
    """
    if word.endswith("xes"):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def cut_phrases(sentence: Sequence[str]) -> list[Phrase]:
    """Phrases of a sentence, where words that are neither amounts nor links are nouns and what describes them.

    >>> [(p.amount, p.noun, p.link) for p in cut_phrases("a box with two blue circles".split())]
    [(('a',), ('box',), ()), (('two',), ('blue', 'circle'), ('with',))]
    """
    found: list[Phrase] = []
    link: list[str] = []
    amount: list[str] = []
    noun: list[str] = []

    def close() -> None:
        if noun:
            joined = bool(JOINS & {*link})
            parent = None if not found or joined else len(found) - 1
            found.append(Phrase(tuple(noun), tuple(amount), tuple(w for w in link if w not in JOINS), parent))
            for kept in (link, amount, noun):
                kept.clear()

    for word, after in zip(sentence, [*sentence[1:], ""], strict=False):
        is_amount = word in AMOUNTS or word in NUMBERS or word.isdigit() or (word == "at" and after in AMOUNTS_AFTER_AT)
        if is_amount or word in LINKS or word in JOINS:
            close()
            (amount if is_amount else link).append(word)
        else:
            noun.append(lemma(word))
    close()
    if not found and (link or amount):  # "on the left": places that are links, and nothing else
        found.append(Phrase((*amount, *link)))
    return found


# --- phrases by a dependency parse ------------------------------------------------------------------------------------

_OF_AMOUNTS = ("RB", "RBR", "RBS", "CD", "DT", "PDT", "IN", "PRP$")  # tags
_PARTS = listed("one none all each every both neither some any half")  # of the boxes, of them


def parsed_phrases(parse: Parse) -> list[Phrase]:
    """The noun phrases of a dependency parse, in order.

    "One of the boxes" is boxes, one of them; "two of them are circles" is two circles.
    """
    parts = _parts(parse)
    nouns = [w for w in parse if _is_head(parse, w, parts)]
    number = {noun.index: n for n, noun in enumerate(nouns)}
    found: list[Phrase] = []
    for noun in nouns:
        part = parts.get(noun.index)
        own = sorted(_before(parse, noun), key=lambda w: w.index)
        counts = [w.tag in _OF_AMOUNTS or w.text in AMOUNTS for w in own]
        amount = tuple(w.text for w, counting in zip(own, counts, strict=True) if counting)
        if part is not None:
            before = sorted([*_before(parse, part), part], key=lambda w: w.index)
            amount = (*(w.text for w in before), "of", *amount)
        describing = tuple(
            w.lemma for w, counting in zip(own, counts, strict=True) if not counting and w.index not in number
        )
        if noun.dep == "conj" and not own and number.get(noun.head) == len(found) - 1:
            describing = found[-1].noun[:-1]  # "a blue circle and triangle": both are blue
        link, parent = _hangs_on(parse, noun if part is None else part, number)
        subject, is_pronoun = part or noun, noun.tag.startswith("PRP")
        said = _said_of(parse, subject)
        if is_pronoun:
            link, parent = (), None
        named = (*(said or (noun.lemma,)),) if is_pronoun else (*describing, noun.lemma)
        found.append(Phrase(named, amount, link, parent, () if is_pronoun else said))
    return found


def _parts(parse: Parse) -> dict[int, ParsedWord]:
    """Of nouns that something is a part of, that: "one of the boxes"."""
    out: dict[int, ParsedWord] = {}
    for word in parse:
        of = parse.head(word)
        part = parse.head(of)
        if word.dep == "pobj" and of.text == "of" and (part.tag == "CD" or part.text in _PARTS):
            out[word.index] = part
    return out


def _said_of(parse: Parse, subject: ParsedWord) -> tuple[str, ...]:
    """What "is" says of a subject: "its top block is blue", "two of them are yellow circles"."""
    verb = parse.head(subject)
    if subject.dep != "nsubj" or verb.lemma != "be":
        return ()
    return tuple(
        word
        for child in parse.children(verb, "acomp", "attr")
        if child.index > subject.index
        for word in (*(w.lemma for w in _before(parse, child) if w.tag.startswith("JJ")), child.lemma)
    )


def _is_head(parse: Parse, word: ParsedWord, parts: dict[int, ParsedWord]) -> bool:
    """A noun that is no mere part of another's name, of an amount ("none of") or of a link ("on top of a block")."""
    if not word.tag.startswith(("NN", "PRP")) or word.tag == "PRP$" or word.text in ("it", "there"):
        return False
    if word.dep == "compound" or word.index in {part.index for part in parts.values()}:
        return False
    if word.dep == "attr" and any(parse.head(word) == parse.head(one) and one.dep == "nsubj" for one in parts.values()):
        return False  # said of the parts
    below = [inner for of in parse.children(word, "prep") if of.text == "of" for inner in parse.children(of, "pobj")]
    return not (word.lemma in PLACES and any(one.lemma not in CONTAINERS for one in below))


def _before(parse: Parse, noun: ParsedWord) -> Iterator[ParsedWord]:
    """The words before a noun that belong to it, and to them ("at least two", "yellow and black")."""
    for child in parse.children(noun):
        if child.index < noun.index and child.dep not in ("nsubj", "relcl", "cc"):
            yield child
            yield from _below(parse, child)


def _below(parse: Parse, word: ParsedWord) -> Iterator[ParsedWord]:
    for child in parse.children(word):
        yield child
        yield from _below(parse, child)


def _hangs_on(parse: Parse, noun: ParsedWord, number: dict[int, int]) -> tuple[tuple[str, ...], int | None]:
    """The words on the way up to the next noun, and which it is; words of a conjunct are those of the first."""
    at, way, alone = noun, list[str](), False
    for _ in range(len(parse)):
        if at.head == at.index:
            return tuple(way), None
        alone |= at.dep == "conj"
        at = parse.head(at)
        if at.index in number:
            return tuple(way), None if alone and not way else number[at.index]
        way = [w.text for w in parse.children(at, "advmod", "neg", "npadvmod") if w.index < at.index] + [at.lemma, *way]
    return tuple(way), None
