"""Terms of the program language: typed, interned s-expressions over panels and objects.

A term is an operator with arguments; its type is checked when it is made. Equal terms are the same Python object,
so that a program which shares parts with another shares their compiled form too.

    (count (at-least 1) (where (count (exactly 2) (keep (is color blue) things)) panels))
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from weakref import WeakValueDictionary

from veridical.errors import UserError

Type = Literal["truth", "test", "objects", "groups", "amount", "number", "key", "word"]
Atom = str | int
MOST_NUMBER = 999_999_999
MOST_DEPTH = 150  # terms inside terms: what Python can follow, many times what a person writes

PLACES = ("wall", "bottom", "top", "left", "right", "side", "corner")  # what of a panel's border an object can touch
HEIGHTS = ("top", "bottom", "middle")
ENDS = ("top", "bottom")  # what one counts from
RELATIONS = (
    *("above", "on", "below", "under", "left", "right", "touch", "near"),
    *("well-above", "well-below", "well-left", "well-right"),  # past the other's edge, not only past its middle
)

# operator -> its signatures: (result type, argument types); a trailing "*" repeats the last argument
SIGNATURES: dict[str, tuple[tuple[Type, tuple[str, ...]], ...]] = {
    "and": (("truth", ("truth", "truth*")), ("test", ("test", "test*"))),
    "or": (("truth", ("truth", "truth*")), ("test", ("test", "test*"))),
    "not": (("truth", ("truth",)), ("test", ("test",))),
    "count": (("truth", ("amount", "objects")), ("truth", ("amount", "groups"))),
    "every": (("truth", ("objects", "test")), ("truth", ("groups", "truth"))),
    "values": (("truth", ("word", "amount", "objects")),),
    "agree": (("truth", ("amount", "key", "groups")),),
    "things": (("objects", ()),),
    "keep": (("objects", ("test", "objects")),),
    "either": (("objects", ("objects", "objects")),),
    "others": (("objects", ("objects", "objects")),),
    "within": (("objects", ("objects", "groups")),),
    "is": (("test", ("word", "word*")),),  # an attribute and the value it has, or several of which it has one
    "any": (("test", ()),),
    "touching": (("test", ("place",)),),
    "nearing": (("test", ("place",)),),
    "at": (("test", ("height",)),),
    "nth": (("test", ("int", "end")),),
    "alike": (("test", ("word", "amount", "objects")),),
    "related": (("test", ("relation", "amount", "objects")),),
    "inside": (("test", ("truth", "groups")),),
    "panels": (("groups", ()),),
    "panel": (("groups", ("int",)),),  # one by its place, from 1: of a pair, the left image and the right one
    "towers": (("groups", ()),),
    "where": (("groups", ("truth", "groups")),),
    "most": (("groups", ("objects", "groups")),),
    "least": (("groups", ("objects", "groups")),),
    "exactly": (("amount", ("number",)),),
    "at-least": (("amount", ("number",)),),
    "at-most": (("amount", ("number",)),),
    "more-than": (("amount", ("number",)),),
    "fewer-than": (("amount", ("number",)),),
    "between": (("amount", ("number", "number")),),
    "even": (("amount", ()),),
    "odd": (("amount", ()),),
    "size": (("number", ("objects",)), ("number", ("groups",))),
    "times": (("number", ("int", "number")),),
    "plus": (("number", ("number", "number")),),
    "tally": (("key", ("objects",)),),
    "value": (("key", ("word", "objects")),),
}


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Term:
    """One node of a program. Make it with `term`, which checks and interns it: equal terms are identical."""

    op: str
    args: tuple[Term | Atom, ...]
    type: Type
    depth: int = 1  # of terms inside terms

    def __str__(self) -> str:
        return show(self)


Program = Term
_TOO_DEEP = (f"A program has more than {MOST_DEPTH} operators inside one another.", "Write a simpler one.")
_TOO_LARGE = (f"A program has a number larger than {MOST_NUMBER:,}.", "Write a smaller one.")
_INTERNED: WeakValueDictionary[tuple[str | Term | Atom, ...], Term] = WeakValueDictionary()  # those still in use


def term(op: str, *args: Term | Atom) -> Term:
    """The term `(op args...)`, checked against the operator's signatures.

    >>> str(term("count", term("exactly", 2), term("keep", term("is", "color", "blue"), term("things"))))
    '(count (exactly 2) (keep (is color blue) things))'
    """
    for arg in args:
        if arg.__class__ is bool:  # equal to 0 or 1, so that it would be taken for one
            raise UserError(f"{arg} is not a number of the program language.", "Write 0 or 1.")
    key = (op, *args)
    found = _INTERNED.get(key)
    if found is None:
        result, depth = _result_type(op, args), 1 + max((a.depth for a in args if isinstance(a, Term)), default=0)
        if depth > MOST_DEPTH:
            raise UserError(*_TOO_DEEP)
        found = _INTERNED[key] = Term(op, args, result, depth)
    return found


def _result_type(op: str, args: tuple[Term | Atom, ...]) -> Type:
    signatures = SIGNATURES.get(op)
    if signatures is None:
        raise UserError(f"'{op}' is not an operator of the program language.", f"Use one of: {', '.join(SIGNATURES)}.")
    if any(isinstance(a, int) and abs(a) > MOST_NUMBER for a in args):
        raise UserError(*_TOO_LARGE)
    for result, wanted in signatures:
        if _fits(args, wanted):
            return result
    shown = " ".join(show(a) if isinstance(a, Term) else _show_atom(a) for a in args)
    expected = " or ".join(f"({' '.join((op, *wanted))})" for _, wanted in signatures)
    raise UserError(f"'({op} {shown})' does not fit: expected {expected}.", "Correct the arguments.")


def _fits(args: tuple[Term | Atom, ...], wanted: tuple[str, ...]) -> bool:
    if wanted and wanted[-1].endswith("*"):
        if len(args) < len(wanted):
            return False
        last = wanted[-1][:-1]
        wanted = (*wanted[:-1], *[last] * (len(args) - len(wanted) + 1))
    return len(args) == len(wanted) and all(_is_a(a, w) for a, w in zip(args, wanted, strict=True))


def _is_a(arg: Term | Atom, wanted: str) -> bool:
    if isinstance(arg, Term):
        return arg.type == wanted
    if isinstance(arg, int):
        return wanted in ("number", "int") and arg >= 0
    choices = {"place": PLACES, "height": HEIGHTS, "end": ENDS, "relation": RELATIONS}.get(wanted)
    return wanted == "word" and '"' not in arg if choices is None else arg in choices


_NUMBER = re.compile(r"[0-9]+")  # not str.isdigit, which takes ² for a digit
_PLAIN = re.compile(r'[^\s()"]+')
_TOKEN = re.compile(r'[()]|"[^"]*"|[^\s()"]+')
_BARE = frozenset(op for op, signatures in SIGNATURES.items() if any(not wanted for _, wanted in signatures))


def show(node: Term) -> str:
    """The text of a program; `parse` reads it back. Operators without arguments are written bare."""
    if not node.args:
        return node.op
    return f"({node.op} {' '.join(show(a) if isinstance(a, Term) else _show_atom(a) for a in node.args)})"


def _show_atom(atom: Atom) -> str:
    """A number or a word; a word that would be read as something else stands in quotes."""
    if isinstance(atom, str) and (not _PLAIN.fullmatch(atom) or _NUMBER.fullmatch(atom) or atom in _BARE):
        return f'"{atom}"'
    return str(atom)


def parse(text: str) -> Term:
    """The program a text describes, checked; its type must be `truth`.

    >>> parse("(count (at-least 1) (where (values color (exactly 1) things) towers))").type
    'truth'
    """
    tokens = _TOKEN.findall(text)
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    if _TOKEN.sub("", text).strip():
        raise UserError(f"'{shown}' is not a program.", "Write it as an s-expression: (count (exactly 2) things).")
    node, rest = _read(tokens, 0, shown, 1)
    if rest != len(tokens):
        raise UserError(f"'{' '.join(tokens[rest:])}' follows the end of the program.", "Write one expression.")
    if not isinstance(node, Term) or node.type != "truth":
        raise UserError(f"'{shown}' is not true or false.", "The outermost operator must give a truth value.")
    return node


def _read(tokens: list[str], at: int, text: str, depth: int) -> tuple[Term | Atom, int]:
    if at >= len(tokens):
        raise UserError(f"The program '{text}' ends too early.", "Close every parenthesis.")
    token = tokens[at]
    if token == ")":
        raise UserError(f"The program '{text}' has ')' where an expression should be.", "Balance the parentheses.")
    if token != "(":
        if token.startswith('"'):
            return token[1:-1], at + 1
        if _NUMBER.fullmatch(token):
            if len(token) > len(str(MOST_NUMBER)):
                raise UserError(*_TOO_LARGE)
            return int(token), at + 1
        return (term(token) if token in _BARE else token), at + 1
    if at + 1 >= len(tokens) or tokens[at + 1] in "()":
        raise UserError(f"The program '{text}' has '(' without an operator.", "Write (operator arguments...).")
    if depth > MOST_DEPTH:
        raise UserError(*_TOO_DEEP)
    op, args, at = tokens[at + 1], [], at + 2
    while at < len(tokens) and tokens[at] != ")":
        arg, at = _read(tokens, at, text, depth + 1)
        args.append(arg)
    if at >= len(tokens):
        raise UserError(f"The program '{text}' ends too early.", "Close every parenthesis.")
    return term(op, *args), at + 1


def subterms(node: Term) -> list[Term]:
    """The node and every term below it, outermost first."""
    found = [node]
    for arg in node.args:
        if isinstance(arg, Term):
            found += subterms(arg)
    return found
