"""Statements: labels follow from programs, box order never matters, phenomena come as planned, the English is right."""

from __future__ import annotations

import itertools
import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.errors import UserError
from veridical.language.phenomena.tagger import PHENOMENA, SEMANTIC, tag_many
from veridical.language.programs.execution import execute
from veridical.language.programs.terms import parse
from veridical.language.writing.boxes import statements
from veridical.language.writing.boxes.families import FAMILIES
from veridical.language.writing.boxes.statements import PAPER, StatedPresentation, contrast, make_plan, write
from veridical.sources.boxes.scenes import ARRANGEMENTS, sample_presentation


@cache
def written(count: int = 120, seed: int = 1) -> list[StatedPresentation]:
    plan = make_plan()
    return [write(np.random.default_rng([seed, n]), plan, ARRANGEMENTS[n % 2], str(n)) for n in range(count)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(ARRANGEMENTS))
def test_the_program_gives_the_label_whatever_the_reading_and_the_order_of_boxes(seed: int, arrangement: str) -> None:
    one = write(np.random.default_rng(seed), make_plan(), arrangement)  # type: ignore[arg-type]
    for position, scene in enumerate(one.presentation.scenes):
        for order in itertools.permutations(scene):
            for reading in one.statement.readings:
                assert execute(reading, order) == (position < 2)
    assert parse(str(one.statement.program)) is one.statement.program


def test_the_same_seed_writes_the_same() -> None:
    again = [write(np.random.default_rng([1, n]), make_plan(), ARRANGEMENTS[n % 2], str(n)) for n in range(10)]
    assert again == written()[:10]


def test_c_and_d_have_the_objects_of_a_and_b() -> None:
    def objects(scene):  # type: ignore[no-untyped-def]
        return sorted((o.category, o.attributes) for box in scene for o in box.objects)

    for one in written(20):
        a, b, c, d = one.presentation.scenes
        assert objects(a) == objects(c)
        assert objects(b) == objects(d)


def test_new_scenes_are_not_always_the_true_ones() -> None:
    """Scene 0 and 1 are sampled, 2 and 3 reshuffled: either may be true, or the way a scene is made tells its label."""
    firsts = [one.presentation.scenes[0][0].id.partition("/")[0][-1] for one in written()]
    assert 30 < firsts.count("0") < 90
    assert set(firsts) == {"0", "2"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_every_family_writes_english_that_follows_the_rules(family) -> None:  # type: ignore[no-untyped-def]
    """No box order, no image names, number agreement, articles; enough drafts to see every wording."""
    rng = np.random.default_rng(0)
    arrangement = family.arrangements[0]
    texts = []
    for attempt in range(6):
        made = sample_presentation(np.random.default_rng(attempt), arrangement)
        a, _, c, _ = map(statements.domain_of, made.scenes)
        for _ in range(10):
            try:
                texts.append(family.write(statements.Pen(rng, arrangement == "tower", a, c)).text)
            except statements.NoDraft:
                continue
    assert texts, "the family never writes anything"
    for text in texts:
        for wrong in WRONG:
            assert not re.search(wrong, text), text


PROPERTIES = "(?:(?:small|medium|large|black|blue|yellow|grey) )*"
NOUNS = "(?:item|object|block|square|circle|triangle|tower|box)"
WRONG = (
    r"\b(?:image|picture|leftmost|rightmost|(?:first|last|middle|left|right) box)\b",  # what writers must not mention
    rf"\b(?:1|one|a|an|single|each|every) {PROPERTIES}{NOUNS}e?s\b",  # 1 circles
    rf"\b(?:[2-9]|\d\d|two|three|four|five|six|seven|eight) {PROPERTIES}{NOUNS}\b(?!es)",  # 2 circle
    r"\ba [aeio]|\ban [^aeio]",
    r"\bthere are (?:exactly |only |at least |at most )?(?:a|1|one)\b",
    r"\bthere is (?:exactly |only |at least |at most )?(?:[2-9]|two|three|four)\b",
    r"  |None|zero",
)


def test_shares_of_phenomena_come_as_planned() -> None:
    plan = make_plan()
    assert {n: round(plan.shares[n], 6) for n in PAPER} == pytest.approx(PAPER, abs=1e-3)
    said = [one.statement.phenomena for one in written()]
    found = {name: sum(name in each for each in said) / len(said) for name in PAPER}
    for name, share in PAPER.items():
        error = (share * (1 - share) / len(written())) ** 0.5
        assert abs(found[name] - share) < 4 * error, name


def test_shares_can_be_set() -> None:
    plan = make_plan({"negation": 0.6, "spatial relation": 0.1})
    assert plan.shares["negation"] == pytest.approx(0.6, abs=1e-3)
    assert plan.shares["spatial relation"] == pytest.approx(0.1, abs=1e-3)
    only = make_plan({"comparison": 1.0})
    drawn = [only.draw(np.random.default_rng(n), ARRANGEMENTS[n % 2]) for n in range(50)]
    assert all("comparison" in family.phenomena for family in drawn)


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({"sarcasm": 0.5}, "No statements show 'sarcasm'"),
        ({"sbar ambiguity": 0.5}, "No statements show 'sbar ambiguity'"),
        ({"negation": 1.5}, "is 1.5"),
        ({"coreference": 0.9, "existential quantifier": 0.0}, "cannot be had"),
    ],
)
def test_impossible_shares_are_refused(shares: dict[str, float], said: str) -> None:
    with pytest.raises(UserError, match=said):
        make_plan(shares)


def test_a_family_without_a_sentence_ends_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "PRESENTATIONS", 2)
    same = sample_presentation(np.random.default_rng(0), "scatter")
    still = type(same)(same.arrangement, (same.scenes[0],) * 4)
    monkeypatch.setattr(statements, "sample_presentation", lambda *_: still)
    with pytest.raises(statements.NoStatement, match="2 scatter presentations had no statement"):
        write(np.random.default_rng(0), make_plan(), "scatter")


def test_contrast_finds_nothing_between_equal_scenes() -> None:
    scene = sample_presentation(np.random.default_rng(0), "tower").scenes[0]
    assert contrast([scene] * 4, "tower", FAMILIES[0], np.random.default_rng(0)) is None


def test_statements_vary() -> None:
    sentences = {one.statement.sentence for one in written()}
    assert len(sentences) > 0.9 * len(written())
    assert len({one.statement.family for one in written()}) > 50


def test_the_tagger_sees_the_same_phenomena() -> None:
    """Two independent accounts: by construction, and by rules over a parse (which see no place in "a blue top")."""
    pytest.importorskip("spacy")
    tagged = tag_many([one.statement.sentence for one in written()])
    for name in SEMANTIC:
        ours = [name in one.statement.phenomena for one in written()]
        theirs = [name in tags for tags in tagged]
        assert np.mean(np.equal(ours, theirs)) > (0.85 if name == "spatial relation" else 0.95), name
    assert all(set(one.statement.phenomena) <= set(PHENOMENA) for one in written())
