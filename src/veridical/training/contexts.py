"""Controls for matrices: contexts that cannot help, and contexts whose order was lost.

A model whose items have the context panels of other items must fall to chance, or the candidates give the answer away
(V-PROM section 5 trains its lower bound so). Panels shuffled within a matrix show how much a model uses their places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from veridical.errors import UserError
from veridical.records import Item
from veridical.training.config import Context


def with_context(items: Iterable[Item], context: Context, rng: np.random.Generator) -> list[Item]:
    """Items with their own context, that of another item each, or their own in a random order."""
    found = list(items)
    if context == "own" or not found:
        return found
    if found[0].task != "matrix":
        raise UserError(
            f"Items of the task {found[0].task} have no context panels to exchange.", "Use the context 'own'."
        )
    if context == "shuffled":
        return [replace(i, panels=tuple(i.panels[n] for n in rng.permutation(len(i.panels)))) for i in found]
    if len(found) < 2:
        raise UserError("A single item has no other item to take its context from.", "Give more items.")
    order = rng.permutation(len(found))  # each takes that of the one before it on a random circle: never its own
    panels = {int(here): found[there].panels for here, there in zip(order, np.roll(order, 1), strict=True)}
    return [replace(item, panels=panels[n]) for n, item in enumerate(found)]
