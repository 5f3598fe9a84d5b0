"""NLVR: the real files both ways, and every kind of damage."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.check import check
from veridical.errors import UserError
from veridical.formats.releases import export_official, import_release
from veridical.records import TRUTH, Item, Judgement, Panel, SceneObject, Text, View

from ._releases import files, nlvr_line, picture, write_lines

ORDERS = list(itertools.permutations(range(3)))
BOX = nlvr_line()["structured_rep"][0]


def thing(**change: Any) -> list[list[dict[str, Any]]]:
    return [[BOX[0] | change], [], []]


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    out = tmp_path_factory.mktemp("nlvr") / "b"
    import_release("nlvr", shared / "nlvr", out)
    return Benchmark(out)


def test_real_counts(real: Benchmark) -> None:
    assert real.manifest["counts"]["items"]["main"] == {"train": 12_408, "dev": 989}
    assert real.manifest["counts"]["panels"] == 3 * (12_408 + 989)
    assert real.manifest["counts"]["judgements"] == 12_408 + 5 * 989
    dev = list(real.items("dev"))
    assert Counter(item.answer for item in dev) == {1: 547, 0: 442}
    assert Counter(item.tag("scene")[0] for item in dev) == {"tower": 676, "scatter": 313}
    assert Counter(j.verdict for j in real.judgements()) == {1: 6996 + 2685, 0: 5412 + 2197, "nonsense": 63}
    assert len({item.group for item in real.items("train")}) == 3163
    assert all(view.image for item in dev for view in item.views)


def test_real_record(real: Benchmark) -> None:
    item = next(real.items("train"))
    assert item.id == "1304-0"
    assert item.query == Text("There is a circle closely touching a corner of a box.")
    assert (item.candidates, item.answer, item.group, item.origins) == (TRUTH, 1, "1304", ("1304",))
    assert [view.order for view in item.views] == ORDERS
    panel = real.panels["1304-0/0"]
    assert panel.region == (0, 0, 100, 100)
    assert panel.objects[0] == SceneObject(
        "0", "triangle", (("color", "yellow"), ("size", "medium")), (27.0, 21.0, 47.0, 41.0)
    )


def test_real_bytes(real: Benchmark, shared: Path, tmp_path: Path) -> None:
    export_official(real.directory, tmp_path / "out")
    written, original = files(tmp_path / "out"), files(shared / "nlvr")
    assert len(original) == 2 + 5_934 + 1_000
    assert written == original


def test_real_is_whole(real: Benchmark) -> None:
    report = check(real.directory, images=False)
    assert report.ok, report.problems


def test_panels_lie_in_the_first_drawing_that_is_here(tmp_path: Path) -> None:
    write_lines(tmp_path / "dev.json", nlvr_line("7-1"))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "dev-7-1-3.png").write_bytes(picture(400, 100))
    import_release("nlvr", tmp_path / "dev.json", tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    (item,) = made.items("dev")
    assert ORDERS[3] == (1, 2, 0)
    assert [made.panels[p].region[0] for p in item.panels if made.panels[p].region] == [300, 0, 150]
    assert {made.panels[p].image for p in item.panels} == {item.views[3].image}
    assert item.views[0].image is None


def test_an_identifier_in_two_splits_gets_its_split(tmp_path: Path) -> None:
    for split in ("train", "dev"):
        write_lines(tmp_path / f"{split}.json", nlvr_line("7-1"))
    import_release("nlvr", tmp_path, tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    (train,), (dev,) = made.items("train"), made.items("dev")
    assert (train.id, train.group, train.origins, train.panels[2]) == (
        "train-7-1",
        "train-7",
        ("train-7",),
        "train-7-1/2",
    )
    assert dev.id == "dev-7-1"
    assert {j.item for j in made.judgements()} == {"train-7-1", "dev-7-1"}
    export_official(tmp_path / "b", tmp_path / "out")
    assert files(tmp_path / "out") == {name: (tmp_path / name).read_bytes() for name in ("train.json", "dev.json")}


def test_images_may_be_elsewhere_and_carry_the_folder_name(tmp_path: Path) -> None:
    write_lines(tmp_path / "a" / "hidden_final.json", nlvr_line("7-1", directory=..., evals=...))
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "hidden-7-1-0.png").write_bytes(picture(400, 100))
    result = import_release(
        "nlvr", tmp_path / "a" / "hidden_final.json", tmp_path / "b", split="hidden", images=tmp_path / "pictures"
    )
    assert (result.counts["images"], result.counts["missing_images"]) == (1, 5)
    export_official(tmp_path / "b", tmp_path / "out")
    assert sorted(files(tmp_path / "out")) == ["hidden/images/hidden-7-1-0.png", "hidden_final.json"]


def test_a_split_without_labels_is_hidden(tmp_path: Path) -> None:
    write_lines(tmp_path / "test.json", nlvr_line("7-1", label=...))
    import_release("nlvr", tmp_path, tmp_path / "b")
    made = Benchmark(tmp_path / "b")
    assert made.is_hidden("test")
    assert [item.answer for item in made.items("test")] == [None]
    with pytest.raises(UserError, match="answers of split 'test' are hidden"):
        list(made.items("test", answers=True))
    export_official(tmp_path / "b", tmp_path / "out")
    assert files(tmp_path / "out") == {"test.json": (tmp_path / "test.json").read_bytes()}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"sentence": ', "not valid JSON"),
        (nlvr_line("8-0", sentence=...), "the field 'sentence' is missing."),
        (nlvr_line("8-0", structured_rep=...), "the field 'structured_rep' is missing."),
        (nlvr_line("8-0", label=...), "the field 'label' is missing; other lines have one."),
        (nlvr_line("8-0", label="maybe"), "'label' is 'maybe'; expected \"true\" or \"false\"."),
        (nlvr_line("8-0", label=True), "'label'"),
        (nlvr_line("8-0", evals={"r0": "perhaps"}), "'evals' is 'perhaps'; expected a judgement"),
        (nlvr_line("8-0", structured_rep=thing(color="Red")), "'color' is 'Red'; expected \"Black\""),
        (nlvr_line("8-0", structured_rep=thing(type="star")), "'type' is 'star'; expected"),
        (nlvr_line("8-0", structured_rep=thing(size=15)), "'size' is 15; expected 10, 20 or 30."),
        (nlvr_line("8-0", structured_rep=thing(x_loc=81)), "a square of size 20 at (81, 80) does not fit into box 1"),
        (nlvr_line("8-0", structured_rep=thing(y_loc=-1)), "does not fit into box 1"),
        (nlvr_line("8-0", structured_rep=[[], []]), "'structured_rep' has 2 boxes; expected 3."),
        (nlvr_line("\u0661-\u0662"), "expected presentation-image, such as 1304-0."),  # digits, but not ours
        (nlvr_line("../../8"), "the identifier is '../../8'; expected presentation-image"),
        (nlvr_line("8-0", directory="../../etc"), "the directory '../../etc' leads out of the folder of images."),
        (nlvr_line("7-1"), "identifier '7-1' is already on line 1."),
        (json.dumps(nlvr_line("8-0")).encode()[:-2] + b'\xff"}', "byte"),
    ],
)
def test_damage(line: Any, problem: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "dev.json", nlvr_line("7-1"), line, nlvr_line("9-0"))
    with pytest.raises(UserError) as error:
        import_release("nlvr", path, tmp_path / "b")
    assert error.value.problem.startswith("dev.json, line 2: ")
    assert problem in error.value.problem
    assert not (tmp_path / "b").exists()
    result = import_release("nlvr", path, tmp_path / "b", keep_going=True)
    assert [(left.file, left.line) for left in result.left_out] == [("dev.json", 2)]
    assert [item.id for item in Benchmark(tmp_path / "b").items("dev")] == ["7-1", "9-0"]
    export_official(tmp_path / "b", tmp_path / "out")
    lines = path.read_bytes().split(b"\n")
    assert files(tmp_path / "out")["dev.json"] == b"\n".join([lines[0], *lines[2:]])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the image is empty (0 bytes)."),
        (b"text", "not an image"),
        (picture(20, 20), "the image is 20 x 20 pixels; an NLVR drawing is 400 x 100."),
        (picture(400, 100)[:100], "cut off"),
    ],
)
def test_damaged_images(data: bytes, problem: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "dev.json", nlvr_line("6-0"), nlvr_line("7-1"))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "dev-7-1-2.png").write_bytes(data)
    with pytest.raises(UserError) as error:
        import_release("nlvr", path, tmp_path / "b")
    assert error.value.problem.startswith(f"images/dev-7-1-2.png: {problem}" if problem[:3] == "the" else "images")
    assert problem in error.value.problem
    assert error.value.problem.endswith("It belongs to line 2 of dev.json.")
    result = import_release("nlvr", path, tmp_path / "b", keep_going=True)
    assert [left.file for left in result.left_out] == ["images/dev-7-1-2.png"]
    assert result.counts["items"]["main"] == {"dev": 2}


def test_a_folder_that_is_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "dev.json", nlvr_line("7-1"))
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "dev-7-1-0.png").write_bytes(picture(400, 100))
    (tmp_path / "r" / "images").mkdir()
    (tmp_path / "r" / "images" / "17").symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match="link leads out of the folder"):
        import_release("nlvr", tmp_path / "r" / "dev.json", tmp_path / "b")


def test_a_drawing_that_is_there_twice(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "dev.json", nlvr_line("7-1"))
    for folder in ("0", "1"):
        (tmp_path / "r" / "images" / folder).mkdir(parents=True)
        (tmp_path / "r" / "images" / folder / "dev-7-1-0.png").write_bytes(picture(400, 100))
    with pytest.raises(UserError, match=r"images/1/dev-7-1-0.png: the same drawing is here as images/0/dev-7-1-0.png"):
        import_release("nlvr", tmp_path / "r" / "dev.json", tmp_path / "b")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r" / "dev.json", nlvr_line("7-1"))
    (tmp_path / "r" / "images").mkdir()
    (tmp_path / "secret.png").write_bytes(picture(400, 100))
    (tmp_path / "r" / "images" / "dev-7-1-0.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(UserError, match="leads out of the folder"):
        import_release("nlvr", path, tmp_path / "b")


objects = st.builds(
    lambda kind, color, size, x, y: (kind, color, size, x, y),
    st.sampled_from(["square", "triangle", "circle"]),
    st.sampled_from(["black", "yellow", "blue"]),
    st.sampled_from([("small", 10), ("medium", 20), ("large", 30)]),
    st.integers(0, 70),
    st.integers(0, 70),
)
scenes = st.lists(st.lists(objects, max_size=4), min_size=3, max_size=3)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=30),
            st.sampled_from([0, 1]),
            scenes,
            st.dictionaries(st.sampled_from(["r0", "r1", "r2"]), st.sampled_from([0, 1, "nonsense"])),
            st.sets(st.integers(0, 5)),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_records_to_official_and_back(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("law")
    with BenchmarkWriter(folder / "a", name="NLVR", task="statement") as writer:
        drawings = [writer.add_image(picture(400, 100, seed)) for seed in range(6)]
        items, panels, judgements = records(rows, drawings)
        writer.add_items("dev", items)
        writer.add_panels(panels)
        writer.add_judgements(judgements)
    export_official(folder / "a", folder / "release")
    import_release("nlvr", folder / "release", folder / "b")
    made = Benchmark(folder / "b")
    assert list(made.items("dev")) == items
    assert list(made.panels.values()) == panels
    assert list(made.judgements()) == judgements
    export_official(folder / "b", folder / "again")
    assert files(folder / "again") == files(folder / "release")


def records(rows: list[Any], drawings: list[str]) -> tuple[list[Item], list[Panel], list[Judgement]]:
    items, panels, judgements = [], [], []
    for number, (sentence, answer, scene, judged, here) in enumerate(rows):
        one, presentation = f"{number // 4 + 30}-{number % 4}", str(number // 4 + 30)
        views = tuple(View(order, drawings[k] if k in here else None) for k, order in enumerate(ORDERS))
        tower = all(o[0] == "square" and o[2][1] == 20 and o[3] == 40 for box in scene for o in box)
        tags = (("scene", "tower" if tower else "scatter"),)
        names = tuple(f"{one}/{box}" for box in range(3))
        items.append(
            Item(
                one, "statement", names, Text(sentence), TRUTH, answer, presentation, (presentation,), views, tags=tags
            )
        )
        first = min(here, default=0)
        for box, things in enumerate(scene):
            left = 150.0 * ORDERS[first].index(box)
            found = tuple(
                SceneObject(str(k), kind, (("color", color), ("size", word)), (x, y, x + s, y + s))
                for k, (kind, color, (word, s), x, y) in enumerate(things)
            )
            image = drawings[first] if here else None
            panels.append(Panel(names[box], image, (left, 0, left + 100, 100), 100, 100, found))
        judgements += [Judgement(one, worker, verdict, "validation") for worker, verdict in judged.items()]
    return items, panels, judgements


def test_built_benchmarks_with_other_ids_are_numbered(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "a", name="x", task="statement", config={"format": "nlvr"}) as writer:
        names = [f"p{n}" for n in range(3)]
        writer.add_panels([Panel(name, None, None, 100, 100) for name in names])
        writer.add_items(
            "test-p",
            [Item(f"made/{g}/{n}", "statement", tuple(names), Text("s"), TRUTH, 1, g) for g in "ab" for n in range(2)],
        )
    export_official(tmp_path / "a", tmp_path / "out")
    import_release("nlvr", tmp_path / "out", tmp_path / "b")
    assert [item.id for item in Benchmark(tmp_path / "b").items("test-p")] == ["0-0", "0-1", "1-0", "1-1"]


def test_objects_that_nlvr_cannot_hold(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "a", name="NLVR", task="statement") as writer:
        writer.add_panels([Panel("p", objects=(SceneObject("0", "square", (("color", "red"),)),))])
        writer.add_items("dev", [Item("1-0", "statement", ("p", "p", "p"), Text("s"), TRUTH, 1)])
    with pytest.raises(UserError, match="cannot hold: square, color red"):
        export_official(tmp_path / "a", tmp_path / "out")
    assert not (tmp_path / "out").exists()
