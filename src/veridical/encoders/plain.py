"""Encoders without weights: what pixels and words give before any network has learned anything.

They need nothing but this package, so they are always there: a floor for probes, and for trying things out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from veridical.encoders.encoder import Encoder
from veridical.encoders.packages import words

if TYPE_CHECKING:
    from PIL import Image


class _Plain(Encoder):
    on_processor = True

    def files(self) -> list[Path]:
        return []


class Thumbnail(_Plain):
    """The picture itself, 8 x 8 pixels in three colours: 192 numbers from -1 to 1."""

    SIDE = 8

    def prepare(self, image: Image.Image) -> np.ndarray:
        from PIL import Image

        small = image.resize((self.SIDE, self.SIDE), Image.Resampling.BOX)
        return np.asarray(small, np.float32).transpose(2, 0, 1) / 127.5 - 1

    def images(self, pixels: np.ndarray) -> np.ndarray:
        return pixels.reshape(len(pixels), -1)


class HashedWords(_Plain):
    """A bag of words and word pairs, each counted at a place and with a sign that its hash gives: 512 numbers."""

    SIZE = 512
    padded = False

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        out = np.zeros((len(texts), self.SIZE), np.float32)
        for row, text in zip(out, texts, strict=True):
            found = words(text)
            for term in [*found, *(f"{a} {b}" for a, b in pairwise(found))]:
                place, sign = _place(term, self.SIZE)
                row[place] += sign
        return out


@lru_cache(maxsize=100_000)
def _place(term: str, size: int) -> tuple[int, int]:
    number = int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return number // 2 % size, 1 if number % 2 else -1
