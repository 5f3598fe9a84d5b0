"""Whole collections by simulated people, from pictures to a checked benchmark; the large ones are soaks.

What comes out is compared with what their skill implies, and every cent with what was done for it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.web.collect.memory import MemoryStore

import veridical
from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders.vprom import build_vprom
from veridical.common.files import read_lines
from veridical.errors import UserError
from veridical.options.building import Mining
from veridical.options.collecting import CollectOptions, RunningOptions
from veridical.statistics import human_performance
from veridical.statistics.human import worker_scores
from veridical.statistics.judgements import load_judged
from veridical.web.collect.rehearsal.people import CHARACTERS, Person, crowd
from veridical.web.collect.rehearsal.run import Rehearsed, rehearse, rehearse_on
from veridical.web.collect.starting import init, open_project

SPAM = replace(CHARACTERS[-1], share=0.15)


def changed(folder: Path, **fields: Any) -> None:
    """A project as its requester edits it."""
    path = folder / "project.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def rehearsed(folder: Path, workers: int, **more: Any) -> tuple[Rehearsed, MemoryStore, list[Person]]:
    store = MemoryStore()
    people = crowd(workers, 5, (*CHARACTERS[:-1], SPAM))
    out = folder.with_name(f"{folder.name}-out")
    out.mkdir()
    return rehearse_on(store, folder, out, people, seed=5, **more), store, people


def add_up(found: Rehearsed, store: Any, folder: Path) -> None:
    """Every mill of the ledger is for something that was done, at its price, once."""
    project, _ = open_project(folder)
    with store.look(project.name) as tx:
        answers, payments, reviews = list(tx.answers()), tx.payments(), tx.reviews()
    paid = Counter(p.why for p in payments)
    tasks = [a for a in answers if a.purpose != "qualification" and not a.value.get("flag")]
    worth = sum(project.pay[a.kind] * (len(a.value["questions"]) if a.kind == "questions" else 1) for a in tasks)
    worth += sum(project.pay.get("flag", 0) for a in answers if a.value.get("flag") and a.purpose == "work")
    assert sum(p.mills for p in payments if p.why == "task") == worth
    bonuses = 0
    for (worker, number), some in _by(reviews, lambda r: (r.worker, r.round)).items():
        looked = [r.follows for r in some if r.about == "round"]
        if looked and None not in looked:
            share = sum(looked) / len(looked)
            each = next((b["mills"] for b in _ladder(project) if share >= b["least"]), 0)
            mine = [
                a for a in answers if a.worker == worker and a.round == number and a.purpose == "work" and not a.void
            ]
            bonuses += each * sum(_sentences(a) for a in mine)
    assert sum(p.mills for p in payments if p.why == "bonus") <= bonuses or not project.bonuses
    roles = {one.name: one.pay for one in project.roles}
    earned = sum(roles[p.id.split(":")[1]] for p in payments if p.why == "qualification")
    assert sum(p.mills for p in payments if p.why == "qualification") == earned
    total = sum(p.mills for p in payments)
    assert found.progress.cost == total
    assert found.exported.statistics.mills == total
    costs = json.loads((found.exported.out / "costs.json").read_text())
    assert round(1000 * sum(one["cost"] for one in costs.values())) == total
    assert paid["task"] == len([a for a in answers if a.purpose != "qualification" and project.pay.get(_paid_as(a))])


def _paid_as(answer: Any) -> str:
    return "flag" if answer.value.get("flag") else answer.kind


def _ladder(project: Any) -> list[dict[str, Any]]:
    return sorted(({"least": b.least, "mills": b.mills} for b in project.bonuses), key=lambda b: -b["least"])


def _sentences(answer: Any) -> int:
    if answer.kind == "questions":
        return len(answer.value["questions"])
    return int(bool(answer.value.get("sentence")))


def _by(some: Any, key: Any) -> dict[Any, list[Any]]:
    out: dict[Any, list[Any]] = defaultdict(list)
    for one in some:
        out[key(one)].append(one)
    return out


def agree_as_their_skill_implies(found: Rehearsed, people: list[Person], margin: float) -> None:
    """Pairs of judgements on an item agree about as often as the skills of the two people say."""
    skill = {one.worker: one.character.skill if one.character.honest else 0.5 for one in people}
    said = _by(read_lines(found.exported.out / "judgements.jsonl", dict[str, Any]), lambda line: line["item"])
    pairs = [(a, b) for some in said.values() for a, b in combinations(some, 2)]
    assert len(pairs) > 20
    expected = [skill[a["worker"]] * skill[b["worker"]] + (1 - skill[a["worker"]]) * (1 - skill[b["worker"]])
                for a, b in pairs]  # fmt: skip
    observed = [a["verdict"] == b["verdict"] for a, b in pairs]
    assert abs(np.mean(observed) - np.mean(expected)) < margin, (np.mean(observed), np.mean(expected))


def test_nlvr2_from_pictures_to_a_checked_benchmark(tmp_path: Path) -> None:
    folder = tmp_path / "pairs"
    begun = init("nlvr2", folder, CollectOptions(sets=12), RunningOptions(held_out=0.5, fee=0.2))
    assert begun.tasks == {"prune": 12}
    assert begun.qualification == 6 + 19 + 1 + 8
    changed(folder, gold_every=4, fee=0.0)
    found, store, people = rehearsed(folder, 30)
    add_up(found, store, folder)
    assert found.problem == ""
    assert found.benchmark is not None
    assert check(found.benchmark).ok
    made = Benchmark(found.benchmark)
    config = made.manifest["config"]
    counted, told = config["collection"], config["people"]
    assert (config["pruning"]["by"], config["interesting"]["by"]) == ("people", "people")
    assert config["sentences"] == config["judgements"] == "people's"
    assert counted["found_sets"] == 12
    assert counted["sentences"] == told["sentences"] == found.exported.statistics.sentences
    assert counted["cost"]["total"] == round(found.exported.statistics.mills / 1000, 2)
    assert counted["cost"]["per_sentence"] > 0
    splits = json.loads((found.exported.out / "splits.json").read_text())
    for split in made.splits:
        sets = {origin.removeprefix("set ") for item in made.items(split, answers=True) for origin in item.origins[:1]}
        assert {splits[one] for one in sets} == {"train" if split == "train" else "held-out"}
    held = {j.item for j in made.judgements(hidden=True) if j.kind == "extra"}
    assert held
    work = found.benchmark.with_name("benchmark.work")
    (work / "collection.json").unlink()
    with pytest.raises(UserError, match="another build"):
        veridical.build("nlvr2", found.benchmark, from_collection=found.exported.out, replace=True)
    spammers = [one for one in found.people if _character(people, one.worker.id) == "spammer"]
    honest = [one for one in found.people if _character(people, one.worker.id) in ("expert", "careful")]
    assert [one for one in spammers if one.gold.asked >= 10 and one.worker.blocked is None] == []
    assert sum(one.worker.blocked is not None for one in honest) <= 1


def _character(people: list[Person], worker: str) -> str:
    return next(one.character.name for one in people if one.worker == worker)


def test_nlvr_smaller(tmp_path: Path) -> None:
    folder = tmp_path / "drawings"
    begun = init("nlvr", folder, CollectOptions(presentations=8), RunningOptions(held_out=0.5))
    assert (begun.tasks, begun.gold) == ({"sentence": 8}, 48)
    found, store, people = rehearsed(folder, 14)
    add_up(found, store, folder)
    assert found.benchmark is not None
    assert check(found.benchmark).ok
    made = Benchmark(found.benchmark)
    votes = Counter(j.item for j in made.judgements(hidden=True) if j.kind == "validation")
    for split in made.splits:
        assert {votes[item.id] for item in made.items(split)} == {1 if split == "train" else 5}
    agree_as_their_skill_implies(found, people, 0.12)
    assert made.manifest["config"]["people"]["writers"] == found.exported.statistics.writers


def test_vcr_smaller_and_what_people_answer_then(tmp_path: Path) -> None:
    folder = tmp_path / "asking"
    init("vcr", folder, CollectOptions(photographs=16))
    found, store, _ = rehearsed(folder, 12)
    add_up(found, store, folder)
    assert found.problem == ""
    assert found.benchmark is not None
    made = Benchmark(found.benchmark)
    item = next(iter(made.items("train")))
    assert item.tag("likelihood")[0] in ("possible", "likely", "definitely")
    assert item.writer
    # five people answer, five others choose the reasons
    study = tmp_path / "study"
    begun = init("vcr", study, CollectOptions(benchmark=found.benchmark, items=6))
    assert begun.tasks == {"choose": 12}
    answered, store, _ = rehearsed(study, 16, build=False)
    add_up(answered, store, study)
    lines = read_lines(answered.exported.out / "answers.jsonl", dict[str, Any])
    by_stage: dict[bool, set[str]] = {False: set(), True: set()}
    for line in lines:
        by_stage[":r" in line["item"]].add(line["worker"])
    assert not by_stage[False] & by_stage[True]
    assert set(Counter(line["item"] for line in lines).values()) == {5}
    options: dict[str, Any] = {"from_collection": found.exported.out, "answers": answered.exported.out, "folds": 3}
    from veridical.builders.vcr import build_vcr

    folds = made.manifest["config"]["folds"]
    options |= {"relevance": "tfidf", "similarity": "tfidf", "folds": folds, "processes": 1}
    secret = found.benchmark.with_name("benchmark.hidden") / "secret.txt"
    again = build_vcr(tmp_path / "again", **options, secret=secret.read_text().strip() if secret.exists() else "")
    human = human_performance(Benchmark(again.out), "test", hidden=True)
    assert human is not None
    assert human.voters is not None
    assert 4 < human.voters <= 5  # but for skips
    assert (human.staged["answer"] or 0) > 0.6  # some twenty votes, of people right on nine of ten; chance is a quarter


def test_a_human_study_of_v_prom(tmp_path: Path) -> None:
    options: dict[str, Any] = {"matrices": 60, "schemes": ["neutral"], "images": 300, "categories": 20, "processes": 1}
    mining = Mining(least_images=3)
    built = build_vprom(tmp_path / "built", mining=mining, **options)
    folder = tmp_path / "study"
    begun = init("vprom", folder, CollectOptions(benchmark=built.out, items=12))
    relations = Counter(one.stratum for one in open_project(folder)[1] if one.purpose == "work")
    assert begun.tasks == {"choose": 12}
    assert max(relations.values()) - min(relations.values()) <= 1
    found, store, _ = rehearsed(folder, 8, build=False)
    add_up(found, store, folder)
    with pytest.raises(UserError, match="no such item"):
        build_vprom(tmp_path / "other", mining=mining, seed=9, from_collection=found.exported.out, processes=1)
    again = build_vprom(tmp_path / "again", mining=mining, from_collection=found.exported.out, processes=1)
    human = human_performance(Benchmark(again.out), scheme="neutral")
    assert human is not None
    assert human.judgements == 12
    assert set(human.by["relation"]) == set(relations)


@pytest.mark.soak
def test_nlvr2_by_sixty_people_on_a_database(tmp_path: Path) -> None:
    """From pictures to a benchmark: spammers are caught, agreement and human performance are what skill implies."""
    folder = tmp_path / "pairs"
    init("nlvr2", folder, CollectOptions(sets=100, seed=1), RunningOptions(held_out=0.25))
    changed(folder, gold_every=8)
    found = rehearse(folder, tmp_path / "out", workers=60, seed=3)
    found.show()
    people = crowd(60, 3)
    for one in people:
        one.worker = f"w{one.number + 1}"
    assert found.problem == ""
    assert found.benchmark is not None
    assert check(found.benchmark).ok
    skill = {one.worker: one.character.skill for one in people}
    spammers = [one for one in found.people if _character(people, one.worker.id) == "spammer"]
    honest = [one for one in found.people if _character(people, one.worker.id) in ("expert", "careful")]
    assert all(one.worker.blocked is not None for one in spammers if one.answers > 60)
    assert sum(one.worker.blocked is not None for one in honest) <= len(honest) // 20 + 1
    agree_as_their_skill_implies(found, people, 0.03)
    made = Benchmark(found.benchmark)
    judged = load_judged(made, tuple(made.splits), hidden=True)
    scores = worker_scores(judged, judged.of_kind("extra"), least=8)
    counted = [
        w for w in judged.workers if (judged.worker[judged.of_kind("extra")] == judged.workers.index(w)).sum() >= 8
    ]
    assert scores.mean is not None
    assert abs(scores.mean - np.mean([skill[w] for w in counted])) < 0.04
    from veridical.web.collect.sql_store import SqlStore
    from veridical.web.database import Database, sqlite_address

    add_up(found, SqlStore(Database(sqlite_address(tmp_path / "out" / "rehearsal.sqlite"))), folder)
