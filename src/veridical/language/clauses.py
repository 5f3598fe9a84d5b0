"""Rules for boxes and towers, for clauses, and for the whole sentence.

A condition is a truth about the objects in view. Inside `a box with ...` that is the box, so the same rules read
`there are 2 blue items and a circle` of the image and of a box.
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
    mentions_it,
    one_of,
    only,
    quantify,
    refer,
    some,
)
from veridical.language.phrases import (
    ATTRIBUTE,
    HEIGHT,
    NounPhrase,
    adjectives,
    bare_noun,
    exists,
    height,
    noun_phrase,
    of_attribute,
    quantifier,
    relation,
    spread,
    touching,
    variety,
)
from veridical.language.reader import Reader, Reading, rule

GROUPS: dict[str, Draft] = {"box": ("panels",), "tower": ("towers",)}
OPENERS = ("with", "has", "which", "where", "and", "but", "of", "made", ",", "be", "in", "the")


@rule
def group_noun(r: Reader, at: int) -> list[Reading]:
    """`tower`, `grey box`, `3 blocks tower`, `yellow tower`: (kind, groups, condition)."""
    out: list[Reading] = []
    start, condition = r.skip(at, "grey", "other"), ANY
    n = r.number(start)
    if n is not None and r.word(start + 1) in ("block", "item", "level"):
        condition, start = quantify(("num", n, ""), THINGS, "tower"), start + 2
    elif n is not None and r.sequence(start + 1, "tower", "block"):
        return [(start + 3, ("tower", GROUPS["tower"], quantify(("num", n, ""), THINGS, "tower")), ("group.n-block",))]
    elif r.word(start) == "block" and r.word(start + 1) == "tower":
        if start and r.number(start - 1) is not None:  # `a 4 block tower` is one tower of four blocks
            return []
        start += 1
    for end, (test, parts), marks in adjectives(r, start):
        word = r.word(end)
        if word == "tower" and r.word(end + 1) in ("tower", "block"):
            end += 1
        if word not in GROUPS:
            continue
        coloured = ANY if test == ANY else both(some(keep(test)), only(keep(test)))
        out.append((end + 1, (word, GROUPS[word], both(condition, coloured)), marks))
    if r.word(start) == "square" and r.word(start + 1) in ("with", "which", "has"):
        out.append((start + 1, ("box", GROUPS["box"], condition), ("group.square",)))
    return out


@rule
def group_phrase(r: Reader, at: int) -> list[Reading]:
    """Boxes or towers with all that is said of them: (quantifier, groups, condition)."""
    out: list[Reading] = []
    for start, q, marks in quantifier(r, at):
        for end, (kind, groups, condition), marks2 in group_noun(r, start):
            for last, more, marks3 in group_modifiers(r, end, kind):
                out.append((last, (q, groups, both(condition, more)), (*marks, *marks2, *marks3)))
    return out


@rule
def group_modifiers(r: Reader, at: int, kind: str) -> list[Reading]:
    """What follows `box` or `tower`, as one condition."""
    out: list[Reading] = [(at, ANY, ())]
    for end, truth, marks in group_modifier(r, at, kind):
        for last, more, marks2 in group_modifiers(r, end, kind):
            out.append((last, both(truth, more), marks + marks2))
    return out


@rule
def group_modifier(r: Reader, at: int, kind: str) -> list[Reading]:
    """`with 2 items`, `that has a blue base`, `which is yellow`, `of 3 blocks each`, `without circles`."""
    if r.word(at) == "," and r.word(at + 1) in ("with", "has", "which", "where"):
        at += 1
    word, out = r.word(at), []
    if word in ("and", "but", ","):
        after = r.skip(at, "and", "but", ",", "with", "it", "has", "each", "they")
        for end, truth, marks in conditions(r, after, kind):
            out.append((end, truth, (*marks, "group.and")))
    elif word in ("with", "has", "which", "where", "including", "than") or word == "in" and kind == "tower":
        start = r.skip(at, "with", "has", "which", "where", "than", "there", "be", "it", "including", "made", "of")
        negative = r.word(start) in ("not", "without")
        start = r.skip(start + 1, "has", "with") if negative else start
        for end, truth, marks in conditions(r, start, kind):
            end = r.skip(end, "each", "in", "it") if r.word(end) == "each" or r.sequence(end, "in", "it") else end
            out.append((end, ("not", truth) if negative else truth, marks))
        for end, truth, marks in clause(r, r.skip(at, "which", "where"), kind):
            out.append((end, refer(truth, THINGS), marks))
        out += _group_predicate(r, start)
    elif word == "without":
        for end, np, marks in noun_phrase(r, at + 1, kind):
            out.append((end, ("not", exists((("a", 1, ""), *np[1:]), kind)), (*marks, "group.without")))
    elif word in ("of", "made"):
        for end, np, marks in noun_phrase(r, r.skip(at, "made", "of"), kind):
            out.append((r.skip(end, "each"), exists(np, kind), (*marks, "group.of")))
        out += [(e, refer(t, THINGS), m) for e, t, m in _of_values(r, at)]
    return out


def _of_values(r: Reader, at: int) -> list[Reading]:
    found = []
    for end, meaning, marks in of_attribute(r, at):
        if meaning[0] in ("cond", "same"):
            found.append((end, meaning[1], marks))
        elif meaning[0] in ("only", "test"):
            found.append((end, only(keep(meaning[1])), marks))
    return found


def _group_predicate(r: Reader, at: int) -> list[Reading]:
    """A box or tower that `is yellow`: nothing in it is of another colour."""
    found = []
    for end, meaning, marks in predicate(r, at):
        if meaning[0] == "test":
            found.append((end, only(keep(meaning[1])), (*marks, "group.is")))
    return found


@rule
def conditions(r: Reader, at: int, where: str) -> list[Reading]:
    """One condition, or several joined by commas, `and`, `but`, `or`; later ones may refer to the first as `it`."""
    out: list[Reading] = []
    for end, (truth, items), marks in condition(r, at, where):
        antecedent = items if items is not None else THINGS
        first = refer(truth, THINGS)
        out.append((end, first, marks))
        joint = _joint(r, end, where)
        join = one_of if r.word(end) == "or" else both
        if joint > end:
            for last, rest, marks2 in open_conditions(r, joint, where):
                out.append((last, join(first, refer(rest, antecedent)), (*marks, *marks2, f"and.{where}")))
    return out


def _joint(r: Reader, at: int, where: str) -> int:
    """The position after the words that join conditions, or `at` where nothing is joined."""
    words = (",", "and", "but") if where == "image" else (",", "and", "but", "with", "where", "which", "or")
    joint = r.skip(at, *words, "or")
    return r.skip(joint, "there", "be", "also", "has", "either", "each") if joint > at else at


@rule
def open_conditions(r: Reader, at: int, where: str) -> list[Reading]:
    """Further conditions whose `it` is still open."""
    out: list[Reading] = []
    for end, (truth, _), marks in condition(r, at, where):
        out.append((end, truth, marks))
        joint = _joint(r, end, where)
        if joint > end:
            for last, rest, marks2 in open_conditions(r, joint, where):
                out.append((last, both(truth, rest), (*marks, *marks2, f"and.{where}")))
    return out


@rule
def condition(r: Reader, at: int, where: str) -> list[Reading]:
    """One truth about the objects in view, with the items it is about."""
    out: list[Reading] = []
    if where == "image":
        out += [(e, (truth, None), m) for e, truth, m in group_statement(r, at)]
    for end, np, marks in noun_phrase(r, at, where):
        out.append((end, (exists(np, where), np[1]), marks))
    for end, truth, marks in clause(r, at, where):
        out.append((end, (truth, None), (*marks, "clause")))
    denied = r.word(at) == "not"
    for end, meaning, marks in variety(r, at + denied):
        truth = refer(meaning[1], THINGS)
        out.append((end, (("not", truth) if denied else truth, None), (*marks, "cond.variety")))
    for end, truth, marks in shares(r, at, where):
        out.append((end, (truth, None), (*marks, "cond.share")))
    for end, truth, marks in comparison(r, at):
        out.append((end, (truth, None), marks))
    return out


@rule
def comparison(r: Reader, at: int) -> list[Reading]:
    """`more blue items than circles`."""
    if r.word(at) not in ("more", "less"):
        return []
    amount, out = "more-than" if r.word(at) == "more" else "fewer-than", []
    for end, (test, _, _), marks in bare_noun(r, at + 1):
        if r.word(end) == "than":
            for last, (other, _, _), marks2 in bare_noun(r, r.skip(end + 1, "the")):
                truth = ("count", (amount, ("size", keep(other))), keep(test))
                out.append((last, truth, (*marks, *marks2, "compare")))
    return out


@rule
def predicate(r: Reader, at: int) -> list[Reading]:
    """What follows `is`: ("test", t) of each item, or ("set", truth about `it`) of all together."""
    start = r.skip(at, "be", "either", "all", "both")
    if r.word(start) == "not":
        return [
            (end, (kind, ("not", meaning)), (*marks, "pred.not"))
            for end, (kind, meaning), marks in predicate(r, start + 1)
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
        kind = "test" if meaning[0] in ("test", "only") else "set"
        out.append((end, (kind, meaning[1]), (*marks, "pred.attribute")))
    if r.word(start) == "same" or r.word(start) == "the" and r.word(start + 1) == "same":
        end = r.skip(start, "the", "same", "in")
        if (name := ATTRIBUTE.get(r.word(end))) is not None:
            out.append((end + 1, ("set", ("values", name, ("exactly", 1), IT)), ("pred.same-in",)))
    return out


def only_of(test: Draft) -> Draft:
    """All of `it` pass the test."""
    return ("every", IT, test)


@rule
def subject(r: Reader, at: int, where: str) -> list[Reading]:
    """The subject of a clause: a noun phrase, `it`, `the color`, or two noun phrases joined."""
    out: list[Reading] = []
    if r.word(at) in ("it", "they"):
        out.append((r.skip(at + 1, "both", "all"), (("all", 0, ""), IT, (), ()), ("subj.it",)))
    start = r.skip(at, "the")
    if r.word(start) == "color":
        end = r.skip(start + 1, "of", "the", "item", "block")
        out.append((end, (("all", 0, ""), IT, (), ()), ("subj.color",)))
    for end, np, marks in noun_phrase(r, at, where):
        out.append((end, np, marks))
        if r.word(end) == "and":
            for last, other, marks2 in noun_phrase(r, end + 1, where):
                joined: NounPhrase = (("all", 0, ""), ("either", np[1], other[1]), np[2] + other[2], np[3] or other[3])
                out.append((last, joined, (*marks, *marks2, "subj.and")))
    if r.number(at) is not None:  # `the 2 are blue`, `one is black`
        out.append((at + 1, (("num", r.number(at) or 0, "pro"), THINGS, (), ()), ("subj.number",)))
    elif r.word(at) in ("the", "only", "exactly", "atleast", "atmost"):
        for end, q, marks in quantifier(r, at):
            if end > at and r.word(end) in ("be", "has") and q[1]:
                out.append((end, (q, THINGS, (), ()), (*marks, "subj.number")))
    return out


@rule
def clause(r: Reader, at: int, where: str) -> list[Reading]:
    """A subject and what is said of it: `the top is blue`, `none of the circles are touching any edge`."""
    out: list[Reading] = []
    for end, np, marks in subject(r, at, where):
        if r.word(end) not in ("be", "not", "has") and not (r.word(end) in ("touching",) and end > at):
            continue
        for last, (kind, meaning), marks2 in predicate(r, end + (r.word(end) == "has")):
            truth = _said(np, kind, meaning, where)
            out.append((last, _wrapped(truth, np[3]), (*marks, *marks2)))
            if np[3] and r.word(last) in ("and", "but"):  # `the base of a tower is blue and the top is black`
                for last2, more, marks3 in clause(r, last + 1, "tower"):
                    both_said = _wrapped(both(truth, more), np[3])
                    out.append((last2, both_said, (*marks, *marks2, *marks3, "clause.shared")))
    return out


def _said(np: NounPhrase, kind: str, meaning: Draft, where: str) -> Draft:
    """The truth of a subject and a predicate, before it is spread over groups."""
    q, items, extra, _ = np
    if kind == "set":
        truth = _together(q, items, meaning, where)
        kept = items
    else:
        meaning = refer(meaning, items, SELF)
        kept = keep(meaning, items)
        every = ("every", items, meaning)
        if q[0] in ("all", "bare", "each") or q[0] == "the" and q[1] == 1:
            options = {"every": both(some(items), every), "some": some(kept), "vacuous": every}
            truth = choice(f"subject.{q[0]}.{'it' if items == IT else where}", **options)
        else:
            truth = quantify(q, kept, where)
    return both(truth, *(refer(c, kept) for c in extra))


def _together(q: Quantifier, items: Draft, meaning: Draft, where: str) -> Draft:
    """A truth about several items at once; `the 3 are the same in shape` speaks of three among them."""
    truth = refer(meaning, items)
    if q[0] in ("all", "bare") or q[1] < 2:
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
def shares(r: Reader, at: int, where: str) -> list[Reading]:
    """How some of `it` are: `2 are blue and 1 is a circle`, `one of which is yellow`, `there are 2 black ones`."""
    out: list[Reading] = []
    for end, truth, marks in share(r, at, where):
        out.append((end, truth, marks))
        joint = r.skip(end, ",", "and")
        if joint > end:
            for last, more, marks2 in shares(r, r.skip(joint, "the", "other", "of", "which"), where):
                out.append((last, both(truth, more), marks + marks2))
    return out


@rule
def share(r: Reader, at: int, where: str) -> list[Reading]:
    out: list[Reading] = []
    start = r.skip(at, "there", "be")
    found = quantifier(r, start)
    if r.word(r.skip(start, "the")) == "other":
        found = [*found, (r.skip(start, "the", "other"), ("num", 1, "other"), ())]
    for end, q, marks in found:
        after = r.skip(end, "of", "which", "the", "item", "block", "they", "other")
        if q == BARE or r.word(after) not in ("be", "has", "not", "touching"):
            continue
        for last, (kind, meaning), marks2 in predicate(r, after + (r.word(after) == "has")):
            if kind == "test":
                kept = keep(refer(meaning, IT, SELF), IT)
                truth = only_of(meaning) if q[0] in ("all", "each") else quantify(q, kept, where)
            else:
                truth = _together(q, IT, meaning, where)
            out.append((last, truth, (*marks, *marks2)))
    return out


@rule
def group_statement(r: Reader, at: int) -> list[Reading]:
    """A statement about boxes or towers: `there is a tower with ...`, `each box has ...`, `2 boxes have the same ...`."""
    out: list[Reading] = []
    start = r.skip(at, "in", "on", "of") if r.word(at) in ("in", "of", "on") else at
    out += _number_agreement(r, at) + _colour_across(r, at)
    for end, (q, groups, held), marks in group_phrase(r, start):
        if q[0] not in ("all", "each"):
            out.append((end, group_truth(q, groups, held, ANY), marks))
        verb = r.skip(end, "there", ",", "not") if start > at else end
        if r.word(verb) in ("has", "with", "be", "contain", "only", "not") or start > at:
            after = r.skip(verb, "has", "with", "be", "not", "either")
            negative = "not" in r.tokens[verb:after]
            found = conditions(r, after, "box" if groups[0] == "panels" else "tower")
            if r.word(verb) == "be":
                found = found + _group_predicate(r, after)
            for last, said, marks2 in found:
                last = r.skip(last, "each")
                said = ("not", said) if negative else said
                out.append((last, group_truth(q, groups, held, said), (*marks, *marks2, f"vp.{r.word(verb)}")))
        out += _agreeing(r, end, q, groups, held, marks)
    for end, truth, marks in _extreme(r, at):
        out.append((end, truth, marks))
    return out


def _number_agreement(r: Reader, at: int) -> list[Reading]:
    """`the number of items in the boxes is different`, `a different number of items in the boxes`."""
    start = r.skip(at, "a", "the")
    said = r.word(start) if r.word(start) in ("same", "different") else ""
    after = r.skip(start + bool(said), "number", "of", "the")
    out: list[Reading] = []
    if "number" not in r.tokens[start:after]:
        return out
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
            out.append((last, truth, (*marks, "group.number")))
    return out


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
) -> list[Reading]:
    """`two boxes with the same number of items`, `all towers have the same base`, `towers of different height`."""
    start = r.skip(at, "with", "has", "which", "be", "not", "of", "a", "the")
    negative = "not" in r.tokens[at:start]
    if start == at or r.word(start) not in ("same", "different"):
        return []
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
    out: list[Reading] = []
    for last, key in keys:
        n = total if q[0] in ("all", "each", "the", "bare") else max(q[1], 2)
        amount = ("exactly" if q[0] in ("exactly", "only") else "at-least", n)
        if differ:
            several = ("agree", ("exactly", 1), key, base)
            unequal = ("not", ("agree", ("exactly", total), key, base))
            truth = choice("differ", distinct=several, unequal=unequal)
        else:
            truth = ("agree", amount, key, base)
        out.append((last, truth, (*marks, "group.agree")))
    return out


def _extreme(r: Reader, at: int) -> list[Reading]:
    """`the box with the least number of items has ...`."""
    start = r.skip(at, "the", "a")
    if r.word(start) not in GROUPS:
        return []
    groups = GROUPS[r.word(start)]
    after = r.skip(start + 1, "with", "has", "which", "the")
    word = r.word(after)
    if word not in ("least", "most", "lowest", "highest"):
        return []
    end = r.skip(after + 1, "number", "of", "item", "block")
    chosen = ("least" if word in ("least", "lowest") else "most", THINGS, groups)
    verb = r.skip(end, "has", "be", "with")
    out: list[Reading] = []
    for last, said, marks in conditions(r, verb, "box") + _group_predicate(r, verb):
        truth = choice("extreme", some=some(("where", said, chosen)), every=("every", chosen, said))
        out.append((last, truth, (*marks, "group.extreme")))
    return out


def sentence(r: Reader) -> list[tuple[Draft, tuple[str, ...]]]:
    """Every reading of the whole sentence: (truth, marks)."""
    out: dict[Draft, tuple[str, ...]] = {}
    opening = r.skip(0, "the") if r.word(1) == "be" else 0
    for at in sorted({0, r.skip(opening, "there", "be"), r.skip(opening, "there", "be", "the")}):
        for end, truth, marks in conditions(r, at, "image"):
            if r.skip(end, ",") == r.end and not mentions_it(truth):
                out.setdefault(truth, marks)
    return list(out.items())
