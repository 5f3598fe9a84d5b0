"""What guessers learn with: a logistic regression for dense and sparse features, a forest, and networks of the zoo.

An audit fits thousands of small regressions, so what counts is the time of one: a fit starts from the weights of the
stronger penalty, and no more penalties are tried when held-out groups do no better. The penalty is chosen in every fit,
so it is part of every control's budget too. Over features of pictures a forest votes too, since labels may hang on a
feature's size (a tint) or on a threshold (more than three objects).

The zoo's blind models (the LSTM over sentences, the CNN over pictures, the readers of candidates) see what the audit's
samples hold and nothing else: an example is made anew from each sample, with the texts as planted; a plant in a picture
is a square in its corner, drawn where the picture is read. Training is the one trainer's, with early stopping on groups
held out of the training folds.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.auditing.data import AuditData, AuditItem, Fit, Predict, Sample
from veridical.auditing.harness import most_common
from veridical.common.arrays import Bools, Doubles, Ints
from veridical.common.pictures import stored_picture
from veridical.errors import in_the_way, missing_extra
from veridical.records import Text

if TYPE_CHECKING:
    from veridical.zoo.architecture import Example

PENALTIES = (0.02, 0.2, 2.0)  # C of the logistic regression, the strongest pull to zero first
LEAST_SEEN = 2  # training rows that must show a feature
HELD_OUT = 0.25  # of the training groups, to choose the penalty
STEPS = 60  # of the solver, at most
TOLERANCE = 1e-3  # of the gradient of the mean loss


class Line:
    """A fitted logistic regression over all columns: those that training hardly showed have weight 0."""

    def __init__(
        self, x: Any, y: Ints, penalty: float, weight: Doubles | None = None, start: Line | None = None
    ) -> None:
        try:
            from sklearn.exceptions import ConvergenceWarning
            from sklearn.linear_model import LogisticRegression
        except ImportError as error:
            raise in_the_way(error) or missing_extra("scikit-learn", "build") from None
        kept: Ints | slice = slice(None)
        if not isinstance(x, np.ndarray):  # leaving rare columns out makes this many times faster
            kept = np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]) >= LEAST_SEEN)
        model = LogisticRegression(C=penalty, max_iter=STEPS, tol=TOLERANCE, warm_start=True)
        if start is not None:
            model.coef_, model.intercept_ = start.weights[None, kept], np.array([start.intercept])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # so many steps are enough
            model.fit(x[:, kept], y, weight)
        self.weights: Doubles = np.zeros(x.shape[1])
        self.weights[kept] = model.coef_[0]
        self.intercept: float = float(model.intercept_[0])

    def decision_function(self, x: Any) -> Doubles:
        """The log-odds of the second class."""
        return np.asarray(x @ self.weights + self.intercept, np.float64)


def fit_binary(
    x: Any,
    y: Ints,
    group: Ints,
    rng: np.random.Generator,
    penalties: Sequence[float] = PENALTIES,
    same: Ints | None = None,
) -> Line | None:
    """A logistic regression whose penalty is chosen on held-out groups; None where there is only one class.

    `same` numbers rows whose features are equal: they are joined into two weighted rows, one for each class.
    """
    if len(np.unique(y)) < 2:
        return None
    names = np.unique(group)
    held = np.isin(group, rng.permutation(names)[: max(1, int(HELD_OUT * len(names)))])
    best, start = penalties[0], None
    if len(penalties) > 1 and len(np.unique(y[~held])) == 2 and held.any():
        inner = _joined(x[~held], y[~held], None if same is None else same[~held])
        least = np.inf
        warm: Line | None = None
        for penalty in penalties:
            warm = Line(*inner[:2], penalty, inner[2], warm)
            z = warm.decision_function(x[held])
            found = float(np.logaddexp(0, np.where(y[held] == 1, -z, z)).mean())
            if found >= least:
                break
            least, best, start = found, penalty, warm
    rows, labels, weight = _joined(x, y, same)
    return Line(rows, labels, best, weight, start)


def _joined(x: Any, y: Ints, same: Ints | None) -> tuple[Any, Ints, Doubles | None]:
    if same is None:
        return x, y, None
    _, first, counts = np.unique(same * 2 + y, return_index=True, return_counts=True)
    return x[first], y[first], counts.astype(np.float64)


# --- the forest over pictures ----------------------------------------------------------------------------------------

LEAVES, ROUNDS, RATE = 8, 40, 0.1  # of the forest
LOOKED_AT = 96  # features that the forest sees
DENSE_PENALTIES = (0.0003, 0.01, 0.3)


class Scaler:
    """Features with mean 0 and deviation 1, outliers cut off."""

    def __init__(self, x: Doubles) -> None:
        self.mean, deviation = x.mean(0), x.std(0)
        self.keep = deviation > 1e-9
        self.deviation = np.where(self.keep, deviation, 1.0)
        if not self.keep.any():  # pictures that are all alike: one column of zeros says so
            self.keep[:1] = True

    def __call__(self, x: Doubles) -> Doubles:
        return np.asarray(np.clip((x - self.mean) / self.deviation, -6, 6)[:, self.keep])


def _forest(x: Doubles, y: Ints) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError as error:
        raise in_the_way(error) or missing_extra("scikit-learn", "build") from None
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


class Votes:
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
        return np.asarray(trees if self.line is None else (self.line.decision_function(scaled) + trees) / 2)


# --- networks of the zoo ---------------------------------------------------------------------------------------------

TRAINING = {"epochs": 30, "patience": 4.0, "batch": 32, "rate": 3e-3}
HELD_OUT_NEURAL = 0.15  # of the training groups, to stop early
SQUARE = 4  # of the picture's shorter side a stamp takes this part
_COLOURS = ("#d400ff", "#00ffd4", "#ff6a00", "#0062ff")


def neural_reader(model: str, data: AuditData, rows: Sequence[AuditItem]) -> Fit:
    """A model of the zoo as a guesser about these items."""
    try:
        from veridical.training.batches import examples_of
    except ImportError:
        raise missing_extra("torch", "models") from None
    found = {e.item.id: e for e in examples_of(data.benchmark, [r.item for r in rows])}
    return partial(_fit, model, found)


def stored_pictures(data: AuditData, rows: Sequence[AuditItem]) -> Doubles | None:
    """(N, 1) A mark for each item's picture, nothing planted yet; None where some pictures are not stored."""
    panels = data.benchmark.panels
    for row in rows:
        shown = [v.image for v in row.item.views] or [panels[p].image for p in row.item.panels if p in panels]
        if not shown or not all(shown):
            return None
    return np.zeros((len(rows), 1))


def stamped(s: Sample, marked: Bools, rng: np.random.Generator) -> Sample:
    """A square in the corner of the picture, of another colour for each answer."""
    if s.context is None:
        return s
    context = s.context.copy()
    context[marked, 0] = s.answer[marked] + 1
    return replace(s, context=context)


def _fit(model: str, examples: dict[str, Example], train: Sample, rng: np.random.Generator) -> Predict:
    from veridical.training.config import configure
    from veridical.training.run import fit_trial
    from veridical.training.trained import load_trained
    from veridical.zoo import load_model

    names = rng.permutation(np.unique(train.group))
    held = np.isin(train.group, names[: max(1, int(HELD_OUT_NEURAL * len(names)))])
    if held.all() or len(np.unique(train.answer)) < 2:
        return most_common(train)
    architecture = load_model(model)
    config, training = configure(architecture, TRAINING)
    seen = _examples(train, examples)
    learning = [e for e, out in zip(seen, held, strict=True) if not out]
    checking = [e for e, out in zip(seen, held, strict=True) if out]
    about = {"seed": int(rng.integers(1 << 31))}
    with tempfile.TemporaryDirectory(prefix="veridical-audit-") as folder, _quiet():
        fit_trial(architecture, config, training, learning, checking, Path(folder), about=about)
        return partial(_predict, load_trained(Path(folder)), examples)


def _predict(trained: Any, examples: dict[str, Example], test: Sample) -> Doubles:
    out = np.full((len(test), test.width), -np.inf)
    with _quiet():
        scores = trained.scores(trained.encode(_examples(test, examples)))
    for i, row in enumerate(scores):
        out[i, : len(row)] = row
    return out


def _examples(s: Sample, found: dict[str, Example]) -> list[Example]:
    """Examples with what a sample shows."""
    out = []
    for i, name in enumerate(s.ids):
        base = found[name]
        item = replace(
            base.item,
            query=None if s.query is None else Text(s.query[i]),
            candidates=base.item.candidates if s.candidates is None else tuple(map(Text, s.candidates[i])),
            answer=int(s.answer[i]) if s.answer[i] >= 0 else None,
            program=None,
        )
        mark = 0 if s.context is None else int(s.context[i, 0])
        image = base.image if not mark else partial(_stamp, base.image, mark - 1)
        seen = s.context is not None
        panels, views = (base.panels, item.views) if seen else ((), ())
        out.append(replace(base, item=replace(item, views=views), panels=panels, image=image, assumed=None))
    return out


def _stamp(image: Callable[[str], bytes], answer: int, address: str) -> bytes:
    """The bytes of a picture with a square in its corner."""
    from PIL import ImageDraw

    picture = stored_picture(image(address), address).convert("RGB")
    side = max(1, min(picture.size) // SQUARE)
    ImageDraw.Draw(picture).rectangle((0, 0, side, side), fill=_COLOURS[answer % len(_COLOURS)])
    out = BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars of trainings within a check; and one thread: sums over several differ in their last bits."""
    import torch

    before, threads = os.environ.get("VERIDICAL_PROGRESS"), torch.get_num_threads()
    os.environ["VERIDICAL_PROGRESS"] = "0"
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        del os.environ["VERIDICAL_PROGRESS"]
        if before is not None:
            os.environ["VERIDICAL_PROGRESS"] = before
