"""COCO: every object, outline, caption, licence and address of the real files; other layouts; bad files."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from veridical.errors import UserError
from veridical.sources import open_source
from veridical.sources.coco import Coco
from veridical.sources.pictures import BadPhotograph


@pytest.fixture(scope="module")
def real(shared: Path) -> Path:
    return shared / "coco"


def test_the_real_files_become_photographs(real: Path) -> None:
    published = json.loads((real / "instances_train2017.json").read_text())
    found = list(open_source(f"coco:{real}").photographs())
    assert [p.panel.id for p in found] == [str(image["id"]) for image in published["images"]]
    sizes = {image["id"]: (image["width"], image["height"]) for image in published["images"]}
    names = {c["id"]: (c["name"], c["supercategory"]) for c in published["categories"]}
    things = {thing.id: thing for p in found for thing in p.panel.objects}
    assert len(things) == len(published["annotations"]) == 900
    for annotation in published["annotations"]:
        thing = things[str(annotation["id"])]
        assert (thing.category, thing.attribute("supercategory")) == names[annotation["category_id"]]
        left, top, width, height = annotation["bbox"]
        right, bottom = np.minimum(
            (left + width, top + height), sizes[annotation["image_id"]]
        )  # one leaves its picture
        assert thing.box == pytest.approx((left, top, right, bottom), abs=1e-6)
        if annotation["iscrowd"]:
            assert (thing.attribute("crowd"), thing.polygons) == ("true", ())
        else:
            flat = [[number for point in outline for number in point] for outline in thing.polygons]
            assert flat == annotation["segmentation"]


def test_captions_licences_and_addresses_are_kept(real: Path) -> None:
    published = json.loads((real / "instances_train2017.json").read_text())
    captions = json.loads((real / "captions_train2017.json").read_text())["annotations"]
    licences = {one["id"]: one["url"] for one in published["licenses"]}
    for image, photograph in zip(published["images"], Coco(real).photographs(), strict=True):
        assert photograph.licence == licences[image["license"]]
        assert photograph.panel.uri == image["coco_url"]
        assert ("flickr", image["flickr_url"]) in photograph.tags
        own = [c["caption"].strip() for c in captions if c["image_id"] == image["id"]]
        assert list(photograph.captions) == own
        assert len(own) >= 5


def test_pictures_are_upright_rgb_and_colours_are_untouched(real: Path) -> None:
    source = Coco(real)
    for photograph in source.photographs():
        data = source.picture(photograph)
        image = Image.open(io.BytesIO(data))
        assert (image.mode, image.size) == ("RGB", (photograph.panel.width, photograph.panel.height))
        file = real / "images" / dict(photograph.tags)["file"]
        if Image.open(file).mode == "RGB":
            assert (np.asarray(image) == np.asarray(Image.open(file))).all()


MASK = {"size": [30, 40], "counts": [905, 10, 20, 10, 255]}  # two columns from x = 30, and ten rows from y = 5


def write(folder: Path, **changes: Any) -> Path:
    """A small COCO in its official layout."""
    content = {
        "images": [{"id": 7, "file_name": "7.jpg", "width": 40, "height": 30, "license": 3}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 2, "bbox": [30, 5, 20, 10], "segmentation": MASK},
            {"id": 2, "image_id": 7, "category_id": 2, "bbox": [1, 1, 0, 3]},
        ],
        "categories": [{"id": 2, "name": "dog"}],
    } | changes
    (folder / "annotations").mkdir(parents=True)
    (folder / "val2017").mkdir()
    (folder / "annotations" / "instances_val2017.json").write_text(json.dumps(content))
    Image.new("RGB", (40, 30), "blue").save(folder / "val2017" / "7.jpg")
    return folder


def test_the_official_layout(tmp_path: Path) -> None:
    folder = write(tmp_path / "coco")
    for path in (folder, folder / "annotations" / "instances_val2017.json"):
        source = pickle.loads(pickle.dumps(Coco(path)))
        (photograph,) = source.photographs()
        assert source.picture(photograph) == (folder / "val2017" / "7.jpg").read_bytes()
        assert source.config() == {"source": "coco", "split": "val2017", "max_side": None}
        whole, empty = photograph.panel.objects
        assert (whole.box, empty.box) == ((30, 5, 40, 15), None)
        assert whole.polygons == (((30, 5), (32, 5), (32, 15), (30, 15)),)
        assert (photograph.licence, photograph.captions, photograph.panel.uri) == ("", (), None)


def test_smaller_pictures_have_smaller_boxes(tmp_path: Path) -> None:
    source = Coco(write(tmp_path / "coco"), max_side=20)
    (photograph,) = source.photographs()
    assert (photograph.panel.width, photograph.panel.height) == (20, 15)
    assert photograph.panel.objects[0].box == (15, 2.5, 20, 7.5)
    assert Image.open(io.BytesIO(source.picture(photograph))).size == (20, 15)


def test_a_missing_or_foreign_picture_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "coco")
    source = Coco(folder)
    (photograph,) = source.photographs()
    Image.new("RGB", (30, 40)).save(folder / "val2017" / "7.jpg")
    with pytest.raises(BadPhotograph, match=r"7\.jpg cannot be used: it has 30 x 40 pixels"):
        source.picture(photograph)
    (folder / "val2017" / "7.jpg").unlink()
    with pytest.raises(BadPhotograph, match=r"7\.jpg cannot be used: it is not in .*val2017"):
        source.picture(photograph)
    (folder / "val2017" / "7.jpg").write_bytes(b"")
    with pytest.raises(BadPhotograph, match="empty"):
        source.picture(photograph)


def marked(segmentation: Any, **changes: Any) -> dict[str, Any]:
    whole = {"id": 5, "image_id": 7, "category_id": 2, "bbox": [1, 2, 3, 4], "segmentation": segmentation}
    return whole | changes


BAD_MASKS: list[tuple[Any, str]] = [
    ({"counts": "x"}, "missing required field `size`"),
    ({"size": [30, 40], "counts": [1, 2]}, "do not cover 30 x 40 = 1,200 pixels"),
    ({"size": [40, 30], "counts": [1200]}, "not the photograph's height and width"),
    ({"size": [30, 40], "counts": [1201, -1]}, "do not cover"),
    ({"size": [30, 40], "counts": "é"}, "do not cover"),
    ({"size": [30, 40], "counts": "o" * 40}, "do not cover"),
    ({"size": [30, 40], "counts": "o"}, "do not cover"),
]


def test_several_splits_must_be_chosen_from(tmp_path: Path) -> None:
    folder = write(tmp_path / "coco")
    (folder / "annotations" / "instances_train2017.json").write_text("{}")
    with pytest.raises(UserError, match=r"several splits: instances_train2017\.json, instances_val2017\.json"):
        Coco(folder)
    assert Coco(folder, split="val2017").split == "val2017"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"images": [{"id": 7}]}, "missing required field"),
        ({"categories": []}, "annotation 1 is of category 2"),
        ({"images": []}, "annotation 1 is of image 7"),
        ({"images": [{"id": 7, "file_name": "7.jpg", "width": 40, "height": 30}] * 2}, "an image id twice"),
        ({"annotations": [{"id": 1, "image_id": 7, "category_id": 2, "bbox": [1, 2, 3]}]}, "length 4"),
        (
            {
                "annotations": [
                    {"id": 5, "image_id": 7, "category_id": 2, "bbox": [1, 2, 3, 4], "segmentation": [["x"]]}
                ]
            },
            "outlines of annotation 5",
        ),
        *(({"annotations": [marked(mask)]}, f"outlines of annotation 5 .*{says}") for mask, says in BAD_MASKS),
        (
            {"annotations": [marked([], bbox=[50, 5, 3, 3])]},
            r"box .* of annotation 5 has no part in 7\.jpg",
        ),
        ({"annotations": [marked([], bbox=[5, 5, -3, 3])]}, r"box .* of annotation 5 has no part in"),
        ({"annotations": [marked([], bbox=[-3, 5, 3, 3])]}, r"box .* of annotation 5 has no part in"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    source = Coco(write(tmp_path / "coco", **changes))
    with pytest.raises(UserError, match=says):
        list(source.photographs())


def test_what_is_no_coco_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no instances_"):
        Coco(tmp_path)
    with pytest.raises(UserError, match="There is no folder"):
        Coco(tmp_path / "none")
    for text in ("", "[1", "[]"):
        (tmp_path / "instances_x.json").write_text(text)
        with pytest.raises(UserError, match="not COCO's JSON"):
            list(Coco(tmp_path).photographs())


def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    image = {"id": 7, "file_name": "../../secret.jpg", "width": 40, "height": 30}
    source = Coco(write(tmp_path / "coco", images=[image]))
    Image.new("RGB", (40, 30)).save(tmp_path / "secret.jpg")
    with pytest.raises(BadPhotograph, match="leads out of the folder"):
        source.picture(next(source.photographs()))
