"""Rules for what may follow a noun: touching, positions, relations, attributes, shares, groups.

A modifier is what it does and its content: a test of each item, a truth about the items (`it`), a wrap that
distributes the phrase over boxes, or a late quantifier. `nouns.modify` applies it.
"""

from __future__ import annotations

from collections.abc import Iterator

from veridical.language.reading.nouns import ATTRIBUTE, HEIGHT, ORDINALS, adjectives, ordinal

from veridical.language.reading.reader import (  # isort: skip
    ANY, IT, SELF, Draft, NounPhrase, Quantifier, Reader, Reading, both, choice, keep, rule, some,
)  # fmt: skip

RELATION_WORDS = {"above": "above", "ontop": "on", "on": "on", "below": "below", "between": "between"}


@rule
def place(r: Reader, at: int) -> list[Reading]:
    """A part of a box's border: `the edge`, `any wall of a box`, `bottom right corner`, `the base`."""
    start = r.skip(at, "a", "an", "the", "any", "its", "different", "1", "to", "of", "at", "box", "in", "other")
    sides, end = [], start
    while r.word(end) in ("right", "left", "bottom", "top", "base", "roof", "side"):
        sides.append({"base": "bottom", "roof": "top"}.get(r.word(end), r.word(end)))
        end += 1
    head = r.word(end)
    named = [("touching", s) for s in dict.fromkeys(sides) if s != "side"]
    if not sides and head not in ("edge", "wall", "side", "corner"):
        return []
    test: Draft = both(*named)
    if head == "corner":
        test = both(("touching", "corner"), *named)
    elif not named and head in ("edge", "wall"):
        test = ("touching", "wall")
    elif not named:
        test = choice("side", wall=("touching", "wall"), side=("touching", "side"))
    end += head in ("edge", "wall", "side", "corner")
    out: list[Reading] = [(end, test, ())]
    after = r.skip(end, "of", "a", "the", "in", "its", "grey")
    if after > end and r.word(after) in ("box", "square"):
        whole: Reading = (after + 1, test, ())
        out = [*out, whole] if "a" in r.tokens[end:after] else [whole]
    if (after := r.skip(end, "or", "and", "base", "edge")) > end + 1:
        out.append((after, choice("or-place", wall=("touching", "wall"), first=test), ("place.or",)))
    return out


@rule
def touching(r: Reader, at: int) -> Iterator[Reading]:
    """`closely touching ...` as a test: a place, each other, or another noun phrase."""
    start = r.skip(at, "closely", "nearly", "near")
    nearly = "nearly" in r.tokens[at:start]
    if r.word(start) not in ("touching", "stacked", "near") and not (start > at and r.word(start - 1) == "near"):
        return
    end = start + (r.word(start) in ("touching", "stacked", "near"))
    end = r.skip(end, "with", "to", "closely", "nearly", "by", "on", "of")
    for after, test, marks in place(r, end):
        near = _nearing(test)
        yield after, choice("nearly", near=near, touch=test) if nearly else test, marks
        with_its = r.sequence(after, "with", "its")
        if with_its and r.word(with_its) in ("side", "top", "bottom", "base"):
            part = {"base": "bottom"}.get(r.word(with_its), r.word(with_its))
            meant: Draft = both(test, ("touching", part))
            if part == "side":
                meant = choice("its-side", side=meant, flat=both(test, ("touching", "bottom")))
            yield with_its + 1, meant, (*marks, "touch.with-its")
    if r.word(end) in ("eachother", "together"):
        yield end + 1, ("related", "touch", ("at-least", 1), SELF), ("touch.each-other",)
    for after, np, marks in r("noun_phrase", end, "tower"):
        test = _relate("touch", np)
        if nearly or "near" in r.tokens[at:end]:
            test = choice("near", near=_relate("near", np), touch=test)
        yield after, test, (*marks, "touch.object")


def _nearing(test: Draft) -> Draft:
    if test[0] == "touching":
        return ("nearing", test[1])
    return tuple(_nearing(p) if isinstance(p, tuple) else p for p in test)


def _relate(relation: str, np: NounPhrase) -> Draft:
    """The test of standing in a relation to a noun phrase's items."""
    q, items, _conditions, _ = np
    n = q[1] or 1
    test: Draft = ("related", relation, ("at-least", n), items)
    if items[0] == "keep" and items[1][0] == "or" and q[0] != "a":  # attached to blue and black blocks: to both
        each = both(*(("related", relation, ("at-least", 1), keep(t, items[2])) for t in items[1][1:]))
        test = choice("relate-both", both=each, either=test)
    return test


@rule
def relation(r: Reader, at: int) -> Iterator[Reading]:
    """`above a blue block`, `on top of it`, `between two blocks of the same colour` as a test."""
    beside = r.skip(at, "to", "on", "the")
    if r.word(beside) in ("left", "right") and r.word(beside + 1) == "of":  # `to the left of a circle`
        for after, np, marks in r("noun_phrase", beside + 2, "tower"):
            test: Draft = ("related", r.word(beside), ("at-least", max(np[0][1], 1)), np[1])
            yield after, test, (*marks, "rel.beside")
    start = r.skip(at, "closely", "right")
    word = r.word(start)
    if word not in RELATION_WORDS:
        return
    end = r.skip(start + 1, "of")
    if r.word(end) in ("it", "they"):
        yield r.skip(end + 1, "all"), _relation_test(word, ("a", 1, ""), IT, start > at), ("rel.it",)
    for after, np, marks in r("noun_phrase", end, "tower"):
        q, items, conditions, wraps = np
        if wraps or q[0] == "no" or (word == "on" and q[0] == "bare" and r.word(end) in HEIGHT):
            continue
        test = _relation_test(word, q, items, start > at)
        if conditions:
            if word != "between":
                continue
            same = ("related", "on", ("at-least", 1), items), ("related", "under", ("at-least", 1), items)
            test = both(*same)
        yield after, test, (*marks, f"rel.{word}")


def _relation_test(word: str, q: Quantifier, items: Draft, directly: bool) -> Draft:
    amount = ("at-least", q[1] or 1)
    if word == "between":
        return both(("related", "on", ("at-least", 1), items), ("related", "under", ("at-least", 1), items))
    near, far = ("on", "above") if word != "below" else ("under", "below")
    if amount[1] > 1:  # nothing stands right on two things of a tower
        return ("related", far, amount, items)
    if directly:
        return ("related", near, amount, items)
    options = {"direct": ("related", near, amount, items), "anywhere": ("related", far, amount, items)}
    return choice(f"rel.{word}", **options)


@rule
def height(r: Reader, at: int) -> list[Reading]:
    """`at the top`, `as the base of a tower with 3 blocks`, `in the middle of it`: (test, the group's quantifier)."""
    if r.word(at) == "ontop":  # `on top of a tower`
        return [
            (end, ((both(("at", "top"), ("inside", condition, groups) if condition != ANY else ANY),), q), marks)
            for end, (q, groups, condition), marks in r("group_phrase", at + 1)
        ]
    start = r.skip(at, "at", "as", "on", "in", "both", "to", "being", "closely")
    if start == at and not (r.word(at) in ORDINALS and r.word(at + 1) == "from"):
        return []
    start = r.skip(start, "a", "an", "the", "its", "very", "then")
    found: list[tuple[int, Draft]] = []
    if r.word(start) in HEIGHT:
        end = r.skip(start + 1, "most", "level", "block", "item", "position")
        found.append((end, ("at", HEIGHT[r.word(start)])))
    elif r.word(start) in ORDINALS:
        found += [(end, test) for end, test, _ in ordinal(r, start)]
    out: list[Reading] = []
    for end, test in found:
        second = r.skip(end, "and", "on", "at", "the", "in")
        if r.word(second) in HEIGHT and r.word(end) == "and":
            other = ("at", HEIGHT[r.word(second)])
            out.append((second + 1, ((test, other), None), ("height.two",)))
        out.append((end, ((test,), None), ()))
        after = r.skip(end, "of", "in", "for")
        if after > end:
            if r.word(after) in ("it", "they"):
                out.append((r.skip(after + 1, "all"), ((test,), None), ()))
            for last, (q, groups, condition), marks in r("group_phrase", after):
                inside: Draft = ("inside", condition, groups) if condition != ANY else ANY
                out.append((last, ((both(test, inside),), q), (*marks, "height.of-group")))
    return out


@rule
def of_attribute(r: Reader, at: int) -> Iterator[Reading]:
    """`of blue color`, `of the same shape`, `of all 3 different colors`, `in color`: a test, or a truth about `it`."""
    start = r.skip(at, "of", "in", "with", "having", "has")
    if start == at:
        return
    for end, (test, parts), marks in adjectives(r, r.skip(start, "a", "either", "the")):
        if test != ANY and (r.word(end - 1) in ("color", "size") or r.word(end) in ("color", "size")):
            end = r.skip(end, "color", "size")
            yield end, ("test", test, parts), (*marks, "of.test")
            only = r.sequence(end, "only")
            if only:
                yield only, ("only", test, parts), (*marks, "of.test-only")
        onlys = r.skip(start, "only")
        if onlys > start:
            for end2, (test2, parts2), marks2 in adjectives(r, onlys):
                if test2 != ANY:
                    yield r.skip(end2, "color"), ("only", test2, parts2), (*marks2, "of.only")
    yield from variety(r, start)
    other = r.skip(start, "a", "1", "the")
    if r.word(other) in ("other", "different") and r.word(other + 1) in ATTRIBUTE:
        yield other + 2, ("others", ANY, ()), ("of.other",)


@rule
def variety(r: Reader, at: int) -> Iterator[Reading]:
    """`the same color`, `3 different shapes`, `all 3 colors`, `only one color`: a truth about the colours of `it`."""
    start = r.skip(at, "the", "all", "of", "exactly", "its", "a", "only", "they")
    amount = "exactly"
    if r.word(start) in ("atleast", "atmost"):
        amount, start = {"atleast": "at-least", "atmost": "at-most"}[r.word(start)], start + 1
    word, n = r.word(start), r.number(start)
    after = start + 1
    if word == "same" or n is not None:
        two = ATTRIBUTE.get(r.word(after)), ATTRIBUTE.get(r.word(after + 2))
        if word == "same" and two[0] and r.word(after + 1) == "and" and two[1]:
            yield after + 3, ("same", both(*(_varied(a, ("exactly", 1)) for a in two if a)), two[0]), ()
        after = r.skip(after, "different", "in", "of", "the", "same")
        if (name := ATTRIBUTE.get(r.word(after))) is not None:
            if word == "same":
                end = r.skip(after + 1, "of", "item") if r.word(after + 1) == "of" else after + 1
                yield end, ("same", _varied(name, ("exactly", 1)), name), ("of.same",)
            else:
                end = r.skip(after + 1, "atmost", "only")
                if "atmost" in r.tokens[after + 1 : end]:
                    amount = "at-most"
                yield end, ("cond", _varied(name, (amount, n)), name), ("of.n-values",)
        elif word == "same" and r.word(start - 1) == "the":
            yield from (
                (after, ("same", _varied(name, ("exactly", 1)), name), (f"of.same-bare-{name}",))
                for name in ("color", "category")
            )
    elif word in ("different", "all") or r.word(start - 1) == "all":
        after = start if word != "different" else r.skip(after, "in", "of")
        if (name := ATTRIBUTE.get(r.word(after))) is not None:
            distinct = _varied(name, ("exactly", ("size", IT)))
            varied = choice("different", distinct=distinct, several=_varied(name, ("at-least", 2)))
            yield after + 1, ("cond", varied, name), ("of.different",)


def _varied(name: str, amount: Draft) -> Draft:
    return ("values", name, amount, IT)


@rule
def after_noun(r: Reader, at: int, where: str) -> Iterator[Reading]:
    """One modifier behind a noun: ("test", t), ("tests", ts), ("cond", truth), ("wrap", q, groups) or ("q", q)."""
    start = r.skip(at, "which", "be", "they", "where", ",") if r.word(at) in ("which", "be") else at
    negated = r.word(start) == "not"
    start += negated
    start = r.skip(start, "be", "the", "any") if negated else start
    mark = ("post.that",) if start > at + negated else ()
    for end, test, marks in touching(r, start) + relation(r, start):
        yield end, ("test", ("not", test) if negated else test), (*mark, *marks)
    for end, (found, q), marks in height(r, start):
        if negated:
            yield end, ("test", ("not", both(*found))), (*mark, *marks)
        elif len(found) > 1:
            yield end, ("tests", found), (*mark, *marks)
        else:
            many = q is not None and q[0] not in ("a", "bare", "the")
            yield end, ("test-q", found[0], q) if many else ("test", found[0]), (*mark, *marks)
    if not negated and (start == at or r.sequence(at, "which", "has")):
        yield from _after_of(r, at, where)
        yield from _in_groups(r, at)
        yield from _trailing(r, at)
    elif mark or negated:
        for end, meaning, marks in r("predicate", start):
            if meaning[0] == "test":
                test = ("not", meaning[1]) if negated else meaning[1]
                yield end, ("test", test), (*mark, *marks)
                yield end, ("cond", ("every", IT, test)), (*mark, *marks, "that.all")
            elif meaning[0] == "set":
                truth = ("not", meaning[1]) if negated else meaning[1]
                yield end, ("cond", truth), (*mark, *marks, "post.that-set")


def _after_of(r: Reader, at: int, where: str) -> Iterator[Reading]:
    for end, meaning, marks in of_attribute(r, at):
        does, truth, extra = meaning
        if does == "test":
            parts = tuple(some(keep(p, IT)) for p in extra)
            yield end, ("test", truth), marks
            if parts:
                yield end, ("test-all", truth, both(*parts)), (*marks, "of.each-colour")
        elif does == "only":
            yield end, ("only", truth, both(*(some(keep(p, IT)) for p in extra))), marks
        elif does == "others":
            yield end, ("others",), marks
        elif does == "same":
            yield end, ("cond", truth), (*marks, "same.all")
            yield end, ("alike", extra), (*marks, "same.some")
        else:
            yield end, ("cond", truth), marks
    start = r.skip(r.skip(at, ",", "and", "of", "where", "with"), "which")
    if start > at or "which" in r.tokens[at + 1 : at + 4]:
        for end, truth, marks in r("shares", start, where):
            yield end, ("cond", truth), (*marks, "post.of-which")
    if r.word(at) in ("with", "including", "where") or r.sequence(at, "which", "has") or r.sequence(at, "of", "which"):
        after = r.skip(at + 1, "has", "which", "there", "be", "do")
        for end, truth, marks in r("open_conditions", after, where):
            yield end, ("cond", truth), (*marks, f"post.{r.word(at)}")
    if r.word(at) in ("in", "at", "on"):
        for end, test, marks in place(r, at + 1):
            if r.word(end - 1) in ("corner", "edge", "wall", "side", "box"):
                yield end, ("test", test), (*marks, "post.at-place")


def _in_groups(r: Reader, at: int) -> Iterator[Reading]:
    """`in each box`, `in it`, `of a box`."""
    if r.word(at) in ("in", "of", "on", "at", "inside"):
        start = r.skip(at + 1, "all") if r.word(at + 2) == "the" else at + 1
        if r.word(start) in ("it", "they", "total"):
            yield start + 1, ("none",), ()
        if (same := r.sequence(at + 1, "the", "same", "box")) is not None:
            yield same, ("wrap", ("a", 1, "same"), ("panels",)), ("post.same-box",)
        for end, (q, groups, condition), marks in r("group_phrase", at + 1):
            whole: Draft = groups if condition == ANY else ("where", condition, groups)
            yield end, ("wrap", q, whole), (*marks, f"post.{r.word(at)}-groups")


def _trailing(r: Reader, at: int) -> list[Reading]:
    """Quantifiers that come late: `2 items at most`, `blue blocks only`."""
    word = r.word(at)
    if word in ("atmost", "atleast", "only"):
        return [(at + 1, ("q", word), ("post.late-q",))]
    if word == "together":
        return [(at + 1, ("test", ("related", "touch", ("at-least", 1), SELF)), ("touch.each-other",))]
    return []
