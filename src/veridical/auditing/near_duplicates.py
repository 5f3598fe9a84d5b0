"""Near-duplicates: pictures that look the same, and texts that are the same but for a letter or two.

Pictures: a difference hash (64 bits: is a cell of a 9 x 8 grey picture darker than its neighbour?) makes candidates;
drawings are flat and collide, so a pair counts only if thumbnails of 64 x 64 differ little, and in no place much. Where
only published hashes are known, these are compared alone.

Texts (typing errors, a sign, a small word more) are sets of three letters in a row. MinHash puts those that share most
of them into common buckets, so that 100,000 texts need no comparison of all with all; each pair from a bucket is then
compared exactly: a Jaccard index of 0.8, or so few letters to change that it is a slip. Another word ("black" for
"blue") makes another sentence.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from veridical.auditing.data import AuditData
from veridical.auditing.findings import Power
from veridical.common.arrays import Floats, Ints, Words
from veridical.common.pictures import stored_picture
from veridical.encoders import hashes
from veridical.encoders.hashes import difference_hash, look_alike, thumbnail

MOST_BITS = 4  # of 64, in which two near-duplicates may differ
COPIES = 60  # pictures, or texts, that the control copies
PAIRS = 8_000  # pairs that are compared at once


class PictureHashes:
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
                    published[key] = hashes.published_hash(panel.phash)
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
        own_hash = [difference_hash(self._open(k)) if self._stored(k) else published[n] for k, n in enumerate(users)]
        self.hashes = np.array(own_hash, np.uint64)

    def _open(self, k: int) -> Any:
        name = self.names[k]
        return stored_picture(memoryview(self.data.benchmark.image(name)), name).convert("RGB")

    def _thumb(self, k: int) -> Floats:
        if k not in self.thumbs:
            self.thumbs[k] = thumbnail(self._open(k))
        return self.thumbs[k]

    def near(self, inside: int) -> Iterator[tuple[int, int]]:
        """Pairs of pictures that look the same and are in different splits, or both in the split `inside`."""
        return self.alike(hashes.near_pairs(self.hashes, MOST_BITS, split=self.split, inside=inside))

    def alike(self, pairs: Ints) -> Iterator[tuple[int, int]]:
        """The pairs that a second look confirms; most fail at the means of cells, which are compared all at once."""
        used = np.unique(pairs)
        place = np.full(len(self.names), -1, np.int64)
        place[used] = np.arange(len(used))
        cells = np.zeros((len(used), 8 * 8 * 3), np.float32)
        for k, picture in enumerate(used.tolist()):
            if self._stored(picture):
                thumb = thumbnail(self._open(picture))
                cells[k] = thumb.reshape(8, len(thumb) // 8, 8, len(thumb) // 8, 3).mean((1, 3)).ravel()
        seen = np.array([self._stored(k) for k in used.tolist()], np.bool_)
        for start in range(0, len(pairs), PAIRS):
            some = place[pairs[start : start + PAIRS]]
            apart = np.abs(cells[some[:, 0]] - cells[some[:, 1]]).max(1)
            maybe = (apart <= hashes.MOST_OF_CELL + 1e-5) | ~(seen[some[:, 0]] & seen[some[:, 1]])
            for a, b in pairs[start : start + PAIRS][maybe].tolist():
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
        bits = hashes.distance(np.array([difference_hash(copy)], np.uint64), self.hashes[k : k + 1])[0]
        return bool(bits <= MOST_BITS and look_alike(thumbnail(image), thumbnail(copy)))


# --- texts -----------------------------------------------------------------------------------------------------------

LEAST = 0.8  # Jaccard index of the letters' triples
SLIP = 40  # letters of a text for each one more that may differ
BANDS, ROWS = 30, 4  # at an index of 0.6 two texts meet in 98% of all cases
NEIGHBOURS = 6  # on each side, of a text in a bucket, that it is compared with
CHUNK = 2_000  # texts that are hashed at once
_PRIME = np.uint64((1 << 31) - 1)


class NearPair(NamedTuple):
    """Two texts, by their places."""

    one: int
    other: int
    likeness: float  # Jaccard index


def shingles(text: str) -> frozenset[int]:
    """Hashes of the triples of letters, with the ends of the text."""
    padded = f"  {text} "
    return frozenset(zlib.crc32(padded[i : i + 3].encode()) for i in range(len(padded) - 2))


def near_texts(texts: Sequence[str], split: Ints, inside: int = -1) -> list[NearPair]:
    """Pairs of near-identical texts of different splits, or both of the split `inside`."""
    if len(texts) < 2:
        return []
    sets = [shingles(t) for t in texts]
    seen: set[int] = set()
    out: list[NearPair] = []
    for one, other in _candidates(_signatures(sets)):
        wanted = (split[one] != split[other]) | ((split[one] == inside) & (split[other] == inside))
        for code in np.unique(one[wanted] * len(texts) + other[wanted]).tolist():
            if code in seen:
                continue
            seen.add(code)
            a, b = divmod(code, len(texts))
            index = len(sets[a] & sets[b]) / len(sets[a] | sets[b])
            if index >= LEAST or (index >= 0.4 and is_slip(texts[a], texts[b])):
                out.append(NearPair(a, b, index))
    return sorted(out)


def _signatures(sets: Sequence[frozenset[int]]) -> Words:
    """(N, BANDS * ROWS) The least of each set under as many hash functions."""
    rng = np.random.default_rng(20_170_730)  # the same for all: signatures are compared
    a, b = (rng.integers(1, int(_PRIME), BANDS * ROWS, dtype=np.uint64) for _ in range(2))
    parts = []
    for start in range(0, len(sets), CHUNK):
        some = sets[start : start + CHUNK]
        begins = np.concatenate([[0], np.cumsum([len(s) for s in some])[:-1]])
        flat = np.fromiter((x for s in some for x in sorted(s)), np.uint64) & _PRIME
        found = [np.minimum.reduceat((flat * a[k] + b[k]) % _PRIME, begins) for k in range(len(a))]
        parts.append(np.stack(found, 1))
    return np.concatenate(parts)


def _candidates(signature: Words) -> Iterator[tuple[Ints, Ints]]:
    """Places of texts that share a bucket, the smaller first; of a large bucket only neighbours."""
    for band in range(BANDS):
        key = np.zeros(len(signature), np.uint64)
        for k in range(band * ROWS, (band + 1) * ROWS):
            key = (key * np.uint64(0x9E3779B97F4A7C15)) ^ signature[:, k]
        order = np.argsort(key, kind="stable")
        for step in range(1, NEIGHBOURS + 1):
            one, other = order[:-step], order[step:]
            same = key[one] == key[other]
            yield np.minimum(one[same], other[same]), np.maximum(one[same], other[same])


def is_slip(one: str, other: str) -> bool:
    """Whether a letter, or one more for every forty, turns one text into the other (two neighbours may change places).

    >>> is_slip("there is a box", "tehre is a box"), is_slip("there is a black box", "there is a blue box")
    (True, False)
    """
    most = 1 + min(len(one), len(other)) // SLIP
    if abs(len(one) - len(other)) > most or any(c.isdigit() for c in one + other):  # another number is no slip
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        two_before, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                best = min(best, two_before[j - 2] + 1)
            row.append(best)
        if min(row) > most:
            return False
    return row[-1] <= most


def text_control(texts: Sequence[str], seed: int) -> Power:
    """Copies of some texts with one letter left out: how many are recognised among all."""
    rng = np.random.default_rng([seed, 17])
    fit = [k for k, t in enumerate(texts) if sum(c.isalpha() for c in t) > 1]
    chosen = rng.permutation(fit)[:COPIES].tolist()
    if not chosen:
        return Power(None, 0.0, 1.0, 0.0, 0.0, "Copies with a letter left out")
    copies = [_without_a_letter(texts[k], rng) for k in chosen]
    split = np.array([0] * len(texts) + [1] * len(copies), np.int64)
    pairs = {(p.one, p.other) for p in near_texts([*texts, *copies], split)}
    share = float(np.mean([(k, len(texts) + n) in pairs for n, k in enumerate(chosen)]))
    return Power(0.0, 0.0, 1.0, share, share, "Copies with a letter left out")


def _without_a_letter(text: str, rng: np.random.Generator) -> str:
    letters = [k for k, c in enumerate(text) if c.isalpha()]
    place = letters[int(rng.integers(len(letters)))]
    return text[:place] + text[place + 1 :]
