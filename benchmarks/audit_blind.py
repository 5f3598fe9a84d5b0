"""Is the audit's reader as strong as the strongest blind model we have? All read the same items in the same folds.

    python benchmarks/audit_blind.py [--work DIR] [--photographs 1500] [--items 1500] [--only icons] [--readers n-grams]

Visual commonsense reasoning from icons (answers and rationales), GD-VCR as released, NExT-OE's questions about a third
of its videos (part 1 of `matching_quality.py`), matched by default and by the paper's equation, NLVR2's development
split. Against the audit's text-only reader: an n-gram regression, naive Bayes, the zoo's LSTM, MiniLM fine-tuned as a
cross-encoder (trained and tested on the first fold only: it is slow). In percent with 95% intervals over groups; the
audit passes where it is at most five points below the best. Below, what the joint reader adds. In --work what is built
is kept for the next run.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

import veridical
from veridical.auditing.blind import budgeted
from veridical.auditing.data import AuditData, AuditItem, Fit, Fold, Predict, Sample, folds, sample
from veridical.auditing.harness import Run, run
from veridical.auditing.models import neural_reader
from veridical.auditing.reading import joint_reader, learn, sentence_reader, strong_reader
from veridical.auditing.texts import candidate_reader, query_reader, ranked, word_codes
from veridical.encoders.crossencoders import CrossEncoder, FineTuning
from veridical.encoders.packages import MiniLM

os.environ.setdefault("VERIDICAL_PROGRESS", "0")
DATA = Path(os.environ.get("VERIDICAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
WITHIN = 0.05
READERS = ("n-grams", "naive Bayes", "LSTM", "jointly", "cross-encoder")
NEXT = DATA / "qa" / "next_oe_train.csv"
PARTS, PART = 3, 1  # of NExT-OE's videos, by a hash of their ids
MAKERS: dict[str, Callable[[Path, int], object]] = {
    "icons": lambda out, photographs: veridical.build("vcr", out, photographs=photographs, hide=()),
    "gd-vcr": lambda out, _: veridical.import_release("vcr", DATA / "vcr" / "gd_vcr_val.jsonl", out),
    "next, default": lambda out, _: veridical.match(next_part(out), out, group="video"),
    "next, paper": lambda out, _: veridical.match(next_part(out), out, group="video", method="paper"),
    "nlvr2 dev": lambda out, _: veridical.import_release("nlvr2", DATA / "nlvr2" / "dev.json", out),
}


def next_part(out: Path) -> Path:
    """The questions about a third of NExT-OE's videos, as a file beside `out`."""
    path = out.with_suffix(".csv")
    with NEXT.open(newline="") as file, path.open("w", newline="") as target:
        rows = csv.DictReader(file)
        kept = csv.DictWriter(target, rows.fieldnames or ())
        kept.writeheader()
        kept.writerows(r for r in rows if int(sha256(r["video"].encode()).hexdigest(), 16) % PARTS == PART)
    return path


def naive_bayes(train: Sample, rng: np.random.Generator) -> Predict:
    """Pairs of a word of the question and a word of the candidate, as if each were independent of the others."""
    counts: dict[int, list[int]] = {}
    item, place = np.nonzero(train.real() & train.usable)
    right = place == train.answer[item]
    for i, k, yes in zip(item.tolist(), place.tolist(), right.tolist(), strict=True):
        for pair in _pairs(train, i, k):
            counts.setdefault(pair, [0, 0])[yes] += 1
    wrongs, rights = max(int((~right).sum()), 1), max(int(right.sum()), 1)

    def score(test: Sample, items: np.ndarray, places: np.ndarray) -> np.ndarray:
        none = [0, 0]
        found = [[counts.get(p, none) for p in _pairs(test, i, k)] for i, k in zip(items, places, strict=True)]
        odds = [sum(np.log((y + 0.5) / rights) - np.log((n + 1.5) / wrongs) for n, y in one) for one in found]
        return np.array(odds, np.float64)

    return partial(ranked, score)


def _pairs(s: Sample, item: int, place: int) -> set[int]:
    own = word_codes((s.candidates or ())[item][place])
    asked = word_codes((s.query or ())[item])
    return {*own, *(hash((a, b)) for a in asked for b in own)}


def cross_encoder(train: Sample, rng: np.random.Generator) -> Predict:
    """MiniLM, fine-tuned to tell a right candidate beside its question; of statements, a true sentence."""
    model = CrossEncoder(str(MiniLM("minilm").folder), training=FineTuning(epochs=3, batch=16, rate=5e-5))
    queries = train.query or ()
    if train.candidates is None:
        trained = model.trained([(q, "") for q in queries], train.answer.tolist(), int(rng.integers(1 << 31)))

        def truth(test: Sample) -> np.ndarray:
            z = trained.score([(q, "") for q in test.query or ()]).astype(np.float64)
            return np.stack([-z, z], 1)

        return truth
    item, place = np.nonzero(train.real() & train.usable)
    pairs = [(queries[i], train.candidates[i][k]) for i, k in zip(item, place, strict=True)]
    labels = (place == train.answer[item]).astype(int).tolist()
    trained = model.trained(pairs, labels, int(rng.integers(1 << 31)))

    def score(test: Sample, items: np.ndarray, places: np.ndarray) -> np.ndarray:
        read = [((test.query or ())[i], (test.candidates or ())[i][k]) for i, k in zip(items, places, strict=True)]
        return trained.score(read).astype(np.float64)

    return partial(ranked, score)


def readers(data: AuditData, rows: Sequence[AuditItem], names: Sequence[str]) -> dict[str, Fit]:
    """Each of these readers that reads such items by its name, the audit's first."""
    found: dict[str, Fit] = {}
    if data.task == "statement":
        found |= {"audit": sentence_reader, "n-grams": query_reader, "LSTM": neural_reader("text", data, rows)}
    else:
        found |= {"audit": strong_reader, "n-grams": candidate_reader, "naive Bayes": naive_bayes}
        found |= {"LSTM": neural_reader("question-only", data, rows), "jointly": joint_reader}
    found["cross-encoder"] = cross_encoder
    return {name: fit for name, fit in found.items() if name == "audit" or name in names}


def compare(name: str, folder: Path, stage: str, items: int, names: Sequence[str]) -> bool:
    """Print one line for each reader; whether the audit's is near enough to the best."""
    data = AuditData(folder)
    rows = budgeted(data.labelled(stage), items, 0)
    s = sample(rows, ["query"] if data.task == "statement" else ["query", "candidates"], among=data.labelled(stage))
    parted = folds(rows)
    learn(text for row in rows for text in (row.query, *row.candidates))
    print(f"\n{name}, {stage}: {len(rows):,} items, {sum(len(f.test) for f in parted):,} tested", flush=True)
    found: dict[str, Run] = {}
    for reader, fit in readers(data, rows, names).items():
        start = time.perf_counter()
        used = parted[:1] if reader == "cross-encoder" else parted
        found[reader] = run(s, used, fit, 0, "chance")
        e = found[reader].accuracy
        took = time.perf_counter() - start
        print(f"  {reader:14} {100 * e.value:5.1f} [{100 * e.low:.1f}, {100 * e.high:.1f}]  {took:6.1f} s", flush=True)
    return _near(found, parted)


def _near(found: dict[str, Run], parted: Sequence[Fold]) -> bool:
    """Compare each with the audit on the items that both were tested on."""
    ours = dict(zip(found["audit"].tested.tolist(), found["audit"].right.tolist(), strict=True))
    behind = {
        reader: float(np.mean(r.right) - np.mean([ours[i] for i in r.tested.tolist()]))
        for reader, r in found.items()
        if reader not in ("audit", "jointly")
    }
    if not behind:
        return True
    best = max(behind, key=lambda reader: behind[reader])
    ok = behind[best] <= WITHIN
    print(f"  the best other is {best}: {100 * behind[best]:+.1f} points to the audit: {'ok' if ok else 'TOO FAR'}")
    return ok


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--photographs", type=int, default=1500)
    parser.add_argument("--items", type=int, default=1500, help="of training, and of all others")
    parser.add_argument("--only", choices=list(MAKERS), action="append")
    parser.add_argument(
        "--readers",
        nargs="*",
        choices=READERS,
        default=READERS,
        help="beside the audit's; the cross-encoder takes most",
    )
    options = parser.parse_args()
    ok = True
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        for name in options.only or MAKERS:
            folder = work / name.replace(", ", "-").replace(" ", "-")
            if not (folder / "benchmark.json").exists():
                MAKERS[name](folder, options.photographs)
            for stage in AuditData(folder).stages:
                ok &= compare(name, folder, stage, options.items, options.readers)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
