"""Who issues when, computed by hand.  A block that is placed in cycle 0 opens in cycle 1."""

from __future__ import annotations

import pytest

from gpusim.config.schema import GpuConfig
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import cycles
from gpusim.machine import Machine
from gpusim.runs.run import run_machine
from gpusim.runs.stopping import Stopping, parse_rules
from tests.hardware.sm.observed import launch, observe, tenant
from tests.machine.bench import SMALL, Run, change

LRR = change(SMALL, sm={"scheduler": PolicyConfig("lrr"), "shared_latency": cycles(3)})
GTO = change(SMALL, sm={"shared_latency": cycles(3)})


def test_gto_runs_the_oldest_to_its_end() -> None:
    seen = observe(GTO, [("compute", 3)], [("compute", 2)], [("compute", 1)])
    assert seen.of(0) == [("computing", 1, 4)]
    assert seen.of(1) == [("ready", 1, 4), ("computing", 4, 6)]
    assert seen.of(2) == [("ready", 1, 6), ("computing", 6, 7)]


def test_gto_does_not_leave_a_warp_for_an_older_one() -> None:
    # Warp 0 is back from shared memory in cycle 5 (issue 1-2, latency 3), but 1 computes until 8.
    seen = observe(GTO, [("shared", 1), ("compute", 2)], [("compute", 6)], [("compute", 1)])
    assert seen.of(0) == [
        ("issuing", 1, 2),
        ("shared", 2, 5),
        ("ready", 5, 8),
        ("computing", 8, 10),
    ]
    assert seen.of(1) == [("ready", 1, 2), ("computing", 2, 8)]
    assert seen.of(2) == [("ready", 1, 10), ("computing", 10, 11)]


def test_lrr_takes_turns() -> None:
    # A warp whose program is over is noticed at its next turn.
    seen = observe(LRR, [("compute", 3)], [("compute", 2)])
    assert seen.of(0) == [
        ("computing", 1, 2),
        ("ready", 2, 3),
        ("computing", 3, 4),
        ("ready", 4, 5),
        ("computing", 5, 6),
    ]
    assert seen.of(1) == [
        ("ready", 1, 2),
        ("computing", 2, 3),
        ("ready", 3, 4),
        ("computing", 4, 5),
        ("ready", 5, 6),
    ]


def test_an_lrr_run_is_cut_when_another_warp_becomes_ready() -> None:
    seen = observe(LRR, [("compute", 10)], [("shared", 1), ("compute", 2)])
    # Alone from 3 on, warp 0 would compute until 12; warp 1 is back in cycle 6.
    assert seen.of(0) == [
        ("computing", 1, 2),
        ("ready", 2, 3),
        ("computing", 3, 7),
        ("ready", 7, 8),
        ("computing", 8, 9),
        ("ready", 9, 10),
        ("computing", 10, 14),
    ]
    # Its end is noticed at its next turn.
    assert seen.of(1) == [
        ("ready", 1, 2),
        ("issuing", 2, 3),
        ("shared", 3, 6),
        ("ready", 6, 7),
        ("computing", 7, 8),
        ("ready", 8, 9),
        ("computing", 9, 10),
        ("ready", 10, 11),
    ]
    counters = seen.machine.sms[0].counters[0]
    assert counters.compute_instructions == 12
    assert counters.instructions == counters.issue_cycles == 13


@pytest.mark.parametrize("config", [GTO, LRR], ids=["gto", "lrr"])
def test_wide_warps_on_narrow_lanes_take_two_slots(config: object) -> None:
    wide = change(config, sm={"warp_size": 64})  # type: ignore[arg-type]
    seen = observe(wide, [("compute", 3), ("shared", 1), ("compute", 1)])
    assert seen.of(0) == [
        ("computing", 1, 7),
        ("issuing", 7, 9),
        ("shared", 9, 12),
        ("computing", 12, 14),
    ]
    assert seen.machine.sms[0].counters[0].issue_cycles == 10


def test_an_lrr_run_of_wide_warps_is_cut_between_instructions() -> None:
    wide = change(LRR, sm={"warp_size": 64})
    seen = observe(wide, [("compute", 5)], [("shared", 1), ("compute", 1)])
    # Warp 1 issues 3-5 and is back in 8, in the midst of warp 0's instruction 7-9.
    assert seen.of(0) == [
        ("computing", 1, 3),
        ("ready", 3, 5),
        ("computing", 5, 9),
        ("ready", 9, 11),
        ("computing", 11, 15),
    ]
    assert seen.of(1)[-3:] == [("ready", 8, 9), ("computing", 9, 11), ("ready", 11, 13)]


@pytest.mark.parametrize("schedulers", [1, 2, 3, 4])
@pytest.mark.parametrize("policy", ["gto", "lrr"])
def test_warp_slots_are_dealt_out_to_the_schedulers(policy: str, schedulers: int) -> None:
    config = change(SMALL, sm={"schedulers": schedulers, "scheduler": PolicyConfig(policy)})
    seen = observe(config, *([[("compute", 10)]] * 6))
    work = [[i for i in seen.of(warp) if i[0] == "computing"] for warp in range(6)]
    ends = [pieces[-1][2] for pieces in work]
    for lane in range(schedulers):
        own = ends[lane::schedulers]
        last = 1 + 10 * len(own)
        if policy == "gto":
            assert own == list(range(11, last + 1, 10))
        else:
            assert own == list(range(last - len(own) + 1, last + 1))


def test_a_warp_without_a_program_lives_no_cycle() -> None:
    seen = observe(GTO, [("compute", 2)], [])
    assert seen.of(0) == [("computing", 1, 3)]
    assert seen.machine.sms[0].counters[0].warps == 2
    # It is noticed only when its scheduler looks for a warp to issue.
    assert seen.of(1) == [("ready", 1, 3)]


@pytest.mark.parametrize("passes", [1, 2, 32])
def test_shared_memory_passes_serialise(passes: int) -> None:
    # Three warps issue in cycles 1, 2 and 3; the port takes `passes` cycles of each, from the
    # cycle after its issue; then the latency of 3 counts from the last pass.
    seen = observe(GTO, *([[("shared", passes)]] * 3))
    free = 0
    for warp in range(3):
        issue = 1 + warp
        start = max(issue + 1, free)
        free = start + passes
        back = start + passes - 1 + 3
        expected = [("issuing", issue, issue + 1), ("shared", issue + 1, back)]
        assert seen.of(warp)[-2:] == expected
    assert seen.life(2)[1] == 2 + 3 * passes - 1 + 3 if passes > 1 else 7


def test_schedulers_share_the_one_port_of_shared_memory() -> None:
    config = change(GTO, sm={"schedulers": 2})
    seen = observe(config, [("shared", 4)], [("shared", 4)])
    assert seen.of(0) == [("issuing", 1, 2), ("shared", 2, 8)]
    assert seen.of(1) == [("issuing", 1, 2), ("shared", 2, 12)]


def test_an_instruction_without_anything_to_do_takes_no_time() -> None:
    script = [("compute", 0), ("load",), ("shared", 0), ("compute", 2)]
    run = Run(SMALL, script)
    assert run.count("sm", "instructions") == 2
    assert run.states() == {"computing": 2}


@pytest.mark.parametrize("config", [GTO, LRR], ids=["gto", "lrr"])
@pytest.mark.parametrize("cycle", [1, 2, 40, 100, 101])
def test_a_run_of_arithmetic_is_counted_as_it_is_issued(config: GpuConfig, cycle: int) -> None:
    machine = Machine(config, [tenant(config, launch(config, [[("compute", 100)]]))], seed=0)
    Stopping(machine, parse_rules([f"{cycle}cycles"], machine.names))
    run_machine(machine)
    (issued,) = [
        row.value
        for row in machine.first_runs.rows()
        if (row.component, row.name) == ("sm", "compute_instructions")
    ]
    assert issued == min(cycle, 100)


def test_an_instruction_limit_is_met_within_a_run_of_arithmetic() -> None:
    machine = Machine(GTO, [tenant(GTO, launch(GTO, [[("compute", 100)]]))], seed=0)
    stopping = Stopping(machine, parse_rules(["30instructions"], machine.names))
    run_machine(machine)
    (stop,) = stopping.stops()
    assert (stop.cycle, stop.instructions) == (30, 30)
