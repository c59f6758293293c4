"""Accesses of skipped blocks, a piece at a time: touched lines instead of transactions."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpusim.core.unboxed import between
from gpusim.core.warp_program import COVERED_SHIFT, SECTOR_BYTES, LaneChunk, Op, Segment
from gpusim.hardware.sm.coalescer import IS_MEMORY, KIND_OF_OP, STORE, lanes_that_cover

Ints: TypeAlias = NDArray[np.int64]

KIND_BITS: Final = 3
"""A touch is named by its line number, and below it the `gpusim.core.request.Kind`."""

_PACE: Final = int(Op.PACE)
_FETCH: Final = int(Op.FETCH)

_KINDS = np.full(256, -1)
_KINDS[list(KIND_OF_OP)] = list(KIND_OF_OP.values())
"""By `Op`, the `Kind` of its requests; -1: it has none."""

_FEW: Final = 2
_SAMPLED: Final = 67
"""Of one lane in `_SAMPLED`, if no more than one in `_FEW` takes part, it is faster to handle the
lanes that take part alone."""

NOTHING = np.zeros((2, 0), dtype=np.int64)
"""No touches."""


class Touched:
    """Lines that blocks touch in a piece.

    Attributes:
        touches: (2, n): the names of touches (`KIND_BITS`), and of each the sectors, as in
            `gpusim.core.warp_program.Segment`.  Touches of a block stand together, in their order;
            neighbours with the same line are one touch.
        bounds: (blocks + 1,): where the touches of each block begin, and where the last ones end.
    """

    __slots__ = ("bounds", "touches")

    def __init__(self, touches: Ints, bounds: list[int]) -> None:
        self.touches = touches
        self.bounds = bounds

    def of(self, number: int) -> Ints:
        """(2, n): the touches of block `number`."""
        return self.touches[:, self.bounds[number] : self.bounds[number + 1]]


def touched_by(
    chunk: LaneChunk, line_bytes: int, grain: int, covered: bool, blocks: int = 1
) -> Touched:
    """What the instructions of a piece access, one after the other, by warp and lane in each.

    Args:
        chunk: the piece.
        line_bytes: line size of the L1 cache.
        grain: `SECTOR_BYTES`, or the line size where sectors do not matter: then a touch is of a
            whole line.
        covered: whether stores state which sectors they write in whole.
        blocks: whose warps stand side by side in the piece, as many of each.
    """
    if not chunk.address.size:
        return Touched(NOTHING, [0] * (blocks + 1))
    is_memory = IS_MEMORY[chunk.kind]
    _, warps, lanes = chunk.address.shape
    own = warps // blocks
    kinds = _KINDS[chunk.kind[is_memory]]
    address = chunk.address.reshape(-1, lanes)
    parts = np.flatnonzero(chunk.active[is_memory] & (kinds >= 0)[:, None])
    by_block = blocks == 1
    if 2 * len(parts) > len(address) and kinds.min() >= 0:
        parts = np.arange(len(address))  # where most take part, to leave the others out costs more
    else:
        if not by_block:
            parts, by_block = parts[_by_block(parts % warps // own)], True
        address = address[parts]
    at, line = _runs(address, grain)
    if not len(at):
        return Touched(NOTHING, [0] * (blocks + 1))
    part = at // lanes
    sectors = line_bytes // SECTOR_BYTES
    bits: Ints | int = (1 << sectors) - 1
    if grain < line_bytes:
        bit = np.left_shift(1, line & sectors - 1)
        if covered and (chunk.kind == STORE).any():
            covers = lanes_that_cover(chunk).reshape(-1, lanes)[parts[part], at % lanes]
            bit |= bit << COVERED_SHIFT & -covers.astype(np.int64)
        line >>= sectors.bit_length() - 1
        starts = np.flatnonzero(differs(line) | differs(part))
        line, part = line[starts], part[starts]
        bits = np.bitwise_or.reduceat(bit, starts)
    row, warp = np.divmod(parts, warps)
    names = line << KIND_BITS
    names |= kinds[row][part]
    block = (warp // own)[part]
    if not by_block:
        order = _by_block(block)
        names, bits = names[order], bits if isinstance(bits, int) else bits[order]
    touches = np.empty((2, len(names)), dtype=np.int64)
    touches[0], touches[1] = names, bits
    bounds = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=blocks))])
    return Touched(touches, bounds.tolist())


def touched_in(segment: Segment) -> Ints:
    """What a warp accesses in a piece that has been coalesced, as `Touched.touches` has it."""
    names: list[int] = []
    sectors: list[int] = []
    first = 0
    for op, count in zip(segment.kinds, segment.args, strict=True):
        if op in KIND_OF_OP:
            last, kind = first + count, KIND_OF_OP[op]
            names += [line << KIND_BITS | kind for line in between(segment.lines, first, last)]
            sectors += segment.sectors[first:last]
            first = last
        elif _PACE < op <= _FETCH:
            first += count
    return np.array([names, sectors], dtype=np.int64)


def _runs(address: Ints, grain: int) -> tuple[Ints, Ints]:
    """Where in (warps, lanes) addresses a lane begins another unit of `grain`, and which one.

    The first lane of each warp begins one; lanes that take no part are left out.
    """
    lane = address.ravel()
    lanes, shift = address.shape[1], grain.bit_length() - 1
    some = lane[::_SAMPLED]
    if _FEW * np.count_nonzero(some >= 0) <= len(some):
        at = np.flatnonzero(lane >= 0)
        unit = lane[at] >> shift
        new = differs(unit)
        new |= differs(at // lanes)
        begins = np.flatnonzero(new)
        return at[begins], unit[begins]
    unit = lane >> shift
    new = differs(unit)
    new[::lanes] = True
    at = np.flatnonzero(new)
    unit = unit[at]
    active = unit >= 0
    return (at, unit) if active.all() else (at[active], unit[active])


def _by_block(block: Ints) -> Ints:
    """The order that sorts by block, and keeps the order of each block's own."""
    return np.argsort(block.astype(np.uint16), kind="stable")


def differs(numbers: Ints) -> NDArray[np.bool_]:
    """Where one is another than the one before."""
    found = np.ones(len(numbers), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=found[1:])
    return found
