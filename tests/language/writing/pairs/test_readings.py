"""Every way to take a sentence's words gives the same labels; what would be odd to say is not said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from veridical.language.programs.execution import compiled
from veridical.language.programs.terms import Term, parse, term
from veridical.language.writing.drafting import NoDraft
from veridical.language.writing.pairs import claims as pair_claims
from veridical.language.writing.pairs.claims import PairDraft, contrast, every_way
from veridical.language.writing.pairs.families import FAMILIES
from veridical.language.writing.pairs.phrases import RELATIONS, Desk, Facts
from veridical.language.writing.pairs.quantified import partitive
from veridical.language.writing.pairs.statements import _polarity, _rank, write
from veridical.records import Panel, SceneObject

from ._pairs import NOUNS, four_pairs, two_of_four

DOUBTS = replace(NOUNS, also={"car": ("bus",), "umbrella": ("scissors",)}, doubtful=frozenset(["horse"]))
WIDER = {("car",): ("car", "bus"), ("umbrella",): ("umbrella", "scissors"), ("dog", "cat", "horse"): ("dog", "cat")}
FARTHER = dict(RELATIONS.values())


def _swapped(program: Term, swaps: dict[tuple[str, ...], tuple[str, ...]]) -> Term:
    """A program with some of its words taken otherwise, each everywhere."""
    args = program.args
    if program.op == "related" and (str(args[0]),) in swaps:
        args = (swaps[(str(args[0]),)][0], *args[1:])
    if program.op == "is" and args[0] == "category":
        names = tuple(str(arg) for arg in args[1:])
        args = ("category", *swaps.get(names, names))
    return term(program.op, *(_swapped(arg, swaps) if isinstance(arg, Term) else arg for arg in args))


def _ways(program: Term) -> Iterator[Term]:
    """The program under each choice of readings of its nouns and relations."""
    every: dict[tuple[str, ...], tuple[str, ...]] = {**WIDER, **{(k,): (v,) for k, v in FARTHER.items()}}
    used = [key for key in every if _swapped(program, {key: every[key]}) is not program]
    for taken in product((False, True), repeat=len(used)):
        yield _swapped(program, {key: every[key] for key, yes in zip(used, taken, strict=True) if yes})


def _sparse_pairs(rng: np.random.Generator) -> list[tuple[Panel, Panel]]:
    """Pairs of images with an umbrella, and another thing or two of one kind: for "the umbrella", "all the animals"."""
    panels = []
    for k in range(8):
        other = ("dog", "cat", "horse")[int(rng.integers(3))]
        names = ["umbrella", *[other] * int(rng.integers(1, 3))]
        boxes = rng.integers((0, 0, 30, 30), (320, 220, 80, 80), (len(names), 4)).tolist()
        things = (
            SceneObject(str(at), name, (("color", ("red", "blue")[int(rng.integers(2))]),), (x, y, x + w, y + h))
            for at, (name, (x, y, w, h)) in enumerate(zip(names, boxes, strict=True))
        )
        panels.append(Panel(str(k), width=400, height=300, objects=tuple(things)))
    return list(zip(panels[::2], panels[1::2], strict=True))


def _drafts(family: str, wanted: int, tries: int) -> Iterator[tuple[PairDraft, Facts, tuple[bool, ...], bool]]:
    """Drafts of a family that would be taken."""
    write_one = next(f.write for f in FAMILIES if f.name == family)
    found = 0
    for seed in range(tries):
        rng = np.random.default_rng(seed)
        pairs = four_pairs(rng) if seed % 2 else _sparse_pairs(rng)
        facts, truth = Facts(pairs, DOUBTS), two_of_four(rng)
        for _ in range(20):
            try:
                draft = write_one(Desk(rng, facts, truth))
            except NoDraft:
                continue
            positive = _polarity(draft.readings, facts, truth)
            if positive is not None:
                found += 1
                yield draft, facts, truth, positive
                if found == wanted:
                    return


@pytest.mark.parametrize("family", [family.name for family in FAMILIES])
def test_every_reading_of_a_written_sentence_gives_the_same_labels(family: str) -> None:
    doubtful = seen = 0
    for draft, facts, truth, positive in _drafts(family, 120 if family == "conditional" else 40, 200):
        ways = list(_ways(draft.readings[0]))
        seen += 1
        doubtful += len(ways) > 1
        for way in ways:
            run = compiled(way)
            for domain, value in zip(facts.domains, truth, strict=True):
                assert bool(run(domain)) == (value == positive), (draft.said, str(way))
    assert seen > 0
    assert doubtful > 0, "no sentence with words that can be taken in two ways: the test sees nothing"


def test_a_conditional_has_all_combinations_of_readings() -> None:
    """Given a bare number on either side, "two" is read as exactly two and as at least two, independently."""
    for draft, *_ in _drafts("conditional", 60, 200):
        programs = [r for r in draft.readings if r.op == "every"]
        firsts, seconds = ({r.args[k] for r in programs} for k in (0, 1))
        assert len(programs) == len(firsts) * len(seconds), draft.said


def test_a_sentence_of_too_many_readings_is_no_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = [parse(f"(count (exactly {k}) things)") for k in range(4)]
    assert len(every_way(lambda x, y: term("and", x, y), ways, ways)) == 16
    monkeypatch.setattr(pair_claims, "MOST_READINGS", 15)
    with pytest.raises(NoDraft):
        every_way(lambda x, y: term("and", x, y), ways, ways)


def test_at_least_as_many_is_not_said_of_none_and_none() -> None:
    def scene(dogs: int, cats: int) -> Panel:
        names = ["dog"] * dogs + ["cat"] * cats
        return Panel("s", objects=tuple(SceneObject(str(k), c) for k, c in enumerate(names)))

    empty, fewer, more = ((scene(*n), scene(*n)) for n in ((0, 0), (1, 2), (2, 1)))
    truth = (True, True, False, False)

    def polarities(pairs: list[tuple[Panel, Panel]]) -> set[bool | None]:
        facts, found = Facts(pairs, NOUNS), set()
        for seed in range(40):
            desk = Desk(np.random.default_rng(seed), facts, truth)
            claim = contrast(desk, facts.phrase((("category", "dog"),)), facts.phrase((("category", "cat"),)))
            if claim.said == "fewer dogs than cats":
                assert claim.denied == "at least as many dogs as cats"
                found.add(_polarity(tuple(term("every", term("panels"), r) for r in claim.readings), facts, truth))
        return found

    assert polarities([more, more, fewer, fewer]) == {False}
    assert polarities([fewer, fewer, more, more]) == {True}
    assert polarities([more, empty, fewer, fewer]) == {None}


NUMBER = {"two": 2, "three": 3, "four": 4, "2": 2, "3": 3, "4": 4}
PART = re.compile(
    r"(?:contains|shows|has|includes|features|there are) (?:exactly |only )?(\w+) .*, "
    r"and (?:exactly |only |at least |fewer than )?(\w+)(?: or more)? of them"
)


def test_a_part_of_them_is_less_than_all_of_them() -> None:
    parts = 0
    for draft, *_ in _drafts("of them", 150, 150):
        found = PART.search(draft.said)
        if found and found[1] in NUMBER and found[2] in NUMBER:
            parts += 1
            assert NUMBER[found[2]] < NUMBER[found[1]], draft.said
    assert parts > 0


def test_two_of_the_two_dogs_is_not_said() -> None:
    def dogs(red: int, blue: int) -> tuple[Panel, Panel]:
        colors = ["red"] * red + ["blue"] * blue
        things = (SceneObject(str(k), "dog", (("color", c),)) for k, c in enumerate(colors))
        return Panel("l", objects=tuple(things)), Panel("r")

    def said(pairs: list[tuple[Panel, Panel]]) -> str:
        facts, out = Facts(pairs, NOUNS), []
        for seed in range(200):
            try:
                out.append(partitive(Desk(np.random.default_rng(seed), facts, (True, True, False, False))).said)
            except NoDraft:
                continue
        return " ".join(out)

    assert "two of the dogs" in said([dogs(2, 1), dogs(2, 2), dogs(1, 2), dogs(1, 3)])
    assert not re.search("(?<!least )two of the dogs", said([dogs(2, 0), dogs(2, 2), dogs(1, 2), dogs(1, 3)]))


def test_not_exactly_is_kept_for_want_of_better() -> None:
    rng = np.random.default_rng(0)
    readings = (parse("(count (exactly 3) things)"),)
    clumsy = PairDraft(
        "the left image contains three dogs", "the left image does not contain exactly three dogs", readings
    )
    plain = PairDraft("the left image contains a dog", "the left image contains no dogs", readings)
    assert _rank(clumsy, rng) > _rank(plain, rng)
    assert _rank(replace(plain, denied=None), rng) > _rank(clumsy, rng)
    said = []
    for seed in range(60):
        one = np.random.default_rng(seed)
        found = write(one, four_pairs(one), two_of_four(one), nouns=NOUNS)
        said.append("" if found is None else found.sentence)
    assert not any(re.search(r"\bnot (\w+ )?exactly\b", s) for s in said)
