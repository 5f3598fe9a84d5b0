"""Rules for boxes and towers: what they are called, what is said of them, and how they agree.

A group phrase means (quantifier, groups, condition); the condition is a truth about the objects inside one group.
"""

from __future__ import annotations

from collections.abc import Iterator

from veridical.language.reading.modifiers import of_attribute
from veridical.language.reading.nouns import HEIGHT, adjectives, bare_noun, exists, noun_phrase, quantifier

from veridical.language.reading.reader import (  # isort: skip
    ANY, THINGS, Draft, Marks, Quantifier, Reader, Reading, both, choice, keep, only, quantify, refer, rule, some,
)  # fmt: skip

GROUPS: dict[str, Draft] = {"box": ("panels",), "tower": ("towers",)}


@rule
def group_noun(r: Reader, at: int) -> Iterator[Reading]:
    """`tower`, `grey box`, `3 blocks tower`, `yellow tower`: (group, groups, condition)."""
    start, condition = r.skip(at, "grey", "other", "different"), ANY
    n = r.number(start)
    if n is not None and r.word(start + 1) in ("block", "item", "level"):
        condition, start = quantify(("num", n, ""), THINGS, "tower"), start + 2
    elif n is not None and r.sequence(start + 1, "tower", "block"):
        yield start + 3, ("tower", GROUPS["tower"], quantify(("num", n, ""), THINGS, "tower")), ("group.n-block",)
        return
    elif r.word(start) == "block" and r.word(start + 1) == "tower":
        if start and r.number(start - 1) is not None:  # `a 4 block tower` is one tower of four blocks
            return
        start += 1
    for end, (test, _parts), marks in adjectives(r, start):
        word = r.word(end)
        if word == "tower" and r.word(end + 1) in ("tower", "block"):
            end += 1
        if word not in GROUPS:
            continue
        coloured = ANY if test == ANY else both(some(keep(test)), only(keep(test)))
        yield end + 1, (word, GROUPS[word], both(condition, coloured)), marks
    if r.word(start) == "square" and r.word(start + 1) in ("with", "which", "has"):
        yield start + 1, ("box", GROUPS["box"], condition), ("group.square",)


@rule
def group_phrase(r: Reader, at: int) -> Iterator[Reading]:
    """Boxes or towers with all that is said of them: (quantifier, groups, condition)."""
    for start, q, marks in quantifier(r, at):
        for end, (group, groups, condition), marks2 in group_noun(r, start):
            for last, more, marks3 in group_modifiers(r, end, group):
                yield last, (q, groups, both(condition, more)), (*marks, *marks2, *marks3)


@rule
def group_modifiers(r: Reader, at: int, group: str) -> Iterator[Reading]:
    """What follows `box` or `tower`, as one condition."""
    yield at, ANY, ()
    for end, truth, marks in group_modifier(r, at, group):
        for last, more, marks2 in group_modifiers(r, end, group):
            yield last, both(truth, more), marks + marks2


@rule
def group_modifier(r: Reader, at: int, group: str) -> Iterator[Reading]:
    """`with 2 items`, `that has a blue base`, `which is yellow`, `of 3 blocks each`, `without circles`."""
    yield from _group_modifier(r, at, group)
    yield from _of_height(r, at, group)


def _group_modifier(r: Reader, at: int, group: str) -> Iterator[Reading]:
    if r.word(at) == "," and r.word(at + 1) in ("with", "has", "which", "where"):
        at += 1
    word = r.word(at)
    if word in ("and", "but", ","):
        after = r.skip(at, "and", "but", ",", "with", "it", "has", "each", "they")
        for end, truth, marks in r("conditions", after, group):
            yield end, truth, (*marks, "group.and")
    elif word in ("with", "has", "which", "where", "including", "than") or (word == "in" and group == "tower"):
        start = r.skip(at, "with", "has", "which", "where", "than", "there", "be", "it", "including", "made", "of")
        negative = r.word(start) in ("not", "without")
        start = r.skip(start + 1, "has", "with") if negative else start
        for end, truth, marks in r("conditions", start, group):
            end = r.skip(end, "each", "in", "it") if r.word(end) == "each" or r.sequence(end, "in", "it") else end
            yield end, ("not", truth) if negative else truth, marks
        for end, truth, marks in r("clause", r.skip(at, "which", "where"), group):
            yield end, refer(truth, THINGS), marks
        yield from _group_predicate(r, start)
    elif word == "in" and r.word(at + 1) == "which":
        for end, truth, marks in r("clause", r.skip(at + 2, "there", "be"), group) + r("conditions", at + 2, group):
            yield end, refer(truth, THINGS), marks
    elif r.number(at) is not None and r.word(at + 1) == "block" and group == "tower":  # `a tower four blocks high`
        yield at + 2, quantify(("num", r.number(at) or 0, ""), THINGS, group), ("group.height",)
    elif word == "without":
        for end, np, marks in noun_phrase(r, at + 1, group):
            yield end, ("not", exists((("a", 1, ""), *np[1:]), group)), (*marks, "group.without")
    elif word in ("of", "made"):
        for end, np, marks in noun_phrase(r, r.skip(at, "made", "of"), group):
            yield r.skip(end, "each"), exists(np, group), (*marks, "group.of")
        for end, (does, content, _), marks in of_attribute(r, at):
            if does != "others":
                truth = content if does in ("cond", "same") else only(keep(content))
                yield end, refer(truth, THINGS), (*marks, "group.of-values")


def _of_height(r: Reader, at: int, group: str) -> Iterator[Reading]:
    """`a tower of height 3`, `with a height of 3 blocks`."""
    after = r.skip(at, "of", "with", "has", "a", "the")
    if r.word(after) != "height":
        return
    for end, q, marks in quantifier(r, r.skip(after + 1, "of", "be")):
        if q[1] and q[0] not in ("bare", "a", "the"):
            end = r.skip(end, "block", "item", "level")
            yield end, quantify(q, THINGS, group), (*marks, "group.height")


def _group_predicate(r: Reader, at: int) -> Iterator[Reading]:
    """A box or tower that `is yellow`: nothing in it is of another colour."""
    for end, meaning, marks in r("predicate", at):
        if meaning[0] == "test":
            yield end, only(keep(meaning[1])), (*marks, "group.is")


@rule
def group_statement(r: Reader, at: int) -> Iterator[Reading]:
    """A statement about boxes or towers: `a tower with ...`, `each box has ...`, `2 boxes have the same ...`."""
    start = r.skip(at, "in", "on", "of") if r.word(at) in ("in", "of", "on") else at
    yield from _number_agreement(r, at)
    yield from _colour_across(r, at)
    yield from _among(r, at)
    for end, (q, groups, held), marks in group_phrase(r, start):
        if q[0] not in ("all", "each"):
            yield end, group_truth(q, groups, held, ANY), marks
        verb = r.skip(end, "there", ",", "not") if start > at else end
        if r.word(verb) in ("has", "with", "be", "contain", "only", "not") or start > at:
            after = r.skip(verb, "has", "with", "be", "not", "either")
            negative = "not" in r.tokens[verb:after]
            is_so = r.word(verb) == "be" and r.word(verb + 1) not in ("with", "has")
            group = "box" if groups[0] == "panels" else "tower"
            for last, said, marks2 in _group_predicate(r, after) if is_so else r("conditions", after, group):
                last = r.skip(last, "each")
                said = ("not", said) if negative else said
                yield last, group_truth(q, groups, held, said), (*marks, *marks2, f"vp.{r.word(verb)}")
        yield from _agreeing(r, end, q, groups, held, marks)
    yield from _extreme(r, at)


def _among(r: Reader, at: int) -> Iterator[Reading]:
    """`of the three towers, one has a black base`."""
    if r.word(at) not in ("of", "among", "in"):
        return
    for end, (_, groups, held), marks in group_phrase(r, at + 1):
        for verb, q, marks2 in quantifier(r, r.skip(end, ",")):
            if verb == end or r.word(verb) not in ("has", "with", "be"):
                continue
            group = "box" if groups[0] == "panels" else "tower"
            said = _group_predicate(r, verb + 1) if r.word(verb) == "be" else r("conditions", verb + 1, group)
            for last, truth, marks3 in said:
                yield last, group_truth(q, groups, held, truth), (*marks, *marks2, *marks3, "group.among")


def _number_agreement(r: Reader, at: int) -> Iterator[Reading]:
    """`the number of items in the boxes is different`, `a different number of items in the boxes`."""
    start = r.skip(at, "a", "the")
    said = r.word(start) if r.word(start) in ("same", "different") else ""
    after = r.skip(start + bool(said), "number", "of", "the")
    if "number" not in r.tokens[start:after]:
        return
    for end, (test, _, _), marks in bare_noun(r, after):
        box = r.skip(end, "in", "of", "the", "each", "all", "3")
        if box == end or r.word(box) not in GROUPS:
            continue
        last = box + 1
        if not said:
            last = r.skip(last, "be", "not", "the")
            said, last = r.word(last), last + 1
        if said in ("same", "different"):
            groups = GROUPS[r.word(box)]
            agree = ("agree", ("exactly", ("size", groups)), ("tally", keep(test)), groups)
            distinct = ("agree", ("exactly", 1), ("tally", keep(test)), groups)
            truth = agree if said == "same" else choice("differ", distinct=distinct, unequal=("not", agree))
            yield last, truth, (*marks, "group.number")


def _colour_across(r: Reader, at: int) -> list[Reading]:
    """`the same color is on top in all 3 boxes`: the groups agree in the colour at a height."""
    start = r.skip(at, "the", "only", "a")
    if r.word(start) not in ("same", "1") or r.word(start + 1) != "color":
        return []
    after = r.skip(start + 2, "be", "block", "on", "at", "in", "the")
    end = r.skip(after + 1, "of", "in", "all", "each", "the", "3")
    if r.word(after) not in HEIGHT or r.word(end) not in GROUPS:
        return []
    groups = GROUPS[r.word(end)]
    key = ("value", "color", keep(("at", HEIGHT[r.word(after)])))
    return [(end + 1, ("agree", ("exactly", ("size", groups)), key, groups), ("group.colour-across",))]


def group_truth(q: Quantifier, groups: Draft, held: Draft, said: Draft) -> Draft:
    """The truth of a quantifier over the groups that meet a condition, of which something may be said."""
    base = groups if held == ANY else ("where", held, groups)
    if q[0] in ("each", "all") and said != ANY:
        if q[0] == "all" or held == ANY:
            return ("every", base, said)
        return both(some(base), ("every", base, said))
    if q[0] in ("the", "bare") and q[1] == 1 and said != ANY:
        every = both(some(base), ("every", base, said))
        return choice("the-group", some=some(("where", both(held, said), groups)), every=every)
    whole = both(held, said)
    chosen = groups if whole == ANY else ("where", whole, groups)
    if q[0] == "only" and not q[1]:
        q = ("exactly", 1, "only")
    if q[0] == "all":
        return ("every", groups, whole) if whole != ANY else some(groups)
    return quantify(q, chosen, "groups")


def _agreeing(
    r: Reader, at: int, q: Quantifier, groups: Draft, held: Draft, marks: tuple[str, ...]
) -> Iterator[Reading]:
    """`two boxes with the same number of items`, `all towers have the same base`, `towers of different height`."""
    if q[0] in ("a", "any") or (q[0] == "no" and q[1] < 2):
        return
    start = r.skip(at, "with", "has", "which", "be", "not", "of", "a", "an", "the")
    negative = "not" in r.tokens[at:start]
    if start > at and r.word(start) not in ("same", "different"):
        yield from _sharing(r, start, q, groups, held, marks)
        return
    if start == at:
        return
    differ = (r.word(start) == "different") != negative
    base = groups if held == ANY else ("where", held, groups)
    end = r.skip(start + 1, "in", "number", "of", "set")
    keys: list[tuple[int, Draft]] = []
    if r.word(end) == "height":
        keys.append((end + 1, ("tally", THINGS)))
    if "number" in r.tokens[start:end]:
        keys += [(e, ("tally", keep(test))) for e, (test, _, _), _ in bare_noun(r, end)]
    elif r.word(end) == "color":
        after = r.skip(end + 1, "block", "item", "at", "on", "as", "in", "the")
        if r.word(after) in HEIGHT:
            keys.append((after + 1, ("value", "color", keep(("at", HEIGHT[r.word(after)])))))
        else:
            keys.append((end + 1, ("value", "color", THINGS)))
    else:
        keys += [(r.skip(e, "color"), ("value", "color", keep(t))) for e, (t, _, _), _ in bare_noun(r, end)]
    total: Draft | int = ("size", base)
    for last, key in keys:
        n = total if q[0] in ("all", "each", "the", "bare") else max(q[1], 2)
        amount = ("exactly" if q[0] in ("exactly", "only") else "at-least", n)
        if differ:
            several = ("agree", ("exactly", 1), key, base)
            unequal = ("not", ("agree", ("exactly", total), key, base))
            truth = choice("differ", distinct=several, unequal=unequal)
        else:
            truth = ("agree", amount, key, base)
            truth = ("not", truth) if q[0] == "no" else truth
        yield last, truth, (*marks, "group.agree")


def _sharing(r: Reader, at: int, q: Quantifier, groups: Draft, held: Draft, marks: Marks) -> Iterator[Reading]:
    """`every box has a circle of the same color`: all have one, and these agree."""
    if q[0] not in ("all", "each") or held != ANY:
        return
    for end, (test, _, _), marks2 in bare_noun(r, at):
        after = r.skip(end, "of", "the", "with")
        if after > end and r.word(after) == "same" and r.word(after + 1) == "color":
            items = keep(test)
            key = ("value", "color", items)
            truth = both(("every", groups, some(items)), ("agree", ("exactly", ("size", groups)), key, groups))
            yield after + 2, truth, (*marks, *marks2, "group.sharing")


def _extreme(r: Reader, at: int) -> Iterator[Reading]:
    """`the box with the least number of items has ...`."""
    start = r.skip(at, "the", "a")
    word, groups = r.word(start), GROUPS["tower"]
    heads: list[tuple[int, Draft]] = []
    if word in ("tallest", "shortest") and r.word(start + 1) == "tower":
        heads.append((start + 2, THINGS))
    elif word in GROUPS:
        groups = GROUPS[word]
        after = r.skip(start + 1, "with", "has", "which", "the")
        word = r.word(after)
        if word in ("least", "most"):
            of = r.skip(after + 1, "number", "of", "the")
            heads += [(end, keep(test)) for end, (test, _, _), _ in bare_noun(r, of)]
    for end, items in heads:
        chosen = ("least" if word in ("least", "shortest") else "most", items, groups)
        verb = r.skip(end, "has", "be", "with")
        found = _group_predicate(r, verb) if r.word(end) == "be" else r("conditions", verb, "box")
        for last, said, marks in found:
            truth = choice("extreme", some=some(("where", said, chosen)), every=("every", chosen, said))
            yield last, truth, (*marks, "group.extreme")
