"""English sentences about two images, true of some pairs and false of the others (NLVR2, section 3.2).

A draft is made without a look at which pairs are to be true, and every draft can also be denied. So what can be written
for one choice of true pairs can be written for the opposite choice too: where the caller draws the choice by chance, no
property of a pair tells whether its sentence is true, and every sentence is true of some pairs and false of others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from veridical.errors import UserError
from veridical.language.english import NUMBER_WORDS, Nouns
from veridical.language.phenomena.tagger import PHENOMENA
from veridical.language.programs.domain import domain_of
from veridical.language.programs.execution import compiled
from veridical.language.programs.terms import Term, parse, term
from veridical.language.writing.drafting import NoDraft, Readings
from veridical.language.writing.pairs.claims import PairDraft, PairFamily, deny
from veridical.language.writing.pairs.doubts import words_of, worlds
from veridical.language.writing.pairs.families import FAMILIES
from veridical.language.writing.pairs.phrases import HYPERNYM, Desk, Facts
from veridical.records import Panel

TRIES = 3  # rounds over all families
PATIENCE = 4  # times as many drafts where most come to nothing, because it is doubtful what is there
# how little a denial is wanted: with "not" or "neither", with "not exactly", or only as "it is not true that"
NEGATED, CLUMSY, LAST = 1, 2, 3
NEGATIONS = 0.1  # of the denials with such a word that are taken at once; the others wait for want of better


@dataclass(frozen=True)
class PairStatement:
    """A sentence about two images and what it means."""

    sentence: str
    program: str  # `(panel 1)` is the left image, `(panel 2)` the right one
    phenomena: tuple[str, ...]  # in the order of `phenomena.PHENOMENA`
    family: str


def write(
    rng: np.random.Generator,
    pairs: Sequence[tuple[Panel, Panel]],
    truth: Sequence[bool],
    *,
    nouns: Nouns,
    synset: str | None = None,
    avoid: Collection[str] = (),
    tries: int = TRIES,
) -> PairStatement | None:
    """A sentence that is true of exactly the pairs with `truth`, however its words are read; None where none was found.

    It speaks of the things of `synset` (a category) where it can, and is none of the sentences in `avoid`. Draw `truth`
    by chance, independently of the pairs, and the pairs alone will not tell it.
    """
    wanted = tuple(bool(t) for t in truth)
    if len(wanted) != len(pairs) or all(wanted) or not any(wanted):
        raise UserError(
            f"{len(pairs)} pairs with the truth values {list(wanted)} cannot be told apart by a sentence.",
            "Give one truth value for each pair, true and false among them.",
        )
    facts = Facts(pairs, nouns)
    focus = _focus(synset, nouns)
    spare: PairStatement | None = None
    best = LAST + 1
    for _ in range(tries):
        # each family the sooner the greater its weight: the first is drawn by weight, then the next ...
        keys = rng.random(len(FAMILIES)) ** (1 / np.array([weight(family, facts.doubted) for family in FAMILIES]))
        for family in (FAMILIES[k] for k in np.argsort(-keys)):
            found, rank = _write_family(rng, family, facts, wanted, focus, avoid)
            if found is not None and rank < best:
                spare, best = found, rank
            if spare is not None and best == 0:
                return spare
    return spare


def weight(family: PairFamily, doubted: bool) -> float:
    """How often a family is tried first, beside others; of photographs, the less the easier it is written of them."""
    return family.weight if family.doubted is None or not doubted else family.doubted


def _focus(synset: str | None, nouns: Nouns) -> frozenset[tuple[str, str]]:
    """The category a synset names, and its hypernym."""
    name = (synset or "").replace("_", " ").lower()
    found = next((c for c, word in nouns.categories.items() if name in (c.lower(), word.one.lower())), None)
    if name in nouns.hypernyms:
        return frozenset([(HYPERNYM, name), *(("category", c) for c in nouns.under(name))])
    if found is None:
        return frozenset()
    above = nouns.above.get(found)
    return frozenset([("category", found), *([(HYPERNYM, above)] if above else [])])


def _write_family(
    rng: np.random.Generator,
    family: PairFamily,
    facts: Facts,
    wanted: tuple[bool, ...],
    focus: frozenset[tuple[str, str]],
    avoid: Collection[str],
) -> tuple[PairStatement | None, int]:
    """A sentence of a family, and how little it is wanted: 0, NEGATED, CLUMSY or LAST."""
    spare: PairStatement | None = None
    best = LAST + 1
    for _ in range(family.drafts * (PATIENCE if facts.doubted else 1)):
        try:
            draft = family.write(Desk(rng, facts, wanted, focus))
        except NoDraft:
            continue
        positive = _polarity(draft.readings, facts, wanted)
        if positive is None:
            continue
        text = draft.said if positive else draft.denied or f"it is not true that {draft.said}"
        sentence = f"{text[0].upper()}{text[1:]}."
        if sentence in avoid:
            continue
        rank = 0 if positive else _rank(draft, rng)
        if rank < best:
            program = draft.readings[0] if positive else deny(draft.readings[0])
            spare, best = PairStatement(sentence, str(program), _phenomena(text, draft), family.name), rank
        if best == 0:
            break
    return spare, best


def _rank(draft: PairDraft, rng: np.random.Generator) -> int:
    """How little a denial is wanted."""
    if draft.denied is None:
        return LAST
    if _NOT_EXACTLY.search(draft.denied):
        return CLUMSY
    negated = _SHOWN["negation"].search(draft.denied) and not _SHOWN["negation"].search(draft.said)
    return NEGATED if negated and rng.random() >= NEGATIONS else 0


def _polarity(readings: Readings, facts: Facts, wanted: tuple[bool, ...]) -> bool | None:
    """Whether all readings are true of just the wanted pairs (True) or false of just these (False); else None."""
    first = compiled(readings[0])
    positive = bool(first(facts.domains[0])) == wanted[0]
    for run in (first, *(compiled(reading) for reading in readings[1:])):
        for domain, value in zip(facts.domains, wanted, strict=True):
            if (bool(run(domain)) == value) != positive:
                return None
    return positive if _certain(readings, facts, [value == positive for value in wanted]) else None


def _certain(readings: Readings, facts: Facts, values: Sequence[bool]) -> bool:
    """Whether readings have these values of the pairs whatever is there where annotations leave it open."""
    words = words_of(readings[0]).union(*map(words_of, readings[1:]))
    for pair, value in zip(facts.seen, values, strict=True):
        found = worlds(pair, words)
        if found is None:
            return False
        if len(found) > 1:
            domains = [domain_of(world) for world in found]
            if any(bool(run(domain)) != value for run in map(compiled, readings) for domain in domains):
                return False
    return True


_NUMBER = rf"(?:{'|'.join(NUMBER_WORDS[1:21])}|\d+)"
_BOUND = rf"(?:at least|at most|more than|fewer than) {_NUMBER}\b|\b{_NUMBER} or more\b"
_IMAGE = r"(?:of the )?(?:two )?(?:image|photo|picture)s?\b"
_SHOWN = {  # the words of ours that show a phenomenon
    "soft cardinality": re.compile(rf"\b{_BOUND}"),
    "existential quantifier": re.compile(r"\bthere (?:is|are)\b"),
    "universal quantifier": re.compile(r"\b(?:each|every|all|both)\b"),
    "coordination": re.compile(r"\b(?:and|or|but|while)\b"),
    "coreference": re.compile(r"\b(?:it also|them)\b"),
    "comparison": re.compile(r"\b(?:same|different)\b|\bas many\b|\btwice\b|(?<!or )\b(?:more|fewer) (?!than\b)"),
    "negation": re.compile(r"\b(?:no|not|none|neither)\b"),
}
_NOT_EXACTLY = re.compile(r"\bnot (?:\w+ )?exactly\b")
_COUNTED = re.compile(rf"\b{_BOUND}|\b(?:the two|two of the) {_IMAGE}|(?<!exactly )(?<!only )\bone {_IMAGE}")
_HARD = re.compile(rf"\b(?:{_NUMBER}|single)\b")


def _phenomena(text: str, draft: PairDraft) -> tuple[str, ...]:
    """What a sentence of ours shows; its function words are a closed set, so that no parse is needed."""
    shown = {name for name, words in _SHOWN.items() if words.search(text)}
    if _HARD.search(_COUNTED.sub("", text)):
        shown.add("hard cardinality")
    if draft.spatial:
        shown.add("spatial relation")
    if draft.presupposes:
        shown.add("presupposition")
    return tuple(name for name in PHENOMENA if name in shown)


def execute_pair(program: str | Term, left: Panel, right: Panel) -> bool:
    """Whether a program is true of two images.

    >>> from veridical.records import SceneObject
    >>> two, one = (Panel("", objects=tuple(SceneObject(str(k), "dog") for k in range(n))) for n in (2, 1))
    >>> execute_pair("(count (more-than (size (within things (panel 2)))) (within things (panel 1)))", two, one)
    True
    """
    read = parse(program) if isinstance(program, str) else program
    return bool(compiled(read)(domain_of((left, right))))


def mirror(program: Term) -> Term:
    """The program that says of the right image what another says of the left one, and the other way round."""
    if program.op == "panel":
        return term("panel", {1: 2, 2: 1}.get(int(str(program.args[0])), program.args[0]))
    return term(program.op, *(mirror(arg) if isinstance(arg, Term) else arg for arg in program.args))


def blindness(judged: Iterable[tuple[Panel, Panel, bool]]) -> dict[str, float]:
    """How truth goes with what a pair alone shows, as correlations: near 0 where the images do not give it away."""
    rows, truth = [], []
    for left, right, value in judged:
        sizes = len(left.objects), len(right.objects)
        shown = [{o.category for o in panel.objects} for panel in (left, right)]
        rows.append((sum(sizes), sizes[0] - sizes[1], len(shown[0] | shown[1]), len(shown[0] & shown[1])))
        truth.append(float(value))
    if len(set(truth)) < 2:
        raise UserError("All of these pairs have the same truth value.", "Give true and false ones.")
    names = ("objects", "left minus right", "categories", "shared categories")
    columns = np.array(rows, float).T
    return {
        name: float(np.corrcoef(column, truth)[0, 1]) if column.std() else 0.0
        for name, column in zip(names, columns, strict=True)
    }
