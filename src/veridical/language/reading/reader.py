"""The reading machine, and the drafts it makes: rules over the words of one sentence, each giving every way to read on.

A rule is a function (reader, position, context...) -> readings, where a reading is (end, meaning, marks) and marks are
the names of the grammar's decisions on the way, which the ranking learns to weigh. Rules are memoised per sentence
and call one another by name, since noun phrases and conditions contain each other.

What rules make are drafts: programs with open choices. A grammar reads `2 blocks` once; whether that means exactly two
or at least two is a `choice` in the draft, named by a key, and one key is always read one way within a sentence. Drafts
are nested tuples `(operator, arguments...)`; `("?", key, ((name, draft), ...))` is a choice, `("it",)` stands for what
was mentioned before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from veridical.language.programs.terms import Term, term
from veridical.language.reading.lexicon import BOXES, World

Marks = tuple[str, ...]
Reading = tuple[int, Any, Marks]
Rule = Callable[..., list[Reading]]
RULES: dict[str, Rule] = {}
WIDEST = 24  # readings kept per rule and position: enough for every real ambiguity, a bound for nonsense

MOST_STEPS = 50_000  # readings made for one sentence: over three times what any sentence of NLVR's training split takes


class TooManySteps(Exception):
    """The sentence has more ways to read on than are worth following."""


class Budget:
    """The steps left for one sentence, over all its readers. Steps are counted, not timed: the same on any machine."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take steps, or end the reading."""
        self.left -= steps
        if self.left < 0:
            raise TooManySteps


class Reader:
    """One sentence being read."""

    def __init__(self, tokens: tuple[str, ...], world: World = BOXES, budget: Budget | None = None) -> None:
        self.tokens = tokens
        self.world = world
        self.budget = budget or Budget(MOST_STEPS)
        self.end = len(tokens)
        self.memo: dict[tuple[Any, ...], list[Reading]] = {}

    def __call__(self, name: str, at: int, *args: Any) -> list[Reading]:
        return RULES[name](self, at, *args)

    def spend(self, steps: int = 1) -> None:
        """Count work against the sentence's budget."""
        self.budget.spend(steps)

    def word(self, at: int) -> str:
        """The word at a position, or the empty word outside the sentence."""
        return self.tokens[at] if 0 <= at < self.end else ""

    def skip(self, at: int, *words: str) -> int:
        """The position after any run of the given words."""
        while at < self.end and self.tokens[at] in words:
            at += 1
        return at

    def number(self, at: int) -> int | None:
        """The number written at a position."""
        word = self.word(at)
        return int(word) if word.isdigit() else 1 if word == "single" else None

    def value(self, attribute: str, at: int) -> str | None:
        """The value of an attribute that the word names."""
        return self.world.attributes.get(attribute, {}).get(self.word(at))

    def sequence(self, at: int, *words: str) -> int | None:
        """The position after exactly these words, or None."""
        return at + len(words) if self.tokens[at : at + len(words)] == words else None


def rule(function: Callable[..., Iterable[Reading]]) -> Rule:
    """Register and memoise a rule; equal readings are kept once, with the fewest marks."""
    name = function.__name__

    @wraps(function)
    def memoised(reader: Reader, at: int, *args: Any) -> list[Reading]:
        key = (name, at, *args)
        found = reader.memo.get(key)
        if found is None:
            reader.memo[key] = []  # a rule that meets itself at the same position adds nothing
            found = list(function(reader, at, *args))
            reader.spend(1 + len(found))
            if len(found) > 1:
                best: dict[tuple[int, Any], Marks] = {}
                for end, meaning, marks in found:
                    old = best.get((end, meaning))
                    if old is None or len(marks) < len(old):
                        best[end, meaning] = marks
                found = [(e, m, marks) for (e, m), marks in best.items()][:WIDEST]
            reader.memo[key] = found
        return found

    RULES[name] = memoised
    return memoised


# --- drafts -----------------------------------------------------------------------------------------------------------

Draft = tuple[Any, ...]
THINGS: Draft = ("things",)
ANY: Draft = ("any",)
IT: Draft = ("it",)  # what a pronoun, or a truth about a noun phrase's own items, refers to
SELF: Draft = ("self",)  # the items of the phrase itself: `2 blocks touching each other`


def choice(key: str, **options: Draft) -> Draft:
    """An open choice between drafts of the same type."""
    return ("?", key, tuple(options.items()))


def both(*parts: Draft) -> Draft:
    """The conjunction of truths or tests, without nesting or needless parts."""
    flat: list[Draft] = []
    for part in parts:
        flat += part[1:] if part[0] == "and" else () if part == ANY else (part,)
    unique = tuple(dict.fromkeys(flat))
    return ANY if not unique else unique[0] if len(unique) == 1 else ("and", *unique)


def one_of(*parts: Draft) -> Draft:
    """The disjunction of truths or tests."""
    unique = tuple(dict.fromkeys(parts))
    return unique[0] if len(unique) == 1 else ("or", *unique)


def keep(test: Draft, items: Draft = THINGS) -> Draft:
    """The items that pass a test."""
    if test == ANY:
        return items
    if items[0] == "keep":
        return ("keep", both(items[1], test), items[2])
    return ("keep", test, items)


def some(items: Draft) -> Draft:
    """There is at least one of the items."""
    return ("count", ("at-least", 1), items)


def only(items: Draft) -> Draft:
    """There is nothing but the items."""
    return ("count", ("exactly", 0), ("others", THINGS, items))


def refer(draft: Draft, antecedent: Draft, pronoun: Draft = IT) -> Draft:
    """The draft with `it` (or another pronoun) resolved."""
    if draft[0] == pronoun[0]:
        return antecedent
    changed = None
    for k, part in enumerate(draft):
        if part.__class__ is tuple and part:
            new = refer(part, antecedent, pronoun)
            if new is not part:  # most drafts have no pronoun: copy only where one was found
                changed = list(draft) if changed is None else changed
                changed[k] = new
    return draft if changed is None else tuple(changed)


def mentions_it(draft: Any) -> bool:
    """Whether a draft still waits for its antecedent."""
    if draft.__class__ is not tuple or not draft:
        return False
    return draft[0] in ("it", "self") or any(map(mentions_it, draft))


class Open:
    """A prepared draft: what is settled is already a program, only the choices are open."""

    __slots__ = ("key", "op", "parts")

    def __init__(self, op: str, parts: tuple[Any, ...], key: str = "") -> None:
        self.op, self.parts, self.key = op, parts, key


def prepare(draft: Draft, keys: dict[str, tuple[str, ...]]) -> Term | Open:
    """Build all that does not depend on a choice; `keys` collects every key with its names, in order of appearance."""
    if draft[0] == "?":
        names = tuple(name for name, _ in draft[2])
        keys[draft[1]] = tuple(n for n in keys.get(draft[1], names) if n in names) or names
        return Open("?", tuple((name, prepare(option, keys)) for name, option in draft[2]), draft[1])
    parts: list[Any] = []
    settled = True
    for part in draft[1:]:
        if part.__class__ is tuple:
            part = prepare(part, keys)
            settled = settled and part.__class__ is Term
        parts.append(part)
    return tidy(draft[0], *parts) if settled else Open(draft[0], tuple(parts))


def tidy(op: str, *parts: Any) -> Term:
    """The term of an operator, without nested conjunctions and filters of filters."""
    if op == "and":
        flat: list[Any] = []
        for part in parts:
            flat += part.args if part.op == "and" else (part,)
        unique = tuple(dict.fromkeys(flat))
        return unique[0] if len(unique) == 1 else term("and", *unique)
    if op == "keep" and parts[1].op == "keep":
        inner, items = parts[1].args
        return tidy("keep", tidy("and", inner, parts[0]), items)
    return term(op, *parts)


def settle(part: Term | Open | str | int, chosen: Mapping[str, str]) -> Any:
    """The program of a prepared draft once its choices are made; a name a choice lacks falls to its first option."""
    if not isinstance(part, Open):
        return part
    if part.op == "?":
        options = dict(part.parts)
        return settle(options.get(chosen[part.key], part.parts[0][1]), chosen)
    return tidy(part.op, *[settle(p, chosen) for p in part.parts])


# A quantifier is (how, number, form): `how` is exactly, atleast, no, all ...; `form` is the word that stood there, for
# the ranking to tell readings apart.
Quantifier = tuple[str, int, str]
# (quantifier, items, conditions, wraps): see `nouns`
NounPhrase = tuple[Quantifier, Draft, tuple[Draft, ...], tuple[tuple[Quantifier, Draft], ...]]
BARE: Quantifier = ("bare", 1, "")
DIRECT = {
    "exactly": "exactly",
    "atleast": "at-least",
    "atmost": "at-most",
    "morethan": "more-than",
    "lessthan": "fewer-than",
}


def quantify(q: Quantifier, items: Draft, where: str) -> Draft:
    """The truth of a quantifier over objects or groups; `where` (image, box, tower, groups) goes into choice keys."""
    how, n, form = q
    exact, least = ("count", ("exactly", n), items), ("count", ("at-least", n), items)
    if how in DIRECT:
        return ("count", (DIRECT[how], n), items)
    if how == "between":
        return ("count", ("between", n, int(form)), items)
    if how == "no":
        return ("count", ("exactly", 0), items)
    if how == "multiple":
        many = {f"from{k}": ("count", ("at-least", k), items) for k in (2, 3, 4, 5)}
        return choice(f"multiple.{where}", **many)
    if how in ("even", "odd"):
        return ("count", (how,), items)
    if how == "only" and n:
        if where in ("groups", "image"):
            return choice(f"only-n.{where}", exact=exact, least=least)
        total = both(exact, only(items))
        return choice(f"only-n.{where}.{form}", exact=exact, total=total)
    if how in ("only", "all"):
        if where == "groups":
            return some(items)
        return both(some(items), only(items))
    if how == "each":
        return some(items)
    size = "1" if n == 1 else "n"
    key = f"{how}.{where}.{size}.{form}"
    if how in ("a", "bare", "any"):
        return choice(key, least=least, exact=exact)
    return choice(key, exact=exact, least=least)
