"""Running programs: each term is compiled once to a closure from a domain (some objects in view) to a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from veridical.language.programs.domain import NEAR, RELATE, Domain, Thing, at_height, domain_of, is_nth, touches
from veridical.language.programs.terms import Term
from veridical.records import Panel

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


def _keep(node: Term, test: Test, items: Run) -> Run:
    def run(domain: Domain) -> tuple[Thing, ...]:
        things = items(domain)
        return tuple(filter(test(domain), things)) if things else ()

    return run


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


def _extreme(pick: Callable[..., int]) -> Callable[..., Run]:
    def make(node: Term, items: Run, groups: Run) -> Run:
        def run(domain: Domain) -> tuple[Domain, ...]:
            sizes = [(len(items(g)), g) for g in groups(domain)]
            best = pick((n for n, _ in sizes), default=0)
            return tuple(g for n, g in sizes if n == best)

        return run

    return make


def _others(node: Term, items: Run, taken: Run) -> Run:
    def run(domain: Domain) -> tuple[Thing, ...]:
        gone = set(taken(domain))
        return tuple(t for t in items(domain) if t not in gone)

    return run


_MAKE: dict[str, Callable[..., Any]] = {
    "and": _coordination(all),
    "or": _coordination(any),
    "not": _not,
    "count": lambda node, amount, items: lambda domain: amount(domain)(len(items(domain))),
    "every": _every,
    "values": lambda node, name, amount, items: (
        lambda domain: amount(domain)(len({t.values.get(name) for t in items(domain)}))
    ),
    "agree": _agree,
    "things": lambda node: lambda domain: domain.things,
    "keep": _keep,
    "either": lambda node, one, other: lambda domain: tuple(dict.fromkeys((*one(domain), *other(domain)))),
    "others": _others,
    "within": lambda node, items, groups: (
        lambda domain: tuple(dict.fromkeys(t for g in groups(domain) for t in items(g)))
    ),
    "is": lambda node, name, *values: _always(lambda thing: thing.values.get(name) in values),
    "any": lambda node: _always(lambda thing: True),
    "touching": lambda node, place: _always(lambda thing: touches(thing, place)),
    "nearing": lambda node, place: _always(lambda thing: touches(thing, place, NEAR * (thing.room[0] or 100.0) / 100)),
    "at": lambda node, height: lambda domain: lambda thing: at_height(thing, height, domain.beside(thing)),
    "nth": lambda node, place, height: lambda domain: lambda thing: is_nth(thing, place, height, domain.beside(thing)),
    "alike": _alike,
    "related": _related,
    "inside": _inside,
    "panels": lambda node: lambda domain: domain.by_panel,
    "panel": lambda node, place: (
        lambda domain: tuple(g for g in domain.by_panel if g.panels and g.panels[0][0] == place - 1)
    ),
    "towers": lambda node: lambda domain: domain.by_tower,
    "where": lambda node, holds, groups: lambda domain: tuple(g for g in groups(domain) if holds(g)),
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
    "times": lambda node, factor, number: lambda domain: factor * _number(number)(domain),
    "plus": lambda node, one, other: lambda domain: _number(one)(domain) + _number(other)(domain),
    "tally": lambda node, items: lambda domain: len(items(domain)),
    "value": lambda node, name, items: (
        lambda domain: tuple(sorted({str(t.values.get(name)) for t in items(domain)})) or None
    ),
}


def execute(program: Term, panels: Sequence[Panel] | Domain) -> bool:
    """Whether a program is true of the panels. Deterministic; only `panel` sees the order of the panels."""
    domain = panels if isinstance(panels, Domain) else domain_of(panels)
    return bool(compiled(program)(domain))
