"""Texts in different splits that are the same but for a letter or two: typing errors, a sign, a small word more.

Texts are sets of three letters in a row. MinHash puts those that share most of them into common buckets, so that
100,000 texts need no comparison of all with all; each pair from a bucket is then compared exactly: a Jaccard index of
0.8, or so few letters to change that it is a slip. Another word ("black" for "blue") makes another sentence.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from veridical.auditing.findings import Power
from veridical.common.arrays import Ints, Words

LEAST = 0.8  # Jaccard index of the letters' triples
SLIP = 40  # letters of a text for each one more that may differ
BANDS, ROWS = 30, 4  # at an index of 0.6 two texts meet in 98% of all cases
NEIGHBOURS = 6  # on each side, of a text in a bucket, that it is compared with
COPIES = 60  # texts that the control copies
CHUNK = 2_000  # texts that are hashed at once
_PRIME = np.uint64((1 << 31) - 1)


class Pair(NamedTuple):
    """Two texts, by their places."""

    one: int
    other: int
    likeness: float  # Jaccard index


def shingles(text: str) -> frozenset[int]:
    """Hashes of the triples of letters, with the ends of the text."""
    padded = f"  {text} "
    return frozenset(zlib.crc32(padded[i : i + 3].encode()) for i in range(len(padded) - 2))


def near_texts(texts: Sequence[str], kind: Ints, inside: int = -1) -> list[Pair]:
    """Pairs of near-identical texts of different kinds, or both of the kind `inside`."""
    if len(texts) < 2:
        return []
    sets = [shingles(t) for t in texts]
    seen: set[int] = set()
    out: list[Pair] = []
    for one, other in _candidates(_signatures(sets)):
        wanted = (kind[one] != kind[other]) | ((kind[one] == inside) & (kind[other] == inside))
        for code in np.unique(one[wanted] * len(texts) + other[wanted]).tolist():
            if code in seen:
                continue
            seen.add(code)
            a, b = divmod(code, len(texts))
            index = len(sets[a] & sets[b]) / len(sets[a] | sets[b])
            if index >= LEAST or (index >= 0.4 and is_slip(texts[a], texts[b])):
                out.append(Pair(a, b, index))
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


def control(texts: Sequence[str], seed: int) -> Power:
    """Copies of some texts with one letter left out: how many are recognised among all."""
    rng = np.random.default_rng([seed, 17])
    fit = [k for k, t in enumerate(texts) if sum(c.isalpha() for c in t) > 1]
    chosen = rng.permutation(fit)[:COPIES].tolist()
    if not chosen:
        return Power(None, 0.0, 1.0, 0.0, 0.0, "Copies with a letter left out")
    copies = [_without_a_letter(texts[k], rng) for k in chosen]
    kind = np.array([0] * len(texts) + [1] * len(copies), np.int64)
    pairs = {(p.one, p.other) for p in near_texts([*texts, *copies], kind)}
    share = float(np.mean([(k, len(texts) + n) in pairs for n, k in enumerate(chosen)]))
    return Power(0.0, 0.0, 1.0, share, share, "Copies with a letter left out")


def _without_a_letter(text: str, rng: np.random.Generator) -> str:
    letters = [k for k, c in enumerate(text) if c.isalpha()]
    place = letters[int(rng.integers(len(letters)))]
    return text[:place] + text[place + 1 :]
