"""`build vcr`: from stories, and from what people wrote about photographs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders.vcr import build_vcr
from veridical.builders.vcr.written import LEAST_FITTING, same_sayings, write_out_rare
from veridical.errors import UserError
from veridical.matching.questions import AnsweredQuestion
from veridical.options.building import Matching
from veridical.records import Item, Panel, Ref, SceneObject, Text
from veridical.sources import open_source
from veridical.sources.icons.stories import tales

WORDS = Matching(relevance="tfidf", similarity="tfidf", method="paper")  # no model to load


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("vcr") / "made"
    build_vcr(out, photographs=90, folds=3, seed=3, matching=WORDS, processes=1)
    return out


def answers(benchmark: Benchmark, split: str) -> list[Item]:
    return [item for item in benchmark.items(split) if item.parent is None]


def test_the_benchmark_is_whole(made: Path) -> None:
    report = check(made)
    assert report.ok, report.problems
    benchmark = Benchmark(made)
    assert benchmark.task == "choice"
    assert set(benchmark.splits()) == {"train", "val", "test"}
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


def test_choices_of_one_question_state_different_facts(made: Path) -> None:
    """Wordings differ, but never two of the same fact: 'is swimming' beside 'is a swimmer'."""
    same = [{"is swimming", "is a swimmer"}, {"is teaching", "is a teacher"}, {"is cheering", "is a fan"}]
    same += [{"wants to open a door", "will unlock a door"}, {"wants to stay dry", "will shelter from the rain"}]
    for item in answers(Benchmark(made), "train"):
        texts = " | ".join(c.words() for c in item.candidates if isinstance(c, Text))
        assert not any(all(part in texts for part in one) for one in same), texts


def test_a_picture_shows_what_its_choices_speak_of(made: Path) -> None:
    """A key in an answer is no cue: there is a key in the picture, whether the answer is right or wrong."""
    benchmark = Benchmark(made)
    implied = {name: set(tale.values()) for name, tale in tales().held.items()}
    for item in answers(benchmark, "train"):
        shown = {o.category for o in benchmark.panels[item.panels[0]].objects}
        for candidate in item.candidates:
            assert isinstance(candidate, Text)
            for thing, words in implied.items():
                if any(f"to {w} ." in candidate.words() or f"will {w} ." in candidate.words() for w in words):
                    assert thing in shown


def test_reasons_say_nothing_of_where_they_come_from(made: Path) -> None:
    assert not any(item.tag("borrowed") for item in Benchmark(made).items("train") if item.parent)


def test_the_public_seed_does_not_give_hidden_answers(tmp_path: Path) -> None:
    """The order of hidden choices hangs on the secret alone, that of public ones on the seed alone."""
    orders = []
    for secret in ("a", "b"):
        build_vcr(tmp_path / secret, photographs=90, folds=3, seed=3, matching=WORDS, secret=secret, processes=1)
        benchmark = Benchmark(tmp_path / secret)
        hidden = [i.answer for i in benchmark.items("test", answers=True) if i.parent is None]
        orders.append(([i.answer for i in answers(benchmark, "train")], hidden))
        assert (tmp_path / f"{secret}.hidden" / "secret.txt").read_text().strip() == secret
    assert orders[0][0] == orders[1][0]
    agree = np.mean(np.array(orders[0][1]) == np.array(orders[1][1]))
    assert agree < 0.45


def test_the_seed_decides_the_bytes(made: Path, tmp_path: Path) -> None:
    build_vcr(tmp_path / "again", photographs=90, folds=3, seed=3, matching=WORDS, processes=2)
    assert Benchmark(tmp_path / "again").hash == Benchmark(made).hash
    build_vcr(tmp_path / "secret", photographs=90, folds=3, seed=3, matching=WORDS, secret="s", processes=1)
    one, other = Benchmark(made), Benchmark(tmp_path / "secret")
    questions = [[i.query.raw for i in answers(b, "test") if i.query] for b in (one, other)]
    assert questions[0] != questions[1]
    public = [[i.query.raw for i in answers(b, "train") if i.query] for b in (one, other)]
    assert public[0] == public[1]


def test_people_wrote_about_photographs(shared: Path, tmp_path: Path) -> None:
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


def test_a_source_without_questions_says_so(shared: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no questions"):
        build_vcr(tmp_path / "out", source=f"coco:{shared / 'coco'}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 2}, "2 folds"),
        ({"photographs": 0}, "0 photographs"),
        ({"hide": ("dev",)}, "no split 'dev'"),
        ({"photographs": 5, "folds": 11}, "cannot fill 11 folds"),
        ({"seed": -1}, "seed"),
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


def test_responses_that_say_the_same_are_one() -> None:
    numbers = same_sayings(["a", "b", "c", "c"], ["x", "x", None, "y"])
    assert numbers[0] == numbers[1]
    assert numbers[2] == numbers[3]
    assert numbers[0] != numbers[2]
