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
from dataclasses import dataclass, field, replace

from veridical.errors import UserError
from veridical.language.phenomena.parse import parse_many
from veridical.language.phenomena.parse import words as listed
from veridical.language.reading.lexicon import words
from veridical.zoo.layouts import LONGEST, Layout, Step
from veridical.zoo.phrases import Phrase, cut_phrases, parsed_phrases

HOLDS = listed("with have has having contain contains containing include includes show shows of in be")
CARRIES = listed("with have has contain contains")  # at the end of a link: in a box, not of a thing
PLAIN = listed("a an the of")  # amounts of a box that say nothing of how many
EMPTY = listed("be have has with where that which there")  # of links: they name no relation
UNIVERSAL = listed("all every each")
ANYTHING = (
    ("item",),
    ("object",),
    ("block",),
    ("thing",),
    ("shape",),
)  # nouns for whatever is there: no set of a program


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


# --- layouts ----------------------------------------------------------------------------------------------------------


@dataclass
class _Claim:
    """A phrase that is counted, with the phrases that say more about it."""

    phrase: Phrase
    more: list[Phrase] = field(default_factory=list)

    @property
    def compared(self) -> bool:
        """Whether its number is compared with that of other things."""
        return any(_compares(phrase) for phrase in self.more)

    @property
    def universal(self) -> bool:
        """Whether it is said of all such things: "all the squares are yellow"."""
        return bool({*self.phrase.amount} & UNIVERSAL) and bool(self.phrase.said or self.more) and not self.compared

    @property
    def looks(self) -> list[Phrase]:
        """What is the same, or different, of such things: "all of the same color"."""
        return [phrase for phrase in self.more if phrase.is_look]


def _compares(phrase: Phrase) -> bool:
    return bool({"than", "as"} & {*phrase.link})


def assemble(phrases: Sequence[Phrase], leaves: int) -> Layout:
    """A layout with at most so many leaves (`find`); phrases past them are left out."""
    for most in range(leaves, 0, -1):
        found = _assembled(phrases, most)
        if len(found) <= LONGEST and sum(step.module == "find" for step in found) <= leaves:
            return found
    return _assembled([replace(phrase, said=()) for phrase in phrases], 1)


def _assembled(phrases: Sequence[Phrase], leaves: int) -> Layout:
    """A layout of the first phrases that name things."""
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
    first = next(n for n, phrase in enumerate(phrases) if phrase is own[0].phrase)
    plain = holder is not None and {*holder.amount} <= PLAIN and holder is not phrases[0]
    if plain and first < phrases.index(holder) and not own[0].compared:
        steps = _inside(own)
    else:
        steps = _held(own, holder)
    return tuple(steps)


def _held(claims: Sequence[_Claim], holder: Phrase | None) -> list[Step]:
    """Boxes that hold what is claimed: "a box with a circle and a square"; of one claim and no box, things in all."""
    steps: list[Step] = []
    one = len(claims) == 1 and holder is None
    for n, claim in enumerate(claims):
        steps += _attended(claim)
        if not (claim.compared or claim.universal) or one:
            steps.append(Step("total" if one else "count", _said(claim.phrase)))
        for look in claim.looks:
            steps += [Step("find", claim.phrase.noun), Step("describe", (*look.amount, *look.noun)), Step("and")]
        steps += [Step("and")] * (n > 0)
    if not one:
        steps.append(Step("boxes", _said(holder) if holder else ()))
    return steps


def _inside(claims: Sequence[_Claim]) -> list[Step]:
    """Things in all that lie in such a box: "a circle touching the wall of a box", "... in a box with two squares"."""
    steps = list(_attended(claims[0]))
    for claim in claims[1:]:
        steps += _attended(claim)
        steps += [Step("count", _said(claim.phrase))] * (not (claim.compared or claim.universal))
        steps.append(Step("and"))
    return [*steps, Step("total", _said(claims[0].phrase))]


def _claim_of(phrase: Phrase, phrases: Sequence[Phrase], claims: dict[int, _Claim]) -> _Claim | None:
    """The claim that a phrase says more about: what it hangs on, else the last one; not what only holds it.

    Parsers often hang "above a square" on the box or the verb: no such phrase stands by itself.
    """
    at, holds = phrase, {*phrase.link} - EMPTY <= HOLDS or {*phrase.link[-1:]} <= CARRIES
    if holds and not phrase.is_place and not phrase.is_look:
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
    names = [step.module for step in layout]
    if names[-1] == "total" and "count" in names:
        return out  # things in such a box: a program names them first, and what they stand in relation to among them
    if any(step.module == "compare" and {*step.words} & UNIVERSAL for step in layout):
        return out  # a program names what holds of all in another way
    for number, step in enumerate(layout):
        if step.module in ("relocate", "compare"):
            related.append(number - 1)
        if step.module in ("count", "total", "compare", "describe"):
            claim = number - 1 if step.module != "compare" else number - 2
            if step.module == "count" and number and layout[number - 1].module == "compare":
                continue
            for place in [claim, *(r for r in related if r != claim)]:
                if layout[place].words not in ANYTHING:
                    done += 1
                    out[place] = done
            related = []
    return out


def _attended(claim: _Claim) -> Iterator[Step]:
    """The things of a claim; where they are compared, or all are said to be something, a truth."""
    if claim.universal:  # as many as there are at all
        yield Step("find", claim.phrase.noun)
    yield Step("find", claim.phrase.noun)
    if claim.phrase.said:
        yield from (Step("find", claim.phrase.said), Step("and"))
    for phrase in claim.more:
        if _compares(phrase):
            continue
        if phrase.is_place:
            yield from (Step("find", (*_link(phrase), *phrase.noun)), Step("and"))
        elif not phrase.is_look:
            yield from (Step("find", phrase.noun), Step("relocate", _link(phrase) or phrase.amount), Step("and"))
    if claim.universal:
        yield Step("compare", claim.phrase.amount)
    for phrase in claim.more:
        if _compares(phrase):
            yield Step("find", phrase.noun)
            yield Step("compare", (*claim.phrase.amount, *phrase.link))
            break


def _link(phrase: Phrase) -> tuple[str, ...]:
    """What names the relation, without words that only hold a sentence together."""
    return tuple(word for word in phrase.link if word not in EMPTY) or phrase.link


def _described(phrases: Sequence[Phrase]) -> Layout:
    """Nothing but boxes is named: what all of it looks like."""
    said = tuple(w for p in phrases for w in (*p.amount, *p.noun, *p.link))
    return (Step("find", said[-1:]), Step("describe", said), Step("boxes", said[:1]))
