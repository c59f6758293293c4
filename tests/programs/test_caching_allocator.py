"""PyTorch's caching allocator: addresses by hand, and beside a naive one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.programs.caching_allocator import CachingAllocator, leave_holes
from gpusim.programs.device import BASE_ADDRESS, AddressSpace

KIB, MIB = 1 << 10, 1 << 20


def in_a_row() -> Callable[[int], int]:
    """Segments one after the other from address 0 on."""
    end = 0

    def take(size: int) -> int:
        nonlocal end
        end += size
        return end - size

    return take


def test_addresses_by_hand() -> None:
    made = CachingAllocator(in_a_row())
    assert made.malloc(1) == 0, "a segment of 2 MiB for small ones"
    assert made.malloc(MIB) == 512
    assert made.malloc(MIB - 512) == 512 + MIB, "its last byte is used"
    assert made.malloc(600) == 2 * MIB, "another one"
    assert made.malloc(MIB + 1) == 4 * MIB, "a segment of 20 MiB"
    assert made.malloc(9 * MIB) == 4 * MIB + MIB + 512
    assert made.malloc(10 * MIB) == 24 * MIB, "no hole is as large: its own"
    assert made.malloc(21 * MIB + 1) == 34 * MIB, "22 MiB"
    assert made.segments == [
        (0, 2 * MIB),
        (2 * MIB, 2 * MIB),
        (4 * MIB, 20 * MIB),
        (24 * MIB, 10 * MIB),
        (34 * MIB, 22 * MIB),
    ]
    assert made.malloc(9 * MIB + 512) == 14 * MIB + 512, "the smallest hole, of 9.9995 MiB"
    assert made.malloc(2 * MIB) == 56 * MIB, "what is left of it is less than 1 MiB, and lost"


def test_what_is_freed_joins_its_neighbours() -> None:
    made = CachingAllocator(in_a_row())
    first, second, third = (made.malloc(512 * KIB) for _ in range(3))
    made.free(first)
    made.free(third)
    assert made.malloc(600 * KIB) == third, "with what was free behind it"
    assert made.malloc(512 * KIB) == first, "the smallest that holds it"
    made.free(first)
    made.free(second)
    assert made.malloc(MIB) == first
    with pytest.raises(UserError, match="no tensor at 0x200"):
        made.free(512)


class _Naive:
    """The same by a list of pieces, each ``[address, size, small, free, segment]``."""

    def __init__(self) -> None:
        self.pieces: list[list[int]] = []
        self.end = 0

    def malloc(self, size: int) -> int:
        size = -(-size // 512) * 512
        small = size <= MIB
        holes = [one for one in self.pieces if one[3] and one[2] == small and one[1] >= size]
        if holes:
            hole = min(holes, key=lambda one: (one[1], one[0]))
        else:
            whole = 2 * MIB if small else 20 * MIB
            if size >= 10 * MIB:
                whole = -(-size // (2 * MIB)) * 2 * MIB
            hole = [self.end, whole, int(small), 1, self.end]
            self.pieces.append(hole)
            self.end += whole
        rest = hole[1] - size
        if rest >= (512 if small else MIB + 1):
            self.pieces.append([hole[0] + size, rest, int(small), 1, hole[4]])
            hole[1] = size
        hole[3] = 0
        return hole[0]

    def free(self, address: int) -> None:
        next(one for one in self.pieces if one[0] == address)[3] = 1
        self.pieces.sort()
        joined: list[list[int]] = []
        for one in self.pieces:
            last = joined[-1] if joined else [0, 0, 0, 0, -1]
            if one[3] and last[3] and last[4] == one[4]:
                last[1] += one[1]
            else:
                joined.append(one)
        self.pieces = joined


@pytest.mark.parametrize("seed", range(5))
def test_beside_a_naive_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made, naive = CachingAllocator(in_a_row()), _Naive()
    there: list[int] = []
    for _ in range(400):
        if there and rng.random() < 0.45:
            address = there.pop(int(rng.integers(len(there))))
            made.free(address)
            naive.free(address)
            continue
        size = int(np.exp(rng.uniform(0, np.log(40 * MIB))))
        address = made.malloc(size)
        assert address == naive.malloc(size)
        there.append(address)
    assert made.cached == sum(one[1] for one in naive.pieces if one[3])
    assert sum(size for _, size in made.segments) == sum(one[1] for one in naive.pieces)


def test_arrays_of_a_program_lie_in_segments() -> None:
    memory = AddressSpace()
    before = memory.zeros("before", 5, np.int32)
    with memory.pool() as pool:
        a = memory.zeros("a", 100, np.float32)
        b = memory.zeros("b", 3 << 20, np.float32)
        kept = memory.reserve("kept", 1 << 20, np.float32)
    after = memory.zeros("after", 5, np.int32)
    assert before.base == BASE_ADDRESS
    assert [a.base, b.base] == [BASE_ADDRESS + 2 * MIB, BASE_ADDRESS + 4 * MIB]
    assert [size for _, size in pool.segments] == [2 * MIB, 12 * MIB]
    assert after.base >= kept.base + kept.bytes >= BASE_ADDRESS + 16 * MIB
    with pytest.raises(UserError, match="must be 0 or more"), memory.pool(-1):
        pass


def test_holes_are_the_same_each_time() -> None:
    def places(seed: int) -> list[int]:
        memory = AddressSpace()
        with memory.pool(200, seed):
            return [memory.zeros(str(n), 3000, np.float32).base for n in range(50)]

    assert places(1) == places(1) != places(2)
    apart = {base >> 21 for base in places(1)}
    with (memory := AddressSpace()).pool():
        together = {memory.zeros(str(n), 3000, np.float32).base >> 21 for n in range(50)}
    assert len(together) == 1 < len(apart), "fifty arrays of 12 KB"
    made = CachingAllocator(in_a_row())
    leave_holes(made, 200, 1)
    assert made.cached > 0


@pytest.mark.long
def test_a_decode_step_touches_more_pages_where_memory_is_fragmented() -> None:
    def run(earlier: int | None) -> gpusim.Result:
        own = {} if earlier is None else {"earlier": earlier}
        workload = gpusim.load_workload("decode_step_7b", "smoke", overrides=own)
        return gpusim.simulate("h100", workload)

    whole, torn = run(0), run(300)
    assert torn.summary["walks"] > whole.summary["walks"]
    assert torn.summary["transactions"] == whole.summary["transactions"]
