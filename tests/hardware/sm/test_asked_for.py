"""Operations that programs state for SMs that ask for them, and when their warps go on, by hand.

A block that is placed in cycle 0 opens in cycle 1; an instruction takes one issue cycle; shared
memory has a latency of 3 cycles.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusim.core.warp_program import LEAST_SHIFT, LaneChunk, Op
from gpusim.files.units import cycles
from tests.hardware.sm.observed import Observed, observe, tenant
from tests.machine.bench import SMALL, Run, ScriptedLaunch, change

GTO = change(SMALL, sm={"shared_latency": cycles(3)})
FLOWS = change(GTO, sm={"shared_loads": "scoreboard"})


def test_a_shared_load_is_waited_for_when_its_value_is_needed() -> None:
    seen = observe(FLOWS, [("shared_load", 1), ("compute", 1), ("wait", 0), ("compute", 1)])
    # Issued in 1, it passes in 2 and has its value 3 cycles later.
    assert seen.of(0) == [
        ("issuing", 1, 2),
        ("computing", 2, 3),
        ("shared", 3, 5),
        ("computing", 5, 6),
    ]


def test_shared_loads_pass_one_after_the_other() -> None:
    seen = observe(FLOWS, [("shared_load", 4), ("shared_load", 4), ("wait", 1), ("wait", 0)])
    # The first passes in 2 to 5 and has its value in 8, the second in 6 to 9 and in 12.
    assert seen.of(0) == [("issuing", 1, 3), ("shared", 3, 12)]


def test_a_shared_store_is_not_waited_for() -> None:
    seen = observe(FLOWS, [("shared_store", 32), ("compute", 2)])
    assert seen.of(0) == [("issuing", 1, 2), ("computing", 2, 4)]


def test_passes_that_queue_hold_the_next_access_back() -> None:
    few = change(FLOWS, sm={"lsu_queue": 8})
    seen = observe(few, [("shared_store", 20), ("shared_store", 1)])
    # The first passes in 2 to 21; in cycle 14 eight passes are left.
    assert seen.of(0) == [("issuing", 1, 2), ("shared", 2, 14), ("issuing", 14, 15)]


class InARow(ScriptedLaunch):
    """One warp, with three shared-memory accesses of one piece of its program."""

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        yield LaneChunk(
            np.full(3, Op.SHARED, dtype=np.uint8),
            np.ones(3, dtype=np.int64),
            np.ones((3, 1), dtype=bool),
            np.zeros((0, 1, 0), dtype=np.int64),
            np.zeros(0, dtype=np.int64),
        )


def test_accesses_in_a_row_are_waited_for_together() -> None:
    row = InARow([[()]])
    assert Observed(GTO, tenant(GTO, row)).of(0)[-1] == ("shared", 10, 13)
    # Issued in 1, 2 and 3; the last one passes in 4.
    assert Observed(FLOWS, tenant(FLOWS, row)).of(0) == [("issuing", 1, 4), ("shared", 4, 7)]


def test_a_delay_leaves_the_port_to_others() -> None:
    seen = observe(GTO, [("compute", 1), ("delay", 4), ("compute", 1)], [("compute", 3)])
    assert seen.of(0) == [("computing", 1, 7)]
    assert seen.of(1) == [("ready", 1, 2), ("computing", 2, 5)]


def test_busy_units_do_not() -> None:
    seen = observe(GTO, [("compute", 1), ("units", 4), ("compute", 1)], [("compute", 3)])
    assert seen.of(0)[-1][2] == 7
    assert seen.of(1) == [("ready", 1, 7), ("computing", 7, 10)]


def test_a_coherent_load_takes_the_way_of_a_miss_each_time() -> None:
    """The second of two loads of a line hits the L1 cache; that of a coherent one does not."""
    plain = Run(GTO, [("load", 0), ("wait", 0), ("load", 0), ("wait", 0), ("load", 128)])
    coherent = Run(GTO, [("load", 0), ("wait", 0), ("coherent_load", 0), ("wait", 0)])
    hit = 4  # TLB and L1 cache side by side
    assert plain.latencies[1] == 1 + hit
    assert coherent.latencies[1] > 1 + hit
    assert coherent.latencies[1] < plain.latencies[0]  # its page is in the TLB, its line in L2
    assert (coherent.count("l1", "coherent_loads"), coherent.count("l1", "lookups")) == (1, 1)


def test_a_coherent_load_without_lanes_is_no_instruction() -> None:
    run = Run(GTO, [("coherent_load",), ("compute", 1)])
    assert run.count("sm", "instructions") == 1


def test_passes_and_conflicts_are_counted() -> None:
    conflicted = 6 | 4 << LEAST_SHIFT
    run = Run(GTO, [("shared", 3), ("shared", conflicted)])
    assert run.count("sm", "shared_passes") == 9
    assert run.count("sm", "shared_conflicts") == 2 + 2
