"""Layouts of module networks: which small network is run on which, and which words each is about.

A layout is a list of steps in the order they are run, arguments first (postfix): `find[blue] filter[square] count[two]
boxes[a box]`. Every value is an attention over the places of the panels; a truth is one that is the same everywhere in
a panel (`count`: in this box) or everywhere (`total`, `boxes`: in the whole scene), so that all modules fit together.

`program_layout` makes one of a known program (`Item.program`): what N2NMN is cloned from. `parsed_layouts` makes them
of a parse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from veridical.common.arrays import Ints
from veridical.language.programs.terms import Term

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
    words: tuple[str, ...] = ()  # what it is about; empty where a policy chooses the words


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


class _CannotError(Exception):
    """There is no layout for something in a program."""


def program_layout(program: Term, longest: int = LONGEST) -> tuple[str, ...] | None:
    """The modules that a program is made of, in order; None where one is missing, or the layout is too long.

    >>> from veridical.language.programs.terms import parse
    >>> program_layout(parse("(count (exactly 1) (where (count (at-least 2) (keep (is color blue) things)) panels))"))
    ('find', 'count', 'boxes')
    """
    try:
        found = tuple(_whole(program))
    except _CannotError:
        return None
    return found if len(found) <= longest and is_whole(found) else None


def _terms(node: Term) -> list[Term]:
    return [a for a in node.args if isinstance(a, Term)]


def _whole(node: Term) -> Iterator[str]:
    """A truth of the whole scene."""
    if node.op in ("and", "or", "not"):
        yield from _joined(node, _whole)
    elif node.op == "count" and _terms(node)[1].type == "groups":
        yield from _groups(_terms(node)[1])
        yield "boxes"
    elif node.op == "every" and _terms(node)[0].type == "groups":
        groups, truth = _terms(node)
        if groups.op in ("where", "most", "least", "panel"):
            yield from _groups(groups)  # none of them without it
            yield from _inside(truth)
            yield from ("not", "and", "boxes")
        else:
            yield from _inside(truth)
            yield "boxes"
    else:
        yield from _amount(node, "total")


def _inside(node: Term) -> Iterator[str]:
    """A truth of each box."""
    if node.op in ("and", "or", "not"):
        yield from _joined(node, _inside)
    else:
        yield from _amount(node, "count")


def _amount(node: Term, module: str) -> Iterator[str]:
    """So many objects, or all of them, or so many colours of theirs."""
    if node.op == "count":
        amount, objects = _terms(node)
        yield from _objects(objects)
        others = [n for n in _terms(amount) if n.op == "size"]
        if not others:
            yield module
            return
        yield from _objects(_terms(others[0])[0])
        yield "compare"
    elif node.op == "every":
        objects, test = _terms(node)
        yield from _objects(objects)  # no object without it
        yield from _test(test)
        yield from ("not", "and", module)
        return
    elif node.op == "values":
        yield from _objects(_terms(node)[1])
        yield "describe"
    else:
        raise _CannotError(node.op)
    if module == "total":
        yield "boxes"


def _joined(node: Term, read: object) -> Iterator[str]:
    assert callable(read)
    for n, part in enumerate(_terms(node)):
        yield from read(part)
        if node.op == "not":
            yield "not"
        elif n:
            yield node.op


def _groups(node: Term) -> Iterator[str]:
    """Which boxes: a truth of each."""
    if node.op != "where":
        raise _CannotError(node.op)
    truth, groups = _terms(node)
    yield from _inside(truth)
    if groups.op == "where":
        yield from _groups(groups)
        yield "and"
    elif groups.op not in ("panels", "towers"):
        raise _CannotError(groups.op)


def _objects(node: Term) -> Iterator[str]:
    if node.op == "things":
        yield "find"
    elif node.op == "either":
        first, second = _terms(node)
        yield from _objects(first)
        yield from _objects(second)
        yield "or"
    elif node.op == "keep":
        test, objects = _terms(node)
        if objects.op == "things":
            yield from _test(test)
        else:
            yield from _objects(objects)
            yield from _test(test)
            yield "and"
    else:
        raise _CannotError(node.op)


def _test(node: Term) -> Iterator[str]:
    """The objects that a test is true of."""
    if node.op in _SIMPLE or node.op == "any":
        yield "find"
    elif node.op == "and":
        simple = [t for t in _terms(node) if t.op in _SIMPLE]
        other = [t for t in _terms(node) if t.op not in _SIMPLE]
        yield from ("find", *["filter"] * (len(simple) - 1)) if simple else ()
        for n, part in enumerate(other):
            yield from _test(part)
            if simple or n:
                yield "and"
    elif node.op in ("or", "not"):
        yield from _joined(node, _test)
    elif node.op == "related":
        yield from _objects(_terms(node)[1])
        yield "relocate"
    elif node.op == "inside":
        truth, groups = _terms(node)
        if groups.op not in ("panels", "towers"):
            raise _CannotError(groups.op)
        yield from _inside(truth)
    else:
        raise _CannotError(node.op)
