"""Vectors of 16-bit floats, which models hold their weights, activations and caches in."""

from __future__ import annotations

import numpy as np

HALF_BYTES = 2
"""Bytes of a number."""

VECTOR_BYTES = 16
"""Bytes that a thread loads or stores at once, at most."""

IN_A_VECTOR = VECTOR_BYTES // HALF_BYTES
"""Numbers of these."""


def vector(size: int = VECTOR_BYTES) -> np.dtype[np.void]:
    """The type of an element of `size` bytes that a thread loads or stores at once."""
    return np.dtype((np.void, size))
