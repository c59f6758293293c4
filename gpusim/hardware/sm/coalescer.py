"""The coalescer: lane addresses to transactions, for a whole piece of a thread block at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.config.schema import GpuConfig
from gpusim.core.code_places import NO_PLACE
from gpusim.core.request import Kind
from gpusim.core.unboxed import MYPYC, IntList, between
from gpusim.core.warp_program import (
    COVERED_SHIFT,
    INACTIVE,
    MEMORY_OPS,
    SECTOR_BYTES,
    SIDE_OPS,
    WHOLE_SECTOR,
    LaneChunk,
    Op,
    Segment,
)
from gpusim.hardware.sm.atomic_turns import add_turns
from gpusim.hardware.sm.byte_masks import add_byte_masks
from gpusim.hardware.sm.l1_passes import L1Passes

if MYPYC:
    from gpusim.core.compiled_only.lane_loop import transactions_by_lane

IS_MEMORY = np.zeros(256, dtype=bool)
IS_MEMORY[[*MEMORY_OPS, *SIDE_OPS.values()]] = True
"""By `Op`, whether a `LaneChunk` has addresses of it."""
KIND_OF_OP: Final[dict[int, int]] = {
    int(Op.LOAD): int(Kind.LOAD),
    int(Op.COHERENT_LOAD): int(Kind.LOAD),
    int(Op.STORE): int(Kind.STORE),
    int(Op.ATOMIC): int(Kind.ATOMIC),
    int(Op.REDUCE): int(Kind.REDUCE),
}
"""Kinds travel as plain ints: to compare members of an enum costs several times as much."""

_ATOMIC: Final = int(Op.ATOMIC)
_REDUCE: Final = int(Op.REDUCE)
STORE: Final = int(Op.STORE)
"""Arrays are compared with an int: numpy asks the member of an enum first what it is."""

_SECTOR_SHIFT = SECTOR_BYTES.bit_length() - 1


@frozen(eq=False, repr=False)
class Coalescing:
    """What the transactions of a machine are like.

    Attributes:
        line_bytes: line size of the L1 cache, 32 to 256.
        covered: whether stores also state which sectors they write in whole (`COVERED_SHIFT`).
        byte_masks: and which bytes of other sectors they write (`BYTES_SHIFT`).
        atomic_grain: bytes of the parts of a line that atomics change in turns, which they state
            (`BYTES_SHIFT`); 0: they state none.
        passes: how an instruction passes through the L1 cache; None: a transaction at a time.
    """

    line_bytes: int
    covered: bool = False
    byte_masks: bool = False
    atomic_grain: int = 0
    passes: L1Passes | None = None

    @classmethod
    def of(cls, config: GpuConfig) -> Coalescing:
        """That of a machine."""
        return cls(
            int(config.l1.line),
            config.knows_covered,
            config.l2.byte_masks is True,
            int(config.l2.atomic_grain_bytes),
            L1Passes.of(config.l1),
        )


def coalesce(chunk: LaneChunk, coalescing: Coalescing) -> list[Segment]:
    """One segment per warp.

    The lanes of one instruction that touch one line share a transaction; transactions are in the
    order of the lowest lane that needs them.  A lane must not cross a 32-byte sector.

    Args:
        chunk: instructions of all warps of a block.
        coalescing: what transactions are like.
    """
    line_bytes = coalescing.line_bytes
    memory = IS_MEMORY[chunk.kind]
    kinds = chunk.kind[memory]
    stores = kinds == STORE
    counts, lines, sectors = _lists_of_transactions(chunk, coalescing, stores)
    args = np.tile(chunk.arg, (len(counts), 1))
    args[:, memory] = counts
    passes = None
    if coalescing.passes is not None:
        passes = np.zeros_like(args)
        passes[:, memory] = coalescing.passes.of_chunk(chunk, counts, lines)
    places = None
    if chunk.place is not None:
        places = np.full(len(chunk.kind), NO_PLACE)
        places[memory] = chunk.place
    if coalescing.byte_masks:
        add_byte_masks(chunk, stores, line_bytes, counts, lines, sectors)
    if (grain := coalescing.atomic_grain) > 0:
        atomics = (kinds == _ATOMIC) | (kinds == _REDUCE)
        if atomics.any():
            add_turns(chunk, atomics, line_bytes, min(grain, line_bytes), counts, (lines, sectors))
    columns = _columns(chunk.active, chunk.kind, args, passes, places)
    segments = []
    first = 0
    for (codes, arguments, passing, place), number in zip(
        columns, counts.sum(axis=1).tolist(), strict=True
    ):
        last = first + number
        segments.append(
            Segment(
                codes, arguments, between(lines, first, last), sectors[first:last], passing, place
            )
        )
        first = last
    return segments


def _columns(
    active: NDArray[np.bool_],
    kind: NDArray[np.uint8],
    args: NDArray[np.int64],
    passes: NDArray[np.int64] | None,
    places: NDArray[np.int64] | None,
) -> Iterator[tuple[bytes, list[int], list[int], list[int]]]:
    """Of each warp, what it executes of n operations: kinds, arguments, passes and places.

    Most warps execute all of them, which needs no array of the warp's own.

    Args:
        active: (n, warps) which warps execute each.
        kind: (n,) what it is.
        args: (warps, n) arguments.
        passes: (warps, n) passes; None: a transaction at a time.
        places: (n,) places in the code; None: none is known.
    """
    all_kinds = kind.tobytes()
    all_args = _rows(args)
    all_passes = [[] for _ in all_args] if passes is None else _rows(passes)
    all_places = [] if places is None else places.tolist()
    full = np.logical_and.reduce(active).tolist()
    for warp, runs_all in enumerate(full):
        if runs_all:
            yield all_kinds, all_args[warp], all_passes[warp], all_places
            continue
        own = np.flatnonzero(active[:, warp])
        yield (
            kind[own].tobytes(),
            args[warp, own].tolist(),
            [] if passes is None else passes[warp, own].tolist(),
            [] if places is None else places[own].tolist(),
        )


def _rows(numbers: NDArray[np.int64]) -> list[list[int]]:
    """Rows as lists, one for all of them if they are equal, as warps mostly do the same."""
    if len(numbers) > 1 and (numbers == numbers[0]).all():
        row: list[int] = numbers[0].tolist()
        return [row] * len(numbers)
    rows: list[list[int]] = numbers.tolist()
    return rows


def _lists_of_transactions(
    chunk: LaneChunk, coalescing: Coalescing, stores: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], IntList, list[int]]:
    """What `transactions_of` gives, as lists; `stores` are among the memory operations."""
    if not MYPYC:
        counts, lines, sectors = transactions_of(chunk, coalescing)
        return counts, IntList(lines.tolist()), sectors.tolist()
    stored = b""
    if coalescing.covered and stores.any():
        stored = np.where(stores, chunk.size, 0).astype(np.uint8).tobytes()
    shape = chunk.address.shape
    each, found, masks = transactions_by_lane(
        chunk.address.tobytes(), stored, shape, coalescing.line_bytes
    )
    return np.frombuffer(each, dtype=np.int64).reshape(shape[1], shape[0]), found, masks


def transactions_of(
    chunk: LaneChunk, coalescing: Coalescing
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Transactions of the memory operations of a piece, ordered by warp, then operation, then lane.

    Returns:
        (warps, m) transactions of each of the m operations; of all transactions, the virtual line
        numbers and the masks of their sectors, as `gpusim.core.warp_program.Segment` has them,
        without byte masks and turns of atomics.
    """
    whole = lanes_that_cover(chunk) if coalescing.covered else None
    return _transactions(chunk.address, coalescing.line_bytes, whole)


def lanes_that_cover(chunk: LaneChunk) -> NDArray[np.bool_]:
    """Which lanes of each memory operation lie in a sector that all of them write in whole."""
    stores = chunk.kind[IS_MEMORY[chunk.kind]] == STORE
    address = chunk.address[stores]
    covered = np.zeros(chunk.address.shape, dtype=bool)
    if not address.size:
        return covered
    lanes = address.shape[-1]
    found = np.zeros((address.size // lanes, lanes), dtype=bool)
    active = np.flatnonzero(chunk.active[chunk.kind == STORE])
    rows = address.reshape(-1, lanes)[active]
    size = np.repeat(chunk.size[stores], address.shape[1])[active]
    dense = (rows[:, 1:] - rows[:, :-1] == size[:, None]).all(axis=1)
    dense &= (rows[:, 0] | size * lanes) & SECTOR_BYTES - 1 == 0
    found[active[dense]] = True
    mixed = np.count_nonzero(rows >= 0, axis=1) * size >= SECTOR_BYTES
    mixed &= ~dense
    found[active[mixed]] = _in_whole_sectors(rows[mixed], size[mixed])
    covered[stores] = found.reshape(address.shape)
    return covered


def _in_whole_sectors(rows: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lanes of rows of addresses lie in a sector that those of the row write in whole."""
    found = np.zeros(rows.shape, dtype=bool)
    if not rows.size:
        return found
    written = np.left_shift(np.left_shift(1, size[:, None]) - 1, rows & SECTOR_BYTES - 1)
    order = np.argsort(rows, axis=1, kind="stable")
    sector = np.take_along_axis(rows, order, axis=1) >> _SECTOR_SHIFT
    starts = np.ones(sector.shape, dtype=bool)
    starts[:, 1:] = sector[:, 1:] != sector[:, :-1]
    group = np.cumsum(starts.ravel()) - 1
    masks = np.bitwise_or.reduceat(
        np.take_along_axis(written, order, axis=1).ravel(), np.flatnonzero(starts)
    )
    whole = (masks == WHOLE_SECTOR)[group].reshape(sector.shape) & (sector >= 0)
    np.put_along_axis(found, order, whole, axis=1)
    return found


def _transactions(
    address: NDArray[np.int64], line_bytes: int, covered: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Transactions of (m, warps, lanes) addresses, ordered by warp, then instruction, then lane.

    Args:
        address: the addresses.
        line_bytes: line size.
        covered: for each of them, whether its sector is written in whole; None: not needed.

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
    if covered is not None:
        bit |= bit << COVERED_SHIFT & -covered.transpose(1, 0, 2).reshape(rows.shape).astype(int)
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
