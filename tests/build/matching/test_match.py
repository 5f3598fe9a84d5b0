"""`veridical.match` as a whole: what every matched set promises, whatever the models."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

import veridical
from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.build.matching.stage import normal
from veridical.build.matching.verb import rematch
from veridical.errors import UserError
from veridical.records import Item, Text

PLAIN = {"relevance": "hashed-words", "similarity": "hashed-words"}
LEXICAL = {"relevance": "bm25", "similarity": "tfidf"}


def words(item: Item) -> list[str]:
    return [normal(text.raw) for text in item.candidates if isinstance(text, Text)]


@pytest.mark.parametrize("models", [PLAIN, LEXICAL, {**PLAIN, "kinds": 0, "learned": False}])
def test_every_answer_is_right_once_and_wrong_three_times_within_its_fold(
    qa_file: Path, tmp_path: Path, models: dict[str, object]
) -> None:
    report = veridical.match(qa_file, tmp_path / "out", group="video", folds=3, **models)
    assert report.gap <= 1e-3
    assert report.pairs == 120
    opened = Benchmark(tmp_path / "out")
    assert check(tmp_path / "out").ok
    assert set(opened.splits()) == {"train", "val", "test"}
    for split in opened.splits():  # with three folds a split is a fold
        right, wrong = Counter(), Counter()
        for item in opened.items(split):
            texts = words(item)
            assert len(set(texts)) == 4
            assert item.answer is not None
            right[texts[item.answer]] += 1
            wrong.update(text for k, text in enumerate(texts) if k != item.answer)
        assert wrong == Counter({text: 3 * count for text, count in right.items()})


def test_the_same_seed_gives_the_same_bytes_and_another_another_order(qa_file: Path, tmp_path: Path) -> None:
    hashes = []
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        veridical.match(qa_file, tmp_path / name, group="video", folds=3, seed=seed, **LEXICAL)
        hashes.append(Benchmark(tmp_path / name).hash)
    assert hashes[0] == hashes[1] != hashes[2]


def test_tables_hold_choices_and_labels(qa_file: Path, tmp_path: Path) -> None:
    veridical.match(qa_file, tmp_path / "out.csv", group="video", folds=3, **LEXICAL)
    veridical.match(qa_file, tmp_path / "out.jsonl", group="video", folds=3, **LEXICAL)
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    given = list(csv.DictReader(qa_file.open(newline="")))
    assert [row[f"answer_{row['answer_label']}"] for row in rows] == [row["answer"] for row in given]
    read = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [str(row["answer_label"]) for row in read] == [row["answer_label"] for row in rows]


def test_rationales_make_one_answer_item_and_four_rationale_items(qa_file: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(qa_file.open(newline="")))
    lines = [json.dumps({**row, "why": f"I see {row['question'][-9:]} and {row['answer']}"}) for row in rows]
    (tmp_path / "qa.jsonl").write_text("\n".join(lines))
    options = {"rationale": "why", "group": "video", "folds": 3, "hidden": ["test"], **PLAIN}
    veridical.match(tmp_path / "qa.jsonl", tmp_path / "out", **options)
    assert check(tmp_path / "out").ok
    opened = Benchmark(tmp_path / "out")
    items = list(opened.items("train"))
    assert len(items) == 5 * len({item.group for item in items})
    answer = items[0]
    reasons = items[1:5]
    assert [reason.parent for reason in reasons] == [answer.id] * 4
    assert [reason.given for reason in reasons] == [0, 1, 2, 3]
    assert [reason.answer is not None for reason in reasons] == [k == answer.answer for k in range(4)]
    assert all(item.answer is None and not item.tag("borrowed") for item in opened.items("test"))
    assert any(item.tag("borrowed") for item in opened.items("test", answers=True))


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([("why?", "so")] * 8, {"folds": 1}, "All 8 answers are 'so'"),
        ([(f"why {k}?", f"so {k}") for k in range(3)], {"folds": 1}, "has 3 questions"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"folds": 4}, "has 3 questions"),
        ([(f"why {k}?", "yes" if k < 4 else f"so {k}") for k in range(12)], {"folds": 1}, "4 of 12 answers are 'yes'"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"folds": 20}, "12 groups cannot fill 20 folds"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"folds": 2, "splits": {"a": 1.0}}, "Both --folds and --split"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"folds": 1, "hidden": ["test"]}, "no split 'test' to hide"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"kinds": 2}, "Kinds of 2 questions"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"seed": -1}, "The seed is -1"),
    ],
)
def test_what_cannot_be_matched_is_refused_and_nothing_is_written(
    tmp_path: Path, rows: list[tuple[str, str]], options: dict[str, object], message: str
) -> None:
    (tmp_path / "qa.csv").write_text("question,answer\n" + "".join(f"{q},{a}\n" for q, a in rows))
    with pytest.raises(UserError, match=message):
        veridical.match(tmp_path / "qa.csv", tmp_path / "out", **{**LEXICAL, **options})
    assert not (tmp_path / "out").exists()


def test_a_file_with_folds_keeps_them_and_groups_may_not_cross(tmp_path: Path) -> None:
    lines = [f"why {k}?,so {k},{'dev' if k % 2 else 'train'},m{k % 4}" for k in range(20)]
    (tmp_path / "qa.csv").write_text("question,answer,fold,movie\n" + "\n".join(lines))
    report = veridical.match(tmp_path / "qa.csv", tmp_path / "out", group="movie", **LEXICAL)
    assert report.splits == {"dev": 10, "train": 10}
    (tmp_path / "qa.csv").write_text("question,answer,fold,movie\n" + "\n".join(lines).replace("m3", "m0"))
    with pytest.raises(UserError, match="The group 'm0' is in the folds"):
        veridical.match(tmp_path / "qa.csv", tmp_path / "out2", group="movie", **LEXICAL)


def test_splits_by_share_are_folds(qa_file: Path, tmp_path: Path) -> None:
    report = veridical.match(qa_file, tmp_path / "out", group="video", splits={"train": 3, "dev": 1}, **LEXICAL)
    assert report.splits == {"dev": 30, "train": 90}
    assert report.folds == 2


def test_gd_vcr_imports_evaluates_and_matches_anew(shared: Path, tmp_path: Path) -> None:
    veridical.import_release("vcr", shared / "vcr" / "gd_vcr_val.jsonl", out=tmp_path / "gd")
    old = {item.id: item for item in Benchmark(tmp_path / "gd").items("val")}
    report = rematch(tmp_path / "gd", tmp_path / "new", integrity=True, **PLAIN)
    assert check(tmp_path / "new").ok
    assert report.pairs >= 0.98 * len(old)
    biases = {bias.name: bias for bias in report.integrity}
    assert set(biases) == {"length", "overlap", "tags"}  # one fold: nothing is fitted
    assert biases["tags"].before is not None
    opened = Benchmark(tmp_path / "new")
    lines, moved = [], 0
    for item in opened.items("val"):
        assert item.answer is not None
        assert item.query == old[item.id].query
        assert item.candidates[item.answer] == old[item.id].candidates[old[item.id].answer or 0]
        objects = {one.id for one in opened.panels[item.panels[0]].objects}
        tags = [o for text in item.candidates if isinstance(text, Text) for t in text.tokens if not isinstance(t, str)
                for o in t.objects]  # fmt: skip
        assert set(tags) <= objects
        moved += len(tags)
        lines.append(json.dumps({"item": item.id, "scores": [float(k == item.answer) for k in range(4)]}))
    assert moved > 500
    (tmp_path / "p.jsonl").write_text("\n".join(lines) + "\n")
    assert veridical.evaluate(tmp_path / "new", tmp_path / "p.jsonl").accuracy.value == 1.0
