"""A benchmark as people use it in a notebook: a sequence of items that show their pictures, words and cards."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

import veridical
from veridical.benchmark import BenchmarkWriter
from veridical.errors import UserError
from veridical.records import TRUTH, Item, Judgement, Panel, Ref, SceneObject, Text, View, pairs


def png(shade: int, size: tuple[int, int] = (30, 10)) -> bytes:
    out = BytesIO()
    Image.new("RGB", size, (shade, shade, shade)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def pairs_of_photographs(tmp_path: Path) -> veridical.Benchmark:
    """Two splits of true/false items over two photographs; the second is a region of a larger image."""
    with BenchmarkWriter(tmp_path / "pairs", name="Pairs", task="statement", hidden=("test",)) as writer:
        left, right = writer.add_image(png(10)), writer.add_image(png(200))
        writer.add_panels([Panel("l", left), Panel("r", right, region=(5, 0, 15, 10))])
        for split in ("dev", "test"):
            writer.add_items(
                split,
                [
                    Item(
                        f"{split}-{n}", "statement", ("l", "r"), Text(f"The {n} is <dark>."), TRUTH, answer=n % 2,
                        tags=pairs(kind="even" if n % 2 == 0 else "odd", label=["a", "b"]),
                    )
                    for n in range(3)
                ],
            )  # fmt: skip
        writer.add_judgements([Judgement("dev-1", w, 1, "extra") for w in "ab"] + [Judgement("dev-1", "c", 0, "extra")])
    return veridical.open(tmp_path / "pairs")


@pytest.fixture
def tagged(tmp_path: Path) -> veridical.Benchmark:
    with BenchmarkWriter(tmp_path / "vcr", name="VCR", task="choice") as writer:
        people = tuple(SceneObject(str(k), c, box=(k, 0, k + 5, 9)) for k, c in enumerate(("person", "person", "dog")))
        writer.add_panels([Panel("p", writer.add_image(png(90)), width=30, height=10, objects=people)])
        why = Text("", ("Is", "n't", Ref(("1",)), "'s", "dog", ",", Ref(("2",)), ",", "wet", "?"))
        answers = (Text("", ("No", ",", Ref(("0", "1")), "are", ".")), Text("yes"))
        writer.add_items("val", [Item("val-0", "choice", ("p",), why, answers, answer=0)])
    return veridical.Benchmark(tmp_path / "vcr")


def test_a_benchmark_is_a_sequence_of_items(pairs_of_photographs: veridical.Benchmark) -> None:
    b = pairs_of_photographs
    assert (len(b), b.splits, b.schemes, bool(b)) == (6, ("dev", "test"), ("main",), True)
    assert [item.id for item in b] == [f"{split}-{n}" for split in b.splits for n in range(3)]
    assert list(b.items("dev")) == list(b)[:3]
    assert b["test-1"].id == "test-1"
    assert b["test-1"].answer is None, "it is hidden"
    assert "dev-0" in b
    assert "dev-9" not in b
    assert b["dev-0"] in b
    assert dataclasses.replace(b["dev-0"], id="dev-9") not in b
    with pytest.raises(UserError, match="no item 0") as error:
        b[0]  # type: ignore[index]
    assert "by id" in error.value.fix
    for several in (slice(0, 3), ["dev-0"], {"dev-0"}):
        assert several not in b
        with pytest.raises(UserError, match="Pairs has no item") as error:
            b[several]  # type: ignore[index]
        assert "by id, one at a time" in error.value.fix
    with pytest.raises(UserError, match=r"Pairs has no item 'dev-l'\. Did you mean 'dev-"):
        b["dev-l"]


def test_the_only_split_is_taken(pairs_of_photographs: veridical.Benchmark, tagged: veridical.Benchmark) -> None:
    assert [item.id for item in tagged.items()] == ["val-0"]
    with pytest.raises(UserError, match="Pairs has 2 splits") as error:
        pairs_of_photographs.items()
    assert "It has: dev, test." in error.value.fix


def test_an_open_benchmark_stands_for_its_folder(pairs_of_photographs: veridical.Benchmark) -> None:
    assert veridical.check(pairs_of_photographs).ok
    assert veridical.open(pairs_of_photographs).hash == pairs_of_photographs.hash
    assert Path(pairs_of_photographs) == pairs_of_photographs.directory


def test_items_show_pictures(pairs_of_photographs: veridical.Benchmark, tagged: veridical.Benchmark) -> None:
    left, right = pairs_of_photographs["dev-0"].images()
    assert (left.size, right.size, right.getpixel((0, 0))) == ((30, 10), (10, 10), (200, 200, 200))
    assert [image.size for image in tagged["val-0"].images()] == [(30, 10)]
    assert tagged["val-0"].candidate_images() == []


def test_a_drawing_is_one_picture_and_candidates_are_pictures_too(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="B", task="statement") as writer:
        views = tuple(View((k, 1 - k), writer.add_image(png(50 * k))) for k in range(2))
        writer.add_panels(Panel(f"p{k}", None, objects=(SceneObject("0", "square"),)) for k in range(2))
        writer.add_items("dev", [Item("a", "statement", ("p0", "p1"), Text("x"), TRUTH, answer=1, views=views)])
    with BenchmarkWriter(tmp_path / "m", name="M", task="matrix") as writer:
        writer.add_panels([Panel("c", writer.add_image(png(7)))])
        writer.add_items("test", [Item("m", "matrix", ("c",) * 8, None, ("c",) * 8, answer=3)])
    b, m = veridical.open(tmp_path / "b"), veridical.open(tmp_path / "m")
    assert b["a"].images()[0].getpixel((0, 0)) == (0, 0, 0)
    assert b["a"].images(view=1)[0].getpixel((0, 0)) == (50, 50, 50)
    assert [image.getpixel((0, 0)) for image in m["m"].candidate_images()] == [(7, 7, 7)] * 8
    with pytest.raises(UserError, match="no view 2"):
        b["a"].images(view=2)
    assert "* D. c" in str(m["m"])


def test_a_picture_that_is_not_here(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="B", task="statement") as writer:
        writer.add_panels([Panel("p", uri="https://example.org/x.jpg")])
        writer.add_items("dev", [Item("a", "statement", ("p",), Text("x"), TRUTH, answer=1)])
    item = veridical.open(tmp_path / "b")["a"]
    with pytest.raises(UserError, match="The picture of panel p is not in the benchmark"):
        item.images()
    assert "not stored here" in item._repr_html_()


def test_words_are_readable_and_tags_have_names(
    tagged: veridical.Benchmark, pairs_of_photographs: veridical.Benchmark
) -> None:
    item = tagged["val-0"]
    assert item.text == "Isn't person2's dog, dog1, wet?"
    assert item.choices == ["No, person1 and person2 are.", "yes"]
    assert item.label == "No, person1 and person2 are."
    assert str(item).splitlines() == [
        *("val-0", "Isn't person2's dog, dog1, wet?", "  * A. No, person1 and person2 are.", "    B. yes"),
    ]
    assert (pairs_of_photographs["dev-1"].label, pairs_of_photographs["test-1"].label) == ("true", None)


def test_cards(
    pairs_of_photographs: veridical.Benchmark, tagged: veridical.Benchmark, capsys: pytest.CaptureFixture[str]
) -> None:
    card = pairs_of_photographs["dev-1"]._repr_html_()
    assert type(card) is str, "notebooks and people put it together with other texts"
    assert "color: var(--ink)" in card, "it can be read on a dark ground"
    assert card.count('src="data:image/') == 2
    assert "The 1 is &lt;dark&gt;." in card
    assert "people: 2 × true, 1 × false" in card
    assert "@scope (.veridical-item)" in card
    assert ":root" not in card, "its style reaches nothing else on the page"
    assert "hidden" in pairs_of_photographs["test-1"]._repr_html_()
    card = tagged["val-0"]._repr_html_()
    assert 'class="boxname"' in card
    assert "[person2]" in card
    tagged["val-0"].show()
    assert capsys.readouterr().out.startswith("val-0\nIsn't person2's dog")


def test_frames(pairs_of_photographs: veridical.Benchmark, tagged: veridical.Benchmark) -> None:
    frame = pairs_of_photographs.frame("dev")
    assert frame.index.tolist() == ["dev-0", "dev-1", "dev-2"]
    assert frame.loc["dev-1", "text"] == "The 1 is <dark>."
    assert (frame["answer"].tolist(), frame["label"].tolist()) == ([0, 1, 0], ["false", "true", "false"])
    assert frame["kind"].tolist() == ["even", "odd", "even"]
    assert frame["tag_label"].tolist() == ["a, b"] * 3, "a tag does not hide a column"
    everything = pairs_of_photographs.frame()
    assert everything["split"].value_counts().to_dict() == {"dev": 3, "test": 3}
    assert everything["answer"].isna().sum() == 3
    assert tagged.frame("val").loc["val-0", "choices"] == ["No, person1 and person2 are.", "yes"]


def test_an_item_is_the_record_that_it_is(pairs_of_photographs: veridical.Benchmark) -> None:
    item = pairs_of_photographs["dev-0"]
    record = Item(**{field.name: getattr(item, field.name) for field in dataclasses.fields(Item)})
    assert item == record
    assert record == item
    assert len({item, record}) == 1
    assert item != pairs_of_photographs["dev-1"]
    assert type(pickle.loads(pickle.dumps(item))) is Item, "other processes need no open benchmark"
    for same in (copy.copy(item), copy.deepcopy([item])[0]):
        assert same == item
        assert len(same.images()) == 2, "a copy is still an item of its benchmark"
    with pytest.raises(UserError, match="was changed"):
        dataclasses.replace(item, answer=1).images()


def test_schemes(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="B", task="statement") as writer:
        for scheme in ("far", "near"):
            names = ("train", "test") if scheme == "far" else ("test", "train")
            for n, split in enumerate(names):
                items = [Item(f"i{n}", "statement", (), Text("x"), TRUTH, answer=1)]
                writer.add_items(split, items, scheme=scheme)
    b = veridical.open(tmp_path / "b")
    assert (b.scheme, len(b), b.splits_of("near")) == ("far", 2, ("test", "train"))
    assert b.frame().loc["i0", "split"] == "train"
    assert [item.id for split in b.splits for item in b.items(split)] == [item.id for item in b]
    assert b.items_table("train") == b.items_table("train", "far")
    with pytest.raises(UserError, match="has no scheme 'main'"):
        b.items("train", "main")
    assert b.certain_scheme("near") == "near"
    with pytest.raises(UserError, match="2 schemes of splits") as error:
        b.certain_scheme(None)
    assert "one of: far, near" in error.value.fix
    assert "<td>near</td>" in b._repr_html_()
