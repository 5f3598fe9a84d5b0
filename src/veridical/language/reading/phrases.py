"""Rules for noun phrases: a quantifier, a noun, and modifiers applied one after another.

A noun phrase means (quantifier, items, conditions, wraps): conditions are further truths it brings (`3 items of which 2
are blue`), wraps are groups it is distributed over (`a blue item in each box`).
"""

from __future__ import annotations

from veridical.language.reading.drafts import (
    ANY,
    BARE,
    IT,
    SELF,
    Draft,
    Quantifier,
    both,
    choice,
    keep,
    one_of,
    quantify,
    refer,
    some,
)
from veridical.language.reading.modifiers import NounPhrase, after_noun, variety
from veridical.language.reading.nouns import MOST_RUN, bare_noun, quantifier
from veridical.language.reading.reader import Reader, Reading, rule


def exists(np: NounPhrase, where: str) -> Draft:
    """The truth that a noun phrase states on its own: there is such a thing."""
    q, items, conditions, wraps = np
    inner = "box" if wraps and where == "image" else where
    truth = both(quantify(q, items, inner), *(refer(c, items) for c in conditions))
    for group_q, groups in wraps:
        truth = spread(truth, group_q, groups)
    return truth


def spread(truth: Draft, q: Quantifier, groups: Draft) -> Draft:
    """A truth of each of the quantified groups."""
    every, chosen = ("every", groups, truth), ("where", truth, groups)
    if q[0] in ("each", "all"):
        return every
    if q[0] in ("the", "bare") and q[1] == 1:
        return choice(f"spread.{q[0]}", every=every, some=some(chosen))
    return quantify(q, chosen, "groups")


@rule
def noun_phrase(r: Reader, at: int, where: str) -> list[Reading]:
    """A whole noun phrase with its modifiers."""
    out: list[Reading] = []
    for start, q, marks in quantifier(r, at):
        for end, head, marks2 in bare_noun(r, start):
            test, parts, _ = head
            items = keep(test)
            base = (*marks, *marks2)
            plain: NounPhrase = (q, items, (), ())
            out += _modified(r, end, plain, base, where, 0)
            if q[:2] == ("only", 0) and r.word(end) in ("and", "or"):  # `only circles and squares`
                for end2, (test2, _, _), marks3 in bare_noun(r, r.skip(end, "and", "or", "a")):
                    present = both(some(keep(test)), some(keep(test2)))
                    joined: NounPhrase = (q, keep(one_of(test, test2)), (), ())
                    out += _modified(r, end2, joined, (*base, *marks3, "np.only-and"), where, 0)
                    joined = (q, joined[1], (present,), ())
                    out += _modified(r, end2, joined, (*base, *marks3, "np.only-and-both"), where, 0)
            if "other" in r.tokens[max(0, start - 1) : end]:
                rest: NounPhrase = (q, ("others", items, IT), (), ())
                out += _modified(r, end, rest, (*base, "np.others"), where, 0)
            if parts:
                present = both(*(some(keep(p, IT)) for p in parts))
                out += _modified(r, end, (q, items, (present,), ()), (*base, "np.all-colours"), where, 0)
                if q[0] != "only":
                    each = both(*(quantify(q, keep(p, keep_rest(test, parts)), where) for p in parts))
                    out += _modified(r, end, (BARE, items, (each,), ()), (*base, "np.each-colour"), where, 0)
        for end, meaning, marks2 in variety(r, r.skip(start, "of")):
            if meaning[0] == "cond" and r.number(end - 2) is not None:
                continue
            for end2, (test, _, named), marks3 in bare_noun(r, end):
                if named:
                    np = (q, keep(test), (), ())
                    base = (*marks, *marks2, *marks3, "np.variety")
                    same = [(("cond", meaning[1]), "same.all")]
                    if meaning[0] == "same":
                        same.append((("alike", meaning[2]), "same.some"))
                    for change, mark in same:
                        changed = modify(np, change)
                        if changed is not None:
                            out += _modified(r, end2, changed, (*base, mark), where, 1)
    return out


def keep_rest(test: Draft, parts: tuple[Draft, ...]) -> Draft:
    """The items of a coordinated phrase without the coordinated colours."""
    tests = [t for t in (test[1:] if test[0] == "and" else (test,)) if t != one_of(*parts)]
    return keep(both(*tests))


def _modified(r: Reader, at: int, np: NounPhrase, marks: tuple[str, ...], where: str, depth: int) -> list[Reading]:
    """The phrase as it is, and with each modifier that can follow."""
    r.spend()
    out: list[Reading] = [(at, np, marks)]
    if depth == 4:
        return out
    for end, meaning, more in after_noun(r, at, where):
        changed = modify(np, meaning)
        if changed is not None and end > at:
            again = ("mod.again",) if depth else ()
            out += _modified(r, end, changed, (*marks, *more, *again), where, depth + 1)
    return out


def modify(np: NounPhrase, meaning: Draft) -> NounPhrase | None:
    """A noun phrase with one modifier applied, or None where they do not go together."""
    q, items, conditions, wraps = np
    kind = meaning[0]
    if kind == "test":
        test = refer(meaning[1], items, SELF)
        if q[1] > 1 and test in (("at", "top"), ("at", "bottom")):  # `2 blue items on top`: the two highest
            run = one_of(*(("nth", k, test[1]) for k in range(1, min(q[1], MOST_RUN) + 1)))
            test = choice("run-at-height", one=test, run=run)
        elif q[1] > 1 and test[0] == "?" and test[1].startswith("rel."):  # of `2 items beneath it` one is lower
            test = ("?", f"{test[1]}.many", test[2])
        return q, keep(test, items), conditions, wraps
    if kind == "test-q":
        return meaning[2], keep(refer(meaning[1], items, SELF), items), conditions, wraps
    if kind == "tests":
        extra = tuple(some(keep(t, items)) for t in meaning[1])
        return q, keep(one_of(*meaning[1]), items), (*conditions, *extra), wraps
    if kind == "test-all":
        return q, keep(meaning[1], items), (*conditions, meaning[2]), wraps
    if kind == "only":
        within = ("count", ("exactly", 0), ("others", items, keep(meaning[1], items)))
        present = () if meaning[2] == ANY else (meaning[2],)
        return q, items, (*conditions, within, *present), wraps
    if kind == "alike":
        loose = q[0] in ("atleast", "multiple", "a", "bare", "the")
        amount = ("at-least" if loose else "exactly", max(q[1], 2 if q[0] in ("bare", "the") else 1))
        return ("a", 1, "alike"), keep(("alike", meaning[1], amount, items), items), conditions, wraps
    if kind == "cond":
        return q, items, (*conditions, meaning[1]), wraps
    if kind == "others":
        return q, ("others", items, IT), conditions, wraps
    if kind == "wrap" and meaning[1][0] == "any":  # `no circles in any box`: nowhere
        return np
    if kind == "wrap":
        return None if wraps else (q, items, conditions, ((meaning[1], meaning[2]),))
    if kind == "q":
        if meaning[1] == "only" and q[0] == "bare":
            return ("only", 0, "late"), items, conditions, wraps
        return (meaning[1], q[1], "late"), items, conditions, wraps
    return np
