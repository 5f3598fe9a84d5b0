"""Rules for conditions and clauses, and for the whole sentence.

A condition is a truth about the objects in view. Inside `a box with ...` that is the box, so the same rules read
`there are 2 blue items and a circle` of the image and of a box.
"""

from __future__ import annotations

from collections.abc import Iterator

from veridical.language.reading.groups import group_statement
from veridical.language.reading.modifiers import after_noun, height, of_attribute, relation, touching, variety
from veridical.language.reading.nouns import ATTRIBUTE, bare_noun, exists, modify, noun_phrase, quantifier, spread

from veridical.language.reading.reader import (  # isort: skip
    ANY, IT, SELF, THINGS, Draft, NounPhrase, Quantifier, Reader, Reading, both, choice, keep, mentions_it, one_of,
    quantify, refer, rule, some,
)  # fmt: skip


@rule
def conditions(r: Reader, at: int, where: str) -> Iterator[Reading]:
    """One condition, or several joined by commas, `and`, `but`, `or`; later ones may refer to the first as `it`."""
    for end, (truth, items), marks in condition(r, at, where):
        antecedent = items if items is not None else THINGS
        first = refer(truth, THINGS)
        yield end, first, marks
        joint = _joint(r, end, where)
        join = one_of if r.word(end) == "or" else both
        if joint > end:
            for last, rest, marks2 in open_conditions(r, joint, where):
                yield last, join(first, refer(rest, antecedent)), (*marks, *marks2, f"and.{where}")


def _joint(r: Reader, at: int, where: str) -> int:
    """The position after the words that join conditions, or `at` where nothing is joined."""
    words = (",", "and", "but") if where == "image" else (",", "and", "but", "with", "where", "which", "or")
    joint = r.skip(at, *words, "or")
    return r.skip(joint, "there", "be", "also", "has", "either", "each") if joint > at else at


@rule
def open_conditions(r: Reader, at: int, where: str) -> Iterator[Reading]:
    """Further conditions whose `it` is still open."""
    for end, (truth, _), marks in condition(r, at, where):
        yield end, truth, marks
        joint = _joint(r, end, where)
        if joint > end:
            for last, rest, marks2 in open_conditions(r, joint, where):
                yield last, both(truth, rest), (*marks, *marks2, f"and.{where}")


@rule
def condition(r: Reader, at: int, where: str) -> Iterator[Reading]:
    """One truth about the objects in view, with the items it is about."""
    if r.word(at) == "both" and (r.word(at + 1) in ("a", "an") or r.number(at + 1) is not None):
        at += 1
    if where == "image":
        yield from ((e, (truth, None), m) for e, truth, m in group_statement(r, at))
    for end, np, marks in noun_phrase(r, at, where):
        yield end, (exists(np, where), np[1]), marks
    for end, truth, marks in clause(r, at, where):
        yield end, (truth, None), (*marks, "clause")
    denied = r.word(at) == "not"
    for end, meaning, marks in variety(r, at + denied):
        truth = refer(meaning[1], THINGS)
        yield end, (("not", truth) if denied else truth, None), (*marks, "cond.variety")
        if r.word(end) == "in":
            for last, (q, groups, held), marks2 in r("group_phrase", end + 1):
                base: Draft = groups if held == ANY else ("where", held, groups)
                yield last, (spread(truth, q, base), None), (*marks, *marks2, "cond.variety-in")
        for last, (tests, _), marks2 in height(r, end) if meaning[0] == "same" else ():
            if len(tests) > 1:
                there = refer(meaning[1], keep(one_of(*tests)))
                yield last, (there, None), (*marks, *marks2, "cond.same-at")
    for end, truth, marks in shares(r, at, where):
        yield end, (truth, None), (*marks, "cond.share")
    for end, truth, marks in shared_modifier(r, at, where):
        yield end, (truth, None), (*marks, "np.shared")
    for end, truth, marks in comparison(r, at):
        yield end, (truth, None), marks


@rule
def cores(r: Reader, at: int) -> Iterator[Reading]:
    """Noun phrases without modifiers, joined by commas and `and`: a list of (quantifier, items)."""
    for start, q, marks in quantifier(r, at):
        for end, (test, _, _), marks2 in bare_noun(r, start):
            own = (*marks, *marks2)
            yield end, ((q, keep(test)),), own
            if (joint := r.skip(end, ",", "and")) > end:
                for last, rest, marks3 in cores(r, joint):
                    yield last, ((q, keep(test)), *rest), (*own, *marks3)


@rule
def shared_modifier(r: Reader, at: int, where: str) -> Iterator[Reading]:
    """A modifier that several noun phrases share: `a square and a circle touching the wall`."""
    for end, found, marks in cores(r, at):
        if len(found) < 2:
            continue
        for last, meaning, marks2 in after_noun(r, end, where):
            phrases = [modify((q, items, (), ()), meaning) for q, items in found] if meaning[0] == "test" else []
            if phrases and all(phrases):
                truth = both(*(exists(np, where) for np in phrases if np is not None))
                yield last, truth, (*marks, *marks2)


@rule
def comparison(r: Reader, at: int) -> Iterator[Reading]:
    """`more blue items than circles`, `as many circles as squares`, `the number of circles is less than ...`."""
    yield from _numbers_compared(r, at)
    start, joint, amount = at + 1, "than", {"more": "more-than", "less": "fewer-than"}.get(r.word(at))
    if r.sequence(at, "as", "multiple"):
        start, joint, amount = at + 2, "as", "exactly"
    if amount is None:
        return
    for end, (test, _, _), marks in bare_noun(r, start):
        if r.word(end) == joint:
            for last, (other, _, _), marks2 in bare_noun(r, r.skip(end + 1, "the")):
                yield last, ("count", (amount, ("size", keep(other))), keep(test)), (*marks, *marks2, "compare")


def _numbers_compared(r: Reader, at: int) -> Iterator[Reading]:
    """`the number of blue items is greater than the number of circles`."""
    start = r.skip(at, "the", "number", "of")
    words = {"morethan": "more-than", "lessthan": "fewer-than", "same": "exactly"}
    if "number" not in r.tokens[at:start]:
        return
    for end, (test, _, _), marks in bare_noun(r, start):
        verb = r.skip(end, "be", "the")
        if verb == end or r.word(verb) not in words:
            continue
        for last, (other, _, _), marks2 in bare_noun(r, r.skip(verb + 1, "the", "number", "of", "as", "to")):
            truth = ("count", (words[r.word(verb)], ("size", keep(other))), keep(test))
            yield last, truth, (*marks, *marks2, "compare")


@rule
def predicate(r: Reader, at: int) -> list[Reading]:
    """What follows `is`: ("test", t) of each item, or ("set", truth about `it`) of all together."""
    start = r.skip(at, "be", "either", "all", "both")
    if r.word(start) == "not":
        return [
            (end, (said_of, ("not", meaning)), (*marks, "pred.not"))
            for end, (said_of, meaning), marks in predicate(r, start + 1)
            if said_of != "parts"
        ]
    out: list[Reading] = []
    for end, test, marks in touching(r, start) + relation(r, start):
        out.append((end, ("test", test), marks))
    for end, (tests, _), marks in height(r, start):
        out.append((end, ("test", both(*tests)), marks))
    for end, (q, items, _, wraps), marks in noun_phrase(r, start, "tower"):
        if wraps or items[0] != "keep" or q[0] not in ("a", "bare", "num", "only", "the"):
            continue
        end = r.sequence(end, "in", "color") or end
        parts = items[1][1:] if items[1][0] == "or" else ()
        end = r.skip(end, "only")
        out.append((end, ("test", items[1]), (*marks, "pred.noun")))
        if parts:
            every = both(only_of(items[1]), *(some(keep(p, IT)) for p in parts))
            out.append((end, ("set", every), (*marks, "pred.colours")))
    for end, meaning, marks in of_attribute(r, start) + variety(r, start):
        said_of = "test" if meaning[0] in ("test", "only") else "set"
        out.append((end, (said_of, meaning[1]), (*marks, "pred.attribute")))
    for end, truth, marks in made_up(r, start):
        out.append((end, ("parts", truth), (*marks, "pred.parts")))
    if r.word(start) == "same" or (r.word(start) == "the" and r.word(start + 1) == "same"):
        end = r.skip(start, "the", "same", "in")
        if (name := ATTRIBUTE.get(r.word(end))) is not None:
            out.append((end + 1, ("set", ("values", name, ("exactly", 1), IT)), ("pred.same-in",)))
    return out


@rule
def made_up(r: Reader, at: int) -> Iterator[Reading]:
    """What several things are made up of: `two blue and one yellow`, as a truth about `it`."""
    for start, q, marks in quantifier(r, at):
        if q[0] not in ("num", "exactly", "atleast"):
            continue
        for end, (test, _, _), marks2 in bare_noun(r, start):
            truth = quantify(q, keep(test, IT), "parts")
            if r.word(end) in ("and", ","):
                for last, more, marks3 in made_up(r, r.skip(end, ",", "and")):
                    yield last, both(truth, more), (*marks, *marks2, *marks3)
            elif r.word(at - 1) in ("and", ","):
                yield end, truth, (*marks, *marks2)


def only_of(test: Draft) -> Draft:
    """All of `it` pass the test."""
    return ("every", IT, test)


@rule
def subject(r: Reader, at: int, where: str) -> Iterator[Reading]:
    """The subject of a clause: a noun phrase, `it`, `the color`, or two noun phrases joined."""
    if r.word(at) in ("it", "they"):
        yield r.skip(at + 1, "both", "all"), (("the", 1, "it"), IT, (), ()), ("subj.it",)
    start = r.skip(at, "the")
    if r.word(start) in ATTRIBUTE:
        end = r.skip(start + 1, "of", "the", "item", "block")
        yield end, (("the", 1, "it"), IT, (), ()), ("subj.color",)
    for end, np, marks in noun_phrase(r, at, where):
        yield end, np, marks
        if r.word(end) == "and":
            for last, other, marks2 in noun_phrase(r, end + 1, where):
                joined: NounPhrase = (("all", 0, ""), ("either", np[1], other[1]), np[2] + other[2], np[3] or other[3])
                yield last, joined, (*marks, *marks2, "subj.and")
    if r.number(at) is not None:  # `the 2 are blue`, `one is black`
        yield at + 1, (("num", r.number(at) or 0, "pro"), THINGS, (), ()), ("subj.number",)
    elif r.word(at) in ("the", "only", "exactly", "atleast", "atmost"):
        for end, q, marks in quantifier(r, at):
            if end > at and r.word(end) in ("be", "has") and q[1]:
                yield end, (q, THINGS, (), ()), (*marks, "subj.number")


@rule
def clause(r: Reader, at: int, where: str) -> Iterator[Reading]:
    """A subject and what is said of it: `the top is blue`, `none of the circles are touching any edge`."""
    for end, np, marks in subject(r, at, where):
        if r.word(end) not in ("be", "not", "has") and not (r.word(end) in ("touching",) and end > at):
            continue
        yield from ((last, truth, (*marks, *marks2)) for last, truth, marks2 in _housed(r, end, np))
        if "all" in r.tokens[end : end + 2]:  # `the squares are all touching the wall`
            np = (("all", 0, ""), *np[1:])
        for last, (said_of, meaning), marks2 in predicate(r, end + (r.word(end) == "has")):
            if said_of == "set" and np[3] and np[3][0][0][0] in ("all", "the", "each"):
                yield last, refer(meaning, np[1]), (*marks, *marks2, "clause.across")
            if said_of == "parts":
                every = not np[3] or np[3][0][0][0] in ("the", "all")
                if every and where == ("image" if np[3] else where):
                    yield last, refer(meaning, np[1]), (*marks, *marks2)
                continue
            truth = _said(np, said_of, meaning, where)
            yield last, _wrapped(truth, np[3]), (*marks, *marks2)
            if np[3] and r.word(last) in ("and", "but"):  # `the base of a tower is blue and the top is black`
                for last2, more, marks3 in clause(r, last + 1, "tower"):
                    both_said = _wrapped(both(truth, more), np[3])
                    yield last2, both_said, (*marks, *marks2, *marks3, "clause.shared")


def _housed(r: Reader, at: int, np: NounPhrase) -> list[Reading]:
    """`all circles are in the same box`, `the circles are in different boxes`."""
    after = r.skip(at, "be", "all", "in", "the")
    if r.word(after) not in ("same", "1", "different") or r.word(after + 1) != "box" or r.word(after - 1) == "be":
        return []
    alone = ("count", ("exactly", ("size", np[1])), ("where", ("count", ("exactly", 1), np[1]), ("panels",)))
    together = ("count", ("exactly", 1), ("where", some(np[1]), ("panels",)))
    return [(after + 2, alone if r.word(after) == "different" else together, ("clause.housed",))]


def _said(np: NounPhrase, said_of: str, meaning: Draft, where: str) -> Draft:
    """The truth of a subject and a predicate, before it is spread over groups."""
    q, items, extra, _ = np
    if said_of == "set":
        truth = _together(q, items, meaning, where)
        kept = items
    else:
        meaning = refer(meaning, items, SELF)
        kept = keep(meaning, items)
        every = ("every", items, meaning)
        if q[0] in ("all", "bare", "each") or (q[0] == "the" and q[1] == 1):
            options = {"every": both(some(items), every), "vacuous": every}
            if q[0] in ("bare", "the"):
                options["some"] = some(kept)
            truth = choice(f"subject.{q[0]}.{'it' if items == IT else where}", **options)
        else:
            truth = quantify(q, kept, where)
    return both(truth, *(refer(c, kept) for c in extra))


def _together(q: Quantifier, items: Draft, meaning: Draft, where: str) -> Draft:
    """A truth about several items at once; `the 3 are the same in shape` speaks of three among them."""
    truth = refer(meaning, items)
    if q[0] in ("all", "bare") or q[1] < 2:  # also `it`
        return truth
    parts = meaning[1:] if meaning[0] == "and" else (meaning,)
    if all(p[0] == "values" and p[2] == ("exactly", 1) for p in parts):
        alike = {
            name: some(keep(both(*(("alike", p[1], (amount, q[1]), items) for p in parts)), items))
            for name, amount in (("exact", "exactly"), ("least", "at-least"))
        }
        return choice(f"alike.{where}", **alike)
    return both(quantify(q, items, where), truth)


def _wrapped(truth: Draft, wraps: tuple[tuple[Quantifier, Draft], ...]) -> Draft:
    for q, groups in wraps:
        truth = spread(truth, q, groups)
    return truth


@rule
def shares(r: Reader, at: int, where: str) -> Iterator[Reading]:
    """How some of `it` are: `2 are blue and 1 is a circle`, `one of which is yellow`, `there are 2 black ones`."""
    for end, truth, marks in share(r, at, where):
        yield end, truth, marks
        joint = r.skip(end, ",", "and")
        if joint > end:
            for last, more, marks2 in shares(r, r.skip(joint, "the", "other", "of", "which"), where):
                yield last, both(truth, more), marks + marks2


@rule
def share(r: Reader, at: int, where: str) -> Iterator[Reading]:
    start = r.skip(at, "there", "be")
    found = quantifier(r, start)
    if r.word(r.skip(start, "the")) == "other":
        found = [*found, (r.skip(start, "the", "other"), ("num", 1, "other"), ())]
    for end, q, marks in found:
        after = r.skip(end, "of", "which", "the", "item", "block", "they", "other")
        if q[0] == "bare" or r.word(after) not in ("be", "has", "not", "touching"):
            continue
        for last, (said_of, meaning), marks2 in predicate(r, after + (r.word(after) == "has")):
            if said_of == "parts":
                continue
            if said_of == "test":
                kept = keep(refer(meaning, IT, SELF), IT)
                truth = only_of(meaning) if q[0] in ("all", "each") else quantify(q, kept, where)
            else:
                truth = _together(q, IT, meaning, where)
            yield last, truth, (*marks, *marks2)


def sentence(r: Reader) -> list[tuple[Draft, tuple[str, ...]]]:
    """Every reading of the whole sentence: (truth, marks)."""
    out: dict[Draft, tuple[str, ...]] = {}
    opening = r.skip(0, "the") if r.word(1) == "be" else 0
    for at in sorted({0, r.skip(opening, "there", "be"), r.skip(opening, "there", "be", "the")}):
        denied = r.word(at) == "not"  # `there is not a box with ...`, `not all boxes have ...`
        for end, truth, marks in conditions(r, at + denied, "image"):
            if r.skip(end, ",") == r.end and not mentions_it(truth):
                out.setdefault(("not", truth) if denied else truth, marks)
    return list(out.items())
