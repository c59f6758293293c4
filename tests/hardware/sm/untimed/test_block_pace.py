"""What is learned of blocks that go on beside each other, and what is done with it."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.core.engine import EventLoop, Port
from gpusim.core.streams import IN_TURN, StreamUse
from gpusim.core.warp_program import Buffer, LaneChunk, Op
from gpusim.hardware.sm.untimed.block_pace import LEAST_TIMES, Beside, Turns
from gpusim.hardware.sm.untimed.partial_launch import PIECE_ROWS, Rest
from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.hardware.sm.warp import Block, Seat, SkippedBlock
from gpusim.machine import Machine, Tenant
from gpusim.runs.run import run_machine
from gpusim.runs.skipping import SkipFirst
from gpusim.runs.tenants import assign_sms
from gpusim.runs.warming import prepare_warming
from tests.examples import examples
from tests.quick import quick


def learned(times: list[list[int]], cycles: int = 1000) -> list[float]:
    """Shares after `times`: of each time, the instructions by rank."""
    turns = Turns(1)
    for rows in times:
        for rank, count in enumerate(rows):
            turns.learn(rank, count, cycles)
        turns.end()
    return turns.shares()


SMALL = {"sm.count": 1, "sm.max_blocks": 2}
"""A machine that holds two blocks."""

MANY = 10**6
"""Rows of which a piece more or less is nothing."""


@given(rows=st.lists(st.integers(1, 1000), min_size=1, max_size=8), times=st.integers(1, 6))
def test_what_is_always_so_is_done_as_it_was_seen(rows: list[int], times: int) -> None:
    found = learned([[count * MANY for count in rows]] * times)
    if times < LEAST_TIMES:
        assert found == [1.0] * len(rows)
    else:
        np.testing.assert_allclose(found, np.array(rows) / max(rows), atol=1e-4)


def test_accidents_are_left_out() -> None:
    accidents = [[90, 110], [112, 88], [95, 105], [103, 97]]
    assert learned([[row * MANY for row in rows] for rows in accidents]) == [1.0, 1.0]
    seen = [[100, 50], [110, 60], [90, 40], [100, 50]]
    (old, young) = learned([[row * MANY for row in rows] for rows in seen])
    mean = np.mean([100 / 75, 110 / 85, 90 / 65, 100 / 75])
    error = np.std([100 / 75, 110 / 85, 90 / 65, 100 / 75], ddof=1) / 2
    assert old == 1.0
    assert young == pytest.approx((2 - mean + 2 * error) / (mean - 2 * error), rel=1e-5)


def test_what_a_piece_more_or_less_makes_is_left_out() -> None:
    """Blocks of 200 instructions on average, of which a piece is 8 %."""
    assert PIECE_ROWS / 200 == 0.08
    assert learned([[208, 192]] * 9) == [1.0, 1.0]
    assert learned([[215, 185]] * 9) == [1.0, 1.0]
    (old, young) = learned([[300, 100]] * 9)
    assert old == 1.0
    assert young == pytest.approx(1 / 3)


def test_blocks_that_were_seen_to_do_nothing_have_turns_all_the_same() -> None:
    (old, young) = learned([[0, 400]] * 9)
    assert (old, young) == (pytest.approx(0.08 / 2), 1.0)


def test_a_piece_counts_once_for_each_block_of_several_sms() -> None:
    for faster, expected in ((215, [1.0, 1.0]), (240, [1.0, 160 / 240])):
        turns = Turns(2)
        for _ in range(9):
            for _ in range(2):
                turns.learn(0, faster, 1000)
                turns.learn(1, 400 - faster, 1000)
            turns.end()
        assert turns.shares() == pytest.approx(expected)


def test_what_is_forgotten_is_not_learned() -> None:
    turns = Turns(1)
    for _ in range(9):
        turns.learn(0, MANY, 1000)
        turns.learn(1, 5 * MANY, 1000)
        turns.forget()
        turns.learn(0, 2 * MANY, 1000)
        turns.learn(1, MANY, 1000)
        turns.end()
    assert turns.shares() == pytest.approx([1.0, 0.5], abs=1e-4)


def test_times_in_which_nothing_was_done_tell_nothing() -> None:
    assert learned([[0, 0]] * 4) == [1.0, 1.0]
    assert learned([[8, 4]] * 3, cycles=0) == [1.0, 1.0]
    assert Turns(1).shares() == []


def test_a_block_has_a_higher_rank_when_an_older_one_has_ended() -> None:
    env = EventLoop()
    ended: Port[Block] = Port(env, "ended")
    blocks = [Block(None, n, Seat(0, 0, n, [n], n, 0), ended) for n in range(3)]  # type: ignore[arg-type]
    turns, beside = Turns(1), Beside()
    for _ in range(LEAST_TIMES):
        for block in blocks:
            beside.begins(block, turns, 0)
        for block, rows in zip(blocks, (40 * MANY, 20 * MANY, 20 * MANY), strict=True):
            block.rows += rows
        beside.ends(blocks[0], turns, 10)
        blocks[1].rows += 80 * MANY
        blocks[2].rows += 40 * MANY
        beside.count(turns, 30)
        beside.clear()
        turns.end()
    # rank 0: 40 rows in 10 cycles and 80 in 20; rank 1: 20 and 40 in 30; rank 2: 20 in 10
    assert turns.shares() == pytest.approx([1.0, 0.5, 0.5], abs=1e-5)


# -- whole machines --------------------------------------------------------------------------------


class Watching(SkippingScheduler):
    """Notes whose turn it is, and how many blocks execute before they begin."""

    def _turns_of(self, rest: Rest) -> Turns:
        assert isinstance(self.pace, Watched)
        return self.pace.learned

    def _begin(self, rest: Rest, gpu: int, first: int, blocks: list[SkippedBlock]) -> None:
        super()._begin(rest, gpu, first, blocks)
        assert isinstance(self.pace, Watched)
        self.pace.ahead.append(len(rest.ahead))

    def _advance(self, block: SkippedBlock) -> bool:
        assert isinstance(self.pace, Watched)
        going = super()._advance(block)
        self.pace.turns.append((block, block.passed))
        return going


@frozen
class Watched(SkipFirst):
    """Skips, and lets blocks go on as it was learned."""

    learned: Turns
    turns: list[tuple[SkippedBlock, int]] = field(factory=list)
    """Whose turn it was, and what the block had executed after it."""
    ahead: list[int] = field(factory=list)

    def kind_of_scheduler(self) -> type[SkippingScheduler]:
        return Watching


def half_as_fast() -> Turns:
    """The older one of two blocks is twice as fast as the younger one."""
    turns = Turns(1)
    for _ in range(LEAST_TIMES):
        turns.learn(0, 2 * MANY, 10)
        turns.learn(1, MANY, 10)
        turns.end()
    return turns


def skipped(program: str, parameters: dict[str, object], pace: Watched) -> Machine:
    workload = gpusim.load_workload(program, "smoke", overrides=parameters)
    return skip_all(assign_sms(gpusim.load_model("tiny", (), SMALL), workload), pace)


def skip_all(tenants: list[Tenant], pace: Watched) -> Machine:
    loaded = gpusim.load_model("tiny", (), SMALL)
    machine = Machine(loaded.config, tenants, 0, pace)
    prepare_warming(machine)
    run_machine(machine)
    return machine


def test_the_younger_block_has_half_of_the_turns() -> None:
    pace = Watched(9, "launches", half_as_fast())
    skipped("mvt", {"n": 512, "iterations": 64}, pace)
    (first, _), (second, _) = pace.turns[:2]
    assert first is not second
    passed = {id(first): 0, id(second): 0}
    for block, executed in pace.turns:
        if block is first or block is second:
            passed[id(block)] = executed
        if passed[id(first)] == first.passed:
            break
    piece = PIECE_ROWS * len(first.warp_slots)
    assert passed[id(second)] == pytest.approx(first.passed / 2, abs=2 * piece)


@frozen
class Chunked:
    """A launch of two blocks of two warps, with the numbers of instructions of their chunks.

    Of a negative number none of them is active.
    """

    chunks: tuple[list[int], list[int]]
    name: str = "chunked"
    blocks: int = 2
    threads_per_block: int = 64
    registers_per_thread: int = 1
    shared_bytes: int = 0
    stream_use: StreamUse = IN_TURN
    copy: None = None

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        for count in self.chunks[block]:
            rows = abs(count)
            yield LaneChunk(
                np.full(rows, Op.COMPUTE, dtype=np.uint8),
                np.ones(rows, dtype=np.int64),
                np.full((rows, 2), count > 0),
                np.zeros((0, 2, 32), dtype=np.int64),
                np.zeros(0, dtype=np.int64),
            )


@frozen
class OneLaunch:
    """An application that has a launch and no arrays."""

    launch: Chunked
    name: str = "one"
    buffers: tuple[Buffer, ...] = ()

    def launches(self) -> Iterator[Chunked]:
        yield self.launch


@given(
    first=st.lists(st.integers(1, 60), min_size=1, max_size=30),
    second=st.lists(st.integers(1, 60), min_size=1, max_size=30),
)
@settings(max_examples=examples(120), deadline=None)
def test_blocks_stay_side_by_side_whatever_their_chunks(
    first: list[int], second: list[int]
) -> None:
    pace = Watched(9, "launches", Turns(1))
    skip_all([Tenant("one", OneLaunch(Chunked((first, second))), range(1))], pace)
    passed: dict[int, int] = {}
    for block, executed in pace.turns:
        passed[id(block)] = executed
        if len(passed) == 2 and max(passed.values()) <= 2 * min(sum(first), sum(second)):
            assert abs(np.subtract(*passed.values())) <= 2 * 2 * PIECE_ROWS
    assert sorted(passed.values()) == sorted([2 * sum(first), 2 * sum(second)])


def test_a_piece_that_no_warp_takes_part_in_does_not_end_a_block() -> None:
    pace = Watched(9, "launches", Turns(1))
    skip_all([Tenant("one", OneLaunch(Chunked(([5, -3, 7], [-20, 4]))), range(1))], pace)
    assert {block.passed for block, _ in pace.turns} == {2 * (5 + 7), 2 * 4}


BEFORE_THEY_BEGIN: dict[str, dict[str, object]] = {
    "fast_walsh_transform": {"log2_data": 14},  # in place
    "atomic_adds": {},
    "histogram256": {},
}


@pytest.mark.parametrize(
    ("program", "count"),
    quick(
        product(BEFORE_THEY_BEGIN, (9999, 40, 41)),
        ("fast_walsh_transform", 9999),
        ("atomic_adds", 40),
        ("atomic_adds", 41),
        ("histogram256", 9999),
    ),
)
def test_blocks_that_execute_before_they_begin_do_so_once(program: str, count: int) -> None:
    parameters = BEFORE_THEY_BEGIN[program]
    pace = Watched(count, "blocks", half_as_fast())
    found = skipped(program, parameters, pace)
    assert max(pace.ahead) > 0
    expected = gpusim.load_workload(program, "smoke", overrides=parameters).applications[0].start()
    for launch in expected.launches():
        for block in range(launch.blocks):
            for _ in launch.run_block(block, 32):
                pass
    both = zip(
        found.schedulers[0].application.memory.arrays,  # type: ignore[attr-defined]
        expected.memory.arrays,  # type: ignore[attr-defined]
        strict=True,
    )
    for one, other in both:
        if one.data.dtype.kind == "f":
            np.testing.assert_allclose(one.data, other.data, rtol=1e-4)
        else:
            np.testing.assert_array_equal(one.data, other.data)
