"""A JPEG or PNG without what its camera and editors wrote beside the pixels: places, dates, names, thumbnails, notes.

Only whole segments and chunks are left out, and whatever follows the end of the picture: nothing is decoded or encoded,
so that the pixels stay the same to the last bit. What the colours need (JFIF, ICC profile, Adobe's transform, gamma)
is kept.
"""

from __future__ import annotations

import re

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = frozenset(b"IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP bKGD pHYs".split())
_SOI, _EOI, _SOS, _COM = 0xD8, 0xD9, 0xDA, 0xFE
_APPS = range(0xE0, 0xF0)
_APPS_KEPT = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}  # marker -> how a segment that is kept begins
_ALONE = frozenset((0x01, *range(0xD0, 0xD8)))  # markers without a length
_NEXT_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")  # in a scan; zeros and restarts belong to it


def without_metadata(data: bytes) -> bytes | None:
    """The same picture without metadata; None where its parts cannot be told apart."""
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
        if not _is_metadata(marker, data[at + 4 : at + 16]):
            kept.append(data[at:end])
        at = end
    return None


def _is_metadata(marker: int, start: bytes) -> bool:
    if marker == _COM:
        return True
    return marker in _APPS and (marker not in _APPS_KEPT or not start.startswith(_APPS_KEPT[marker]))


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
