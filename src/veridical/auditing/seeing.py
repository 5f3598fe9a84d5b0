"""Blind models that look: at pictures without the text, at candidates without the context, and (swapped) at both.

Pictures come as features; a regression over standardised features and a gradient-boosted forest vote, since labels may
hang on a feature's size (a tint) or on a threshold (more than three objects).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from veridical.auditing.harness import most_common
from veridical.auditing.regression import fit_binary
from veridical.auditing.sample import Predict, Sample
from veridical.auditing.texts import COLUMNS, mixed, ngrams, word_codes
from veridical.common.arrays import Doubles, Ints
from veridical.errors import missing_extra

LEAVES, ROUNDS, RATE = 8, 40, 0.1  # of the forest
LOOKED_AT = 96  # features that the forest sees
DENSE_PENALTIES = (0.0003, 0.01, 0.3)
JOINT_PENALTIES = (0.02, 0.2)
BINS = 3  # levels of a feature that are crossed with words
CROSSED = 24  # features that are crossed with words


class Scaler:
    """Features with mean 0 and deviation 1, outliers cut off."""

    def __init__(self, x: Doubles) -> None:
        self.mean, deviation = x.mean(0), x.std(0)
        self.keep = deviation > 1e-9
        self.deviation = np.where(self.keep, deviation, 1.0)

    def __call__(self, x: Doubles) -> Doubles:
        return np.clip((x - self.mean) / self.deviation, -6, 6)[:, self.keep]


def _forest(x: Doubles, y: Ints) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise missing_extra("scikit-learn", "build") from None
    return HistGradientBoostingClassifier(
        max_leaf_nodes=LEAVES, max_iter=ROUNDS, learning_rate=RATE, min_samples_leaf=20, l2_regularization=1.0,
        early_stopping=False, random_state=0, max_bins=32,
    ).fit(x, y)  # fmt: skip


def _promising(x: Doubles, y: Ints) -> Ints:
    """The features that the labels hang on most in training, by their size or by being extreme.

    Most of a forest's time goes to features that it never splits on.
    """
    label = y - y.mean()
    squared = x**2 - (x**2).mean(0)
    tied = np.maximum(np.abs(label @ x), np.abs(label @ squared) / np.maximum(squared.std(0), 1e-9))
    return np.sort(np.argsort(-tied, kind="stable")[:LOOKED_AT])


class _Votes:
    """The log-odds of the regression and of the forest, averaged."""

    def __init__(self, x: Doubles, y: Ints, group: Ints, rng: np.random.Generator) -> None:
        self.scale = Scaler(x)
        scaled = self.scale(x)
        self.line = fit_binary(scaled, y, group, rng, DENSE_PENALTIES)
        self.columns = _promising(scaled, y)
        self.forest = _forest(scaled[:, self.columns], y)

    def decision_function(self, x: Doubles) -> Doubles:
        scaled = self.scale(x)
        trees = self.forest.decision_function(scaled[:, self.columns])
        return trees if self.line is None else (self.line.decision_function(scaled) + trees) / 2


def picture_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """The answer's place from the pictures alone."""
    x = train.context
    if x is None or len(np.unique(train.answer)) < 2:
        return most_common(train)
    if train.width == 2:
        return partial(_two, _Votes(x, train.answer, train.group, rng))
    models = [
        _Votes(x, (train.answer == k).astype(np.int64), train.group, rng)
        if 0 < (train.answer == k).mean() < 1
        else None
        for k in range(train.width)
    ]
    return partial(_places, models)


def _two(model: _Votes, test: Sample) -> Doubles:
    z = model.decision_function(np.asarray(test.context))
    return np.stack([-z, z], 1) / 2


def _places(models: list[_Votes | None], test: Sample) -> Doubles:
    x = np.asarray(test.context)
    return np.stack([m.decision_function(x) if m else np.full(len(test), -1e9) for m in models], 1)


def response_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """Which candidate picture is right, from the candidates and how each stands to the others (and to the context)."""
    if train.responses is None:
        return most_common(train)
    item, place = np.nonzero(train.real() & train.usable)
    y = (place == train.answer[item]).astype(np.int64)
    if len(np.unique(y)) < 2:
        return most_common(train)
    model = _Votes(_response_rows(train, item, place), y, train.group[item], rng)
    return partial(_rank, model)


def _rank(model: _Votes, test: Sample) -> Doubles:
    item, place = np.nonzero(test.real())
    scores = np.full((len(test), test.width), -np.inf)
    scores[item, place] = model.decision_function(_response_rows(test, item, place))
    return scores


def _response_rows(s: Sample, item: Ints, place: Ints) -> Doubles:
    """A candidate's features, its difference to the item's mean candidate, how far it is from the others."""
    responses = np.asarray(s.responses)
    real = s.real()[:, :, None]
    mean = np.where(real, responses, 0).sum(1) / s.choices[:, None]
    own, middle = responses[item, place], mean[item]
    scale = responses.reshape(-1, responses.shape[2]).std(0) + 1e-9
    away = np.abs((own - middle) / scale)
    parts = [own, own - middle, away.mean(1, keepdims=True), away.max(1, keepdims=True)]
    others = np.abs((responses[item] - own[:, None]) / scale).mean(2)  # (R, C) distance to every candidate
    others = np.where(s.real()[item] & (np.arange(s.width) != place[:, None]), others, np.nan)
    parts += [np.nanmin(others, 1)[:, None], np.nanmean(others, 1)[:, None]]
    if s.context is not None:
        context = s.context[item][:, : own.shape[1]]
        parts += [own - context, own * context]
    return np.concatenate(parts, 1)


def joint_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """True or false from the sentence, the pictures, and words crossed with levels of picture features."""
    if train.context is None or train.query is None or len(np.unique(train.answer)) < 2:
        return most_common(train)
    scale = Scaler(train.context)
    spread = np.argsort(-np.abs(scale(train.context)).max(0), kind="stable")
    columns = np.sort(rng.permutation(spread)[:CROSSED])
    cuts = np.quantile(scale(train.context)[:, columns], [1 / 3, 2 / 3], axis=0)
    features = partial(_joint_rows, scale, columns, cuts)
    model = fit_binary(features(train), train.answer, train.group, rng, JOINT_PENALTIES)
    return partial(_joint, model, features)


def _joint(model: Any, features: Any, test: Sample) -> Doubles:
    z = model.decision_function(features(test))
    return np.stack([-z, z], 1) / 2


def _joint_rows(scale: Scaler, columns: Ints, cuts: Doubles, s: Sample) -> Any:
    from scipy import sparse

    dense = scale(np.asarray(s.context))
    level = (dense[:, columns] > cuts[0]).astype(np.uint64) + (dense[:, columns] > cuts[1])  # (N, CROSSED) 0, 1, 2
    fact = (np.arange(len(columns), dtype=np.uint64) * np.uint64(BINS) + level) * np.uint64(2_654_435_761)
    texts = s.query or ()
    code = [np.array(word_codes(text) or (0,), np.uint64) for text in texts]
    owner = np.repeat(np.arange(len(texts)), [len(c) for c in code])
    flat = np.concatenate(code) if code else np.empty(0, np.uint64)
    crossed = mixed((flat[:, None] * np.uint64(1_000_003)) ^ fact[owner])  # (all words, CROSSED)
    grams = [ngrams(text) for text in texts]
    row = np.concatenate([np.repeat(owner, len(columns)), np.repeat(np.arange(len(texts)), [len(g) for g in grams])])
    column = np.concatenate([crossed.ravel(), *grams])
    out = sparse.csr_matrix((np.ones(len(row)), (row, column)), shape=(len(texts), COLUMNS))  # adds up what is twice
    out.data[:] = 1.0
    return sparse.hstack([out, sparse.csr_matrix(dense / 4)], format="csr")
