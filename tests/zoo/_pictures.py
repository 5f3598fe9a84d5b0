"""Small benchmarks of coloured pictures for the probe: each can be solved by looking, and not without."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from veridical import encoders as features
from veridical.benchmark import BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, Text

COLORS = ("red", "green", "blue", "yellow", "white", "black", "purple", "orange", "cyan", "gray")
SPLITS = {"train": 500, "dev": 120}
POOL = 20  # pictures of each colour in a split; no picture is in two

Pool = dict[str, list[str]]  # colour -> panel ids


def picture(color: str, rng: np.random.Generator) -> bytes:
    """A patch of a colour on noise."""
    pixels = Image.fromarray(rng.integers(90, 160, (24, 24, 3), np.uint8))
    left, top = rng.integers(0, 7, 2).tolist()
    pixels.paste(Image.new("RGB", (17, 17), color), (left, top))
    out = BytesIO()
    pixels.save(out, "PNG")
    return out.getvalue()


def write(out: Path, task: str, sizes: dict[str, int] | None = None, seed: int = 0) -> Path:
    """A benchmark of one task with its thumbnails as features."""
    rng = np.random.default_rng(seed)
    make = {"statement": _statement, "choice": _choice, "matrix": _matrix}[task]
    with BenchmarkWriter(out, name=task, task=task, seed=seed) as writer:  # type: ignore[arg-type]
        for split, count in (sizes or SPLITS).items():
            pool = {color: [f"{split}-{color}-{n}" for n in range(POOL)] for color in COLORS}
            for color, names in pool.items():
                writer.add_panels(Panel(name, writer.add_image(picture(color, rng))) for name in names)
            writer.add_items(split, [make(f"{split}-{n}", pool, rng) for n in range(count)])
    features.extract(out, "thumbnail", batch_size=256)
    return out


def _panels(colors: list[str], pool: Pool, rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(str(rng.choice(pool[color])) for color in colors)


def _statement(name: str, pool: Pool, rng: np.random.Generator) -> Item:
    """Two pictures; the sentence says what colour one of them has, and is as often false as true of it."""
    both = [str(c) for c in rng.choice(COLORS[:4], 2, replace=False)]
    side, truth = int(rng.integers(2)), int(rng.integers(2))
    wrong = [c for c in COLORS[:4] if c != both[side]]
    said = both[side] if truth else str(rng.choice(wrong))
    text = Text(f"The {('left', 'right')[side]} one is {said}.")
    return Item(name, "statement", _panels(both, pool, rng), text, TRUTH, truth, origins=(name,))


def _choice(name: str, pool: Pool, rng: np.random.Generator) -> Item:
    """What colour is it?"""
    colors = [str(c) for c in rng.choice(COLORS[:6], 4, replace=False)]
    right = int(rng.integers(4))
    panels = _panels([colors[right]], pool, rng)
    candidates = tuple(Text(f"It is {color}.") for color in colors)
    return Item(name, "choice", panels, Text("What colour is it?"), candidates, right, origins=(name,))


def _matrix(name: str, pool: Pool, rng: np.random.Generator) -> Item:
    """Each row has one colour; the right one of eight candidates ends the third row."""
    rows = [str(c) for c in rng.choice(COLORS, 3, replace=False)]
    wrong = [str(c) for c in rng.permutation([c for c in COLORS if c != rows[2]])[:7]]
    right = int(rng.integers(8))
    offered = [*wrong[:right], rows[2], *wrong[right:]]
    context, candidates = _panels([rows[n // 3] for n in range(8)], pool, rng), _panels(offered, pool, rng)
    return Item(name, "matrix", context, None, candidates, right, origins=(name,))
