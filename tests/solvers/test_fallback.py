"""The fallback: words crossed with counts of what they mention."""

from __future__ import annotations

from veridical.language.programs.domain import Domain, domain_of
from veridical.records import Panel, SceneObject
from veridical.solvers.fallback import Fallback, FallbackConfig, scene_facts


def scene(*colors: str) -> Domain:
    def item(k: int, c: str) -> SceneObject:
        return SceneObject(str(k), "circle", (("color", c),), (10.0 * k, 0, 10.0 * k + 10, 10))

    objects = tuple(item(k, c) for k, c in enumerate(colors))
    return domain_of((Panel("a", width=100, height=100, objects=objects), Panel("b", width=100, height=100)))


def test_counts_are_of_what_the_sentence_mentions() -> None:
    facts = scene_facts(("2", "blue"), scene("blue", "blue", "black"))
    assert {"all=", "all:2", "most=", "least<", "boxes<", "fullest>", "wall="} <= set(facts)
    assert scene_facts(("2", "black"), scene("black", "black", "blue")) == facts


def test_it_learns_a_word_it_was_never_told_about() -> None:
    told = [("gleep 1 blue", scene(*["blue"] * n, "black"), n == 1) for n in (0, 1, 2, 3)] * 5
    model = Fallback()
    model.fit([t[0] for t in told], [t[1] for t in told], [t[2] for t in told], FallbackConfig(steps=100))
    assert [model.probability("gleep 1 black", scene(*["black"] * n, "blue")) > 0.5 for n in range(4)] == [
        False,
        True,
        False,
        False,
    ]


def test_an_untrained_fallback_is_undecided() -> None:
    assert Fallback().probability("anything", scene("blue")) == 0.5
    Fallback().fit([], [], [], FallbackConfig())
