"""A small CNN trained on panels of icons, as a `transformers` checkpoint that `veridical features` takes by its folder.

    python benchmarks/icon_encoder.py [--out WORK/icon-cnn] [--images 16000] [--epochs 12] [--categories 16]

A ResNet of three basic blocks (16, 48 and 128 channels, panels squeezed to 112 x 112 pixels) learns the labels of
panels that no benchmark shows: they are drawn with another seed. Like the bottom-up network of the paper, it has been
told the names of categories, attributes and counts; the 128 numbers of its pooled last map are the features.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from veridical.engine import run
from veridical.sources.icons.worlds import IconPanels

SEED, SIDE, PART = 777_001, 112, 250
ATTRIBUTES = ("color", "pattern", "age", "gender", "action", "scene")
PROCESSOR = {
    "image_processor_type": "ViTImageProcessor",
    "do_resize": True,
    "resample": 2,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}


def draw(count: int, categories: int, cache: Path) -> tuple[np.ndarray, list[dict[str, str]]]:
    """Panels as bytes (N, SIDE, SIDE, 3), and their labels; kept in a file, as drawing takes a minute."""
    if not cache.exists():
        source = IconPanels(count, SEED, categories=categories)
        parts = [range(k, min(k + PART, count)) for k in range(0, count, PART)]
        drawn = list(run(partial(draw_part, source), parts, label="drawing panels for the CNN"))
        pixels = np.concatenate([pixels for pixels, _ in drawn])
        labels = [row for _, rows in drawn for row in rows]
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.savez(cache, pixels=pixels, labels=np.array(json.dumps(labels)))
    found = np.load(cache)
    return found["pixels"], json.loads(str(found["labels"]))


def draw_part(source: IconPanels, numbers: range) -> tuple[np.ndarray, list[dict[str, str]]]:
    """Some of the panels."""
    pixels = np.zeros((len(numbers), SIDE, SIDE, 3), np.uint8)
    labels = []
    for n, number in enumerate(numbers):
        photograph = source.at(number)
        picture = Image.open(io.BytesIO(source.picture(photograph))).convert("RGB")
        pixels[n] = np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR))
        things = photograph.panel.objects
        own = {name: value for name in ATTRIBUTES if (value := things[0].attribute(name)) is not None}
        labels.append({"category": things[0].category, "count": str(len(things)), **own})
    return pixels, labels


def train(pixels: np.ndarray, labels: list[dict[str, str]], epochs: int) -> nn.Module:
    """A network whose pooled map tells every label by a linear layer."""
    from transformers import ResNetConfig, ResNetModel

    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=16, hidden_sizes=[16, 48, 128], depths=[1, 1, 1], layer_type="basic")
    network = ResNetModel(config)
    names = dict.fromkeys(k for row in labels for k in row)
    values = {k: sorted({row[k] for row in labels if k in row}) for k in names}
    wanted = {k: torch.tensor([v.index(row[k]) if k in row else -1 for row in labels]) for k, v in values.items()}
    heads = nn.ModuleDict({k: nn.Linear(128, len(v)) for k, v in values.items()})
    parameters = [*network.parameters(), *heads.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.01)
    held = len(pixels) // 10
    learning = np.arange(held, len(pixels))
    steps = epochs * -(-len(learning) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    rng = np.random.default_rng(0)
    for epoch in range(epochs):
        network.train()
        total, start = 0.0, time.perf_counter()
        for rows in np.array_split(rng.permutation(learning), -(-len(learning) // 64)):
            pooled = network(_input(pixels[rows])).last_hidden_state.mean((2, 3))  # (B, 128)
            loss = torch.stack([_loss(heads[k](pooled), wanted[k][rows]) for k in values]).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch + 1}: loss {total / len(learning):.2f}, {time.perf_counter() - start:.0f} s", flush=True)
    network.eval()
    with torch.inference_mode():
        pooled = network(_input(pixels[:held])).last_hidden_state.mean((2, 3))
        for k, head in heads.items():
            known = wanted[k][:held] >= 0
            right = (head(pooled).argmax(1) == wanted[k][:held])[known].float().mean()
            print(
                f"  {k}: {100 * right:.0f}% of {int(known.sum())} held-out panels, {len(values[k])} values", flush=True
            )
    return network


def _loss(logits: Tensor, wanted: Tensor) -> Tensor:
    """Cross-entropy of those that have the label (others: -1); zero where none has."""
    total = nn.functional.cross_entropy(logits, wanted, ignore_index=-1, reduction="sum")
    return total / (wanted >= 0).sum().clamp(min=1)


def _input(pixels: np.ndarray) -> Tensor:
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 127.5 - 1  # (B, 3, SIDE, SIDE)


def make(out: Path, images: int, epochs: int, categories: int = 0) -> Path:
    """The checkpoint, made unless it is there."""
    if not (out / "preprocessor_config.json").exists():
        save(train(*draw(images, categories, out.with_name(f"{out.name}-panels.npz")), epochs), out, SIDE)
    return out


def save(network: nn.Module, out: Path, side: int) -> None:
    """As a checkpoint of `transformers`; the last file says that it is whole."""
    network.save_pretrained(out)
    processor = PROCESSOR | {"size": {"height": side, "width": side}}
    (out / "preprocessor_config.json").write_text(json.dumps(processor, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench/icon-encoder"))
    parser.add_argument("--images", type=int, default=16_000)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--categories", type=int, default=16, help="kinds of things beside people; 0: all")
    given = parser.parse_args()
    make(given.out, given.images, given.epochs, given.categories)


if __name__ == "__main__":
    main()
