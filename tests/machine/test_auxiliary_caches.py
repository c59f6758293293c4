"""Side caches: latencies worked out by hand, who shares one, and hits against a naive LRU.

The machine is that of `test_latency`, with a scalar cache of 64-byte lines: TLB 2 cycles, then the
cache 3; an instruction cache: the cache 2, then its TLB 1.
"""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.auxiliary import InstructionCacheConfig, SideCacheConfig, SideTlbConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.request import MemoryRequest
from gpusim.files.units import Bytes, cycles
from gpusim.machine import Machine, Tenant
from tests.examples import examples
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change

BASE = 1 << 32
ISSUE, TLB, CACHE, L2_TLB, WALK = 1, 2, 3, 10, 500
CODE_TLB, CODE = 1, 2
FETCH = 8 + 10 + 100 + 8 + 2 - 1
"""Crossbar, L2 cache, DRAM, crossbar, and two flits of 32 bytes, of which the last one counts."""
FROM_L2 = FETCH - 100

SCALAR = SideCacheConfig(
    Bytes(1 << 10),
    ways=2,
    latency=cycles(CACHE),
    tlb=SideTlbConfig(entries=4, ways=4, latency=cycles(TLB)),
)
INSTRUCTION = InstructionCacheConfig(
    Bytes(1 << 10),
    ways=2,
    latency=cycles(CODE),
    translation="after",
    tlb=SideTlbConfig(entries=4, ways=4, latency=cycles(CODE_TLB)),
)
BESIDE = attrs.evolve(SMALL, scalar=SCALAR, instruction=INSTRUCTION)


def side_latencies(config: GpuConfig, *scripts: Script) -> list[int]:
    """Of the transactions of all side caches, by their end."""
    found: list[int] = []

    def note(request: MemoryRequest, begin: int, end: int) -> None:
        found.append(end - begin)

    def listen(machine: Machine) -> None:
        for side in machine.sides:
            side.unit.lsu.on_request.listen(note)

    Run.meanwhile(config, listen, *scripts)
    return found


def test_a_scalar_load_misses_everywhere_and_then_hits() -> None:
    script = [("scalar", BASE), ("wait",), ("scalar", BASE + 4), ("wait",)]
    miss = ISSUE + TLB + L2_TLB + WALK + CACHE + FETCH
    assert side_latencies(BESIDE, script) == [miss, ISSUE + TLB + CACHE] == [643, 6]


def test_a_scalar_line_is_half_of_a_line_of_the_l1_cache() -> None:
    script = [("scalar", BASE), ("wait",), ("scalar", BASE + 64), ("wait",)]
    second = ISSUE + TLB + CACHE + FROM_L2  # the L2 cache has all of its line
    assert side_latencies(BESIDE, script)[1] == second == 33


def test_one_access_to_both_halves_is_two_transactions() -> None:
    run = Run(BESIDE, [("scalar", BASE, BASE + 64), ("wait",)])
    assert run.count("scalar", "lookups") == 2
    assert run.count("sm", "loads") == 1


def test_a_load_after_the_same_scalar_load_finds_its_page_in_the_l2_tlb() -> None:
    run = Run(BESIDE, [("scalar", BASE), ("wait",), ("load", BASE), ("wait",)])
    assert run.latencies == [ISSUE + 1 + L2_TLB + 4 + 8 + 10 + 8 + 4 - 1]
    assert run.count("tlb/scalar", "misses") == run.count("tlb/L1", "misses") == 1
    assert (run.count("tlb/L2", "lookups"), run.count("tlb/L2", "hits")) == (2, 1)


def test_warps_that_miss_one_scalar_line_merge() -> None:
    run = Run(BESIDE, *([[("scalar", BASE), ("wait",)]] * 3))
    assert run.count("scalar", "misses") == 3
    assert run.count("scalar", "merged") == 2
    assert run.count("l2", "lookups") == 1


def test_a_warp_waits_for_code_and_not_for_its_loads() -> None:
    config = change(BESIDE, l1={"latency": cycles(4000)})
    run = Run(config, [("load", BASE), ("fetch", BASE + 4096), ("compute", 1)])
    code = ISSUE + CODE + CODE_TLB + L2_TLB + WALK + FETCH
    assert run.states()["computing"] == 1
    # Issued in cycle 1, after the load; that one is answered long after.
    assert run.cycles > 4000 > code
    waited = Run(BESIDE, [("fetch", BASE), ("compute", 1)])
    # The block is placed in cycle 0, opened in 1; it has ended a cycle after the last instruction.
    assert waited.cycles - code == Run(BESIDE, [("compute", 1)]).cycles


def test_code_is_translated_only_where_the_cache_misses() -> None:
    run = Run(BESIDE, [("fetch", BASE), ("fetch", BASE), ("fetch", BASE + 64), ("compute", 1)])
    assert run.count("instruction", "lookups") == 3
    assert run.count("tlb/instruction", "lookups") == run.count("instruction", "fills") == 2
    assert run.count("sm", "instructions") == 1


def test_lines_ahead_are_fetched_within_the_page_and_nobody_waits() -> None:
    ahead = attrs.evolve(BESIDE, instruction=attrs.evolve(INSTRUCTION, ahead=3))
    script = [("fetch", BASE + 4096 - 128), ("compute", 1)]
    run = Run(ahead, script)
    assert run.count("instruction", "fills") == 2  # one more line, then the page ends
    assert run.cycles == Run(BESIDE, script).cycles
    assert Run(ahead, [("fetch", BASE), ("compute", 1)]).count("instruction", "fills") == 4


@pytest.mark.parametrize(("scope", "misses"), [("sm", 2), ("tpc", 1)])
def test_the_sms_of_a_tpc_share_a_cache(scope: str, misses: int) -> None:
    config = attrs.evolve(BESIDE, sms_per_tpc=2, scalar=attrs.evolve(SCALAR, scope=scope))
    config = change(config, sm={"count": 2})
    late = [("compute", 2000), ("scalar", BASE), ("wait",)]
    launch = ScriptedLaunch([[[("scalar", BASE), ("wait",)]], [late]])
    run = Run.of(config, [Tenant("two", ScriptedApplication([launch]), range(2))])
    assert [sm.counters[0].loads for sm in run.machine.sms] == [1, 1]
    assert run.count("scalar", "misses") == run.count("tlb/scalar", "misses") == misses


def test_without_a_tlb_of_its_own_it_asks_that_of_its_sm() -> None:
    config = attrs.evolve(SMALL, constant=attrs.evolve(SCALAR, tlb=None))
    script = [("load", BASE), ("wait",), ("constant", BASE), ("wait",)]
    assert side_latencies(config, script) == [ISSUE + 1 + CACHE + FROM_L2]
    assert Run(config, script).count("tlb/L1", "lookups") == 2


def test_a_full_queue_makes_the_warps_of_all_sms_wait_in_turn() -> None:
    scalar = attrs.evolve(SCALAR, scope="tpc", queue=1, mshrs=1, mshr_merge=1)
    config = change(attrs.evolve(BESIDE, sms_per_tpc=2, scalar=scalar), sm={"count": 2})
    warps = [[("scalar", BASE + 4096 * warp), ("wait",)] for warp in range(3)]
    launch = ScriptedLaunch([warps, warps])
    run = Run.of(config, [Tenant("two", ScriptedApplication([launch]), range(2))])
    assert run.count("scalar", "lookups") == 6
    assert run.states()["lsu"] > 0
    assert run.count("scalar", "stalls") > 0


def test_a_machine_without_side_caches_loads_through_the_l1_cache_and_has_its_code() -> None:
    run = Run(SMALL, [("fetch", BASE), ("read_only", BASE), ("wait",)])
    assert run.latencies == Run(SMALL, [("load", BASE), ("wait",)]).latencies
    assert run.count("l1", "lookups") == 1


@pytest.mark.parametrize(("at_launch", "misses"), [("keep", 1), ("invalidate", 2)])
def test_lines_are_kept_or_not_between_launches(at_launch: str, misses: int) -> None:
    config = attrs.evolve(BESIDE, scalar=attrs.evolve(SCALAR, at_launch=at_launch))
    kernels = [ScriptedLaunch([[[("scalar", BASE), ("wait",)]]])] * 2
    run = Run.of(config, [Tenant("two", ScriptedApplication(kernels), range(1))])
    assert run.count("scalar", "misses") == misses


class NaiveLru:
    """Sets of lines, the least recently used of each first."""

    def __init__(self, sets: int, ways: int) -> None:
        self.sets: list[list[int]] = [[] for _ in range(sets)]
        self.ways = ways

    def hits(self, line: int) -> bool:
        lines = self.sets[line % len(self.sets)]
        found = line in lines
        if found:
            lines.remove(line)
        elif len(lines) == self.ways:
            lines.pop(0)
        lines.append(line)
        return found


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.integers(0, 40), max_size=40))
def test_hits_are_those_of_a_naive_lru(lines: list[int]) -> None:
    script = [step for line in lines for step in (("scalar", BASE + 64 * line), ("wait",))]
    naive = NaiveLru(sets=8, ways=2)
    base = BASE // 64
    expected = sum(naive.hits(base + line) for line in lines)
    run = Run(BESIDE, script)
    assert run.count("scalar", "hits") == expected
    assert run.count("scalar", "fills") == len(lines) - expected
