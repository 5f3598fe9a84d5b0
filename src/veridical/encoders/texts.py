"""Vectors of texts, each distinct one made once, and of the words of texts, each in its context.

They are kept in a cache folder of the user (VERIDICAL_CACHE, else ~/.cache/veridical), a file for each encoder. Every
finished batch is synced to it, so that a run killed at any moment continues with the next batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from veridical.common.addresses import cache_folder
from veridical.encoders.encoder import Encoder, Identity, open_encoder
from veridical.encoders.spread import spread
from veridical.encoders.store import VectorLog, key_hash
from veridical.options.running import Workers

Words = tuple[str, ...]  # a text, word by word
Value = TypeVar("Value")


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
        workers: Workers = Workers(),
    ) -> None:
        self.encoder = open_encoder(encoder, precision=precision)
        self.batch_size, self.workers = batch_size, workers
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
        hashes = _cut(order, self.batch_size)
        batches = [[missing[h] for h in batch] for batch in hashes]
        label = f"Encoding texts with {self.encoder.name}"
        found = spread(partial(_texts, self.encoder), batches, self.workers, label, "texts")
        for batch, vectors in zip(hashes, found, strict=True):
            self._log.append(batch, vectors)
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
        batches = _cut(missing, self.batch_size)
        label = f"Encoding words with {self.encoder.name}"
        made = spread(partial(_words, self.encoder), batches, self.workers, label, "texts")
        for batch, found in zip(batches, made, strict=True):
            # the first word comes last: where it is known, all are
            keys = [_word_key(text, k) for text in batch for k in reversed(range(len(text)))]
            self._log.append(keys, np.concatenate([one[::-1] for one in found]))
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


def _cut(values: Sequence[Value], size: int) -> list[Sequence[Value]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def _texts(encoder: Encoder, batch: Sequence[str]) -> np.ndarray:
    return encoder.texts(batch)


def _words(encoder: Encoder, batch: Sequence[Words]) -> list[np.ndarray]:
    return encoder.words(batch)


def _word_key(text: Words, place: int) -> bytes:
    return key_hash("\x1f".join((str(place), *text)))
