"""`veridical.statistics` on the real files and on small benchmarks with known numbers."""

from __future__ import annotations

import json

import msgspec
import pytest
from tests.commands import Ran, invoke

import veridical.statistics
from veridical.errors import UserError
from veridical.records import Judgement, Pruned, pairs
from veridical.statistics import stats
from veridical.statistics.summary import Share


def test_nlvr2_development_split(nlvr2):
    found = stats(nlvr2).to_json()
    assert (found["items"], found["groups"]) == (6982, 2018)
    assert found["human"]["mean"] == pytest.approx(0.9625, abs=5e-5)
    assert (found["human"]["workers"], found["labels"]) == (51, {"false": 3431, "true": 3551})
    assert found["agreement"]["alpha"] == pytest.approx(0.8933, abs=5e-5)
    assert found["agreement"]["kappa"] == pytest.approx(0.8934, abs=2e-4)
    assert found["agreement"]["after"]["items"] == 6981
    assert found["synsets"]["number"] == 124
    assert found["synsets"]["mean"] == pytest.approx(6982 / 124)
    assert (found["judgements"], found["workers"], found["writers"]) == ({"validation": 6982, "extra": 27815}, 113, 74)
    checks = found["validation"]
    assert (checks["self_validated"]["rate"], checks["relabelled"]["rate"]) == (676 / 6982, None)
    assert checks["extra_agreement"]["first_validator"] == {"rate": 1389 / 1396, "of": 1396}
    assert checks["selection"] is None
    assert found["splits"]["dev"]["groups"] == 2018


def test_nlvr_public_splits(nlvr):
    found = stats(nlvr).to_json()
    train, dev = found["splits"]["train"], found["splits"]["dev"]
    assert (train["single_label_groups"], train["groups"]) == (409, 3163)
    assert (dev["single_label_groups"], dev["groups"]) == (21, 267)
    assert (found["items"], found["groups"], found["single_label_groups"]) == (13397, 3430, 430)
    assert dev["agreement"]["alpha"] == pytest.approx(0.7995, abs=5e-5)
    assert dev["agreement"]["low"] < dev["agreement"]["alpha"] < dev["agreement"]["high"]
    assert dev["agreement"]["after"]["removed"] == {}
    assert train["agreement"] == {"alpha": None, "kappa": None}
    assert train["human"] == {"mean": None, "std": None, "workers": 0}
    assert dev["validation"]["relabelled"] == {"rate": 72 / 989, "of": 989}
    assert train["validation"]["relabelled"] == {"rate": 1789 / 12408, "of": 12408}
    assert dev["validation"]["selection"].startswith("inferred from the released ids")


def test_the_package_is_the_verb(nlvr2):
    assert veridical.stats(nlvr2, split="dev") == stats(nlvr2, split="dev")


def selected(item: str, writer: str, verdict: int) -> Judgement:
    return Judgement(item, writer, verdict, "selection")


def test_pruned_items_count_before_pruning(make, statement):
    """Items a to c stay; d was removed by extra judgements, e by its validator, f as nonsense."""
    items = [statement(n, int(n != "b"), writer="w", group="g") for n in "abc"]
    judgements = [selected(n, "w", int(n != "b")) for n in "abcdef"]
    first = {"a": ("w", 1), "b": ("v", 0), "c": ("v", 1), "d": ("v", 1), "e": ("v", 0), "f": ("v", "nonsense")}
    judgements += [Judgement(n, worker, verdict, "validation") for n, (worker, verdict) in first.items()]
    extra = {"a": "1111", "b": "0001", "c": "1111", "d": "1100"}
    judgements += [Judgement(n, f"x{k}", int(v), "extra") for n, said in extra.items() for k, v in enumerate(said)]
    pruned = [Pruned("d", "two or more extra judgements disagree", "agreement"), Pruned("e", "disagrees", "validation")]
    benchmark = make(items, judgements, pruned=[*pruned, Pruned("f", "nonsense", "validation")])
    found = stats(benchmark.directory)
    assert (found.total.items, found.total.agreement.items, found.total.agreement.after.items) == (3, 4, 3)
    assert found.total.agreement.after.removed == {"two or more extra judgements disagree": 1}
    assert found.total.agreement.after.alpha > found.total.agreement.alpha
    assert found.splits["dev"].agreement.items == 3
    checks = found.total.validation
    assert (checks.items, checks.reported_nonsense) == (6, 1)
    assert checks.disagreement == Share(0.2, 5)
    assert checks.self_validated == Share(1 / 6, 6)
    assert (checks.self_agreement.rate, checks.other_agreement.rate) == (1, 0.75)
    assert found.pruned == {
        "agreement: two or more extra judgements disagree": 1,
        "validation: disagrees": 1,
        "validation: nonsense": 1,
    }


def test_a_program_is_no_worker_and_no_writer(make, statement):
    items = [statement(n, 1, writer=who) for n, who in (("a", "generator"), ("b", "program"), ("c", "w1"))]
    judgements = [Judgement(n, worker, 1, "validation") for n in "abc" for worker in ("program", "v1")]
    found = stats(make(items, judgements).directory).total
    assert (found.writers, found.workers, found.judgements) == (1, 1, {"validation": 3})
    assert found.validation.self_validated == Share(0.0, 1)  # of what a person wrote
    alone = stats(make(items, [j for j in judgements if j.worker == "program"]).directory).total
    assert (alone.workers, alone.validation, alone.judgements) == (0, None, {})


def test_hidden_labels_stay_hidden(make, statement):
    items = [statement(f"{n}", n % 2, group="g") for n in range(4)]
    benchmark = make({"dev": items[:2], "test": items[2:]}, hidden=["test"])
    public, known = stats(benchmark.directory), stats(benchmark.directory, hidden=True)
    assert (public.splits["test"].labels, public.splits["test"].single_label_groups) == ({}, None)
    assert public.splits["test"].hidden
    assert known.splits["test"].labels == {"false": 1, "true": 1}
    assert public.total.labels == {"false": 1, "true": 1}


def test_groups_and_tags(make, statement):
    answers = [0, 0, 0, 1, 1]
    items = [
        statement(f"{n}", a, group=g, tags=pairs(synset=s, phenomenon="negation"))
        for n, (a, g, s) in enumerate(zip(answers, "xxyyz", ("dog", "dog", "cat", "dog", "ant"), strict=True))
    ]
    found = stats(make(items).directory).total
    assert (found.groups, found.single_label_groups, found.items_per_group) == (3, 2, 5 / 3)
    assert found.synsets.most == {"dog": 3, "ant": 1, "cat": 1}
    assert list(found.synsets.least) == ["cat", "ant", "dog"]
    assert found.synsets.mean == pytest.approx(5 / 3)


def test_json_is_plain_and_repeats(nlvr2):
    first, again = (msgspec.json.encode(stats(nlvr2).to_json()) for _ in range(2))
    assert first == again
    assert b"NaN" not in first


def test_unknown_split_and_damaged_judgements(make, statement, tmp_path):
    benchmark = make([statement("a")], [Judgement("a", "w", "maybe", "validation")])
    with pytest.raises(UserError, match="no split 'test'"):
        stats(benchmark.directory, split="test")
    with pytest.raises(UserError, match="'maybe'"):
        stats(benchmark.directory)
    with pytest.raises(UserError, match="not a benchmark"):
        stats(tmp_path / "nowhere")


def run(*arguments: str) -> Ran:
    done = invoke("stats", *arguments)
    assert done.exit_code == 0, done.stderr
    return done


def test_command_line(nlvr2, tmp_path):
    (tmp_path / "short.txt").write_text("A dog.\nTwo dogs run.\n")
    for_people = run(str(nlvr2), "--compare", str(tmp_path / "short.txt"))
    for words in ("96.25 ± 2.12%", "96.28 ± 2.13%", "2,018", "short", "0.893 [0.8"):
        assert words in for_people.stdout
    assert "all extra judgements" in for_people.stdout
    found = json.loads(run(str(nlvr2), "--json", "--compare", str(tmp_path / "short.txt")).stdout)
    assert found["human"]["workers"] == 51
    assert [c["name"] for c in found["compare"]] == ["short"]


def test_command_line_says_what_is_inferred(nlvr):
    assert "What the writer selected is inferred from the released ids" in run(str(nlvr)).stderr


def test_command_line_shows_every_kind_of_number(make, statement):
    """Votes, skips, pruned items and hidden labels have their rows, and nothing fails where a number is missing."""
    items = {"dev": [statement("a", 1), statement("b", 0)], "test": [statement("c", 1)]}
    judgements = [Judgement("a", "w", 1, "human"), Judgement("b", "w", "skip", "human")]
    benchmark = make(items, judgements, hidden=["test"], pruned=[Pruned("x", "blurred")])
    shown = run(str(benchmark.directory)).stdout
    for words in ("hidden", "skipped", "50.00%", "blurred", "with skips as wrong"):
        assert words in shown
