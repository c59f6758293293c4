"""What is learned of blocks that go on beside each other, and what is done with it."""

import numpy as np
import pytest
from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st

import gpusim
from gpusim.core.engine import EventLoop, Port
from gpusim.hardware.sm.rest import Rest
from gpusim.hardware.sm.skipping import SkippingScheduler
from gpusim.hardware.sm.turns import LEAST_TIMES, Beside, Turns
from gpusim.hardware.sm.warp import Block, SkippedBlock
from gpusim.machine import Machine
from gpusim.machine.skipping import SkipFirst
from gpusim.machine.warming import prepare_warming
from gpusim.simulate import assign_sms
from gpusim.simulate import run as run_machine


def learned(times: list[list[int]], cycles: int = 1000) -> list[float]:
    """Shares after so many times, of instructions by rank."""
    turns = Turns()
    for rows in times:
        for rank, count in enumerate(rows):
            turns.learn(rank, count, cycles)
        turns.end()
    return turns.shares()


@given(rows=st.lists(st.integers(1, 10**6), min_size=1, max_size=8), times=st.integers(1, 6))
def test_what_is_always_so_is_done_as_it_was_seen(rows: list[int], times: int) -> None:
    found = learned([rows] * times)
    if times < LEAST_TIMES:
        assert found == [1.0] * len(rows)
    else:
        np.testing.assert_allclose(found, np.array(rows) / max(rows))


def test_accidents_are_left_out() -> None:
    assert learned([[90, 110], [112, 88], [95, 105], [103, 97]]) == [1.0, 1.0]
    (old, young) = learned([[100, 50], [110, 60], [90, 40], [100, 50]])
    mean = np.mean([100 / 75, 110 / 85, 90 / 65, 100 / 75])
    error = np.std([100 / 75, 110 / 85, 90 / 65, 100 / 75], ddof=1) / 2
    assert old == 1.0
    assert young == pytest.approx((2 - mean + 2 * error) / (mean - 2 * error))


def test_times_in_which_nothing_was_done_tell_nothing() -> None:
    assert learned([[0, 0]] * 4) == [1.0, 1.0]
    assert learned([[8, 4]] * 3, cycles=0) == [1.0, 1.0]
    assert Turns().shares() == []


def test_a_block_has_a_higher_rank_when_an_older_one_has_ended() -> None:
    env = EventLoop()
    ended: Port[Block] = Port(env, "ended")
    blocks = [Block(None, n, 0, 0, n, [n], n, 0, ended) for n in range(3)]  # type: ignore[arg-type]
    turns, beside = Turns(), Beside()
    for _ in range(LEAST_TIMES):
        for block in blocks:
            beside.begins(block, turns, 0)
        for block, rows in zip(blocks, (40, 20, 20), strict=True):
            block.rows += rows
        beside.ends(blocks[0], turns, 10)
        blocks[1].rows += 80
        blocks[2].rows += 40
        beside.count(turns, 30)
        beside.clear()
        turns.end()
    # rank 0: 40 rows in 10 cycles and 80 in 20; rank 1: 20 and 40 in 30; rank 2: 20 in 10
    assert turns.shares() == pytest.approx([1.0, 0.5, 0.5])


# -- whole machines --------------------------------------------------------------------------------


class Watching(SkippingScheduler):
    """Notes whose turn it is, and how many blocks execute before they begin."""

    def _turns_of(self, rest: Rest) -> Turns:
        assert isinstance(self.pace, Watched)
        return self.pace.learned

    def _begin(self, rest: Rest, first: int, blocks: list[SkippedBlock]) -> None:
        super()._begin(rest, first, blocks)
        assert isinstance(self.pace, Watched)
        self.pace.ahead.append(len(rest.ahead))

    def _advance(self, block: SkippedBlock) -> bool:
        assert isinstance(self.pace, Watched)
        self.pace.turns.append(block)
        return super()._advance(block)


@frozen
class Watched(SkipFirst):
    """Skips, and lets blocks go on as it was learned."""

    learned: Turns
    turns: list[SkippedBlock] = field(factory=list)
    ahead: list[int] = field(factory=list)

    def kind_of_scheduler(self) -> type[SkippingScheduler]:
        return Watching


def half_as_fast() -> Turns:
    """The older one of two blocks is twice as fast as the younger one."""
    turns = Turns()
    for _ in range(LEAST_TIMES):
        turns.learn(0, 200, 10)
        turns.learn(1, 100, 10)
        turns.end()
    return turns


def skipped(program: str, parameters: dict[str, object], pace: Watched) -> Machine:
    loaded = gpusim.load_model("tiny", (), {"sm.count": 1, "sm.max_blocks": 2})
    workload = gpusim.load_workload(program, "smoke", overrides=parameters)
    machine = Machine(loaded.config, assign_sms(loaded, workload), 0, pace)
    prepare_warming(machine)
    run_machine(machine)
    return machine


def test_the_younger_block_has_half_of_the_turns() -> None:
    pace = Watched(9, "launches", half_as_fast())
    skipped("mvt", {"n": 512, "iterations": 64}, pace)
    first, second = list(dict.fromkeys(map(id, pace.turns)))[:2]
    turns = [id(block) for block in pace.turns]
    until = len(turns) - turns[::-1].index(first)
    assert turns[:until].count(second) == pytest.approx(turns[:until].count(first) / 2, abs=1)


@pytest.mark.parametrize(
    ("program", "parameters"),
    [
        ("fast_walsh_transform", {"log2_data": 14}),  # in place
        ("atomic_adds", {}),
        ("histogram256", {}),
    ],
)
@pytest.mark.parametrize("count", [9999, 40, 41])
def test_blocks_that_execute_before_they_begin_do_so_once(
    program: str, parameters: dict[str, object], count: int
) -> None:
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
