"""What Adversarial Matching buys on real questions: NExT-OE, the questions of a third of its videos, by blind readers.

    python benchmarks/matching_quality.py [--part 1] [--sets paper,fours] [--sheet sheet.txt --judged 100] [--json]

Wrong choices are drawn at random, matched as the paper's equation reads, and matched by fours, with the options that
`veridical match` has unless told otherwise. The same network reads the choices alone, or with the question, through
MiniLM's vectors or hashed words; jointly it knows that each response is right once in its fold. It is trained on all
folds but the first, and tested on that, or on each in turn (`--every-fold`); videos are never on both sides. `P_rel` is
by MiniLM and hashed words, which fours weigh against, and by GloVe, a model that no matching used. Intervals are 95%,
over videos. `--sheet` writes questions for people who count second right answers: the same ones for every set, mixed,
so that nobody who reads them knows which set a line is of; that stands in the file's twin, `sheet.key`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from veridical.common.intervals import Estimate
from veridical.matching.blind_readers import accuracy, by_machine, graded, random_wrong
from veridical.matching.items import choices_of, lay_out
from veridical.matching.joint import balanced
from veridical.matching.questions import AnsweredQuestion, Columns, deal, read_table
from veridical.matching.scores.fit import fit_relevance
from veridical.matching.scores.models import PairModel, encoder
from veridical.matching.stages import StageOptions, fit_models, match_stage, responses_of

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "qa" / "next_oe_train.csv"


def some(rows: list[AnsweredQuestion], parts: int, part: int) -> list[AnsweredQuestion]:
    """The questions of a share of the videos, by a hash of their ids."""
    return [r for r in rows if int(hashlib.sha256(r.origins[0].encode()).hexdigest(), 16) % parts == part]


def mean_p(model: PairModel, wrong: np.ndarray) -> tuple[float, float]:
    """The mean P_rel of right and of wrong choices."""
    own = np.arange(wrong.shape[1])
    scores = model.of_pairs(own, own), model.of_pairs(np.tile(own, len(wrong)), wrong.reshape(-1))
    right, other = (float(model.calibration.probability(one).mean()) for one in scores)
    return right, other


def measure(
    rows: list[AnsweredQuestion], wrong: np.ndarray, readers: list[str], seed: int, every: bool
) -> dict[str, Estimate]:
    """The readers on one set of choices: on the first fold, or on every fold, each by one trained on the others."""
    laid = lay_out(wrong, rows, "answer", seed)
    found = choices_of(rows, laid)
    names = sorted(set(found.folds))
    right: dict[str, list[np.ndarray]] = {}
    groups: list[int] = []
    for fold in names if every else names[:1]:
        test = np.array([own == fold for own in found.folds])
        train, held = found.take(np.flatnonzero(~test)), found.take(np.flatnonzero(test))
        groups += list(held.groups)
        for reader in readers:
            for view, name in (("all", "choices alone"), ("question", "with the question")):
                scores = by_machine(train, held, view, encoder(reader), np.random.default_rng([seed, 7]))
                right.setdefault(f"{reader}, {name}", []).append(graded(scores, held.answer))
            jointly = graded(balanced(scores, laid.order[test]), held.answer)
            right.setdefault(f"{reader}, jointly", []).append(jointly)
    if every:
        for name, parts in right.items():
            print(f"  {name:36} by fold {' '.join(f'{100 * one.mean():.1f}' for one in parts)}", file=sys.stderr)
    return {name: accuracy(np.concatenate(parts), groups) for name, parts in right.items()}


def write_sheet(path: Path, rows: list[AnsweredQuestion], shown: dict[str, np.ndarray], number: int, seed: int) -> None:
    """Questions, right answers and wrong choices of all sets in one order, and apart from them which set each is of."""
    rng = np.random.default_rng(seed)
    lines = [
        (
            name,
            f"{rows[i].question.raw} | {rows[i].answer.raw} || {' / '.join(rows[j].answer.raw for j in wrong[:, i])}",
        )
        for i in rng.permutation(len(rows))[:number]
        for name, wrong in shown.items()
    ]
    mixed = [lines[k] for k in rng.permutation(len(lines))]
    path.write_text("".join(f"{k} {line}\n" for k, (_, line) in enumerate(mixed)))
    path.with_suffix(".key").write_text("".join(f"{k} {name}\n" for k, (name, _) in enumerate(mixed)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=DEFAULT)
    parser.add_argument("--parts", type=int, default=3, help="one of so many parts of the videos")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--folds", type=int)
    parser.add_argument("--sets", default="random,paper,fours")
    parser.add_argument("--readers", default="minilm,hashed-words")
    parser.add_argument("--every-fold", action="store_true", help="test on all folds instead of the first")
    parser.add_argument("--weight", type=float, default=StageOptions.weight, help="lambda")
    parser.add_argument("--sheet", type=Path, help="write questions of each set here, mixed, for people to judge")
    parser.add_argument("--judged", type=int, default=100, help="so many of each set")
    parser.add_argument("--draw", type=int, default=2020, help="which questions these are")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = some(read_table(args.file, Columns(group="video")).rows, args.parts, args.part)
    rows = deal(rows, args.folds, None, args.seed)
    folds = [row.fold or "" for row in rows]
    found = responses_of([r.question for r in rows], [r.answer for r in rows], [None] * len(rows), folds)
    options = StageOptions(seed=args.seed, weight=args.weight)
    models = fit_models(found, options)
    judges = {"minilm": models.relevance}
    for name in ("hashed-words", "glove"):
        rng = np.random.default_rng(args.seed)
        judges[name] = fit_relevance(name, found.queries, found.responses, found.texts, folds, rng)
    shown: dict[str, np.ndarray] = {}
    results = {}
    print(f"{len(rows):,} questions, {len(set(folds))} folds", file=sys.stderr)
    for name in args.sets.split(","):
        began = time.process_time()
        if name == "random":
            wrong = random_wrong(found.texts, found.folds, 3, np.random.default_rng([args.seed, 6]))
        else:
            wrong = match_stage(found, models, replace(options, method=name)).wrong
        made = time.process_time() - began
        scores = measure(rows, wrong, args.readers.split(","), args.seed, args.every_fold)
        relevant = {name: mean_p(model, wrong) for name, model in judges.items()}
        shown[name] = wrong
        results[name] = {"seconds": made, "P_rel": relevant, **{key: value.to_json() for key, value in scores.items()}}
        print(f"{name}: made in {made:.0f} s of processor", file=sys.stderr)
        for key, value in scores.items():
            print(f"  {key:36} {value}", file=sys.stderr, flush=True)
        for key, (right, other_p) in relevant.items():
            print(f"  {f'P_rel by {key}: right, wrong':36} {right:.3f}, {other_p:.3f}", file=sys.stderr)
    if args.sheet:
        write_sheet(args.sheet, rows, shown, args.judged, args.draw)
    if args.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
