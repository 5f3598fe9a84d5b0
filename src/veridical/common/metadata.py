"""What a picture says beside its pixels (where it was taken, by whom, notes of an editor) is left out of it."""

from __future__ import annotations

import re
import warnings
from io import BytesIO

from veridical.common.pictures import DECODER_ERRORS, decoded

# Only whole segments and chunks are left out, and whatever follows the end of the picture: nothing is decoded or
# encoded, so that the pixels stay the same to the last bit. What the colours need (JFIF, ICC profile, Adobe's
# transform, gamma) is kept.

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = frozenset(b"IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP bKGD pHYs".split())
_SOI, _EOI, _SOS, _COM = 0xD8, 0xD9, 0xDA, 0xFE
_APPS = range(0xE0, 0xF0)
_APPS_KEPT = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}  # marker -> how a segment that is kept begins
_ALONE = frozenset((0x01, *range(0xD0, 0xD8)))  # markers without a length
_NEXT_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")  # in a scan; zeros and restarts belong to it


def without_metadata(data: bytes) -> bytes | None:
    """A JPEG or PNG without what cameras and editors wrote beside its pixels: places, dates, names, thumbnails, notes.

    None where its parts cannot be told apart.
    """
    if data.startswith(_PNG):
        return _png(data)
    return _jpeg(data) if data.startswith(b"\xff\xd8") else None


def _jpeg(data: bytes) -> bytes | None:
    kept = [data[:2]]
    at = 2
    while at + 1 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # filling
            at += 1
            continue
        if marker == _EOI:
            return b"".join((*kept, data[at : at + 2]))
        end = at + 2
        if marker not in _ALONE:
            length = int.from_bytes(data[end : end + 2], "big")
            end += length
            if length < 2 or end > len(data) or marker in (0x00, _SOI):
                return None
        if marker == _SOS:
            found = _NEXT_MARKER.search(data, end)
            if found is None:
                return None
            end = found.start()
        wanted = _APPS_KEPT.get(marker)
        told = marker in _APPS and (wanted is None or not data.startswith(wanted, at + 4))
        if marker != _COM and not told:
            kept.append(data[at:end])
        at = end
    return None


def _png(data: bytes) -> bytes | None:
    kept = [_PNG]
    at = len(_PNG)
    while at + 12 <= len(data):
        name, end = data[at + 4 : at + 8], at + 12 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            return None
        if name in _PNG_KEPT:
            kept.append(data[at:end])
        if name == b"IEND":
            return b"".join(kept)
        at = end
    return None


# --- of any format ----------------------------------------------------------------------------------------------------

_ORIENTATION = 0x0112  # the EXIF entry that says how the camera was held
_OF_PNG = frozenset({"1", "L", "RGB", "RGBA", "I;16"})  # modes that a PNG has as they are


def bare_picture(data: bytes) -> bytes:
    """A picture without its metadata: its own bytes where only that is lost, otherwise upright and encoded again.

    `BadPicture` where it cannot be decoded.
    """
    if not _is_turned(data) and (bare := without_metadata(data)) is not None:
        return bare
    from PIL import ImageOps

    image = decoded(data)
    format = image.format
    image = ImageOps.exif_transpose(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
    elif image.mode not in _OF_PNG:
        image = image.convert("RGB")
    image.info = {}
    file = BytesIO()
    if format in ("JPEG", "MPO"):
        image.save(file, "JPEG", quality=95, subsampling=0)
    else:
        image.save(file, "PNG")
    return file.getvalue()


def _is_turned(data: bytes) -> bool:
    from PIL import Image

    with warnings.catch_warnings(action="ignore"):
        try:
            return bool(Image.open(BytesIO(data)).getexif().get(_ORIENTATION, 1) != 1)
        except (*DECODER_ERRORS, Image.DecompressionBombError):
            return False  # what cannot be read turns nothing
