"""The shared memory of an SM alone: when accesses have their data, and what is counted of them."""

from __future__ import annotations

import attrs

from gpusim.core.warp_program import LEAST_SHIFT
from gpusim.files.units import cycles
from gpusim.hardware.sm.counters import SmCounters
from gpusim.hardware.sm.shared_memory import SharedMemory
from tests.machine.bench import SMALL

LATENCY, ISSUE = 24, 2


def shared_memory(**keys: object) -> SharedMemory:
    config = attrs.evolve(SMALL.sm, shared_latency=cycles(LATENCY), **keys)  # type: ignore[arg-type]
    return SharedMemory(config, SMALL.clock, ISSUE)


def test_accesses_pass_one_after_the_other() -> None:
    memory, counters = shared_memory(), SmCounters()
    assert memory.passed(1, counters, 100) == 100 + ISSUE + LATENCY
    assert memory.free == 100 + ISSUE + 1
    assert memory.passed(4, counters, 100) == 100 + ISSUE + 1 + 3 + LATENCY
    assert memory.passed(1, counters, 200) == 200 + ISSUE + LATENCY
    assert (counters.shared_instructions, counters.shared_passes) == (3, 6)


def test_conflicts_are_passes_beyond_the_least() -> None:
    memory, counters = shared_memory(), SmCounters()
    memory.passed(8, counters, 0)
    memory.passed(8 | 2 << LEAST_SHIFT, counters, 0)
    assert counters.shared_conflicts == 7 + 6


def test_only_a_scoreboard_lets_a_warp_go_on() -> None:
    assert shared_memory(shared_loads="scoreboard").flows
    assert not shared_memory(shared_loads="wait").flows
