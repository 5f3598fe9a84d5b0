"""Vectors of texts: each distinct text is encoded once per encoder, and remembered between runs.

They are kept in a cache folder of the user (VERIDICAL_CACHE, else ~/.cache/veridical), a file for each encoder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from veridical.encoders.encoder import Encoder, Identity, open_encoder, unit
from veridical.encoders.log import VectorLog, key_hash
from veridical.engine.progress import Progress


def encode_texts(
    encoder: str | Encoder,
    texts: Sequence[str],
    *,
    normalise: bool = False,
    batch_size: int = 64,
    device: str | None = None,
    cache: Path | str | None = None,
) -> np.ndarray:
    """One vector per text, in their order: (N, D) float32. With `normalise`, of length 1."""
    found = TextVectors(encoder, batch_size=batch_size, device=device, cache=cache).rows(texts)
    return unit(found) if normalise else found


class TextVectors:
    """Vectors of texts by one encoder: those that are known, and those it is asked for."""

    def __init__(
        self,
        encoder: str | Encoder,
        *,
        batch_size: int = 64,
        device: str | None = None,
        cache: Path | str | None = None,
    ) -> None:
        self.encoder = open_encoder(encoder, device=device)
        self.batch_size = batch_size
        about = {**asdict(self.identity), "kind": "text"}
        name = hashlib.sha256(repr(sorted(about.items())).encode()).hexdigest()[:12]
        folder = Path(cache or cache_folder()) / "texts"
        self._log = VectorLog(folder / f"{self.encoder.slug}-{name}.vectors", about)
        self._places, self._vectors = self._log.read()

    @property
    def identity(self) -> Identity:
        return self.encoder.identity

    @property
    def size(self) -> int:
        """Numbers in a vector; 0 before the first one."""
        return int(self._vectors.shape[1])

    def add(self, texts: Iterable[str]) -> None:
        """Encode the texts that are not known yet, in batches."""
        missing = {h: text for text in texts if (h := key_hash(text)) not in self._places}
        if not missing:
            return
        order = list(missing)
        if self.encoder.padded:  # similar lengths waste the least on padding; the slowest first, for an honest ETA
            order.sort(key=lambda h: (-len(missing[h]), h))
        with Progress(f"Encoding texts with {self.encoder.name}", len(order), "texts") as progress:
            for start in range(0, len(order), self.batch_size):
                batch = order[start : start + self.batch_size]
                self._log.append(batch, self.encoder.texts([missing[h] for h in batch]))
                progress.advance(len(batch))
        self._places, self._vectors = self._log.read()

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """One vector per text, in their order: (N, D)."""
        self.add(texts)
        if not texts:
            return np.zeros((0, self.size), np.float32)
        return np.array(self._vectors[[self._places[key_hash(text)] for text in texts]])


def cache_folder() -> Path:
    """Where vectors of texts are kept between runs."""
    if own := os.environ.get("VERIDICAL_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veridical"
