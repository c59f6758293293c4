"""Generic addresses: which memory space an address without one means."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusim.ptx.values import Value

_SHIFT: Final = 52
"""Above all user addresses (our choice): the bits from here on are the number of the space."""

SPACES: Final = ("global", "shared", "local", "const", "param")
"""By their numbers; what is global has its address itself."""


def base_of(space: str) -> int:
    """What is added to an address in a space to make it generic."""
    return SPACES.index(space) << _SHIFT


def spaces_of(address: Value) -> Value:
    """The number of the space of each generic address."""
    return address >> np.int64(_SHIFT)


def within(address: Value) -> Value:
    """The addresses in their own spaces."""
    return address & np.int64((1 << _SHIFT) - 1)
