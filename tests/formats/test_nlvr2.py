"""NLVR2: the real files both ways, subsets, hashes, phenomena, and every kind of damage."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.check import check
from veridical.errors import UserError
from veridical.formats.nlvr2 import balance_of, read_phenomena
from veridical.formats.releases import export_official, import_release
from veridical.records import TRUTH, Item, Judgement, Panel, Text

from ._releases import bomb, files, nlvr2_line, picture, write_lines


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    out = tmp_path_factory.mktemp("nlvr2") / "b"
    import_release("nlvr2", shared / "nlvr2", out)
    return Benchmark(out)


def test_real_bytes(real: Benchmark, shared: Path, tmp_path: Path) -> None:
    export_official(real.directory, tmp_path / "out")
    assert files(tmp_path / "out") == files(shared / "nlvr2")


def test_real_counts(real: Benchmark) -> None:
    items = list(real.items("dev"))
    assert len(items) == 6_982
    assert len({item.group for item in items}) == 2_018
    assert Counter(item.tag("balance")[0] for item in items) == {
        "balanced": 2_300,
        "unbalanced": 3_562,
        "neither": 1_120,
    }
    assert sum(bool(item.tag("phenomenon")) for item in items) > 1_000
    assert Counter(j.kind for j in real.judgements()) == {"validation": 6_982, "extra": 27_815}
    assert len(real.panels) == 8_102
    assert all(panel.phash and panel.uri for panel in real.panels.values())
    report = check(real.directory)
    assert report.ok, report.problems


def test_the_balance_rule_is_the_published_subsets(shared: Path) -> None:
    lines = [json.loads(line) for line in (shared / "nlvr2" / "dev.json").open()]
    left, right = (pa.array([line[name] for line in lines]) for name in ("left_url", "right_url"))
    found = balance_of(left, right, pa.array([line["label"] == "True" for line in lines])).to_pylist()
    for name in ("balanced", "unbalanced"):
        published = {json.loads(line)["identifier"] for line in (shared / "nlvr2" / f"{name}_dev.json").open()}
        assert published == {line["identifier"] for line, kind in zip(lines, found, strict=True) if kind == name}


def test_real_record(real: Benchmark) -> None:
    item = next(real.items("dev"))
    assert (item.id, item.panels, item.group) == ("dev-850-0-0", ("dev-850-0-img0", "dev-850-0-img1"), "dev-850-0")
    assert item.origins[0] == "dev-850"
    assert item.origins[1:] == tuple(real.panels[panel].uri for panel in item.panels)
    assert (item.candidates, item.answer, item.writer) == (TRUTH, 0, "61")
    assert (item.tag("synset"), item.tag("query")) == (("beer bottle",), ("some beer bottles38",))
    assert real.panels["dev-850-0-img0"].phash == "0038ffffff7c000f"
    mine = [j for j in real.judgements() if j.item == item.id]
    assert mine == [
        Judgement(item.id, "61", 0, "validation"),
        *(Judgement(item.id, worker, 0, "extra") for worker in ("154", "139", "149", "62")),
    ]


def test_phenomena_of_the_real_file(shared: Path) -> None:
    found = read_phenomena(shared / "nlvr2" / "annotated_dev_examples.txt")
    assert len(found) == 402
    assert found["One dog is wearing a leash."] == ("hard cardinality",)
    assert found["a cabinet has straight legs"] == ()
    assert Counter(name for names in found.values() for name in names)["spatial relation"] == 203


def test_phenomena_without_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One dog.\n* negation\n\n* coordination\n")
    with pytest.raises(UserError, match=r"a.txt, line 4: '\* coordination' has no sentence above it"):
        read_phenomena(tmp_path / "a.txt")


def test_a_file_alone_finds_what_lies_beside_it(tmp_path: Path) -> None:
    write_lines(tmp_path / "dev.json", nlvr2_line("dev-8-0-1"))
    (tmp_path / "dev_hashes.json").write_text('{"dev-8-0-img0.png": "00ff"}')
    (tmp_path / "test1_hashes.json").write_text("{}")
    import_release("nlvr2", tmp_path / "dev.json", tmp_path / "b")
    assert Benchmark(tmp_path / "b").panels["dev-8-0-img0"].phash == "00ff"
    export_official(tmp_path / "b", tmp_path / "out")
    assert sorted(files(tmp_path / "out")) == ["dev.json", "dev_hashes.json"]


def test_the_layout_of_the_authors_repository(tmp_path: Path) -> None:
    root = tmp_path / "nlvr2"
    write_lines(root / "data" / "train.json", nlvr2_line("train-1-0-0"))
    write_lines(root / "data" / "test1.json", nlvr2_line("test1-1-0-0"), nlvr2_line("test1-1-1-0"))
    write_lines(root / "data" / "unbalanced" / "unbalanced_test1.json", nlvr2_line("test1-1-1-0"))
    write_lines(root / "util" / "hashes" / "test1_hashes.json", {"test1-1-0-img1.png": "abcd"})
    import_release("nlvr2", root, tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    assert [item.tag("balance") for item in made.items("test1")] == [("neither",), ("unbalanced",)]
    assert made.panels["test1-1-0-img1"].phash == "abcd"
    export_official(tmp_path / "b", tmp_path / "out")
    assert files(tmp_path / "out") == files(root)


def test_photographs(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "train.json", nlvr2_line("train-1-0-0", directory=12), nlvr2_line("train-1-1-0"))
    (tmp_path / "photos" / "12").mkdir(parents=True)
    (tmp_path / "photos" / "12" / "train-1-0-img1.png").write_bytes(picture(9, 7))
    result = import_release("nlvr2", tmp_path / "r", tmp_path / "b", images=tmp_path / "photos")
    assert (result.counts["images"], result.counts["missing_images"]) == (1, 3)
    panel = Benchmark(tmp_path / "b").panels["train-1-0-img1"]
    assert panel.image
    assert (panel.width, panel.height) == (9, 7)
    export_official(tmp_path / "b", tmp_path / "out")
    assert sorted(files(tmp_path / "out")) == ["images/12/train-1-0-img1.png", "train.json"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the image is empty (0 bytes)."),
        (picture(9, 5)[:-9], "the image is cut off."),
        (picture(90, 50, 1, "JPEG")[:-9], "the image is cut off."),
        (bomb(60_000, 60_000), "the image claims 60,000 x 60,000 pixels; at most 89,478,485 are read."),
    ],
)
def test_damaged_photographs(data: bytes, problem: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "dev.json", nlvr2_line("dev-8-0-1"), nlvr2_line("dev-9-0-1"))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "dev-9-0-img0.png").write_bytes(data)
    with pytest.raises(UserError) as error:
        import_release("nlvr2", tmp_path, tmp_path / "b")
    assert error.value.problem == f"images/dev-9-0-img0.png: {problem} It belongs to line 2 of dev.json."
    assert not (tmp_path / "b").exists()


def test_a_photograph_that_is_there_twice(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "dev.json", nlvr2_line("dev-8-0-1"))
    (tmp_path / "r" / "images").mkdir()
    (tmp_path / "r" / "images" / "dev-8-0-img0.jpg").write_bytes(picture(9, 5, 1, "JPEG"))
    (tmp_path / "r" / "images" / "dev-8-0-img0.png").write_bytes(picture(8, 5))
    both = r"images/dev-8-0-img0.png: the same photograph is here as images/dev-8-0-img0.jpg"
    with pytest.raises(UserError, match=both):
        import_release("nlvr2", tmp_path / "r", tmp_path / "b")
    result = import_release("nlvr2", tmp_path / "r", tmp_path / "b", keep_going=True)
    assert [left.file for left in result.left_out] == ["images/dev-8-0-img0.png"]
    assert Benchmark(tmp_path / "b").panels["dev-8-0-img0"].width == 9


def test_a_folder_that_is_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "dev.json", nlvr2_line("dev-8-0-1"))
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "dev-8-0-img0.png").write_bytes(picture(8, 5))
    (tmp_path / "r" / "images" / "dev").mkdir(parents=True)
    (tmp_path / "r" / "images" / "dev" / "17").symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match="link leads out of the folder"):
        import_release("nlvr2", tmp_path / "r", tmp_path / "b")


def test_without_labels_or_extras(tmp_path: Path) -> None:
    bare = dict.fromkeys(("label", "writer", "validation", "extra_validations", "synset", "query"), ...)
    write_lines(tmp_path / "test2.json", nlvr2_line("test2-1-0-0", **bare))
    import_release("nlvr2", tmp_path, tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    (item,) = made.items("test2")
    assert made.is_hidden("test2")
    assert (item.answer, item.writer, item.tags) == (None, None, ())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "not valid JSON"),
        (nlvr2_line("dev-9-0-0", sentence=...), "the field 'sentence' is missing."),
        (nlvr2_line("dev-9-0-0", left_url=...), "the field 'left_url' is missing."),
        (nlvr2_line("dev-9-0-0", label=...), "the field 'label' is missing; other lines have one."),
        (nlvr2_line("dev-9-0-0", label="true"), "'label' is 'true'; expected \"True\" or \"False\"."),
        (nlvr2_line("dev-9-0-0", validation={"1": "Yes"}), "'validation' is 'Yes'; expected a judgement"),
        (nlvr2_line("dev-9-0"), "the identifier is 'dev-9-0'; expected split-set-pair-sentence"),
        (nlvr2_line("../../x-9-0-0"), "the identifier is '../../x-9-0-0'; expected"),
        (nlvr2_line("dev-8-0-1"), "identifier 'dev-8-0-1' is already on line 1."),
        (nlvr2_line("dev-8-0-0", left_url="elsewhere"), "the pair dev-8-0 has other addresses on line 1."),
        (json.dumps(nlvr2_line("dev-9-0-0")).encode().replace(b"dog", b"d\xe9g"), "is not UTF-8."),
    ],
)
def test_damage(line: Any, problem: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "dev.json", nlvr2_line("dev-8-0-1"), line, nlvr2_line("dev-9-1-1"))
    with pytest.raises(UserError) as error:
        import_release("nlvr2", path, tmp_path / "b")
    assert error.value.problem.startswith("dev.json, line 2: ")
    assert problem in error.value.problem
    assert not (tmp_path / "b").exists()
    result = import_release("nlvr2", path, tmp_path / "b", keep_going=True)
    assert [(left.file, left.line) for left in result.left_out] == [("dev.json", 2)]
    assert [item.id for item in Benchmark(tmp_path / "b").items("dev")] == ["dev-8-0-1", "dev-9-1-1"]
    export_official(tmp_path / "b", tmp_path / "out")
    lines = path.read_bytes().split(b"\n")
    assert files(tmp_path / "out")["dev.json"] == b"\n".join([lines[0], *lines[2:]])


def test_two_splits_with_one_pair(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "dev.json", nlvr2_line("dev-8-0-0"))
    write_lines(tmp_path / "r" / "test1.json", nlvr2_line("dev-8-0-1"))
    with pytest.raises(UserError, match="image 'dev-8-0' is in two splits, dev and test1"):
        import_release("nlvr2", tmp_path / "r", tmp_path / "b")


def test_a_subset_must_be_one(tmp_path: Path) -> None:
    write_lines(tmp_path / "dev.json", nlvr2_line("dev-8-0-1"), nlvr2_line("dev-8-1-1"))
    wrong = [nlvr2_line("dev-8-0-1"), nlvr2_line("dev-99-0-0"), nlvr2_line("dev-8-1-1", label="True")]
    write_lines(tmp_path / "balanced_dev.json", *wrong)
    with pytest.raises(UserError, match=r"balanced_dev.json, line 2: 'dev-99-0-0' is not in dev.json"):
        import_release("nlvr2", tmp_path, tmp_path / "b")
    result = import_release("nlvr2", tmp_path, tmp_path / "b", keep_going=True)
    assert [(left.file, left.line) for left in result.left_out] == [("balanced_dev.json", 2), ("balanced_dev.json", 3)]


def test_damaged_hashes(tmp_path: Path) -> None:
    write_lines(tmp_path / "dev.json", nlvr2_line("dev-8-0-1"))
    (tmp_path / "dev_hashes.json").write_text('{"dev-8-0-img0.png": 5}')
    with pytest.raises(UserError, match=r"dev_hashes.json: .*a whole number; expected a text"):
        import_release("nlvr2", tmp_path, tmp_path / "b")
    result = import_release("nlvr2", tmp_path, tmp_path / "b", keep_going=True)
    assert [left.file for left in result.left_out] == ["dev_hashes.json"]


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
judged = st.dictionaries(st.sampled_from(["1", "22", "303"]), st.sampled_from([0, 1]))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(words, st.sampled_from([0, 1]), words, words, judged, judged), min_size=1, max_size=6),
    st.booleans(),
    st.booleans(),
)
def test_records_to_official_and_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], photographs: bool, hashed: bool
) -> None:
    folder = tmp_path_factory.mktemp("law")
    with BenchmarkWriter(folder / "a", name="NLVR2", task="statement") as writer:
        image = writer.add_image(picture(8, 6)) if photographs else None
        items, panels, judgements = [], [], []
        for number, (sentence, answer, synset, query, first, extra) in enumerate(rows):
            pair = f"dev-5-{number}"
            two = [
                Panel(
                    f"{pair}-img{side}",
                    image,
                    width=8 if image else None,
                    height=6 if image else None,
                    uri=f"http://example.org/{number}-{side}",
                    phash="0f" if hashed else None,
                )
                for side in range(2)
            ]
            panels += two
            origins = ("dev-5", *(panel.uri or "" for panel in two))
            tags = (("synset", synset), ("query", query), ("balance", "neither"))
            names = tuple(panel.id for panel in two)
            items.append(
                Item(
                    f"{pair}-0",
                    "statement",
                    names,
                    Text(sentence),
                    TRUTH,
                    answer,
                    "dev-5-0",
                    origins,
                    writer="9",
                    tags=tags,
                )
            )
            for kind, given_ in (("validation", first), ("extra", extra)):
                judgements += [Judgement(items[-1].id, worker, verdict, kind) for worker, verdict in given_.items()]
        writer.add_items("dev", items)
        writer.add_panels(panels)
        writer.add_judgements(judgements)
    export_official(folder / "a", folder / "release")
    import_release("nlvr2", folder / "release", folder / "b")
    made = Benchmark(folder / "b")
    assert list(made.items("dev")) == items
    assert list(made.panels.values()) == panels
    assert sorted(made.judgements(), key=str) == sorted(judgements, key=str)
    export_official(folder / "b", folder / "again")
    assert files(folder / "again") == files(folder / "release")


def test_built_benchmarks_with_other_ids_are_numbered(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "a", name="mine", task="statement", config={"format": "nlvr2"}) as writer:
        writer.add_panels([Panel(name) for name in "abcd"])
        writer.add_items(
            "test",
            [
                Item("x0", "statement", ("a", "b"), Text("s"), TRUTH, 1, "g0", ("set0",)),
                Item("x1", "statement", ("c", "d"), Text("s"), TRUTH, 0, "g0", ("set0",)),
                Item("x2", "statement", ("c", "d"), Text("t"), TRUTH, 0, "g1", ("set0",)),
                Item("x3", "statement", ("a", "d"), Text("t"), TRUTH, 0, "g2", ("set1",)),
            ],
        )
    export_official(tmp_path / "a", tmp_path / "out")
    import_release("nlvr2", tmp_path / "out", tmp_path / "b")
    ids = [item.id for item in Benchmark(tmp_path / "b").items("test")]
    assert ids == ["test-0-0-0", "test-0-1-0", "test-0-1-1", "test-1-0-0"]
