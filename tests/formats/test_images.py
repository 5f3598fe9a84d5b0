"""Image files of a release: only what can safely be decoded."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from PIL import Image

from veridical.benchmark.check import decoding_error
from veridical.formats.images import BadImage, image_size, is_inside, leaves_folder, read_image, walk

from ._releases import bomb


def picture(kind: str, size: tuple[int, int] = (7, 5), mode: str = "RGB", **options: bool) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size).save(out, kind, **options)
    return out.getvalue()


def flipped(data: bytes, place: int) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 255
    return bytes(changed)


def with_thumbnail(data: bytes) -> bytes:
    """A JPEG with a picture inside its header, as cameras write them."""
    inner = picture("JPEG")
    return data[:2] + b"\xff\xe1" + (len(inner) + 2).to_bytes(2) + inner + data[2:]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "WEBP"])
def test_size_from_the_header(kind: str) -> None:
    assert image_size(picture(kind)) == (7, 5)


@pytest.mark.parametrize(
    "data",
    [
        picture("PNG") + b"more",
        picture("JPEG") + b"more",
        picture("JPEG", progressive=True),
        with_thumbnail(picture("JPEG")),
        picture("JPEG").replace(b"\xff\xdb", b"\xff\xff\xff\xdb", 1),  # filled up before a part
    ],
)
def test_whole_images_that_are_unusual(data: bytes) -> None:
    assert image_size(data) == (7, 5)
    assert decoding_error(data) is None


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "empty"),
        (b"not an image", "not an image"),
        (picture("PNG")[:60], "cut off"),
        (picture("PNG")[:-9], "cut off"),
        (flipped(picture("PNG"), -25), "a checksum in it is wrong"),
        (picture("JPEG", (99, 99))[:-2], "cut off"),
        (picture("JPEG", (99, 99))[:400], "cut off|not an image"),
        (with_thumbnail(picture("JPEG", (99, 99)))[:-2], "cut off"),
        (picture("JPEG", (99, 99), progressive=True)[:-40], "cut off"),
        (picture("GIF", (99, 99))[:-90], "damaged"),
        (picture("BMP")[:-20], "damaged"),
        (picture("PNG", (9474, 9445), "1"), "9,474 x 9,445 pixels; at most 89,478,485"),
        (bomb(100_000, 100_000), "100,000 x 100,000 pixels"),
        (bomb(0, 5), "no pixels"),
        (b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0), "pixels"),
    ],
)
def test_bad_images(data: bytes, problem: str) -> None:
    with pytest.raises(BadImage, match=problem):
        image_size(data)
    assert decoding_error(data)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadImage, match="No such file"):
        read_image(tmp_path / "none.png")


@pytest.mark.parametrize("name", ["../a.png", "a/../../b.png", "/etc/passwd", "C:/x.png", "..\\x", "", "a\0b"])
def test_paths_that_leave(name: str) -> None:
    assert not is_inside(name)


def test_links_that_leave(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"x")
    (folder / "a.png").symlink_to(tmp_path / "secret.png")
    (folder / "b.png").write_bytes(b"x")
    (folder / "c.png").symlink_to(folder / "b.png")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "e.png").write_bytes(b"x")
    (folder / "d").symlink_to(tmp_path / "elsewhere")
    (folder / "e").mkdir()
    (folder / "e" / "f").symlink_to(folder / "d")
    (tmp_path / "link").symlink_to(folder)  # the folder itself may be a link
    for place in (folder, tmp_path / "link"):
        found = {file.name: file.outside for file in walk(place, "images")}
        assert found == {
            "images/a.png": True,
            "images/b.png": False,
            "images/c.png": False,
            "images/d/e.png": True,
            "images/e/f/e.png": True,
        }
    assert leaves_folder(folder / "a.png", folder)
    with pytest.raises(BadImage, match="a link leads out of the folder"):
        read_image(folder / "b.png", outside=True)
