"""`build vcr`: from stories, and from what people wrote about photographs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders.vcr import build as building
from veridical.builders.vcr import build_vcr
from veridical.builders.vcr.written import LEAST_FITTING, NONSENSE, NOT_JUDGED, REJECTED, write_out_rare
from veridical.encoders.detectors import Detection
from veridical.errors import UserError
from veridical.matching.items import plain
from veridical.matching.questions import AnsweredQuestion
from veridical.options.building import Matching
from veridical.records import Item, Panel, Ref, SceneObject, Text
from veridical.sources import open_source

WORDS = Matching(relevance="tfidf", similarity="tfidf")  # no model to load


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("vcr") / "made"
    build_vcr(out, photographs=60, folds=3, seed=3, processes=1)
    return out


def answers(benchmark: Benchmark, split: str) -> list[Item]:
    return [item for item in benchmark.items(split) if item.parent is None]


def test_the_benchmark_is_whole(made: Path) -> None:
    report = check(made)
    assert report.ok, report.problems
    benchmark = Benchmark(made)
    assert benchmark.task == "choice"
    assert set(benchmark.splits) == {"train", "val", "test"}
    assert benchmark.is_hidden("test")


def test_each_question_is_one_answer_item_and_four_rationale_items(made: Path) -> None:
    items = {item.id: item for item in Benchmark(made).items("train")}
    questions = [item for item in items.values() if item.parent is None]
    assert len(items) == 5 * len(questions)
    for question in questions:
        reasons = [items[f"{question.id}:r{k}"] for k in range(4)]
        assert [r.given for r in reasons] == [0, 1, 2, 3]
        assert [r.answer is not None for r in reasons] == [k == question.answer for k in range(4)]
        assert len({r.candidates for r in reasons}) == 1


def test_every_answer_is_right_once_and_wrong_three_times_in_its_fold(made: Path) -> None:
    benchmark = Benchmark(made)
    for split in ("train", "val"):
        wrong: Counter[str] = Counter()
        right: Counter[str] = Counter()
        for item in answers(benchmark, split):
            right[item.id] += 1
            wrong.update(value.partition(":")[2] for value in item.tag("borrowed"))
            assert len({c.raw for c in item.candidates if isinstance(c, Text)}) == 4
        assert set(wrong) == set(right)
        assert set(wrong.values()) == {3}


def test_tags_point_at_objects_of_the_photograph(made: Path) -> None:
    benchmark = Benchmark(made)
    for item in benchmark.items("train"):
        objects = {o.id for o in benchmark.panels[item.panels[0]].objects}
        for text in item.candidates:
            assert isinstance(text, Text)
            assert {o for t in text.tokens if isinstance(t, Ref) for o in t.objects} <= objects


def test_what_objects_look_like_is_not_told(made: Path) -> None:
    panels = Benchmark(made).panels
    assert all(not o.attributes and o.box for p in panels.values() for o in p.objects)


def test_answers_stand_at_every_place(made: Path) -> None:
    places = Counter(item.answer for item in answers(Benchmark(made), "train"))
    assert set(places) == {0, 1, 2, 3}
    assert min(places.values()) > 0.1 * sum(places.values())


def test_questions_are_tagged(made: Path) -> None:
    tags = {name for item in Benchmark(made).items("train") for name, _ in item.tags}
    assert {"inference", "question", "borrowed"} <= tags
    hidden = {name for item in Benchmark(made).items("test") for name, _ in item.tags}
    assert "borrowed" not in hidden


def test_wrong_choices_are_those_of_the_other_photographs_of_the_quartet(made: Path) -> None:
    benchmark = Benchmark(made)
    for split in ("train", "val"):
        items = {item.id: item for item in answers(benchmark, split)}
        assert len(items) % 12 == 0  # quartets are whole: four photographs, three questions each
        for item in items.values():
            number, person = int(item.panels[0].partition("-")[2]), item.id.rpartition("-")[2]
            kin = {f"story-{k}-{person}" for k in range(number // 4 * 4, number // 4 * 4 + 4)}
            assert {value.partition(":")[2] for value in item.tag("borrowed")} == kin - {item.id}
            assert {items[name].tag("question") for name in kin} == {item.tag("question")}
            read = [{plain(c, benchmark.panels[one.panels[0]]) for c in one.candidates if isinstance(c, Text)}
                    for one in (items[name] for name in kin)]  # fmt: skip
            assert all(len(one) == 4 and one == read[0] for one in read)


def test_photographs_come_in_fours(tmp_path: Path) -> None:
    report = build_vcr(tmp_path / "out", photographs=22, folds=3, each=2, hide=(), processes=1)
    assert report.counts["photographs"] == 24
    assert any("24 photographs, not 22" in note for note in report.notes)
    assert sum(report.counts["items"]["main"].values()) == 24 * 2 * 5


def test_reasons_say_nothing_of_where_they_come_from(made: Path) -> None:
    assert not any(item.tag("borrowed") for item in Benchmark(made).items("train") if item.parent)


def test_the_public_seed_does_not_give_hidden_answers(tmp_path: Path) -> None:
    """The order of hidden choices hangs on the secret alone, that of public ones on the seed alone."""
    orders = []
    for secret in ("one that nobody knows", "another one that nobody knows"):
        build_vcr(tmp_path / secret, photographs=60, folds=3, seed=3, secret=secret, processes=1)
        benchmark = Benchmark(tmp_path / secret)
        hidden = [i.answer for i in benchmark.items("test", answers=True) if i.parent is None]
        orders.append(([i.answer for i in answers(benchmark, "train")], hidden))
        assert (tmp_path / f"{secret}.hidden" / "secret.txt").read_text().strip() == secret
    assert orders[0][0] == orders[1][0]
    agree = np.mean(np.array(orders[0][1]) == np.array(orders[1][1]))
    assert agree < 0.45


def test_the_seed_decides_the_bytes(made: Path, tmp_path: Path) -> None:
    build_vcr(tmp_path / "again", photographs=60, folds=3, seed=3, processes=2)
    assert Benchmark(tmp_path / "again").hash == Benchmark(made).hash
    build_vcr(tmp_path / "secret", photographs=60, folds=3, seed=3, secret="one that nobody knows", processes=1)
    one, other = Benchmark(made), Benchmark(tmp_path / "secret")
    questions = [[i.query.raw for i in answers(b, "test") if i.query] for b in (one, other)]
    assert questions[0] != questions[1]
    public = [[i.query.raw for i in answers(b, "train") if i.query] for b in (one, other)]
    assert public[0] == public[1]


def test_people_wrote_about_photographs(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_source(f"coco:{shared / 'coco'}")
    rng = np.random.default_rng(0)
    moods = ["glad", "sad", "tired", "bored", "busy", "late", "hungry", "calm", "proud", "shy"]
    rows = []
    for photograph in source.photographs():
        people = [k for k, o in enumerate(photograph.panel.objects) if o.category == "person"]
        if len(photograph.panel.objects) < 3 or not people:
            continue
        for k in range(2):
            mood, place = moods[int(rng.integers(10))], len(rows)
            rows.append(
                {
                    "image": photograph.panel.id,
                    "question": f"How is [person1] in {place}?",
                    "answer": [[people[0]], "is", mood, "since", str(place), "."],
                    "rationale": [[people[0]], "looks", mood, "beside", [k], str(place), "."],
                }
            )
    path = tmp_path / "written.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = build_vcr(tmp_path / "out", source=source, questions=path, folds=3, hide=(), matching=WORDS)
    assert check(tmp_path / "out").ok
    benchmark = Benchmark(tmp_path / "out")
    assert benchmark.manifest["config"]["questions"] == "people's"
    assert benchmark.manifest["config"]["interesting"] == "rule"
    assert report.removed  # photographs with too few objects
    photographs = benchmark.photographs_table().to_pylist()
    assert all(one["licence"] for one in photographs)
    total = sum(benchmark.manifest["counts"]["items"]["main"].values())
    assert 0 < total <= 5 * len(rows)
    assert not any("no split" in note for note in report.notes)
    found = building._split  # as if no question of val could be matched
    monkeypatch.setattr(building, "_split", lambda fold: "train" if found(fold) == "val" else found(fold))
    less = build_vcr(tmp_path / "less", source=source, questions=path, folds=3, hide=(), matching=WORDS)
    assert "There is no split val: none of its questions was left." in less.notes
    assert "val" not in Benchmark(tmp_path / "less").splits


def test_a_source_without_questions_says_so(shared: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no questions"):
        build_vcr(tmp_path / "out", source=f"coco:{shared / 'coco'}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 2}, "2 folds"),
        ({"photographs": 0}, "0 photographs"),
        ({"hide": ("dev",)}, "no split 'dev'"),
        ({"photographs": 8, "folds": 11}, "cannot fill 11 folds"),
        ({"seed": -1}, "seed"),
        ({"each": 5}, "5 questions about each"),
        ({"judgements": "j.jsonl"}, "no use for --judgements"),
        ({"matching": WORDS}, "no use for --relevance"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_vcr(tmp_path / "out", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def row(number: int, *categories: str, tagged: int = 1) -> AnsweredQuestion:
    objects = tuple(SceneObject(str(k), c, box=(0, 0, 1, 1)) for k, c in enumerate(categories))
    text = Text("", (Ref(("0",)), "has", Ref((str(tagged),)), "."))
    return AnsweredQuestion(str(number), text, text, text, (str(number),), "00", Panel(f"p{number}", objects=objects))


def test_tags_that_no_other_photograph_can_take_are_written_out() -> None:
    rows = [row(k, "person", "cup") for k in range(LEAST_FITTING + 2)] + [row(99, "person", "harp")]
    out, changed = write_out_rare(rows, "rationale")
    assert changed == 1
    assert out[-1].rationale is not None
    assert out[-1].rationale.tokens == (Ref(("0",)), "has", "the", "harp", ".")
    assert out[-1].answer == rows[-1].answer  # the other stage is another call
    assert out[:-1] == rows[:-1]


# --- what people write -----------------------------------------------------------------------------------------------


class Finds:
    """A detector that finds three people and a dog in every picture."""

    name = "finds"
    identity = "finds-1"

    def detect(self, images: Sequence[Image.Image], threshold: float) -> list[list[Detection]]:
        boxes = [(10.0 * k, 5.0, 10.0 * k + 8, 40.0) for k in range(4)]
        found = [Detection(c, b, 0.9) for c, b in zip(("person", "person", "dog", "person"), boxes, strict=True)]
        return [[*found, Detection("cat", boxes[0], 0.3)] for _ in images]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Photographs without any label."""
    out = tmp_path / "photographs"
    out.mkdir()
    rng = np.random.default_rng(0)
    for k in range(24):
        Image.fromarray(rng.integers(0, 255, (48, 64, 3), np.uint8)).save(out / f"{k}.png")
    return out


def filled(form: Path, out: Path, change: Callable[[int, dict[str, Any]], dict[str, Any]]) -> Path:
    rows = [json.loads(line) for line in form.read_text().splitlines()]
    out.write_text("".join(json.dumps(change(k, row)) + "\n" for k, row in enumerate(rows)))
    return out


def ask(k: int, row: dict[str, Any]) -> dict[str, Any]:
    said = {"question": f"Why is [person1] near [dog1] number {k}?", "answer": f"[person1] feeds it {k} times."}
    return {**row, **said, "rationale": f"[person3] holds a bag with {k} bones.", "writer": "w1", "id": f"q{k}"}


def test_sheets_are_filled_in_and_judged(folder: Path, tmp_path: Path) -> None:
    source = f"folder:{folder}"
    report = build_vcr(tmp_path / "sheets", source=source, detector=Finds(), until="sheets")  # type: ignore[arg-type]
    assert report.counts == {"photographs": 24, "sheets": 12}
    with Image.open(tmp_path / "sheets" / "sheet-0.png") as sheet:
        assert sheet.width > 600
        assert np.ptp(np.asarray(sheet), axis=(0, 1)).min() > 100  # the photograph and coloured boxes
    form = tmp_path / "sheets" / "questions.jsonl"
    first = json.loads(form.read_text().splitlines()[0])
    assert first["tags"] == ["[person1]", "[person2]", "[dog1]", "[person3]"]
    questions = filled(form, form, lambda k, row: row if k == 5 else ask(k, row))
    judgements = tmp_path / "judgements.jsonl"
    verdicts = {0: [False, True, False], 1: ["nonsense", True], 2: ["skip"]}
    judgements.write_text(
        "".join(
            json.dumps({"item": f"q{k}", "worker": f"w{w}", "verdict": verdict}) + "\n"
            for k in range(24)
            if k != 5
            for w, verdict in enumerate(verdicts.get(k, [True]))
        )
    )
    made = build_vcr(
        tmp_path / "out", source=source, detector=Finds(), questions=questions, judgements=judgements, folds=3, hide=(),
        matching=WORDS,
    )  # type: ignore[arg-type]  # fmt: skip
    assert check(tmp_path / "out").ok
    assert made.removed == {REJECTED: 1, NONSENSE: 1, NOT_JUDGED: 1}
    assert sum(made.counts["items"]["main"].values()) == 20 * 5
    about = Benchmark(tmp_path / "out").manifest["config"]
    assert about["judgements"] == {"true": 22, "false": 2, "nonsense": 1, "skip": 1}
    assert about["source"]["detections"]["detector"] == "finds"


def test_a_build_that_is_refused_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot fill 11 folds"):
        build_vcr(tmp_path / "out", photographs=8, secret="random")
    with pytest.raises(UserError, match="cannot be read"):
        build_vcr(tmp_path / "out", source=f"folder:{folder}", detector=Finds(), questions=tmp_path / "none")  # type: ignore[arg-type]
    assert not list(tmp_path.glob(".out*"))


def test_sheets_want_no_answers_yet(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not needed"):
        build_vcr(tmp_path / "out", source=f"folder:{folder}", questions=tmp_path / "q", until="sheets")
    with pytest.raises(UserError, match="No photograph is worth asking about"):
        build_vcr(tmp_path / "out", source=f"folder:{folder}", until="sheets")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match="no step"):
        build_vcr(tmp_path / "out", until="tasks")  # type: ignore[arg-type]
