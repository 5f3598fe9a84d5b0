"""Typed names of NumPy arrays, one meaning each. A room that gives an array a shape and a sense names it on top:

Hashes = Words  # (pictures,): 64 bits each
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # of whatever type
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Words = NDArray[np.uint64]  # 64 of them in each number
Pixels = NDArray[np.uint8]  # (height, width) or (height, width, channels)
Mask = NDArray[np.bool_]  # (height, width): which pixels belong to something
