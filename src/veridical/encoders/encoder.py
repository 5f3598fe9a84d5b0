"""The one interface of all encoders: frozen networks that turn an image or a text into a vector.

An encoder is cheap to open: it finds its weights and hashes them; the network is loaded when the first vector is asked
for. Vectors carry the encoder's identity (name, hash of its weights, recipe), so that they are never mixed up.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.common import registry
from veridical.errors import UserError, missing_extra

if TYPE_CHECKING:
    import torch
    from PIL import Image

# encoder -> its class, as "module:attribute". Every other name is a folder or a name of a model hub (`hub.HubEncoder`).
ENCODERS: dict[str, str] = {
    "efficientnet-lite0": "veridical.encoders.packages:EfficientNetLite0",
    "efficientnet-lite0-map": "veridical.encoders.packages:EfficientNetLite0Map",
    "minilm": "veridical.encoders.packages:MiniLM",
    "glove": "veridical.encoders.packages:GloVe",
    "thumbnail": "veridical.encoders.packages:Thumbnail",
    "gradients": "veridical.encoders.packages:Gradients",
    "hashed-words": "veridical.encoders.packages:HashedWords",
}


@dataclass(frozen=True)
class Identity:
    """What made a vector: two vectors may be compared only if this is the same."""

    encoder: str  # the name it is known by
    weights: str  # sha256 over its weight and config files
    recipe: str  # version of our preprocessing and pooling, and the precision where it is not fp32


class Encoder:
    """A frozen encoder. A subclass finds its files and does `prepare` and `images`, or `texts`, or all three."""

    recipe = "1"  # raise it when preprocessing or pooling change what comes out
    contextual = True  # the vector of a word depends on the text it stands in
    padded = True  # texts of one batch are padded to the longest: batches of similar lengths are cheaper
    channels = 0  # of a map: its vector is a square of cells, row by row, each of so many numbers; 0: no map
    precise: tuple[str, ...] = ("fp32",)  # precisions in which it can encode texts

    def __init__(self, name: str, *, device: str | None = None, precision: str = "fp32") -> None:
        self.name = name
        self._device = device
        self.precision = precision if precision in self.precise else "fp32"

    def files(self) -> Sequence[Path]:
        """The files that its vectors depend on."""
        raise NotImplementedError

    @property
    def slug(self) -> str:
        """Its name as part of a file name."""
        return slug(self.name)

    @cached_property
    def identity(self) -> Identity:
        digest = hashlib.sha256()
        for path in sorted(self.files(), key=lambda p: p.name):
            facts = path.stat()
            digest.update(f"{path.name} {_file_hash(path, facts.st_size, facts.st_mtime_ns)}\n".encode())
        recipe = self.recipe if self.precision == "fp32" else f"{self.recipe}-{self.precision}"
        return Identity(self.name, digest.hexdigest(), recipe)

    @property
    def on_processor(self) -> bool:
        """Whether it runs on the processor, so that threads may each run it."""
        return self.device.type == "cpu"

    @cached_property
    def device(self) -> torch.device:
        return device_of(self._device)

    def prepare(self, image: Image.Image) -> np.ndarray:
        """An RGB image as the network wants it: (3, H, W) float32. Called from several threads."""
        raise self._cannot("images")

    def images(self, pixels: np.ndarray) -> np.ndarray:
        """Vectors of prepared images: (B, 3, H, W) -> (B, D) float32."""
        raise self._cannot("images")

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of texts: (B, D) float32."""
        raise self._cannot("texts")

    def words(self, texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """Vectors of the words of texts: (T, D) float32 of each."""
        raise self._cannot("words")

    def _cannot(self, what: str) -> UserError:
        return UserError(
            f"The encoder {self.name} cannot encode {what}.",
            "For images use efficientnet-lite0, for texts minilm or glove, or name a model of a hub that does both.",
        )


def open_encoder(encoder: str | Encoder, *, device: str | None = None, precision: str = "fp32") -> Encoder:
    """The encoder of a name: one of `ENCODERS`, a folder with a `transformers` checkpoint, or a hub's name for one."""
    if isinstance(encoder, Encoder):
        return encoder
    if encoder not in registry.names(ENCODERS, "encoders"):
        from veridical.encoders.hub import HubEncoder

        return HubEncoder(encoder, device=device, precision=precision)
    made: Encoder = registry.resolve(ENCODERS, encoder, "encoder", "encoders")(encoder, device=device)
    made.precision = precision if precision in made.precise else "fp32"
    return made


PRECISIONS = ("fp32", "bf16")


def resolved_precision(asked: str) -> str:
    """The precision that texts are encoded in: bf16 where it was asked for and the machine computes in it."""
    if asked not in PRECISIONS:
        raise UserError(f"There is no precision {asked!r}.", f"Choose {' or '.join(PRECISIONS)}.")
    if asked == "fp32":
        return asked
    torch = import_torch()
    has = torch.cuda.is_bf16_supported() if torch.cuda.is_available() else torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return "bf16" if has else "fp32"


def slug(name: str) -> str:
    """A name without folders in it.

    >>> slug("microsoft/resnet-101")
    'microsoft--resnet-101'
    """
    return name.replace("/", "--")


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors scaled to length 1; zero stays zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)


def import_torch() -> Any:
    """torch, or the error that says how to get it."""
    try:
        import torch
    except ImportError:
        raise missing_extra("torch", "models") from None
    return torch


def device_of(name: str | None) -> torch.device:
    """A device of torch by name; a graphics card where there is one and none is named."""
    library = import_torch()
    found: torch.device = library.device(name or ("cuda" if library.cuda.is_available() else "cpu"))
    return found


@contextmanager
def one_thread_each(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads in which torch uses one thread each: many small networks side by side, without waiting for each other."""
    torch = sys.modules.get("torch")
    if torch is None:  # the encoder that is at work has no network
        with ThreadPoolExecutor(threads) as pool:
            yield pool
        return
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)


@lru_cache(maxsize=256)
def _file_hash(path: Path, size: int, changed: int) -> str:
    """SHA-256 of a file; asked again only when its size or time of change differ."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
