"""Sampled scenes beside the published training scenes of NLVR: how many, what, where.

    python benchmarks/nlvr_scenes.py [--presentations 3000] [--seed 0]

Scatter and tower scenes apart, and new scenes (A and B) apart from reshuffled ones (C and D). `z` is the difference in
standard errors, for shares (whose sampling error is known); |z| under 3 is agreement.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from veridical.records import Panel
from veridical.sources.boxes.scenes import (
    BOX_MOST,
    SHAPES,
    SIDE,
    SIZES,
    Figure,
    Placed,
    Scene,
    panel,
    placed,
    presentations,
)
from veridical.sources.boxes.scenes import COLORS as COLOR_VALUES

SIZE_NAMES = {pixels: name for name, pixels in SIZES.items()}
NEAR = 5  # pixels between neighbours that count as near
TRAIN = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr" / "train.json"
COLORS = {"Black": "black", "Yellow": "yellow", "#0099ff": "blue"}
GROUPS = [(arrangement, new) for arrangement in ("scatter", "tower") for new in (True, False)]
Groups = dict[tuple[str, bool], list[Scene]]


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
    shapes, colors, sizes = (Counter(one.figure[index] for one in objects) for index in range(3))
    out = {f"objects {shape}": shapes[shape] / len(objects) for shape in SHAPES}
    out |= {f"objects {color}": colors[color] / len(objects) for color in COLOR_VALUES}
    return out | {f"objects {name}": sizes[size] / len(objects) for name, size in SIZES.items()}


def _positions(objects: list[Placed]) -> dict[str, float]:
    place = np.array([(one.x, one.y, one.figure.size) for one in objects])
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
        place = np.array([(one.x, one.y, one.figure.size) for one in box])
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


def published(path: Path) -> Groups:
    """The training scenes by arrangement, and by whether they are new: images 0 and 1 of a presentation."""
    out: Groups = {group: [] for group in GROUPS}
    for line in path.read_text().splitlines():
        example = json.loads(line)
        scene = tuple(
            panel(
                [Placed(o["y_loc"], o["x_loc"], Figure(o["type"], COLORS[o["color"]], o["size"])) for o in box], index
            )
            for index, box in enumerate(example["structured_rep"])
        )
        out[
            "tower" if all(map(_is_tower, example["structured_rep"])) else "scatter",
            example["identifier"].endswith(("-0", "-1")),
        ].append(scene)
    return out


def _is_tower(box: list[dict[str, Any]]) -> bool:
    """Whether a box's objects stand on each other: squares in one column, from the ground on."""
    ys = sorted((o["y_loc"] for o in box), reverse=True)
    column = len({o["x_loc"] for o in box}) == 1 and all(o["type"] == "square" and o["size"] == 20 for o in box)
    return column and ys[0] == 80 and all(a - b == 21 for a, b in itertools.pairwise(ys))


def sampled(count: int, seed: int) -> Groups:
    out: Groups = {group: [] for group in GROUPS}
    for presentation in presentations(count, seed):
        for index, scene in enumerate(presentation.scenes):
            out[presentation.arrangement, index < 2].append(scene)
    return out


def deviation(name: str, real: dict[str, float], ours: dict[str, float]) -> float | None:
    """Standard errors between two shares; None for means."""
    per = {"boxes": 1.0, "scenes": 1 / 3, "objects": real["objects per box"]}.get(name.split()[0])
    if per is None or name in ("boxes", "objects per box"):
        return None
    p, q, n, m = real[name], ours[name], real["boxes"] * per, ours["boxes"] * per
    pooled = (p * n + q * m) / (n + m)
    return (q - p) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)) if 0 < pooled < 1 else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--presentations", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if not TRAIN.is_file():
        raise SystemExit(f"The published scenes are not here: {TRAIN}")
    real, ours = published(TRAIN), sampled(options.presentations, options.seed)
    console = Console(width=100)
    for arrangement, new in GROUPS:
        one, other = statistics(real[arrangement, new]), statistics(ours[arrangement, new])
        table = Table("", "published", "sampled", "z", title=f"{arrangement} scenes, {'new' if new else 'reshuffled'}")
        for name in sorted(set(one) | set(other), key=list(other).index):
            z = deviation(name, one, other)
            table.add_row(name, f"{one[name]:.3f}", f"{other[name]:.3f}", "" if z is None else f"{z:+.1f}")
        console.print(table)


if __name__ == "__main__":
    main()
