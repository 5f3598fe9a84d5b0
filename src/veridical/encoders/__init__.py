"""Frozen image and text encoders behind one interface; vectors are cached by content hash and memory-mapped.

`extract` makes the vectors of a benchmark's panels, `load` opens them, `encode_texts` encodes sentences. An encoder is
one file here and one line in `ENCODERS`; any `transformers` checkpoint works by its name or folder.
"""

from veridical._verbs import make_callable
from veridical.encoders.encoder import ENCODERS, Encoder, Identity, open_encoder
from veridical.encoders.extract import extract, features
from veridical.encoders.store import Features, load, object_regions, panel_key, region_key
from veridical.encoders.texts import TextVectors, encode_texts

__all__ = [
    "ENCODERS",
    "Encoder",
    "Features",
    "Identity",
    "TextVectors",
    "encode_texts",
    "extract",
    "features",
    "load",
    "object_regions",
    "open_encoder",
    "panel_key",
    "region_key",
]

make_callable(__name__, features)
