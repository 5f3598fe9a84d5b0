"""One whole epoch of CNN+RNN and of FiLM: ours, beside a plain DataLoader with two workers that decodes each image.

    python benchmarks/zoo_epoch.py [--presentations 300] [--models cnn-rnn film] [--rounds 2]

Both train the same module with the same optimiser on the same statements, with stored PNG drawings of all six views,
drawn for this from a seed. Ours has decoded every panel once (that time is shown, and paid once for all epochs) and
gathers a batch from memory; the plain one opens, decodes, cuts and resizes the drawing of each item in a worker. Where
convolutions are learned end to end (film) their arithmetic is most of both; `film-objects` is FiLM over what a frozen
CNN sees, which the plain one computes anew in every step.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

import veridical
from veridical.benchmark import Benchmark
from veridical.training.batches import Dataset, epoch_batches, examples_of, run_module
from veridical.training.config import configure
from veridical.training.trained import build as new_model
from veridical.training.trainer import laid_out
from veridical.zoo import load_model
from veridical.zoo.slots import SIDE, SlotMaps

BATCH = 64
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "cnn-rnn": ("cnn-rnn", {}),
    "film": ("film", {}),
    "film-objects": ("film", {"maps": "objects", "channels": 32, "blocks": 3, "seeing": 20}),
}
LEFTS = (0, 150, 300)


class Drawings(TorchDataset[tuple[Tensor, Tensor, int]]):
    """Items one by one, as most training scripts read them: open the file, decode, cut, resize."""

    def __init__(
        self, images: list[list[bytes]], words: list[Tensor], answers: list[int], size: tuple[int, int]
    ) -> None:
        self.images, self.words, self.answers, self.size = images, words, answers, size

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor, int]:
        view = int(torch.randint(len(self.images[row]), ()))
        picture = Image.open(io.BytesIO(self.images[row][view])).convert("RGB")
        boxes = [
            picture.crop((left, 0, left + 100, 100)).resize(self.size, Image.Resampling.BILINEAR) for left in LEFTS
        ]
        pixels = torch.stack([torch.from_numpy(np.array(box)).permute(2, 0, 1) for box in boxes])
        return pixels, self.words[row], self.answers[row]


def together(rows: list[tuple[Tensor, Tensor, int]]) -> tuple[Tensor, Tensor, Tensor]:
    """A batch, sentences filled up with zeros."""
    words = nn.utils.rnn.pad_sequence([words for _, words, _ in rows], batch_first=True)
    return torch.stack([pixels for pixels, _, _ in rows]), words, torch.tensor([answer for _, _, answer in rows])


def step(module: nn.Module, optimizer: torch.optim.Optimizer, scores: Any, answers: Tensor) -> None:
    """The same step for both."""
    found = scores[0] if isinstance(scores, tuple) else scores
    optimizer.zero_grad()
    torch.autograd.backward(nn.functional.cross_entropy(found, answers))
    optimizer.step()


def ours(module: nn.Module, data: Dataset, epoch: int) -> float:
    """Seconds of an epoch as the trainer runs it."""
    rng, optimizer = np.random.default_rng(epoch), torch.optim.AdamW(module.parameters(), fused=True)
    laid_out(module).train()
    start = time.perf_counter()
    views = rng.integers(6, size=len(data))
    for rows in epoch_batches(data.lengths, BATCH, rng):
        scores, _ = run_module(module, data, rows, views[rows], "cpu")
        step(module, optimizer, scores, torch.from_numpy(data.answers[rows]))
    return time.perf_counter() - start


def look(eyes: SlotMaps, panels: Tensor) -> Tensor:
    """What the frozen CNN sees: (B, P, 3, 100, 100) bytes -> (B, P, 22, 10, 10)."""
    with torch.inference_mode():
        slots = eyes.network.slots(panels.flatten(0, 1), eyes.count).numpy()
    return torch.from_numpy(eyes.maps(slots.reshape(*panels.shape[:2], *slots.shape[1:])))


def plain(module: nn.Module, drawings: Drawings, eyes: SlotMaps | None) -> float:
    """Seconds of an epoch over a DataLoader."""
    optimizer = torch.optim.AdamW(module.parameters(), fused=True)
    module.train()
    start = time.perf_counter()
    for panels, words, answers in DataLoader(drawings, BATCH, shuffle=True, num_workers=2, collate_fn=together):
        seen = panels if eyes is None else look(eyes, panels)
        step(module, optimizer, module(panels=seen, words=words), answers)
    return time.perf_counter() - start


def measure(name: str, folder: Path, rounds: int) -> str:
    """One row: seconds of an epoch of both, in turn."""
    bench, architecture = Benchmark(folder), load_model(MODELS[name][0])
    config, _ = configure(architecture, MODELS[name][1])
    examples = examples_of(bench, bench.items("train"))
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    start = time.perf_counter()
    data = Dataset.encode(examples, inputs)
    once = time.perf_counter() - start
    images = [[bytes(bench.image(view.image or "")) for view in e.item.views] for e in examples]
    words = [torch.from_numpy(row["words"]) for row in data.kept]
    eyes = inputs["panels"] if isinstance(inputs["panels"], SlotMaps) else None
    size = (config.width, config.height) if eyes is None else (SIDE, SIDE)
    drawings = Drawings(images, words, data.answers.tolist(), size)
    modules = [new_model(architecture, config, inputs, 0) for _ in range(2)]
    seconds: list[tuple[float, float]] = []
    for epoch in range(rounds):
        assert isinstance(modules[0], nn.Module)
        assert isinstance(modules[1], nn.Module)
        seconds.append((ours(modules[0], data, epoch), plain(modules[1], drawings, eyes)))
    best = [min(one) for one in zip(*seconds, strict=True)]
    return f"{name:12} {len(data):7,} {best[0]:9.2f} {best[1]:9.2f} {best[1] / best[0]:7.2f}x {once:9.2f}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--presentations", type=int, default=300)
    options.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    options.add_argument("--rounds", type=int, default=2)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "b"
        veridical.build("nlvr", out, presentations=given.presentations, split={"train": 9, "dev": 1})
        print(f"{torch.get_num_threads()} threads; two workers for the plain one; seconds, best of {given.rounds}")
        print(f"{'model':12} {'items':>7} {'ours':>9} {'plain':>9} {'ratio':>8} {'decoding':>9}")
        for name in given.models:
            print(measure(name, out, given.rounds), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("VERIDICAL_PROGRESS", "0")
    main()
