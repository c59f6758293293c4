"""The coalescer: lane addresses to transactions, for a whole piece of a thread block at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, SECTOR_BYTES, LaneChunk, Segment

_IS_MEMORY = np.zeros(256, dtype=bool)
_IS_MEMORY[list(MEMORY_OPS)] = True
_SECTOR_SHIFT = SECTOR_BYTES.bit_length() - 1


def coalesce(chunk: LaneChunk, line_bytes: int) -> list[Segment]:
    """One segment per warp.

    The lanes of one instruction that touch one line share a transaction; transactions are in the
    order of the lowest lane that needs them.  A lane must not cross a 32-byte sector.

    Args:
        chunk: instructions of all warps of a block.
        line_bytes: line size of the L1 cache, 32 to 256.
    """
    counts, found_lines, found_sectors = _transactions(chunk.address, line_bytes)
    args = np.tile(chunk.arg, (len(counts), 1))
    args[:, _IS_MEMORY[chunk.kind]] = counts
    lines, sectors = found_lines.tolist(), found_sectors.tolist()
    segments = []
    first = 0
    for active, own, number in zip(chunk.active.T, args, counts.sum(axis=1).tolist(), strict=True):
        last = first + number
        segments.append(
            Segment(
                chunk.kind[active].tolist(), own[active].tolist(),
                lines[first:last], sectors[first:last],
            )
        )  # fmt: skip
        first = last
    return segments


def _transactions(
    address: NDArray[np.int64], line_bytes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Transactions of (m, warps, lanes) addresses, ordered by warp, then instruction, then lane.

    Returns:
        (warps, m) transactions of each instruction; virtual line numbers; sector masks.
    """
    instructions, warps, lanes = address.shape
    rows = address.transpose(1, 0, 2).reshape(warps * instructions, lanes)
    if not rows.size:
        empty = np.zeros(0, dtype=np.int64)
        return np.zeros((warps, instructions), dtype=np.int64), empty, empty
    line = rows >> line_bytes.bit_length() - 1  # INACTIVE stays what it is
    bit = np.left_shift(1, rows >> _SECTOR_SHIFT & line_bytes // SECTOR_BYTES - 1)
    high = line.max(axis=1)
    low = line.min(axis=1)
    if (low == INACTIVE).any():
        idle = rows == INACTIVE
        bit[idle] = 0
        low = np.where(idle, high[:, None], line).min(axis=1)
    # Rows on one line need no sorting; the others are sorted stably, so that the first of each
    # group is the lowest lane.
    single = (low == high) & (high != INACTIVE)
    counts = single.astype(np.int64)
    found_lines = high[single]
    found_sectors = np.bitwise_or.reduce(bit[single], axis=1)
    many = np.flatnonzero(low != high)
    if many.size:
        order = np.argsort(line[many], axis=1, kind="stable")
        ordered = np.take_along_axis(line[many], order, axis=1)
        starts = np.ones(ordered.shape, dtype=bool)
        starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        at = np.flatnonzero(starts)
        masks = np.bitwise_or.reduceat(np.take_along_axis(bit[many], order, axis=1).ravel(), at)
        group_line = ordered.ravel()[at]
        real = group_line != INACTIVE
        row = at // lanes
        counts[many] = np.bincount(row[real], minlength=many.size)
        found = (many[row] * lanes + order.ravel()[at])[real]
        key = np.concatenate((np.flatnonzero(single) * lanes, found))
        by_row_and_lane = np.argsort(key, kind="stable")
        found_lines = np.concatenate((found_lines, group_line[real]))[by_row_and_lane]
        found_sectors = np.concatenate((found_sectors, masks[real]))[by_row_and_lane]
    return counts.reshape(warps, instructions), found_lines, found_sectors
