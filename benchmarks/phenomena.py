"""How well the phenomena tagger agrees with NLVR2's hand annotations, beside an n-gram logistic regression.

    python benchmarks/phenomena.py [--development] [--data ../shared/data]

The 402 annotated sentences are split in half by a fixed seed. The rules were written with the development half only;
the held-out half is printed as totals, never as sentences, and each evaluation on it is noted in
`docs/phenomena-log.md`.
With `--development` only the first half is read, with its errors.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

from veridical.language.phenomena.pairs import PAIR_REASONING
from veridical.language.phenomena.tagger import AMBIGUITIES, PHENOMENA, SEMANTIC, pair_reasoning_many, tag_many

Rows = list[tuple[str, frozenset[str]]]
SEED = 2019
TABLE_2 = dict(zip(SEMANTIC, (66, 16, 88, 7.5, 17, 3, 66, 3, 19.5, 9.5), strict=True))  # NLVR, percent
TABLE_5 = dict(zip(SEMANTIC, (41.1, 23.6, 23.6, 16.8, 33.3, 14.6, 49, 8, 20.6, 9.6), strict=True))  # NLVR2, ACL version
TABLE_9 = dict(zip(PAIR_REASONING, (3, 19, 11, 26.5, 6), strict=True))  # NLVR2, arXiv version


def annotated(path: Path) -> Rows:
    """The annotated sentences: blocks of a sentence and its phenomena, one `* name` a line."""
    rows = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        if lines:
            rows.append((lines[0], frozenset(line.removeprefix("* ") for line in lines[1:])))
    return rows


def halves(rows: Rows) -> tuple[Rows, Rows]:
    """Development and held-out half."""
    rows = sorted(rows, key=lambda row: row[0])
    random.Random(SEED).shuffle(rows)
    return rows[: len(rows) // 2], rows[len(rows) // 2 :]


def sentences(path: Path) -> list[str]:
    """The distinct sentences of an NLVR or NLVR2 file."""
    with path.open(encoding="utf-8") as lines:
        return sorted({json.loads(line)["sentence"] for line in lines})


def ngram_baseline(train: Rows, test: Rows) -> list[frozenset[str]]:
    """One logistic regression a phenomenon over word 1- to 3-grams."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    vectorizer = CountVectorizer(ngram_range=(1, 3), binary=True, token_pattern=r"(?u)\b\w+\b")
    known = vectorizer.fit_transform([sentence for sentence, _ in train])
    unknown = vectorizer.transform([sentence for sentence, _ in test])
    predicted: list[set[str]] = [set() for _ in test]
    for name in PHENOMENA:
        model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=1000)
        model.fit(known, [name in gold for _, gold in train])
        for names, holds in zip(predicted, model.predict(unknown), strict=True):
            if holds:
                names.add(name)
    return [frozenset(names) for names in predicted]


def scores(predicted: Sequence[Sequence[str] | frozenset[str]], rows: Rows, name: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of one phenomenon."""
    pairs = [(name in ours, name in gold) for ours, (_, gold) in zip(predicted, rows, strict=True)]
    both, ours, gold = sum(a and b for a, b in pairs), sum(a for a, _ in pairs), sum(b for _, b in pairs)
    return both / max(1, ours), both / max(1, gold), 2 * both / max(1, ours + gold)


def show(title: str, predicted: Sequence[Sequence[str] | frozenset[str]], rows: Rows) -> None:
    """A table of all phenomena, and the averages."""
    print(f"\n{title} ({len(rows)} sentences)")
    print(f"  {'':24}{'precision':>10}{'recall':>8}{'F1':>8}{'marked':>8}")
    f1 = {}
    for name in PHENOMENA:
        precision, recall, f1[name] = scores(predicted, rows, name)
        marked = sum(name in gold for _, gold in rows)
        print(f"  {name:24}{precision:10.3f}{recall:8.3f}{f1[name]:8.3f}{marked:8}")
    for label, names in (("ten semantic", SEMANTIC), ("three ambiguities", AMBIGUITIES), ("all thirteen", PHENOMENA)):
        print(f"  macro F1, {label:24}{sum(f1[name] for name in names) / len(names):16.3f}")


def show_rates(data: Path) -> None:
    """The share of sentences with each phenomenon beside the papers' tables, and the speed."""
    nlvr, nlvr2 = sentences(data / "nlvr" / "dev" / "dev.json"), sentences(data / "nlvr2" / "dev.json")
    start = time.perf_counter()
    in_nlvr, in_nlvr2 = tag_many(nlvr), tag_many(nlvr2)
    rate = (len(nlvr) + len(nlvr2)) / (time.perf_counter() - start)
    print(f"\nPercent of development sentences ({len(nlvr)} NLVR, {len(nlvr2)} NLVR2); {rate:.0f} sentences a second")
    print(f"  {'':24}{'NLVR':>8}{'paper':>8}{'NLVR2':>8}{'paper':>8}")
    for name in SEMANTIC:
        ours = [100 * sum(name in names for names in tagged) / len(tagged) for tagged in (in_nlvr, in_nlvr2)]
        print(f"  {name:24}{ours[0]:8.1f}{TABLE_2[name]:8.1f}{ours[1]:8.1f}{TABLE_5[name]:8.1f}")
    kinds = pair_reasoning_many(nlvr2)
    print(f"\nPercent of NLVR2 development sentences by image-pair reasoning\n  {'':48}{'ours':>8}{'paper':>8}")
    for kind in PAIR_REASONING:
        print(f"  {kind:48}{100 * sum(kind in names for names in kinds) / len(kinds):8.1f}{TABLE_9[kind]:8.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--development", action="store_true", help="the development half only, with its errors")
    options = parser.parse_args()
    development, held_out = halves(annotated(options.data / "nlvr2" / "annotated_dev_examples.txt"))
    tagged = tag_many(sentence for sentence, _ in development)
    show("Tagger, development half", tagged, development)
    if options.development:
        for (sentence, gold), ours in zip(development, tagged, strict=True):
            wrong = [f"+{name}" for name in ours if name not in gold] + [
                f"-{name}" for name in gold if name not in ours
            ]
            if wrong:
                print(f"  {', '.join(wrong)}: {sentence}")
        return
    show("Tagger, held-out half", tag_many(sentence for sentence, _ in held_out), held_out)
    show(
        "N-gram logistic regression, trained on the development half, held-out half",
        ngram_baseline(development, held_out),
        held_out,
    )
    show_rates(options.data)


if __name__ == "__main__":
    main()
