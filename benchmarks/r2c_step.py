"""R2C's training step against a plain one: what is won by kept words, and by reading a question's responses at once.

    python benchmarks/r2c_step.py [--steps 5] [--batch 32]

The plain step does what a first implementation would: for each of the four responses in turn, MiniLM reads question and
response (frozen, nothing is kept), and R2C scores that one pair. Same weights, same loss; both steps are taken in turn
in one run, and the gradients are checked to be equal before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import veridical
from veridical.benchmark import Benchmark
from veridical.encoders import open_encoder
from veridical.training import configure
from veridical.training.batches import Dataset, epoch_batches, examples_of, run_module
from veridical.training.trained import build
from veridical.zoo import load_model
from veridical.zoo.inputs import pad, scaled
from veridical.zoo.spoken import query_of, responses_of

Inputs = dict[str, Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["VERIDICAL_CACHE"] = temporary
        module, data = prepare(Path(temporary) / "vcr")
        batches = epoch_batches(data.lengths, given.batch, np.random.default_rng(0))[: given.steps]
        check(module, data, batches[0])
        times: dict[str, list[float]] = {"ours": [], "plain": []}
        optimizer = torch.optim.AdamW(module.parameters(), 1e-3)
        for rows in batches:
            for name, scores_of in (("ours", ours), ("plain", plain)):
                start = time.process_time()
                step(module, optimizer, data, rows, scores_of(module, data, rows))
                times[name].append(time.process_time() - start)
    mine, theirs = (float(np.median(times[name])) for name in ("ours", "plain"))
    print(f"a step of {given.batch} questions, processor: ours {1000 * mine:.0f} ms, plain {1000 * theirs:.0f} ms")
    print(f"ours is {theirs / mine:.1f}x as fast")


def prepare(folder: Path) -> tuple[nn.Module, Dataset]:
    """A small benchmark, and R2C on its answers; words are encoded here, once."""
    veridical.build("vcr", folder, photographs=160, seed=0, hide=())
    veridical.features("gradients", folder, objects=True)
    benchmark, architecture = Benchmark(folder), load_model("r2c")
    config, _ = configure(architecture, {"images": "gradients", "dropout": 0.0, "hidden": 64})
    examples = examples_of(benchmark, [item for item in benchmark.items("train") if item.parent is None])
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    module = build(architecture, config, inputs, 0)
    if not isinstance(module, nn.Module):
        raise TypeError("R2C is a module")
    return module, Dataset.encode(examples, inputs)


def step(module: nn.Module, optimizer: torch.optim.Optimizer, data: Dataset, rows: np.ndarray, scores: Tensor) -> None:
    loss = nn.functional.cross_entropy(scores, torch.from_numpy(data.answers[rows]))
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    nn.utils.clip_grad_norm_(module.parameters(), 5.0)
    optimizer.step()


def ours(module: nn.Module, data: Dataset, rows: np.ndarray) -> Tensor:
    """The scores of a batch as the trainer gets them."""
    return run_module(module, data, rows, None, "cpu")[0]


def plain(module: nn.Module, data: Dataset, rows: np.ndarray) -> Tensor:
    """The scores of a batch, response by response."""
    inputs = data.batch(rows)
    examples = [data.examples[row] for row in rows.tolist()]
    queries = [[word for word, _ in query_of(example)[0]] for example in examples]
    columns = []
    for k in range(inputs["responses"].shape[1]):
        said = [[word for word, _ in responses_of(example)[k]] for example in examples]
        one = dict(inputs, response_tags=inputs["response_tags"][:, k : k + 1])
        one["query"] = read(queries, inputs["query"].shape[1])
        one["responses"] = read(said, inputs["responses"].shape[2])[:, None]
        columns.append(module(**one))
    return torch.cat(columns, dim=1)


def read(texts: list[list[str]], length: int) -> Tensor:
    """Words in context by the frozen encoder, read now: (B, T, D)."""
    vectors = [scaled(found) for found in ENCODER.words(texts)]
    filler = np.zeros((length, vectors[0].shape[1]), np.float32)
    return torch.from_numpy(pad([filler, *vectors])[1:])


def check(module: nn.Module, data: Dataset, rows: np.ndarray) -> None:
    """Both ways give the same scores and the same gradients."""
    gradients = []
    for scores_of in (ours, plain):
        scores = scores_of(module, data, rows)
        module.zero_grad()
        nn.functional.cross_entropy(scores, torch.from_numpy(data.answers[rows])).backward()
        gradients.append([p.grad.clone() for p in module.parameters() if p.grad is not None])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


ENCODER = open_encoder("minilm")

if __name__ == "__main__":
    os.environ.setdefault("VERIDICAL_PROGRESS", "0")
    main()
