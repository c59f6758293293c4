"""What TLB arrays that search sets in turn, or take a stage more, cost; worked out by hand.

The machine is that of `test_latency`; its L1 TLB has 4 sets of 4 ways here.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.signals import Signals
from gpusim.files.units import cycles, parse_duration
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.machine import Tenant
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change
from tests.machine.test_latency import BASE, ISSUE, L1, L1_TLB, L2_TLB

MISS_EVERYWHERE = 645  # see test_latency


def machine(blocks: int = 1, latency: str = "1 cycles", **options: Any) -> GpuConfig:
    """`SMALL` with an L1 TLB dealt out to `blocks` blocks; options of the array."""
    array = PolicyConfig(options.pop("policy", "tb-partitioned"), options)
    return with_l1(
        change(SMALL, sm={"max_blocks": blocks}), array=array, latency=parse_duration(latency)
    )


def with_l1(config: GpuConfig, **keys: Any) -> GpuConfig:
    level = attrs.evolve(config.tlb["L1"], **({"entries": 16, "ways": 4} | keys))
    return attrs.evolve(config, tlb={**config.tlb, "L1": level})


def touch(pages: int) -> Script:
    """Loads from pages, one after the other, each from another line of the L1 cache."""
    return [step for page in range(pages) for step in (("load", address(page)), ("wait",))]


def address(page: int) -> int:
    return BASE + 4096 * page + 128 * page


def test_a_miss_searches_all_sets_of_the_block() -> None:
    run = Run(machine(), [("load", BASE), ("wait",), ("load", BASE), ("wait",)])
    assert run.latencies == [MISS_EVERYWHERE + 3, ISSUE + L1]  # then it lies in the first set
    assert run.count("tlb/L1", "sets_searched") == 4 + 1


def test_a_hit_searches_up_to_its_set() -> None:
    # 12 pages fill sets 0, 1 and 2; pages 0, 4 and 8 are the first of each.
    again = [step for page in (0, 4, 8) for step in (("load", address(page)), ("wait",))]
    run = Run(machine(), [*touch(12), *again])
    assert run.latencies[-3:] == [ISSUE + L1, ISSUE + L1 + 1, ISSUE + L1 + 2]


def test_each_set_takes_the_latency_of_the_level() -> None:
    for latency in ("3 cycles", "3ns"):
        run = Run(machine(latency=latency), [*touch(12), ("load", address(8)), ("wait",)])
        assert run.latencies[-1] == ISSUE + L1 + 2 * 3


def test_all_sets_at_once() -> None:
    run = Run(machine(parallel_compare=True), [*touch(12), ("load", address(8)), ("wait",)])
    assert run.latencies[0] == MISS_EVERYWHERE
    assert run.latencies[-1] == ISSUE + L1


def test_more_blocks_have_fewer_sets_to_search() -> None:
    run = Run(machine(blocks=2), [("load", BASE), ("wait",)])
    assert run.latencies == [MISS_EVERYWHERE + 1]
    assert Run(machine(blocks=4), [("load", BASE), ("wait",)]).latencies == [MISS_EVERYWHERE]


def test_a_port_that_is_held_serves_no_other_lookup_during_a_search() -> None:
    # Page 8 is in set 2: 3 sets.  Both lines of it are in the L1 cache.
    lines = (address(8), address(8) + 128)
    warm = [("load", lines[1]), ("wait",)]
    run = Run(machine(hold_port=True), [*touch(12), *warm, ("load", *lines), ("wait",)])
    assert run.latencies[-2:] == [ISSUE + L1 + 2, ISSUE + 3 + L1 + 2]


@pytest.mark.parametrize("recipe", ["partitioning", "partitioning-sharing"])
def test_a_search_takes_time_but_holds_no_port(recipe: str) -> None:
    """ORCH §IV-B: to search two sets doubles the lookup time; ports are not mentioned."""
    array = load_model("kepler-uvm", [recipe]).config.tlb["L1"].array
    lines = (address(8), address(8) + 128)
    warm = [("load", lines[1]), ("wait",)]
    run = Run(
        machine(policy=array.policy, **array.options),
        [*touch(12), *warm, ("load", *lines), ("wait",)],
    )
    assert run.latencies[-2:] == [ISSUE + L1 + 2, ISSUE + 1 + L1 + 2]


def test_a_search_holds_the_port_of_a_deeper_level_too() -> None:
    # Two pages of one instruction miss the L1 TLB; in the L2 TLB each searches the 4 sets that
    # the one block has, and the second search begins when the first has ended.
    level = attrs.evolve(
        SMALL.tlb["L2"], scope="sm", array=PolicyConfig("tb-partitioned", {"hold_port": True})
    )  # 64 entries, 16 ways, 10 cycles a set
    config = attrs.evolve(change(SMALL, sm={"max_blocks": 1}), tlb={**SMALL.tlb, "L2": level})
    run = Run(config, [("load", BASE, BASE + 4096 + 128), ("wait",)])
    search = 3 * L2_TLB
    # The second one arrives a cycle later and waits until the port is free.
    assert run.count("tlb/L2", "queue_cycles") == search
    assert run.latencies[0] == MISS_EVERYWHERE + search
    assert run.latencies[1] - run.latencies[0] >= search


@pytest.mark.parametrize(
    ("policy", "fill", "misses"),
    [
        ("tb-partitioned", "each", 2),
        ("tb-partitioned", "first", 3),
        ("tb-partitioned-shared", "each", 2),
        ("tb-partitioned-shared", "first", 3),
    ],
)
def test_a_translation_that_two_blocks_wait_for(policy: str, fill: str, misses: int) -> None:
    # Both blocks miss the same page at once; then each loads another line of it.
    script = [("load", BASE), ("wait",), ("load", BASE + 128), ("wait",)]
    run = Run(machine(blocks=2, policy=policy, merged_fill=fill), script, blocks=2)
    assert run.count("tlb/L1", "merged") == 1
    assert run.count("tlb/L1", "misses") == misses
    assert run.count("tlb/L1", "hits") == 4 - misses


def test_a_further_stage_delays_all_lookups_but_holds_no_port() -> None:
    sets = PolicyConfig("base-delta", {"extra_cycles": 1})
    lines = (BASE, BASE + 128)
    script = [
        *[step for line in lines for step in (("load", line), ("wait",))],
        ("load", *lines),
        ("wait",),
    ]
    run = Run(with_l1(SMALL, sets=sets), script)
    assert run.latencies[0] == MISS_EVERYWHERE + 1
    assert run.latencies[-2:] == [ISSUE + L1 + 1, ISSUE + 1 + L1 + 1]
    fast = Run(with_l1(SMALL), script)
    assert fast.latencies[-2:] == [ISSUE + L1, ISSUE + 1 + L1]


def test_stages_and_searches_add_up() -> None:
    sets = PolicyConfig("base-delta", {"extra_cycles": 1})
    run = Run(with_l1(machine(), sets=sets), [("load", BASE), ("wait",), ("load", BASE), ("wait",)])
    assert run.latencies == [MISS_EVERYWHERE + 3 + 1, ISSUE + L1 + 1]


def test_a_level_without_latency() -> None:
    run = Run(with_l1(SMALL, latency=cycles(0)), [("load", BASE), ("wait",)])
    assert run.latencies == [MISS_EVERYWHERE - L1_TLB]


class Diary(SetAssociativeArray):
    """Writes down what it hears of kernels and blocks."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.told: list[tuple[str, int]] = []

    def attach(self, signals: Signals) -> None:
        signals.listen("kernel.begin", lambda _sm, blocks, _cycle: self.tell("kernel", blocks))
        signals.listen("block.end", lambda _sm, slot, _cycle: self.tell("end", slot))

    def tell(self, what: str, number: int) -> None:
        self.told.append((what, number))


def test_arrays_hear_of_kernels_and_blocks() -> None:
    diary = PolicyConfig(f"{__name__}:Diary")
    config = change(SMALL, sm={"max_blocks": 2, "count": 2})
    tlb = {name: attrs.evolve(level, array=diary) for name, level in config.tlb.items()}
    short, long = [("compute", 1)], [("load", BASE), ("wait",)]
    launches = [
        ScriptedLaunch([[long], [long], [short], [long]]),
        ScriptedLaunch([[short]], shared_bytes=30 << 10),
    ]
    tenant = Tenant("scripted", ScriptedApplication(launches), range(2))
    run = Run.of(attrs.evolve(config, tlb=tlb), [tenant])
    # Blocks 0 and 2 go to SM 0, of which the short one ends first; blocks 1 and 3 to SM 1; the
    # one of the second kernel, of which an SM holds one, to SM 0.
    first, second = [level.array.told for level in run.machine.tlbs["L1"]]
    assert first == [("kernel", 2), ("end", 1), ("end", 0), ("kernel", 1), ("end", 0)]
    assert second[0] == ("kernel", 2)
    assert sorted(second[1:3]) == [("end", 0), ("end", 1)]
    assert second[3:] == [("kernel", 1)]
    shared = run.machine.tlbs["L2"][0].array.told
    assert sorted(shared) == sorted(first + second)
