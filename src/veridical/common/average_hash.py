"""The average hash of a picture, which NLVR2 publishes with each of its photographs.

An 8 x 8 grey copy of the picture; a bit for each pixel, from the top left, is set where it is lighter than their mean.
It is `average_hash` of the package imagehash, with which the published ones were made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

SIDE = 8


def average_hash(image: Image.Image) -> str:
    """The average hash in 16 hexadecimal digits.

    >>> from PIL import Image
    >>> image = Image.new("L", (80, 80))
    >>> image.paste(255, (0, 0, 80, 40))
    >>> average_hash(image)
    'ffffffff00000000'
    """
    from PIL import Image

    grey = np.asarray(image.convert("L").resize((SIDE, SIDE), Image.Resampling.LANCZOS))
    return np.packbits((grey > grey.mean()).ravel()).tobytes().hex()
