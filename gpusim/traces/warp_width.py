"""A block that was traced with warps of one width, on a machine whose warps have another.

Warps that are too wide are split, warps that are too narrow are joined, neighbours with neighbours,
as a compiler for that machine would have cut the block.  `docs/traces.md` tells the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, LaneChunk, Op
from gpusim.traces.warps import WAITED_FOR

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_MEMORY_KINDS = sorted(MEMORY_OPS)
_LOADS = sorted(WAITED_FOR)


def width_notice(traced: int, warp_size: int, sides: Sequence[str] = ()) -> str:
    """How warps of `traced` threads become warps of `warp_size`, for people; empty: they do not.

    Args:
        traced: threads of a warp in the trace.
        warp_size: threads of a warp of the machine.
        sides: side caches of the machine, which get nothing then.
    """
    if traced == warp_size:
        return ""
    how = "split into" if traced > warp_size else "joined to"
    beside = f", and its {', '.join(sides)} caches see no accesses" if sides else ""
    return (
        f"its warps of {traced} threads are {how} warps of {warp_size} (sm.warp_size){beside}; see "
        '"Warps of another width" in docs/traces.md'
    )


def rewarp(
    chunks: Iterable[LaneChunk], threads: int, traced: int, warp_size: int, by_thread: bool
) -> Iterator[LaneChunk]:
    """The chunks of a block, with warps of another width.

    Args:
        chunks: as traced.
        threads: of the block.
        traced: threads of a warp in `chunks`.
        warp_size: threads of a warp that are wanted.
        by_thread: whether lane *n* of a chunk of `traced` lanes is thread *n* of its warp;
            otherwise an access is dealt out evenly, in the order of its lanes.
    """
    common = gcd(traced, warp_size)
    if common < traced:
        chunks = _Splitter(threads, traced, common, by_thread).split(chunks)
    if common < warp_size:
        chunks = _Joiner(-(-threads // common), warp_size // common).join(chunks)
    yield from chunks


class _Splitter:
    """Cuts warps; both parts do what the warp did, but for accesses of which they have no lane.

    Args:
        threads: of the block.
        traced: threads of a warp.
        width: threads of its parts.
        by_thread: as in `rewarp`.
    """

    def __init__(self, threads: int, traced: int, width: int, by_thread: bool) -> None:
        self._traced = traced
        self._ratio = traced // width
        self._warps = -(-threads // width)
        self._by_thread = by_thread
        self._history = LoadHistory(self._warps)

    def split(self, chunks: Iterable[LaneChunk]) -> Iterator[LaneChunk]:
        """The parts' chunks."""
        for chunk in chunks:
            memory = np.isin(chunk.kind, _MEMORY_KINDS)
            address = self._address(chunk.address)
            active = chunk.active.repeat(self._ratio, axis=1)[:, : self._warps]
            active[memory] &= (address != INACTIVE).any(axis=2)
            waits = self._waits(chunk, active)
            yield with_waits(evolve(chunk, active=active, address=address), waits)

    def _address(self, address: Ints) -> Ints:
        """(m, parts, lanes) addresses of (m, warps, lanes)."""
        accesses, warps, lanes = address.shape
        if self._by_thread and lanes == self._traced:
            parts = address.reshape(accesses, warps * self._ratio, lanes // self._ratio)
            return parts[:, : self._warps]
        used = address != INACTIVE
        rank, count = used.cumsum(axis=2) - 1, used.sum(axis=2, keepdims=True)
        there = np.minimum(self._warps - self._ratio * np.arange(warps), self._ratio)
        part = rank * there[None, :, None] // np.maximum(count, 1)
        mine = part[:, :, None] == np.arange(self._ratio)[:, None]
        dealt = np.where(mine & used[:, :, None], address[:, :, None], INACTIVE)
        return dealt.reshape(accesses, warps * self._ratio, lanes)[:, : self._warps]

    def _waits(self, chunk: LaneChunk, active: Mask) -> Ints:
        """(waits, parts): of the youngest loads that may be outstanding, those of the part."""
        issued = chunk.active & np.isin(chunk.kind, _LOADS)[:, None]
        issued = issued.repeat(self._ratio, axis=1)[:, : self._warps]
        return self._history.waits(chunk, issued, active & issued)


class LoadHistory:
    """Which of its loads each warp keeps, so that its waits wait for these alone.

    Args:
        warps: of a block.
    """

    def __init__(self, warps: int) -> None:
        self._kept: list[Ints] = [np.zeros(1, dtype=np.int64) for _ in range(warps)]
        """By warp: how many of its first *n* loads it keeps, for all n."""

    def waits(self, chunk: LaneChunk, issued: Mask, kept: Mask) -> Ints:
        """(waits, warps): of the youngest loads that may be outstanding, those that are kept.

        Args:
            chunk: the next one, with its waits as they are.
            issued: (n, warps), which of its rows are loads.
            kept: those of them that are kept.
        """
        wait = chunk.kind == Op.WAIT
        allowed = chunk.arg[wait]
        outstanding = np.empty((len(allowed), len(self._kept)), dtype=np.int64)
        for warp, earlier in enumerate(self._kept):
            whole = issued[:, warp]
            before = len(earlier) - 1 + (whole.cumsum() - whole)[wait]
            more = earlier[-1] + kept[whole, warp].cumsum()
            own = self._kept[warp] = np.concatenate((earlier, more))
            outstanding[:, warp] = own[before] - own[np.maximum(before - allowed, 0)]
        return outstanding


class _Joiner:
    """Makes one warp of several, which go side by side.

    What they do in one row of a chunk they do together; what only some of them do, the lanes of the
    others sit out, as in a branch that a part of a warp takes.

    Args:
        warps: of the block, as they are.
        ratio: how many become one.
    """

    def __init__(self, warps: int, ratio: int) -> None:
        self._warps = warps
        self._ratio = ratio
        self._groups = -(-warps // ratio)
        self._loads: list[Ints] = [np.zeros(0, dtype=np.int64) for _ in range(warps)]
        """By traced warp: the numbers of its loads in the warp that it was joined into."""
        self._issued = np.zeros(self._groups, dtype=np.int64)

    def join(self, chunks: Iterable[LaneChunk]) -> Iterator[LaneChunk]:
        """The joined chunks.

        Warps that become one meet at barriers.  If their barriers are not in the same rows, the
        rest of the block is put in the order of barriers that its warps have passed.
        """
        rest = iter(chunks)
        for chunk in rest:
            if not self._meet(chunk):
                yield self._join(_in_order_of_barriers(_whole([chunk, *rest])))
                return
            yield self._join(chunk)

    def _meet(self, chunk: LaneChunk) -> bool:
        """Whether all warps that become one are at the same barriers."""
        barriers = chunk.active[chunk.kind == Op.BARRIER]
        grouped = self._grouped(barriers, False)
        there = self._grouped(np.ones((1, self._warps), dtype=np.bool_), False)
        return bool((grouped.any(axis=2) == (grouped | ~there).all(axis=2)).all())

    def _grouped(self, values: NDArray[Any], missing: object) -> NDArray[Any]:
        """(rows, groups, ratio, …) of (rows, warps, …); `missing` for warps that are not there."""
        rows, warps, *others = values.shape
        shape = (rows, self._groups * self._ratio - warps, *others)
        padded = np.concatenate((values, np.full(shape, missing, dtype=values.dtype)), axis=1)
        return padded.reshape(rows, self._groups, self._ratio, *others)

    def _join(self, chunk: LaneChunk) -> LaneChunk:
        accesses, _, lanes = chunk.address.shape
        address = self._grouped(chunk.address, INACTIVE)
        address = address.reshape(accesses, self._groups, self._ratio * lanes)
        active: Mask = np.logical_or.reduce(self._grouped(chunk.active, False), axis=2)
        waits = self._waits(chunk, active)
        return with_waits(evolve(chunk, active=active, address=address), waits)

    def _waits(self, chunk: LaneChunk, active: Mask) -> Ints:
        """(waits, groups): loads of a joined warp that may be outstanding at each wait.

        Each of the warps that were joined then has the loads that it waits for.
        """
        load, wait = np.isin(chunk.kind, _LOADS), chunk.kind == Op.WAIT
        allowed = chunk.arg[wait]
        issued = active & load[:, None]
        number = self._issued + issued.cumsum(axis=0) - issued
        self._issued = self._issued + issued.sum(axis=0)
        issued = number[wait].repeat(self._ratio, axis=1)  # all that are issued: waits for none
        for warp in range(self._warps):
            group = warp // self._ratio
            mine = chunk.active[:, warp] & load
            before = len(self._loads[warp]) + (mine.cumsum() - mine)[wait]
            own = np.concatenate((self._loads[warp], number[mine, group]))
            self._loads[warp] = own
            needed = before - 1 - allowed
            waiting = chunk.active[wait, warp] & (needed >= 0)
            younger = number[wait, group][waiting] - 1 - own[needed[waiting]]
            issued[waiting, warp] = younger
        least: Ints = issued.reshape(len(issued), self._groups, self._ratio).min(axis=2)
        return least


def with_waits(chunk: LaneChunk, waits: Ints) -> LaneChunk:
    """A chunk whose waits have (waits, warps) arguments: where they differ, a row for each."""
    kind, arg, active = chunk.kind, chunk.arg, chunk.active
    rows = np.flatnonzero(kind == Op.WAIT)
    if (waits == arg[rows, None])[active[rows]].all():
        return chunk
    different = [np.unique(one[there]) for one, there in zip(waits, active[rows], strict=True)]
    counts = np.ones(len(kind), dtype=np.int64)
    counts[rows] = [len(one) for one in different]
    source = np.arange(len(kind)).repeat(counts)
    arg, active = arg[source], active[source]
    at = kind[source] == Op.WAIT
    arg[at] = np.concatenate(different)
    active[at] &= waits.repeat(counts[rows], axis=0) == arg[at, None]
    return evolve(chunk, kind=kind[source], arg=arg, active=active)


def _whole(chunks: list[LaneChunk]) -> LaneChunk:
    """Several chunks of a block as one."""
    widest = max(chunk.address.shape[2] for chunk in chunks)
    address = [
        np.pad(
            chunk.address,
            ((0, 0), (0, 0), (0, widest - chunk.address.shape[2])),
            constant_values=INACTIVE,
        )
        for chunk in chunks
    ]
    return LaneChunk(
        np.concatenate([chunk.kind for chunk in chunks]),
        np.concatenate([chunk.arg for chunk in chunks]),
        np.concatenate([chunk.active for chunk in chunks]),
        np.concatenate(address),
        np.concatenate([chunk.size for chunk in chunks]),
        _places(chunks),
    )


def _places(chunks: list[LaneChunk]) -> Ints | None:
    """Places in the code of all accesses; None: some chunk does not have them."""
    found = [chunk.place for chunk in chunks if chunk.place is not None]
    return np.concatenate(found) if len(found) == len(chunks) else None


def _in_order_of_barriers(chunk: LaneChunk) -> LaneChunk:
    """All rows once for each number of barriers that warps have passed there, in that order.

    A barrier comes after everything that any warp does before it, in one row for all.
    """
    barrier = chunk.kind == Op.BARRIER
    arrivals = chunk.active & barrier[:, None]
    passed = arrivals.cumsum(axis=0) - arrivals
    pairs = {(step, len(barrier)) for step in passed[arrivals].tolist()}
    for row in np.flatnonzero(~barrier).tolist():
        pairs.update((step, row) for step in passed[row][chunk.active[row]].tolist())
    step, source = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    meeting = source == len(barrier)
    source = np.where(meeting, barrier.argmax(), source)
    active = chunk.active[source] & (passed[source] == step[:, None])
    for place in np.flatnonzero(meeting):
        active[place] = (arrivals & (passed == step[place])).any(axis=0)
    kind = chunk.kind[source]
    memory = np.isin(kind, _MEMORY_KINDS)
    access = (np.isin(chunk.kind, _MEMORY_KINDS).cumsum() - 1)[source[memory]]
    address = np.where(active[memory][:, :, None], chunk.address[access], INACTIVE)
    made = LaneChunk(kind, chunk.arg[source], active, address, chunk.size[access])
    return made if chunk.place is None else evolve(made, place=chunk.place[access])
