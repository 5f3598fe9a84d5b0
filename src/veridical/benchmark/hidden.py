"""What builders share: splits that make sense, and the secret that keeps hidden answers from being built again."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from veridical.benchmark.writer import check_names
from veridical.errors import UserError

SECRET = "secret.txt"  # in the hidden folder
RANDOM = "random"  # the secret that asks for one to be drawn


@dataclass(frozen=True)
class Mixed:
    """The secret that is mixed into a seed, what to keep of it, and what to tell whoever builds."""

    secret: str
    kept: bytes  # for the hidden folder; empty where there is none
    note: str


def mix_secret(secret: str, kept: Path, draw: Callable[[], str]) -> Mixed:
    """The secret of a build with hidden answers; none, with a warning, where anybody can make them from the seed."""
    if not secret:
        note = "Whoever knows the seed can build the hidden answers again. Give --secret random for a benchmark that "
        return Mixed("", b"", note + "others compete on.")
    note = ""
    if secret == RANDOM:
        secret = draw()
        again = f"To build the same again, give the text of {kept} as --secret."
        note = f"A random secret is mixed into the seed of what is hidden. {again}"
    return Mixed(secret, secret.encode("utf-8", "surrogateescape") + b"\n", note)


def drawn_secret(work: Path) -> str:
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


def check_seed(seed: int) -> None:
    if seed < 0:
        raise UserError(f"The seed is {seed}.", "Give a whole number from 0.")
