"""Byte masks of the stores in a piece of a thread block, for L2 caches that keep such masks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpusim.core.unboxed import IntList
from gpusim.core.warp_program import (
    BYTES_SHIFT,
    INACTIVE,
    SECTOR_BYTES,
    WHOLE_SECTOR,
    LaneChunk,
)


def add_byte_masks(
    chunk: LaneChunk,
    is_store: NDArray[np.bool_],
    line_bytes: int,
    counts: NDArray[np.int64],
    lines: IntList,
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
    for operation, warp, places in transactions_of(is_store, counts):
        written = _written(chunk.address[operation, warp], int(chunk.size[operation]), shift)
        for place in places:
            sectors[place] |= written.get(lines[place], 0) << BYTES_SHIFT


def transactions_of(
    chosen: NDArray[np.bool_], counts: NDArray[np.int64]
) -> Iterator[tuple[int, int, range]]:
    """The transactions of some memory operations: operation, warp, and places among all of them.

    Args:
        chosen: (m,) which operations.
        counts: (warps, m) transactions of each, which lie by warp, then operation.
    """
    ends = np.cumsum(counts.ravel()).reshape(counts.shape)
    for operation in np.flatnonzero(chosen).tolist():
        for warp in np.flatnonzero(counts[:, operation]).tolist():
            end = int(ends[warp, operation])
            yield operation, warp, range(end - int(counts[warp, operation]), end)


def _written(addresses: NDArray[np.int64], size: int, shift: int) -> dict[int, int]:
    """By line, a mask of the bytes that lanes write, without sectors that they write in whole."""
    masks: dict[int, int] = {}
    each = (1 << size) - 1
    for address in addresses[addresses != INACTIVE].tolist():
        sector = address // SECTOR_BYTES
        masks[sector] = masks.get(sector, 0) | each << address % SECTOR_BYTES
    found: dict[int, int] = {}
    for sector, mask in masks.items():
        if mask != WHOLE_SECTOR:
            line = sector * SECTOR_BYTES >> shift
            place = sector * SECTOR_BYTES - (line << shift)
            found[line] = found.get(line, 0) | mask << place
    return found
