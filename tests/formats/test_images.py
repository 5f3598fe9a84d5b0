"""Image files of a release: only what can safely be decoded."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from PIL import Image

from veridical.formats.images import BadImage, image_size, is_inside, leaves_folder, read_image, walk

from ._releases import bomb


def picture(kind: str, size: tuple[int, int] = (7, 5)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size).save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "WEBP"])
def test_size_from_the_header(kind: str) -> None:
    assert image_size(picture(kind)) == (7, 5)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "empty"),
        (b"not an image", "not an image"),
        (picture("PNG")[:60], "cut off"),
        (bomb(100_000, 100_000), "100,000 x 100,000 pixels"),
        (bomb(0, 5), "no pixels"),
        (b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0), "pixels"),
    ],
)
def test_bad_images(data: bytes, problem: str) -> None:
    with pytest.raises(BadImage, match=problem):
        image_size(data)


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
    assert [leaves_folder(file.path, folder) for file in walk(folder, "images")] == [True, False, False]
    assert [file.name for file in walk(folder, "images")] == ["images/a.png", "images/b.png", "images/c.png"]
