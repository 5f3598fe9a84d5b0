"""Layouts from a parse (Andreas et al. 2016, section 4.2; NLVR section 6.3: at most two or five leaves).

A sentence is cut into phrases, each a noun with its describing words, its amount ("exactly two") and what links it to
the phrase it hangs on ("above", "with"). Nouns become `find` (the paper's attend), what they stand in relation to
`relocate` (re-attend) and `and` (combine), amounts `count`, `total` and `boxes` (measure); a sentence without things to
count is described (classify). So "There is a box with two blue circles above a square" reads

    find[blue circle] find[square] relocate[above] and count[two] boxes[a box]

The parser is spaCy's, of the `[offline]` extra. Without it phrases are cut by lists of words, and each hangs on the
one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from veridical.errors import UserError
from veridical.language.phenomena.parse import Parse, ParsedWord, parse_many
from veridical.language.phenomena.parse import words as listed
from veridical.language.reading.lexicon import NUMBERS, words
from veridical.zoo.layouts import LONGEST, Layout, Step

CONTAINERS = listed("box tower image picture photo photograph pair scene")
PLACES = listed("wall edge corner side base bottom top middle border floor ceiling ground left right")
AMOUNTS = listed(
    "a an the exactly only least most more less fewer no not all every each both any one of single just none neither "
    "either another same different"
)
LINKS = listed(
    "with has have having contains containing contain in on at under above below beneath over touching touch touches "
    "near next to left right behind beside between inside from by against directly closely that which is are there "
    "than second third first fourth"
)
HOLDS = listed("with have has having contain contains containing include includes show shows of in be")
AMOUNTS_AFTER_AT = listed("least most")
JOINS = frozenset({"and", "or", ",", "but"})


@dataclass(frozen=True)
class Phrase:
    """A noun with what belongs to it."""

    noun: tuple[str, ...]  # with its describing words
    amount: tuple[str, ...] = ()
    link: tuple[str, ...] = ()  # how it hangs on another phrase
    parent: int | None = None  # which; None: it stands by itself

    @property
    def contains(self) -> bool:
        return self.noun[-1] in CONTAINERS

    @property
    def is_place(self) -> bool:
        return self.noun[-1] in PLACES


def layouts(sentences: Iterable[str], leaves: int, parser: str = "spacy") -> dict[str, Layout]:
    """The layout of each sentence; every sentence is parsed once."""
    wanted = list(dict.fromkeys(sentences))
    if parser == "spacy":
        return {s: assemble(parsed_phrases(p), leaves) for s, p in zip(wanted, parse_many(wanted), strict=True)}
    return {s: assemble(cut_phrases(words(s)), leaves) for s in wanted}


def best_parser() -> str:
    """The name of the parser that is here: spacy, or words."""
    try:
        next(iter(parse_many(["a box"])))
    except UserError:
        return "words"
    return "spacy"


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

_OF_AMOUNTS = ("RB", "RBR", "RBS", "CD", "DT", "PDT", "IN")  # tags


def parsed_phrases(parse: Parse) -> list[Phrase]:
    """The noun phrases of a dependency parse, in order."""
    nouns = [w for w in parse if _is_head(parse, w)]
    number = {noun.index: n for n, noun in enumerate(nouns)}
    found = []
    for noun in nouns:
        own = sorted(_before(parse, noun), key=lambda w: w.index)
        counts = [w.tag in _OF_AMOUNTS or w.text in AMOUNTS for w in own]
        amount = tuple(w.text for w, counting in zip(own, counts, strict=True) if counting)
        describing = tuple(
            w.lemma for w, counting in zip(own, counts, strict=True) if not counting and w.index not in number
        )
        link, parent = _hangs_on(parse, noun, number)
        found.append(Phrase((*describing, noun.lemma), amount, link, parent))
    return found


def _is_head(parse: Parse, word: ParsedWord) -> bool:
    """A noun that is no mere part of another's name."""
    return word.tag.startswith(("NN", "PRP")) and word.text not in ("it", "there") and word.dep != "compound"


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


# --- layouts ----------------------------------------------------------------------------------------------------------


@dataclass
class _Claim:
    """A phrase that is counted, with the phrases that say more about it."""

    phrase: Phrase
    more: list[Phrase] = field(default_factory=list)


def assemble(phrases: Sequence[Phrase], leaves: int) -> Layout:
    """A layout with at most so many leaves (`find`); phrases past them are left out."""
    holder = next((p for p in phrases if p.contains), None)
    claims: dict[int, _Claim] = {}
    used = 0
    for n, phrase in enumerate(phrases):
        if phrase.contains or used == leaves:
            continue
        used += 1
        on = _claim_of(phrase, phrases, claims)
        if on is not None:
            on.more.append(phrase)
            claims[n] = on
        else:
            claims[n] = _Claim(phrase)
    own = list({id(c): c for c in claims.values()}.values())
    if not own:
        return _described(phrases)
    steps: list[Step] = []
    one = len(own) == 1 and holder is None
    for n, claim in enumerate(own):
        steps += _attended(claim)
        compared = any("than" in p.link for p in claim.more)
        if not compared or one:
            steps.append(Step("total" if one else "count", _said(claim.phrase)))
        steps += [Step("and")] * (n > 0)
    if not one:
        steps.append(Step("boxes", _said(holder) if holder else ()))
    return tuple(steps) if len(steps) <= LONGEST else assemble(phrases, leaves - 1)


def _claim_of(phrase: Phrase, phrases: Sequence[Phrase], claims: dict[int, _Claim]) -> _Claim | None:
    """The claim that a phrase says more about: what it hangs on, else the last one; not what only holds it.

    Parsers often hang "above a square" on the box or the verb: no such phrase stands by itself.
    """
    at, holds = phrase, {*phrase.link} <= HOLDS
    if holds and not phrase.is_place:
        return None
    while at.parent is not None:
        if at.parent in claims:
            return claims[at.parent]
        at = phrases[at.parent]
    return list(claims.values())[-1] if claims else None


def _said(phrase: Phrase) -> tuple[str, ...]:
    return (*phrase.amount, phrase.noun[-1])


def sets_of(layout: Layout) -> list[int]:
    """The number of the set that each step comes to, in the order that programs name them; 0 where it is none.

    A claim's set is named before those that it stands in relation to: "circles (1) above squares (2)".

    >>> made = assemble(cut_phrases("two circles above a square".split()), 5)
    >>> [(step.module, number) for step, number in zip(made, sets_of(made))]
    [('find', 0), ('find', 2), ('relocate', 0), ('and', 1), ('total', 0)]
    """
    out, done, related = [0] * len(layout), 0, list[int]()
    for number, step in enumerate(layout):
        if step.module in ("relocate", "compare"):
            related.append(number - 1)
        if step.module in ("count", "total", "compare", "describe"):
            claim = number - 1 if step.module != "compare" else number - 2
            if step.module == "count" and number and layout[number - 1].module == "compare":
                continue
            for place in [claim, *(r for r in related if r != claim)]:
                done += 1
                out[place] = done
            related = []
    return out


def _attended(claim: _Claim) -> Iterator[Step]:
    yield Step("find", claim.phrase.noun)
    for phrase in claim.more:
        if "than" in phrase.link:
            yield Step("find", phrase.noun)
            yield Step("compare", phrase.link)
        elif phrase.is_place:
            yield Step("find", (*phrase.link, *phrase.noun))
            yield Step("and")
        else:
            yield Step("find", phrase.noun)
            yield Step("relocate", phrase.link or phrase.amount)
            yield Step("and")


def _described(phrases: Sequence[Phrase]) -> Layout:
    """Nothing but boxes is named: what all of it looks like."""
    said = tuple(w for p in phrases for w in (*p.amount, *p.noun, *p.link))
    return (Step("find", said[-1:]), Step("describe", said), Step("boxes", said[:1]))
