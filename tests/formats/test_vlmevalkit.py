"""`import vlmevalkit` and `export vlmevalkit`: the TSV of VLMEvalKit both ways."""

from __future__ import annotations

import ast
import base64
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.commands import invoke

import veridical
from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.check import check
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.formats.releases import export
from veridical.records import TRUTH, Item, Panel, Text

from ._small import choices, matrices, picture, statements
from ._tables import mmbench, questions


def back(benchmark: Path, folder: Path) -> Benchmark:
    """A benchmark that was exported and imported again."""
    export("vlmevalkit", benchmark, folder / "tsv")
    veridical.import_release("vlmevalkit", folder / "tsv", folder / "back")
    assert check(folder / "back").ok
    return Benchmark(folder / "back")


def test_a_table_as_mmbench_has_it(tmp_path: Path) -> None:
    asked = questions(12)
    found = veridical.import_release("vlmevalkit", mmbench(tmp_path / "MMBench_DEV_EN.tsv", asked), tmp_path / "b")
    assert found.counts == {"items": {"main": {"dev": 12}}, "images": 12, "panels": 12}
    made = Benchmark(tmp_path / "b")
    assert (made.name, made.task) == ("MMBench_DEV_EN", "choice")
    for number, (item, one) in enumerate(zip(made.items("dev"), asked, strict=True)):
        hint = "Look closely.\n" if number % 3 == 0 else ""
        assert (item.id, item.query) == (str(number), Text(hint + one.question))
        assert (item.candidates, item.answer) == (tuple(map(Text, one.choices)), one.answer)
        assert item.tags == (("category", one.subject), ("l2-category", "perception"))
        image = made.panels[item.panels[0]].image
        assert image is not None
        assert made.image(image).to_pybytes() == one.image


def test_circular_rows_share_group_and_picture(tmp_path: Path) -> None:
    asked = questions(5)
    found = veridical.import_release("vlmevalkit", mmbench(tmp_path / "q.tsv", asked, circular=True), tmp_path / "b")
    assert (found.counts["items"]["main"], found.counts["images"]) == ({"dev": 20}, 5)
    made = Benchmark(tmp_path / "b")
    items = {item.id: item for item in made.items("dev")}
    assert {item.group for item in items.values()} == {"0", "1", "2", "3", "4"}
    assert items["3"].panels == items["2000003"].panels
    for item in items.values():
        said = item.candidates[item.answer or 0]
        first = items[item.group or ""]
        assert said == first.candidates[first.answer or 0]


def test_a_large_index_alone_is_no_rotation(tmp_path: Path) -> None:
    rows = ["7\tq\tx\ty\tA", "1000007\tother\tx\ty\tA", "2000007\tq\tx\tz\tA", "1000009\tq\tx\ty\tA"]
    for name, more, groups in (
        ("plain", [], {None}),
        ("mixed", ["3000007\tq\ty\tx\tB"], {"7", "1000007", "2000007", "1000009"}),
    ):
        path = tmp_path / f"{name}.tsv"
        path.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows, *more, ""]))
        veridical.import_release("vlmevalkit", path, tmp_path / name)
        items = {item.id: item.group for item in Benchmark(tmp_path / name).items("test")}
        assert set(items.values()) == groups
        assert items.get("3000007") == items["7"] or not more


@pytest.mark.parametrize("names", [("0005", "0006"), ("1e3", "5.0"), ("NA", "x"), ("true", "False"), ("7", "10")])
def test_ids_come_back_from_pandas(names: tuple[str, ...], tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="mine", task="choice", official=True, describe=describe) as writer:
        two = (Text("x"), Text("y"))
        writer.add_items("test", [Item(name, "choice", (), Text("Which?"), two, 1) for name in names])
    export("vlmevalkit", tmp_path / "b", tmp_path / "tsv")
    data = pd.read_csv(tmp_path / "tsv" / "mine_test.tsv", sep="\t")
    assert ("veridical_id" in data) == (names != ("7", "10"))
    assert [str(one) for one in data["index"]] == (["7", "10"] if names == ("7", "10") else ["0", "1"])
    assert tuple(item.id for item in back(tmp_path / "b", tmp_path / "again").items("test")) == names


def test_what_is_no_such_table(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("question\tA\tB\tanswer\nq\tx\ty\tA\n")
    with pytest.raises(UserError, match="has no column 'index'"):
        veridical.import_release("vlmevalkit", tmp_path / "q.tsv", tmp_path / "b")
    (tmp_path / "q.tsv").write_text("index\tquestion\tA\tB\tanswer\timage\n1\tq\tx\ty\tA\t77\n")
    with pytest.raises(UserError, match=r"line 2: the picture '77' is neither"):
        veridical.import_release("vlmevalkit", tmp_path / "q.tsv", tmp_path / "b")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no TSV"):
        veridical.import_release("vlmevalkit", tmp_path / "empty", tmp_path / "b")


def test_an_answer_is_a_letter_although_a_choice_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("index\tquestion\tA\tB\tC\tanswer\n1\tWhich vitamin?\tB\tC\tA\tB\n")
    veridical.import_release("vlmevalkit", tmp_path / "q.tsv", tmp_path / "b")
    assert veridical.open(tmp_path / "b")["1"].label == "C"


def test_an_empty_column_of_splits_is_as_none(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("index\tquestion\tA\tB\tanswer\tsplit\n1\tq\tx\ty\tA\t\n2\tr\tx\ty\tB\t\n")
    veridical.import_release("vlmevalkit", tmp_path / "q.tsv", tmp_path / "b")
    assert [item.id for item in Benchmark(tmp_path / "b").items("test")] == ["1", "2"]
    (tmp_path / "h.tsv").write_text("index\tquestion\tA\tB\tanswer\tsplit\n1\tq\tx\ty\tA\tdev\n2\tr\tx\ty\tB\t\n")
    with pytest.raises(UserError, match=r"line 3: the split is empty \(column 'split'\)") as error:
        veridical.import_release("vlmevalkit", tmp_path / "h.tsv", tmp_path / "c")
    assert "--split-column none" in error.value.fix
    veridical.import_release("vlmevalkit", tmp_path / "h.tsv", tmp_path / "c", split_column="none")
    assert len(Benchmark(tmp_path / "c")) == 2


def test_a_picture_may_be_named_in_several_steps(tmp_path: Path) -> None:
    data = base64.b64encode(picture(1)).decode()
    rows = [f"1\tq\tx\ty\tA\t{data}", "2\tr\tx\ty\tB\t1", "3\ts\tx\ty\tB\t2", "4\tt\tx\ty\tA\t3"]
    (tmp_path / "q.tsv").write_text("\n".join(["index\tquestion\tA\tB\tanswer\timage", *reversed(rows), ""]))
    veridical.import_release("vlmevalkit", tmp_path / "q.tsv", tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    assert {item.panels for item in made} == {made["1"].panels}
    rows[0] = "1\tq\tx\ty\tA\t4"  # a circle
    (tmp_path / "q.tsv").write_text("\n".join(["index\tquestion\tA\tB\tanswer\timage", *rows, ""]))
    with pytest.raises(UserError, match=r"line 2: the picture '4' is neither"):
        veridical.import_release("vlmevalkit", tmp_path / "q.tsv", tmp_path / "c")


def test_questions_of_yes_and_no(tmp_path: Path) -> None:
    (tmp_path / "MME.tsv").write_text("index\tquestion\tanswer\tcategory\n1\tIs it?\tYes\tx\n2\tIs it not?\tNo\tx\n")
    veridical.import_release("vlmevalkit", tmp_path / "MME.tsv", tmp_path / "b")
    assert [item.answer for item in Benchmark(tmp_path / "b").items("test")] == [0, 1]


TEXTS = st.text("abcXYZ 01'\",;\t\n\r\v\x85\u2028\ufeff\\.é你-", min_size=1, max_size=12).map(str.strip).filter(bool)
WORDS = st.sampled_from(["None", "NA", "nan", "null", "A", "1", "true"]) | TEXTS
IDS = st.text("ab01/#. é-", min_size=1, max_size=6).map(str.strip).filter(lambda s: s.isprintable() and bool(s))


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_export_and_import_give_the_same_items(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("v")
    is_statement = data.draw(st.booleans())
    pictures = [picture(seed) for seed in range(3)]
    with BenchmarkWriter(
        folder / "b", name="mine", task="statement" if is_statement else "choice", official=True, describe=describe
    ) as writer:
        addresses = [writer.add_image(one) for one in pictures]
        names = data.draw(st.lists(IDS, min_size=1, max_size=5, unique=True))
        split = data.draw(st.sampled_from(["dev", "test"]))
        items = []
        for name in names:
            texts = tuple(map(Text, data.draw(st.lists(WORDS, min_size=2, max_size=5, unique=True))))
            candidates = TRUTH if is_statement else texts
            shown = data.draw(st.lists(st.sampled_from(addresses), max_size=3, unique=True))
            group = data.draw(st.sampled_from([None, "g"]))
            origins = (*(["group g"] if group else []), *shown)
            answer = data.draw(st.integers(0, len(candidates) - 1))
            tags = data.draw(st.sampled_from([(), (("category", "x"),), (("tag", "a"), ("tag", "b"))]))
            panels = tuple(one[:32] for one in shown)
            task = "statement" if is_statement else "choice"
            items.append(
                Item(name, task, panels, Text(data.draw(TEXTS)), candidates, answer, group, origins, tags=tags)
            )
        writer.add_items(split, items)
        writer.add_panels([Panel(one[:32], one) for one in addresses])
    truth = not is_statement and all(sorted(c.raw for c in item.candidates) == ["false", "true"] for item in items)
    assert truth or list(back(folder / "b", folder).items(split)) == items


def test_pandas_reads_what_was_written(tmp_path: Path) -> None:
    """As VLMEvalKit does: no choice is lost, several pictures are a list with a list of names, one is base64."""
    with BenchmarkWriter(tmp_path / "b", name="mine", task="choice", official=True, describe=describe) as writer:
        red, blue = (writer.add_image(picture(seed)) for seed in (1, 2))
        four = tuple(map(Text, ("None", "NA", "x", "null")))
        items = [Item("a/b", "choice", ("red", "blue"), Text("Which?"), four, 1)]
        items += [Item("c", "choice", ("red",), Text("What?"), four[:2], 0)]
        writer.add_items("test", items)
        writer.add_panels([Panel("red", red), Panel("blue", blue)])
    export("vlmevalkit", tmp_path / "b", tmp_path / "tsv")
    data = pd.read_csv(tmp_path / "tsv" / "mine_test.tsv", sep="\t")
    assert list(data["index"]) == [0, 1]
    assert list(data["veridical_id"]) == ["a/b", "c"]
    assert [str(data.iloc[0][letter]).strip() for letter in "ABCD"] == ["None", "NA", "x", "null"]
    assert data[["C", "D"]].iloc[1].isna().all()
    several = ast.literal_eval(data["image"][0])
    assert [base64.b64decode(one) for one in several] == [picture(1), picture(2)]
    assert ast.literal_eval(data["image_path"][0]) == ["0_1.jpg", "0_2.jpg"]
    assert base64.b64decode(data["image"][1]) == picture(1)
    assert list(data["answer"]) == ["B", "A"]


def test_pictures_of_which_only_addresses_are_known(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="mine", task="choice", official=True, describe=describe) as writer:
        two = (Text("x"), Text("y"))
        writer.add_items("test", [Item("a", "choice", ("p",), Text("Which?"), two, 1)])
        writer.add_panels([Panel("p", uri="https://example.org/p.jpg")])
    with pytest.raises(UserError, match="The picture of panel p is not in the benchmark") as error:
        export("vlmevalkit", tmp_path / "b", tmp_path / "tsv")
    assert "--images or --fetch" in error.value.fix


def test_hidden_answers_are_not_written(tmp_path: Path) -> None:
    statements(tmp_path / "b")
    done = invoke("export", "vlmevalkit", tmp_path / "b", "--out", tmp_path / "tsv")
    assert done.exit_code == 0
    names = {path.name for path in (tmp_path / "tsv").iterdir()}
    assert names == {"README.md", "nlvr_test.tsv", "nlvr_train.tsv"}
    assert "answer" in pd.read_csv(tmp_path / "tsv" / "nlvr_train.tsv", sep="\t")
    hidden = pd.read_csv(tmp_path / "tsv" / "nlvr_test.tsv", sep="\t")
    assert "answer" not in hidden
    assert "secret" not in (tmp_path / "tsv" / "nlvr_test.tsv").read_text()
    assert list(hidden["B"]) == [True] * len(hidden)


def test_matrices_and_tags_are_drawn(tmp_path: Path) -> None:
    matrices(tmp_path / "m")
    export("vlmevalkit", tmp_path / "m", tmp_path / "tsv")
    for path in (tmp_path / "tsv").glob("*.tsv"):
        data = pd.read_csv(path, sep="\t")
        assert data["A"][0] == "picture A"
        assert "question mark" in data["question"][0]
    choices(tmp_path / "c")
    export("vlmevalkit", tmp_path / "c", tmp_path / "tsv2")
    texts = "".join(path.read_text() for path in (tmp_path / "tsv2").glob("*.tsv"))
    assert "Why is this the answer?" in texts
    assert "[person1]" in texts


def test_pictures_that_are_only_addresses(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="mine", task="choice", official=True, describe=describe) as writer:
        two = (Text("x"), Text("y"))
        writer.add_items("test", [Item("a", "choice", ("p",), Text("Which?"), two, 1)])
        writer.add_panels([Panel("p", uri="http://photos.invalid/p.jpg")])
    with pytest.raises(UserError, match=r"only its address is known.\n.*--fetch"):
        export("vlmevalkit", tmp_path / "b", tmp_path / "tsv")
    assert not (tmp_path / "tsv").exists()
