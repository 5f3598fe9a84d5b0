"""Image only (NLVR section 6.1): a CNN with three layers and a three-layer perceptron with a softmax.

    x = CNN(pixels)        s = W3 relu(W2 relu(W1 x + b1) + b2) + b3        p = softmax(s)

What it gains over the majority is bias of the pictures: it never reads the sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.inputs import Pixels
from veridical.zoo.layers import PictureEncoder, perceptron


@dataclass(frozen=True)
class ImageConfig:
    """Sizes of the image-only model."""

    width: int = 200  # of the picture, in pixels: half of the published ones, a sixth of the time
    height: int = 50
    channels: tuple[int, int, int] = (16, 32, 32)  # of the three convolutions
    hidden: int = 64  # width of the perceptron
    dropout: float = 0.2  # in the perceptron


class ImageOnly(nn.Module):
    """Scores false and true from the picture alone."""

    def __init__(self, config: ImageConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.picture = PictureEncoder(config.channels)
        self.output = perceptron([self.picture.size, config.hidden, config.hidden, 2], config.dropout)

    def forward(self, pixels: Tensor) -> Tensor:
        """pixels (B, 3, height, width) bytes -> scores (B, 2)."""
        return self.output(self.picture(pixels))


MODEL = Architecture(
    name="image",
    summary="a small CNN over the picture, deaf to the sentence",
    paper="NLVR section 6.1",
    tasks=("statement",),
    config=ImageConfig,
    inputs=lambda config: {"pixels": Pixels(config.width, config.height)},
    module=ImageOnly,
    training={"patience": 5.0},
    sees=("image",),
)
