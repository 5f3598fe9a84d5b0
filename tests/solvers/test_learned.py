"""What the program solver learns.

The ranking: credit goes to programs that are right on all images, in spite of noise. The fallback: words crossed with
counts of what they mention.
"""

from __future__ import annotations

import numpy as np
import pytest

from veridical.language.programs.domain import Domain, domain_of
from veridical.language.reading.grammar import candidates
from veridical.records import Panel, SceneObject
from veridical.solvers.learned import (
    Evidence,
    Fallback,
    FallbackConfig,
    RankingConfig,
    features,
    learn,
    posterior,
    scene_facts,
    scores,
)

GOOD, BAD = ("good",), ("bad",)


def share(weights: dict[str, float]) -> float:
    return float(posterior(scores(weights, [GOOD, BAD]))[0])


def test_nothing_learned_is_no_preference() -> None:
    assert learn([], RankingConfig()) == {}
    assert share({}) == pytest.approx(0.5)


def test_the_program_that_is_always_right_wins() -> None:
    assert share(learn([Evidence([GOOD, BAD], [4, 2], 4)] * 20, RankingConfig())) > 0.9


def test_a_few_wrong_labels_do_not_turn_the_ranking() -> None:
    told = [Evidence([GOOD, BAD], [4, 2], 4)] * 16 + [Evidence([GOOD, BAD], [3, 4], 4)] * 4
    assert share(learn(told, RankingConfig())) > 0.7


def test_programs_that_agree_share_the_credit() -> None:
    assert share(learn([Evidence([GOOD, BAD], [4, 4], 4)] * 20, RankingConfig())) == pytest.approx(0.5)


def test_a_stronger_pull_gives_smaller_weights() -> None:
    told = [Evidence([GOOD, BAD], [4, 2], 4)] * 20
    weak, strong = learn(told, RankingConfig(l2=0.1)), learn(told, RankingConfig(l2=10.0))
    assert 0 < strong["good"] < weak["good"]


def test_the_gradient_is_that_of_the_likelihood() -> None:
    config = RankingConfig(steps=400)
    told = [Evidence([GOOD, BAD], [4, 2], 4)] * 5 + [Evidence([GOOD, BAD], [1, 3], 4)] * 2
    weights = learn(told, config)

    def objective(good: float, bad: float) -> float:
        total = 0.0
        for one in told:
            p = posterior(np.array([good, bad]))
            fit = [(1 - config.noise) ** r * config.noise ** (one.images - r) for r in one.right]
            total += float(np.log(p @ np.array(fit)))
        return total - config.l2 / 2 * (good**2 + bad**2)

    best = objective(weights["good"], weights["bad"])
    for step in (-0.05, 0.05):
        assert objective(weights["good"] + step, weights["bad"]) < best
        assert objective(weights["good"], weights["bad"] + step) < best


def test_features_share_evidence_over_colours_but_know_the_sentence() -> None:
    blue, black = (candidates(f"there are 2 {c} blocks")[0] for c in ("blue", "black"))
    assert features(blue, "t") == features(black, "t")
    assert any(f.endswith("|t") for f in features(blue, "t"))


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
