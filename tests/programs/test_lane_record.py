"""What is recorded of many threads, of which few or many take part: looked up lane by lane."""

import numpy as np
import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpusim.core.warp_program import INACTIVE, LaneChunk, Op
from gpusim.programs.device import AddressSpace, DeviceArray
from gpusim.programs.lane_record import taking_part
from gpusim.programs.tracer import BlockTracer, Shape, StepTracer
from tests.examples import examples

BLOCK = 400
BLOCKS = 3
ELEMENTS = 5000
SHARES = (0.0, 0.001, 0.02, 0.3, 0.9, 1.0)
"""Of threads that take part."""

Ints = DeviceArray[np.int64]


@frozen
class Instruction:
    """A random one: `uniform` accesses one element; `share` None has no mask."""

    op: Op
    share: float | None
    uniform: bool
    seed: int


INSTRUCTIONS = st.lists(
    st.builds(
        Instruction,
        st.sampled_from([Op.LOAD, Op.STORE, Op.ATOMIC, Op.REDUCE, Op.COMPUTE, Op.WAIT]),
        st.none() | st.sampled_from(SHARES),
        st.booleans(),
        st.integers(0, 2**32),
    ),
    min_size=1,
    max_size=9,
)


class Threads:
    """Executes instructions, and notes for each of them thread by thread what it should have done.

    Attributes:
        array: what is accessed.
        rows: op, and of each thread the element that it accesses, -1 if none; None: no part.
    """

    def __init__(self, tracer: BlockTracer, array: Ints) -> None:
        self._tracer = tracer
        self.array = array
        self.rows: list[tuple[Op, list[int | None]]] = []

    def execute(self, one: Instruction) -> None:
        k = self._tracer
        rng = np.random.default_rng(one.seed)
        where = None if one.share is None else rng.random(k.threads) < one.share
        every = np.ones(k.threads, dtype=bool) if where is None else where
        index: NDArray[np.int64] = rng.integers(0, ELEMENTS, k.threads)
        element = int(index[0])
        before = self.array.data.copy()
        if one.op is Op.COMPUTE:
            k.compute(3, where)
        elif one.op is Op.WAIT:
            k.wait(0, where)
        elif one.op is Op.LOAD:
            loaded = k.load(self.array, element if one.uniform else index, where)
            expected = before[element] if one.uniform else before[index[every]]
            assert np.array_equal(loaded if one.uniform else loaded[every], np.atleast_1d(expected))
        elif one.op is Op.STORE:
            k.store(self.array, element if one.uniform else index, k.tid, where)
            for thread in np.flatnonzero(every):
                before[element if one.uniform else index[thread]] = k.tid[thread]
        elif one.op is Op.ATOMIC:
            old = k.atomic_add(self.array, index, k.tid, where)
            for thread in np.flatnonzero(every):
                assert old[thread] == before[index[thread]]
                before[index[thread]] += k.tid[thread]
        else:
            k.reduce_add(self.array, index, k.tid, where)
            np.add.at(before, index[every], k.tid[every])
        assert (self.array.data == before).all()
        uniform = one.uniform and one.op in (Op.LOAD, Op.STORE)
        accesses = one.op not in (Op.COMPUTE, Op.WAIT)
        elements = [element if uniform else int(place) for place in index]
        self.rows.append(
            (
                one.op,
                [
                    None if not active else place if accesses else -1
                    for active, place in zip(every.tolist(), elements, strict=True)
                ],
            )
        )


def check(chunk: LaneChunk | None, threads: Threads, warp: int) -> None:
    """Lane by lane."""
    rows = [row for row in threads.rows if any(place is not None for place in row[1])]
    if chunk is None:
        assert not rows
        return
    own = -(-BLOCK // warp)
    assert chunk.kind.tolist() == [op for op, _ in rows]
    assert chunk.active.shape[1] == chunk.address.shape[1] == BLOCKS * own
    address = np.full((len(rows), BLOCKS * own * warp), INACTIVE)
    part = np.zeros(address.shape, dtype=bool)
    for row, (_, places) in enumerate(rows):
        for thread, place in enumerate(places):
            lane = thread // BLOCK * own * warp + thread % BLOCK
            if place is not None:
                part[row, lane] = True
                address[row, lane] = threads.array.base + 8 * place
    accesses = [op not in (Op.COMPUTE, Op.WAIT) for op, _ in rows]
    assert (chunk.active == part.reshape(len(rows), -1, warp).any(axis=2)).all()
    assert (chunk.address.reshape(sum(accesses), address.shape[1]) == address[accesses]).all()
    assert chunk.size.tolist() == [8] * sum(accesses)


@settings(max_examples=examples(150), deadline=None)
@given(INSTRUCTIONS, INSTRUCTIONS, st.sampled_from([32, 64]))
def test_few_and_many_threads_are_recorded_alike(
    first: list[Instruction], then: list[Instruction], warp: int
) -> None:
    array = AddressSpace().allocate("a", np.arange(ELEMENTS, dtype=np.int64))
    tracer = StepTracer(Shape((BLOCKS, 1, 1), (BLOCK, 1, 1)), range(BLOCKS), warp)
    for instructions in (first, then):
        threads = Threads(tracer, array)
        for one in instructions:
            threads.execute(one)
        check(tracer.take(), threads, warp)


@pytest.mark.parametrize("threads", [7, 1024, 3000])
def test_who_takes_part(threads: int) -> None:
    assert taking_part(None) is None
    assert taking_part(np.ones(threads, dtype=bool)) is None
    for taken in ([], [0], [3, 5], range(0, threads, 2)):
        where = np.zeros(threads, dtype=bool)
        where[list(taken)] = True
        who = taking_part(where)
        assert who is not None
        assert np.arange(threads)[who].tolist() == list(taken)


@pytest.mark.parametrize("others", [0, 2000])
def test_leaving_an_array_is_an_error_if_few_do(others: int) -> None:
    array = AddressSpace().allocate("a", np.zeros(40))
    k = BlockTracer(Shape((1, 1, 1), (3000, 1, 1)), 0, 32)
    where = (k.tid == 9) | (k.tid < others)
    k.load(array, np.where(k.tid == 9, -1, k.tid % 40), where)
    with pytest.raises(IndexError, match="thread 9 accesses element -1 of 'a', which has 40"):
        k.take()


def test_an_index_of_one_element_is_that_of_all() -> None:
    array = AddressSpace().allocate("a", np.arange(40))
    k = BlockTracer(Shape((1, 1, 1), (2048, 1, 1)), 0, 32)
    assert (k.load(array, np.array([7]), k.tid < 3)[:3] == 7).all()
    assert (k.load(array, np.array([7]), k.tid < 2000)[:2000] == 7).all()
    chunk = k.take()
    assert chunk is not None
    assert np.count_nonzero(chunk.address == array.base + 7 * 8) == 3 + 2000
