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
from gpusim.core.warp_program import COVERED_SHIFT, INACTIVE, SECTOR_BYTES, WHOLE_SECTOR

_BYTES: Final[i64] = 8
"""Of an address."""

_COVERED: Final[i64] = COVERED_SHIFT
_SECTOR: Final[i64] = SECTOR_BYTES
_WHOLE: Final[i64] = WHOLE_SECTOR


def transactions_by_lane(
    lanes: bytes, stored: bytes, shape: tuple[int, int, int], line_bytes: int
) -> tuple[bytes, IntList, list[int]]:
    """Transactions of addresses, ordered by warp, then instruction, then lane.

    Args:
        lanes: int64 addresses, in the order of the axes of `shape`.
        stored: a byte an instruction, the bytes that a lane of it stores, for sectors that are
            written in whole (`COVERED_SHIFT`); empty: these need not be told.
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
    parts = within + 1
    byte: i64 = SECTOR_BYTES - 1
    no_lane: i64 = INACTIVE
    marks = len(stored) > 0
    written = vec[i64](capacity=64)
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
            size: i64 = stored[instruction] if marks else 0
            begin: i64 = (instruction * warps + warp) * width
            for number in range(begin, begin + width):
                address = read_i64_le(lanes, number * _BYTES)
                if address == no_lane:
                    continue
                sector = address >> sector_shift & within
                if address >> shift != line:
                    if place >= 0:
                        masks[place] |= mask
                    line = address >> shift
                    mask = 0
                    place = first
                    while place < found and lines[place] != line:
                        place += 1
                    if place == found:
                        lines = append(lines, line)
                        masks = append(masks, 0)
                        found += 1
                mask |= i64(1) << sector
                if size:
                    written = _with_room(written, (found - first) * parts)
                    written[(place - first) * parts + sector] |= _bytes(size) << (address & byte)
            if place >= 0:
                masks[place] |= mask
            if size:
                _mark_whole(masks, first, found, written, parts)
            write_i64_le(counts, found - first)
    return counts.getvalue(), list_of(lines), boxed(masks)


def _with_room(values: vec[i64], room: i64) -> vec[i64]:
    """Append zeros to a vector until it has `room` values."""
    while i64(len(values)) < room:
        values = append(values, 0)
    return values


def _bytes(count: i64) -> i64:
    """The first bytes of a sector, a bit each."""
    return _WHOLE >> (_SECTOR - count)  # a 1 that is shifted to the left would have 32 bits in C


def _mark_whole(masks: vec[i64], first: i64, end: i64, written: vec[i64], parts: i64) -> None:
    """Mark the sectors of an instruction's transactions that are written in whole; forget bytes.

    Args:
        masks: sectors of transactions.
        first: the first one of the instruction.
        end: behind its last one.
        written: their bytes by transaction, then sector; all are 0 afterwards.
        parts: sectors of a line.
    """
    count = (end - first) * parts
    place: i64 = 0
    while place < count:
        if written[place] == _WHOLE:
            masks[first + place // parts] |= i64(1) << (place % parts + _COVERED)
        written[place] = 0
        place += 1
