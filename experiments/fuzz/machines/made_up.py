"""A made-up program: launches of random operations at random addresses, all from its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

import gpusim
from gpusim.core.streams import IN_TURN, StreamUse, made_use
from gpusim.core.warp_program import (
    INACTIVE,
    NOTHING_ASKED,
    SIDE_OPS,
    UNIT_BITS,
    Asked,
    LaneChunk,
    Launch,
    Op,
    Unit,
    arithmetic_cost,
)
from gpusim.programs.copies import Span, copied
from gpusim.programs.device import AddressSpace, DeviceArray

ADDRESSED = (
    Op.LOAD,
    Op.STORE,
    Op.ATOMIC,
    Op.REDUCE,
    Op.COHERENT_LOAD,
    *SIDE_OPS.values(),
)
"""Operations with addresses."""

_UNASKED = {
    int(op): int(other)
    for op, other in (
        (Op.SCALAR, Op.LOAD),
        (Op.CONSTANT, Op.LOAD),
        (Op.READ_ONLY, Op.LOAD),
        (Op.FETCH, Op.COMPUTE),
        (Op.SHARED_LOAD, Op.SHARED),
        (Op.SHARED_STORE, Op.SHARED),
    )
}
"""What a machine that does not ask for an operation is given instead."""

_COSTS = (int(Op.UNITS), int(Op.DELAY), int(Op.ARITHMETIC))
"""Where these are drawn there is arithmetic of some unit, and what it costs the machine."""

MIXES: dict[str, dict[Op, int]] = {
    "loads": {Op.LOAD: 6, Op.WAIT: 3, Op.COMPUTE: 2},
    "stores": {Op.LOAD: 3, Op.STORE: 4, Op.WAIT: 2, Op.COMPUTE: 1},
    "atomics": {Op.LOAD: 3, Op.ATOMIC: 3, Op.REDUCE: 3, Op.WAIT: 2, Op.STORE: 1},
    "block": {Op.LOAD: 4, Op.STORE: 2, Op.SHARED: 3, Op.BARRIER: 2, Op.WAIT: 2, Op.COMPUTE: 2},
    "all": dict.fromkeys(Op, 1) | {Op.LOAD: 4, Op.STORE: 2, Op.WAIT: 3},
    "arithmetic": {Op.COMPUTE: 3, Op.SHARED: 1, Op.BARRIER: 1},
}
"""How often each operation comes, by the name of the mix."""

PLACES = ("anywhere", "beside", "hot", "strided", "one line")
"""Where lanes access."""

_KINDS = {
    name: (np.array([int(op) for op in mix]), np.array(list(mix.values())) / sum(mix.values()))
    for name, mix in MIXES.items()
}


def _is(*ops: Op) -> NDArray[np.bool_]:
    """By `Op`, whether it is one of some."""
    found = np.zeros(len(Op), bool)
    found[list(map(int, ops))] = True
    return found


_ADDRESSED, _ONE_LANE = _is(*ADDRESSED), _is(Op.SCALAR, Op.CONSTANT, Op.FETCH)
_SHARES = _is(Op.SHARED, Op.SHARED_LOAD, Op.SHARED_STORE)
_PLAIN = _is(*ADDRESSED, Op.BARRIER, Op.INVALIDATE)
_COMPUTE, _WAIT, _PACE, _BARRIER = map(int, (Op.COMPUTE, Op.WAIT, Op.PACE, Op.BARRIER))

_WIDTHS = np.array((4, 4, 8, 16, 1))
_STRIDES = np.array((32, 128, 4096, 65536))
_MOST_PASSES = 8
_MOST_CHAIN = 12


@define(eq=False)
class MadeUpLaunch:
    """Blocks whose warps run random operations, each block one chunk.

    Attributes:
        name: of the kernel.
        blocks: of the grid.
        threads_per_block: of a block.
        mix: a name of `MIXES`.
        steps: operations of a warp.
        arrays: first byte and bytes of what it may access.
        place: one of `PLACES`.
        dense: share of the lanes that take part.
        seed: of all that is random.
        registers_per_thread, shared_bytes, stream_use, copy: as of any launch.
    """

    name: str
    blocks: int
    threads_per_block: int
    mix: str
    steps: int
    arrays: tuple[tuple[int, int], ...]
    place: str
    dense: float
    seed: tuple[int, ...]
    registers_per_thread: int = 16
    shared_bytes: int = 0
    stream_use: StreamUse = IN_TURN
    copy: None = field(default=None, init=False)

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """What a block executes on a machine that asks for nothing."""
        return self.run_block_beside(block, warp_size, NOTHING_ASKED)

    def run_block_beside(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        """What a block executes; operations that are not asked for become others."""
        yield _chunk(self._facts, block, warp_size, asked)

    @property
    def _facts(self) -> _Facts:
        """What its chunks are made of."""
        shape = self.threads_per_block, self.steps, self.mix
        return *shape, self.arrays, self.place, self.dense, self.seed


_Facts = tuple[int, int, str, tuple[tuple[int, int], ...], str, float, tuple[int, ...]]


@lru_cache(maxsize=512)
def _chunk(facts: _Facts, block: int, warp_size: int, asked: Asked) -> LaneChunk:
    """All of a block; applications that start again ask for it again and again."""
    threads, steps, mix, arrays, place, dense, seed = facts
    rng = np.random.default_rng((*seed, block))
    kinds, weights = _KINDS[mix]
    kind = rng.choice(kinds, steps, p=weights)
    for op, other in _UNASKED.items():
        if op not in asked.kinds:
            kind[kind == op] = other
    costly = np.isin(kind, _COSTS)
    kind[costly] = _COMPUTE
    arg = rng.integers(1, 12, steps)
    arg[kind == _WAIT] %= 3
    arg[_SHARES[kind]] = arg[_SHARES[kind]] % _MOST_PASSES + 1
    arg[kind == _PACE] *= 40
    arg[_PLAIN[kind]] = 0
    memory = _ADDRESSED[kind]
    warps = -(-threads // warp_size)
    many = int(np.count_nonzero(memory))
    size = rng.choice(_WIDTHS, many)
    address = _addresses(rng, (many, warps, warp_size), size, (arrays, place))
    lane = np.arange(warps * warp_size).reshape(warps, warp_size)
    address[(rng.random(address.shape) >= dense) | (lane >= threads)] = INACTIVE
    address[_ONE_LANE[kind[memory]], :, 1:] = INACTIVE
    active = rng.random((steps, warps)) < rng.choice((1.0, 0.6))
    active[kind == _BARRIER] = True
    active[memory] &= (address >= 0).any(axis=2)
    address[~active[memory]] = INACTIVE
    units = rng.integers(0, (len(Unit), _MOST_CHAIN), (steps, 2))
    rows = list(_rows(kind.tolist(), arg.tolist(), costly, units.tolist(), asked))
    step, kind, arg = np.array(rows).T
    return LaneChunk(kind.astype(np.uint8), arg, active[step], address, size)


def _rows(
    kind: list[int],
    arg: list[int],
    costly: NDArray[np.bool_],
    units: list[tuple[int, int]],
    asked: Asked,
) -> Iterator[tuple[int, int, int]]:
    """Steps with their operations and arguments, and what arithmetic costs the machine."""
    for step, (op, value, (unit, chain)) in enumerate(zip(kind, arg, units, strict=True)):
        yield step, op, value
        if not costly[step]:
            continue
        if Op.ARITHMETIC in asked:
            yield step, Op.ARITHMETIC, chain << UNIT_BITS | unit
        elif asked.latency:
            costs = arithmetic_cost(asked, unit, value, chain)
            for cost, cycles in zip((Op.UNITS, Op.DELAY), costs, strict=True):
                if cycles:
                    yield step, cost, cycles


def _addresses(
    rng: np.random.Generator,
    shape: tuple[int, int, int],
    size: NDArray[np.int64],
    where: tuple[tuple[tuple[int, int], ...], str],
) -> NDArray[np.int64]:
    """Byte addresses within arrays, none of which crosses a sector."""
    (steps, warps, lanes), (arrays, place) = shape, where
    chosen = np.array(arrays)[rng.integers(0, len(arrays), steps)]
    base, length = chosen.T.reshape(2, steps, 1, 1)
    lane = np.arange(lanes)[None, None, :]
    warp = np.arange(warps)[None, :, None]
    width = size[:, None, None]
    offset: NDArray[Any]
    if place == "anywhere":
        offset = rng.integers(0, 1 << 40, shape, np.int64)
    elif place == "beside":
        row = rng.integers(0, 8, (steps, 1, 1)) * warps + warp
        offset = (row * lanes + lane) * width
    elif place == "hot":
        page = rng.zipf(1.5, (steps, warps, 1)) % 8192
        offset = 4096 * page + lane * width
    elif place == "strided":
        stride = rng.choice(_STRIDES, (steps, 1, 1))
        offset = 4096 * rng.integers(0, 64, (steps, warps, 1)) + stride * lane
    else:
        offset = rng.integers(0, 1 << 20, (steps, 1, 1)) * 128 + lane % 32 * width % 128
    offset = offset % np.maximum(length - 16, 1)
    return np.broadcast_to(base + offset - offset % width, shape).copy()


@gpusim.program("made-up")
def made_up(  # noqa: PLR0913  (each is a parameter of the workload)
    memory: AddressSpace,
    seed: int,
    *,
    number: int = 0,
    launches: int = 1,
    blocks: int = 2,
    threads: int = 64,
    steps: int = 8,
    pages: int = 12,
    arrays: int = 1,
    mix: str = "loads",
    place: str = "anywhere",
    streams: int = 1,
    gpus: int = 1,
    copies: int = 0,
    calls: int = 0,
    piece: int = 8192,
    shared: int = 0,
) -> Iterator[Launch]:
    """Launches of random operations.

    Args:
        memory: of the program.
        seed: of the workload.
        number: of the program: with other numbers it is another one.
        launches: how many kernels it launches.
        blocks: most blocks of a launch.
        threads: most threads of a block.
        steps: most operations of a warp.
        pages: pages of 4 KiB of all arrays together.
        arrays: how many there are.
        mix: a name of `MIXES`.
        place: one of `PLACES`.
        streams: over which launches are spread; more than one: beside the default one.
        gpus: over which arrays and launches are spread; 1: a launch runs on all.
        copies: launches that copy from the first array to the last one.
        calls: pieces of a reserved array that are mapped, used and perhaps unmapped.
        piece: bytes that are mapped at a time.
        shared: bytes of shared memory of a block.
    """
    rng = np.random.default_rng((seed, number))
    placed = list(_arrays(rng, memory, max(arrays, 1), pages, gpus))
    reserved = memory.reserve("pieces", calls * piece, np.uint8, piece) if calls else None
    places = tuple((one.base, one.length) for one in placed)
    last: Launch | None = None
    for index in range(launches):
        launch = MadeUpLaunch(
            f"k{index % 3}",
            int(rng.integers(1, blocks + 1)),
            int(rng.choice((threads, max(threads // 2, 1), max(threads - 5, 1)))),
            mix,
            int(rng.integers(1, steps + 1)),
            places,
            place,
            float(rng.choice((1.0, 1.0, 0.5, 0.1))),
            (seed, number, index),
            int(rng.choice((16, 40))),
            shared,
        )
        if streams > 1 or gpus > 1:
            last = _streamed(rng, launch, index, streams, gpus, last)
            yield last
        else:
            yield launch
        if index < copies and len(placed) > 1:
            count = min(placed[0].length, placed[-1].length, 2048) // 4
            spans = (Span(one.view(np.uint32), 0, count) for one in (placed[-1], placed[0]))
            yield copied(*spans, adds=bool(rng.integers(2)))
        if reserved is not None and index < calls:
            yield from _mapped(rng, memory, reserved, index, launch)


def _arrays(
    rng: np.random.Generator, memory: AddressSpace, arrays: int, pages: int, gpus: int
) -> Iterator[DeviceArray[np.uint8]]:
    """Arrays of `pages` together, some half a page shorter."""
    for index in range(arrays):
        length = max(pages // arrays, 1) * 4096 - int(rng.choice((0, 0, 2048)))
        with memory.on(index % gpus) if gpus > 1 else nullcontext():
            array = memory.blank(f"a{index}", length, np.uint8)
        yield array


def _streamed(
    rng: np.random.Generator,
    launch: MadeUpLaunch,
    index: int,
    streams: int,
    gpus: int,
    last: Launch | None,
) -> MadeUpLaunch:
    """A launch in a stream, perhaps after the one before, perhaps on one GPU."""
    stream = index % streams
    gpu = index % gpus if gpus > 1 and rng.random() < 0.7 else None
    after = [last] if last is not None and not last.stream_use.is_whole() else []
    if rng.random() < 0.5:
        after = []
    use = made_use(launch.name, stream, gpu, after, bool(rng.random() < 0.2))
    return evolve(launch, stream_use=use)


def _mapped(
    rng: np.random.Generator,
    memory: AddressSpace,
    array: DeviceArray[np.uint8],
    index: int,
    launch: MadeUpLaunch,
) -> Iterator[Launch]:
    """Maps a piece, uses it, and perhaps unmaps it."""
    first = index * array.piece
    yield memory.map(array, first, array.piece)
    place = ((array.base + first, array.piece),)
    seed = (*launch.seed, 1)
    yield evolve(launch, arrays=place, seed=seed, stream_use=IN_TURN, name="uses")
    if rng.random() < 0.5:
        yield memory.unmap(array, first, array.piece)
