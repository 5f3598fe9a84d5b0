"""Rules for noun phrases: quantifiers, adjectives, nouns, and what may follow a noun.

A noun phrase means (quantifier, items, conditions, wraps): conditions are further truths it brings (`3 items of which 2
are blue`), wraps are groups it is distributed over (`a blue item in each box`).
"""

from __future__ import annotations

from veridical.language.drafts import (
    ANY,
    BARE,
    IT,
    SELF,
    THINGS,
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
from veridical.language.reader import Reader, Reading, rule

NounPhrase = tuple[Quantifier, Draft, tuple[Draft, ...], tuple[tuple[Quantifier, Draft], ...]]
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
HEIGHT = {"top": "top", "roof": "top", "base": "bottom", "bottom": "bottom", "middle": "middle"}
ATTRIBUTE = {"color": "color", "shape": "category", "size": "size"}
COMPARING = ("exactly", "atleast", "atmost", "morethan", "lessthan", "only")


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
def quantifier(r: Reader, at: int) -> list[Reading]:
    """`exactly 2`, `a`, `at least 1 of the`, `only`, `no`, `the 3`, `all`; always also nothing at all."""
    word, found = r.word(at), []
    n = r.number(at)
    if word in COMPARING:
        after = r.skip(at + 1, "a", "an", "the", "exactly")
        if (n := r.number(after)) is not None:
            kind = "exactly" if word == "only" and r.word(at + 1) == "exactly" else word
            found.append((after + 1, (kind, n, word), ()))
        elif word in ("only", "exactly"):
            found.append((after, ("only" if word == "only" else "a", 0 if word == "only" else 1, word), ()))
        elif word == "atleast":
            found.append((after, (word, 1, word), ("q.bare-atleast",)))
    elif n is not None:
        more = r.sequence(at + 1, "or", "more")
        less = r.sequence(at + 1, "or", "less")
        if more or less:
            found.append((more or less or 0, ("atleast" if more else "atmost", n, ""), ()))
        single = word == "single"
        found.append((at + 1, ("only", 1, "single") if single else ("num", n, ""), ()))
    elif word in ("a", "an", "as"):
        after = r.skip(at + 1, "a", "an", "as")
        if r.word(after) == "single":
            found.append((after + 1, ("only", 1, "single"), ()))
        elif (n := r.number(after)) is not None:
            found.append((after + 1, ("num", n, "a"), ()))
        found.append((after, ("a", 1, ""), ()))
    elif word in ("no", "any", "each", "multiple", "few", "noneof", "without", "even", "odd"):
        kind = {"few": "multiple", "noneof": "no", "without": "no"}.get(word, word)
        after = r.skip(at + 1, "the", "a", "any", "of", "number")
        found.append((after, (kind, 1, ""), ()))
    elif word in ("all", "both"):
        after = r.skip(at + 1, "the", "of")
        number = r.number(after)
        found.append((after + (number is not None), ("all", number or 0, word), ()))
    elif word == "the":
        after = r.skip(at + 1, "the", "only")
        if (n := r.number(after)) is not None:
            found.append((after + 1, ("the", n, ""), ()))
        found.append((after, ("the", 1, ""), ()))
    out = found + [(at, BARE, ())]
    for end, (kind, n, form), marks in found:  # the partitive: `one of the 3 towers`
        if r.word(end) == "of" and kind not in ("a", "the"):
            after = r.skip(end + 1, "the", "all", "these")
            after += r.number(after) is not None
            out.append((after, ("num-of" if kind == "num" else kind, n, form), (*marks, "q.partitive")))
    return out


@rule
def adjectives(r: Reader, at: int) -> list[Reading]:
    """Colours, sizes and shapes before a noun: (test, the alternatives of a coordination such as `blue and yellow`)."""
    out: list[Reading] = [(at, (ANY, ()), ())]
    for end, (test, parts), marks in adjective(r, at):
        for end2, (test2, parts2), marks2 in adjectives(r, end):
            out.append((end2, (both(test, test2), parts or parts2), marks + marks2))
    return out


@rule
def adjective(r: Reader, at: int) -> list[Reading]:
    """One adjective, or colours joined by `and`, `or` or commas."""
    out: list[Reading] = []
    for name in ("color", "size"):
        value = r.value(name, at)
        if value is None:
            continue
        tests: list[Draft] = [("is", name, value)]
        end = r.skip(at + 1, "color") if name == "color" else r.skip(at + 1, "size")
        out.append((end, (tests[0], ()), ()))
        while (joint := r.skip(end, "and", "or", ",")) > end and (value := r.value(name, joint)) is not None:
            kind = r.word(joint - 1)
            tests.append(("is", name, value))
            end = r.skip(joint + 1, "color")
            out.append((end, (one_of(*tests), () if kind == "or" else tuple(tests)), (f"adj.{kind}",)))
    shape = r.value("category", at)
    if shape is not None and r.word(at + 1) in ("item", "block", "shape", "one_"):
        out.append((at + 1, (("is", "category", shape), ()), ()))
    if r.word(at) in ("other", "grey", "coloured"):
        out.append((at + 1, (ANY, ()), ("adj.other",)))
    return out


@rule
def noun(r: Reader, at: int) -> list[Reading]:
    """The head of a noun phrase as a test: `item`, `circle`, `base`, `second block from the top`, `one`, or nothing."""
    word, out = r.word(at), []
    if word == "color" and at and r.word(at - 1) in ("other", "different"):
        out.append((at + 1, ANY, ("noun.color",)))
    if word in r.world.nouns or word in ("shape", "one_"):
        end = r.skip(at + 1, "item", "block", "shape")
        out.append((end, ANY, ()))
        if r.word(end) in ("base", "top"):  # `a yellow block base`
            out.append((end + 1, ("at", HEIGHT[r.word(end)]), ("noun.block-base",)))
    if (shape := r.value("category", at)) is not None:
        out.append((r.skip(at + 1, "shape", "item", "block"), ("is", "category", shape), ()))
    if word == "1" and at and r.value("color", at - 1) is not None:  # `a black one`
        out.append((at + 1, ANY, ("noun.one",)))
    if word in HEIGHT:
        end = r.skip(at + 1, "most", "block", "item", "color", "1", "level")
        out.append((end, ("at", HEIGHT[word]), ("noun.height",)))
    if word in ORDINALS:
        out += _ordinal(r, at)
    return out


def _ordinal(r: Reader, at: int) -> list[Reading]:
    """`second block [from the base]`, `third`; from the bottom unless the sentence says otherwise."""
    n, end, run = ORDINALS[r.word(at)], at + 1, r.number(at + 1)
    end = r.skip(end + (run is not None), "last", "block", "item", "color", "level")
    colour: Draft = ANY
    ways = {h: one_of(*(("nth", k, h) for k in range(n, n + (run or 1)))) for h in ("bottom", "top")}
    if (value := r.value("color", end)) is not None and r.word(end + 1) in r.world.nouns:
        colour, end = ("is", "color", value), end + 2
    after = r.skip(end, "from", "the", "of", "a", "at")
    if r.word(end) == "from" and r.word(after) in HEIGHT:
        return [(after + 1, both(ways.get(HEIGHT[r.word(after)], ways["bottom"]), colour), ("noun.nth",))]
    return [(end, both(choice("nth", **ways), colour), ("noun.nth",))]


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
    test: Draft | None = None
    if head in ("edge", "wall", "side", "corner"):
        end += 1
        if head == "corner":
            test = both(("touching", "corner"), *named)
        elif named:
            test = both(*named)
        else:
            test = ("touching", "wall")
    elif sides:
        loose = choice("side", wall=("touching", "wall"), side=("touching", "side"))
        test = both(*named) if named else loose
    if test is None:
        return []
    if head == "side" and not named:
        test = choice("side", wall=("touching", "wall"), side=("touching", "side"))
    out: list[Reading] = [(end, test, ())]
    after = r.skip(end, "of", "a", "the", "in", "its", "grey")
    if after > end and r.word(after) in ("box", "square"):
        whole: Reading = (after + 1, test, ())
        out = [*out, whole] if "a" in r.tokens[end:after] else [whole]
    if (after := r.skip(end, "or", "and", "base", "edge")) > end + 1:
        out.append((after, choice("or-place", wall=("touching", "wall"), first=test), ("place.or",)))
    return out


@rule
def touching(r: Reader, at: int) -> list[Reading]:
    """`closely touching ...` as a test: a place, each other, or another noun phrase."""
    start = r.skip(at, "closely", "nearly", "near")
    nearly = "nearly" in r.tokens[at:start]
    if r.word(start) not in ("touching", "stacked", "near") and not (start > at and r.word(start - 1) == "near"):
        return []
    end = start + (r.word(start) in ("touching", "stacked", "near"))
    end = r.skip(end, "with", "to", "closely", "nearly", "by", "on", "of")
    out: list[Reading] = []
    for after, test, marks in place(r, end):
        near = _nearing(test)
        out.append((after, choice("nearly", near=near, touch=test) if nearly else test, marks))
        with_its = r.sequence(after, "with", "its")
        if with_its and r.word(with_its) in ("side", "top", "bottom", "base"):
            part = {"base": "bottom"}.get(r.word(with_its), r.word(with_its))
            meant: Draft = both(test, ("touching", part))
            if part == "side":
                meant = choice("its-side", side=meant, flat=both(test, ("touching", "bottom")))
            out.append((with_its + 1, meant, (*marks, "touch.with-its")))
    if r.word(end) in ("eachother", "together"):
        out.append((end + 1, ("related", "touch", ("at-least", 1), SELF), ("touch.each-other",)))
    relation = "near" if nearly else "touch"
    for after, np, marks in noun_phrase(r, end, "tower"):
        out.append((after, _relate(relation, np), (*marks, "touch.object")))
    return out


def _nearing(test: Draft) -> Draft:
    if test[0] == "touching":
        return ("nearing", test[1])
    return tuple(_nearing(p) if isinstance(p, tuple) else p for p in test)


def _relate(relation: str, np: NounPhrase) -> Draft:
    """The test of standing in a relation to a noun phrase's items."""
    q, items, conditions, _ = np
    n = q[1] or 1
    test: Draft = ("related", relation, ("at-least", n), items)
    if items[0] == "keep" and items[1][0] == "or" and q[0] != "a":  # attached to blue and black blocks: to both
        each = both(*(("related", relation, ("at-least", 1), keep(t, items[2])) for t in items[1][1:]))
        test = choice("relate-both", both=each, either=test)
    return test


RELATION_WORDS = {"above": "above", "ontop": "on", "on": "on", "below": "below", "between": "between"}


@rule
def relation(r: Reader, at: int) -> list[Reading]:
    """`above a blue block`, `on top of it`, `between two blocks of the same colour` as a test."""
    start = r.skip(at, "closely", "right")
    word = r.word(start)
    if word not in RELATION_WORDS:
        return []
    out: list[Reading] = []
    end = r.skip(start + 1, "of")
    if r.word(end) in ("it", "they"):
        out.append((r.skip(end + 1, "all"), _relation_test(word, ("a", 1, ""), IT, start > at), ("rel.it",)))
    for after, np, marks in noun_phrase(r, end, "tower"):
        q, items, conditions, wraps = np
        if wraps or q[0] == "no" or word == "on" and q[0] == "bare" and r.word(end) in HEIGHT:
            continue
        test = _relation_test(word, q, items, start > at)
        if conditions:
            if word != "between":
                continue
            same = ("related", "on", ("at-least", 1), items), ("related", "under", ("at-least", 1), items)
            test = both(*same)
        out.append((after, test, (*marks, f"rel.{word}")))
    return out


def _relation_test(word: str, q: Quantifier, items: Draft, directly: bool) -> Draft:
    amount = ("at-least", q[1] or 1)
    if word == "between":
        return both(("related", "on", ("at-least", 1), items), ("related", "under", ("at-least", 1), items))
    near, far = ("on", "above") if word != "below" else ("under", "below")
    if directly:
        return ("related", near, amount, items)
    options = {"direct": ("related", near, amount, items), "anywhere": ("related", far, amount, items)}
    return choice(f"rel.{word}.{'1' if amount[1] == 1 else 'n'}", **options)


@rule
def height(r: Reader, at: int) -> list[Reading]:
    """`at the top`, `as the base of a tower with 3 blocks`, `in the middle of it`: (test, the group's quantifier)."""
    start = r.skip(at, "at", "as", "on", "in", "both", "to", "being", "closely")
    if start == at:
        return []
    start = r.skip(start, "a", "an", "the", "its", "very", "then")
    found: list[tuple[int, Draft]] = []
    if r.word(start) in HEIGHT:
        end = r.skip(start + 1, "most", "level", "block", "item", "position")
        found.append((end, ("at", HEIGHT[r.word(start)])))
    elif r.word(start) in ORDINALS:
        found += [(end, test) for end, test, _ in _ordinal(r, start)]
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
def of_attribute(r: Reader, at: int) -> list[Reading]:
    """`of blue color`, `of the same shape`, `of all 3 different colors`, `in color`: a test, or a truth about `it`."""
    start = r.skip(at, "of", "in", "with", "having", "has")
    if start == at:
        return []
    out: list[Reading] = []
    for end, (test, parts), marks in adjectives(r, r.skip(start, "a", "either", "the")):
        if test != ANY and (r.word(end - 1) in ("color", "size") or r.word(end) in ("color", "size")):
            end = r.skip(end, "color", "size")
            out.append((end, ("test", test, parts), (*marks, "of.test")))
            only = r.sequence(end, "only")
            if only:
                out.append((only, ("only", test, parts), (*marks, "of.test-only")))
        onlys = r.skip(start, "only")
        if onlys > start:
            for end2, (test2, parts2), marks2 in adjectives(r, onlys):
                if test2 != ANY:
                    out.append((r.skip(end2, "color"), ("only", test2, parts2), (*marks2, "of.only")))
    out += variety(r, start)
    other = r.skip(start, "a", "1", "the")
    if r.word(other) in ("other", "different") and r.word(other + 1) in ATTRIBUTE:
        out.append((other + 2, ("others", ANY, ()), ("of.other",)))
    return out


@rule
def variety(r: Reader, at: int) -> list[Reading]:
    """`the same color`, `3 different shapes`, `all 3 colors`, `only one color`: a truth about the colours of `it`."""
    start = r.skip(at, "the", "all", "of", "exactly", "its", "a", "only", "they")
    amount = "exactly"
    if r.word(start) in ("atleast", "atmost"):
        amount, start = {"atleast": "at-least", "atmost": "at-most"}[r.word(start)], start + 1
    out: list[Reading] = []
    word, n = r.word(start), r.number(start)
    after = start + 1
    if word == "same" or n is not None:
        two = ATTRIBUTE.get(r.word(after)), ATTRIBUTE.get(r.word(after + 2))
        if word == "same" and two[0] and r.word(after + 1) == "and" and two[1]:
            out.append((after + 3, ("same", both(*(_varied(a, ("exactly", 1)) for a in two if a)), two[0]), ()))
        after = r.skip(after, "different", "in", "of", "the", "same")
        if (name := ATTRIBUTE.get(r.word(after))) is not None:
            if word == "same":
                end = r.skip(after + 1, "of", "item") if r.word(after + 1) == "of" else after + 1
                out.append((end, ("same", _varied(name, ("exactly", 1)), name), ("of.same",)))
            else:
                end = r.skip(after + 1, "atmost", "only")
                if "atmost" in r.tokens[after + 1 : end]:
                    amount = "at-most"
                out.append((end, ("cond", _varied(name, (amount, n)), name), ("of.n-values",)))
        elif word == "same" and r.word(start - 1) == "the":
            for name in ("color", "category"):
                out.append((after, ("same", _varied(name, ("exactly", 1)), name), (f"of.same-bare-{name}",)))
    elif word in ("different", "all") or r.word(start - 1) == "all":
        after = start if word != "different" else r.skip(after, "in", "of")
        if (name := ATTRIBUTE.get(r.word(after))) is not None:
            distinct = _varied(name, ("exactly", ("size", IT)))
            varied = choice("different", distinct=distinct, several=_varied(name, ("at-least", 2)))
            out.append((after + 1, ("cond", varied, name), ("of.different",)))
    return out


def _varied(name: str, amount: Draft) -> Draft:
    return ("values", name, amount, IT)


@rule
def after_noun(r: Reader, at: int, where: str) -> list[Reading]:
    """One modifier behind a noun: ("test", t), ("tests", ts), ("cond", truth), ("wrap", q, groups) or ("q", q)."""
    out: list[Reading] = []
    start = r.skip(at, "which", "be", "they", "where", ",") if r.word(at) in ("which", "be") else at
    negated = r.word(start) == "not"
    start += negated
    start = r.skip(start, "be", "the", "any") if negated else start
    mark = ("post.that",) if start > at + negated else ()
    tests = touching(r, start) + relation(r, start)
    for end, test, marks in tests:
        out.append((end, ("test", ("not", test) if negated else test), (*mark, *marks)))
    for end, (found, q), marks in height(r, start):
        if negated:
            out.append((end, ("test", ("not", both(*found))), (*mark, *marks)))
        elif len(found) > 1:
            out.append((end, ("tests", found), (*mark, *marks)))
        else:
            out.append((end, ("test", found[0]), (*mark, *marks)))
            if q is not None and q[0] not in ("a", "bare", "the"):
                out[-1] = (end, ("test-q", found[0], q), (*mark, *marks))
    if not negated and start == at:
        out += _after_of(r, at, where)
        out += _in_groups(r, at)
        out += _trailing(r, at)
    elif mark or negated:
        for end, meaning, marks in r("predicate", start):
            if meaning[0] == "test":
                test = ("not", meaning[1]) if negated else meaning[1]
                out.append((end, ("test", test), (*mark, *marks)))
                out.append((end, ("cond", ("every", IT, test)), (*mark, *marks, "that.all")))
            elif meaning[0] == "set":
                truth = ("not", meaning[1]) if negated else meaning[1]
                out.append((end, ("cond", truth), (*mark, *marks, "post.that-set")))
    return out


def _after_of(r: Reader, at: int, where: str) -> list[Reading]:
    out: list[Reading] = []
    for end, meaning, marks in of_attribute(r, at):
        kind, truth, extra = meaning
        if kind == "test":
            parts = tuple(some(keep(p, IT)) for p in extra)
            out.append((end, ("test", truth), marks))
            if parts:
                out.append((end, ("test-all", truth, both(*parts)), (*marks, "of.each-colour")))
        elif kind == "only":
            out.append((end, ("only", truth, both(*(some(keep(p, IT)) for p in extra))), marks))
        elif kind == "others":
            out.append((end, ("others",), marks))
        elif kind == "same":
            out.append((end, ("cond", truth), (*marks, "same.all")))
            out.append((end, ("alike", extra), (*marks, "same.some")))
        else:
            out.append((end, ("cond", truth), marks))
    start = r.skip(r.skip(at, ",", "and", "of", "where", "with"), "which")
    if start > at or "which" in r.tokens[at + 1 : at + 4]:
        for end, truth, marks in r("shares", start, where):
            out.append((end, ("cond", truth), (*marks, "post.of-which")))
    if r.word(at) in ("with", "including", "where") or r.sequence(at, "which", "has") or r.sequence(at, "of", "which"):
        after = r.skip(at + 1, "has", "which", "there", "be")
        for end, truth, marks in r("open_conditions", after, where):
            out.append((end, ("cond", truth), (*marks, f"post.{r.word(at)}")))
    if r.word(at) in ("in", "at", "on"):
        for end, test, marks in place(r, at + 1):
            if r.word(end - 1) in ("corner", "edge", "wall", "side", "box"):
                out.append((end, ("test", test), (*marks, "post.at-place")))
    return out


def _in_groups(r: Reader, at: int) -> list[Reading]:
    """`in each box`, `in it`, `of a box`."""
    out: list[Reading] = []
    if r.word(at) in ("in", "of", "on", "at", "inside"):
        start = r.skip(at + 1, "all") if r.word(at + 2) == "the" else at + 1
        if r.word(start) in ("it", "they", "total"):
            out.append((start + 1, ("none",), ()))
        for end, (q, groups, condition), marks in r("group_phrase", at + 1):
            whole: Draft = groups if condition == ANY else ("where", condition, groups)
            out.append((end, ("wrap", q, whole), (*marks, f"post.{r.word(at)}-groups")))
    return out


def _trailing(r: Reader, at: int) -> list[Reading]:
    """Quantifiers that come late: `2 items at most`, `blue blocks only`."""
    word = r.word(at)
    if word in ("atmost", "atleast", "only"):
        return [(at + 1, ("q", word), ("post.late-q",))]
    if word == "together":
        return [(at + 1, ("test", ("related", "touch", ("at-least", 1), SELF)), ("touch.each-other",))]
    return []


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


@rule
def bare_noun(r: Reader, at: int) -> list[Reading]:
    """Adjectives and a noun: (test, coordinated colours, whether a noun stood there)."""
    out: list[Reading] = []
    for end, (test, parts), marks in adjectives(r, at):
        for end2, head, marks2 in noun(r, end):
            out.append((end2, (both(test, head), parts, True), marks + marks2))
        if test != ANY and r.value("category", end) is None and r.word(end) not in r.world.nouns:
            out.append((end, (test, parts, False), (*marks, "np.no-noun")))
            later = next((r.value("category", k) for k in range(end, r.end) if r.value("category", k)), None)
            if later:
                shape = both(test, ("is", "category", later))
                out.append((end, (shape, parts, False), (*marks, "np.later-noun")))
    return out


def _modified(
    r: Reader, at: int, np: NounPhrase, marks: tuple[str, ...], where: str, depth: int
) -> list[Reading]:
    """The phrase as it is, and with each modifier that can follow."""
    out: list[Reading] = [(at, np, marks)]
    if depth == 4:
        return out
    for end, meaning, more in after_noun(r, at, where):
        changed = modify(np, meaning)
        if changed is not None and end > at:
            again = ("mod.again",) if depth else ()
            out += _modified(r, end, changed, (*marks, *more, *again), where, depth + 1)
    return out


def modify(np: NounPhrase, meaning: tuple) -> NounPhrase | None:  # type: ignore[type-arg]
    """A noun phrase with one modifier applied, or None where they do not go together."""
    q, items, conditions, wraps = np
    kind = meaning[0]
    if kind == "test":
        test = refer(meaning[1], items, SELF)
        if q[1] > 1 and test in (("at", "top"), ("at", "bottom")):  # `2 blue items on top`: the two highest
            run = one_of(*(("nth", k, test[1]) for k in range(1, q[1] + 1)))
            test = choice("run-at-height", one=test, run=run)
        elif q[1] > 1 and test[0] == "?" and test[1].startswith("rel."):  # `2 items beneath it` are not both right below
            test = ("?", f"{test[1]}.many", test[2])
        return q, keep(test, items), conditions, wraps
    if kind == "test-q":
        return meaning[2], keep(refer(meaning[1], items, SELF), items), conditions, wraps
    if kind == "tests":
        extra = tuple(some(keep(t, items)) for t in meaning[1][1:])
        return q, keep(meaning[1][0], items), (*conditions, *extra), wraps
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
    if kind == "wrap":
        return None if wraps else (q, items, conditions, ((meaning[1], meaning[2]),))
    if kind == "q":
        if meaning[1] == "only" and q[0] == "bare":
            return ("only", 0, "late"), items, conditions, wraps
        return (meaning[1], q[1], "late"), items, conditions, wraps
    return np
