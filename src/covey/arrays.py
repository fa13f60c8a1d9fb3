"""The array types of the house, each named once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bits", "Floats", "Ints", "Longs", "Octets", "Words", "Words16", "Words32"]

Bits = NDArray[np.bool_]
Octets = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Words16 = NDArray[np.uint16]
Words32 = NDArray[np.uint32]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
