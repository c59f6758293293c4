"""The authoring interface: what each instruction does and records."""

import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from attrs import define
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.warp_program import INACTIVE, Asked, LaneChunk, Op, Unit
from gpusim.programs.catalog import program_of
from gpusim.programs.device import AddressSpace, DeviceArray
from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.pannotia.pagerank import pagerank
from gpusim.programs.polybench.matrix_vector import MatrixParameters, atax
from gpusim.programs.rodinia.bfs import bfs
from gpusim.programs.tracer import LANES_PER_CHUNK, BlockTracer, Shape
from tests.programs.drain import chunks, same_chunk

Ints = DeviceArray[np.int64]


def tracer(block: tuple[int, int, int] = (64, 1, 1), warp_size: int = 32) -> BlockTracer:
    return BlockTracer(Shape((3, 2, 1), block), 4, warp_size)


def take(k: BlockTracer) -> LaneChunk:
    chunk = k.take()
    assert chunk is not None
    return chunk


def test_arrays_follow_each_other_on_pages_of_4_kib() -> None:
    memory = AddressSpace()
    memory.allocate("a", np.zeros(1025, dtype=np.float32))
    memory.allocate("empty", np.zeros(0, dtype=np.int32))
    memory.allocate("flags", np.zeros(4096, dtype=bool), 1)
    memory.allocate("wide", np.zeros((3, 5), dtype=np.int32), 16)
    pages = [(buffer.base - 0x1_0000_0000) / 4096 for buffer in memory.buffers]
    assert pages == [0, 2, 3, 4]
    assert [buffer.bytes for buffer in memory.buffers] == [4100, 0, 4096, 240]


def test_read_only_data_is_shared_and_other_data_copied() -> None:
    memory = AddressSpace()
    data, fixed = np.zeros(3), np.zeros(3)
    fixed.flags.writeable = False
    assert memory.allocate("fixed", fixed).data.base is fixed
    memory.allocate("own", data).data[0] = 1
    assert data[0] == 0


def test_thread_indices_of_blocks_with_two_dimensions() -> None:
    k = BlockTracer(Shape((3, 2, 2), (16, 4, 2)), 3 * 2 + 3 + 2, 32)
    assert (k.bx, k.by, k.bz) == (2, 1, 1)
    assert k.tid.tolist() == list(range(128))
    assert k.tx[17] == 1
    assert k.ty[17] == 1
    assert k.ty[63] == 3
    assert k.tz[64] == 1
    assert (k.t == 2 * 16 + k.tx).all()


def test_a_warp_takes_part_if_any_lane_does() -> None:
    memory = AddressSpace()
    array = memory.allocate("a", np.arange(64) * 10)
    k = tracer()
    where = k.tid == 40
    loaded = k.load(array, k.tid, where)
    assert loaded[40] == 400
    k.compute(3, ~where)
    k.wait(1, where)
    k.shared(2, where)
    k.barrier()
    chunk = take(k)
    assert chunk.kind.tolist() == [Op.LOAD, Op.COMPUTE, Op.WAIT, Op.SHARED, Op.BARRIER]
    assert chunk.arg[1:].tolist() == [3, 1, 2, 0]
    one, both = [False, True], [True, True]
    assert chunk.active.tolist() == [one, both, one, one, both]
    assert chunk.address.shape == (1, 2, 32)
    assert chunk.address[0, 1, 8] == array.base + 40 * 8
    assert (chunk.address == INACTIVE).sum() == 63
    assert chunk.size.tolist() == [8]


def test_instructions_of_none_leave_no_trace() -> None:
    memory = AddressSpace()
    array = memory.allocate("a", np.zeros(4))
    k = tracer()
    none = np.zeros(64, dtype=bool)
    k.load(array, k.tid + 10**9, none)
    k.store(array, k.tid + 10**9, 1.0, none)
    k.store(array, 2, 1.0, none)
    k.compute(5, none)
    assert k.take() is None
    assert not array.data.any()


def test_lanes_that_fill_up_the_last_warp_are_idle() -> None:
    array = AddressSpace().allocate("a", np.arange(40))
    k = tracer((40, 1, 1), warp_size=64)
    k.load(array, k.tid)
    chunk = take(k)
    assert chunk.address.shape == (1, 1, 64)
    assert (chunk.address[0, 0, 40:] == INACTIVE).all()
    assert (chunk.address[0, 0, :40] == array.base + 8 * np.arange(40)).all()


def test_an_int_is_one_element_for_all() -> None:
    array = AddressSpace().allocate("a", np.arange(40))
    k = tracer()
    value = k.load(array, 7)
    k.store(array, 7, k.tid)
    assert value.tolist() == [7]
    assert array.data[7] == 63
    k.store(array, 7, k.tid, k.tid < 5)
    assert array.data[7] == 4
    assert (take(k).address == array.base + 56).sum() == 2 * 64 + 5


@pytest.mark.parametrize("index", [-1, 40])
def test_leaving_an_array_is_an_error(index: int) -> None:
    memory = AddressSpace()
    memory.allocate("before", np.zeros(4))
    array = memory.allocate("a", np.zeros(40))
    k = tracer()
    k.store(array, np.where(k.tid == 9, index, 0), 1.0, k.tid != 9)
    k.load(array, np.where(k.tid == 9, min(index, 39), 0))
    if index < 0:
        with pytest.raises(IndexError, match="thread 9 accesses element -1 of 'a', which has 40"):
            k.take()
    else:
        with pytest.raises(IndexError, match="40"):
            k.load(array, np.where(k.tid == 9, index, 0))


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(-9, 9), st.booleans()), min_size=64, max_size=64
    )
)
def test_atomics_add_in_thread_order(lanes: list[tuple[int, int, bool]]) -> None:
    memory = AddressSpace()
    atomic = memory.allocate("a", np.arange(6))
    reduced = memory.allocate("b", np.arange(6))
    index, value, where = (np.array(column) for column in zip(*lanes, strict=True))
    k = tracer()
    old = k.atomic_add(atomic, index, value, where)
    k.reduce_add(reduced, index, value, where)
    cells = list(range(6))
    for thread, (cell, amount, active) in enumerate(lanes):
        if active:
            assert old[thread] == cells[cell]
            cells[cell] += amount
    assert atomic.data.tolist() == reduced.data.tolist() == cells
    if where.any():
        assert take(k).kind.tolist() == [Op.ATOMIC, Op.REDUCE]


@define(kw_only=True, eq=False)
class Loop(Kernel):
    array: Ints
    iterations: int
    name: str = "loop"
    registers_per_thread: int = 8

    def body(self, k: BlockTracer) -> Iterator[None]:
        for _ in range(self.iterations):
            k.load(self.array, k.t)
            k.compute(1)
            yield


def test_a_piece_is_not_kept_once_it_is_handed_over() -> None:
    array = AddressSpace().allocate("a", np.zeros(256, dtype=np.int64))
    kernel = Loop(shape=Shape.linear(256, 256), array=array, iterations=1000)
    running = kernel.run_block(0, 32)
    for _ in range(2):
        piece = next(running)
        assert sys.getrefcount(piece) == 2, "`piece`, and the argument"


@pytest.mark.parametrize("iterations", [10, 1000, 5000])
def test_a_chunk_does_not_grow_with_the_program(iterations: int) -> None:
    array = AddressSpace().allocate("a", np.zeros(256, dtype=np.int64))
    kernel = Loop(shape=Shape.linear(256, 256), array=array, iterations=iterations)
    sizes = [chunk.address.size for chunk in kernel.run_block(0, 32)]
    assert sum(sizes) == iterations * 256
    assert max(sizes) <= LANES_PER_CHUNK


def test_chunks_are_made_when_they_are_asked_for() -> None:
    program = program_of(atax).start(MatrixParameters(n=512), None, 0)
    first = next(iter(next(program.launches()).run_block(0, 32)))
    assert first.address.size <= LANES_PER_CHUNK + 3 * 256
    assert program.memory["tmp"].data[:256].any()
    assert not program.memory["tmp"].data[256:].any(), "the second block has not been run"


def test_computing_alone_is_handed_over_too() -> None:
    @define(kw_only=True, eq=False)
    class Busy(Kernel):
        name: str = "busy"
        registers_per_thread: int = 8

        def body(self, k: BlockTracer) -> Iterator[None]:
            for _ in range(4000):
                k.compute(1)
                yield

    lengths = [len(c.kind) for c in Busy(shape=Shape.linear(256, 256)).run_block(0, 32)]
    assert sum(lengths) == 4000
    assert max(lengths) <= 512


@pytest.mark.parametrize("warp_size", [32, 64])
def test_two_starts_give_the_same_chunks(warp_size: int) -> None:
    graph = CoPapers(400, 16.0, 64, 32).generate(0)

    def starts() -> Iterator[Program]:
        yield program_of(atax).start(MatrixParameters(n=128), None, 0)
        for function, parameters in ((bfs, {}), (pagerank, {"iterations": 2})):
            kind = program_of(function)
            yield kind.start(kind.parameters(**parameters), graph, 0)

    for one, other in zip(starts(), starts(), strict=True):
        assert one.buffers == other.buffers
        pairs = zip(chunks(one, warp_size), chunks(other, warp_size), strict=True)
        assert all(a.name == b.name and same_chunk(c, d) for (a, c), (b, d) in pairs)


def test_arrays_do_not_overlap() -> None:
    graph = CoPapers(400, 16.0, 64, 32).generate(0)
    for program in (
        program_of(atax).start(MatrixParameters(n=100), None, 0),
        program_of(bfs).start(program_of(bfs).parameters(), graph, 0),
    ):
        assert all(a.base + a.bytes <= b.base for a, b in pairwise(program.buffers))


def test_reduce_xor_flips_bits_once_a_thread() -> None:
    k = BlockTracer(Shape((1, 1, 1), (4, 1, 1)), 0, 4)
    memory = AddressSpace()
    cells = memory.allocate("cells", np.array([1, 2, 4], dtype=np.uint64))
    k.reduce_xor(cells, np.array([0, 0, 1, 2]), np.array([3, 4, 6, 9], dtype=np.uint64), k.t < 3)
    assert cells.data.tolist() == [1 ^ 3 ^ 4, 2 ^ 6, 4]


def test_reduce_max_raises_cells() -> None:
    memory = AddressSpace()
    cells = memory.allocate("cells", np.array([5, 5, 5], dtype=np.int32))
    k = BlockTracer(Shape.linear(4, 4), 0, 32)
    k.reduce_max(cells, np.array([0, 0, 1, 2]), np.array([7, 6, 3, 9], dtype=np.int32), k.t < 3)
    assert cells.data.tolist() == [7, 5, 5]
    chunk = k.take()
    assert chunk is not None
    assert chunk.kind.tolist() == [Op.REDUCE]


ALL_ASKED = Asked(
    frozenset({Op.UNITS, Op.DELAY, Op.SHARED_LOAD, Op.SHARED_STORE}),
    latency=(4, 4, 8, 17, 24),
    interval=(2, 1, 2, 8, 6),
)


def asked(warp_size: int = 32) -> BlockTracer:
    return BlockTracer(Shape((1, 1, 1), (32, 1, 1)), 0, warp_size, ALL_ASKED)


def operations(k: BlockTracer) -> list[tuple[int, int]]:
    chunk = take(k)
    return list(zip(chunk.kind.tolist(), chunk.arg.tolist(), strict=True))


@pytest.mark.parametrize(
    ("unit", "instructions", "chain", "beside"),
    [
        (Unit.FP32, 8, 0, []),
        (Unit.FP32, 8, 8, [(Op.DELAY, 24)]),
        (Unit.INTEGER, 6, 1, [(Op.UNITS, 6)]),
        (Unit.SPECIAL, 1, 1, [(Op.UNITS, 7), (Op.DELAY, 9)]),
    ],
)
def test_arithmetic_takes_its_unit_and_the_chain_of_its_results(
    unit: Unit, instructions: int, chain: int, beside: list[tuple[int, int]]
) -> None:
    k = asked()
    k.arithmetic(unit, instructions, chain)
    assert operations(k) == [(Op.COMPUTE, instructions), *beside]


def test_a_machine_that_follows_no_units_sees_instructions_and_accesses() -> None:
    k = tracer((32, 1, 1))
    k.arithmetic(Unit.FP64, 3, 3)
    k.shared_load(2)
    k.shared_store(1, times=2)
    shared = [(Op.SHARED, 2), (Op.SHARED, 1), (Op.SHARED, 1)]
    assert operations(k) == [(Op.COMPUTE, 3), *shared]


def test_shared_loads_and_stores_are_followed_where_that_is_asked_for() -> None:
    k = asked()
    k.shared_load(2)
    k.shared_store(1)
    k.shared(4)
    assert operations(k) == [(Op.SHARED_LOAD, 2), (Op.SHARED_STORE, 1), (Op.SHARED, 4)]


@pytest.mark.parametrize("passes", [-1, 1 << 16])
def test_shared_memory_takes_passes_that_there_are(passes: int) -> None:
    with pytest.raises(ValueError, match=rf"{passes} passes of shared memory; allowed: 0 to 65535"):
        tracer().shared_load(passes)
