"""What skipped blocks access, a piece at a time: no transactions, but the lines that are touched.

TLBs and caches that are kept warm need to know which lines a piece uses and in what order for the
last time; how often each of them was used before that changes nothing that they keep.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import COVERED_SHIFT, SECTOR_BYTES, LaneChunk
from gpusim.hardware.sm.coalescer import IS_MEMORY, KIND_OF_OP, lanes_that_cover

Ints: TypeAlias = NDArray[np.int64]

_SECTOR_SHIFT: Final = SECTOR_BYTES.bit_length() - 1
_WORD_BITS: Final = 63
_KIND_BITS: Final = 3

_KINDS = np.full(256, -1)
_KINDS[list(KIND_OF_OP)] = list(KIND_OF_OP.values())
"""By `Op`, the `Kind` of its requests; -1: it has none."""


class Touched:
    """Lines that a block touches in a piece.

    Attributes:
        lines: virtual line numbers; of a line and a kind there is one, in the order of the last
            accesses.
        sectors: of each, all that were accessed, as in `gpusim.core.warp_program.Segment`.
        kinds: of each, a `gpusim.core.request.Kind`.
    """

    __slots__ = ("kinds", "lines", "sectors")

    def __init__(self, lines: list[int], sectors: list[int], kinds: list[int]) -> None:
        self.lines = lines
        self.sectors = sectors
        self.kinds = kinds


def touched_by(chunk: LaneChunk, line_bytes: int, covered: bool, blocks: int = 1) -> list[Touched]:
    """What the instructions of a piece access, one after the other, by warp and lane in each.

    Args:
        chunk: the piece.
        line_bytes: line size of the L1 cache.
        covered: stores tell which sectors they write in whole.
        blocks: whose warps stand side by side in the piece, as many of each.

    Returns:
        of each block.
    """
    at, sector = _runs(chunk.address)
    if not len(at):
        return [Touched([], [], []) for _ in range(blocks)]
    row, lane = np.divmod(at, chunk.address[0].size)
    kind = _KINDS[chunk.kind[IS_MEMORY[chunk.kind]]][row]
    block = lane // (chunk.address[0].size // blocks)
    bit = np.left_shift(1, sector & line_bytes // SECTOR_BYTES - 1)
    if covered:
        covers = lanes_that_cover(chunk).ravel()[at]
        bit |= bit << COVERED_SHIFT & -covers.astype(np.int64)
    line = sector >> (line_bytes.bit_length() - 1 - _SECTOR_SHIFT)
    asked = kind >= 0
    if not asked.all():
        block, kind, line, bit = block[asked], kind[asked], line[asked], bit[asked]
    return _joined(block, kind, line, bit, blocks)


def _runs(address: Ints) -> tuple[Ints, Ints]:
    """Where in (m, warps, lanes) addresses a lane begins another sector, and which one.

    The first lane of each warp begins one; lanes that take no part are left out.
    """
    sector = address >> _SECTOR_SHIFT
    new = np.empty(sector.shape, dtype=bool)
    new[..., :1] = True
    np.not_equal(sector[..., 1:], sector[..., :-1], out=new[..., 1:])
    at = np.flatnonzero(new)
    sector = sector.ravel()[at]
    active = sector >= 0
    return (at, sector) if active.all() else (at[active], sector[active])


def _joined(block: Ints, kind: Ints, line: Ints, bit: Ints, blocks: int) -> list[Touched]:
    """Accesses in order; those of a block that have one line and one kind become one."""
    group, place = _grouped(block, kind, line)
    first = np.ones(len(group), dtype=bool)
    np.not_equal(group[1:], group[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    sectors = np.bitwise_or.reduceat(bit[place], starts)
    last = place[np.append(starts[1:], len(place)) - 1]
    order = np.argsort(block[last] * len(place) + last)
    last = last[order]
    ends = np.searchsorted(block[last], np.arange(blocks), side="right").tolist()
    lines, touched, kinds = line[last].tolist(), sectors[order].tolist(), kind[last].tolist()
    return [
        Touched(lines[begin:end], touched[begin:end], kinds[begin:end])
        for begin, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


def _grouped(block: Ints, kind: Ints, line: Ints) -> tuple[Ints, Ints]:
    """The accesses sorted by block, line and kind, then by place: their groups, and places.

    To sort numbers that hold both takes a fraction of the time that a stable sort of places takes.
    """
    low = int(line.min())
    line_bits = (int(line.max()) - low).bit_length() + _KIND_BITS
    group = (block << line_bits) + (line - low << _KIND_BITS) + kind
    place_bits = len(line).bit_length()
    if int(group.max()).bit_length() + place_bits > _WORD_BITS:
        order: Ints = np.argsort(group, kind="stable")
        return group[order], order
    both: Ints = np.sort((group << place_bits) + np.arange(len(line)))
    return both >> place_bits, both & (1 << place_bits) - 1
