"""The pictures of a project: files in its folder, NLVR's boxes in whatever order a task shows them."""

from __future__ import annotations

import re
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from veridical.errors import UserError
from veridical.sources.boxes.scenes import LEFTS, SIDE
from veridical.web.collect.records import Picture

PICTURES = "pictures"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")  # no path
TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


def is_name(name: str) -> bool:
    """Whether a name can be that of a picture: it leads nowhere else.

    >>> is_name("7-2.png"), is_name("../key"), is_name("a/b.png")
    (True, False, False)
    """
    return bool(_NAME.fullmatch(name)) and Path(name).suffix.lower() in TYPES


def picture_bytes(folder: Path, picture: Picture) -> bytes:
    """The encoded picture as a task shows it."""
    if not is_name(picture.name):
        raise UserError(f"{picture.name!r} names no picture.", "Load the page again.")
    path = folder / PICTURES / picture.name
    if not path.is_file() or path.is_symlink():  # what lies elsewhere on this disk is not shown
        raise UserError(f"There is no picture {picture.name!r}.", f"It should lie in {path.parent}.")
    if picture.order in ((), (0, 1, 2)):
        return path.read_bytes()
    return _permuted(str(path), path.stat().st_mtime_ns, tuple(picture.order))


@lru_cache(maxsize=512)
def _permuted(path: str, changed: int, order: tuple[int, ...]) -> bytes:
    """A drawing of NLVR with its boxes in another order."""
    from PIL import Image

    if sorted(order) != [0, 1, 2]:
        raise UserError(f"{list(order)} is no order of three boxes.", "Give 0, 1 and 2, each once.")
    with Image.open(path) as file:
        image = file.convert("RGB")
    boxes = [image.crop((left, 0, left + SIDE, image.height)) for left in LEFTS]
    for left, place in zip(LEFTS, order, strict=True):
        image.paste(boxes[place], (left, 0))
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
