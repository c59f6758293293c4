"""Pages of several sizes in whole machines: their walks by hand, real programs, other arrays.

The machine of the walks by hand is that of `test_latency`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import pytest

import gpusim
from gpusim.config.schema import GpuConfig, MemoryConfig
from gpusim.config.translation import WalkCacheConfig, WalkConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.warp_program import Buffer
from gpusim.files.units import Bytes, cycles
from gpusim.machine import Machine, Tenant
from gpusim.results.result import Result
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.test_latency import (
    BASE,
    CROSSBAR,
    DRAM,
    ISSUE,
    L1,
    L1_TLB,
    L2,
    L2_TLB,
    LINE_FLITS,
)
from tests.quick import quick

PAGE, KIB64, MIB2 = 4096, 64 << 10, 2 << 20
HUGE, MIDDLE, SMALL_ONES = BASE, BASE + MIB2, BASE + MIB2 + KIB64
ARRAY = Buffer("a", BASE, MIB2 + KIB64 + 2 * PAGE)
"""A page of 2 MiB, one of 64 KiB and two of 4 KiB."""
AROUND = ISSUE + L1_TLB + L2_TLB + L1 + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1
LARGEST = PolicyConfig("largest-fit")


def mixed(config: GpuConfig = SMALL, **options: Any) -> GpuConfig:
    return change(config, memory={"frames": PolicyConfig("largest-fit", options)})


def run_of(config: GpuConfig, *addresses: int) -> Run:
    """Loads, one after the other, of an application with `ARRAY`."""
    script = [step for address in addresses for step in (("load", address), ("wait",))]
    application = ScriptedApplication([ScriptedLaunch([[script]])], buffers=(ARRAY,))
    return Run.of(config, [Tenant("app", application, range(config.sm.count))])


def walk_cycles(walk: WalkConfig, *addresses: int) -> list[int]:
    run = run_of(mixed(attrs.evolve(SMALL, walk=walk)), *addresses)
    return [latency - AROUND for latency in run.latencies]


def test_a_page_of_2_mib_is_walked_in_three_reads() -> None:
    walk = WalkConfig(8, "per-level", cycles(100))
    assert walk_cycles(walk, HUGE, MIDDLE, SMALL_ONES) == [300, 400, 400]


def test_walks_of_all_sizes_share_the_upper_levels() -> None:
    levels = WalkCacheConfig("levels", entries=64, latency=cycles(2))
    walk = WalkConfig(8, "per-level", cycles(100), cache=levels)
    # Its leaf table is new to the second walk, known to the third.
    assert walk_cycles(walk, HUGE, MIDDLE, SMALL_ONES) == [302, 202, 102]


def test_walks_of_all_sizes_share_lines() -> None:
    lines = WalkCacheConfig("lines", size=Bytes(1024), ways=0, line=Bytes(64), latency=cycles(3))
    walk = WalkConfig(8, "per-level", cycles(100), cache=lines)
    # The entries of 2 MiB and of the leaf table lie side by side; those of the leaf table are
    # 0 and 16, and 16 × 8 bytes apart.
    assert walk_cycles(walk, HUGE, MIDDLE, SMALL_ONES) == [3 * 103, 3 * 3 + 103, 3 * 3 + 103]


def test_one_entry_of_a_tlb_maps_all_of_a_page() -> None:
    offsets = [0, PAGE, 100 * PAGE, MIB2 - 128]
    run = run_of(mixed(), *(HUGE + offset for offset in offsets), MIDDLE, MIDDLE + KIB64 - 128)
    assert run.count("walk", "walks") == 2
    assert [run.count("tlb/L1", name) for name in ("lookups", "hits", "misses")] == [6, 4, 2]
    assert [request.mapping.pages for request in run.requests if request.mapping] == [512] * 4 + [
        16,
        16,
    ]
    assert [one.address for one in run.requests[:4]] == offsets, "frames follow one another"
    assert run.machine.page_table.mapped_pages == 2


@pytest.mark.parametrize("translation", ["before", "parallel", "after"])
@pytest.mark.parametrize("array", ["sub-entry", "star", "cluster"])
def test_arrays_of_small_pages_ask_for_each(array: str, translation: str) -> None:
    levels = {
        name: attrs.evolve(level, array=PolicyConfig(array), sub_entries=4)
        for name, level in SMALL.tlb.items()
    }
    config = change(attrs.evolve(mixed(), tlb=levels), l1={"translation": translation})
    run = run_of(config, HUGE, HUGE + PAGE + 128, HUGE + 256)
    assert run.count("walk", "walks") == run.count("tlb/L2", "misses") == 2
    assert len({id(request.mapping) for request in run.requests}) == 1
    assert run.machine.page_table.mapped_pages == 1


def test_large_pages_and_small_ones_take_entries_alike() -> None:
    """17 pages of 64 KiB do not fit into an L1 TLB of 16 entries."""
    array = Buffer("a", BASE, 17 * KIB64)
    script = [
        step
        for turn in range(2)
        for page in range(17)
        for step in (("load", BASE + KIB64 * page + 128 * turn), ("wait",))
    ]
    application = ScriptedApplication([ScriptedLaunch([[script]])], buffers=(array,))
    run = Run.of(mixed(), [Tenant("app", application, range(1))])
    assert run.count("tlb/L1", "misses") == 2 * 17
    assert run.count("tlb/L1", "evictions") == 2 * 17 - 16
    assert run.count("walk", "walks") == 17


# -- real programs -------------------------------------------------------------------------------


SHORT: dict[str, dict[str, Any]] = {"atax": {"iterations": 3}, "gups": {"updates": 8}}


class Seen:
    """A run of a real program, and the sizes of the pages that it touched."""

    def __init__(self, workload: str, **keys: Any) -> None:
        overrides = {"memory.page": "4KiB", "memory.frames": "largest-fit"}
        overrides |= {key.replace("__", "."): value for key, value in keys.items()}
        self.machines: list[Machine] = []
        self.result: Result = gpusim.simulate(
            gpusim.load_model("tiny", overrides=overrides),
            gpusim.load_workload(workload, scale="smoke", overrides=SHORT.get(workload)),
            attach=self.machines.append,
        )

    @property
    def sizes(self) -> dict[int, int]:
        """By size of a page, in small ones: how many there are."""
        table = self.machines[0].page_table
        mappings = {id(path.mapping): path.mapping for path in table._paths.values()}
        return Counter(mapping.pages for mapping in mappings.values())

    def counters(self) -> Any:
        return self.result.counters.to_dict("list")


ARRAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sub-entries": {"tlb__L2__array": "sub-entry", "tlb__L2__sub_entries": 4},
    "star": {"tlb__L2__array": "star", "tlb__L2__sub_entries": 4},
    "cluster": {"tlb__L1__array": "cluster", "tlb__L1__sub_entries": 4},
    "compressed": {"tlb__L2__sets": "base-delta"},
    "blocks": {"tlb__L1__array": "tb-partitioned-shared"},
    "tokens": {"tlb__L2__fill": {"policy": "mask-tokens", "epoch": 1000, "initial": 0.3}},
    "srrip": {"tlb__L1__replacement": "srrip", "tlb__L2__replacement": "plru"},
    "ideal": {"tlb__L1__ideal": True},
    "lines": {"walk__cache__kind": "lines", "walk__cache__size": "1KiB", "walk__cache__ways": 2},
    "virtual L1": {"l1__translation": "after"},
}


@pytest.mark.parametrize("kind", quick(ARRAYS, "plain", "virtual L1"))
def test_a_program_on_pages_of_two_sizes_conserves_and_repeats(kind: str) -> None:
    first, again = Seen("atax", **ARRAYS[kind]), Seen("atax", **ARRAYS[kind])
    assert first.result.digest == again.result.digest
    assert set(first.sizes) == {1, 512}


@pytest.mark.long
def test_sizes_of_a_program() -> None:
    whole, middle, small = (
        Seen("atax", memory__frames={"policy": "largest-fit", "largest": largest})
        for largest in ("2MiB", "64KiB", "4KiB")
    )
    assert set(middle.sizes) == {1, 16}
    assert set(small.sizes) == {1}
    walks = [seen.result.summary["walks"] for seen in (whole, middle, small)]
    assert walks == sorted(walks)
    assert walks[0] < walks[1] < walks[2]


@pytest.mark.long
@pytest.mark.parametrize("page", ["4KiB", "64KiB", "2MiB"])
def test_pages_of_one_size_only_are_those_of_first_touch(page: str) -> None:
    frames = {"policy": "largest-fit", "largest": page}
    seen = Seen("gups", memory__page=page, memory__frames=frames)
    plain = Seen("gups", memory__page=page, memory__frames="first-touch")
    assert seen.result.summary["cycles"] == plain.result.summary["cycles"]
    assert seen.counters() == plain.counters()


def test_parts_of_memory_begin_where_large_pages_may() -> None:
    """Two applications have half of the memory each; half of 999 MiB is no multiple of 2 MiB."""
    memory = MemoryConfig(size=Bytes(999 << 20), frames=LARGEST)
    config = change(SMALL, sm={"count": 2}, dram={"channels": 2, "partition": "channels"})
    tenants = [
        Tenant(
            f"app{sm}",
            ScriptedApplication([ScriptedLaunch([[[("load", HUGE)]]])], buffers=(ARRAY,)),
            [sm],
        )
        for sm in range(2)
    ]
    run = Run.of(attrs.evolve(config, memory=memory), tenants)
    assert [mapping.pages for one in run.requests if (mapping := one.mapping)] == [512, 512]
    assert all(one.address % MIB2 == 0 for one in run.requests)
