"""Layouts of module networks: which small network is run on which, and which words each is about.

A layout is a list of steps in the order they are run, arguments first (postfix): `find[blue] filter[square] count[two]
boxes[a box]`. Every value is an attention over the places of the panels; a truth is one that is the same everywhere in
a panel (`count`: in this box) or everywhere (`total`, `boxes`: in the whole scene), so that all modules fit together.

`program_layout` makes one of a known program (`Item.program`): what N2NMN is cloned from. `parsed_layouts` makes them
of a parse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from veridical.common.arrays import Ints
from veridical.language.programs.terms import Atom, Term, term

# module -> how many attentions it takes; its number is its place here, and 0 (padding) does nothing
ARITY = {
    "": 0, "find": 0, "filter": 1, "relocate": 1, "and": 2, "or": 2, "not": 1,
    "count": 1, "total": 1, "boxes": 1, "compare": 2, "describe": 1,
}  # fmt: skip
MODULES = tuple(ARITY)
NUMBER = {name: n for n, name in enumerate(MODULES)}
LONGEST = 16  # steps


class Step(NamedTuple):
    """One module of a layout."""

    module: str
    words: tuple[str, ...] = ()  # what it is about; of a program, words that may say it
    meant: Term | None = None  # of a program: the set of things or of boxes that it comes to


Layout = tuple[Step, ...]


def is_whole(modules: Sequence[str]) -> bool:
    """Whether a layout leaves exactly one value, and never takes what is not there.

    >>> is_whole(["find", "find", "and", "count"]), is_whole(["find", "and"])
    (True, False)
    """
    depth = 0
    for module in modules:
        if depth < ARITY[module]:
            return False
        depth += 1 - ARITY[module] if module else 0
    return depth == 1


def arguments(steps: Ints) -> Ints:
    """Which earlier values each step takes, and after them the last value of each layout: (B, T + 1, 2).

    Value 0 is nothing; value t + 1 is that of step t. A step that asks for more than there is takes nothing.

    >>> arguments(np.array([[NUMBER["find"], NUMBER["find"], NUMBER["and"], 0]])).tolist()
    [[[0, 0], [0, 0], [1, 2], [0, 0], [3, 0]]]
    """
    batch, length = steps.shape
    rows = np.arange(batch)
    arity = np.array(list(ARITY.values()))[steps]  # (B, T)
    stack = np.zeros((batch, length + 3), np.int64)  # two empty places below, so that nothing can be taken from them
    top = np.full(batch, 1)  # the highest filled place
    out = np.zeros((batch, length + 1, 2), np.int64)
    for t in range(length):
        first, second = stack[rows, np.maximum(top - 1, 0)], stack[rows, top]
        two, one = arity[:, t] == 2, arity[:, t] == 1
        out[:, t, 0] = np.where(two, first, np.where(one, second, 0))
        out[:, t, 1] = np.where(two, second, 0)
        real = steps[:, t] > 0
        top = np.where(real, np.maximum(top - arity[:, t], 1) + 1, top)
        stack[rows, top] = np.where(real, t + 1, stack[rows, top])
    out[:, length, 0] = stack[rows, top]
    return out


# --- of programs ------------------------------------------------------------------------------------------------------

_SIMPLE = ("is", "touching", "nearing", "at", "nth")  # tests of an object that can be seen at its place
_SAID = {  # what people call what programs name, in the lexicon's own words
    "square": "square rectangle block", "circle": "circle", "triangle": "triangle", "large": "large big",
    "small": "small tiny", "things": "item block one_ square", "wall": "wall edge side", "side": "wall edge side",
    "bottom": "bottom base", "top": "top roof", "on": "on top above", "above": "above on top", "under": "below",
    "below": "below", "touch": "touching", "near": "near closely", "touching": "touching", "nearing": "near touching",
    "exactly": "exactly only", "at-least": "at least a an", "at-most": "at most more no", "more-than": "more than",
    "fewer-than": "less fewer than", "1": "1 a an one_", "0": "0 no not none without", "every": "all each every only",
    "panels": "box", "towers": "tower box", "2": "2 second", "3": "3 third", "4": "4 fourth",
}  # fmt: skip


class _CannotError(Exception):
    """There is no layout for something in a program."""


def program_layout(program: Term, longest: int = LONGEST) -> Layout | None:
    """The modules that a program is made of, in order; None where one is missing, or the layout is too long.

    >>> from veridical.language.programs.terms import parse
    >>> program = "(count (exactly 1) (where (count (exactly 2) (keep (is color blue) things)) panels))"
    >>> made = program_layout(parse(program))
    >>> [step.module for step in made], made[0].words
    (['find', 'count', 'boxes'], ('blue',))
    """
    try:
        found = tuple(_whole(program))
    except _CannotError:
        return None
    return found if len(found) <= longest and is_whole([step.module for step in found]) else None


def _step(module: str, *about: Term | Atom, meant: Term | None = None) -> Step:
    """A module, with the words that may say what it is about: those of every name and number in some terms."""
    names = [str(name) for one in about for name in _names(one)]
    return Step(module, tuple(dict.fromkeys(word for name in names for word in _SAID.get(name, name).split())), meant)


def _kept(test: Term) -> Term:
    return term("keep", test, term("things"))


def _names(node: Term | Atom) -> Iterator[Atom]:
    if not isinstance(node, Term):
        yield node
        return
    if node.op not in ("is", "keep", "and", "size"):
        yield node.op
    for arg in node.args[node.op == "is" :]:  # of (is color blue): blue
        yield from _names(arg)


def _terms(node: Term) -> list[Term]:
    return [a for a in node.args if isinstance(a, Term)]


def _whole(node: Term) -> Iterator[Step]:
    """A truth of the whole scene."""
    if node.op in ("and", "or", "not"):
        yield from _joined(node, _whole)
    elif node.op == "count" and _terms(node)[1].type == "groups":
        amount, groups = _terms(node)
        yield from _groups(groups)
        yield _step("boxes", amount, "panels" if groups.op == "panels" else "towers")
    elif node.op == "every" and _terms(node)[0].type == "groups":
        groups, truth = _terms(node)
        if groups.op == "where":
            yield from _groups(groups)  # none of them without it
            yield from _inside(truth)
            yield from (Step("not"), Step("and"))
        else:
            yield from _inside(truth)
        yield _step("boxes", "every", "towers")
    else:
        yield from _amount(node, "total")


def _inside(node: Term) -> Iterator[Step]:
    """A truth of each box."""
    if node.op in ("and", "or", "not"):
        yield from _joined(node, _inside)
    else:
        yield from _amount(node, "count")


def _amount(node: Term, module: str) -> Iterator[Step]:
    """So many objects, or all of them, or so many colours of theirs."""
    if node.op == "every":
        objects, test = _terms(node)
        yield from _objects(objects)  # no object without it
        yield from _test(test)
        yield from (Step("not"), Step("and"), _step(module, "every", meant=_boxes(node, module)))
        return
    if node.op == "count":
        amount, objects = _terms(node)
        yield from _objects(objects)
        others = [n for n in _terms(amount) if n.op == "size"]
        if not others:
            yield _step(module, amount, meant=_boxes(node, module))
            return
        yield from _objects(_terms(others[0])[0])
        yield _step("compare", amount.op, meant=_boxes(node, module))
    elif node.op == "values":
        amount, objects = _terms(node)
        yield from _objects(objects)
        yield _step("describe", node.args[0], amount, "same", meant=_boxes(node, module))
    else:
        raise _CannotError(node.op)
    if module == "total":
        yield Step("boxes")


def _boxes(truth: Term, module: str) -> Term | None:
    """The boxes that a truth holds in; of a truth of the whole scene, nothing."""
    return term("where", truth, term("panels")) if module == "count" else None


def _joined(node: Term, read: Callable[[Term], Iterator[Step]]) -> Iterator[Step]:
    for n, part in enumerate(_terms(node)):
        yield from read(part)
        if node.op == "not":
            yield Step("not")
        elif n:
            yield Step(node.op)


def _groups(node: Term) -> Iterator[Step]:
    """Which boxes: a truth of each."""
    if node.op != "where":
        raise _CannotError(node.op)
    truth, groups = _terms(node)
    yield from _inside(truth)
    if groups.op == "where":
        yield from _groups(groups)
        yield Step("and")
    elif groups.op not in ("panels", "towers"):
        raise _CannotError(groups.op)


def _objects(node: Term) -> Iterator[Step]:
    if node.op == "things":
        yield _step("find", "things", meant=node)
    elif node.op == "either":
        first, second = _terms(node)
        yield from _objects(first)
        yield from _objects(second)
        yield Step("or")
    elif node.op == "keep":
        test, objects = _terms(node)
        if objects.op == "things":
            yield from _test(test)
        else:
            yield from _objects(objects)
            yield from _test(test)
            yield Step("and", meant=node)
    else:
        raise _CannotError(node.op)


def _test(node: Term) -> Iterator[Step]:
    """The objects that a test is true of."""
    if node.op in _SIMPLE or node.op == "any":
        yield _step("find", node, meant=_kept(node))
    elif node.op == "and":
        simple = [t for t in _terms(node) if t.op in _SIMPLE]
        other = [t for t in _terms(node) if t.op not in _SIMPLE]
        for n, part in enumerate(simple):
            done = simple[: n + 1]
            yield _step("filter" if n else "find", part, meant=_kept(term("and", *done) if n else part))
        for n, part in enumerate(other):
            yield from _test(part)
            if simple or n:
                yield Step("and", meant=_kept(term("and", *simple, *other[: n + 1])))
    elif node.op in ("or", "not"):
        yield from _joined(node, _test)
    elif node.op == "related":
        yield from _objects(_terms(node)[1])
        yield _step("relocate", node.args[0], meant=_kept(node))
    elif node.op == "inside":
        truth, groups = _terms(node)
        if groups.op not in ("panels", "towers"):
            raise _CannotError(groups.op)
        yield from _inside(truth)
    else:
        raise _CannotError(node.op)
