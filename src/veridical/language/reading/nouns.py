"""Rules for noun phrases: a quantifier, adjectives, a noun, and modifiers applied one after another.

A quantifier is (how, number, form), as `drafts.quantify` reads it; adjectives and nouns are tests. A noun phrase means
(quantifier, items, conditions, wraps): conditions are further truths it brings (`3 items of which 2 are blue`), wraps
are groups it is distributed over (`a blue item in each box`).
"""

from __future__ import annotations

from collections.abc import Iterator

from veridical.language.reading.reader import (  # isort: skip
    ANY, BARE, IT, SELF, Draft, NounPhrase, Quantifier, Reader, Reading, both, choice, keep, one_of, quantify,
    refer, rule, some,
)  # fmt: skip

ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
HEIGHT = {"top": "top", "roof": "top", "base": "bottom", "bottom": "bottom", "middle": "middle"}
ATTRIBUTE = {"color": "color", "shape": "category", "size": "size"}
MOST_RUN = 20  # `the top 2 blocks` are listed one by one; more than this many stand in no box
COMPARING = ("exactly", "atleast", "atmost", "morethan", "lessthan", "only")


@rule
def quantifier(r: Reader, at: int) -> list[Reading]:
    """`exactly 2`, `a`, `at least 1 of the`, `only`, `no`, `the 3`, `all`; always also nothing at all."""
    word, n = r.word(at), r.number(at)
    found: list[Reading] = []
    if word in COMPARING:
        after = r.skip(at + 1, "a", "an", "the", "exactly", "has")
        if (n := r.number(after)) is not None:
            how = "exactly" if word == "only" and r.word(at + 1) == "exactly" else word
            found.append((after + 1, (how, n, word), ()))
        elif word in ("only", "exactly"):
            found.append((after, ("only" if word == "only" else "a", 0 if word == "only" else 1, word), ()))
        elif word == "atleast":
            found.append((after, (word, 1, word), ("q.bare-atleast",)))
    elif n is not None:
        more = r.sequence(at + 1, "or", "more")
        less = r.sequence(at + 1, "or", "less")
        if more or less:
            found.append((more or less or 0, ("atleast" if more else "atmost", n, ""), ()))
        if r.word(at + 1) in ("to", "or") and (high := r.number(at + 2)) is not None:
            found.append((at + 3, ("between", n, str(high)), ()))
        single = word == "single"
        found.append((at + 1, ("only", 1, "single") if single else ("num", n, _carried(r, at)), ()))
    elif word in ("a", "an", "as"):
        after = r.skip(at + 1, "a", "an", "as")
        if r.word(after) == "single":
            found.append((after + 1, ("only", 1, "single"), ()))
        elif (n := r.number(after)) is not None:
            found.append((after + 1, ("num", n, "a"), ()))
        found.append((after, ("a", 1, ""), ()))
    elif word == "between" and (low := r.number(at + 1)) is not None and (high := r.number(at + 3)) is not None:
        found.append((at + 4, ("between", low, str(high)), ()))
    elif word in ("no", "any", "each", "multiple", "few", "noneof", "without", "even", "odd"):
        how = {"few": "multiple", "noneof": "no", "without": "no"}.get(word, word)
        after = r.skip(at + 1, "the", "a", "any", "of", "number")
        found.append((after, (how, 1, ""), ()))
        if how == "no" and (n := r.number(after)) is not None:  # `no two towers have ...`
            found.append((after + 1, (how, n, ""), ()))
    elif word in ("all", "both"):
        after = r.skip(at + 1, "the", "of", "there")
        number = r.number(after)
        found.append((after + (number is not None), ("all", number or 0, word), ()))
    elif word in ("the", "its"):
        after = r.skip(at + 1, "the", "only")
        if (n := r.number(after)) is not None:
            found.append((after + 1, ("the", n, ""), ()))
        found.append((after, ("the", 1, ""), ()))
    return [*found, (at, BARE, ()), *_partitives(r, found)]


def _partitives(r: Reader, found: list[Reading]) -> Iterator[Reading]:
    """`one of the 3 towers`, `at least two of the items`."""
    for end, (how, n, form), marks in found:
        if r.word(end) == "of" and how not in ("a", "the"):
            after = r.skip(end + 1, "the", "all", "these")
            after += r.number(after) is not None
            yield after, ("num-of" if how == "num" else how, n, form), (*marks, "q.partitive")


def _carried(r: Reader, at: int) -> str:
    """The comparing word that a later number may inherit: `at least 1 yellow and 1 black block`."""
    if r.word(at - 1) not in ("and", ","):
        return ""
    return next((f"after-{w}" for w in reversed(r.tokens[:at]) if w in COMPARING), "")


@rule
def adjectives(r: Reader, at: int) -> Iterator[Reading]:
    """Colours, sizes and shapes before a noun: (test, the alternatives of a coordination such as `blue and yellow`)."""
    yield at, (ANY, ()), ()
    for end, (test, parts), marks in adjective(r, at):
        for end2, (test2, parts2), marks2 in adjectives(r, end):
            yield end2, (both(test, test2), parts or parts2), marks + marks2


@rule
def adjective(r: Reader, at: int) -> list[Reading]:
    """One adjective, or colours joined by `and`, `or` or commas."""
    out: list[Reading] = []
    if r.word(at) == "color" and r.value("color", at + 1) is not None:  # `the color black`
        return adjective(r, at + 1)
    for name in ("color", "size"):
        value = r.value(name, at)
        if value is None:
            continue
        tests: list[Draft] = [("is", name, value)]
        end = r.skip(at + 1, "color") if name == "color" else r.skip(at + 1, "size")
        out.append((end, (tests[0], ()), ()))
        while (joint := r.skip(end, "and", "or", ",")) > end and (value := r.value(name, joint)) is not None:
            joiner = r.word(joint - 1)
            tests.append(("is", name, value))
            end = r.skip(joint + 1, "color")
            out.append((end, (one_of(*tests), () if joiner == "or" else tuple(tests)), (f"adj.{joiner}",)))
    shape = r.value("category", at)
    if shape is not None and r.word(at + 1) in ("item", "block", "shape", "one_"):
        out.append((at + 1, (("is", "category", shape), ()), ()))
    if r.word(at) in ("other", "grey", "coloured"):
        out.append((at + 1, (ANY, ()), ("adj.other",)))
    return out


@rule
def noun(r: Reader, at: int) -> Iterator[Reading]:
    """The head of a noun phrase as a test: `item`, `circle`, `base`, `second block from the top`, `one`, or nothing."""
    word = r.word(at)
    if word == "color" and at and r.word(at - 1) in ("other", "different"):
        yield at + 1, ANY, ("noun.color",)
    if word in r.world.nouns or word in ("shape", "one_"):
        end = r.skip(at + 1, "item", "block", "shape")
        yield end, ANY, ()
        if r.word(end) in ("base", "top"):  # `a yellow block base`
            yield end + 1, ("at", HEIGHT[r.word(end)]), ("noun.block-base",)
    if (shape := r.value("category", at)) is not None:
        yield r.skip(at + 1, "shape", "item", "block"), ("is", "category", shape), ()
    if word == "1" and (r.value("color", at - 1) is not None or r.word(at - 1) == "other"):  # `a black one`
        yield at + 1, ANY, ("noun.one",)
    if word in HEIGHT:
        end = r.skip(at + 1, "most", "block", "item", "color", "1", "level")
        yield end, ("at", HEIGHT[word]), ("noun.height",)
        if (shape := r.value("category", at + 1)) is not None:  # `its top square`
            yield at + 2, both(("at", HEIGHT[word]), ("is", "category", shape)), ("noun.height",)
    if word in ORDINALS:
        yield from ordinal(r, at)


def ordinal(r: Reader, at: int) -> list[Reading]:
    """`second block [from the base]`, `third`; from the bottom unless the sentence says otherwise."""
    n, end, run = ORDINALS[r.word(at)], at + 1, r.number(at + 1)
    end = r.skip(end + (run is not None), "last", "block", "item", "color", "level")
    colour: Draft = ANY
    ways = {h: one_of(*(("nth", k, h) for k in range(n, n + min(run or 1, MOST_RUN)))) for h in ("bottom", "top")}
    if (value := r.value("color", end)) is not None and r.word(end + 1) in r.world.nouns:
        colour, end = ("is", "color", value), end + 2
    after = r.skip(end, "from", "the", "of", "a", "at")
    if r.word(end) == "of" and r.word(after) == "tower":  # `the third block of a tower from the base`
        later = r.skip(after + 1, "from", "the")
        if r.word(after + 1) == "from" and r.word(later) in HEIGHT:
            found = both(ways.get(HEIGHT[r.word(later)], ways["bottom"]), colour)
            return [(later + 1, found, ("noun.nth",))]
    if r.word(end) == "from" and r.word(after) in HEIGHT:
        return [(after + 1, both(ways.get(HEIGHT[r.word(after)], ways["bottom"]), colour), ("noun.nth",))]
    return [(end, both(choice("nth", **ways), colour), ("noun.nth",))]


@rule
def bare_noun(r: Reader, at: int) -> Iterator[Reading]:
    """Adjectives and a noun: (test, coordinated colours, whether a noun stood there)."""
    for end, (test, parts), marks in adjectives(r, at):
        for end2, head, marks2 in noun(r, end):
            yield end2, (both(test, head), parts, True), marks + marks2
        either = r.word(end) == "or" and r.value("color", end + 1) is not None  # `black or yellow items`: one phrase
        if test != ANY and not either and r.value("category", end) is None and r.word(end) not in r.world.nouns:
            yield end, (test, parts, False), (*marks, "np.no-noun")
            later = next((r.value("category", k) for k in range(end, r.end) if r.value("category", k)), None)
            if later:
                shape = both(test, ("is", "category", later))
                yield end, (shape, parts, False), (*marks, "np.later-noun")


# --- whole phrases ----------------------------------------------------------------------------------------------------


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
def noun_phrase(r: Reader, at: int, where: str) -> Iterator[Reading]:
    """A whole noun phrase with its modifiers."""
    for start, q, marks in quantifier(r, at):
        for end, head, marks2 in bare_noun(r, start):
            test, parts, _ = head
            items = keep(test)
            base = (*marks, *marks2)
            plain: NounPhrase = (q, items, (), ())
            yield from _modified(r, end, plain, base, where, 0)
            if q[:2] == ("only", 0) and r.word(end) in ("and", "or"):  # `only circles and squares`
                for end2, (test2, _, _), marks3 in bare_noun(r, r.skip(end, "and", "or", "a")):
                    present = both(some(keep(test)), some(keep(test2)))
                    joined: NounPhrase = (q, keep(one_of(test, test2)), (), ())
                    yield from _modified(r, end2, joined, (*base, *marks3, "np.only-and"), where, 0)
                    joined = (q, joined[1], (present,), ())
                    yield from _modified(r, end2, joined, (*base, *marks3, "np.only-and-both"), where, 0)
            if "other" in r.tokens[max(0, start - 1) : end]:
                rest: NounPhrase = (q, ("others", items, IT), (), ())
                yield from _modified(r, end, rest, (*base, "np.others"), where, 0)
            if parts:
                present = both(*(some(keep(p, IT)) for p in parts))
                yield from _modified(r, end, (q, items, (present,), ()), (*base, "np.all-colours"), where, 0)
                if q[0] != "only":
                    each = both(*(quantify(q, keep(p, keep_rest(test, parts)), where) for p in parts))
                    yield from _modified(r, end, (BARE, items, (each,), ()), (*base, "np.each-colour"), where, 0)
        for end, meaning, marks2 in r("variety", r.skip(start, "of")):
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
                            yield from _modified(r, end2, changed, (*base, mark), where, 1)


def keep_rest(test: Draft, parts: tuple[Draft, ...]) -> Draft:
    """The items of a coordinated phrase without the coordinated colours."""
    tests = [t for t in (test[1:] if test[0] == "and" else (test,)) if t != one_of(*parts)]
    return keep(both(*tests))


def _modified(r: Reader, at: int, np: NounPhrase, marks: tuple[str, ...], where: str, depth: int) -> Iterator[Reading]:
    """The phrase as it is, and with each modifier that can follow."""
    r.spend()
    yield at, np, marks
    if depth == 4:
        return
    for end, meaning, more in r("after_noun", at, where):
        changed = modify(np, meaning)
        if changed is not None and end > at:
            again = ("mod.again",) if depth else ()
            yield from _modified(r, end, changed, (*marks, *more, *again), where, depth + 1)


def modify(np: NounPhrase, meaning: Draft) -> NounPhrase | None:
    """A noun phrase with one modifier applied, or None where they do not go together."""
    q, items, conditions, wraps = np
    does = meaning[0]
    if does == "test":
        test = refer(meaning[1], items, SELF)
        if q[1] > 1 and test in (("at", "top"), ("at", "bottom")):  # `2 blue items on top`: the two highest
            run = one_of(*(("nth", k, test[1]) for k in range(1, min(q[1], MOST_RUN) + 1)))
            test = choice("run-at-height", one=test, run=run)
        elif q[1] > 1 and test[0] == "?" and test[1].startswith("rel."):  # of `2 items beneath it` one is lower
            test = ("?", f"{test[1]}.many", test[2])
        return q, keep(test, items), conditions, wraps
    if does == "test-q":
        return meaning[2], keep(refer(meaning[1], items, SELF), items), conditions, wraps
    if does == "tests":
        extra = tuple(some(keep(t, items)) for t in meaning[1])
        return q, keep(one_of(*meaning[1]), items), (*conditions, *extra), wraps
    if does == "test-all":
        return q, keep(meaning[1], items), (*conditions, meaning[2]), wraps
    if does == "only":
        within = ("count", ("exactly", 0), ("others", items, keep(meaning[1], items)))
        present = () if meaning[2] == ANY else (meaning[2],)
        return q, items, (*conditions, within, *present), wraps
    if does == "alike":
        loose = q[0] in ("atleast", "multiple", "a", "bare", "the")
        amount = ("at-least" if loose else "exactly", max(q[1], 2 if q[0] in ("bare", "the") else 1))
        return ("a", 1, "alike"), keep(("alike", meaning[1], amount, items), items), conditions, wraps
    if does == "cond":
        return q, items, (*conditions, meaning[1]), wraps
    if does == "others":
        return q, ("others", items, IT), conditions, wraps
    if does == "wrap" and meaning[1][0] == "any":  # `no circles in any box`: nowhere
        return np
    if does == "wrap":
        return None if wraps else (q, items, conditions, ((meaning[1], meaning[2]),))
    if does == "q":
        if meaning[1] == "only" and q[0] == "bare":
            return ("only", 0, "late"), items, conditions, wraps
        return (meaning[1], q[1], "late"), items, conditions, wraps
    return np
