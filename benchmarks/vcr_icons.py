"""VCR on icons: can it be answered from the responses alone, from the text alone, and with the photograph?

Builds a benchmark of stories (Adversarial Matching, MiniLM), encodes photographs and objects, trains the same small
R2C with and without the photograph (three seeds), a model that sees the responses only, and prints one table with 95%
intervals over questions. Run: python benchmarks/vcr_icons.py [--photographs 1500] [--work DIR]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import veridical
from veridical.benchmark import Benchmark
from veridical.evaluation import Scores

os.environ.setdefault("VERIDICAL_PROGRESS", "0")
MODELS = {
    "response-only (LSTM)": ("response-only", {}),
    "question and response, no photograph": ("grounded", {"photograph": False}),
    "and the classes and boxes of objects": ("grounded", {"images": ""}),
    "and the photograph": ("grounded", {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photographs", type=int, default=1500)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--work", type=Path, help="kept and continued, where given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run(options.work or Path(temporary), options.photographs, options.trials)


def run(work: Path, photographs: int, trials: int) -> None:
    folder = work / "vcr"
    start = time.monotonic()
    if not (folder / "benchmark.json").exists():
        veridical.build("vcr", folder, photographs=photographs, seed=0, hide=())
    print(f"built {photographs:,} photographs in {time.monotonic() - start:.0f} s")
    benchmark = Benchmark(folder)
    questions = [i for split in benchmark.splits() for i in benchmark.items(split) if i.parent is None]
    kinds = Counter(value for item in questions for value in item.tag("question"))
    print(f"{len(questions):,} questions; kinds: {dict(kinds.most_common())}")
    print(
        f"certified gap: {max(benchmark.manifest['config']['matching'][s]['gap'] for s in ('answer', 'rationale')):.4%}"
    )
    start = time.monotonic()
    veridical.features("efficientnet-lite0", folder, objects=True)
    print(f"encoded photographs and objects in {time.monotonic() - start:.0f} s")
    print(f"\n{'accuracy on val and test, % [95%]':42} {'Q -> A':>22} {'QA -> R':>22} {'Q -> AR':>22}")
    for row, (model, config) in MODELS.items():
        parts = [scored(folder, work, model, config, trials, split) for split in ("val", "test")]
        print(f"{row:42} " + " ".join(f"{cell:>22}" for cell in cells(parts)), flush=True)
    print(f"{'chance':42} {'25.0':>22} {'25.0':>22} {'6.2':>22}")


def scored(folder: Path, work: Path, model: str, config: dict[str, object], trials: int, split: str) -> list[Scores]:
    name = "-".join([model, *(f"{k}={v}" for k, v in config.items())])
    out = work / "runs" / name
    veridical.train(model, folder, out, set=config, trials=trials)
    scores = []
    for trial in range(trials):
        path = work / f"{name}-{trial}-{split}.jsonl"
        veridical.solve(str(out), folder, split=split, out=path, trial=trial)
        scores.append(veridical.evaluate(folder, path, split=split))
    return scores


def cells(parts: list[list[Scores]]) -> list[str]:
    """Means over trials and splits; the interval is the mean of the intervals of each."""
    out = []
    for name in ("Q->A", "QA->R", "Q->AR"):
        found = [score.staged[name] for part in parts for score in part]
        value, low, high = (float(np.mean([getattr(one, end) for one in found])) for end in ("value", "low", "high"))
        out.append(f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]")
    return out


if __name__ == "__main__":
    main()
