"""Vectors of texts: each distinct text is encoded once per encoder, and remembered between runs.

They are kept in a cache folder of the user (VERIDICAL_CACHE, else ~/.cache/veridical), a file for each encoder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from veridical.engine.progress import Progress
from veridical.features.encoder import Encoder, open_encoder, unit
from veridical.features.log import VectorLog, key_hash


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
    opened = open_encoder(encoder, device=device)
    about = {**asdict(opened.identity), "kind": "text"}
    name = hashlib.sha256(repr(sorted(about.items())).encode()).hexdigest()[:12]
    log = VectorLog(Path(cache or cache_folder()) / "texts" / f"{opened.slug}-{name}.vectors", about)
    hashes = [key_hash(text) for text in texts]
    places, vectors = log.read()
    missing = {h: text for h, text in zip(hashes, texts, strict=True) if h not in places}
    if missing:
        _encode(opened, missing, log, batch_size)
        places, vectors = log.read()
    out = np.array(vectors[[places[h] for h in hashes]]) if hashes else np.zeros((0, vectors.shape[1]), np.float32)
    return unit(out) if normalise else out


def cache_folder() -> Path:
    """Where vectors of texts are kept between runs."""
    if own := os.environ.get("VERIDICAL_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veridical"


def _encode(encoder: Encoder, texts: dict[bytes, str], log: VectorLog, batch_size: int) -> None:
    order = list(texts)
    if encoder.padded:  # batches of similar lengths waste the least on padding; the slowest first, for an honest ETA
        order.sort(key=lambda h: (-len(texts[h]), h))
    with Progress(f"Encoding texts with {encoder.name}", len(order), "texts") as progress:
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            log.append(batch, encoder.texts([texts[h] for h in batch]))
            progress.advance(len(batch))
