"""A small CNN trained on objects of other icon stories, as a `transformers` checkpoint for `features ... --objects`.

    python benchmarks/icon_regions.py [--out bench/icon-regions] [--photographs 1200] [--epochs 8]

What ResNet-50 is to VCR's models: it has learned elsewhere what things look like. It is told what an object is, its
colour and what somebody does, on photographs of a seed that no benchmark has; nothing of who holds what, of questions
or of answers. Each object is cut out and squeezed to 48 x 48 pixels; the 128 numbers of the pooled last map are its
region feature.
"""

from __future__ import annotations

import argparse
import io
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

import icon_encoder
from veridical.encoders.extract import cut
from veridical.engine import run
from veridical.sources.icons.stories import IconStories

SEED, SIDE, PART = 777_003, 48, 50
ATTRIBUTES = ("color", "age", "gender", "action")


def draw(photographs: int) -> tuple[np.ndarray, list[dict[str, str]]]:
    """Objects as bytes (N, SIDE, SIDE, 3), each photograph as a whole among them, and their labels."""
    source = IconStories(photographs, SEED)
    parts = [range(k, min(k + PART, photographs)) for k in range(0, photographs, PART)]
    drawn = list(run(partial(draw_part, source), parts, label="drawing objects for the CNN"))
    return np.concatenate([pixels for pixels, _ in drawn]), [row for _, rows in drawn for row in rows]


def draw_part(source: IconStories, numbers: range) -> tuple[np.ndarray, list[dict[str, str]]]:
    """The objects of some photographs."""
    pixels, labels = [], []
    for number in numbers:
        photograph = source.at(number)
        whole = Image.open(io.BytesIO(source.picture(photograph))).convert("RGB")
        things = photograph.panel.objects
        regions = cut(whole, [None, *(thing.box for thing in things)], photograph.panel.id)
        pixels += [np.asarray(region.resize((SIDE, SIDE), Image.Resampling.BILINEAR)) for region in regions]
        labels.append({"background": dict(photograph.tags)["background"]})
        for thing in things:
            own = {name: value for name in ATTRIBUTES if (value := thing.attribute(name)) is not None}
            labels.append({"category": thing.category, **own})
    return np.stack(pixels), labels


def make(out: Path, photographs: int, epochs: int) -> Path:
    """The checkpoint, made unless it is there."""
    if not (out / "preprocessor_config.json").exists():
        icon_encoder.save(icon_encoder.train(*draw(photographs), epochs), out, SIDE)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench/icon-regions"))
    parser.add_argument("--photographs", type=int, default=1200)
    parser.add_argument("--epochs", type=int, default=8)
    given = parser.parse_args()
    make(given.out, given.photographs, given.epochs)


if __name__ == "__main__":
    main()
