"""What a set of NLVR scenes looks like in numbers, to compare sampled scenes with published ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from veridical.records import Panel
from veridical.sources.boxes.sample import BOX_MOST
from veridical.sources.boxes.scene import COLORS, SHAPES, SIDE, SIZE_NAMES, SIZES, Placed, placed

NEAR = 5  # pixels between neighbours that count as near


def statistics(scenes: Iterable[Sequence[Panel]]) -> dict[str, float]:
    """Shares and means by name: objects a box, properties, positions, walls touched, gaps, even splits.

    Shares are of boxes, objects or scenes, as each name says.
    """
    known = [[placed(panel) for panel in scene] for scene in scenes]
    boxes = [box for scene in known for box in scene]
    objects = [one for box in boxes for one in box]
    counts = Counter(len(box) for box in boxes)
    even = sum(_is_even([len(box) for box in scene]) for scene in known)
    out = {"boxes": float(len(boxes)), "objects per box": len(objects) / len(boxes)}
    out |= {f"boxes with {count}": counts[count] / len(boxes) for count in range(1, BOX_MOST + 1)}
    out |= {"scenes split evenly": even / len(known)}
    out |= _properties(objects)
    out |= _positions(objects)
    out |= _gaps(boxes)
    return out


def _is_even(counts: list[int]) -> bool:
    third = sum(counts) // 3
    return counts[:2] == [third, third]


def _properties(objects: list[Placed]) -> dict[str, float]:
    shapes, colors, sizes = (Counter(one.thing[index] for one in objects) for index in range(3))
    out = {f"objects {shape}": shapes[shape] / len(objects) for shape in SHAPES}
    out |= {f"objects {color}": colors[color] / len(objects) for color in COLORS}
    return out | {f"objects {name}": sizes[size] / len(objects) for name, size in SIZES.items()}


def _positions(objects: list[Placed]) -> dict[str, float]:
    place = np.array([(one.x, one.y, one.thing.size) for one in objects])
    x, y, size = place.T
    walls = {"left": x == 0, "right": x + size == SIDE, "top": y == 0, "bottom": y + size == SIDE}
    out = {f"objects touching {wall}": float(np.mean(touching)) for wall, touching in walls.items()}
    out["objects touching no wall"] = float(np.mean(~np.any(list(walls.values()), axis=0)))
    for pixels in np.unique(size).tolist():
        name = SIZE_NAMES[pixels]
        for axis, values in (("x", x), ("y", y)):
            out[f"mean {axis} of {name}"] = float(values[size == pixels].mean())
            out[f"spread of {axis} of {name}"] = float(values[size == pixels].std())
    return out


def _gaps(boxes: list[list[Placed]]) -> dict[str, float]:
    """How far each object is from its nearest neighbour: the larger of the gaps in x and in y."""
    nearest: list[int] = []
    for box in boxes:
        if len(box) < 2:
            continue
        place = np.array([(one.x, one.y, one.thing.size) for one in box])
        low, size = place[:, :2], place[:, 2]
        apart = np.maximum(low[:, None] - (low + size[:, None])[None], low[None] - (low + size[:, None])[:, None])
        distance = apart.max(axis=2)
        np.fill_diagonal(distance, SIDE)
        nearest.extend(distance.min(axis=1).tolist())
    gaps = np.array(nearest)
    return {
        "smallest gap": float(gaps.min()),
        "objects with a neighbour 1 away": float(np.mean(gaps == 1)),
        f"objects with a neighbour {NEAR} away or less": float(np.mean(gaps <= NEAR)),
        "mean gap to the nearest": float(gaps.mean()),
    }
