"""Scenes as drawings: what decides a program is marked, and whatever a program is, the drawing is well formed."""

from __future__ import annotations

import io
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given, settings
from PIL import Image

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.language.programs.explanations import explain
from veridical.language.programs.terms import Program, parse
from veridical.pages.cards import LIT, ItemPictures, named_boxes, referenced, scene, tag_colour, tagged_text
from veridical.records import Item, Panel, Ref, SceneObject, Text

from ..language.programs._programs import box, programs, scenes, thing, tower


def drawn(program: Program, panels: tuple[Panel, ...]) -> ElementTree.Element:
    return ElementTree.fromstring(scene(panels, explain(program, panels)))


def test_the_drawing_marks_what_decides() -> None:
    panels = (box(thing("0", "circle", "blue", 0, 0), thing("1", "triangle", "yellow", 50, 50)), box())
    root = drawn(parse("(count (at-least 1) (keep (is category circle) things))"), panels)
    assert [e.tag for e in root.iter() if e.get("stroke")] == ["rect", "circle"]
    assert root.findtext("polygon/title") == "yellow medium triangle"
    assert root.findtext("title") == "true: (count (at-least 1) (keep (is category circle) things))"
    assert root.get("viewBox") == "-4 -4 258 108"
    plain_scene = ElementTree.fromstring(scene(panels))
    assert not [e for e in plain_scene.iter() if e.get("stroke")]


def test_near_misses_have_dashed_rings() -> None:
    program = parse("(count (at-least 1) (keep (and (is color black) (at bottom) (touching corner)) things))")
    root = drawn(program, (tower("yellow", "blue"), tower("black"), tower("blue", "blue")))
    assert sum(e.get("stroke-dasharray") is not None for e in root.iter()) == 1


@settings(deadline=None)
@given(programs(), scenes)
def test_every_explanation_is_drawn(program: Program, panels: tuple[Panel, ...]) -> None:
    assert drawn(program, panels).tag == "svg"


PHOTOGRAPH = Panel(
    "p",
    width=400,
    height=300,
    objects=tuple(SceneObject(str(k), "person", box=(10.0 * k, 0.0, 10.0 * k + 8, 20.0)) for k in range(3)),
)


def test_tags_and_their_boxes_have_one_colour_and_one_number() -> None:
    question = Text("", ("Why", "is", Ref(("2",)), "<b>", "?"))
    item = Item("q", "choice", ("p",), question, (Text("", (Ref(("0", "2")), "run", ".")), Text("no")))
    tagged = referenced([item])
    assert tagged == ("2", "0")
    names = {"0": "person1", "2": "person3"}
    drawn = ElementTree.fromstring(named_boxes(PHOTOGRAPH, tagged))
    boxes = {g.get("class"): g for g in drawn}
    assert set(boxes) == {"b0", "b1"}
    for text in (question, item.candidates[0]):
        assert isinstance(text, Text)
        read = ElementTree.fromstring(f"<p>{tagged_text(text, names, tagged)}</p>")
        assert "".join(read.itertext()) in ("Why is [person3] <b>?", "[person1] and [person3] run.")
        for tag in read:
            number = (tag.get("class") or "")[-1]
            box = boxes[f"b{number}"]
            assert tag.get("style") == f"--tag:{tag_colour(int(number))}"
            assert box[0].get("stroke") == tag_colour(int(number))
            assert f"[{box.findtext('text')}]" == tag.text
            assert tag.get("tabindex") == "0"  # the keyboard reaches it
    assert tagged_text(Text("a < b"), names, tagged) == "a < b"  # escaped by the template, as all texts
    assert named_boxes(PHOTOGRAPH, ()) == ""


def test_every_tag_lights_up_its_box() -> None:
    style = (files("veridical.pages") / "templates" / "sheet.css").read_text()
    for number in range(LIT):
        assert f".card:has(.t{number}:is(:hover, :focus)) .b{number} rect" in style


def test_pictures_may_be_linked_instead_of_held(tmp_path: Path) -> None:
    image = io.BytesIO()
    Image.new("RGB", (400, 300), "red").save(image, "PNG")
    with BenchmarkWriter(tmp_path / "b", name="b", task="choice") as writer:
        panel = Panel("p", writer.add_image(image.getvalue()), (1, 2, 3, 4), 2, 2)
        writer.add_panels([panel])
    benchmark, item = Benchmark(tmp_path / "b"), Item("q", "choice", ("p",), Text("?"), (Text("a"), Text("b")), 0)
    held = ItemPictures(benchmark)
    held.load([item])
    assert held.item(item).frames[0].source.startswith("data:image/webp")
    asked: list[object] = []
    linked = ItemPictures(benchmark, link=lambda *about: asked.append(about) or "/here", read=lambda names: [panel])
    linked.load([item])
    assert linked.item(item).frames[0].source == "/here"
    assert asked == [(panel.image, (1, 2, 3, 4), 360)]
    assert linked.used == 0
