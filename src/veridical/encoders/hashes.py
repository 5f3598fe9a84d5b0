"""Perceptual hashes of pictures (64 bits), and all near pairs of them by multi-index hashing.

Cut the 64 bits into `distance + k` blocks: two hashes that differ in at most `distance` bits agree in at least k of the
blocks (Norouzi et al. 2012 have k = 1). So for each choice of k blocks, only hashes that are equal there are compared:
28 sorts by 16 bits for distance 6, instead of all pairs. A pair is taken where its first k agreeing blocks are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Array, Bools, Floats, Ints, Words, compiled, has_numba
from veridical.errors import UserError, missing_extra

if TYPE_CHECKING:
    from PIL import Image

BITS = 64
SIDE = 64  # of the thumbnails
MOST_DIFFERENCE = 0.02  # mean difference of thumbnails, of 1
# Difference of any 8 x 8 cell and channel: compressed copies of NLVR's drawings have at most 0.05, two drawings that
# differ in one object 0.17.
MOST_OF_CELL = 0.08
MOST_PAIRS = 20_000_000  # more are not listed: they are clusters of copies, and fill the memory
_KEY_BITS = 16  # of a choice of blocks: keys of 16 bits are sorted in linear time
_MOST_BLOCKS = 4  # that may be chosen
_MASK = (1 << BITS) - 1

Hashes = Words
IndexPairs = Ints  # (pairs, 2)
_TABLE = np.array([bin(k).count("1") for k in range(256)], np.uint8)


def perceptual_hash(image: Image.Image) -> int:
    """imagehash's `phash`: the low frequencies of a picture, each against their median."""
    try:
        import imagehash
    except ImportError:
        raise missing_extra("imagehash", "build") from None
    return int(str(imagehash.phash(image)), 16)


def difference_hash(image: Image.Image) -> int:
    """Each cell of a 9 x 8 grey picture against its right neighbour. It needs no package."""
    from PIL import Image

    grey = np.asarray(image.convert("L").resize((9, 8), Image.Resampling.LANCZOS), np.int16)
    bits = (grey[:, 1:] > grey[:, :-1]).ravel()
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def published_hash(text: str) -> int:
    """A hash as data sets publish it.

    >>> published_hash("1f0746c0c0bce080") == 0x1F0746C0C0BCE080
    True
    """
    try:
        return int(text, 16) & _MASK
    except ValueError:
        raise UserError(f"{text!r} is no hash.", "A published hash is written as 16 hexadecimal digits.") from None


def thumbnail(image: Image.Image) -> Floats:
    """(SIDE, SIDE, 3) in [0, 1]."""
    from PIL import Image

    pixels = np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX), np.float32)
    return (pixels / 255).astype(np.float32)


def look_alike(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Whether two thumbnails show the same picture, but for compression and scaling."""
    difference = a - b
    cells = difference.reshape(8, SIDE // 8, 8, SIDE // 8, 3).mean((1, 3))  # edges that moved a little cancel out
    return bool(np.abs(difference).mean() <= MOST_DIFFERENCE and np.abs(cells).max() <= MOST_OF_CELL)


def distance(a: Hashes, b: Hashes) -> Ints:
    """How many bits differ.

    >>> distance(np.array([0, 3], np.uint64), np.array([1, 0], np.uint64)).tolist()
    [1, 2]
    """
    return _count(a ^ b).astype(np.int64)


def near_pairs(
    hashes: Hashes, most: int, *, split: Ints | None = None, inside: int = -1, most_pairs: int = MOST_PAIRS
) -> IndexPairs:
    """All pairs of positions whose hashes differ in at most `most` bits: (pairs, 2), sorted, the smaller first.

    With `split`, only pairs of different splits, of a negative split, or both of the split `inside`. A UserError where
    there are more than `most_pairs`.
    """
    if not 0 <= most <= BITS:
        raise UserError(f"A distance of {most} bits was asked for.", f"It is between 0 and {BITS}.")
    hashes = np.ascontiguousarray(hashes, np.uint64)
    splits = np.full(len(hashes), -1, np.int64) if split is None else np.asarray(split, np.int64)
    members = np.lexsort((splits, hashes))  # copies stand side by side: one of them is compared for all
    new = np.ones(len(members), bool)
    new[1:] = (np.diff(hashes[members]) != 0) | (np.diff(splits[members]) != 0)
    starts = np.flatnonzero(new)
    counts = np.diff(starts, append=len(members))
    firsts = members[starts]
    found = [
        pairs[_wanted(splits[firsts[pairs[:, 0]]], splits[firsts[pairs[:, 1]]], inside)]
        for pairs in _distinct_pairs(hashes[firsts], most, most_pairs)
    ]
    apart = np.concatenate([np.empty((0, 2), np.int64), *found])
    many = np.flatnonzero((counts > 1) & _wanted(splits[firsts], splits[firsts], inside))
    total = int((counts[apart[:, 0]] * counts[apart[:, 1]]).sum() + (counts[many] * (counts[many] - 1) // 2).sum())
    if total > most_pairs:
        raise _too_many(total, most_pairs)
    copies = _products(np.stack([many, many], 1), starts, counts)
    pairs: IndexPairs = members[np.concatenate([_products(apart, starts, counts), copies[copies[:, 0] < copies[:, 1]]])]
    pairs.sort(axis=1)
    return pairs.take(np.lexsort((pairs[:, 1], pairs[:, 0])), axis=0)


def _distinct_pairs(hashes: Hashes, most: int, most_pairs: int) -> Iterator[IndexPairs]:
    """Near pairs among different entries, each once."""
    blocks, chosen = _plan(len(hashes), most)
    edges = [BITS * k // blocks for k in range(blocks + 1)]
    widest = _KEY_BITS // max(1, chosen)  # of wider blocks, only so many bits are looked at
    widths = [min(widest, high - low) for low, high in pairwise(edges)]
    masks = [((1 << width) - 1) << low for low, width in zip(edges, widths, strict=False)]
    search = _kernel() or _equal_keys
    total = 0
    for choice in combinations(range(blocks), chosen):
        key = np.zeros(len(hashes), np.uint64)
        for block in choice:
            part = (hashes & np.uint64(masks[block])) >> np.uint64(edges[block])
            key = (key << np.uint64(widths[block])) | part
        earlier = [masks[block] for block in range(choice[-1] if choice else 0) if block not in choice]
        order = np.argsort(key.astype(np.uint16), kind="stable")
        pairs = search(key[order].astype(np.uint16), hashes[order], most, np.array(earlier, np.uint64), most_pairs)
        total += len(pairs)
        if total > most_pairs:
            raise _too_many(total, most_pairs)
        yield order[pairs]


def _equal_keys(key: npt.NDArray[np.uint16], hashes: Hashes, most: int, earlier: Hashes, most_pairs: int) -> IndexPairs:
    """Near pairs with equal keys, among sorted ones: each with its next, then with the one after that, and so on.

    A pair that agrees in an `earlier` block too belongs to another choice of blocks. Not many more than `most_pairs`.
    """
    found = [np.empty((0, 2), np.int64)]
    left = np.arange(len(key))
    for step in range(1, len(key)):
        left = left[: np.searchsorted(left, len(key) - step)]
        left = left[key[left] == key[left + step]]
        if not len(left) or sum(map(len, found)) > most_pairs:
            break
        differing = hashes[left] ^ hashes[left + step]
        near = _count(differing) <= most
        for mask in earlier:
            near &= (differing & mask) != 0
        found.append(np.stack([left[near], left[near] + step], 1))
    return np.concatenate(found)


def _equal_keys_by_one(
    key: npt.NDArray[np.uint16], hashes: Hashes, most: int, earlier: Hashes, most_pairs: int
) -> IndexPairs:
    """The same as machine code: no array is made but the pairs."""
    out = np.empty((1024, 2), np.int64)
    count = 0
    for a in range(len(key)):
        b = a + 1
        while b < len(key) and key[b] == key[a]:
            differing = hashes[a] ^ hashes[b]
            x = differing - ((differing >> np.uint64(1)) & np.uint64(0x5555555555555555))
            x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
            x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            if (x * np.uint64(0x0101010101010101)) >> np.uint64(56) <= np.uint64(most):
                first = True
                for mask in earlier:
                    if differing & mask == np.uint64(0):
                        first = False
                if first:
                    if count == len(out):
                        if count > most_pairs:
                            return out
                        larger = np.empty((2 * count, 2), np.int64)
                        larger[:count] = out
                        out = larger
                    out[count, 0] = a
                    out[count, 1] = b
                    count += 1
            b += 1
    return out[:count]


@cache
def _kernel() -> Callable[..., IndexPairs] | None:
    return compiled(_equal_keys_by_one) if has_numba() else None


def _plan(count: int, most: int) -> tuple[int, int]:
    """How many blocks to cut the bits into, and how many of them must agree: whatever compares and sorts the least."""

    def cost(chosen: int) -> float:
        bits = min(_KEY_BITS, chosen * (BITS // (most + chosen)))
        return comb(most + chosen, chosen) * (count * (count - 1) / float(2 ** (bits + 1)) + 10 * count)

    possible = [k for k in range(1, _MOST_BLOCKS + 1) if most + k <= BITS]
    if not possible or min(map(cost, possible)) > count**2 / 2:  # all with all
        return 1, 0
    chosen = min(possible, key=cost)
    return most + chosen, chosen


def _wanted(a: Ints, b: Ints, inside: int) -> Bools:
    return np.asarray((a != b) | (a < 0) | (a == inside))


def _products(pairs: IndexPairs, starts: Ints, counts: Ints) -> IndexPairs:
    """Every member of the first of each pair with every member of the second, as places among the members."""
    sizes = counts[pairs[:, 0]] * counts[pairs[:, 1]]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    second = np.repeat(counts[pairs[:, 1]], sizes)
    rows = np.repeat(starts[pairs], sizes, axis=0)
    rows[:, 0] += within // second
    rows[:, 1] += within % second
    return rows


def _count(words: Hashes) -> Array:
    """Bits that are set."""
    if hasattr(np, "bitwise_count"):  # from NumPy 2 on
        return np.bitwise_count(words)
    return np.asarray(_TABLE[words.view(np.uint8).reshape(-1, 8)].sum(1))


def _too_many(total: int, most_pairs: int) -> UserError:
    return UserError(
        f"At least {total:,} pairs of pictures are near each other; at most {most_pairs:,} are listed.",
        "Ask for a smaller distance, or leave copies of the same picture out first.",
    )
