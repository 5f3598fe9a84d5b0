"""Splits that cannot leak: items that share an origin (presentation, image set, movie, photograph) stay together.

Items are joined into blocks by their origins; whole blocks are dealt to splits at random, so that the sizes come as
near to the wanted ones as whole blocks allow. The papers' rules are functions on top of that. A secret that is mixed
into the seed keeps hidden answers from being built again.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from veridical.benchmark.writer import check_names
from veridical.errors import UserError

Origins = Sequence[Sequence[str]]  # the origins of each item

_EXACT_BLOCKS = 512  # blocks left for the exact search after the rest were drawn at random


def blocks(origins: Origins) -> np.ndarray:
    """A block number per item: items that share an origin, directly or through others, have the same number.

    >>> blocks([["a"], ["b"], ["a", "c"], ["c"], []]).tolist()
    [0, 1, 0, 0, 2]
    """
    parent = list(range(len(origins)))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[str, int] = {}
    for i, keys in enumerate(origins):
        for key in keys:
            a, b = find(first.setdefault(key, i)), find(i)
            parent[max(a, b)] = min(a, b)
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(find(i), len(numbers)) for i in range(len(origins))], dtype=np.int64)


def split_by_origin(
    origins: Origins,
    shares: Mapping[str, float],
    rng: np.random.Generator,
    strata: Sequence[str] | None = None,
) -> list[str]:
    """Deal items to splits in proportion to `shares`, blocks whole; with `strata`, each stratum in equal proportion.

    Returns a split name per item. Sizes are the nearest that whole blocks allow, one split after the other; no split
    is left empty.
    """
    if not shares or not all(0 < share < math.inf for share in shares.values()):
        raise UserError(f"Split shares must be positive, found {dict(shares)}.", "Give each split a share above zero.")
    block = blocks(origins)
    if len(set(block.tolist())) < len(shares):
        raise UserError(
            f"{len(set(block.tolist()))} groups of items that must stay together cannot fill {len(shares)} splits.",
            "Use more image sets (or movies, or presentations), or fewer splits.",
        )
    sizes = np.bincount(block)
    stratum = _block_strata(block, strata)
    names = list(shares)
    of_block = np.full(len(sizes), names[-1], dtype=object)
    free = np.ones(len(sizes), dtype=bool)
    left = sum(shares.values())
    for name in names[:-1]:
        chosen = _carve(sizes, free, stratum, shares[name] / left, rng)
        others = len(names) - 1 - names.index(name)  # each of them needs a block too
        if not len(chosen):
            left_over = rng.permutation(np.flatnonzero(free))
            chosen = left_over[[np.argmin(sizes[left_over])]]
        elif free.sum() - len(chosen) < others:
            chosen = chosen[np.argsort(sizes[chosen], kind="stable")][others - (free.sum() - len(chosen)) :]
        of_block[chosen] = name
        free[chosen] = False
        left -= shares[name]
    return [str(name) for name in of_block[block]]


def nlvr2_held_out(image_sets: Sequence[str], synsets: Sequence[str], rng: np.random.Generator) -> list[bool]:
    """NLVR2 section 3.4, first step: a random 20% by image set is held out and gets four extra judgements."""
    names = split_by_origin([[s] for s in image_sets], {"held-out": 0.2, "train": 0.8}, rng, synsets)
    return [name == "held-out" for name in names]


def nlvr2_thirds(image_sets: Sequence[str], synsets: Sequence[str], rng: np.random.Generator) -> list[str]:
    """NLVR2 section 3.4, second step: what is left of the held-out items after pruning, in three equal parts."""
    return split_by_origin([[s] for s in image_sets], {"dev": 1.0, "test-p": 1.0, "test-u": 1.0}, rng, synsets)


def vcr_folds(movies: Sequence[str], rng: np.random.Generator, folds: int = 11) -> list[int]:
    """VCR section 4: folds by movie, as equal as whole movies allow. Matching happens within a fold."""
    counts = Counter(movies)
    if len(counts) < folds:
        raise UserError(
            f"{len(counts)} movies cannot fill {folds} folds.", "Use fewer folds, or items from more movies."
        )
    names = sorted(counts)
    rng.shuffle(names)
    totals = [0] * folds
    fold_of: dict[str, int] = {}
    for movie in sorted(names, key=lambda m: -counts[m]):  # largest first, each to the emptiest fold
        fold = min(range(folds), key=totals.__getitem__)
        fold_of[movie] = fold
        totals[fold] += counts[movie]
    order = rng.permutation(folds)  # so that the fold number says nothing about the sizes of its movies
    return [int(order[fold_of[movie]]) for movie in movies]


def vcr_splits(folds: Sequence[int]) -> list[str]:
    """One fold is validation, one is test, the others are training."""
    return [{0: "val", 1: "test"}.get(fold, "train") for fold in folds]


def validation_slice(sentences: Sequence[str], origins: Origins, share: float, rng: np.random.Generator) -> list[bool]:
    """Which training items to hold out for early stopping: no sentence and no origin is on both sides."""
    plain = [" ".join(sentence.lower().split()).rstrip(" .!?") for sentence in sentences]
    keys = [[*("origin " + o for o in own), "sentence " + s] for s, own in zip(plain, origins, strict=True)]
    names = split_by_origin(keys, {"validation": share, "training": 1 - share}, rng)
    return [name == "validation" for name in names]


def _block_strata(block: np.ndarray, strata: Sequence[str] | None) -> np.ndarray:
    """A stratum number per block: the most common one among its items."""
    if strata is None:
        return np.zeros(block.max(initial=-1) + 1, dtype=np.int64)
    _, codes = np.unique(np.asarray(strata, dtype=object).astype(str), return_inverse=True)
    pairs, counts = np.unique(np.stack([block, codes]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -counts, pairs[0]))
    _, firsts = np.unique(pairs[0][order], return_index=True)
    return np.asarray(pairs[1][order][firsts])


def _carve(
    sizes: np.ndarray, free: np.ndarray, stratum: np.ndarray, share: float, rng: np.random.Generator
) -> np.ndarray:
    """Choose blocks whose sizes add up to `share` of the free ones, stratum by stratum; errors carry over."""
    chosen: list[np.ndarray] = []
    owed = 0.0
    for code in rng.permutation(np.unique(stratum[free])):
        rows = rng.permutation(np.flatnonzero(free & (stratum == code)))
        owed += share * sizes[rows].sum()
        take = rows[_subset(sizes[rows], round(owed))]
        owed -= sizes[take].sum()
        chosen.append(take)
    return np.concatenate(chosen)


def _subset(sizes: np.ndarray, target: int) -> np.ndarray:
    """Positions whose sizes add up as near to `target` as possible: random first, the last blocks exactly.

    A set of reachable sums is one big integer, bit s for sum s, so a step of the search is a shift and an or.
    """
    target = min(max(target, 0), int(sizes.sum()))
    start = max(0, len(sizes) - _EXACT_BLOCKS)
    taken = np.flatnonzero(np.cumsum(sizes[:start]) <= max(0, target - int(sizes[start:].sum()) // 2))
    rest, need = sizes[start:].tolist(), target - int(sizes[taken].sum())
    reachable = [1]
    for size in rest:
        reachable.append(reachable[-1] | reachable[-1] << size)
    goal = _nearest_bit(reachable[-1], need)
    picked = []
    for position in range(len(rest) - 1, -1, -1):
        if not reachable[position] >> goal & 1:
            picked.append(start + position)
            goal -= rest[position]
    return np.concatenate([taken, np.array(picked[::-1], dtype=np.int64)])


def _nearest_bit(bits: int, target: int) -> int:
    """The set bit nearest to `target`; the lower one of two equally near."""
    for distance in range(bits.bit_length() + abs(target) + 1):
        for place in (target - distance, target + distance):
            if place >= 0 and bits >> place & 1:
                return place
    raise ValueError("no bit is set")


SECRET = "secret.txt"  # in the hidden folder
RANDOM = "random"  # the secret that asks for one to be drawn
LEAST, DIFFERENT = 20, 8  # characters of a secret: four digits were found in four minutes


@dataclass(frozen=True)
class Mixed:
    """The secret that is mixed into a seed, what to keep of it, and what to tell whoever builds."""

    secret: str
    kept: bytes  # for the hidden folder; empty where there is none
    notes: tuple[str, ...]


def mix_secret(secret: str, kept: Path, work: Path | None) -> Mixed:
    """The secret of a build with hidden answers; none, with a warning, where anybody can make them from the seed.

    It will be `kept` in that file; one that is drawn is remembered in the `work` folder until the build is done.
    """
    if not secret:
        note = "Whoever knows the seed can build the hidden answers again. Give --secret random for a benchmark that "
        return Mixed("", b"", (note + "others compete on.",))
    notes: tuple[str, ...] = ()
    if secret == RANDOM:
        secret = secrets.token_hex(16) if work is None else _drawn_secret(work)
        again = f"To build the same again, give the text of {kept} as --secret."
        notes = (f"A random secret is mixed into the seed of what is hidden. {again}",)
    elif len(secret) < LEAST or min(len(set(secret)), _steps(secret)) < DIFFERENT:
        raise UserError(
            f"The secret can be found by trying: {len(secret)} characters, {len(set(secret))} of them different.",
            f"Give --secret random, or {LEAST} characters or more, {DIFFERENT} of them different, in no simple order.",
        )
    return Mixed(secret, secret.encode("utf-8", "surrogateescape") + b"\n", notes)


def _steps(secret: str) -> int:
    """How many different steps lead from a character to the next: few in one that counts.

    >>> _steps("12345678901234567890"), _steps("correct horse battery")
    (2, 17)
    """
    return len({ord(b) - ord(a) for a, b in pairwise(secret)})


def _drawn_secret(work: Path) -> str:
    """A random secret, kept beside the finished batches until the build is done: one that was killed continues."""
    path = work / SECRET
    if path.exists() and (text := path.read_text()):
        return text
    work.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(secrets.token_hex(16))
    return path.read_text()


def secret_words(secret: str) -> list[int]:
    """A secret as eight numbers of 32 bits for a seed: nobody gets them, or what they decide, without the secret.

    >>> len(secret_words("a")), secret_words("a") == secret_words("b"), secret_words("")
    (8, False, [])
    """
    if not secret:
        return []
    digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
    return [int.from_bytes(digest[k : k + 4], "little") for k in range(0, 32, 4)]


def check_splits(shares: Mapping[str, float], hide: Sequence[str]) -> None:
    """Refuse splits without a size, and hidden ones that are not there."""
    for name, share in shares.items():
        check_names(name)
        if not (math.isfinite(share) and share > 0):
            raise UserError(f"The share of {name} is {share}.", "Give each split a positive number.")
    for name in hide:
        if name not in shares:
            raise UserError(f"There is no split {name!r} to hide.", f"The splits are: {', '.join(shares)}.")
