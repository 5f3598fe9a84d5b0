"""The ranking: credit goes to programs that are right on all images, in spite of noise."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.language.reading.grammar import candidates
from veridical.solvers.ranking import Evidence, RankingConfig, features, learn, posterior, scores

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
