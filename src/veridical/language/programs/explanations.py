"""Why a program is true or false: the boxes and objects that decide it.

What decides is found from the top down: of a false `and` its false parts, of a true `or` its true ones, of a false
`every` the counterexamples. Besides, every truth inside the program is a step with its own verdict and what it found; a
step inside `where` is evaluated in each group that passes, or in all groups where none does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from veridical.language.programs.domain import Domain, Thing, domain_of
from veridical.language.programs.execution import compiled
from veridical.language.programs.terms import Term, subterms
from veridical.records import Panel


@dataclass(frozen=True, slots=True)
class Step:
    """One truth inside a program, where it was asked, and what it found there."""

    program: str  # the text of this part
    answer: bool
    panels: tuple[int, ...]  # where it was asked, or which groups it found
    objects: tuple[tuple[int, str], ...]  # (panel, object id) it is about
    near: tuple[tuple[int, str], ...]  # where it found none: the objects that pass most of its tests
    depth: int  # 0 for the whole program


@dataclass(frozen=True, slots=True)
class Explanation:
    """What makes a program true or false of a scene."""

    program: str
    answer: bool
    panels: tuple[int, ...]  # the boxes that decide it
    objects: tuple[tuple[int, str], ...]  # the objects that decide it, as (panel, object id)
    near: tuple[tuple[int, str], ...]  # where no object was found: those that come closest
    steps: tuple[Step, ...]  # every truth on the way, outermost first

    def __str__(self) -> str:
        lines = [
            f"{'  ' * s.depth}{'yes' if s.answer else 'no '} {s.program}"
            + (f"  boxes {', '.join(str(p + 1) for p in s.panels)}" if s.panels else "")
            for s in self.steps
        ]
        return "\n".join([f"{'true' if self.answer else 'false'}:", *lines])


def explain(program: Term, panels: Sequence[Panel]) -> Explanation:
    """Which boxes and objects make a program true or false."""
    domain = domain_of(panels)
    steps: list[Step] = []
    answer = _explain(program, domain, 0, steps)
    found = _Deciding()
    _decide(program, domain, found)
    objects = tuple(sorted(_names(found.things)))
    near = () if objects else tuple(sorted(_names(found.near)))
    boxes = found.panels | {p for p, _ in objects} or {p for p, _ in domain.panels}
    return Explanation(str(program), answer, tuple(sorted(boxes)), objects, near, tuple(steps))


class _Deciding:
    """What was found to decide so far."""

    def __init__(self) -> None:
        self.things: list[Thing] = []
        self.near: list[Thing] = []
        self.panels: set[int] = set()


def _terms(node: Term, *types: str) -> list[Term]:
    """The arguments that are terms, or those of some types."""
    return [a for a in node.args if isinstance(a, Term) and (not types or a.type in types)]


def _decide(node: Term, domain: Domain, found: _Deciding) -> None:
    """Collect what makes a truth what it is in a domain."""
    answer = bool(compiled(node)(domain))
    if node.op in ("and", "or", "not"):
        for part in _terms(node):
            if node.op == "not" or bool(compiled(part)(domain)) == answer:
                _decide(part, domain, found)
    elif node.op == "every" and not answer:
        _counterexamples(node, domain, found)
    elif node.op == "agree":
        _agreement(node, answer, domain, found)
    else:  # a comparison: both of its sides, where the other is a set too
        for amount in _terms(node, "amount"):
            for size in (t for t in subterms(amount) if t.op == "size"):
                _members(_terms(size)[0], domain, found)
        for part in _terms(node, "objects", "groups"):
            _members(part, domain, found)
            if node.op == "every" and part.type == "groups":
                for group in compiled(part)(domain):
                    _decide(_terms(node, "truth")[0], group, found)


def _counterexamples(node: Term, domain: Domain, found: _Deciding) -> None:
    """The groups or things that are not as all should be."""
    members, holds = _terms(node)
    if members.type == "objects":
        check = compiled(holds)(domain)
        found.things += [t for t in compiled(members)(domain) if not check(t)]
        return
    for group in compiled(members)(domain):
        if not compiled(holds)(group):
            found.panels |= {p for p, _ in group.panels}
            _decide(holds, group, found)


def _agreement(node: Term, answer: bool, domain: Domain, found: _Deciding) -> None:
    """The groups that agree with most others; where they are too few or too many, all, since they differ."""
    key, members = _terms(node, "key", "groups")
    keyed = [(compiled(key)(g), g) for g in compiled(members)(domain)]
    shared = Counter(k for k, _ in keyed if k is not None)
    most = max(shared.values(), default=0)
    for k, group in keyed:
        if not answer or shared[k] == most:
            found.panels |= {p for p, _ in group.panels}
            found.things += compiled(_terms(key)[0])(group)


def _members(members: Term, domain: Domain, found: _Deciding) -> None:
    """The things or groups of a set with what makes them its members; where there are none, what comes closest."""
    if members.op == "within":
        items, groups = _terms(members)
        for group in compiled(groups)(domain):
            _members(items, group, found)
        return
    if members.type == "objects":
        things = compiled(members)(domain)
        found.things += things
        found.near += () if things else _nearest(members, domain)
        if len(domain.panels) == 1:
            found.panels.add(domain.panels[0][0])
        return
    groups = compiled(members)(domain)
    for group in groups:
        found.panels |= {p for p, _ in group.panels}
    while len(_terms(members)) == 2:  # (where T GROUPS), (most OBJECTS GROUPS)
        what, members = _terms(members)
        for group in groups or compiled(members)(domain):
            (_decide if what.type == "truth" else _members)(what, group, found)


def _explain(node: Term, domain: Domain, depth: int, steps: list[Step]) -> bool:
    """The truth of a node in a domain; its steps are appended, outermost first."""
    answer = bool(compiled(node)(domain))
    at = len(steps)
    inner = [a for a in node.args if isinstance(a, Term)]
    things: tuple[Thing, ...] = ()
    near: tuple[Thing, ...] = ()
    groups: tuple[Domain, ...] = ()
    for arg in inner:
        if arg.type == "objects":
            things += compiled(arg)(domain)
            near += () if things else _nearest(arg, domain)
        elif arg.type == "groups":
            groups = compiled(arg)(domain)
    if groups or any(a.type == "groups" for a in inner):
        _explain_groups(node, inner, domain, groups, depth, steps)
        boxes = tuple(sorted({p for g in groups for p, _ in g.panels}))
    else:
        for arg in inner:
            if arg.type == "truth":
                _explain(arg, domain, depth + 1, steps)
        boxes = tuple(p for p, _ in domain.panels) if len(domain.panels) == 1 else ()
    steps.insert(at, Step(str(node), answer, boxes, _names(things), _names(near), depth))
    return answer


def _names(things: Sequence[Thing]) -> tuple[tuple[int, str], ...]:
    return tuple(dict.fromkeys((t.panel, t.object.id) for t in things))


def _nearest(items: Term, domain: Domain) -> tuple[Thing, ...]:
    """Of a filter that nothing passes: the things that pass most of its tests, at least one."""
    if items.op == "within":
        inner, groups = _terms(items)
        return tuple(t for g in compiled(groups)(domain) for t in _nearest(inner, g))
    checks = []
    while items.op == "keep":
        test, items = _terms(items)
        checks += [compiled(t)(domain) for t in (_terms(test) if test.op == "and" else [test])]
    passed = [(sum(check(t) for check in checks), t) for t in compiled(items)(domain)] if checks else []
    most = max((n for n, _ in passed), default=0)
    return tuple(t for n, t in passed if n == most > 0)


def _explain_groups(
    node: Term, inner: list[Term], domain: Domain, groups: tuple[Domain, ...], depth: int, steps: list[Step]
) -> None:
    """The conditions on groups, asked in the groups that meet them, or in all where none does."""
    for arg in inner:
        if arg.type == "truth":  # (every groups truth)
            for group in groups:
                _explain(arg, group, depth + 1, steps)
        while arg.type == "groups" and arg.op == "where":
            condition, source = arg.args
            if not isinstance(condition, Term) or not isinstance(source, Term):
                break
            for group in groups or compiled(source)(domain):
                _explain(condition, group, depth + 1, steps)
            arg = source
