"""SplitQuestions and pictures of all four tasks: what is sent, in which order, and which candidate a label means."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.shown import Picture, matrix_grid, side_by_side
from veridical.errors import UserError
from veridical.options.running import Asking
from veridical.records import TRUTH, Item, Panel, Text
from veridical.solvers.vlm.prompts import COUNT, WORDINGS, Prompt, Question, SplitQuestions, Variant, rotation, variants

from ._vlm_world import write_drawings, write_matrices, write_pairs, write_vcr


def opened(picture: Picture) -> Image.Image:
    return Image.open(io.BytesIO(picture.data)).convert("RGB")


def shade(picture: Picture, place: tuple[int, int] = (1, 1)) -> int:
    return opened(picture).getpixel(place)[0]


def prompts(directory: Path, split: str, **asking: object) -> dict[str, Prompt]:
    questions = SplitQuestions(Benchmark(directory), split, Asking(**asking))  # type: ignore[arg-type]
    return {question.id: questions.prompt(question) for question in questions.first()}


def test_a_pair_is_two_pictures_between_words(tmp_path: Path) -> None:
    prompt = prompts(write_pairs(tmp_path / "b", 2), "dev")["dev-1"]
    kinds = [type(part).__name__ for part in prompt.parts]
    assert kinds == ["str", "str", "Picture", "str", "Picture", "str"]
    assert prompt.parts[1] == "Left picture:"
    assert [shade(p) for p in prompt.pictures] == [129, 1], "the left photograph first"
    assert "The left picture number 1 is bright." in prompt.text
    assert prompt.text.endswith("Answer with true or false only, and nothing else.")
    assert prompt.labels == ("true", "false")
    assert prompt.order == (1, 0), "candidate 1 is true"


def test_a_picture_that_is_shown_whole_is_sent_byte_for_byte(tmp_path: Path) -> None:
    benchmark = Benchmark(write_pairs(tmp_path / "b", 2))
    prompt = prompts(benchmark.directory, "dev")["dev-0"]
    assert prompt.pictures[0].data == bytes(benchmark.image(benchmark.panels["dev-0-0"].image or ""))
    assert prompt.pictures[0].mime == "image/png"


def test_a_pair_can_be_one_picture(tmp_path: Path) -> None:
    prompt = prompts(write_pairs(tmp_path / "b", 2), "dev", layout="together")["dev-1"]
    (picture,) = prompt.pictures
    image = opened(picture)
    assert image.height == 12, "at the height of the lower one"
    assert shade(picture) == 129
    assert image.getpixel((image.width - 2, 6))[0] == 1


def test_true_or_false_by_letter(tmp_path: Path) -> None:
    found = prompts(write_pairs(tmp_path / "b", 1), "dev", answers="letter", orders=2)
    first, second = found["dev-0"], found["dev-0/wording0-order1"]
    assert "A. True\nB. False" in first.text
    assert "A. False\nB. True" in second.text
    assert (first.order, second.order) == ((1, 0), (0, 1))


def test_the_order_of_true_and_false_changes(tmp_path: Path) -> None:
    found = prompts(write_pairs(tmp_path / "b", 1), "dev", orders=5)
    assert len(found) == 2, "two words have two orders"
    assert found["dev-0/wording0-order1"].text.endswith("Answer with false or true only, and nothing else.")


def test_a_drawing_is_one_picture_and_has_views(tmp_path: Path) -> None:
    out = write_drawings(tmp_path / "b")
    prompt = prompts(out, "dev")["1-0"]
    assert opened(prompt.pictures[0]).size == (400, 100)
    both = prompts(out, "dev", views="all")
    assert list(both) == ["0-0#0", "0-0#1", "1-0#0", "1-0#1"]
    assert [shade(both["1-0#1"].pictures[0], (150 * k, 50)) for k in range(3)] == [120, 160, 140]


def test_boxes_of_a_drawing_one_by_one(tmp_path: Path) -> None:
    found = prompts(write_drawings(tmp_path / "b"), "dev", layout="separate", views="all")
    assert [shade(p) for p in found["1-0#1"].pictures] == [120, 160, 140], "in the order of the view"
    assert all(opened(p).size == (100, 100) for p in found["1-0#1"].pictures)
    assert "Middle picture:" in found["1-0#1"].text


def test_a_matrix_is_sixteen_pictures_or_a_grid(tmp_path: Path) -> None:
    out = write_matrices(tmp_path / "b", 1)
    prompt = prompts(out, "test")["m0"]
    assert [shade(p) for p in prompt.pictures] == [10 * k for k in range(16)]
    assert "Row 3, column 2:" in prompt.text
    assert "Row 3, column 3:" not in prompt.text
    assert "Candidate H:" in prompt.text
    turned = prompts(out, "test", orders=2)["m0/wording0-order1"]
    assert [shade(p) for p in turned.pictures[8:]] == [10 * (8 + k) for k in (4, 5, 6, 7, 0, 1, 2, 3)]
    assert turned.order[0] == 4, "A now means candidate 4"
    (grid,) = prompts(out, "test", layout="together")["m0"].pictures
    assert opened(grid).width > 4 * 224


def test_the_grid_holds_every_panel_and_an_empty_place() -> None:
    context = [Image.new("RGB", (10, 10), (k + 1, 0, 0)) for k in range(8)]
    candidates = [Image.new("RGB", (20, 10), (0, k + 1, 0)) for k in range(8)]
    image = matrix_grid(context, candidates, "ABCDEFGH")
    colours = {colour for _, colour in image.getcolors(1 << 24)}
    assert {(k + 1, 0, 0) for k in range(8)} <= colours
    assert {(0, k + 1, 0) for k in range(8)} <= colours


def test_pictures_side_by_side_are_never_enlarged() -> None:
    image = side_by_side([Image.new("RGB", (10, 20)), Image.new("RGB", (30, 40))])
    assert image.height == 20
    assert image.width == 10 + 15 + 12


def test_vcr_names_its_objects_and_draws_only_those_mentioned(tmp_path: Path) -> None:
    prompt = prompts(write_vcr(tmp_path / "b", 1), "val")["val-0"]
    assert "Question: Why is [person1] sad?" in prompt.text
    assert "C. [person1] answer2." in prompt.text
    image = opened(prompt.pictures[0])
    assert image.getpixel((10, 50)) == (230, 25, 75), "the box of person 1"
    assert image.getpixel((150, 70))[0] > 190, "the bottle is not mentioned"
    assert prompt.texts[1] == "[person1] answer1."


def test_vcr_boxes_as_coordinates_or_not_at_all(tmp_path: Path) -> None:
    out = write_vcr(tmp_path / "b", 1)
    prompt = prompts(out, "val", boxes="coordinates")["val-0:r2"]
    assert "200 wide and 100 high" in prompt.text
    assert "[person1] (10, 10, 60, 90)\n[person2] (80, 10, 140, 90)" in prompt.text
    assert "bottle" not in prompt.text
    assert prompt.pictures[0].mime == "image/jpeg", "the photograph is untouched"
    assert "(10, 10" not in prompts(out, "val", boxes="none")["val-0"].text


def test_rationales_are_conditioned_on_each_answer(tmp_path: Path) -> None:
    found = prompts(write_vcr(tmp_path / "b", 1), "val")
    assert list(found) == ["val-0", "val-0:r0", "val-0:r1", "val-0:r2", "val-0:r3"]
    assert "Answer:" not in found["val-0"].text
    for k in range(4):
        text = found[f"val-0:r{k}"].text
        assert f"Answer: [person1] answer{k}." in text
        assert sum(f"answer{j}" in text for j in range(4)) == 1, "the other answers are not shown"
        assert "D. [person1] and [person2] reason3." in text


def test_a_follow_up_is_the_rationale_given_the_predicted_answer(tmp_path: Path) -> None:
    questions = SplitQuestions(Benchmark(write_vcr(tmp_path / "b", 1)), "val", Asking(rationales="predicted"))
    (question,) = questions.first()
    follow = questions.follow_up(question, 2)
    assert follow is not None
    assert follow.name == "val-0:r2"
    assert questions.follow_up(follow, 0) is None
    every = SplitQuestions(questions.benchmark, "val", Asking())
    assert every.follow_up(question, 2) is None


@pytest.mark.parametrize(
    ("write", "split"),
    [(write_pairs, "dev"), (write_drawings, "dev"), (write_matrices, "test"), (write_vcr, "val")],
)
def test_no_two_wordings_are_the_same_and_all_hold_the_item(
    write: Callable[[Path], Path], split: str, tmp_path: Path
) -> None:
    out = write(tmp_path / "b")
    one = prompts(out, split)
    every = prompts(out, split, wordings=COUNT, reasoning=True)
    assert len(every) == COUNT * len(one)
    for name in one:
        same = [prompt.text for other, prompt in every.items() if other.partition("/")[0] == name]
        assert len(set(same)) == COUNT
    assert all('"Answer: X"' in prompt.text for prompt in every.values())
    for name, prompt in every.items():
        query = one[name.partition("/")[0]]
        assert prompt.pictures == query.pictures


def test_every_task_has_as_many_wordings() -> None:
    assert WORDINGS.keys() == {"statement", "matrix", "answer", "rationale"}
    for each in WORDINGS.values():
        assert len({(w.opening, w.ask) for w in each}) == COUNT


def test_a_blind_prompt_needs_no_pictures_and_mentions_none(tmp_path: Path) -> None:
    prompt = prompts(write_pairs(tmp_path / "b", 1), "dev", blind=True)["dev-0"]
    assert prompt.pictures == ()
    assert "Look at" not in prompt.text


def test_a_picture_that_is_only_an_address(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="NLVR2", task="statement") as writer:
        writer.add_items("dev", [Item("a", "statement", ("p",), Text("x"), TRUTH, answer=1)])
        writer.add_panels([Panel("p", uri="https://example.org/x.png")])
    with pytest.raises(UserError, match="only its address is known") as error:
        prompts(tmp_path / "b", "dev")
    assert "--blind" in error.value.fix
    assert prompts(tmp_path / "b", "dev", blind=True)


def test_bad_settings(tmp_path: Path) -> None:
    for bad in (
        {"wordings": 0},
        {"orders": 0},
        {"layout": "x"},
        {"boxes": "x"},
        {"views": "x"},
    ):
        with pytest.raises(UserError):
            Asking(**bad)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=f"{COUNT} wordings"):
        SplitQuestions(Benchmark(write_pairs(tmp_path / "p", 1)), "dev", Asking(wordings=COUNT + 1))
    with pytest.raises(UserError, match="not true or false"):
        SplitQuestions(Benchmark(write_vcr(tmp_path / "b", 1)), "val", Asking(answers="truth"))


def test_names_of_variants() -> None:
    assert len(variants(Asking(wordings=3, orders=2))) == 6
    assert Question(Item("a", "statement", (), None, TRUTH), Variant(1, 0)).id == "a/wording1-order0"


@given(st.integers(2, 26))
def test_over_all_orders_each_candidate_stands_in_each_place_once(count: int) -> None:
    orders = [rotation(count, k) for k in range(count)]
    assert orders[0] == tuple(range(count))
    for place in range(count):
        assert sorted(order[place] for order in orders) == list(range(count))
