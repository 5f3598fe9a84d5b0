"""Guessers that look: at pictures without the text, at candidates without the context, and (swapped) at both.

A cheap guesser sees features of each panel: a colour histogram, a small grey thumbnail, means and deviations of the
channels and of the edges; and, from annotations, how often each common element (category, attribute, both) occurs, and
where things stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from veridical.auditing.data import AuditItem, Predict, Sample
from veridical.auditing.harness import most_common
from veridical.auditing.models import Scaler, Votes, fit_binary
from veridical.auditing.texts import COLUMNS, by_place, mixed, ngrams, ranked, true_or_false, word_codes
from veridical.benchmark import Benchmark
from veridical.common.arrays import Doubles, Ints
from veridical.common.pictures import stored_picture, within
from veridical.records import Panel

ELEMENTS = 48  # most common elements that are counted
SIDE = 32  # pixels of the picture that statistics are taken from
THUMB = 8
LEVELS = 4  # of each colour channel in the histogram
MOST_PANELS = 4  # of an item, that are described one by one
COVERED = 0.95  # of the panels must have pixels for them to be used


@dataclass(frozen=True)
class Described:
    """Features of panels, and what they were taken from."""

    features: Doubles  # (P, D)
    place: dict[str, int]  # panel id -> row
    source: str  # "pixels", "objects", "pixels and objects", ""

    def context(self, rows: Sequence[AuditItem]) -> Doubles:
        """(N, D) The panels of each item: one by one where they are few and equally many, and pooled."""
        parts = [self._of(r.item.panels) for r in rows]
        pooled = [np.concatenate([p.mean(0), p.max(0), p.min(0)]) for p in parts]
        numbers = {len(p) for p in parts}
        if len(numbers) == 1 and 1 < next(iter(numbers)) <= MOST_PANELS:
            return np.stack([np.concatenate([p.ravel(), q]) for p, q in zip(parts, pooled, strict=True)])
        return np.stack(pooled) if numbers != {1} else np.stack([p[0] for p in parts])

    def responses(self, rows: Sequence[AuditItem]) -> Doubles | None:
        """(N, C, D) The candidates that are panels; None where they are texts."""
        if any(c not in self.place for r in rows for c in r.candidates):
            return None
        width = max(len(r.candidates) for r in rows)
        out = np.zeros((len(rows), width, self.features.shape[1]))
        for i, row in enumerate(rows):
            out[i, : len(row.candidates)] = self._of(row.candidates)
        return out

    def _of(self, ids: Sequence[str]) -> Doubles:
        found = [self.place[p] for p in ids if p in self.place]
        return self.features[found] if found else np.zeros((1, self.features.shape[1]))


def describe(benchmark: Benchmark, rows: Sequence[AuditItem]) -> Described | None:
    """Describe all panels of the items; None where neither pixels nor objects are here."""
    ids = {p: None for r in rows for p in (*r.item.panels, *(c for c in r.item.candidates if isinstance(c, str)))}
    panels = [benchmark.panels[p] for p in ids if p in benchmark.panels]
    if not panels:
        return None
    parts, sources = [], []
    if sum(p.image is not None for p in panels) >= COVERED * len(panels):
        parts.append(pixel_features(benchmark, panels))
        sources.append("pixels")
    if sum(bool(p.objects) for p in panels) >= COVERED / 2 * len(panels):
        parts.append(element_features(panels))
        sources.append("objects")
    if not parts:
        return None
    place = {p.id: k for k, p in enumerate(panels)}
    return Described(np.concatenate(parts, 1), place, " and ".join(sources))


def pixel_features(benchmark: Benchmark, panels: Sequence[Panel]) -> Doubles:
    """(P, D) Statistics of the pixels of each panel; zeros where there are none."""
    out = np.zeros((len(panels), LEVELS**3 + THUMB**2 + 8))
    for k, pixels in enumerate(_pixels(benchmark, panels)):
        if pixels is not None:
            out[k] = _statistics(pixels)
    return out


def _pixels(benchmark: Benchmark, panels: Sequence[Panel]) -> Iterator[Doubles | None]:
    """Each panel as (SIDE, SIDE, 3) in [0, 1]; an image that several panels share is decoded once in a row."""
    from PIL import Image

    last, image = None, None
    for panel in panels:
        if panel.image is None:
            yield None
            continue
        if panel.image != last:
            image = stored_picture(memoryview(benchmark.image(panel.image)), panel.image).convert("RGB")
            last = panel.image
        if image is None:
            yield None
            continue
        small = image.resize((SIDE, SIDE), Image.Resampling.BOX, box=panel.region and within(image.size, panel.region))
        yield np.asarray(small, np.float64) / 255


def _statistics(pixels: Doubles) -> Doubles:
    level = np.minimum((pixels * LEVELS).astype(np.int64), LEVELS - 1)
    code = (level * np.array([LEVELS**2, LEVELS, 1])).sum(2)
    histogram = np.bincount(code.ravel(), minlength=LEVELS**3) / code.size
    grey = pixels.mean(2)
    thumb = grey.reshape(THUMB, SIDE // THUMB, THUMB, SIDE // THUMB).mean((1, 3))
    edges = (np.abs(np.diff(grey, axis=0)).mean(), np.abs(np.diff(grey, axis=1)).mean())
    return np.concatenate([histogram, thumb.ravel(), pixels.mean((0, 1)), pixels.std((0, 1)), edges])


def elements(panel: Panel) -> Counter[str]:
    """The elements of a panel: categories, attribute values, and both together, with how often each occurs.

    >>> from veridical.records import SceneObject
    >>> sorted(elements(Panel("p", objects=(SceneObject("0", "square", (("color", "black"),)),))))
    ['black', 'black square', 'square']
    """
    found: Counter[str] = Counter()
    for o in panel.objects:
        values = [value for _, value in o.attributes]
        found.update([o.category, *values, *(f"{value} {o.category}" for value in values)])
    return found


def element_features(panels: Sequence[Panel]) -> Doubles:
    """(P, D) Counts of the common elements, the number of objects, and the mean, deviation and ends of their places."""
    counted = [elements(p) for p in panels]
    common = Counter(name for c in counted for name in c)
    names = {name: k for k, (name, _) in enumerate(sorted(common.items(), key=lambda x: (-x[1], x[0]))[:ELEMENTS])}
    out = np.zeros((len(panels), len(names) + 11))
    for k, (panel, counts) in enumerate(zip(panels, counted, strict=True)):
        for name, number in counts.items():
            if name in names:
                out[k, names[name]] = number
        out[k, len(names)] = len(panel.objects)
        out[k, len(names) + 1 :] = _places(panel)
    return out


def _places(panel: Panel) -> Doubles:
    boxes = np.array([o.box for o in panel.objects if o.box is not None])
    if not len(boxes):
        return np.zeros(10)
    scale = np.array([panel.width or boxes[:, 2].max() or 1, panel.height or boxes[:, 3].max() or 1])
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2 / scale
    area = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]) / scale.prod())[:, None]
    three = np.concatenate([middle, area], 1)
    at_wall = ((boxes[:, :2] <= 0).any(1) | (boxes[:, 2:] >= scale).any(1)).sum()
    return np.concatenate([three.mean(0), three.min(0), three.max(0), [at_wall]])


def scene_signature(panels: Sequence[Panel]) -> str | None:
    """A text that two items share only if all their objects are the same, whatever the order; None without places."""
    if not panels or not all(p.objects and all(o.box for o in p.objects) for p in panels):
        return None
    return "|".join(
        sorted(";".join(sorted(repr((o.category, o.attributes, o.box)) for o in p.objects)) for p in panels)
    )


# --- guessers --------------------------------------------------------------------------------------------------------

JOINT_PENALTIES = (0.02, 0.2)
LEVELS_CROSSED = 3  # levels of a feature that are crossed with words
CROSSED = 24  # features that are crossed with words


def picture_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """The answer's place from the pictures alone."""
    x = train.context
    if x is None or len(np.unique(train.answer)) < 2:
        return most_common(train)
    if train.width == 2:
        return partial(true_or_false, Votes(x, train.answer, train.group, rng), attrgetter("context"))
    models = [
        Votes(x, (train.answer == k).astype(np.int64), train.group, rng) if 0 < (train.answer == k).mean() < 1 else None
        for k in range(train.width)
    ]
    return partial(by_place, models, attrgetter("context"))


def response_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """Which candidate picture is right, from the candidates and how each stands to the others (and to the context)."""
    if train.responses is None:
        return most_common(train)
    item, place = np.nonzero(train.real() & train.usable)
    y = (place == train.answer[item]).astype(np.int64)
    if len(np.unique(y)) < 2:
        return most_common(train)
    model = Votes(_response_rows(train, item, place), y, train.group[item], rng)
    return partial(ranked, lambda *rows: model.decision_function(_response_rows(*rows)))


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
    return partial(true_or_false, model, features)


def _joint_rows(scale: Scaler, columns: Ints, cuts: Doubles, s: Sample) -> Any:
    from scipy import sparse

    dense = scale(np.asarray(s.context))
    level = (dense[:, columns] > cuts[0]).astype(np.uint64) + (dense[:, columns] > cuts[1])  # (N, CROSSED) 0, 1, 2
    fact = (np.arange(len(columns), dtype=np.uint64) * np.uint64(LEVELS_CROSSED) + level) * np.uint64(2_654_435_761)
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
