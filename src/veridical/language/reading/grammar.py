"""From a human sentence to candidate programs: read it, and where no reading covers all words, leave some out.

`candidates` gives each program with the names of the decisions that led to it; a learned ranking (see
`veridical.solvers.learned`) weighs those names. Numbers, colours and shapes never appear in a name, so evidence is
shared between sentences that differ only in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, islice, pairwise, product

from veridical.language.programs import execution
from veridical.language.programs.terms import Term, term
from veridical.language.reading import clauses
from veridical.language.reading.lexicon import BOXES, World, is_known, read_words
from veridical.language.reading.reader import MOST_STEPS, Budget, Draft, Reader, TooManySteps, prepare, settle

MOST_CHOICES = 96  # ways to settle the open choices of one reading
MOST_CANDIDATES = 256
MOST_PATTERNS = 1 << 14  # sentence patterns whose programs are kept in memory
LITERAL = frozenset({"square", "rectangle"})  # shapes whose words may also mean a box: never abstracted
MOST_TOKENS = 60  # longer sentences are left to the fallback
MOST_REPAIRED = 40  # of longer ones no word is left out
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
    return " ".join(_attribute(t, world) or ("N" if t.isdigit() and t != "1" else t) for t in tokens)


def _attribute(word: str, world: World) -> str | None:
    """The attribute that a word names a value of."""
    return next((name for name, table in world.attributes.items() if word in table), None)


def readings(tokens: tuple[str, ...], world: World = BOXES) -> list[tuple[Draft, tuple[str, ...]]]:
    """Every reading of the words; if there is none, of the words without one, then two of them.

    A sentence that takes more than `MOST_STEPS` steps over all its readings has none.
    """
    if len(tokens) > MOST_TOKENS:
        return []
    try:
        return _read(tokens, world, Budget(MOST_STEPS))
    except TooManySteps:
        return []


def _read(tokens: tuple[str, ...], world: World, budget: Budget) -> list[tuple[Draft, tuple[str, ...]]]:
    found = clauses.sentence(Reader(tokens, world, budget))
    unknown = tuple(k for k, token in enumerate(tokens) if not is_known(token))
    singles = [(k,) for k in range(len(tokens))]
    neighbours = pairwise(range(len(tokens)))
    pairs = combinations(range(len(tokens)), 2) if len(tokens) <= SHORT else neighbours
    attempts: tuple[Iterable[tuple[int, ...]], ...] = ([unknown] if unknown else [], singles, pairs)
    for attempt in attempts:
        if found or len(tokens) > MOST_REPAIRED:
            break
        best: dict[Draft, tuple[str, ...]] = {}
        for gone in attempt:
            rest = tuple(t for k, t in enumerate(tokens) if k not in gone)
            for draft, marks in clauses.sentence(Reader(rest, world, budget)):
                best.setdefault(draft, (*marks, *(f"drop.{_class_of(tokens[k], world)}" for k in gone)))
        found = list(best.items())
    return found


def _class_of(word: str, world: World) -> str:
    """Leaving out a colour is worse than leaving out an unknown word: drops are weighed by what the word was."""
    return _attribute(word, world) or ("number" if word.isdigit() else word if is_known(word) else "unknown")


def candidates(sentence: str, world: World = BOXES) -> list[Candidate]:
    """The programs a sentence may mean; empty where nothing could be read.

    Sentences that differ only in colours, sizes and shapes are read once: the programs of the first are rewritten.
    """
    tokens = read_words(sentence)
    pattern, values = _pattern(tokens, world)
    known = _READ.get((pattern, id(world)))
    if known is None:
        if len(_READ) >= MOST_PATTERNS:
            _READ.clear()
        found = _candidates(tokens, world)
        _READ[pattern, id(world)] = (values, found, world)
        return found
    if known[0] == values:
        return known[1]
    renamed = dict(zip(known[0], values, strict=True))
    made: dict[Term, Term] = {}
    return [Candidate(_rename(c.program, renamed, made), c.marks) for c in known[1]]


Value = tuple[str, str]  # attribute, value
_READ: dict[tuple[tuple[str, ...], int], tuple[tuple[Value, ...], list[Candidate], World]] = {}


def forget() -> None:
    """Empty the memory of sentences read so far, as in a process that has just started."""
    _READ.clear()
    read_words.cache_clear()
    execution.forget()


def _pattern(tokens: tuple[str, ...], world: World) -> tuple[tuple[str, ...], tuple[Value, ...]]:
    """The words with each different value numbered, and the values: `black` and `blue` are `color 0` and `color 1`."""
    slots: dict[Value, str] = {}
    out = []
    for token in tokens:
        name = None if token in LITERAL else _attribute(token, world)
        if name is None:
            out.append(token)
        else:
            value = (name, world.attributes[name][token])
            out.append(slots.setdefault(value, f"{name} {len(slots)}"))
    return tuple(out), tuple(slots)


def _rename(node: Term, renamed: dict[Value, Value], made: dict[Term, Term]) -> Term:
    """A program with other colours, sizes and shapes."""
    found = made.get(node)
    if found is None:
        if node.op == "is":
            name, value = str(node.args[0]), str(node.args[1])
            found = term("is", name, renamed.get((name, value), (name, value))[1])
        else:
            found = term(node.op, *[_rename(a, renamed, made) if isinstance(a, Term) else a for a in node.args])
        made[node] = found
    return found


def _candidates(tokens: tuple[str, ...], world: World) -> list[Candidate]:
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
