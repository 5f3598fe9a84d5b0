"""NLVR2 from what people marked, wrote and judged: sections 3.1 to 3.4, and Table 3 of the draft."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders import BuildReport
from veridical.builders.nlvr2 import build_nlvr2
from veridical.builders.nlvr2.pairs import check_presence, check_sentence
from veridical.builders.nlvr2.people import (
    DISAGREES,
    NOT_VALIDATED,
    REPORTED,
    read_labels,
    read_marks,
    read_sentences,
    read_verdicts,
    split,
    validate,
)
from veridical.builders.nlvr2.work import PrunedSet, Sentence, Task, Verdict, item_id, read_lines
from veridical.errors import UserError
from veridical.statistics import stats


def tasks(sets: int) -> list[Task]:
    return [
        Task(f"{s}-{n}", str(s), f"synset {s % 3}", "q", tuple((f"{s}l{p}", f"{s}r{p}") for p in range(4)))
        for s in range(sets)
        for n in range(2)
    ]


def written(some: list[Task]) -> list[Sentence]:
    return [Sentence(task.task, f"Sentence {task.task}.", (0, 2), f"w{i % 5}") for i, task in enumerate(some)]


def agreeing(some: list[Task]) -> list[Verdict]:
    return [Verdict(item_id(task, p), "v", p in (0, 2)) for task in some for p in range(4)]


def test_what_the_validator_confirms_is_kept() -> None:
    some = tasks(2)
    verdicts = agreeing(some)
    verdicts[0] = Verdict("set-0-0-0", "v", False)  # the writer meant true
    verdicts[5] = Verdict("set-0-1-1", "v", "nonsense")  # the second sentence of set 0
    verdicts[8] = Verdict("set-1-0-0", "v", "skip")
    out = validate(some, written(some), verdicts)
    assert out.removed["set-0-0-0"] == ("validation", DISAGREES)
    assert {out.removed[f"set-0-{p}-1"] for p in range(4)} == {("validation", REPORTED)}
    assert out.removed["set-1-0-0"] == ("validation", NOT_VALIDATED)
    assert (out.reported, out.passed, len(out.items)) == (1, 10, 10)
    assert {k.id: k.label for k in out.items}["set-1-2-0"] == 1


def test_a_fifth_is_held_out_by_set_and_low_agreement_goes() -> None:
    some = tasks(100)
    verdicts = agreeing(some)
    out = split(validate(some, written(some), verdicts), verdicts, np.random.default_rng(0))
    held = set(out.held_out)
    assert len(held) == 160  # of 800
    assert out.missing_extra == 160
    extra = []
    for k, name in enumerate(sorted(held)):
        right = name.split("-")[2] in "02"
        wrong = k % 4  # so many of the four disagree
        extra += [Verdict(name, f"e{n}", right ^ (n < wrong), "extra") for n in range(4)]
    again = split(validate(some, written(some), verdicts), [*verdicts, *extra], np.random.default_rng(0))
    assert set(again.held_out) == held  # extra judgements do not change what is held out
    assert again.missing_extra == 0
    gone = {name for k, name in enumerate(sorted(held)) if k % 4 >= 2}
    assert again.removed.keys() == gone
    assert not gone & again.splits.keys()
    sizes = {name: sum(s == name for s in again.splits.values()) for name in ("train", "dev", "test-p", "test-u")}
    assert sizes["train"] == 640
    assert max(abs(sizes[n] - 80 / 3) for n in ("dev", "test-p", "test-u")) <= 4


@given(st.integers(4, 60), st.integers(0, 2**31))
def test_no_set_is_in_two_splits(sets: int, seed: int) -> None:
    some = tasks(sets)
    verdicts = agreeing(some)
    out = split(validate(some, written(some), verdicts), verdicts, np.random.default_rng(seed))
    where: dict[str, set[str]] = {}
    for name, part in out.splits.items():
        where.setdefault(name.split("-")[1], set()).add(part)
    assert all(len(parts) == 1 for parts in where.values())
    assert set(out.splits.values()) == {"train", "dev", "test-p", "test-u"}


def test_sets_that_share_a_photograph_stay_together() -> None:
    some = tasks(40)
    shared = [Task(t.task, t.set, t.synset, t.query, (("common", f"{t.set}r0"), *t.pairs[1:])) for t in some[:20]]
    some = [*shared, *some[20:]]
    verdicts = agreeing(some)
    out = split(validate(some, written(some), verdicts), verdicts, np.random.default_rng(0))
    assert len({out.splits[item_id(task, p)] for task in shared for p in range(4)}) == 1


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_benchmark_of_people(tmp_path: Path, build_small: Callable[..., BuildReport]) -> None:
    out, work = tmp_path / "out", tmp_path / "out.work"
    build_small(out, until="pruned")
    pruned = [json.loads(line) for line in (work / "pruned.jsonl").read_text().splitlines()]
    whole = next(one for one in pruned if not one["discarded"])
    dull = lines(tmp_path / "dull.jsonl", [{"set": whole["set"], "photograph": p} for p in whole["photographs"][:-2]])
    build_small(out, until="tasks", dull=str(dull), sentences=None, sets=None)
    made = [json.loads(line) for line in (work / "tasks.jsonl").read_text().splitlines()]
    assert whole["set"] not in {task["set"] for task in made}  # fewer than three interesting ones
    texts = ["The left image has a nice dog.", "There are more dogs in the left image."]
    rows: list[dict[str, Any]] = [
        {"task": t["task"], "sentence": texts[i % 2], "selected": [1, 3], "writer": "ann"} for i, t in enumerate(made)
    ]
    rows[0] = {"task": made[0]["task"], "flagged": "the set has duplicates"}
    sentences = lines(tmp_path / "sentences.jsonl", rows[:-1])
    said = [
        {"item": f"set-{t['set']}-{p}-{t['task'].split('-')[1]}", "worker": "bob", "verdict": p in (1, 3)}
        for t in made[1:-1]
        for p in range(4)
    ]
    said[0]["verdict"] = "nonsense"
    said[4]["verdict"] = not said[4]["verdict"]
    judgements = lines(tmp_path / "judgements.jsonl", said)
    costs = tmp_path / "costs.json"
    costs.write_text('{"sentence writing": {"cost": 7.5, "workers": 1}, "validation": {"cost": 2.5}}')
    people = {"dull": str(dull), "sentences": str(sentences), "judgements": str(judgements), "costs": str(costs)}
    report = build_small(out, sets=None, **people)
    assert report.removed == {REPORTED: 4, DISAGREES: 1}
    assert any("fewer than four extra" in note for note in report.notes)
    assert check(out).ok
    about = Benchmark(out).manifest["config"]
    assert about["interesting"] == {
        "by": "people",
        "rule": about["interesting"]["rule"],
        "marks": len(whole["photographs"]) - 2,
    }
    assert about["sentences"] == about["judgements"] == "people's"
    found = stats(out, hidden=True).to_json()
    counts = found["collection"]
    items = 4 * (len(made) - 3) - 1
    assert counts["items"] == found["items"] == items
    assert counts["sentences_reported"] == 1
    assert counts["tasks_without_sentence"] == {"no sentence was written": 1, "the set has duplicates": 1}
    assert counts["cost"]["per_item"] == pytest.approx(10 / items, abs=1e-4)
    assert found["validation"]["reported_nonsense"] == 1
    tags = {tag for i in Benchmark(out).items("train") for tag in i.tag("guideline")}
    assert "subjective opinion" in tags
    report = build_small(out, until="extra", sets=None, **people)
    assert len((work / "extra.jsonl").read_text().splitlines()) > 0


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"task": "9-0", "sentence": "A.", "selected": [0, 1], "writer": "w"}, "no task '9-0'"),
        ({"task": "0-0", "sentence": " ", "selected": [0, 1], "writer": "w"}, "sentence is empty"),
        ({"task": "0-0", "sentence": "A.", "selected": [0, 0], "writer": "w"}, "two of 0 to 3"),
        ({"task": "0-0", "sentence": "A.", "selected": [0, 4], "writer": "w"}, "two of 0 to 3"),
        ({"task": "0-0", "sentence": "A.", "selected": [0, 1, 2], "writer": "w"}, "two of 0 to 3"),
        ({"task": "0-0", "sentence": "A\u0007.", "selected": [0, 1], "writer": "w"}, "U\\+0007"),
        ({"task": "0-0", "sentence": "A.", "selected": [0, 1]}, "writer is empty"),
        ({"sentence": "A."}, "task"),
    ],
)
def test_bad_sentences_are_refused_by_line(tmp_path: Path, row: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=f"line 1.*{problem}"):
        read_sentences(lines(tmp_path / "s.jsonl", [row]), tasks(1))


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"item": "set-9-0-0", "worker": "v", "verdict": True}], "line 1.*no item"),
        ([{"item": "set-0-0-0", "worker": "v", "verdict": "maybe"}], "line 1.*verdict"),
        ([{"item": "set-0-0-0", "worker": "v", "verdict": True, "kind": "own"}], "line 1.*kind"),
        ([{"item": "set-0-0-0", "worker": "v", "verdict": True}] * 2, "line 2.*second judgement"),
        ([{"item": "set-0-0-0", "worker": w, "verdict": True} for w in "ab"], "line 2.*second validation"),
    ],
)
def test_bad_judgements_are_refused_by_line(tmp_path: Path, rows: list[dict[str, Any]], problem: str) -> None:
    some = tasks(1)
    with pytest.raises(UserError, match=problem):
        read_verdicts(lines(tmp_path / "j.jsonl", rows), {t.task: t for t in some}, written(some))


def test_marks_and_labels_of_what_is_not_there_are_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('\n\n{"set": "3", "photograph": "a", "reason": "collage"}\n')
    assert read_marks(path, [PrunedSet("3", "s", "q", ("b",), {"a": "gone"})]) == {("3", "a"): "collage"}
    with pytest.raises(UserError, match="line 3: there is no set '3'"):
        read_marks(path, [PrunedSet("4", "s", "q", ("a",))])
    with pytest.raises(UserError, match="line 3: set 3 has no photograph 'a'"):
        read_marks(path, [PrunedSet("3", "s", "q", ("b",))])
    path.write_text('\n{"photograph": "a", "interesting": true}\n')
    assert read_labels(path, {"a"}) == {"a": True}
    with pytest.raises(UserError, match="line 2: there is no photograph 'a'"):
        read_labels(path, {"b"})


def test_lines_are_counted_with_the_empty_ones(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('\n\n{"task": "9-0", "sentence": "A.", "selected": [0, 1], "writer": "w"}\n')
    with pytest.raises(UserError, match="line 3: there is no task"):
        read_sentences(tmp_path / "s.jsonl", tasks(1))
    (tmp_path / "j.jsonl").write_text('\n{"item": "set-9-0-0", "worker": "v", "verdict": true}\n')
    with pytest.raises(UserError, match="line 2: there is no item"):
        read_verdicts(tmp_path / "j.jsonl", {t.task: t for t in tasks(1)}, written(tasks(1)))


def test_nothing_left_is_said_with_its_reason() -> None:
    some = tasks(6)
    verdicts = agreeing(some)
    extra = [Verdict(v.item, f"e{n}", not v.verdict, "extra") for v in verdicts for n in range(4)]
    with pytest.raises(UserError, match="No item is left: 48 went for"):
        split(validate(some, written(some), verdicts), [*verdicts, *extra], np.random.default_rng(0), {"dev": 1.0})
    some = tasks(30)
    verdicts = agreeing(some)
    extra = [Verdict(v.item, f"e{n}", not v.verdict, "extra") for v in verdicts for n in range(4)]
    with pytest.raises(UserError, match=r"Only 0 of the sets that were held out are left.* went for"):
        split(validate(some, written(some), verdicts), [*verdicts, *extra], np.random.default_rng(0))


def test_people_judge_generated_sentences(small: Path, tmp_path: Path, build_small: Callable[..., BuildReport]) -> None:
    work = shutil.copytree(small.with_name("icons.work"), tmp_path / "out.work")
    said = [json.loads(line) for line in (work / "judgements.jsonl").read_text().splitlines()]
    rows = [{"item": one["item"], "worker": "ann", "verdict": one["verdict"]} for one in said]
    rows[0]["verdict"] = not rows[0]["verdict"]
    judged = lines(tmp_path / "j.jsonl", rows)
    report = build_small(tmp_path / "out", judgements=judged, hide=())
    assert report.removed == {DISAGREES: 1}
    assert any("fewer than four extra" in note for note in report.notes)
    about = Benchmark(tmp_path / "out").manifest["config"]
    assert (about["sentences"], about["judgements"]) == ("generated", "people's")
    assert set(Benchmark(tmp_path / "out").judgements_table()["worker"].to_pylist()) == {"ann"}
    opened = Benchmark(tmp_path / "out")
    hidden = {i.id for i in opened.items("test-u")}
    against = [row | {"verdict": not row["verdict"], "kind": "extra"} for row in rows if row["item"] in hidden]
    more = [*rows, *against, *(row | {"worker": "bob"} for row in against)]
    with pytest.raises(UserError, match="No item of test-u is left to hide: "):
        build_small(tmp_path / "x", work=work, judgements=lines(tmp_path / "w.jsonl", more))
    assert not (tmp_path / "x").exists()


def test_a_sentence_with_a_program_is_generated_and_a_secret_changes_nothing_that_is_written(
    small: Path, tmp_path: Path, build_small: Callable[..., BuildReport]
) -> None:
    work = shutil.copytree(small.with_name("icons.work"), tmp_path / "out.work")
    rows = [json.loads(line) for line in (work / "sentences.jsonl").read_text().splitlines()]
    rows[0] |= {"program": None, "phenomena": [], "kind": "", "writer": "ann"}
    said = [json.loads(line) | {"worker": "bob"} for line in (work / "judgements.jsonl").read_text().splitlines()]
    given = {"sentences": lines(tmp_path / "s.jsonl", rows), "judgements": lines(tmp_path / "j.jsonl", said)}
    report = build_small(tmp_path / "out", secret="random", **given)
    assert any("--secret has no effect" in note for note in report.notes)
    about = Benchmark(tmp_path / "out").manifest["config"]
    assert about["secret"] is False
    assert about["sentences"] == {"generated": len(rows) - 1, "people's": 1}
    assert not (tmp_path / "out.hidden" / "secret.txt").exists()


def test_people_write_about_pictures_that_a_secret_drew(
    tmp_path: Path, build_small: Callable[..., BuildReport]
) -> None:
    build_small(tmp_path / "out", secret="random", until="judgements")
    work = tmp_path / "out.work"
    before = (work / "tasks.jsonl").read_bytes()
    given = {name: tmp_path / f"{name}.jsonl" for name in ("sentences", "judgements")}
    for path in given.values():
        shutil.copy(work / path.name, path)
    report = build_small(tmp_path / "out", secret="random", **given)
    assert not any("no effect" in note for note in report.notes)
    assert (work / "tasks.jsonl").read_bytes() == before
    assert Benchmark(tmp_path / "out").manifest["config"]["secret"] is True
    kept = (tmp_path / "out.hidden" / "secret.txt").read_text().strip()
    assert kept == (work / "secret.txt").read_text().strip()


@pytest.mark.parametrize(
    ("sentence", "warnings"),
    [
        ("The dog's fur has a nice color pattern.", ("subjective opinion",)),
        ("In both images, the cat's paw is cropped out of the photo.", ("property of the photograph",)),
        ("Both trains are numbered 72.", ("text in the photograph",)),
        ("There is a hammer.", ("presence of a single object",)),
        ("The left image contains a penguin, and the right image contains a rock.", ("disjunction over the images",)),
        ("There are two trains in total traveling in the same direction.", ()),
        ("One photo shows several acorns laying loosely on the grass.", ()),
        ("The left image contains twice the number of dogs as the right image.", ()),
    ],
)
def test_the_guidelines_of_table_3(sentence: str, warnings: tuple[str, ...]) -> None:
    assert check_sentence(sentence) == warnings


def test_few_sentences_of_the_release_break_the_guidelines(shared: Path) -> None:
    texts = {json.loads(line)["sentence"] for line in (shared / "nlvr2" / "dev.json").read_text().splitlines()}
    flagged = sum(bool(check_sentence(text)) for text in texts)
    assert 0.01 < flagged / len(texts) < 0.13  # 87% of 100 sentences follow them (section 3.5 of the draft)


def test_finding_an_object_must_not_decide_a_sentence() -> None:
    pairs = [{"cup", "chair"}, {"cup", "chair"}, {"cup"}, {"table"}]
    truth = [True, True, False, False]
    assert check_presence("There is a cup on top of a chair.", pairs, truth) == ("object identification",)
    assert check_presence("There is a cup on top of a table.", pairs, truth) == ()


def test_a_benchmark_of_addresses_alone(tmp_path: Path) -> None:
    """What an image search answered, with people for everything else: no photograph is here."""
    (tmp_path / "synsets.txt").write_text("acorn\nbeagle\n")
    results = [
        {
            "query": query,
            "rank": rank,
            "address": f"https://example.org/{query[4]}{rank}-0.jpg",
            "similar": [f"https://example.org/{query[4]}{rank}-{k}.jpg" for k in range(1, 12)],
        }
        for query in ("two acorns", "two beagles")
        for rank in range(1, 4)
    ]
    search = lines(tmp_path / "search.jsonl", results)
    gone = lines(
        tmp_path / "removals.jsonl", [{"set": "0", "photograph": "https://example.org/a1-3.jpg", "reason": "collage"}]
    )
    dull = lines(tmp_path / "dull.jsonl", [{"set": "1", "photograph": "https://example.org/a2-0.jpg"}])
    given: dict[str, Any] = {"source": "none", "search": search, "synsets": tmp_path / "synsets.txt"}
    given |= {"removals": gone, "dull": dull, "vectors": "none", "split": {"train": 2, "dev": 1}}
    out = tmp_path / "out"
    build_nlvr2(out, until="tasks", **given)
    made = read_lines(tmp_path / "out.work" / "tasks.jsonl", Task)
    assert len(made) == 12
    shown = {name for task in made for pair in task.pairs for name in pair}
    assert "https://example.org/a1-3.jpg" not in shown
    assert "https://example.org/a2-0.jpg" not in shown  # not interesting, and eight others are
    sentences = lines(
        tmp_path / "s.jsonl", [{"task": t.task, "sentence": "A b.", "selected": [0, 1], "writer": "w"} for t in made]
    )
    said = [{"item": item_id(t, p), "worker": "v", "verdict": p < 2} for t in made for p in range(4)]
    build_nlvr2(out, sentences=sentences, judgements=lines(tmp_path / "j.jsonl", said), **given)
    opened = Benchmark(out)
    assert sum(opened.manifest["counts"]["items"]["main"].values()) == 48
    assert {panel.uri for panel in opened.panels.values()} == shown
    assert all(panel.image is None for panel in opened.panels.values())
    assert opened.manifest["config"]["similarity"] == "a saved search"
    assert opened.manifest["config"]["collection"]["images_removed"] == {"collage": 1}
    assert check(out).ok
