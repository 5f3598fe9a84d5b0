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
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from veridical.sources.boxes import Placed, Scene, Thing, panel, presentations
from veridical.sources.boxes.statistics import statistics

TRAIN = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr" / "train.json"
COLORS = {"Black": "black", "Yellow": "yellow", "#0099ff": "blue"}
GROUPS = [(kind, new) for kind in ("scatter", "tower") for new in (True, False)]
Groups = dict[tuple[str, bool], list[Scene]]


def published(path: Path) -> Groups:
    """The training scenes by kind, and by whether they are new: images 0 and 1 of a presentation."""
    out: Groups = {group: [] for group in GROUPS}
    for line in path.read_text().splitlines():
        example = json.loads(line)
        scene = tuple(
            panel([Placed(o["y_loc"], o["x_loc"], Thing(o["type"], COLORS[o["color"]], o["size"])) for o in box], index)
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
            out[presentation.kind, index < 2].append(scene)
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
    for kind, new in GROUPS:
        one, other = statistics(real[kind, new]), statistics(ours[kind, new])
        table = Table("", "published", "sampled", "z", title=f"{kind} scenes, {'new' if new else 'reshuffled'}")
        for name in sorted(set(one) | set(other), key=list(other).index):
            z = deviation(name, one, other)
            table.add_row(name, f"{one[name]:.3f}", f"{other[name]:.3f}", "" if z is None else f"{z:+.1f}")
        console.print(table)


if __name__ == "__main__":
    main()
