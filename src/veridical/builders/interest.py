"""A classifier of interesting photographs, trained on labels that people give; its F1 is measured on held-out folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.errors import UserError, missing_extra

FOLDS = 5


@dataclass(frozen=True)
class LabelledPhotograph:
    """Whether somebody found a photograph interesting."""

    photograph: str
    interesting: bool


def learn_interest(
    labels: Mapping[str, bool], ids: Sequence[str], table: npt.NDArray[Any], seed: int
) -> tuple[dict[str, bool], dict[str, float]]:
    """Whether each photograph is interesting, and how well that is known: (id -> said, facts).

    Row k of the table (N, D) describes photograph `ids[k]`; those with a label keep it.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import f1_score
        from sklearn.model_selection import StratifiedKFold, cross_val_predict
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise missing_extra("scikit-learn", "build") from None
    place = {name: k for k, name in enumerate(ids)}
    known = [name for name in labels if name in place]
    y = np.array([labels[name] for name in known], bool)
    if min(int(y.sum()), int((~y).sum())) < FOLDS:
        raise UserError(
            f"The labels hold {int(y.sum())} interesting and {int((~y).sum())} other photographs of this source.",
            f"A classifier needs {FOLDS} or more of each.",
        )
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000, class_weight="balanced"))
    rows = table[[place[name] for name in known]]
    guessed = cross_val_predict(model, rows, y, cv=StratifiedKFold(FOLDS, shuffle=True, random_state=seed % (1 << 32)))
    model.fit(rows, y)
    said = dict(zip(ids, model.predict(table).tolist(), strict=True))
    said.update({name: bool(value) for name, value in zip(known, y, strict=True)})
    facts = {"labels": len(known), "f1": round(float(f1_score(y, guessed)), 4), "folds": FOLDS}
    facts["f1_always_interesting"] = round(float(f1_score(y, np.ones_like(y))), 4)
    return said, facts
