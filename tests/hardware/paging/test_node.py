"""Demand paging on a node: the driver behind all GPUs, each with its buffer, link and memory."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig, ShootdownConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.warp_program import Buffer
from gpusim.files.units import Bytes, cycles
from gpusim.hardware.walk import NodeTable
from gpusim.machine import Machine, Tenant
from tests.examples import examples
from tests.hardware.paging.bench import (
    BASE,
    BATCH,
    L1_TLB,
    L2_TLB,
    PAGE,
    WALK,
    each,
    load,
    paged,
    store,
)
from tests.hardware.paging.test_conservation import PAGES, Moved, scripts
from tests.hardware.paging.test_fault_latency import ARRIVES, FAULT
from tests.machine.bench import Run, Script, ScriptedApplication, ScriptedLaunch
from tests.machine.node_bench import node

FIRST_TOUCH = PolicyConfig("first-touch")
REMOTE_FETCH = 159
"""A load of a line in another GPU's L2 cache, and with its DRAM 100 more (`test_node`)."""


def _node(gpus: int = 2, pages: dict[str, Any] | None = None, **keys: Any) -> GpuConfig:
    keys.setdefault("placement", FIRST_TOUCH)
    return node(gpus, paged(**(pages or {})), **keys)


def each_on_its_gpu(
    config: GpuConfig, *scripts: Script, moved: Moved | None = None, pages: int = 64
) -> Run:
    """One warp a GPU, over one array."""
    launch = ScriptedLaunch([[list(script)] for script in scripts])
    application = ScriptedApplication([launch], buffers=(Buffer("a", BASE, PAGE * pages),))
    tenant = Tenant("scripted", application, range(config.sms))
    return Run.of(config, [tenant], None if moved is None else moved.attach)


def after(cycles_: int, *script: tuple[Any, ...]) -> Script:
    return [("compute", cycles_), ("wait",), *script]


def resident(machine: Machine) -> list[int]:
    """Pages in the memory of each GPU, where tables and books say the same."""
    assert machine.paging is not None
    table = machine.page_table
    assert isinstance(table, NodeTable)
    found = []
    for memory in machine.paging.memories.all:
        pages = list(memory.pages())
        assert memory.used == len(pages)
        for tag in pages:
            mapping = table.find(tag)
            assert mapping is not None
            assert table.gpu_of(mapping.pfn) == memory.gpu, "one owner a page"
        found.append(len(pages))
    assert sum(found) == sum(mapping.pages for mapping in table.mappings())
    return found


def test_a_fault_on_gpu_1() -> None:
    """It costs what it costs one GPU alone, and the page lies with the GPU that touched it."""
    done = each_on_its_gpu(_node(), [], each(3))
    assert done.latencies == [FAULT]
    assert done.states()["fault"] == BATCH + ARRIVES
    assert resident(done.machine) == [0, 1]
    counted = {row.instance: row.value for row in _rows(done, "link", "bytes_to_device")}
    assert counted == {0: 0, 1: PAGE}


def _rows(done: Run, path: str, counter: str) -> list[Any]:
    rows = done.machine.counter_rows()
    return [row for row in rows if row.component == path and row.name == counter]


def test_a_page_that_came_for_another_gpu_is_read_where_it_lies() -> None:
    done = each_on_its_gpu(_node(), each(3), after(50_000, *each(3)))
    assert done.latencies == [FAULT, L1_TLB + L2_TLB + WALK + REMOTE_FETCH]
    assert done.count("paging", "pages_asked") == 1
    assert resident(done.machine) == [1, 0]


def test_gpus_that_fault_at_once_are_served_in_turn() -> None:
    """The first batch is GPU 0's; GPU 1's fault waits in its own buffer, and is not flushed."""
    done = each_on_its_gpu(_node(), each(3), each(5))
    assert done.latencies == [FAULT, FAULT + BATCH + ARRIVES]
    assert done.count("paging", "faults_flushed") == 0
    assert done.count("paging", "batches") == 2


def test_links_do_not_wait_for_each_other() -> None:
    """Pages that come for one batch to two memories have a link each: the second has no queue."""
    interleaved = _node(placement=PolicyConfig("interleave"))
    first, second = each(3), each(2)
    done = each_on_its_gpu(interleaved, first, second)
    assert resident(done.machine) == [1, 1]
    assert [row.value for row in _rows(done, "link", "transfers_to_device")] == [1, 1]


def test_what_leaves_is_forgotten_by_all_gpus() -> None:
    """Page 3 lies with GPU 0, and GPU 1 has it in its TLBs when pages 4 and 5 push it out."""
    config = _node(pages={"capacity": Bytes(2 * PAGE)})
    done = each_on_its_gpu(
        config, [*each(3), *after(40_000, *each(4, 5))], after(20_000, *each(3), *each(3))
    )
    assert done.count("paging", "pages_out") == 1
    assert resident(done.machine) == [2, 0]
    late = [*each(3), *after(80_000, *each(3))]
    done = each_on_its_gpu(config, [*each(3), *after(40_000, *each(4, 5))], after(20_000, *late))
    assert done.count("faults", "faults") == 4, "GPU 1 faults where it read before"
    assert resident(done.machine) == [2, 1]


def test_stores_of_other_gpus_are_written_back_by_the_owner() -> None:
    config = _node(pages={"capacity": Bytes(PAGE)})
    done = each_on_its_gpu(
        config, [*each(3), *after(60_000, *each(4))], after(20_000, store(3), ("wait",))
    )
    assert done.count("paging", "pages_written_back") == 1
    assert [row.value for row in _rows(done, "link", "bytes_to_host")] == [PAGE, 0]


nodes = st.fixed_dictionaries(
    {
        "gpus": st.integers(1, 3),
        "placement": st.sampled_from(["first-touch", "interleave", "by-array"]).map(PolicyConfig),
        "page_tables": st.sampled_from(["per-gpu", "shared"]),
        "caching": st.sampled_from(["home", "reader"]),
    }
)
pagings = st.fixed_dictionaries(
    {
        "capacity": st.none() | st.integers(1, PAGES).map(lambda pages: Bytes(pages * PAGE)),
        "eviction": st.sampled_from(["lru", "lru-accesses", "access-counter", "random"]).map(
            PolicyConfig
        ),
        "eviction_block": st.sampled_from([PAGE, 2 * PAGE, 16 * PAGE]).map(Bytes),
        "prefetch": st.sampled_from(["none", "block", "tree", "stride"]).map(PolicyConfig),
        "replay": st.sampled_from(["all", "served"]),
        "batch": st.sampled_from([1, 2, 256]),
        "fault_buffer": st.sampled_from([1, 3, 1024]),
        "arrays": st.sampled_from(["host", "device"]),
        "utlb_faults": st.sampled_from([None, 1, 3]),
        "interrupt": st.sampled_from([0, 500, 20_000]).map(cycles),
    }
)
shootdowns = st.sampled_from([None, ShootdownConfig(cycles(30), cycles(20), cycles(50))])


@settings(max_examples=examples(60), deadline=None)
@given(scripts, nodes, pagings, shootdowns)
def test_pages_and_bytes(
    programs: list[Script],
    where: dict[str, Any],
    keys: dict[str, Any],
    shootdown: ShootdownConfig | None,
) -> None:
    """`Run` itself checks the laws of the machine, and that nothing is under way at its end."""
    config = attrs.evolve(_node(pages=keys, **where), shootdown=shootdown)
    moved = Moved()
    done = each_on_its_gpu(config, *programs, moved=moved)
    accesses = sum(step[0] in ("load", "store") for script in programs for step in script)
    assert len(done.requests) == accesses
    there = resident(done.machine)
    room = keys["capacity"]
    assert room is None or max(there) * PAGE <= room
    out, placed = done.count("paging", "pages_out"), done.count("paging", "placed")
    assert sum(there) == done.count("paging", "resident")
    assert moved.bytes[False] == (sum(there) + out - placed) * PAGE
    assert moved.bytes[True] == done.count("paging", "pages_written_back") * PAGE


def test_oversubscription_is_that_of_all_gpus_together() -> None:
    config = _node(pages={"oversubscription": 2.0}, gpus=2)
    done = each_on_its_gpu(config, [load(0), ("wait",)])
    assert done.machine.paging is not None
    assert [memory.room for memory in done.machine.paging.memories.all] == [16, 16]
