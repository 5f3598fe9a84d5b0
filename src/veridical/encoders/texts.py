"""Vectors of texts, each distinct one made once, and of the words of texts, each in its context.

They are kept in a cache folder of the user (VERIDICAL_CACHE, else ~/.cache/veridical), a file for each encoder. Every
finished batch is synced to it, so that a run killed at any moment continues with the next batch.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from veridical.encoders.encoder import Encoder, Identity, open_encoder
from veridical.encoders.store import VectorLog, key_hash
from veridical.engine.progress import Progress

Words = tuple[str, ...]  # a text, word by word


class _KeptVectors:
    """Vectors by one encoder in its file: those that are known, and those that are added."""

    kind: str  # what they are of

    def __init__(
        self,
        encoder: str | Encoder,
        *,
        batch_size: int = 64,
        cache: Path | str | None = None,
        precision: str = "fp32",
    ) -> None:
        self.encoder = open_encoder(encoder, precision=precision)
        self.batch_size = batch_size
        about = {**asdict(self.identity), "kind": self.kind}
        name = hashlib.sha256(repr(sorted(about.items())).encode()).hexdigest()[:12]
        folder = Path(cache or cache_folder()) / f"{self.kind}s"
        self._log = VectorLog(folder / f"{self.encoder.slug}-{name}.vectors", about)
        self._places, self._vectors = self._log.read()

    @property
    def identity(self) -> Identity:
        return self.encoder.identity

    @property
    def size(self) -> int:
        """Numbers in a vector; 0 before the first one."""
        return int(self._vectors.shape[1])


class TextVectors(_KeptVectors):
    """Vectors of texts by one encoder: those that are known, and those it is asked for."""

    kind = "text"

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
        return np.asarray(self._vectors[[self._places[key_hash(text)] for text in texts]])


class WordVectors(_KeptVectors):
    """Vectors of the words of texts: a word has one for each text it stands in, or one for all (GloVe)."""

    kind = "word"

    def add(self, texts: Iterable[Words]) -> None:
        """Encode the texts that are not known yet, in batches."""
        if not self.encoder.contextual:
            texts = ((word,) for text in texts for word in text)
        missing = sorted({t for t in texts if t and _word_key(t, 0) not in self._places}, key=lambda t: (-len(t), t))
        if not missing:
            return
        with Progress(f"Encoding words with {self.encoder.name}", len(missing), "texts") as progress:
            for start in range(0, len(missing), self.batch_size):
                batch = missing[start : start + self.batch_size]
                # the first word comes last: where it is known, all are
                keys = [_word_key(text, k) for text in batch for k in reversed(range(len(text)))]
                self._log.append(keys, np.concatenate([found[::-1] for found in self.encoder.words(batch)]))
                progress.advance(len(batch))
        self._places, self._vectors = self._log.read()

    def places(self, text: Words) -> np.ndarray:
        """Where the vector of each word of a text that was added lies: (T,)."""
        if self.encoder.contextual:
            keys = [_word_key(text, k) for k in range(len(text))]
        else:
            keys = [_word_key((word,), 0) for word in text]
        return np.array([self._places[key] for key in keys], np.int64)

    def at(self, places: np.ndarray) -> np.ndarray:
        """The vectors at places: (...) -> (..., D)."""
        return np.asarray(self._vectors[places])


def _word_key(text: Words, place: int) -> bytes:
    return key_hash("\x1f".join((str(place), *text)))


def cache_folder() -> Path:
    """Where vectors of texts are kept between runs."""
    if own := os.environ.get("VERIDICAL_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veridical"
