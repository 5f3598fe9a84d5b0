"""Vectors of a benchmark: once per distinct image or region, kept, tied by hash, continued after kill -9."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from veridical import encoders as features
from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.check import check
from veridical.encoders.extract import cut, decode
from veridical.encoders.hub import HubEncoder
from veridical.encoders.packages import Thumbnail
from veridical.encoders.store import Features, feature_path
from veridical.errors import UserError
from veridical.records import TRUTH, Item, Panel, Text

from ._panels import picture, write_panels


class Counting(HubEncoder):
    """The real encoder; counts what it was asked for."""

    asked = 0

    def images(self, pixels: np.ndarray) -> np.ndarray:
        if pixels.std((2, 3)).any():  # not the blank image that loads the network
            self.asked += len(pixels)
        return super().images(pixels)


@pytest.fixture
def resnet(weights: Path) -> Counting:
    return Counting("tiny/resnet")


def keys_of(benchmark: Path) -> dict[str, str]:
    return {p.id: key for p in Benchmark(benchmark).panels.values() if (key := features.panel_key(p))}


def test_each_distinct_image_and_region_is_encoded_once(panels: Path, resnet: Counting) -> None:
    found = features.extract(panels, resnet, batch_size=4)
    assert len(found) == resnet.asked == 6 * 3  # whole (under two names), left, right
    keys = keys_of(panels)
    assert keys["0-whole"] == keys["0-again"] != keys["0-left"]
    image = decode(memoryview(Benchmark(panels).image(Benchmark(panels).panels["0-right"].image or "")), "")
    assert found.keys.to_pylist() == sorted(set(keys.values()))
    for name, region in (("0-whole", None), ("0-right", (30, 0, 60, 40))):
        one = resnet.images(resnet.prepare(image if region is None else image.crop(region))[None])
        np.testing.assert_allclose(found.rows([keys[name]]), one, atol=1e-5)
    assert sorted(p.name for p in panels.iterdir() if p.name.startswith("features")) == ["features-tiny--resnet.arrow"]
    assert check(panels).problems == ()


def test_a_second_run_computes_nothing_and_more_splits_only_add(panels: Path, resnet: Counting) -> None:
    features.extract(panels, resnet, splits=["test"])
    assert resnet.asked == 2 * 3
    features.extract(panels, resnet)
    assert resnet.asked == 6 * 3
    before = feature_path(panels, resnet).read_bytes()
    assert len(features.extract(panels, resnet, splits=["dev"])) == 6 * 3
    assert resnet.asked == 6 * 3
    assert feature_path(panels, resnet).read_bytes() == before


def test_views_and_objects_are_added_when_asked_for(panels: Path, resnet: Counting) -> None:
    found = features.extract(panels, resnet, views=True, objects=True)
    opened = Benchmark(panels)
    assert len(found) == 6 * (3 + 1 + 1)
    view = next(opened.items("dev")).views[0].image
    assert features.region_key(view or "") in found
    right = opened.panels["0-right"]
    assert features.object_regions(right) == [(32.5, 3.0, 42.5, 20.0)]  # the panel begins at 30.5
    assert features.region_key(right.image or "", (32.5, 3.0, 42.5, 20.0)) in found


def test_rows_are_views_where_they_can_be(panels: Path, resnet: Counting) -> None:
    features.extract(panels, resnet)
    found = features.load(panels, "tiny/resnet")
    keys = found.keys.to_pylist()
    assert np.shares_memory(found.rows(keys[3:9]), found.matrix)
    assert not found.matrix.flags.writeable
    shuffled = [keys[n] for n in (5, 1, 1, 8)]
    np.testing.assert_array_equal(found.rows(shuffled), found.matrix[[5, 1, 1, 8]])
    np.testing.assert_array_equal(found.panels(Benchmark(panels).panels[i] for i in ("0-left",)).shape, (1, 16))
    assert found.rows([]).shape == (0, 16)
    with pytest.raises(UserError, match="no vector for 1 of the images") as image:
        found.rows([keys[0], "f" * 64])
    assert "--objects" not in image.value.fix
    with pytest.raises(UserError, match="no vector for 2 of the images") as box:
        found.rows(["0" * 64, features.region_key("f" * 64, (1, 2, 3, 4))])
    assert f"`veridical features tiny/resnet {panels} --objects`" in box.value.fix


def test_normalised_when_stored_or_when_loaded(panels: Path, resnet: Counting) -> None:
    raw = features.extract(panels, resnet)
    keys = raw.keys.to_pylist()
    stored = raw.rows(keys).copy()
    on_load = features.load(panels, resnet, normalise=True).rows(keys)
    np.testing.assert_allclose(np.linalg.norm(on_load, axis=1), 1, rtol=1e-5)
    kept = features.extract(panels, resnet, normalise=True)
    assert kept.normalised
    assert np.shares_memory(kept.rows(keys), kept.matrix)
    np.testing.assert_allclose(kept.rows(keys), on_load, atol=1e-6)
    np.testing.assert_allclose(stored / np.linalg.norm(stored, axis=1, keepdims=True), on_load, atol=1e-6)


def test_vectors_of_other_images_or_weights_are_refused(panels: Path, tmp_path: Path, resnet: Counting) -> None:
    with pytest.raises(UserError, match="has no vectors of the encoder tiny/resnet") as error:
        features.load(panels, "tiny/resnet")
    assert "veridical features tiny/resnet" in error.value.fix
    features.extract(panels, resnet)
    other = write_panels(tmp_path / "other", first=3)  # shares half of its images
    shutil.copy(feature_path(panels, resnet), feature_path(other, resnet))
    with pytest.raises(UserError, match="made from other images"):
        features.load(other, "tiny/resnet")
    changed = Counting("tiny/resnet")
    changed.recipe = "next"
    with pytest.raises(UserError, match="other weights or another version"):
        features.load(panels, changed)
    before = resnet.asked
    features.extract(other, resnet)
    assert resnet.asked == before + 9  # three images are the same
    features.extract(panels, changed)
    assert changed.asked == 18  # nothing of another recipe is used again


def test_vectors_are_reused_from_another_benchmark(panels: Path, tmp_path: Path, resnet: Counting) -> None:
    features.extract(panels, resnet)
    other = write_panels(tmp_path / "other", first=3)
    before = resnet.asked
    features.extract(other, resnet, reuse=[panels])
    assert resnet.asked == before + 9


def test_damage_is_noticed(panels: Path, resnet: Counting) -> None:
    path = features.extract(panels, resnet).path
    whole = path.read_bytes()
    at = whole.index(features.load(panels, resnet).matrix.tobytes()) + 10
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(UserError, match="damaged"):
        features.load(panels, resnet, verify=True)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="damaged"):
        features.load(panels, resnet)
    table = pa.ipc.open_file(whole).read_all()
    for place, values in ((1, pa.array([7] * len(table))), (0, pa.nulls(len(table), pa.string()))):
        made = table.set_column(place, table.column_names[place], values)
        with pa.ipc.new_file(str(path), made.schema) as writer:
            writer.write_table(made)
        with pytest.raises(UserError, match="damaged"):
            features.load(panels, resnet)


def test_open_with_plain_pyarrow(panels: Path, resnet: Counting) -> None:
    found = features.extract(panels, resnet)
    table = pa.ipc.open_file(pa.memory_map(str(found.path))).read_all()
    assert table.column_names == ["address", "vector"]
    np.testing.assert_allclose(table["vector"][3].as_py(), found.matrix[3])


def test_a_picture_that_cannot_be_decoded_is_named(tmp_path: Path, resnet: Counting) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement") as writer:
        address = writer.add_image(picture(0)[:200])
        writer.add_panels([Panel("p", address)])
        writer.add_items("dev", [Item("0", "statement", ("p",), Text("a"), TRUTH, 0)])
    with pytest.raises(UserError, match=f"Image {address} cannot be decoded"):
        features.extract(tmp_path / "x", resnet)


def test_a_benchmark_of_addresses_has_nothing_to_encode(tmp_path: Path, resnet: Counting) -> None:
    with BenchmarkWriter(tmp_path / "x", name="x", task="statement") as writer:
        writer.add_panels([Panel("p", None, uri="https://example.org/a.jpg")])
        writer.add_items("dev", [Item("0", "statement", ("p",), Text("a"), TRUTH, 0)])
    with pytest.raises(UserError, match="only addresses"):
        features.extract(tmp_path / "x", resnet)
    with pytest.raises(UserError, match="no split 'train'"):
        features.extract(tmp_path / "x", resnet, splits=["train"])


def test_what_is_transparent_is_white_and_regions_stay_inside() -> None:
    out = BytesIO()
    Image.new("RGBA", (10, 8), (255, 0, 0, 0)).save(out, "PNG")
    image = decode(out.getvalue(), "a")
    assert image.mode == "RGB"
    assert image.getpixel((3, 3)) == (255, 255, 255)
    assert [i.size for i in cut(image, [None, (-3, 0.5, 4.2, 99)], "a")] == [(10, 8), (5, 8)]
    with pytest.raises(UserError, match="is empty"):
        cut(image, [(10, 0, 20, 8)], "a")


SLOW = """
import sys, time
from pathlib import Path
from veridical import encoders as features
from veridical.encoders.packages import Thumbnail

class Slow(Thumbnail):
    def images(self, pixels):
        time.sleep(0.1)
        return super().images(pixels)

print("go", flush=True)
features.extract(Path(sys.argv[1]), Slow("thumbnail"), batch_size=2)
"""


class CountingThumbnail(Thumbnail):
    """The real encoder; counts what it was asked for."""

    asked = 0

    def images(self, pixels: np.ndarray) -> np.ndarray:
        self.asked += len(pixels) * bool(pixels.std((2, 3)).any())
        return super().images(pixels)


def test_killed_and_continued_it_ends_in_the_same_file(tmp_path: Path, panels: Path) -> None:
    """kill -9 at some moment of the extraction; no finished batch is computed again, and the bytes are the same."""
    whole = tmp_path / "whole"
    shutil.copytree(panels, whole)
    expected = features.extract(whole, "thumbnail", batch_size=2).path.read_bytes()
    encoder = CountingThumbnail("thumbnail")
    with subprocess.Popen([sys.executable, "-c", SLOW, str(panels)], stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not (parts := finished(panels)) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    parts = finished(panels)
    assert 0 < parts < 18
    part = next(panels.glob("features-*.part"))
    with part.open("ab") as file:  # and a record torn by the kill
        file.write(b"\x01" * 50)
    with pytest.raises(UserError, match="has no vectors"):
        features.load(panels, encoder)
    assert features.extract(panels, encoder, batch_size=2).path.read_bytes() == expected
    assert encoder.asked == 18 - parts
    assert sorted(p.name for p in panels.glob("features-*")) == ["features-thumbnail.arrow"]


def finished(folder: Path) -> int:
    """Whole records in the log of a run: a head of whole blocks of 64 bytes, then 32 + 4 + 192 x 4 bytes each."""
    for part in folder.glob("features-*.part"):
        data = part.read_bytes()
        return max(len(data) - (data.find(b"\n") + 1), 0) // (36 + 192 * 4)
    return 0


def test_two_at_once_are_refused(panels: Path, resnet: Counting) -> None:
    from veridical.common.files import only_one

    with (
        only_one(feature_path(panels, resnet).with_suffix(".lock"), "busy"),
        pytest.raises(UserError, match="Another process"),
    ):
        features.extract(panels, resnet)
    assert isinstance(features.extract(panels, resnet), Features)
