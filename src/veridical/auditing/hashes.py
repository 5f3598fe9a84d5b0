"""The pictures of a benchmark, near pairs of them by their hashes, and a second look at each pair.

A difference hash (64 bits: is a cell of a 9 x 8 grey picture darker than its neighbour?) makes candidates; drawings
are flat and collide, so a pair counts only if thumbnails of 64 x 64 differ little, and in no place much. Where only
published hashes are known, these are compared alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from veridical.auditing.data import AuditData
from veridical.auditing.findings import Power
from veridical.common.arrays import Floats
from veridical.encoders import hashes as features
from veridical.encoders.hashes import (
    MOST_OF_CELL,
    Hashes,
    Kinds,
    difference_hash,
    distance,
    look_alike,
    published_hash,
    thumbnail,
)

MOST_BITS = 4  # of 64, in which two near-duplicates may differ
COPIES = 60  # pictures that the control copies
PAIRS = 8_000  # pairs that are compared at once


def near_pairs(hashes: Hashes, kind: Kinds | None = None, inside: int = -1) -> Iterator[tuple[int, int]]:
    """All pairs of positions whose hashes differ in at most `MOST_BITS` bits, each once.

    With `kind`, only pairs of different kinds, of a kind that is negative, or both of the kind `inside`.
    """
    yield from map(tuple, features.near_pairs(hashes, MOST_BITS, kind=kind, inside=inside).tolist())


def _cells(thumb: Floats) -> Floats:
    """(192,) The mean colours of 8 x 8 cells."""
    side = len(thumb) // 8
    return thumb.reshape(8, side, 8, side, 3).mean((1, 3)).ravel()


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
                    published[key] = published_hash(panel.phash)
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

    def alike(self, pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The pairs that a second look confirms; most fail at the means of cells, which are compared all at once."""
        listed = np.array(list(pairs), np.int64).reshape(-1, 2)
        used = np.unique(listed)
        place = np.full(len(self.names), -1, np.int64)
        place[used] = np.arange(len(used))
        cells = np.zeros((len(used), 8 * 8 * 3), np.float32)
        for k, picture in enumerate(used.tolist()):
            if self._stored(picture):
                cells[k] = _cells(thumbnail(self._open(picture)))
        seen = np.array([self._stored(k) for k in used.tolist()], np.bool_)
        for start in range(0, len(listed), PAIRS):
            some = place[listed[start : start + PAIRS]]
            apart = np.abs(cells[some[:, 0]] - cells[some[:, 1]]).max(1)
            maybe = (apart <= MOST_OF_CELL + 1e-5) | ~(seen[some[:, 0]] & seen[some[:, 1]])
            for a, b in listed[start : start + PAIRS][maybe].tolist():
                if self.same(a, b):
                    yield a, b

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
