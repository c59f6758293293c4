"""Arrays of which only the addresses matter, as large as a GPU's memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.programs.device import AddressSpace, DeviceArray


class _Zeros(np.ndarray[Any, np.dtype[np.int8]]):
    """Zeros that share one byte; numpy would write them out before it takes some of them."""

    def take(self, indices: Any, *_: Any, **__: Any) -> NDArray[np.int8]:  # type: ignore[override]
        return np.zeros(np.shape(indices), dtype=np.int8)


def allocate_unread(
    memory: AddressSpace, name: str, size: int, element_bytes: int
) -> DeviceArray[np.int8]:
    """An array of `size` bytes that is never written, of zeros that take no memory here."""
    zeros = np.broadcast_to(np.int8(0), (size // element_bytes,)).view(_Zeros)
    return memory.allocate(name, zeros, element_bytes)
