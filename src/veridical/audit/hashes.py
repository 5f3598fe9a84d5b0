"""Perceptual hashes of pictures, near pairs of them by multi-index hashing, and a second look at each pair.

A difference hash (64 bits: is a cell of a 9 x 8 grey picture darker than its neighbour?) makes candidates; drawings
are flat and collide, so a pair counts only if thumbnails of 64 x 64 differ little, and in no place much. Where only
published hashes are known, these are compared alone. Two hashes within `MOST_BITS` bits agree in at least one of
`MOST_BITS + 1` bands, so only such are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.audit.data import AuditData, Floats
from veridical.audit.findings import Power

MOST_BITS = 4  # of 64, in which two near-duplicates may differ
SIDE = 64  # of the thumbnails
MOST_DIFFERENCE = 0.02  # mean difference of thumbnails, of 1
# Difference of any 8 x 8 cell and channel: compressed copies of NLVR's drawings have at most 0.05, two drawings that
# differ in one object 0.17.
MOST_OF_CELL = 0.08
COPIES = 60  # pictures that the control copies

Hashes = npt.NDArray[np.uint64]
Kinds = npt.NDArray[np.int64]
_BITS = np.array([bin(k).count("1") for k in range(256)], np.uint8)


def difference_hash(image: Any) -> int:
    """64 bits: each cell of a 9 x 8 grey picture against its right neighbour."""
    from PIL import Image

    grey = np.asarray(image.convert("L").resize((9, 8), Image.Resampling.LANCZOS), np.int16)
    bits = (grey[:, 1:] > grey[:, :-1]).ravel()
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def thumbnail(image: Any) -> Floats:
    from PIL import Image

    """(SIDE, SIDE, 3) in [0, 1]."""
    return np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX), np.float32) / 255


def look_alike(a: Floats, b: Floats) -> bool:
    """Whether two thumbnails show the same picture, but for compression and scaling."""
    difference = a - b
    cells = difference.reshape(8, SIDE // 8, 8, SIDE // 8, 3).mean((1, 3))  # edges that moved a little cancel out
    return bool(np.abs(difference).mean() <= MOST_DIFFERENCE and np.abs(cells).max() <= MOST_OF_CELL)


def distance(a: Hashes, b: Hashes) -> npt.NDArray[np.int64]:
    """How many bits differ."""
    return _BITS[(a ^ b).view(np.uint8).reshape(-1, 8)].sum(1).astype(np.int64)


def near_pairs(hashes: Hashes, kind: Kinds | None = None, inside: int = -1) -> Iterator[tuple[int, int]]:
    """All pairs of positions whose hashes differ in at most `MOST_BITS` bits, each once.

    With `kind`, only pairs of different kinds, of a kind that is negative, or both of the kind `inside`.
    """
    bands = MOST_BITS + 1
    width = 64 // bands + 1
    seen: set[tuple[int, int]] = set()
    for band in range(bands):
        part = (hashes >> np.uint64(band * width)) & np.uint64((1 << width) - 1)
        order = np.argsort(part, kind="stable")
        starts = np.flatnonzero(np.diff(part[order], prepend=part[order][:1] + np.uint64(1)))
        for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
            rows = order[start:end]
            for k in range(len(rows) - 1):
                others = rows[k + 1 :]
                if kind is not None:
                    own = kind[rows[k]]
                    others = others[(kind[others] != own) | (own < 0) | (own == inside)]
                near = others[distance(np.full(len(others), hashes[rows[k]]), hashes[others]) <= MOST_BITS]
                for other in near.tolist():
                    pair = (min(int(rows[k]), other), max(int(rows[k]), other))
                    if pair not in seen:
                        seen.add(pair)
                        yield pair


class Pictures:
    """The pictures of a benchmark: whole images where their bytes are here, else panels with published hashes."""

    def __init__(self, data: AuditData) -> None:
        self.data = data
        users: dict[str, set[str]] = {}
        published: dict[str, int] = {}
        panels = data.benchmark.panels
        for row in data.rows:
            own = [panels[p] for p in row.item.panels if p in panels]
            own += [panels[c] for c in row.item.candidates if isinstance(c, str) and c in panels]
            for panel in own:
                key = panel.image or panel.uri or panel.id
                if panel.image is not None or panel.phash is not None:
                    users.setdefault(key, set()).add(row.item.id)
                if panel.image is None and panel.phash is not None:
                    published[key] = int(panel.phash, 16) & (1 << 64) - 1
            for view in row.item.views:
                if view.image is not None:
                    users.setdefault(view.image, set()).add(row.item.id)
        split_of = {r.item.id: r.split for r in data.rows}
        self.names = tuple(users)
        self.items = tuple(tuple(sorted(ids)) for ids in users.values())
        named = {split: number for number, split in enumerate(data.splits)}
        owners = [{named[split_of[i]] for i in ids} for ids in users.values()]
        self.split = np.array([own.pop() if len(own) == 1 else -1 for own in owners], np.int64)  # -1: several
        self.thumbs: dict[int, Floats] = {}
        self.published = published
        self.hashes = np.array([self._hash(k) for k in range(len(self.names))], np.uint64)

    def _open(self, k: int) -> Any:
        from PIL import Image

        return Image.open(BytesIO(self.data.benchmark.image(self.names[k]).to_pybytes())).convert("RGB")

    def _hash(self, k: int) -> int:
        return self.published[self.names[k]] if not self._stored(k) else difference_hash(self._open(k))

    def _thumb(self, k: int) -> Floats:
        if k not in self.thumbs:
            self.thumbs[k] = thumbnail(self._open(k))
        return self.thumbs[k]

    def same(self, a: int, b: int) -> bool:
        """A second look at the pixels; two published hashes have none, and are believed."""
        if not (self._stored(a) and self._stored(b)):
            return True
        return look_alike(self._thumb(a), self._thumb(b))

    def _stored(self, k: int) -> bool:
        return self.names[k] not in self.published

    def control(self, seed: int) -> Power | None:
        """Copies of some pictures, three quarters as wide and compressed as JPEG: how many are recognised."""
        stored = [k for k in range(len(self.names)) if self._stored(k)]
        if not stored:
            return None
        rng = np.random.default_rng([seed, 13])
        chosen: Sequence[int] = rng.permutation(stored)[:COPIES].tolist()
        found = sum(self._recognised(k) for k in chosen)
        share = found / len(chosen)
        return Power(0.0, 0.0, 1.0, share, share, "Copies three quarters as wide, compressed as JPEG")

    def _recognised(self, k: int) -> bool:
        from PIL import Image

        image = self._open(k)
        small = image.resize((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)), Image.Resampling.LANCZOS)
        file = BytesIO()
        small.save(file, "JPEG", quality=80)
        copy = Image.open(file)
        bits = distance(np.array([difference_hash(copy)], np.uint64), self.hashes[k : k + 1])[0]
        return bool(bits <= MOST_BITS and look_alike(thumbnail(image), thumbnail(copy)))
