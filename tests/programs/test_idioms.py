"""What kernels share: strides, trees in shared memory, and checks of parameters."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.core.warp_program import Op
from gpusim.programs.device import AddressSpace
from gpusim.programs.idioms import groups, strides, tree
from gpusim.programs.tracer import BlockTracer, Shape


def test_strides_end_with_the_last_thread_that_has_a_place() -> None:
    found = [
        (place.tolist(), where.tolist()) for place, where in strides(np.array([0, 1, 2]), 5, 3)
    ]
    assert found == [([0, 1, 2], [True] * 3), ([3, 4, 5], [True, True, False])]
    ends = np.array([0, 7])
    assert [where.tolist() for _, where in strides(np.array([0, 5]), ends, 2)] == [[False, True]]


@pytest.mark.parametrize(
    ("last", "alone", "threads", "barriers"),
    [(1, 1, [64, 32, 16, 8, 4, 2, 1], 7), (16, 1, [64, 32, 16], 3), (1, 32, [64] + [32] * 6, 2)],
)
def test_a_tree_halves_its_threads(
    last: int, alone: int, threads: list[int], barriers: int
) -> None:
    k = BlockTracer(Shape((1, 1, 1), (128, 1, 1)), 0, 32)
    assert [int(where.sum()) for where in tree(k, 64, last, alone)] == threads
    chunk = k.take()
    assert chunk is not None
    assert chunk.kind.tolist() == [int(Op.BARRIER)] * barriers


def test_shared_accesses_are_recorded_one_by_one() -> None:
    k = BlockTracer(Shape((1, 1, 1), (64, 1, 1)), 0, 32)
    k.shared(2, k.tid < 32, times=3)
    chunk = k.take()
    assert chunk is not None
    assert chunk.kind.tolist() == [int(Op.SHARED)] * 3
    assert chunk.arg.tolist() == [2] * 3
    assert chunk.active.tolist() == [[True, False]] * 3


def test_a_view_is_the_same_memory() -> None:
    memory = AddressSpace()
    memory.zeros("first", 1, np.int8)
    words = memory.allocate("words", np.arange(4, dtype=np.uint32))
    pairs = words.view(np.uint64)
    assert (pairs.name, pairs.base, pairs.element_bytes, pairs.length) == (
        "words",
        words.base,
        8,
        2,
    )
    pairs.data[1] = 7
    assert words.data.tolist() == [0, 1, 7, 0]
    assert len(memory.buffers) == 2


def test_groups_have_all_numbers_once() -> None:
    assert [list(group) for group in groups(7, 3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert not list(groups(0, 4))
