"""Random scenes and random well-typed programs, for the laws that every program obeys."""

from __future__ import annotations

from hypothesis import strategies as st

from veridical.language.programs.terms import ENDS, HEIGHTS, PLACES, RELATIONS, SIGNATURES, Term, term
from veridical.records import Panel, SceneObject

WORDS = {"attribute": ("color", "category", "size"), "value": ("black", "blue", "square", "circle", "small")}
ORDERED = ("panel",)  # the operators that see the order of the panels
LEAVES = {"objects": "things", "groups": "panels", "amount": "even", "test": "any"}


def thing(name: str, category: str, color: str, x: float, y: float, size: int = 20) -> SceneObject:
    """An object of an NLVR box."""
    kind = {10: "small", 20: "medium", 30: "large"}[size]
    return SceneObject(name, category, (("color", color), ("size", kind)), (x, y, x + size, y + size))


def box(*objects: SceneObject, name: str = "box") -> Panel:
    """A box of 100 by 100 pixels."""
    return Panel(name, width=100, height=100, objects=objects)


def tower(*colors: str, name: str = "box") -> Panel:
    """A box with one tower, from its base up."""
    return box(*(thing(str(k), "square", c, 40, 80 - 21 * k) for k, c in enumerate(colors)), name=name)


@st.composite
def panels(draw: st.DrawFn) -> Panel:
    """A box with up to six objects anywhere."""
    count = draw(st.integers(0, 6))
    objects = []
    for k in range(count):
        size = draw(st.sampled_from([10, 20, 30]))
        x, y = draw(st.sampled_from([0, 13, 40, 100 - size])), draw(st.sampled_from([0, 17, 38, 59, 100 - size]))
        category = draw(st.sampled_from(["square", "circle", "triangle"]))
        objects.append(thing(str(k), category, draw(st.sampled_from(["black", "blue", "yellow"])), x, y, size))
    return box(*objects)


scenes = st.lists(panels(), min_size=1, max_size=4).map(tuple)


@st.composite
def programs(draw: st.DrawFn, kind: str = "truth", depth: int = 4, ordered: bool = False) -> Term:
    """A random term of a type; unless `ordered`, one that cannot tell the panels apart by their place."""
    options = [
        (op, wanted)
        for op, signs in SIGNATURES.items()
        for result, wanted in signs
        if result == kind and (ordered or op not in ORDERED)
    ]
    if depth <= 0 and kind in LEAVES:
        return term(LEAVES[kind])
    if depth <= 0:
        options = [(op, wanted) for op, wanted in options if op in ("count", "is", "size", "tally", "exactly")]
    op, wanted = draw(st.sampled_from(options))
    return term(op, *[draw(_argument(w.rstrip("*"), depth - 1, k, ordered)) for k, w in enumerate(wanted)])


def _argument(wanted: str, depth: int, place: int, ordered: bool) -> st.SearchStrategy[Term | str | int]:
    simple = {"place": PLACES, "height": HEIGHTS, "end": ENDS, "relation": RELATIONS}
    if wanted in simple:
        return st.sampled_from(simple[wanted])
    if wanted == "word":
        return st.sampled_from(WORDS["attribute"] if place == 0 else WORDS["value"])
    if wanted == "int":
        return st.integers(1, 4)
    if wanted == "number":
        return st.integers(0, 5) if depth <= 0 else st.one_of(st.integers(0, 5), programs("number", depth, ordered))
    return programs(wanted, depth, ordered)
