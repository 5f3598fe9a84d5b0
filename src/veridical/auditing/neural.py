"""The zoo's blind models as guessers: the LSTM over sentences, the CNN over pictures, the readers of candidates.

They see what the audit's samples hold and nothing else: an example is made anew from each sample, with the texts as
planted; a plant in a picture is a square in its corner, drawn where the picture is read. Training is the one trainer's,
with early stopping on groups held out of the training folds.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.auditing.data import AuditData, Row
from veridical.auditing.harness import most_common
from veridical.auditing.sample import Fit, Predict, Sample
from veridical.common.arrays import Bools, Doubles
from veridical.errors import missing_extra
from veridical.records import Text

if TYPE_CHECKING:
    from veridical.zoo.architecture import Example

TRAINING = {"epochs": 30, "patience": 4.0, "batch": 32, "rate": 3e-3}
HELD_OUT = 0.15  # of the training groups, to stop early
SQUARE = 4  # of the picture's shorter side a stamp takes this part
_COLOURS = ("#d400ff", "#00ffd4", "#ff6a00", "#0062ff")


def neural_reader(model: str, data: AuditData, rows: Sequence[Row]) -> Fit:
    """A model of the zoo as a guesser about these items."""
    try:
        from veridical.training.batches import examples_of
    except ImportError:
        raise missing_extra("torch", "models") from None
    found = {e.item.id: e for e in examples_of(data.benchmark, [r.item for r in rows])}
    return partial(_fit, model, found)


def stored_pictures(data: AuditData, rows: Sequence[Row]) -> Doubles | None:
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
    held = np.isin(train.group, names[: max(1, int(HELD_OUT * len(names)))])
    if held.all() or len(np.unique(train.answer)) < 2:
        return most_common(train)
    architecture = load_model(model)
    config, training = configure(architecture, TRAINING)
    seen = _examples(train, examples)
    learning = [e for e, out in zip(seen, held, strict=True) if not out]
    checking = [e for e, out in zip(seen, held, strict=True) if out]
    about = {"seed": int(rng.integers(1 << 31))}
    with tempfile.TemporaryDirectory(prefix="veridical-audit-") as folder, _quiet(), _one_torch_thread():
        fit_trial(architecture, config, training, learning, checking, Path(folder), about=about)
        return partial(_predict, load_trained(Path(folder)), examples)


def _predict(trained: Any, examples: dict[str, Example], test: Sample) -> Doubles:
    out = np.full((len(test), test.width), -np.inf)
    with _quiet(), _one_torch_thread():
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
    from PIL import Image, ImageDraw

    with Image.open(BytesIO(image(address))) as opened:
        picture = opened.convert("RGB")
    side = max(1, min(picture.size) // SQUARE)
    ImageDraw.Draw(picture).rectangle((0, 0, side, side), fill=_COLOURS[answer % len(_COLOURS)])
    out = BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars of trainings within a check."""
    before = os.environ.get("VERIDICAL_PROGRESS")
    os.environ["VERIDICAL_PROGRESS"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["VERIDICAL_PROGRESS"]
        else:
            os.environ["VERIDICAL_PROGRESS"] = before


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """Checks run side by side in processes; and sums over threads differ in their last bits."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
