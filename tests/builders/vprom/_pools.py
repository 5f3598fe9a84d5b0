"""Pools of random labels, for tests that need no pictures."""

from __future__ import annotations

import numpy as np

from veridical.builders.vprom.elements import CATEGORY, COUNT, HUMAN, OBJECT, Element, count_element, in_order
from veridical.builders.vprom.pool import Lists2D, Pool

GROUPS = {
    OBJECT: {"color": 9, "material": 6, "scene": 5, "shape": 4, "texture": 5, "action": 3},
    HUMAN: {"age": 3, "gender": 2, "hair style": 5, "clothing color": 8, "action": 9},
}


def random_pool(crops: int = 3000, categories: int = 40, seed: int = 0, per_photograph: int = 1) -> Pool:
    """Crops of one object each, half of whose attributes are labelled, with a count."""
    rng = np.random.default_rng(seed)
    named = {
        kind: {group: [Element(kind, group, f"{group} {n}") for n in range(size)] for group, size in groups.items()}
        for kind, groups in GROUPS.items()
    }
    objects = [Element(CATEGORY, CATEGORY, f"object {n:03}") for n in range(categories)]
    elements = in_order(
        {e for groups in named.values() for own in groups.values() for e in own}
        | set(objects)
        | {count_element(n) for n in range(1, 11)}
    )
    number = {e: k for k, e in enumerate(elements)}
    rows = []
    for _ in range(crops):
        kind = HUMAN if rng.random() < 0.4 else OBJECT
        own = {objects[int(rng.integers(categories))], count_element(int(rng.integers(1, 11)))}
        own |= {names[int(rng.integers(len(names)))] for names in named[kind].values() if rng.random() < 0.5}
        rows.append(tuple(sorted(number[e] for e in own)))
    labels = Lists2D.of(rows)
    photograph = (np.arange(crops) // per_photograph).astype(np.int32)
    region = np.full((crops, 4), np.nan)
    if per_photograph > 1:
        region[:] = [[0, 0, 100, 120]]
    return Pool(elements, photograph, region, labels, labels, {}, int(photograph[-1]) + 1)


def labels_of(pool: Pool) -> list[dict[object, set[int]]]:
    """The labels of each crop by property, as the oracle reads them; counts are numbers."""
    names = [("counts" if e.type == COUNT else (e.type, e.group)) for e in pool.elements]
    out = []
    for crop in range(len(pool)):
        own: dict[object, set[int]] = {name: set() for name in names}
        for e in pool.shows[crop].tolist():
            own[names[e]].add(int(pool.elements[e].name) if names[e] == "counts" else e)
        out.append(own)
    return out
