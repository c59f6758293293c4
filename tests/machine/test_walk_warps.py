"""Walks that warps execute: what their instructions cost a walk, and what they cost programs.

The machine is that of `test_latency`, but that walks read the page table through the L2 cache.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import WarpWalksConfig
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.machine import Tenant
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change

BASE, PAGE = 1 << 32, 4096
LEVELS = 4
READS: dict[str, Any] = {"cost": "memory", "memory": "l2", "sent_by": "sms"}
HARDWARE = change(SMALL, walk=READS)


def machine(lanes: int = 32, sms: int = 1, **instructions: Any) -> GpuConfig:
    given = {"begin": 0, "level": 0, "end": 0, **instructions}
    warps = WarpWalksConfig(lanes=lanes, **given)
    return change(HARDWARE, walk={"warps": warps}, sm={"count": sms})


def pages(*numbers: int) -> Script:
    places = (BASE + PAGE * page + 128 * (page % 32) for page in numbers)
    return [step for place in places for step in (("load", place), ("wait",))]


def burst(count: int) -> Script:
    return [("load", *[BASE + PAGE * page + 128 * (page % 32) for page in range(count)]), ("wait",)]


def warp(run: Run, name: str) -> int:
    return run.count("walk_warp", name)


def test_a_walk_without_instructions_is_one_of_the_hardware() -> None:
    run, plain = Run(machine(), pages(0, 1)), Run(HARDWARE, pages(0, 1))
    assert run.latencies == plain.latencies
    assert warp(run, "instructions") == 0


def test_instructions_are_part_of_a_walk() -> None:
    run, plain = Run(machine(begin=5, level=3, end=2), pages(0)), Run(HARDWARE, pages(0))
    instructions = 5 + 3 * LEVELS + 2
    assert run.latencies[0] == plain.latencies[0] + instructions
    names = ("steps", "batches", "instructions", "issue_cycles")
    assert [warp(run, name) for name in names] == [5, 5, instructions, instructions]


def test_an_instruction_takes_as_long_as_one_of_a_program() -> None:
    slow = change(machine(level=3), sm={"simd_lanes": 8})
    plain = change(HARDWARE, sm={"simd_lanes": 8})
    assert Run(slow, pages(0)).latencies[0] == Run(plain, pages(0)).latencies[0] + 3 * LEVELS * 4


def test_lanes_share_the_instructions_of_steps_that_come_together() -> None:
    """Two walks begin in one cycle: one batch of two, and their reads come back a cycle apart."""
    run = Run(machine(begin=10), [("load", BASE), ("wait",)], [("load", BASE + PAGE), ("wait",)])
    assert run.count("walk", "walks") == 2
    assert warp(run, "steps") == 2 * (LEVELS + 1)
    assert warp(run, "instructions") <= 20


@pytest.mark.parametrize(("scheduler", "walks"), [("gto", 1), ("lrr", 2)])
def test_what_walks_issue_programs_cannot(scheduler: str, walks: int) -> None:
    """A warp computes, and then loads, while another one waits for walks.

    Greedy, that one gets its second load issued when the first warp has computed.
    """
    work: Script = [("compute", 3000), ("load", BASE), ("wait",)]
    keys = {"scheduler": PolicyConfig(scheduler)}
    run = Run(change(machine(begin=100), sm=keys), pages(0, 1), work)
    free = Run(change(HARDWARE, sm=keys), pages(0, 1), work)
    issued = [max(begin for begin, _ in one.loads if begin > 2999) for one in (run, free)]
    assert warp(run, "issue_cycles") == 200
    assert run.count("sm", "instructions") == free.count("sm", "instructions")
    assert issued[0] - issued[1] == 100 * walks


def test_walks_are_dealt_out_to_the_sms() -> None:
    launch = ScriptedLaunch([[burst(6)], [[("compute", 1)]]])
    tenants = [Tenant("scripted", ScriptedApplication([launch]), range(2))]
    steps = {}
    for placed in ("round-robin", "requester"):
        run = Run.of(machine(sms=2, level=1, placed=placed), tenants)
        steps[placed] = [one.counters.steps for one in run.machine.walk_warps]
    assert steps == {
        "round-robin": [3 * (LEVELS + 1), 3 * (LEVELS + 1)],
        "requester": [6 * (LEVELS + 1), 0],
    }


def test_as_many_walks_as_there_are_lanes() -> None:
    run = Run(machine(lanes=2), burst(6))
    assert run.machine.systems[0].walkers.whole.most_walks == 2
    assert run.count("walk", "walks") == 6


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"walk.warps.lanes": 0}, r"walk\.warps\.lanes.*1 or more"),
        ({"walk.warps.lanes": 8, "walk.sent_by": "walkers"}, r"walk\.sent_by.*must be \"sms\""),
        ({"walk.warps.placed": "anywhere"}, "round-robin, requester"),
    ],
)
def test_what_cannot_be(keys: dict[str, Any], words: str) -> None:
    sent = {"walk.sent_by": "sms", **keys}
    with pytest.raises(UserError, match=words):
        load_model("tiny", overrides=sent)


def test_other_schedulers_take_the_warp_as_any_other() -> None:
    for scheduler in ("ccws", "two-level"):
        config = change(machine(level=2), sm={"scheduler": PolicyConfig(scheduler)})
        config = attrs.evolve(config, l1=attrs.evolve(config.l1))
        assert Run(config, burst(6), pages(3)).count("walk", "walks") == 6
