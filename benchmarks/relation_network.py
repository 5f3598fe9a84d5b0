"""The relation network's training step beside its plain form, and an epoch of the paper's size through the trainer.

    python benchmarks/relation_network.py [--instances 103323] [--threads 2] [--no-epoch]

Plain: each of 8 x 81 pairs concatenated and put through f1, as equations 7 and 8 of V-PROM are printed. Ours: every
panel projected once, the 64 context pairs shared. Both take the same step (forward, backward, AdaDelta) from the same
weights on the same random unit vectors. Then one epoch of the trainer over instances whose 16 vectors of 2,048 numbers
lie in a memory-mapped file of 115,000 distinct panels, reading them included.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from veridical.encoders.encoder import Identity
from veridical.encoders.store import About, open_features, write_features
from veridical.records import Item
from veridical.training.batches import Dataset
from veridical.training.config import configure
from veridical.training.trainer import Trainer
from veridical.zoo import load_model
from veridical.zoo.architecture import Encoded, Example
from veridical.zoo.matrices import Panels
from veridical.zoo.relation_network import RelationNetwork, RelationNetworkConfig

SIZE, BATCH, PAPER, DISTINCT = 2048, 128, 103_323, 115_000


class Plain(nn.Module):
    """648 concatenated pairs through f1, with one-hot ids appended."""

    def __init__(self, like: RelationNetwork) -> None:
        super().__init__()
        halves = like.halves
        assert halves.places is not None
        first, second = torch.cat([halves.map.weight, halves.places.T], dim=1).detach().chunk(2)  # (H, D + 16) each
        hidden = len(first)
        self.f1 = nn.Sequential(nn.Linear(2 * (SIZE + 16), hidden), nn.ReLU())
        self.f1[0].weight.data = torch.cat([first, second], dim=1)
        self.f1[0].bias.data = sum(halves.map.bias.detach().chunk(2))
        self.f2 = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU())
        self.f2[0].load_state_dict(like.f2[0].state_dict())
        self.w = nn.Linear(hidden, 1, bias=False)
        self.w.load_state_dict(like.w.state_dict())

    def forward(self, panels: Tensor) -> Tensor:
        x = torch.cat([panels, torch.eye(16).expand(len(panels), 16, 16)], dim=2)  # (B, 16, D + 16)
        scores = []
        for i in range(8):
            nine = torch.cat([x[:, :8], x[:, 8 + i : 9 + i]], dim=1)  # (B, 9, D + 16)
            left = nine[:, :, None].expand(-1, 9, 9, -1)
            pairs = torch.cat([left, left.transpose(1, 2)], dim=3)  # (B, 9, 9, 2 (D + 16))
            scores.append(self.w(self.f2(self.f1(pairs).sum((1, 2)))))  # (B, 1)
        return torch.cat(scores, dim=1)


def rate(module: nn.Module, panels: Tensor, answers: Tensor, least: float) -> tuple[float, float]:
    """Instances of training steps a second, and a second of processor time, after one step to warm up."""
    optimizer = torch.optim.Adadelta(module.parameters())

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(panels), answers).backward()
        optimizer.step()

    step()
    steps, start, busy = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < least:
        step()
        steps += 1
    done = steps * len(panels)
    return done / (time.perf_counter() - start), done / (time.process_time() - busy)


def compare_steps() -> None:
    """Same outputs, same gradients, and how long a step takes; the two take turns, three times."""
    torch.manual_seed(0)
    ours = RelationNetwork(RelationNetworkConfig(), {"panels": SIZE})
    plain = Plain(ours)
    panels = nn.functional.normalize(torch.randn(BATCH, 16, SIZE), dim=2)
    answers = torch.randint(8, (BATCH,))
    few = panels[:32]
    one, other = ours(few), plain(few)
    grads = []
    for scores, weight in ((one, ours.halves.map.weight), (other, plain.f1[0].weight)):
        grads.append(torch.autograd.grad(nn.functional.cross_entropy(scores, answers[:32]), weight)[0])
    ids = SIZE + 16
    rejoined = torch.cat([grads[1][:, :SIZE], grads[1][:, ids : ids + SIZE]])
    print(
        f"outputs differ by at most {(one - other).abs().max():.1e} (of {other.abs().max():.2f}), "
        f"first-layer gradients by {(grads[0] - rejoined).abs().max():.1e} (of {rejoined.abs().max():.1e})"
    )
    ratios = []
    for turn in range(3):
        slow, slow_busy = rate(plain, few, answers[:32], 4)
        fast, fast_busy = rate(ours, panels, answers, 4)
        ratios.append((fast / slow, fast_busy / slow_busy))
        print(
            f"turn {turn + 1}: plain {slow:6.1f}, ours {fast:7.1f} instances a second: {fast / slow:5.1f}x   "
            f"by processor time {slow_busy:6.1f}, {fast_busy:7.1f}: {fast_busy / slow_busy:5.1f}x"
        )
    wall, busy = (sorted(kind)[1] for kind in zip(*ratios, strict=True))
    print(f"median {wall:.1f}x, by processor time {busy:.1f}x (float32, {torch.get_num_threads()} threads)")


def epoch(instances: int) -> None:
    """One epoch through the trainer, from a memory-mapped file of vectors."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features-random.arrow"
        rng = np.random.default_rng(0)
        raw = np.memmap(Path(folder) / "raw", np.float32, "w+", shape=(DISTINCT, SIZE))
        for start in range(0, DISTINCT, 5000):
            drawn = rng.standard_normal((min(5000, DISTINCT - start), SIZE), np.float32)
            raw[start : start + len(drawn)] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        about = About(Identity("random", "", ""), "", True, "")
        write_features(path, [f"{n:06d}" for n in range(DISTINCT)], raw, about)
        panels = Panels("random")
        panels._files, panels._scales, panels.state = [open_features(path)], [None], {"size": SIZE}
        rows = rng.integers(DISTINCT, size=(instances, 16))
        data = _dataset(panels, rows, rng)
        small = _dataset(panels, rows[:256], rng)
        architecture = load_model("relation-network")
        config, training = configure(architecture, {"epochs": 1, "checkpoint_steps": 10**9})
        assert architecture.module is not None
        module = architecture.module(config, {"panels": SIZE})
        trainer = Trainer(module, data, small, replace(training, epochs=1), Path(folder), seed=0)
        start, busy = time.perf_counter(), time.process_time()
        trainer.run("one epoch")
        took, busy = time.perf_counter() - start, time.process_time() - busy
    print(
        f"an epoch over {instances:,} instances of 16 x {SIZE:,}, gathering from the memory-mapped file included: "
        f"{took:.1f} s, {instances / took:,.0f} a second ({busy:.1f} s of processor time)"
    )


def _dataset(panels: Panels, rows: np.ndarray, rng: np.random.Generator) -> Dataset:
    count = len(rows)
    full = np.full(count, 16, np.int64)
    answers = rng.integers(8, size=count)
    example = Example(Item("random", "matrix", ()), (), lambda _: b"")  # the trainer asks it only for views: none
    kept: list[Encoded] = [{}] * count
    return Dataset([example] * count, {"panels": panels}, kept, full, answers, full // 2, {"panels": rows}, {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=PAPER)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-epoch", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    compare_steps()
    if not given.no_epoch:
        epoch(given.instances)


if __name__ == "__main__":
    main()
