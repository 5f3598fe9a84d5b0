"""Running programs: each term is compiled once to a closure from a domain (some objects in view) to a value.

A domain is what a program looks at: the whole image, one panel, or one tower. Objects of two panels never touch and
are never above one another, and no operator but `panel` sees the order of the panels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from veridical.language.programs.terms import Term
from veridical.records import Panel, SceneObject

NEAR = 5.0  # pixels of a 100-pixel panel: closer than this is "nearly touching"
CORNER = 2.0  # pixels of a 100-pixel panel: people accept this much when they say "touching the corner"
TOUCH = 0.03  # of the panel's width: drawn objects with a smaller gap look as if they touch


class Thing:
    """An object in a panel, with the numbers that tests ask for."""

    __slots__ = ("at", "bottom", "left", "middle", "object", "panel", "right", "room", "top", "values")

    def __init__(self, panel: int, at: int, obj: SceneObject, room: tuple[float, float]) -> None:
        self.panel, self.at, self.object, self.room = panel, at, obj, room
        self.left, self.top, self.right, self.bottom = obj.box or (0.0, 0.0, 0.0, 0.0)
        self.middle = (self.top + self.bottom) / 2
        self.values = {"category": obj.category, **dict(reversed(obj.attributes))}


class Domain:
    """The objects in view, by panel (position in the image, its things)."""

    def __init__(self, panels: tuple[tuple[int, tuple[Thing, ...]], ...]) -> None:
        self.panels = panels

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        return self.panels[0][1] if len(self.panels) == 1 else tuple(t for _, ts in self.panels for t in ts)

    @cached_property
    def by_panel(self) -> tuple[Domain, ...]:
        return (self,) if len(self.panels) == 1 else tuple(Domain((p,)) for p in self.panels)

    @cached_property
    def by_tower(self) -> tuple[Domain, ...]:
        return tuple(Domain(((panel, stack),)) for panel, things in self.panels for stack in stacks(things))

    def beside(self, thing: Thing) -> tuple[Thing, ...]:
        """The things in view in the same panel."""
        return next((things for panel, things in self.panels if panel == thing.panel), ())


def domain_of(panels: Sequence[Panel]) -> Domain:
    """All objects of an image, prepared for execution."""
    out = []
    for index, panel in enumerate(panels):
        room = (float(panel.width or 0), float(panel.height or 0))
        out.append((index, tuple(Thing(index, at, obj, room) for at, obj in enumerate(panel.objects))))
    return Domain(tuple(out))


def stacks(things: tuple[Thing, ...]) -> list[tuple[Thing, ...]]:
    """The towers of a panel, each from its bottom up: things that stand on the floor, and what stands on them."""
    found = []
    for base in things:
        if not _touches(base, "bottom"):
            continue
        tower, grown = [base], True
        while grown:
            above = next((t for t in things if t not in tower and on(t, tower[-1])), None)
            grown = above is not None
            if above is not None:
                tower.append(above)
        found.append(tuple(tower))
    return found


def _slack(thing: Thing) -> float:
    return TOUCH * (thing.room[0] or 100.0)


def _overlap(a: Thing, b: Thing) -> float:
    return min(a.right, b.right) - max(a.left, b.left)


def on(a: Thing, b: Thing) -> bool:
    """`a` stands on `b`: no visible gap, at least half of the narrower one supported."""
    return (
        a.panel == b.panel
        and abs(b.top - a.bottom) <= _slack(a)
        and _overlap(a, b) >= min(a.right - a.left, b.right - b.left) / 2
    )


def gap(a: Thing, b: Thing) -> float:
    """The distance between two boxes; circles are taken as discs where both are."""
    if a.values.get("category") == "circle" == b.values.get("category"):
        dx = (a.left + a.right - b.left - b.right) / 2
        return float((dx * dx + (a.middle - b.middle) ** 2) ** 0.5 - (a.right - a.left + b.right - b.left) / 2)
    dx = max(0.0, max(a.left, b.left) - min(a.right, b.right))
    dy = max(0.0, max(a.top, b.top) - min(a.bottom, b.bottom))
    return float((dx * dx + dy * dy) ** 0.5)


RELATE: dict[str, Callable[[Thing, Thing], bool]] = {
    "above": lambda a, b: a.middle < b.middle,
    "on": on,
    "below": lambda a, b: a.middle > b.middle,
    "under": lambda a, b: on(b, a),
    "left": lambda a, b: a.left + a.right < b.left + b.right,
    "right": lambda a, b: a.left + a.right > b.left + b.right,
    "touch": lambda a, b: gap(a, b) <= _slack(a),
    "near": lambda a, b: gap(a, b) <= NEAR * (a.room[0] or 100.0) / 100,
    "well-above": lambda a, b: a.middle < b.middle and a.bottom <= b.top,
    "well-below": lambda a, b: a.middle > b.middle and a.top >= b.bottom,
    "well-left": lambda a, b: a.left + a.right < b.left + b.right and a.right <= b.left,
    "well-right": lambda a, b: a.left + a.right > b.left + b.right and a.left >= b.right,
}


def _distances(thing: Thing) -> dict[str, float]:
    width, height = thing.room
    return {"left": thing.left, "top": thing.top, "right": width - thing.right, "bottom": height - thing.bottom}


def _touches(thing: Thing, place: str, slack: float = 0.5) -> bool:
    """Whether a thing touches a part of its panel's border, within `slack` pixels."""
    if thing.object.box is None or not thing.room[0]:
        return False
    away = _distances(thing)
    if place in away:
        return away[place] <= slack
    if place == "corner":
        slack = max(slack, CORNER * thing.room[0] / 100)
    beside = away["left"] <= slack or away["right"] <= slack
    level = away["top"] <= slack or away["bottom"] <= slack
    return {"wall": beside or level, "side": beside, "corner": beside and level}[place]


def _at(thing: Thing, height: str, view: tuple[Thing, ...]) -> bool:
    highest, lowest = min(t.middle for t in view), max(t.middle for t in view)
    if height == "middle":
        return highest < thing.middle < lowest
    return thing.middle == (highest if height == "top" else lowest)


def _nth(thing: Thing, place: int, height: str, view: tuple[Thing, ...]) -> bool:
    passed = (t.middle < thing.middle if height == "top" else t.middle > thing.middle for t in view)
    return sum(passed) == place - 1


Run = Callable[[Domain], Any]
Check = Callable[[Thing], bool]
Test = Callable[[Domain], Check]  # in two steps: what is the same for all things of a domain is found once
Amount = Callable[[Domain], Callable[[int], bool]]
_COMPILED: dict[Term, Any] = {}
MOST_COMPILED = 1 << 18  # terms whose closures are kept; then all are made anew


def forget() -> None:
    """Drop the closures made so far."""
    _COMPILED.clear()


def compiled(node: Term) -> Any:
    """The closure of a term, from a domain to a check of things (test), a check of numbers (amount), or a value."""
    made = _COMPILED.get(node)
    if made is None:
        if len(_COMPILED) >= MOST_COMPILED:
            forget()
        args = [compiled(a) if isinstance(a, Term) else a for a in node.args]
        made = _COMPILED[node] = _MAKE[node.op](node, *args)
    return made


def _coordination(join: Callable[..., bool]) -> Callable[..., Any]:
    def make(node: Term, *parts: Any) -> Any:
        if node.type == "test":

            def test(domain: Domain) -> Check:
                checks = [p(domain) for p in parts]
                if len(checks) == 2:  # most have two, and are asked of every thing
                    one, other = checks
                    if join is all:
                        return lambda thing: one(thing) and other(thing)
                    return lambda thing: one(thing) or other(thing)
                return lambda thing: join(check(thing) for check in checks)

            return test
        return lambda domain: join(p(domain) for p in parts)

    return make


def _not(node: Term, part: Any) -> Any:
    if node.type == "test":

        def test(domain: Domain) -> Check:
            check = part(domain)
            return lambda thing: not check(thing)

        return test
    return lambda domain: not part(domain)


def _every(node: Term, items: Run, holds: Any) -> Run:
    if node.args[0].type == "groups":  # type: ignore[union-attr]
        return lambda domain: all(holds(g) for g in items(domain))
    return lambda domain: all(map(holds(domain), items(domain)))


def _number(number: Any) -> Callable[[Domain], int]:
    return (lambda domain: number) if isinstance(number, int) else number


def _amount(compare: Callable[[int, int], bool]) -> Callable[..., Any]:
    def make(node: Term, number: Any) -> Amount:
        if isinstance(number, int):
            return _always(lambda n: compare(n, number))

        def amount(domain: Domain) -> Callable[[int], bool]:
            wanted = number(domain)
            return lambda n: compare(n, wanted)

        return amount

    return make


def _always(check: Callable[[Any], bool]) -> Callable[[Domain], Callable[[Any], bool]]:
    """A check that does not look at the domain."""
    return lambda domain: check


def _between(node: Term, low: Any, high: Any) -> Amount:
    low, high = _number(low), _number(high)

    def amount(domain: Domain) -> Callable[[int], bool]:
        first, last = low(domain), high(domain)
        return lambda n: first <= n <= last

    return amount


def _count(node: Term, amount: Amount, items: Run) -> Run:
    return lambda domain: amount(domain)(len(items(domain)))


def _keep(node: Term, test: Test, items: Run) -> Run:
    def run(domain: Domain) -> tuple[Thing, ...]:
        things = items(domain)
        return tuple(filter(test(domain), things)) if things else ()

    return run


def _values(node: Term, name: str, amount: Amount, items: Run) -> Run:
    return lambda domain: amount(domain)(len({t.values.get(name) for t in items(domain)}))


def _agree(node: Term, amount: Amount, key: Run, groups: Run) -> Run:
    def run(domain: Domain) -> bool:
        found = Counter(k for g in groups(domain) if (k := key(g)) is not None)
        return amount(domain)(max(found.values(), default=0))

    return run


def _related(node: Term, relation: str, amount: Amount, items: Run) -> Test:
    relate = RELATE[relation]

    def test(domain: Domain) -> Check:
        enough = amount(domain)
        by_panel: dict[int, list[Thing]] = {}
        for t in items(domain):
            by_panel.setdefault(t.panel, []).append(t)

        def check(thing: Thing) -> bool:
            return enough(sum([t is not thing and relate(thing, t) for t in by_panel.get(thing.panel, ())]))

        return check

    return test


def _alike(node: Term, name: str, amount: Amount, items: Run) -> Test:
    def test(domain: Domain) -> Check:
        enough, found = amount(domain), Counter(t.values.get(name) for t in items(domain))
        return lambda thing: enough(found[thing.values.get(name)])

    return test


def _inside(node: Term, holds: Run, groups: Run) -> Test:
    def test(domain: Domain) -> Check:
        within = {t for g in groups(domain) if holds(g) for t in g.things}
        return lambda thing: thing in within

    return test


def _has(node: Term, name: str, *values: str) -> Test:
    if len(values) == 1:
        return _always(lambda thing: thing.values.get(name) == values[0])
    wanted = frozenset(values)
    return _always(lambda thing: thing.values.get(name) in wanted)


def _nearing(node: Term, place: str) -> Test:
    return _always(lambda thing: _touches(thing, place, NEAR * (thing.room[0] or 100.0) / 100))


def _where(node: Term, holds: Run, groups: Run) -> Run:
    return lambda domain: tuple(g for g in groups(domain) if holds(g))


def _extreme(pick: Callable[..., int]) -> Callable[..., Run]:
    def make(node: Term, items: Run, groups: Run) -> Run:
        def run(domain: Domain) -> tuple[Domain, ...]:
            sizes = [(len(items(g)), g) for g in groups(domain)]
            best = pick((n for n, _ in sizes), default=0)
            return tuple(g for n, g in sizes if n == best)

        return run

    return make


def _value(node: Term, name: str, items: Run) -> Run:
    return lambda domain: tuple(sorted({str(t.values.get(name)) for t in items(domain)})) or None


def _others(node: Term, items: Run, taken: Run) -> Run:
    def run(domain: Domain) -> tuple[Thing, ...]:
        gone = set(taken(domain))
        return tuple(t for t in items(domain) if t not in gone)

    return run


def _either(node: Term, left: Run, right: Run) -> Run:
    return lambda domain: tuple(dict.fromkeys((*left(domain), *right(domain))))


def _within(node: Term, items: Run, groups: Run) -> Run:
    return lambda domain: tuple(dict.fromkeys(t for g in groups(domain) for t in items(g)))


def _panel(node: Term, place: int) -> Run:
    return lambda domain: tuple(g for g in domain.by_panel if g.panels and g.panels[0][0] == place - 1)


def _times(node: Term, factor: int, number: Any) -> Run:
    number = _number(number)
    return lambda domain: factor * number(domain)


def _plus(node: Term, one: Any, other: Any) -> Run:
    one, other = _number(one), _number(other)
    return lambda domain: one(domain) + other(domain)


_MAKE: dict[str, Callable[..., Any]] = {
    "and": _coordination(all),
    "or": _coordination(any),
    "not": _not,
    "count": _count,
    "every": _every,
    "values": _values,
    "agree": _agree,
    "things": lambda node: lambda domain: domain.things,
    "keep": _keep,
    "either": _either,
    "others": _others,
    "within": _within,
    "is": _has,
    "any": lambda node: _always(lambda thing: True),
    "touching": lambda node, place: _always(lambda thing: _touches(thing, place)),
    "nearing": _nearing,
    "at": lambda node, height: lambda domain: lambda thing: _at(thing, height, domain.beside(thing)),
    "nth": lambda node, place, height: lambda domain: lambda thing: _nth(thing, place, height, domain.beside(thing)),
    "alike": _alike,
    "related": _related,
    "inside": _inside,
    "panels": lambda node: lambda domain: domain.by_panel,
    "panel": _panel,
    "towers": lambda node: lambda domain: domain.by_tower,
    "where": _where,
    "most": _extreme(max),
    "least": _extreme(min),
    "exactly": _amount(lambda n, m: n == m),
    "at-least": _amount(lambda n, m: n >= m),
    "at-most": _amount(lambda n, m: n <= m),
    "more-than": _amount(lambda n, m: n > m),
    "fewer-than": _amount(lambda n, m: n < m),
    "between": _between,
    "even": lambda node: _always(lambda n: n % 2 == 0),
    "odd": lambda node: _always(lambda n: n % 2 == 1),
    "size": lambda node, items: lambda domain: len(items(domain)),
    "times": _times,
    "plus": _plus,
    "tally": lambda node, items: lambda domain: len(items(domain)),
    "value": _value,
}


def execute(program: Term, panels: Sequence[Panel] | Domain) -> bool:
    """Whether a program is true of the panels. Deterministic; only `panel` sees the order of the panels."""
    domain = panels if isinstance(panels, Domain) else domain_of(panels)
    return bool(compiled(program)(domain))
