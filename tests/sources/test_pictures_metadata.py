"""Nothing of what a camera or an editor wrote is published, and no pixel changes."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, PngImagePlugin

from veridical.common.metadata import without_metadata
from veridical.sources.pictures import prepare_picture

SECRET = "52.5200 north, at Anna's house"
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def noise(mode: str = "RGB") -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 60, 3), np.uint8)).convert(mode)


def exif() -> Image.Exif:
    found = Image.Exif()
    found[0x010E] = SECRET  # the description of the image
    found.get_ifd(0x8825)[1] = "N"  # where it was taken
    found.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)
    return found


def jpeg(mode: str = "RGB", **options: object) -> bytes:
    """A JPEG with all that is not to be kept, and all that is."""
    file = io.BytesIO()
    noise(mode).save(file, "JPEG", exif=exif(), icc_profile=PROFILE, comment=SECRET.encode(), **options)
    data = file.getvalue()
    more = b"".join(
        b"\xff" + bytes([marker]) + struct.pack(">H", 2 + len(body)) + body
        for marker, body in (
            (0xED, b"Photoshop 3.0\0" + SECRET.encode()),
            (0xE1, b"http://ns.adobe.com/xap/1.0/\0<x>" + SECRET.encode()),
            (0xE5, SECRET.encode()),
            (0xE2, b"FPXR\0" + SECRET.encode()),
        )
    )
    return data[:2] + more + data[2:] + SECRET.encode()  # after the end too


def png() -> bytes:
    text = PngImagePlugin.PngInfo()
    text.add_text("Author", SECRET)
    text.add_text("Comment", SECRET, zip=True)
    text.add_itxt("Title", SECRET)
    file = io.BytesIO()
    noise().save(file, "PNG", pnginfo=text, exif=exif(), icc_profile=PROFILE)
    data = file.getvalue()

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    extra = chunk(b"tIME", bytes([7, 234, 1, 2, 3, 4, 5])) + chunk(b"prVt", SECRET.encode())
    return data[:33] + extra + data[33:] + SECRET.encode()


FILES = {
    "baseline": jpeg,
    "progressive": lambda: jpeg(progressive=True),
    "restarts": lambda: jpeg(restart_marker_blocks=2),
    "PNG": png,
}


@pytest.mark.parametrize("kind", FILES)
def test_metadata_goes_and_pixels_stay(kind: str) -> None:
    data = FILES[kind]()
    found = prepare_picture(data, kind).data
    assert SECRET.encode() in data
    assert SECRET.encode() not in found
    image = Image.open(io.BytesIO(found))
    assert not dict(image.getexif())
    assert "comment" not in image.info
    assert not getattr(image, "text", {})
    assert image.info["icc_profile"] == PROFILE
    assert (np.asarray(image) == np.asarray(Image.open(io.BytesIO(data)))).all()
    assert prepare_picture(data, kind).data == found
    assert without_metadata(found) == found
    if kind == "PNG":
        assert not any(name in found for name in (b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME", b"prVt"))


def test_adobes_colour_transform_is_kept() -> None:
    data = jpeg("CMYK")
    found = without_metadata(data)
    assert found is not None
    assert SECRET.encode() not in found
    assert (np.asarray(Image.open(io.BytesIO(found))) == np.asarray(Image.open(io.BytesIO(data)))).all()


def test_further_pictures_in_the_file_go(tmp_path: Path) -> None:
    file = io.BytesIO()
    noise().save(file, "MPO", save_all=True, append_images=[noise()], exif=exif())
    found = prepare_picture(file.getvalue(), "two").data
    image = Image.open(io.BytesIO(found))
    assert (image.format, getattr(image, "n_frames", 1)) == ("JPEG", 1)
    assert SECRET.encode() not in found


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([jpeg(), png()]),
    st.integers(0, 9000),
    st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 255))),
)
def test_any_bytes_are_walked_to_an_end(data: bytes, cut: int, changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(data[:cut])
    for place, value in changes:
        if damaged:
            damaged[place % len(damaged)] = value
    found = without_metadata(bytes(damaged))
    assert found is None or len(found) <= len(damaged)
