"""Frozen image and text encoders behind one interface; vectors are kept by content hash and memory-mapped.

    encoder        what an encoder is; `ENCODERS`, the names that are known; `open_encoder`
    packages       encoders that need no model hub       hub   any `transformers` checkpoint
    extract        making the vectors of a benchmark's panels
    texts          making the vectors of texts, and of the words of texts
    spread         a model over batches: in this process, or a copy for each worker
    store          where vectors are kept: a log that survives kills, then one file that is memory-mapped
    crossencoders  models that read two texts together   detectors   models that find objects
    hashes         perceptual hashes of pictures, and pairs of pictures that are near each other

An encoder is one class and one line in `ENCODERS`, or an entry point of the group `veridical.encoders`; any
`transformers` checkpoint works by its name or folder. From outside, use what is imported here, `hashes`,
`crossencoders` and `detectors`.
"""

from veridical.encoders.encoder import ENCODERS, Encoder, Identity, open_encoder
from veridical.encoders.extract import extract
from veridical.encoders.store import Features, load, object_regions, panel_key, region_key
from veridical.encoders.texts import TextVectors, WordVectors

__all__ = [
    "ENCODERS", "Encoder", "Features", "Identity", "TextVectors", "WordVectors", "extract", "load", "object_regions",
    "open_encoder", "panel_key", "region_key",
]  # fmt: skip
