"""Photographs of every odd kind: stored upright in RGB without needless loss, or refused by name and reason."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageOps

from veridical.records import Panel, SceneObject
from veridical.sources import Photograph, Region
from veridical.sources.pictures import (
    BadPhotograph,
    EncodedPicture,
    prepare_picture,
    read_picture,
    scaled,
    upright_size,
)


def scene(size: tuple[int, int] = (64, 48)) -> Image.Image:
    """Red at the top left, blue at the bottom right, smooth between."""
    image = Image.new("RGB", size, (120, 160, 120))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, size[0] // 2, size[1] // 2), fill=(220, 30, 30))
    draw.rectangle((size[0] // 2, size[1] // 2, *size), fill=(30, 30, 220))
    return image


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pixels(picture: EncodedPicture) -> np.ndarray:
    image = Image.open(io.BytesIO(picture.data))
    assert image.format in {"JPEG", "PNG", "MPO"}  # Pillow's name for a JPEG that others follow in the file
    assert image.mode == "RGB"
    assert image.getexif().get(0x0112, 1) == 1
    assert image.size == (picture.width, picture.height)
    return np.asarray(image).astype(int)


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"quality": 20}])
def test_upright_colour_jpegs_keep_their_bytes(options: dict[str, object]) -> None:
    data = encoded(scene(), "JPEG", **options)
    assert prepare_picture(data, "a.jpg") == EncodedPicture(data, 64, 48)


def test_colour_pngs_keep_their_bytes() -> None:
    data = encoded(scene(), "PNG")
    assert prepare_picture(data, "a.png").data == data


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photographs_are_turned_as_the_camera_was_held(orientation: int, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "a camera"
    path = tmp_path / "turned.jpg"
    scene().save(path, exif=exif, quality=95)
    found = read_picture(path)
    expected = ImageOps.exif_transpose(Image.open(path))
    assert (found.width, found.height) == expected.size == upright_size(path)
    assert np.abs(pixels(found) - np.asarray(expected).astype(int)).mean() < 3
    assert b"a camera" in path.read_bytes()
    assert b"a camera" not in found.data
    if orientation == 1:  # nothing is compressed again
        assert (pixels(found) == np.asarray(expected)).all()


def sixteen_bit_png() -> bytes:
    """Colours of 16 bits each, which Pillow cannot write."""
    rows = np.asarray(scene()).astype(">u2") * 257
    body = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 64, 48, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def grey16() -> Image.Image:
    return Image.fromarray(np.asarray(scene().convert("L")).astype(np.uint16) * 257)


ODD = {
    "CMYK JPEG": lambda: encoded(scene().convert("CMYK"), "JPEG", quality=95),
    "palette PNG": lambda: encoded(scene().convert("P", palette=Image.Palette.ADAPTIVE), "PNG"),
    "palette GIF": lambda: encoded(scene(), "GIF"),
    "opaque RGBA PNG": lambda: encoded(scene().convert("RGBA"), "PNG"),
    "16-bit colour PNG": sixteen_bit_png,
    "lossless WebP": lambda: encoded(scene(), "WEBP", lossless=True),
    "BMP": lambda: encoded(scene(), "BMP"),
    "TIFF": lambda: encoded(scene(), "TIFF"),
    "CMYK TIFF": lambda: encoded(scene().convert("CMYK"), "TIFF"),
    "JPEG with further pictures": lambda: encoded(scene(), "MPO", save_all=True, append_images=[scene()], quality=95),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_kinds_show_the_same_colours(kind: str) -> None:
    found = pixels(prepare_picture(ODD[kind](), kind))
    assert np.abs(found - np.asarray(scene()).astype(int)).mean() < 4


GREY = {
    "grey JPEG": lambda: encoded(scene().convert("L"), "JPEG", quality=95),
    "16-bit grey PNG": lambda: encoded(grey16(), "PNG"),
    "16-bit grey TIFF": lambda: encoded(grey16(), "TIFF"),
    "grey PNG": lambda: encoded(scene().convert("L"), "PNG"),
}


@pytest.mark.parametrize("kind", GREY)
def test_grey_becomes_rgb_and_sixteen_bits_are_scaled(kind: str) -> None:
    found = pixels(prepare_picture(GREY[kind](), kind))
    assert np.abs(found - np.asarray(scene().convert("L").convert("RGB")).astype(int)).mean() < 3


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_becomes_white(mode: str) -> None:
    image = scene().convert("RGBA")
    image.putalpha(Image.new("L", image.size, 0))
    options = {"transparency": 0} if mode == "P" else {}
    file = Image.new("P", image.size, 0) if mode == "P" else image.convert(mode)
    assert (pixels(prepare_picture(encoded(file, "PNG", **options), "clear.png")) == 255).all()


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_an_animation_the_first_picture_is_taken(kind: str) -> None:
    others = [Image.new("RGB", (64, 48), colour) for colour in ("white", "black")]
    data = encoded(scene(), kind, save_all=True, append_images=others)
    assert Image.open(io.BytesIO(data)).n_frames == 3
    found = prepare_picture(data, "moving")
    assert np.abs(pixels(found) - np.asarray(scene()).astype(int)).mean() < 6
    assert getattr(Image.open(io.BytesIO(found.data)), "n_frames", 1) == 1


def test_encoding_again_gives_the_same_bytes_and_no_old_metadata() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "secret camera"
    data = encoded(scene(), "JPEG", exif=exif, comment=b"secret")
    first = prepare_picture(data, "a.jpg")
    assert first == prepare_picture(data, "a.jpg")
    assert b"secret" in data
    assert b"secret" not in first.data


def bomb() -> bytes:
    data = bytearray(encoded(Image.new("L", (1, 1)), "PNG"))
    data[16:24] = struct.pack(">II", 60_000, 60_000)
    data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"hello, I am a text", "not an image"),
        (encoded(scene((400, 300)), "JPEG")[:900], "decoded"),
        (encoded(scene((400, 300)), "PNG")[:-30], "decoded"),
        (encoded(scene((400, 300)), "WEBP")[:200], "decoded|opened|not an image"),
        (bomb(), "pixels"),
        (encoded(Image.new("F", (8, 8)), "TIFF"), "decimal numbers"),
        (encoded(Image.new("I", (8, 8), 1 << 20), "TIFF"), "32 bits"),
    ],
    ids=["empty", "text", "cut JPEG", "cut PNG", "cut WebP", "bomb", "decimal", "32 bits"],
)
def test_what_cannot_be_used_is_refused_by_name(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jpg"
    path.write_bytes(data)
    with pytest.raises(BadPhotograph, match=rf"bad\.jpg cannot be used: .*({reason})") as caught:
        read_picture(path)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.reason) == (str(caught.value), caught.value.reason)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    for read in (read_picture, upright_size):
        with pytest.raises(BadPhotograph, match=r"pipe\.jpg cannot be used: it is not a regular file"):
            read(tmp_path / "pipe.jpg")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for read in (read_picture, upright_size):
        with pytest.raises(BadPhotograph, match=r"none\.jpg cannot be used: it cannot be read"):
            read(tmp_path / "none.jpg")


ORIGINALS = [encoded(scene(), kind) for kind in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP")] + [
    encoded(scene().convert("CMYK"), "JPEG"),
    encoded(grey16(), "PNG"),
]


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(ORIGINALS), st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=8), st.data()
)
def test_damaged_bytes_are_read_or_refused_and_nothing_else(
    data: bytes, changes: list[tuple[int, int]], more: st.DataObject
) -> None:
    damaged = bytearray(data[: more.draw(st.integers(0, len(data)))])
    for place, value in changes:
        if damaged:
            damaged[place % len(damaged)] = value
    with contextlib.suppress(BadPhotograph):
        pixels(prepare_picture(bytes(damaged), "damaged"))


def test_a_longest_side_shrinks_pictures_and_their_boxes() -> None:
    for kind in ("JPEG", "PNG"):
        found = prepare_picture(encoded(scene((640, 480)), kind), "big", max_side=100)
        assert (found.width, found.height) == (100, 75)
        assert np.abs(pixels(found) - np.asarray(scene((100, 75))).astype(int)).mean() < 6
    thing = SceneObject("1", "dog", box=(64.0, 48.0, 640.0, 480.0), polygons=(((0.0, 480.0), (640.0, 0.0)),))
    panel = Panel("p", width=640, height=480, objects=(thing, SceneObject("2", "cat")))
    found = scaled(Photograph(panel, regions=(Region("all", (0, 0, 640, 480)),)), 100)
    assert (found.panel.width, found.panel.height) == (100, 75)
    assert found.panel.objects[0].box == pytest.approx((10, 7.5, 100, 75))
    assert found.panel.objects[0].polygons[0] == ((0, 75), (100, 0))
    assert found.panel.objects[1].box is None
    assert found.regions[0].box == (0, 0, 100, 75)
    assert scaled(found, 100) is found


def test_a_small_picture_is_not_made_larger() -> None:
    data = encoded(scene(), "JPEG")
    assert prepare_picture(data, "small", max_side=64).data == data
