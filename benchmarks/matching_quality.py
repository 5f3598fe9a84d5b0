"""What Adversarial Matching buys on real questions: NExT-OE's 37,523 pairs, by machines that see more and less.

    python benchmarks/matching_quality.py [--file ../shared/data/qa/next_oe_train.csv] [--json]

Wrong choices are drawn at random; nearest to the question (not matched: texts repeat as wrong choices as they
please); matched as the paper's equation reads; and matched by fours, which is the
default. The same network sees one response at a time, all four, or all four and the
question; it is trained on eight folds and tested on three, videos apart. Intervals are 95%, over videos.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from veridical.common.intervals import Estimate
from veridical.matching.blind_readers import accuracy, by_machine, graded, random_wrong
from veridical.matching.items import choices_of, lay_out
from veridical.matching.questions import AnsweredQuestion, Columns, deal, read_table
from veridical.matching.report import frequency_in, lengths
from veridical.matching.scores.models import encoder
from veridical.matching.stages import Models, Responses, StageOptions, fit_models, match_stage, responses_of

TESTED = ("0", "1", "2")
DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "qa" / "next_oe_train.csv"


def nearest(found: Responses, models: Models, wrong: int) -> np.ndarray:
    """(wrong, N) the most relevant other texts of the fold, each question for itself."""
    out = np.zeros((wrong, len(found)), np.int64)
    for fold in sorted(set(found.folds)):
        here = found.rows(fold)
        texts = found.texts[here]
        scores = np.array(models.relevance.scores(here).block(0, len(here)))
        scores[texts[:, None] == texts[None, :]] = -np.inf
        for k in range(wrong):
            best = scores.argmax(1)
            out[k, here] = here[best]
            scores[texts[best][:, None] == texts[None, :]] = -np.inf
    return out


def make(name: str, found: Responses, models: Models | None, options: StageOptions) -> tuple[np.ndarray, float]:
    """(wrong, N) wrong choices of one kind, and the certified gap where they were matched."""
    if models is None or name == "random":
        return random_wrong(found.texts, found.folds, 3, np.random.default_rng([options.seed, 6])), np.nan
    if name == "nearest":
        return nearest(found, models, 3), np.nan
    matched = match_stage(found, models, replace(options, method=name))
    return matched.wrong, matched.gap


def measure(rows: list[AnsweredQuestion], wrong: np.ndarray, views: list[str], seed: int) -> dict[str, Estimate]:
    """Machines and plain cues on one set of choices."""
    found = choices_of(rows, lay_out(wrong, rows, "answer", seed))
    test = np.isin(np.asarray(found.folds, dtype=object), TESTED)
    train, held = found.take(np.flatnonzero(~test)), found.take(np.flatnonzero(test))
    vectors = encoder("minilm")
    out: dict[str, Estimate] = {}
    for view in views:
        scores = by_machine(train, held, view, vectors, np.random.default_rng([seed, 7]))
        out[view] = accuracy(graded(scores, held.answer), held.groups)
    out["frequency"] = accuracy(graded(frequency_in(train)(held), held.answer), held.groups)
    out["longest"] = accuracy(graded(lengths(held), held.answer), held.groups)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=DEFAULT)
    parser.add_argument("--pairs", type=int, default=0, help="only the first so many, for a quick look")
    parser.add_argument("--sets", default="random,nearest,paper,fours")
    parser.add_argument("--views", default="alone,all,question")
    parser.add_argument("--work", type=Path, help="a folder that keeps the choices, to measure them in parts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = read_table(args.file, Columns(group="video")).rows
    rows = deal(rows[: args.pairs] if args.pairs else rows, 11, None, args.seed)
    found = responses_of(
        [r.question for r in rows], [r.answer for r in rows], [None] * len(rows), [r.fold or "" for r in rows]
    )
    options = StageOptions(seed=args.seed)
    models: Models | None = None
    results = {}
    for name in args.sets.split(","):
        began = time.perf_counter()
        kept = None if args.work is None else args.work / f"wrong-{name}-{len(rows)}-{args.seed}.npz"
        if kept is not None and kept.exists():
            loaded = np.load(kept)
            wrong, gap = loaded["wrong"], float(loaded["gap"])
        else:
            if models is None and name != "random":
                models = fit_models(found, options)
                print(f"P_rel, P_sim: {json.dumps(models.to_json())}", file=sys.stderr)
            wrong, gap = make(name, found, models, options)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                np.savez(kept, wrong=wrong, gap=gap)
        made = time.perf_counter() - began
        scores = measure(rows, wrong, [view for view in args.views.split(",") if view], args.seed)
        results[name] = {
            "gap": None if np.isnan(gap) else gap,
            "seconds": made,
            **{key: value.to_json() for key, value in scores.items()},
        }
        cells = "  ".join(f"{key} {value}" for key, value in scores.items())
        proof = "" if np.isnan(gap) else f"  gap {gap:.3%}"
        print(f"{name:8} {cells}{proof}  made in {made:.0f} s", file=sys.stderr, flush=True)
    if args.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
