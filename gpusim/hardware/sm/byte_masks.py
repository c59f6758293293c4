"""Byte masks of the stores in a piece of a thread block, for L2 caches that keep such masks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import BYTES_SHIFT, INACTIVE, SECTOR_BYTES, LaneChunk

_WHOLE_SECTOR = (1 << SECTOR_BYTES) - 1


def add_byte_masks(
    chunk: LaneChunk,
    is_store: NDArray[np.bool_],
    line_bytes: int,
    counts: NDArray[np.int64],
    lines: list[int],
    sectors: list[int],
) -> None:
    """Add to each store transaction the bytes that it writes in sectors it does not cover.

    Args:
        chunk: the instructions.
        is_store: (m,) which of the memory operations are stores.
        line_bytes: of a line of a transaction.
        counts: (warps, m) transactions of each memory operation.
        lines: of all transactions, by warp, operation and lane.
        sectors: of all transactions, in the same order; byte masks come above the covered sectors
            (`BYTES_SHIFT`).
    """
    shift = line_bytes.bit_length() - 1
    ends = np.cumsum(counts.ravel()).reshape(counts.shape)
    for operation in np.flatnonzero(is_store).tolist():
        size = int(chunk.size[operation])
        for warp, addresses in enumerate(chunk.address[operation]):
            if not counts[warp, operation]:
                continue
            written = _written(addresses, size, shift)
            end = int(ends[warp, operation])
            for place in range(end - int(counts[warp, operation]), end):
                sectors[place] |= written.get(lines[place], 0) << BYTES_SHIFT


def _written(addresses: NDArray[np.int64], size: int, shift: int) -> dict[int, int]:
    """By line, a mask of the bytes that lanes write, without sectors that they write in whole."""
    masks: dict[int, int] = {}
    each = (1 << size) - 1
    for address in addresses[addresses != INACTIVE].tolist():
        sector = address // SECTOR_BYTES
        masks[sector] = masks.get(sector, 0) | each << address % SECTOR_BYTES
    found: dict[int, int] = {}
    for sector, mask in masks.items():
        if mask != _WHOLE_SECTOR:
            line = sector * SECTOR_BYTES >> shift
            place = sector * SECTOR_BYTES - (line << shift)
            found[line] = found.get(line, 0) | mask << place
    return found
