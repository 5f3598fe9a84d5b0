"""What every source promises: the same photographs in the same order, by place and by id, with pictures that decode."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from veridical.encoders.detectors import Detection, Detector
from veridical.errors import UserError
from veridical.records import Panel
from veridical.sources import SOURCES, Photograph, Source, open_source
from veridical.sources.detections import Detections

FEW = 12  # photographs that are looked at


class Middle(Detector):
    """Finds one thing in the middle of every picture."""

    name, identity = "middle", "middle-1"

    def detect(self, images: Sequence[Image.Image], threshold: float) -> list[list[Detection]]:
        return [[Detection("thing", (w / 4, h / 4, w / 2, h / 2), 0.9)] for w, h in (image.size for image in images)]


def folder(path: Path) -> Path:
    """Five small pictures, one of them with a label."""
    for number in range(5):
        Image.new("RGB", (40 + number, 30), (50 * number, 90, 20)).save(path / f"{number}.png")
    (path / "labels.csv").write_text('file,category,box\n3.png,dog,"1,2,20,20"\n')
    return path


def opened(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    """A small source of each name; those that read files read the samples, a new one is opened by its name alone."""
    options: dict[str, dict[str, Any]] = {
        "icons": {"count": FEW, "seed": 2},
        "icons-series": {"series": 2, "seed": 2},
        "icons-panels": {"count": FEW, "seed": 2},
        "icons-stories": {"count": FEW, "seed": 2},
    }
    if name in options:
        pytest.importorskip("fontawesomefree", reason="icons come with the build extra")
        return open_source(name, **options[name])
    if name == "vg":  # the sample has no pictures
        shared = request.getfixturevalue("shared")
        for one in islice(open_source(f"vg:{shared / 'visual_genome'}").photographs(), FEW):
            size = one.panel.width or 1, one.panel.height or 1
            Image.new("RGB", size).save(tmp_path / f"{one.panel.id}.jpg")
        return open_source(f"vg:{shared / 'visual_genome'}", pictures=tmp_path)
    if name == "detections":
        return Detections(open_source(f"folder:{folder(tmp_path)}"), Middle(), batch=2)
    if name == "folder":
        return open_source(f"folder:{folder(tmp_path)}")
    return open_source(f"coco:{request.getfixturevalue('shared') / 'coco'}" if name == "coco" else name)


@pytest.fixture(params=[*SOURCES, "detections"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return opened(request.param, request, tmp_path)


def first(source: Source) -> list[Photograph]:
    return list(islice(source.photographs(), FEW))


def test_it_yields_panels_of_different_ids_in_the_same_order_twice(source: Source) -> None:
    found = first(source)
    assert found
    assert all(isinstance(one.panel, Panel) for one in found)
    assert len({one.panel.id for one in found}) == len(found)
    assert first(source) == found


def test_places_ids_and_the_count_agree_with_going_through(source: Source) -> None:
    found = first(source)
    assert [source.at(k) for k in range(len(found))] == found
    assert [source.find(one.panel.id) for one in found] == found
    assert source.count is None or source.count == sum(1 for _ in source.photographs())


def test_what_is_not_there_is_an_error(source: Source) -> None:
    for id in ("", "story", "icons-7-7-7-no", "icons-2-0-99999", "story-99999"):
        with pytest.raises(UserError):
            source.find(id)
    for place in (-1, 10**6):
        with pytest.raises(UserError):
            source.at(place)


def test_pictures_decode_to_the_size_of_their_panel(source: Source) -> None:
    for one in first(source):
        with Image.open(BytesIO(source.picture(one))) as image:
            image.load()
            assert image.mode == "RGB"
            assert image.format in ("JPEG", "PNG")
            assert image.size == (one.panel.width, one.panel.height)


def test_its_config_is_json_and_its_paths_are_there(source: Source) -> None:
    assert json.loads(json.dumps(source.config())) == source.config()
    assert source.config()["source"] == source.name
    assert all(path.exists() for path in source.paths)


def test_photographs_are_an_iterator(source: Source) -> None:
    assert isinstance(source.photographs(), Iterator)
