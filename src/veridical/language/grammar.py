"""From a human sentence to candidate programs: read it, and where no reading covers all words, leave some out.

`candidates` gives each program with the names of the decisions that led to it; a learned ranking (see
`veridical.solvers.ranking`) weighs those names. Numbers, colours and shapes never appear in a name, so evidence is
shared between sentences that differ only in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice, product

from veridical.language import clauses
from veridical.language.drafts import Draft, prepare, settle
from veridical.language.lexicon import BOXES, World, is_known, read_words
from veridical.language.reader import Reader
from veridical.language.terms import Term

MOST_CHOICES = 96  # ways to settle the open choices of one reading
MOST_CANDIDATES = 256
MOST_TOKENS = 60  # longer sentences are left to the fallback
SHORT = 14  # words up to which any two may be left out


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program that a sentence may mean, and the decisions that led to it."""

    program: Term
    marks: tuple[str, ...]


def template(tokens: tuple[str, ...], world: World = BOXES) -> str:
    """The sentence with its colours, shapes and numbers abstracted.

    >>> template(("there", "be", "2", "yellow", "circle"))
    'there be N color category'
    """
    out = []
    for token in tokens:
        name = next((name for name, table in world.attributes.items() if token in table), None)
        out.append(name or ("N" if token.isdigit() and token != "1" else token))
    return " ".join(out)


def readings(tokens: tuple[str, ...], world: World = BOXES) -> list[tuple[Draft, tuple[str, ...]]]:
    """Every reading of the words; if there is none, of the words without one, then two of them."""
    if len(tokens) > MOST_TOKENS:
        return []
    found = clauses.sentence(Reader(tokens, world))
    for attempt in (_unknown(tokens), _singles(tokens), _pairs(tokens)):
        if found:
            break
        best: dict[Draft, tuple[str, ...]] = {}
        for gone in attempt:
            rest = tuple(t for k, t in enumerate(tokens) if k not in gone)
            for draft, marks in clauses.sentence(Reader(rest, world)):
                best.setdefault(draft, (*marks, *(f"drop.{_drop_class(tokens[k], world)}" for k in gone)))
        found = list(best.items())
    return found


def _unknown(tokens: tuple[str, ...]) -> list[tuple[int, ...]]:
    """All words that the lexicon does not know, left out together."""
    gone = tuple(k for k, t in enumerate(tokens) if not is_known(t))
    return [gone] if gone else []


def _singles(tokens: tuple[str, ...]) -> list[tuple[int, ...]]:
    return [(k,) for k in range(len(tokens))]


def _pairs(tokens: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Two words to leave out: any two of a short sentence, two neighbours of a long one."""
    if len(tokens) <= SHORT:
        return list(combinations(range(len(tokens)), 2))
    return [(k, k + 1) for k in range(len(tokens) - 1)]


def _drop_class(word: str, world: World) -> str:
    """Leaving out a colour is worse than leaving out an unknown word: drops are weighed by what the word was."""
    for name, table in world.attributes.items():
        if word in table:
            return name
    return "number" if word.isdigit() else word if is_known(word) else "unknown"


def candidates(sentence: str, world: World = BOXES) -> list[Candidate]:
    """The programs a sentence may mean; empty where nothing could be read."""
    tokens = read_words(sentence)
    found: dict[Term, Candidate] = {}
    for draft, marks in readings(tokens, world):
        keys: dict[str, tuple[str, ...]] = {}
        prepared = prepare(draft, keys)
        for names in islice(product(*keys.values()), MOST_CHOICES):
            chosen = dict(zip(keys, names, strict=True))
            program = settle(prepared, chosen)
            settled = tuple(f"{key}={name}" for key, name in chosen.items())
            found.setdefault(program, Candidate(program, (*marks, *settled)))
        if len(found) >= MOST_CANDIDATES:
            break
    return list(islice(found.values(), MOST_CANDIDATES))
