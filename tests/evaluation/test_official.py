"""On the real NLVR and NLVR2 files our numbers are those of the published rules, to the last digit.

The rules are written again here in plain Python, as the papers and the data's README state them: NLVR groups by
presentation (for images over all six permutations), NLVR2 by the identifier without the pair.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from veridical.evaluation import evaluate
from veridical.formats.releases import import_release


def plain_scores(examples: list[tuple[str, str, str]], predictions: dict[str, str]) -> tuple[float, float]:
    """Precision and consistency of (name, label, group) examples."""
    right, consistent = 0.0, {}
    for name, label, group in examples:
        good = predictions[name].lower() == label.lower()
        right += good
        consistent[group] = consistent.get(group, True) and good
    return right / len(examples), float(sum(consistent.values())) / len(consistent)


def guesses(examples: list[tuple[str, str, str]], seed: int) -> dict[str, str]:
    """Predictions that are mostly right, in mixed case."""
    rng = random.Random(seed)
    out = {}
    for name, label, _ in examples:
        truth = (label.lower() == "true") == (rng.random() < 0.9)
        out[name] = rng.choice(["true", "True", "TRUE"] if truth else ["false", "False"])
    return out


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def check(
    benchmark: Path, path: Path, examples: list[tuple[str, str, str]], naming: Callable[[str], str] = str
) -> None:
    for seed in range(3):
        predictions = guesses(examples, seed)
        rows = [f"{naming(name)},{label}\n" for name, label in predictions.items()]
        random.Random(seed).shuffle(rows)
        path.write_text("".join(rows))
        found = evaluate(benchmark, path, split="dev", resamples=20)
        assert (found.accuracy.value, found.consistency.value) == plain_scores(examples, predictions)
        assert found.missing.count == found.extra.count == found.unreadable.count == found.duplicated.count == 0
        assert found.examples == len(examples)


@pytest.fixture(scope="module")
def nlvr(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_release("nlvr", shared / "nlvr" / "dev" / "dev.json", tmp_path_factory.mktemp("nlvr") / "b").benchmark


@pytest.fixture(scope="module")
def nlvr2(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_release("nlvr2", shared / "nlvr2", tmp_path_factory.mktemp("nlvr2") / "b").benchmark


def test_nlvr_structured(nlvr: Path, shared: Path, tmp_path: Path) -> None:
    dev = lines(shared / "nlvr" / "dev" / "dev.json")
    check(nlvr, tmp_path / "p.csv", [(e["identifier"], e["label"], e["identifier"].split("-")[0]) for e in dev])


def test_nlvr_images(nlvr: Path, shared: Path, tmp_path: Path) -> None:
    dev = lines(shared / "nlvr" / "dev" / "dev.json")
    examples = [(f"{e['identifier']}-{k}", e["label"], e["identifier"].split("-")[0]) for e in dev for k in range(6)]
    assert len(examples) == 5934
    check(nlvr, tmp_path / "p.csv", examples, lambda name: f"dev-{name}.png")


def test_nlvr2(nlvr2: Path, shared: Path, tmp_path: Path) -> None:
    dev = lines(shared / "nlvr2" / "dev.json")
    examples = []
    for e in dev:
        split, photographs, _, sentence = e["identifier"].split("-")
        examples.append((e["identifier"], e["label"], f"{split}-{photographs}-{sentence}"))
    check(nlvr2, tmp_path / "p.csv", examples)


def test_nlvr2_majority_is_as_published(nlvr2: Path, shared: Path, tmp_path: Path) -> None:
    """Always true gives 50.9 / 3.9 on the development split (NLVR2, table 6); people reach 96.2 +- 2.1 (section 5)."""
    (tmp_path / "p.csv").write_text("".join(f"{e['identifier']},True\n" for e in lines(shared / "nlvr2" / "dev.json")))
    found = evaluate(nlvr2, tmp_path / "p.csv", resamples=20)
    assert (round(100 * found.accuracy.value, 1), round(100 * found.consistency.value, 1)) == (50.9, 3.9)
    rows = {row.name: row for row in found.baselines}
    assert rows["majority"].accuracy.value == found.accuracy.value
    assert rows["majority"].consistency.value == found.consistency.value
    assert round(100 * rows["human"].std, 1) == 2.1
    assert rows["human"].accuracy == pytest.approx(0.9628, abs=5e-4)
    assert (found.items, found.groups) == (6982, 2018)
    assert len(found.by["synset"]) == 124
