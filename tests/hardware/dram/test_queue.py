"""Queue policies against a slow, obviously right scan."""

from __future__ import annotations

from operator import attrgetter

from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.registry import Slot, find_policy, policy_names
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.unboxed import IntList
from gpusim.hardware.dram.queue import Fcfs, FrFcfs
from gpusim.hardware.dram.waiting import Waiting

Steps = list[tuple[int, int, int]]
STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 7), st.integers(0, 3)), max_size=60)


def _waiting(bank: int, row: int, rank: int = 0) -> Waiting:
    request = MemoryRequest(Kind.LOAD, 0, 0, 0, 0, 0, 0, 1, 0, None, IntList())
    waiting = Waiting(request, bank, row, False, 1, 0)
    waiting.rank = rank
    return waiting


def _first(waiting: list[Waiting]) -> Waiting | None:
    return waiting[0] if waiting else None


@given(STEPS, st.permutations(range(60)))
def test_fr_fcfs_is_the_oldest_hit_else_the_oldest(steps: Steps, ranks: list[int]) -> None:
    queue, naive = FrFcfs(8, 8), list[Waiting]()
    for (action, bank, row), rank in zip(steps, ranks, strict=False):
        naive.sort(key=attrgetter("rank"))
        of_bank = [one for one in naive if one.bank == bank]
        best = _first([one for one in of_bank if one.row == row]) or _first(of_bank)
        assert queue.best(bank, row) is best
        assert queue.best(bank, -1) is _first(of_bank)
        if action and len(naive) < 8:
            naive.append(_waiting(bank, row, rank))
            queue.add(naive[-1], 0)
        elif not action and best is not None:
            queue.remove(best)
            naive.remove(best)
        assert queue.size == len(naive)
        assert queue.full(_waiting(0, 0).request) == (len(naive) == 8)
        assert set(queue.requests()) == set(naive)
        assert not queue.changed


@given(STEPS)
def test_fcfs_works_for_the_oldest_alone(steps: Steps) -> None:
    queue, naive = Fcfs(8, 8), list[Waiting]()
    for action, bank, row in steps:
        for other in range(8):
            right = naive[0] if naive and naive[0].bank == other else None
            assert queue.best(other, row) is right
        if action and len(naive) < 8:
            naive.append(_waiting(bank, row))
            queue.add(naive[-1], 0)
        elif not action and naive:
            queue.changed.clear()
            queue.remove(naive.pop(0))
            assert queue.changed == [one.bank for one in naive[:1]]
        assert queue.size == len(naive)
        assert queue.requests() == naive


def test_policies_are_registered() -> None:
    assert {"fcfs", "fr-fcfs"} <= set(policy_names(Slot.DRAM_QUEUE))
    assert find_policy(Slot.DRAM_QUEUE, "fr-fcfs") is FrFcfs
