"""Missing, extra, duplicated and unreadable predictions are counted and named, never scored silently."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.errors import UserError
from veridical.evaluation import evaluate
from veridical.evaluation.grade import read_key
from veridical.evaluation.opened import open_predictions
from veridical.evaluation.readers import ANSWER_COLUMNS, RATIONALE_COLUMNS

RIGHT, WRONG = [0.0, 1.0], [1.0, 0.0]


@pytest.fixture
def four(write_benchmark, statement):
    return write_benchmark({"dev": [statement(name, 1, group="ab" if name in "ab" else name) for name in "abcd"]})


def test_all_kinds_of_trouble_are_named(four, write_lines) -> None:
    path = write_lines([("a", RIGHT), ("b", []), ("b2", RIGHT), ("b2", WRONG), ("c", [0.5, 0.5])])
    scores = evaluate(four, path)
    assert (scores.items, scores.examples) == (4, 4)
    assert scores.accuracy.value == 1 / 4  # only a: b unreadable, c tied (the first, false, counts), d missing
    assert scores.consistency.value == 0
    assert scores.answered.value == 1 / 2
    assert (scores.missing.count, scores.missing.names) == (1, ("d",))
    assert (scores.extra.count, scores.extra.names) == (1, ("b2",))
    assert (scores.unreadable.count, scores.unreadable.names) == (1, ("b",))
    assert scores.duplicated.count == 0
    assert scores.tied == 1


def test_duplicates_that_disagree_are_unreadable(four, write_lines) -> None:
    rows = [
        ("a", RIGHT),
        ("a", RIGHT),
        ("b", RIGHT),
        ("b", WRONG),
        ("c", WRONG),
        ("c", RIGHT),
        ("c", WRONG),
        ("d", RIGHT),
    ]
    scores = evaluate(four, write_lines(rows))
    assert scores.duplicated.names == ("a", "b", "c")
    assert scores.unreadable.names == ("b", "c")
    assert scores.accuracy.value == 1 / 2


def test_no_readable_prediction_at_all(four, write_lines) -> None:
    with pytest.raises(UserError, match=r"none of the 4 predictions for split 'dev' can be read"):
        evaluate(four, write_lines([(name, []) for name in "abcd"]))
    with pytest.raises(UserError, match=r"none of the 4 predictions"):
        evaluate(four, write_lines([(name, RIGHT) for name in "abcd"]), against=dict.fromkeys("abcd"))


def test_predictions_about_something_else_are_refused(four, write_lines) -> None:
    with pytest.raises(UserError, match=r"none of its 2 predictions is about an item of split 'dev'"):
        evaluate(four, write_lines([("x", RIGHT), ("y", RIGHT)]))


def test_only_the_first_names_are_kept(write_benchmark, statement, write_lines) -> None:
    made = write_benchmark({"dev": [statement(f"i{n:03}", 1) for n in range(50)]})
    scores = evaluate(made, write_lines([("i000", RIGHT), *((f"x{n}", RIGHT) for n in range(40))]))
    assert (scores.missing.count, len(scores.missing.names), scores.missing.names[0]) == (49, 20, "i001")
    assert (scores.extra.count, len(scores.extra.names)) == (40, 20)


def test_a_wrong_number_of_scores_is_an_error(four, write_lines) -> None:
    path = write_lines([("a", RIGHT), ("b", [1, 0, 0])])
    with pytest.raises(UserError, match=r"line 2: 3 scores for b, which has 2 candidates"):
        evaluate(four, path)


def test_views_are_examples(write_benchmark, statement, write_lines, write_text) -> None:
    made = write_benchmark(
        {
            "dev": [
                statement("7-0", 1, "7", views=6),
                statement("7-1", 0, "7", views=6),
                statement("9-0", 1, "9", views=6),
            ]
        }
    )
    whole = evaluate(made, write_lines([("7-0", RIGHT), ("7-1", WRONG), ("9-0", WRONG)]))
    assert (whole.examples, whole.accuracy.value, whole.consistency.value) == (3, 2 / 3, 1 / 2)
    rows = [(f"{item}#{k}", RIGHT) for item in ("7-0", "9-0") for k in range(6)] + [
        (f"7-1#{k}", WRONG) for k in range(6)
    ]
    rows[0] = ("7-0#0", WRONG)
    scores = evaluate(made, write_lines(rows))
    assert scores.per_view
    assert (scores.items, scores.examples) == (3, 18)
    assert (scores.accuracy.value, scores.consistency.value) == (17 / 18, 1 / 2)
    text = "".join(f"dev-{item.replace('#', '-')}.png,{'true' if s == RIGHT else 'False'}\n" for item, s in rows[:-1])
    official = evaluate(made, write_text(text + "dev-7-1-6.png,true\ndev-8-0-0.png,true\n"))
    assert official.accuracy.value == 16 / 18
    assert official.missing.names == ("7-1#5",)
    assert official.extra.names == ("dev-7-1-6.png", "dev-8-0-0.png")


def test_items_and_views_do_not_mix(write_benchmark, statement, write_lines) -> None:
    made = write_benchmark({"dev": [statement("7-0", 1, "7", views=6), statement("7-1", 0, "7", views=6)]})
    with pytest.raises(UserError, match=r"line 2: 7-1 is a whole item"):
        evaluate(made, write_lines([("7-0#0", RIGHT), ("7-1", RIGHT)]))


def test_a_name_that_looks_like_a_view_can_be_an_item(write_benchmark, statement, write_lines) -> None:
    made = write_benchmark({"dev": [statement("a#1", 1), statement("a", 0)]})
    scores = evaluate(made, write_lines([("a#1", RIGHT), ("a", WRONG), ("a#2", RIGHT)]))
    assert (scores.accuracy.value, scores.per_view, scores.extra.names) == (1.0, False, ("a#2",))


def test_the_split_is_guessed_from_the_names(write_benchmark, statement, write_lines, write_text) -> None:
    made = write_benchmark(
        {
            "dev": [statement(f"1-{k}", 1, views=6) for k in range(3)],
            "train": [statement(f"2-{k}", 0, views=6) for k in range(20)],
        }
    )
    assert evaluate(made, write_lines([("1-0", RIGHT)])).split == "dev"
    assert evaluate(made, write_text("train-2-0-3.png,true\n")).split == "train"
    assert evaluate(made, write_lines([("2-0#4", RIGHT)])).split == "train"
    assert evaluate(made, write_lines([("1-0", RIGHT), ("2-1", RIGHT)]), split="train").extra.names == ("1-0",)
    for rows in ([("1-0", RIGHT), ("2-1", RIGHT)], [("other", RIGHT)]):
        with pytest.raises(UserError, match="Cannot tell which split") as error:
            evaluate(made, write_lines(rows))
        assert "dev, train" in error.value.fix


def test_hidden_answers(write_benchmark, statement, write_lines, tmp_path) -> None:
    made = write_benchmark({"test": [statement("a", 1), statement("b", 0)]}, hidden=["test"])
    path = write_lines([("a", RIGHT), ("b", RIGHT)])
    assert evaluate(made, path).accuracy.value == 1 / 2
    (tmp_path / "b.hidden").rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="hidden"):
        evaluate(made, path)


def test_items_without_answers_are_not_scored(write_benchmark, statement, write_lines) -> None:
    made = write_benchmark({"dev": [statement("a", 1), statement("b", None)]})
    scores = evaluate(made, write_lines([("a", RIGHT), ("b", RIGHT)]))
    assert (scores.items, scores.accuracy.value, scores.extra.count) == (1, 1.0, 0)
    nothing = write_benchmark({"dev": [statement("a", None)]}, name="nothing")
    with pytest.raises(UserError, match="No item of split 'dev'"):
        evaluate(nothing, write_lines([("a", RIGHT)]))


def test_vcr_rows_are_joined_by_question_and_stage(write_benchmark, question, write_text) -> None:
    made = write_benchmark({"val": question("val-1", 2, 3) + question("val-2", 0, 1)}, task="choice")
    header = ["annot_id", *(f"answer_{j}" for j in range(4))]
    header += [f"rationale_conditioned_on_a{i}_{j}" for i in range(4) for j in range(4)]

    def line(name: str, answer: int, rationale: list[int]) -> str:
        scores = np.eye(4)[[answer, *rationale]].ravel()
        return ",".join([name, *(str(x) for x in scores)])

    rows = [line("val-2", 1, [1, 0, 0, 0]), line("val-9", 0, [0, 0, 0, 0]), line("val-1", 2, [0, 0, 3, 0])]
    scores = evaluate(made, write_text("\n".join([",".join(header), *rows])))
    assert {name: estimate.value for name, estimate in scores.staged.items()} == {
        "Q->A": 0.5,
        "QA->R": 1.0,
        "Q->AR": 0.5,
    }
    assert (scores.extra.count, scores.missing.count, scores.items) == (1, 0, 4)
    assert (scores.accuracy.value, scores.consistency.value) == (3 / 4, 1 / 2)


def test_a_benchmark_with_only_the_answer_stage_asks_for_no_rationales(write_benchmark, question, write_text) -> None:
    made = write_benchmark({"val": question("val-1", 2, 3)[:1]}, task="choice")
    header = ",".join(
        ["annot_id", *(f"answer_{j}" for j in range(4))]
        + [f"rationale_conditioned_on_a{i}_{j}" for i in range(4) for j in range(4)]
    )
    scores = evaluate(made, write_text(header + "\nval-1,0,0,1,0" + ",0" * 16))
    assert (scores.accuracy.value, scores.staged, scores.extra.count, scores.missing.count) == (1.0, {}, 0, 0)


@pytest.fixture
def prefixed(write_benchmark, statement):
    """As the import of a folder whose splits share identifiers."""
    return write_benchmark(
        {
            split: [
                statement(f"{split}-1572-{n}", answer, f"{split}-1572", views=6) for n, answer in enumerate(answers)
            ]
            for split, answers in {"dev": (1, 0), "train": (0, 0)}.items()
        }
    )


def test_official_names_where_splits_share_identifiers(prefixed, write_text) -> None:
    images = [f"{{}}-1572-{n}-{view}.png,{truth}\n" for n, truth in enumerate(("true", "false")) for view in range(6)]
    for split, accuracy in (("dev", 1.0), ("train", 0.5)):
        scores = evaluate(prefixed, write_text("".join(images).format(*[split] * 12)))  # the names tell the split
        assert (scores.split, scores.per_view, scores.accuracy.value) == (split, True, accuracy)
        assert (scores.missing.count, scores.extra.count) == (0, 0)
        scores = evaluate(prefixed, write_text("1572-0,true\n1572-1,false\n"), split=split)
        assert (scores.per_view, scores.accuracy.value, scores.missing.count) == (False, accuracy, 0)
    with pytest.raises(UserError, match="Cannot tell which split"):
        evaluate(prefixed, write_text("1572-0,true\n1572-1,false\n"))


def test_images_of_another_split_are_extra(write_benchmark, statement, write_text) -> None:
    made = write_benchmark({"test-p": [statement("7-0", 1, views=6), statement("7-1", 1, views=6)]})
    mixed = "".join(f"test-p-7-0-{view}.png,true\ntrain-7-1-{view}.png,true\n" for view in range(6))
    scores = evaluate(made, write_text(mixed))
    assert (scores.accuracy.value, scores.missing.count, scores.extra.count) == (1 / 2, 6, 6)
    assert scores.extra.names[0] == "train-7-1-0.png"
    whole = evaluate(made, write_text("test-p-7-0,true\n7-1,true\n"))
    assert (whole.per_view, whole.accuracy.value) == (False, 1.0)


@pytest.mark.parametrize("view", ["6", "9" * 30, "9" * 5000, "²", "-1"])
def test_views_that_are_not_there_are_extra(write_benchmark, statement, write_lines, write_text, view: str) -> None:
    made = write_benchmark({"dev": [statement("7-0", 1, views=6)]})
    scores = evaluate(made, write_lines([("7-0#0", RIGHT), (f"7-0#{view}", RIGHT)]))
    assert (scores.missing.count, scores.extra.count) == (5, 1)
    scores = evaluate(made, write_text(f"dev-7-0-0.png,true\ndev-7-0-{view}.png,true\n"))
    assert (scores.missing.count, scores.extra.count) == (5, 1)


def test_official_names_in_another_scheme_keep_their_main_split(tmp_path, statement, write_text) -> None:
    items = {split: [statement(f"{n}-0", 1, views=6)] for n, split in enumerate(("dev", "train"))}
    with BenchmarkWriter(tmp_path / "b", name="b", task="statement") as writer:
        for split, part in items.items():
            writer.add_items(split, part)
        writer.add_items("fold1", [item for part in items.values() for item in part], "folds")
    both = "".join(f"dev-0-0-{view}.png,true\ntrain-1-0-{view}.png,true\n" for view in range(6))
    scores = evaluate(tmp_path / "b", write_text(both), scheme="folds")
    assert (scores.split, scores.accuracy.value, scores.extra.count) == ("fold1", 1.0, 0)


def test_the_scores_of_an_example_are_those_of_its_line(write_benchmark, statement, write_lines, write_text) -> None:
    made = write_benchmark({"dev": [statement("a", 1), statement("b", 0), statement("c", 0), statement("d", None)]})
    key = read_key(Benchmark(made), "dev", tags=False)
    scored = open_predictions(write_lines([("c", [0.25, 0.5]), ("x", [1.0, 2.0]), ("a", [0.125, 0.75])])).grade(key)
    assert [scored.scores(k) for k in range(3)] == [[0.125, 0.75], [], [0.25, 0.5]]
    said = open_predictions(write_text("name,prediction\na,true\nb,false\n")).grade(key)
    assert [said.scores(k) for k in range(3)] == [[], [], []]
    assert said.right.tolist() == [True, True, False]


def test_the_scores_of_rationales_are_those_of_their_question(write_benchmark, question, write_text) -> None:
    made = write_benchmark({"val": question("q", 1, 2)}, task="choice")
    names = [*ANSWER_COLUMNS, *RATIONALE_COLUMNS]
    line = ",".join(str(k / 32) for k in range(20))
    key = read_key(Benchmark(made), "val")
    graded = open_predictions(write_text(f"annot_id,{','.join(names)}\nq,{line}\n")).grade(key)
    assert graded.scores(0) == [0.0, 1 / 32, 2 / 32, 3 / 32]
    assert graded.scores(1) == [8 / 32, 9 / 32, 10 / 32, 11 / 32]  # of the right answer; no other rationale is scored
