"""VCR: the real files both ways, rationale items, GD-VCR, hidden answers, and every kind of damage."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.check import check
from veridical.errors import UserError
from veridical.formats.releases import export_official, import_release
from veridical.records import Item, Panel, Ref, SceneObject, Text

from ._releases import files, metadata, picture, vcr_line, write_lines


def test_the_real_record(shared: Path, tmp_path: Path) -> None:
    result = import_release("vcr", shared / "vcr" / "val-1.jsonl", tmp_path / "b")
    assert result.counts["items"]["main"] == {"val": 5}
    assert (result.counts["missing_images"], result.counts["missing_metadata"]) == (1, 0)
    made = Benchmark(tmp_path / "b")
    answer, *reasons = made.items("val")
    assert (answer.id, answer.task, answer.answer, answer.group) == ("val-1", "choice", 2, "val-1")
    assert answer.query == Text(
        '["Does", [0], "live", "in", "this", "house", "?"]', ("Does", Ref(("0",)), "live", "in", "this", "house", "?")
    )
    assert answer.origins[0] == "1054_Harry_Potter_and_the_prisoner_of_azkaban"
    assert [r.id for r in reasons] == [f"val-1:r{k}" for k in range(4)]
    assert [(r.parent, r.given, r.answer) for r in reasons] == [("val-1", k, 3 if k == 2 else None) for k in range(4)]
    assert len({r.candidates for r in reasons}) == 1
    assert reasons[0].candidates != answer.candidates
    panel = made.panels["val-0"]
    assert (panel.width, panel.height, [o.category for o in panel.objects][3:]) == (
        1920,
        797,
        ["car", "cellphone", "clock"],
    )
    assert panel.objects[0].box == (955.7418212890625, 52.329559326171875, 1551.5677490234375, 789.0325927734375)
    assert panel.objects[0].score == 0.9993261098861694
    assert panel.objects[0].polygons[0][:2] == ((1133, 64), (1126, 66))
    assert check(tmp_path / "b").ok
    export_official(tmp_path / "b", tmp_path / "out")
    original = files(shared / "vcr")
    del original["gd_vcr_val.jsonl"]
    assert files(tmp_path / "out") == original


def test_gd_vcr_has_no_rationale_stage(shared: Path, tmp_path: Path) -> None:
    import_release("vcr", shared / "vcr" / "gd_vcr_val.jsonl", tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    items = list(made.items("val"))
    assert len(items) == 886
    assert all(item.parent is None and item.answer is not None for item in items)
    assert len(made.panels) == 328
    assert Counter(item.tag("region")[0] for item in items) == {
        "east-asia": 282,
        "west": 275,
        "south-asia": 221,
        "africa": 108,
    }
    several = [t for item in items for t in (item.query.tokens if item.query else ()) if isinstance(t, Ref)]
    assert max(len(ref.objects) for ref in several) > 1
    assert all(o.box is None for panel in made.panels.values() for o in panel.objects)
    assert check(tmp_path / "b").ok
    export_official(tmp_path / "b", tmp_path / "out")
    assert files(tmp_path / "out") == {"gd_vcr_val.jsonl": (shared / "vcr" / "gd_vcr_val.jsonl").read_bytes()}


def test_two_files_of_one_split_are_refused(shared: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"split 'val' is in two files, gd_vcr_val.jsonl and val-1.jsonl"):
        import_release("vcr", shared / "vcr", tmp_path / "b")


def test_hidden_splits_tell_nothing(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "val.jsonl", *(vcr_line(n) for n in range(4)))
    import_release("vcr", tmp_path / "r", tmp_path / "b", hide=["val"])
    report = check(tmp_path / "b")
    assert report.ok, report.problems
    made = Benchmark(tmp_path / "b")
    assert all(item.answer is None and item.tags == () for item in made.items("val"))
    told = [item.answer for item in made.items("val", answers=True)]
    assert told == [1, None, 2, None, None] * 4
    words = ("Yes, 1 does.", "answer_sources", "answer_match_iter", "likely", "answer_label")
    for path in (tmp_path / "b").iterdir():
        text = str(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else path.read_text()
        assert not [word for word in words if word in text], path.name
    export_official(tmp_path / "b", tmp_path / "out")
    assert files(tmp_path / "out") == {}
    assert files(tmp_path / "out.hidden") == files(tmp_path / "r")
    shutil.rmtree(tmp_path / "b.hidden")  # as others have it
    export_official(tmp_path / "b", tmp_path / "public")
    lines = [json.loads(line) for line in files(tmp_path / "public")["val.jsonl"].splitlines()]
    assert [line["annot_id"] for line in lines] == [f"val-{n}" for n in range(4)]
    assert not any(name in line for line in lines for name in ("answer_label", "rationale_label", "answer_likelihood"))


def test_a_test_file_without_labels(tmp_path: Path) -> None:
    bare = dict.fromkeys(("answer_label", "rationale_label", "answer_likelihood"), ...)
    path = write_lines(tmp_path / "test.jsonl", vcr_line(0, "test", **bare), vcr_line(1, "test", **bare))
    import_release("vcr", path, tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    assert made.is_hidden("test")
    assert [item.answer for item in made.items("test")] == [None] * 10
    assert not list((tmp_path / "b.hidden").glob("answers-*"))


@pytest.mark.parametrize("place", ["beside", "inside", "given"])
def test_images_and_metadata_are_found(place: str, tmp_path: Path) -> None:
    annotations = tmp_path / "vcr1annots"
    base = {"beside": tmp_path, "inside": annotations, "given": tmp_path / "elsewhere"}[place] / "vcr1images"
    write_lines(annotations / "val.jsonl", vcr_line(0))
    image = base / "lsmdc_1054_A_film" / "val-0@0.png"
    image.parent.mkdir(parents=True)
    image.write_bytes(picture(24, 16))
    image.with_suffix(".json").write_text(json.dumps(metadata()))
    images = base if place == "given" else None
    result = import_release("vcr", annotations, tmp_path / "b", images=images)
    assert (result.counts["missing_images"], result.counts["missing_metadata"]) == (0, 0)
    panel = Benchmark(tmp_path / "b").panels["val-0"]
    assert panel.image
    assert panel.objects[2] == SceneObject("2", "car", (), (1.5, 2, 10.25, 12), 0.875, (((1, 2), (10, 2), (10, 12)),))
    export_official(tmp_path / "b", tmp_path / "out")
    names = ["val.jsonl", "vcr1images/lsmdc_1054_A_film/val-0@0.json", "vcr1images/lsmdc_1054_A_film/val-0@0.png"]
    assert sorted(files(tmp_path / "out")) == names


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"annot_id"', "not valid JSON"),
        (vcr_line(2, question=...), "the field 'question' is missing."),
        (vcr_line(2, answer_choices=...), "the field 'answer_choices' is missing."),
        (vcr_line(2, answer_label=...), "the field 'answer_label' is missing; other lines have one."),
        (vcr_line(2, rationale_label=...), "the field 'rationale_label' is missing; other lines have one."),
        (vcr_line(2, answer_label=4), "'answer_label' is 4; expected 0 to 3."),
        (vcr_line(2, answer_label="two"), "'answer_label' is a text"),
        (vcr_line(2, answer_choices=[["a"]] * 3), "'answer_choices' has 3 choices; expected 4."),
        (vcr_line(2, question=["Why", [3], "?"]), "a text tags object 3; the image has 3, counted from 0."),
        (vcr_line(2, rationale_choices=[["a", [-1]]] * 4), "a text tags object -1"),
        (vcr_line(2, question=["Why", {"x": 1}]), "is not a list of words and tags"),
        (vcr_line(2, question="Why?"), "is not a list of words and tags"),
        (vcr_line(2, img_fn="../../etc/passwd"), "'img_fn' is '../../etc/passwd', which leads out of the folder"),
        (vcr_line(2, metadata_fn="/etc/passwd"), "'metadata_fn' is '/etc/passwd', which leads out of the folder"),
        (vcr_line(0), "annot_id 'val-0' is already on line 1."),
        (vcr_line(2, annot_id=""), "'annot_id' is ''; expected a name such as val-1."),
        (vcr_line(2, img_id="a\0b"), "'img_id' is 'a\\x00b'; expected a name such as val-1."),
        (vcr_line(2, annot_id="val-0:r0"), "names that end so are for the rationales of a question."),
        (vcr_line(2, question=["Why", [True], "?"]), "a value is true or false; expected a whole number."),
        (json.dumps(vcr_line(2)).encode().replace(b'"No"', b"[" * 9999 + b"]" * 9999), "are nested too deeply."),
        (vcr_line(2, img_id="val-0"), "the image 'val-0' is another, or has other objects, on line 1."),
        (json.dumps(vcr_line(2)).encode().replace(b"drive", b"dr\xffve"), "is not UTF-8."),
    ],
)
def test_damage(line: Any, problem: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "val.jsonl", vcr_line(0), line, vcr_line(4))
    with pytest.raises(UserError) as error:
        import_release("vcr", path, tmp_path / "b")
    assert error.value.problem.startswith("val.jsonl, line 2: ")
    assert problem in error.value.problem
    assert not (tmp_path / "b").exists()
    result = import_release("vcr", path, tmp_path / "b", keep_going=True)
    assert [(left.file, left.line) for left in result.left_out] == [("val.jsonl", 2)]
    assert [i.id for i in Benchmark(tmp_path / "b").items("val") if i.parent is None] == ["val-0", "val-4"]
    export_official(tmp_path / "b", tmp_path / "out")
    lines = path.read_bytes().split(b"\n")
    assert files(tmp_path / "out")["val.jsonl"] == b"\n".join([lines[0], *lines[2:]])


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ({"names": ["person", "car", "car"]}, "its names are not the objects of the question."),
        ({"boxes": []}, "3 names, 0 boxes, 3 outlines."),
        ({"boxes": [[1, 2, 3]] * 3}, "a box is not left, top, right, bottom and a score."),
        ({"width": ...}, "the field 'width' is missing."),
        ({"width": 10**12}, "its image is 1000000000000 x 16 pixels; expected 1 to 89,478,485."),
        ({"width": -5}, "its image is -5 x 16 pixels"),
        ({"height": 0}, "its image is 24 x 0 pixels"),
        ({"boxes": [[9, 2, 3, 4, 1]] * 3}, "the box 9, 2, 3, 4 does not lie in 24 x 16 pixels."),
        ({"boxes": [[1, 2, 3, 40]] * 3}, "the box 1, 2, 3, 40 does not lie in 24 x 16 pixels."),
        ({"width": 25}, "the image is 24 x 16 pixels, its metadata is for 25 x 16."),
    ],
)
def test_damaged_metadata(broken: dict[str, Any], problem: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "val.jsonl", vcr_line(0))
    folder = tmp_path / "vcr1images" / "lsmdc_1054_A_film"
    folder.mkdir(parents=True)
    (folder / "val-0@0.json").write_text(json.dumps(metadata(**broken)))
    (folder / "val-0@0.png").write_bytes(picture(24, 16))
    with pytest.raises(UserError) as error:
        import_release("vcr", tmp_path, tmp_path / "b")
    assert error.value.problem.startswith("vcr1images/lsmdc_1054_A_film/val-0@0.")
    assert problem in error.value.problem
    result = import_release("vcr", tmp_path, tmp_path / "b", keep_going=True)
    assert len(result.left_out) == 1
    assert result.counts["items"]["main"] == {"val": 5}
    assert Benchmark(tmp_path / "b").manifest["config"]["left_out"] == {"lines": 0, "files": 1}
    assert check(tmp_path / "b").ok


def test_metadata_nested_too_deeply(tmp_path: Path) -> None:
    write_lines(tmp_path / "val.jsonl", vcr_line(0))
    folder = tmp_path / "vcr1images" / "lsmdc_1054_A_film"
    folder.mkdir(parents=True)
    (folder / "val-0@0.json").write_text('{"names": ' + "[" * 100_000)
    with pytest.raises(UserError, match=r"val-0@0.json: .*(nested too deeply|expected a text)"):
        import_release("vcr", tmp_path, tmp_path / "b")
    (folder / "val-0@0.json").write_text('{"other": ' + "[" * 100_000)
    with pytest.raises(UserError, match=r"val-0@0.json: lists or objects are nested too deeply"):
        import_release("vcr", tmp_path, tmp_path / "b")


@pytest.mark.parametrize("annot", ["../../evil-1", "/tmp/evil-1", "..-1", ".-1", "x" * 300 + "-1", "a b-1"])
def test_names_that_cannot_be_a_split(annot: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r" / "questions.jsonl", vcr_line(0, annot_id=annot))
    for keep_going in (False, True):
        with pytest.raises(UserError, match="cannot be the name of a split") as error:
            import_release("vcr", path, tmp_path / "b", keep_going=keep_going)
        assert "--split" in error.value.fix
    assert [p.name for p in tmp_path.iterdir()] == ["r"]
    assert list(import_release("vcr", path, tmp_path / "b", split="val").counts["items"]["main"]) == ["val"]


def test_two_splits_with_one_image(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "val.jsonl", vcr_line(0))
    write_lines(tmp_path / "r" / "train.jsonl", vcr_line(0, "train", img_id="val-0"))
    with pytest.raises(UserError, match="image 'val-0' is in two splits, train and val"):
        import_release("vcr", tmp_path / "r", tmp_path / "b")


def test_a_folder_that_is_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "val.jsonl", vcr_line(0))
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "val-0@0.png").write_bytes(picture(24, 16))
    (tmp_path / "r" / "vcr1images").mkdir()
    (tmp_path / "r" / "vcr1images" / "lsmdc_1054_A_film").symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match="link leads out of the folder of images"):
        import_release("vcr", tmp_path / "r", tmp_path / "b")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "val.jsonl", vcr_line(0))
    image = tmp_path / "r" / "vcr1images" / "lsmdc_1054_A_film" / "val-0@0.png"
    image.parent.mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(picture(24, 16))
    image.symlink_to(tmp_path / "secret.png")
    with pytest.raises(UserError, match="link leads out of the folder of images"):
        import_release("vcr", tmp_path / "r", tmp_path / "b")


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
tokens = st.lists(words | st.lists(st.integers(0, 2), min_size=1, max_size=2), max_size=5)
four = st.lists(tokens, min_size=4, max_size=4)


def text(value: list[Any]) -> Text:
    return Text(json.dumps(value), tuple(t if isinstance(t, str) else Ref(tuple(map(str, t))) for t in value))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(tokens, four, st.integers(0, 3), four, st.integers(0, 3)), min_size=1, max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_records_to_official_and_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], boxes: bool, reasons: bool
) -> None:
    folder = tmp_path_factory.mktemp("law")
    with BenchmarkWriter(folder / "a", name="VCR", task="choice") as writer:
        image = writer.add_image(picture(24, 16))
        items, panels = records(rows, image, boxes, reasons)
        writer.add_items("val", items)
        writer.add_panels(panels)
    export_official(folder / "a", folder / "release")
    import_release("vcr", folder / "release", folder / "b")
    made = Benchmark(folder / "b")
    assert list(made.panels.values()) == panels
    copies = reasons and all(row[1] == row[3] for row in rows)  # then a rationale stage cannot be told from none
    assert list(made.items("val")) == [item for item in items if item.parent is None or not copies]
    export_official(folder / "b", folder / "again")
    assert files(folder / "again") == files(folder / "release")
    shutil.rmtree(folder)


def records(rows: list[Any], image: str, boxes: bool, reasons: bool) -> tuple[list[Item], list[Panel]]:
    items, panels = [], []
    for number, (question, answers, right, rationales, reason) in enumerate(rows):
        one, name = f"val-{number}", f"film/{number}@0.jpg"
        objects = tuple(
            SceneObject(str(k), "dog", (), (1.0, 2.5, 3.0, 4.0) if boxes else None, 0.5 if boxes and k else None)
            for k in range(3)
        )
        size = (24, 16) if boxes else (None, None)
        panels.append(Panel(f"val-{number}", image, None, *size, objects, name))
        shared = {"group": one, "origins": ("film", name), "tags": (("likelihood", "likely"),)}
        query = text(question)
        items.append(Item(one, "choice", (f"val-{number}",), query, tuple(map(text, answers)), right, **shared))
        for k in range(4) if reasons else ():
            answer = reason if k == right else None
            why = tuple(map(text, rationales))
            items.append(
                Item(f"{one}:r{k}", "choice", (f"val-{number}",), query, why, answer, parent=one, given=k, **shared)
            )
    return items, panels


def test_built_texts_without_token_lists(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "a", name="VCR", task="choice") as writer:
        writer.add_panels([Panel("p0", None, objects=(SceneObject("dog-7", "dog"),))])
        choices = tuple(Text(f"answer {k}") for k in range(4))
        question = Text("why [dog 1] ?", ("why", Ref(("dog-7",)), "?"))
        writer.add_items("val", [Item("q", "choice", ("p0",), question, choices, 1)])
    export_official(tmp_path / "a", tmp_path / "out")
    line = json.loads(files(tmp_path / "out")["val.jsonl"])
    assert line["question"] == ["why", [0], "?"]
    assert line["answer_choices"][3] == ["answer", "3"]
    assert (line["answer_label"], line["img_fn"], line["objects"]) == (1, "p0.jpg", ["dog"])


def test_matrices_have_no_words(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "a", name="VCR", task="matrix") as writer:
        writer.add_panels([Panel("p0")])
        writer.add_items("val", [Item("q", "matrix", ("p0",), candidates=("p0", "p0"), answer=0)])
    with pytest.raises(UserError, match="not a question with answers in words"):
        export_official(tmp_path / "a", tmp_path / "out")
