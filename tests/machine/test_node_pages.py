"""Pages of a node that GPUs ask a host for, and that move: every step worked out by hand.

A GPU is `bench.SMALL`, links move 32 bytes a cycle and take 50.  The host is 200 cycles away, and
walks a page in 100.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from gpusim.config.node import HostMmuConfig, MigrationConfig
from gpusim.config.schema import GpuConfig, PolicyConfig
from gpusim.config.translation import WalkConfig
from gpusim.core.errors import UserError
from gpusim.files.units import cycles
from gpusim.machine import Machine, Tenant
from gpusim.machine.load import load_model
from gpusim.runs.conservation import ConservationError, check_conservation
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch
from tests.machine.node_bench import node, page, run_on
from tests.whole.running import run

TRIP, HOST_WALK = 200, 100
HOST = HostMmuConfig(cycles(TRIP), entries=16, walkers=1, latency=cycles(HOST_WALK))
FAULT = TRIP + HOST_WALK + TRIP
WALK = 500
COPY = (4096 + 16 * 16) // 32 + 50
"""4 KiB over a free link, of which every 256 bytes have a header."""

ON_TOUCH = PolicyConfig("migrate-on-touch")


def _host(gpus: int = 2, config: GpuConfig = SMALL, **keys: Any) -> GpuConfig:
    return node(gpus, config, host_mmu=HOST, **keys)


def _together(config: GpuConfig, *scripts: Script) -> Run:
    """One warp a GPU."""
    launch = ScriptedLaunch([[list(script)] for script in scripts])
    tenant = Tenant("together", ScriptedApplication([launch]), range(config.sms))
    return Run.of(config, [tenant])


def _after(cycles_: int, *script: tuple[Any, ...]) -> Script:
    return [("compute", cycles_), ("wait",), *script]


def test_a_far_fault_costs_two_trips_a_walk_of_the_host_and_a_walk_more() -> None:
    script = [("load", page(1)), ("wait",)]
    near = run_on(node(), script).latencies[0]
    far = run_on(_host(), script)
    assert far.latencies[0] == near + FAULT + WALK
    assert far.states()["host_mmu"] == FAULT
    assert far.count("node/pages", "mapped_remotely") == 1


def test_a_page_in_the_hosts_tlb_is_not_walked_again() -> None:
    both = _together(
        _host(4),
        _after(1, ("load", page(3)), ("wait",)),
        _after(5000, ("load", page(3)), ("wait",)),
    )
    assert both.count("node/host_mmu", "hits") == 1
    assert both.count("node/far_faults", "fault_cycles") == FAULT + 2 * TRIP


def test_own_pages_that_were_placed_before_the_start_are_known() -> None:
    config = _host(
        config=attrs.evolve(
            SMALL, memory=attrs.evolve(SMALL.memory, frames=PolicyConfig("contiguous"))
        )
    )
    run = run_on(config, [("load", page(0)), ("wait",)])
    assert run.count("node/far_faults", "faults") == 1  # it is in no array of the script
    assert run.count("node/pages", "mapped_here") == 1


def test_a_page_that_no_table_has_moves_by_its_copy_alone() -> None:
    run = run_on(
        _host(remote=ON_TOUCH), [("load", page(1)), ("wait",), ("load", page(1, 128)), ("wait",)]
    )
    assert run.count("node/far_faults", "fault_cycles") == FAULT + COPY
    assert run.states()["migration"] == COPY + TRIP
    assert run.latencies[1] == 134  # at home now
    assert run.count("node/pages", "messages") == 0


def test_a_move_with_two_sharers_waits_for_both() -> None:
    # Page 1 of three GPUs lies with GPU 2; GPU 1 uses it there, and GPU 2 itself; then GPU 0 has
    # asked for it often enough.  All is quiet when the messages come.
    config = _host(3, remote=PolicyConfig("access-counters", {"threshold": 2}))
    first = [("load", page(1)), ("wait",)]
    twice = [*first, ("load", page(1, 128)), ("wait",), ("compute", 2000), ("wait",)]
    run = _together(config, _after(9000, *twice), _after(1, *first), _after(1, *first))
    assert run.count("node/pages", "migrations") == 1
    assert run.count("node/pages", "messages") == 3  # with GPU 0, whose table has it as well
    assert run.count("node/pages", "shootdown_cycles") == 2 * TRIP
    assert run.count("node/pages", "copy_cycles") == COPY
    assert run.count("node/pages", "migration_cycles") == 2 * TRIP + COPY


@pytest.mark.parametrize(("dram", "drained"), [(100, 0), (3000, 2168)])
def test_accesses_under_way_are_drained_before_the_acknowledgement(dram: int, drained: int) -> None:
    # GPU 0's fault comes to the host in cycle 10,213, and the message to GPU 1 in 10,413.  With a
    # slow DRAM GPU 1 has an access under way then, which is answered in 12,581.
    config = attrs.evolve(SMALL, dram=attrs.evolve(SMALL.dram, ideal_latency=cycles(dram)))
    warm = [("load", page(1)), ("wait",)]
    run = _together(
        _host(2, config, remote=ON_TOUCH),
        _after(9500, *warm),
        _after(1, *warm, ("compute", 5000), ("wait",), ("load", page(1, 256)), ("wait",)),
    )
    assert run.count("node/pages", "migrations") == 1
    assert run.count("node/pages", "shootdown_cycles") == 2 * TRIP + drained


def test_a_shootdown_finds_walks_before_and_after_their_read() -> None:
    # TLBs of one entry: page 0 is walked twice, the second time in 4 reads of 10 cycles from the L2
    # cache.  The page is forgotten in each cycle around that walk.  Only while
    # the last entry is read, which takes 10 cycles, it walks again, and finds nothing.
    walks = attrs.evolve(SMALL, walk=WalkConfig(8, "memory"))
    one_entry = {name: attrs.evolve(tlb, entries=1, ways=1) for name, tlb in walks.tlb.items()}
    config = _host(2, attrs.evolve(walks, tlb=one_entry), remote=ON_TOUCH)
    script = [step for n in (0, 2, 0) for step in (("load", page(n, 512 * n + 128)), ("wait",))]
    script[4] = ("load", page(0, 1024))

    def again(cycle: int) -> int:
        def attach(machine: Machine) -> None:
            assert machine.node is not None
            assert machine.node.far is not None
            moves = machine.node.far.moves

            def forget() -> Iterator[int]:
                yield cycle
                mapping = machine.page_table.find(page(0) >> 12)
                assert mapping is not None
                moves.known.gpus[0].forget(mapping)

            machine.env.start(forget())

        launch = ScriptedLaunch([[script]])
        tenant = Tenant("one", ScriptedApplication([launch]), range(1))
        run = Run.of(config, [tenant], attach)
        return run.count("walk", "again")

    found = [again(cycle) for cycle in range(1850, 1910)]
    assert found == [0] * 44 + [1] * 10 + [0] * 6


def test_a_move_of_fixed_cost() -> None:
    config = _host(remote=ON_TOUCH, migration=MigrationConfig("fixed", cycles(1000)))
    run = run_on(config, [("load", page(1)), ("wait",)])
    assert run.count("node/pages", "migration_cycles") == 1000
    assert run.count("node/link", "packets") == 0


def test_a_table_that_has_a_page_where_it_does_not_lie_is_a_violation() -> None:
    done = run_on(_host(), [("load", page(1)), ("wait",)])
    check_conservation(done.machine)
    tag = page(1) >> 12
    done.machine.page_table.remap(0, tag)  # and nothing else learns of it
    with pytest.raises(ConservationError, match="the table of GPU 0 has page 0x100001"):
        check_conservation(done.machine)


STORM: dict[str, object] = {
    "node.gpus": 4, "node.link.bandwidth": "16GB/s", "node.link.latency": "40 cycles",
    "node.host_mmu.trip": "30 cycles", "node.host_mmu.entries": 4, "node.host_mmu.walkers": 2,
    "node.host_mmu.latency": "50 cycles", "tlb.L1.entries": 4, "tlb.L1.ways": 4,
}  # fmt: skip


ON_TOUCH_STORM: dict[str, object] = {"node.remote": "migrate-on-touch"}
DUPLICATED: dict[str, object] = {"node.remote": "read-duplication"}
FIXED_COST: dict[str, object] = {"node.migration.cost": "fixed"}
RING_LINKS: dict[str, object] = {"node.link.topology": "ring", "node.link.queue": 1}
FIXED, RING = ON_TOUCH_STORM | FIXED_COST, ON_TOUCH_STORM | RING_LINKS
COUNTED: dict[str, object] = {"node.remote.policy": "access-counters", "node.remote.threshold": 3}


@pytest.mark.parametrize(
    ("workload", "remote"),
    [
        ("gups", {"node.remote": "migrate-on-touch"}),
        pytest.param("gups", RING, marks=pytest.mark.long),
        pytest.param("gups", FIXED, marks=pytest.mark.long),
        pytest.param("atax", COUNTED, marks=pytest.mark.long),
        pytest.param("atax", FIXED, marks=pytest.mark.long),
        pytest.param("atax", RING, marks=pytest.mark.long),
        pytest.param("gups", DUPLICATED | RING_LINKS, marks=pytest.mark.long),
        pytest.param("atax", DUPLICATED | FIXED_COST, marks=pytest.mark.long),
    ],
)
def test_storms_end_and_have_equal_digests(workload: str, remote: dict[str, object]) -> None:
    sizes = {"gups": {"updates": 3}, "atax": {"iterations": 1}}[workload]
    first, second = (
        run("tiny", workload, overrides=STORM | remote, parameters=sizes) for _ in range(2)
    )
    assert first.digest == second.digest
    assert first.summary["migrations"] > 0


@pytest.mark.parametrize("recipe", ["tlb-colt", "mask"])
def test_policies_that_look_at_pages_and_walks_know_those_of_their_gpu(recipe: str) -> None:
    # An array that takes in neighbours of a page would keep those that another GPU has in its table
    # alone; two GPUs walk the same page at once.
    few = {"log2_words": 14, "threads": 256, "updates": 2}
    settings = STORM | {"node.remote": "migrate-on-touch"}
    result = run("tiny", "gups", recipe, overrides=settings, parameters=few)
    assert result.summary["migrations"] > 0


def test_what_cannot_be_is_refused() -> None:
    sets = {"node.gpus": 2, "node.link.bandwidth": "1GB/s", "node.link.latency": "1 cycles"}
    with pytest.raises(UserError, match=r"add node\.host_mmu"):
        load_model("tiny", [], sets | {"node.remote": "migrate-on-touch"})
    host = {key: STORM[key] for key in STORM if key.startswith("node.host_mmu")}
    with pytest.raises(UserError, match="one table for all has every page"):
        load_model("tiny", [], sets | host | {"node.page_tables": "shared"})
    with pytest.raises(UserError, match=r"node\.migration"):
        load_model("tiny", [], sets | {"node.migration.cost": "steps"})
    with pytest.raises(UserError, match="ideal TLB"):
        load_model("tiny", ["ideal-l2-tlb"], sets | host)
