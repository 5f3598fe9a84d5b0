"""Whole collections by simulated people, from pictures to a checked benchmark; the large ones are soaks.

What comes out is compared with what their skill implies, and every cent with what was done for it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.web.collect import making
from tests.web.collect.memory import MemoryStore

import veridical
from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders.vprom import build_vprom
from veridical.common.files import read_lines
from veridical.errors import UserError
from veridical.options.building import Mining
from veridical.options.collecting import CollectOptions, RunningOptions
from veridical.sources.icons.draw import encode
from veridical.sources.icons.scene import Group, compose
from veridical.statistics import human_performance
from veridical.statistics.human import worker_scores
from veridical.statistics.judgements import load_judged
from veridical.web.collect.managing import PersonShown
from veridical.web.collect.records import Role
from veridical.web.collect.rehearsal.people import CHARACTERS, Person, crowd
from veridical.web.collect.rehearsal.run import Rehearsed, Simulation, rehearse, rehearse_on
from veridical.web.collect.starting import init, open_project

SPAM = replace(CHARACTERS[-1], share=0.15)
MANY = 40  # tasks: who guesses and did more is blocked in the end (of 50 on other seeds one was not: chance)


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
    given = {p.id: p.mills for p in payments if p.why == "bonus"}
    for (worker, number), some in _by(reviews, lambda r: (r.worker, r.round)).items():
        looked = [r.follows for r in some if r.about == "round"]
        got = given.pop(f"bonus:{number}:{worker}", 0)
        if looked and None not in looked:
            share = sum(looked) / len(looked)
            each = next((b["mills"] for b in _ladder(project) if share >= b["least"]), 0)
            mine = [a for a in answers if a.worker == worker and a.round == number and a.purpose == "work"]
            counting = [a for a in mine if not a.void]  # what became void after it was paid for stays paid
            assert each * sum(map(_sentences, counting)) <= got <= each * sum(map(_sentences, mine))
        else:
            assert got == 0
    assert given == {}
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


def caught(shown: Sequence[PersonShown], people: list[Person]) -> None:
    """Who guesses, and did more than a few tasks, is blocked, and nothing of theirs counts that others can do again; of
    the others at most one in twenty is."""
    kind = {one.worker: one.character for one in people}
    guessing = [one for one in shown if not kind[one.worker.id].honest]
    honest = [one for one in shown if kind[one.worker.id].honest]
    assert [one for one in guessing if one.answers > MANY and one.worker.blocked is None] == []
    assert sum(one.worker.blocked is not None for one in honest) <= len(honest) // 20
    for one in guessing:
        if one.worker.blocked is not None:
            assert one.void > 0


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
    caught(found.people, people)
    guessing = {one.worker for one in people if not one.character.honest}
    tested = [one for one in found.people if one.worker.id in guessing and one.gold.asked >= 10]
    assert [one for one in tested if one.worker.blocked is None] == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_sixty_people_who_judge_those_who_guess_are_caught_and_asked_for_again(seed: int) -> None:
    tasks = [making.validate_task(f"i{k}", 5, meant=bool(k % 2)) for k in range(360)]
    gold = [making.validate_task(f"g{k}", 0, meant=bool(k % 3), purpose="gold") for k in range(40)]
    project = making.project(gold_every=12, roles=(Role("validator", ("validate",)),))
    simulation = Simulation(MemoryStore(), project, [*tasks, *gold], crowd(60, seed), seed)
    rng = np.random.default_rng(seed)
    for one in tasks:  # writers slip now and then
        names = [picture["name"] for picture in one.payload["pictures"]]
        meant = (one.expected or {})["verdict"]
        simulation.world.say(making.SENTENCE, names, meant if rng.random() < 0.95 else not meant)
    simulation.run()
    shown = simulation.service.people()
    people = simulation.people
    caught(shown, people)
    guessing = [one for one in shown if one.worker.id in {p.worker for p in people if not p.character.honest}]
    assert sum(one.worker.blocked is not None for one in guessing) >= 3
    assert float(np.median([one.answers for one in guessing])) <= 25
    with simulation.store.look("dogs") as tx:
        answers, payments = list(tx.answers()), tx.payments()
    counting = [a for a in answers if a.purpose == "work" and not a.void]
    assert set(Counter(a.task for a in counting).values()) == {5}  # asked of others again
    assert not {a.worker for a in counting} & {one.worker.id for one in shown if one.worker.blocked is not None}
    assert sum(p.mills for p in payments) == making.PAY["validate"] * len(answers) == simulation.service.progress().cost
    # what is left agrees as often as the skill of those who gave it says
    skill = {one.worker: one.character.skill if one.character.honest else 0.5 for one in people}
    pairs = [two for some in _by(counting, lambda a: a.task).values() for two in combinations(some, 2)]
    expected = np.mean([skill[a.worker] * skill[b.worker] + (1 - skill[a.worker]) * (1 - skill[b.worker])
                        for a, b in pairs])  # fmt: skip
    assert abs(np.mean([a.value == b.value for a, b in pairs]) - expected) < 0.02


CATEGORIES = ("dog", "car", "cup", "tree", "cow", "fish")


def photographs(folder: Path, each: int = 16) -> Path:
    """A folder of small pictures as a requester has them: `labels.csv`, and the same as COCO annotates."""
    rng = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    labels, images, boxes = ["file,category,licence"], [], []
    for kind, category in enumerate(CATEGORIES):
        for number in range(each):
            scene = compose(rng, [Group(category, int(rng.integers(1, 5)))], width=240, height=180, distractors=1)
            place, name = kind * each + number, f"{category} {number}.jpg"
            (folder / "images" / name).write_bytes(encode(scene))
            images.append({"id": place, "file_name": name, "width": 240, "height": 180, "license": 1})
            for index, one in enumerate(scene.objects):
                if one.category == category:
                    labels.append(f"images/{name},{category},CC-BY-4.0")
                    left, top, right, bottom = map(float, scene.box(index))
                    box = {"bbox": [left, top, right - left, bottom - top], "area": 1.0, "iscrowd": 0}
                    boxes.append({"id": len(boxes), "image_id": place, "category_id": kind, **box})
    (folder / "labels.csv").write_text("\n".join(labels) + "\n")
    kinds = [{"id": k, "name": name, "supercategory": "thing"} for k, name in enumerate(CATEGORIES)]
    licence = {"id": 1, "name": "CC-BY-4.0", "url": ""}
    listed = {"images": images, "annotations": boxes, "licenses": [licence], "categories": kinds}
    (folder / "instances_train2017.json").write_text(json.dumps(listed))
    return folder


def test_from_a_folder_of_photographs_to_a_checked_benchmark_in_one_command(tmp_path: Path) -> None:
    photos = photographs(tmp_path / "photos")
    out = tmp_path / "mine"
    found = veridical.collect(
        "init", "nlvr2", out, source=f"folder:{photos}", held_out=0.8, rehearse=True, workers=24, seed=2
    )
    assert found.problem == ""
    assert check(found.benchmark).ok
    _, tasks = open_project(out)
    gold = [one for one in tasks if one.purpose == "gold"]
    assert {one.kind for one in gold} == {"prune"}  # of sentences there is none before people agreed on some
    listed = {line["name"]: line["photograph"] for line in read_lines(out / "pictures.jsonl", dict[str, Any])}
    for one in gold:
        (planted,) = (one.expected or {})["removed"]
        assert one.payload["synset"] not in listed[planted]
    made = Benchmark(found.benchmark)
    assert set(made.splits) == {"train", "dev", "test-p", "test-u"}
    assert made.manifest["config"]["people"]["sentences"] == found.exported.statistics.sentences > 5
    with pytest.raises(UserError, match="there already"):
        veridical.collect("init", "nlvr2", out, source=f"folder:{photos}")


def test_from_photographs_that_coco_annotates(tmp_path: Path) -> None:
    photos = photographs(tmp_path / "photos", 10)
    begun = init("nlvr2", tmp_path / "mine", CollectOptions(source=f"coco:{photos}"), RunningOptions(held_out=0.3))
    assert begun.gold == begun.tasks["prune"] >= 4
    assert 0 < begun.held_out < 3
    assert "held out, and three splits" in str(begun.parts()[-1])
    bare = photos / "bare"
    bare.mkdir()
    (photos / "images" / "dog 0.jpg").rename(bare / "dog.jpg")
    with pytest.raises(UserError, match=r"(?s)no category with 8.*labels\.csv, or give --search"):
        init("nlvr2", tmp_path / "none", CollectOptions(source=f"folder:{bare}"))


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
    init("vcr", folder, CollectOptions(photographs=40))
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
    begun = init("vcr", study, CollectOptions(benchmark=found.benchmark, items=16))
    assert begun.tasks == {"choose": 32}
    answered, store, people = rehearsed(study, 24, build=False)
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
    told = Benchmark(again.out).manifest["config"]["study"]
    assert (told["answers"], told["items"], told["workers"]) == (160, 32, len({line["worker"] for line in lines}))
    human = human_performance(Benchmark(again.out), "test", hidden=True)
    assert human is not None
    assert human.voters is not None
    assert 4 < human.voters <= 5  # but for skips
    # each vote is right as often as who gave it is, and the vote of five as often as follows from that
    skill = {one.worker: one.character.skill if one.character.honest else 0.25 for one in people}
    right = {item.id: item.answer for item in made.items("test", answers=True)}
    voted = [line for line in lines if line["verdict"] != "skip"]
    each = np.array([skill[line["worker"]] for line in voted])
    share = np.mean([line["verdict"] == right[line["item"]] for line in voted])
    assert abs(share - each.mean()) < 3 * (each * (1 - each)).sum() ** 0.5 / len(each)
    for stage in ("answer", "rationale"):
        some = _by(
            (line for line in voted if (":r" in line["item"]) == (stage == "rationale")), lambda line: line["item"]
        )
        low, high = of_five([[skill[line["worker"]] for line in votes] for votes in some.values()])
        assert low <= (human.staged[stage] or 0) <= high
        assert low > 0.75


def of_five(skills: list[list[float]]) -> tuple[float, float]:
    """What share of items people of these skills get right by their vote: 99.8% of what chance does to it."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(2000):
        scores = []
        for some in skills:
            votes = np.bincount([0 if rng.random() < one else int(rng.integers(1, 4)) for one in some], minlength=4)
            scores.append((votes[0] == votes.max()) / (votes == votes.max()).sum())
        shares.append(np.mean(scores))
    return float(np.quantile(shares, 0.001)), float(np.quantile(shares, 0.999))


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
    told = Benchmark(again.out).manifest["config"]["study"]
    lines = read_lines(found.exported.out / "answers.jsonl", dict[str, Any])
    assert (told["answers"], told["items"]) == (12, 12)
    assert told["skips"] == sum(line["verdict"] == "skip" for line in lines)
    assert told["answers_by_worker"] == Counter(line["worker"] for line in lines)
    assert told["workers"] == told["people"]["work"][0]["workers"] == len(told["answers_by_worker"])
    assert told["cost"]["total"] == round(found.exported.statistics.mills / 1000, 2)
    assert told["cost"]["per_item"] == round(told["cost"]["total"] / 12, 4)


@pytest.mark.soak
def test_nlvr2_by_sixty_people_on_a_database(tmp_path: Path) -> None:
    """From pictures to a benchmark: spammers are caught, agreement and human performance are what skill implies."""
    folder = tmp_path / "pairs"
    init("nlvr2", folder, CollectOptions(sets=100, seed=1), RunningOptions(held_out=0.25))
    found = rehearse(folder, tmp_path / "out", workers=60, seed=3)
    found.show()
    people = crowd(60, 3)
    for one in people:
        one.worker = f"w{one.number + 1}"
    assert found.problem == ""
    assert found.benchmark is not None
    assert check(found.benchmark).ok
    skill = {one.worker: one.character.skill if one.character.honest else 0.5 for one in people}
    caught(found.people, people)
    guessing = {one.worker for one in people if not one.character.honest}
    assert any(one.worker.blocked is not None for one in found.people if one.worker.id in guessing)
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


def test_what_a_rehearsal_keeps_is_not_mapped(tmp_path: Path) -> None:
    """SQLite maps a file beside a database that many use; on a disk that is full, that is a bus error."""
    from contextlib import closing

    from veridical.web.database import Database, sqlite_address

    for passing in (False, True):
        folder = tmp_path / str(passing)
        folder.mkdir()
        with closing(Database(sqlite_address(folder / "a.sqlite"), passing=passing)) as database:
            database.upgrade()
            maps = Path("/proc/self/maps").read_text() if Path("/proc/self/maps").exists() else ""
            assert (str(folder) in maps) == (not passing and bool(maps))
