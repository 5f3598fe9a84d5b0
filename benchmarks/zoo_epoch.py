"""One whole epoch of CNN+RNN and of FiLM: ours, beside a plain DataLoader with two workers that decodes each image.

    python benchmarks/zoo_epoch.py [--presentations 300] [--sets 60] [--coco ../shared/data/coco] [--rows film ...]

Both train the same module with the same optimiser on the same statements. Ours has decoded every panel once (that time
is shown, and paid once for all epochs) and gathers a batch from memory; the plain one opens, decodes, cuts and resizes
the pictures of each item in a worker, and leaves the weights of convolutions as PyTorch lays them out, which ours turns
channels last. Three kinds of pictures: NLVR's drawings (PNG, 400 x 100, all six views), pairs
of icon scenes (JPEG, 400 x 300), and pairs of COCO's photographs (JPEG, about 640 x 480; there are few of them, so that
an epoch shows each many times). Of drawings, which are cheap to decode, a FiLM that learns end to end spends most of
its time on convolutions, in ours as in the plain one; `film-objects` is FiLM over what a frozen CNN sees, which the
plain one computes anew in every step.
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
from veridical.zoo.architecture import Example
from veridical.zoo.slots import SIDE, SlotMaps

BATCH = 64
COCO = Path(__file__).resolve().parents[2] / "shared" / "data" / "coco"
OBJECTS = {"maps": "objects", "channels": 32, "blocks": 3, "seeing": 20}
ROWS: dict[str, tuple[str, str, dict[str, Any]]] = {  # pictures, model and its options
    "cnn-rnn": ("drawings", "cnn-rnn", {}),
    "film": ("drawings", "film", {}),
    "film-objects": ("drawings", "film", OBJECTS),
    "cnn-rnn-icons": ("icons", "cnn-rnn", {"width": 100, "height": 75}),
    "film-icons": ("icons", "film", {}),
    "cnn-rnn-photographs": ("photographs", "cnn-rnn", {"width": 100, "height": 75}),
    "film-photographs": ("photographs", "film", {}),
}
BOXES = tuple((left, 0, left + 100, 100) for left in (0, 150, 300))  # of a drawing
LEAST = 1280  # items of an epoch, drawn again where there are fewer


class Pictures(TorchDataset[tuple[Tensor, Tensor, int]]):
    """Items one by one, as most training scripts read them: open the file, decode, cut, resize."""

    def __init__(self, examples: list[Example], words: list[Tensor], answers: list[int], size: tuple[int, int]) -> None:
        self.views = [_stored(example) for example in examples]
        self.words, self.answers, self.size = words, answers, size

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor, int]:
        views = self.views[row]
        opened = [Image.open(io.BytesIO(file)).convert("RGB") for file in views[int(torch.randint(len(views), ()))]]
        panels = [opened[0].crop(box) for box in BOXES] if len(opened) == 1 else opened
        sized = [np.array(panel.resize(self.size, Image.Resampling.BILINEAR)) for panel in panels]
        pixels = torch.stack([torch.from_numpy(panel).permute(2, 0, 1) for panel in sized])
        return pixels, self.words[row], self.answers[row]


def _stored(example: Example) -> list[list[bytes]]:
    """The files of each view: one drawing of three boxes, or a picture for each panel."""
    if example.item.views:
        return [[bytes(example.image(view.image or ""))] for view in example.item.views]
    return [[bytes(example.image(panel.image or "")) for panel in example.panels]]


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
    views = rng.integers(max(data.views(0), 1), size=len(data))
    for rows in epoch_batches(data.lengths, BATCH, rng):
        scores, _ = run_module(module, data, rows, views[rows], "cpu")
        step(module, optimizer, scores, torch.from_numpy(data.answers[rows]))
    return time.perf_counter() - start


def look(eyes: SlotMaps, panels: Tensor) -> Tensor:
    """What the frozen CNN sees: (B, P, 3, 100, 100) bytes -> (B, P, 22, 10, 10)."""
    with torch.inference_mode():
        slots = eyes.network.slots(panels.flatten(0, 1), eyes.count).numpy()
    return torch.from_numpy(eyes.maps(slots.reshape(*panels.shape[:2], *slots.shape[1:])))


def plain(module: nn.Module, pictures: Pictures, eyes: SlotMaps | None) -> float:
    """Seconds of an epoch over a DataLoader."""
    optimizer = torch.optim.AdamW(module.parameters(), fused=True)
    module.train()
    start = time.perf_counter()
    for panels, words, answers in DataLoader(pictures, BATCH, shuffle=True, num_workers=2, collate_fn=together):
        seen = panels if eyes is None else look(eyes, panels)
        step(module, optimizer, module(panels=seen, words=words), answers)
    return time.perf_counter() - start


def measure(name: str, folder: Path, rounds: int) -> str:
    """One row: seconds of an epoch of both, in turn."""
    bench, architecture = Benchmark(folder), load_model(ROWS[name][1])
    config, _ = configure(architecture, ROWS[name][2])
    examples = examples_of(bench, bench.items("train"))
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    examples *= -(-LEAST // len(examples))
    start = time.perf_counter()
    data = Dataset.encode(examples, inputs)
    once = time.perf_counter() - start
    words = [torch.from_numpy(row["words"]) for row in data.kept]
    eyes = inputs["panels"] if isinstance(inputs["panels"], SlotMaps) else None
    size = (config.width, config.height) if eyes is None else (SIDE, SIDE)
    pictures = Pictures(examples, words, data.answers.tolist(), size)
    modules = [new_model(architecture, config, inputs, 0) for _ in range(2)]
    seconds: list[tuple[float, float]] = []
    for epoch in range(rounds):
        assert isinstance(modules[0], nn.Module)
        assert isinstance(modules[1], nn.Module)
        seconds.append((ours(modules[0], data, epoch), plain(modules[1], pictures, eyes)))
    best = [min(one) for one in zip(*seconds, strict=True)]
    return f"{name:20} {len(data):7,} {best[0]:9.2f} {best[1]:9.2f} {best[1] / best[0]:7.2f}x {once:9.2f}"


def build(kind: str, folder: Path, given: argparse.Namespace) -> Path | None:
    """A benchmark of one kind of pictures; none where there are no photographs."""
    if kind == "photographs" and not given.coco.is_dir():
        return None
    out = folder / kind
    if not out.exists() and kind == "drawings":
        veridical.build("nlvr", out, presentations=given.presentations, split={"train": 9, "dev": 1})
    elif not out.exists():
        source = "icons" if kind == "icons" else f"coco:{given.coco}"
        veridical.build("nlvr2", out, source=source, sets=given.sets, split={"train": 0.8, "dev": 0.2})
    return out


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--presentations", type=int, default=300)
    options.add_argument("--sets", type=int, default=60, help="of icon scenes, and at most of photographs")
    options.add_argument("--coco", type=Path, default=COCO)
    options.add_argument("--rows", nargs="*", default=list(ROWS), choices=list(ROWS))
    options.add_argument("--rounds", type=int, default=2)
    given = options.parse_args()
    print(f"{torch.get_num_threads()} threads; two workers for the plain one; seconds, best of {given.rounds}")
    print(f"{'row':20} {'items':>7} {'ours':>9} {'plain':>9} {'ratio':>8} {'decoding':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.rows:
            out = build(ROWS[name][0], Path(folder), given)
            print(f"{name:20} no photographs in {given.coco}" if out is None else measure(name, out, given.rounds))


if __name__ == "__main__":
    os.environ.setdefault("VERIDICAL_PROGRESS", "0")
    main()
