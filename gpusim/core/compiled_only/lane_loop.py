"""The lines that the lanes of warps touch, found lane after lane, for compiled code alone.

In interpreted code whole arrays of numpy are quicker (`gpusim.hardware.sm.coalescer`), and `librt`,
mypyc's runtime library, need not be installed.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from librt.vecs import append, vec
from mypy_extensions import i64

from gpusim.core.compiled_only.unboxed import IntList, boxed, list_of
from gpusim.core.warp_program import COVERED_SHIFT, INACTIVE, SECTOR_BYTES

_BYTES: Final[i64] = 8
"""Of an address."""


def transactions_by_lane(
    lanes: bytes, covers: bytes, shape: tuple[int, int, int], line_bytes: int
) -> tuple[bytes, IntList, list[int]]:
    """Transactions of addresses, ordered by warp, then instruction, then lane.

    Args:
        lanes: int64 addresses, in the order of the axes of `shape`.
        covers: a byte an address, whether its sector is written in whole; empty: not needed.
        shape: instructions, warps and lanes.
        line_bytes: line size.

    Returns:
        (warps, instructions) int64, transactions of each instruction; virtual line numbers; sector
        masks.
    """
    instructions: i64 = shape[0]
    warps: i64 = shape[1]
    width: i64 = shape[2]
    shift: i64 = line_bytes.bit_length() - 1
    within: i64 = line_bytes // SECTOR_BYTES - 1
    sector_shift: i64 = SECTOR_BYTES.bit_length() - 1
    covered: i64 = COVERED_SHIFT
    no_lane: i64 = INACTIVE
    marks = len(covers) > 0
    counts = BytesWriter()
    lines = vec[i64](capacity=64)
    masks = vec[i64](capacity=64)
    found: i64 = 0
    for warp in range(warps):
        for instruction in range(instructions):
            first = found
            place: i64 = -1
            line: i64 = no_lane
            mask: i64 = 0
            begin: i64 = (instruction * warps + warp) * width
            for number in range(begin, begin + width):
                address = read_i64_le(lanes, number * _BYTES)
                if address == no_lane:
                    continue
                bit: i64 = i64(1) << (address >> sector_shift & within)
                if marks and covers[number]:
                    bit |= bit << covered
                if address >> shift == line:
                    mask |= bit
                    continue
                if place >= 0:
                    masks[place] |= mask
                line = address >> shift
                mask = bit
                place = first
                while place < found and lines[place] != line:
                    place += 1
                if place == found:
                    lines = append(lines, line)
                    masks = append(masks, 0)
                    found += 1
            if place >= 0:
                masks[place] |= mask
            write_i64_le(counts, found - first)
    return counts.getvalue(), list_of(lines), boxed(masks)
