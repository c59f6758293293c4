"""MIG instances: what each has to itself, what all share, and that nothing else is shared."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import attrs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.config.schema import GpuConfig
from gpusim.config.translation import WalkConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.request import Kind
from gpusim.files.units import cycles
from gpusim.hardware.dram import Completion
from gpusim.machine import Machine, Tenant, divide
from gpusim.machine.load import load_model
from gpusim.runs.run import run_machine
from tests.examples import examples
from tests.hardware.sm.observed import launch
from tests.hardware.sm.test_random import Program
from tests.hardware.sm.tiny_machines import machines, programs
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.instances import in_slices, on_instances, one_warp, private

BASE = 1 << 32
ALONE = 645
"""A load that misses everywhere, see `test_latency`."""
WALK = 500
LINE_FLITS = 4
PORT = 1  # one lookup a cycle in the shared TLB

TWO = in_slices(change(SMALL, walk={"walkers": 1}), 2)
"""Two slices of one SM, one L2 bank, one channel and one walker; the last TLB has one port."""
LOAD = one_warp(("load", BASE), ("wait",))


def by_app(run: Run) -> dict[int, int]:
    return {
        request.app: latency for request, latency in zip(run.requests, run.latencies, strict=True)
    }


def test_two_instances_share_the_ports_of_the_last_tlb_and_no_walker() -> None:
    found = Run.of(TWO, on_instances(TWO, 1, 1, applications=[LOAD, LOAD]))
    assert by_app(found) == {0: ALONE, 1: ALONE + PORT}


def test_two_instances_with_a_last_tlb_each_share_nothing() -> None:
    config = private(TWO)
    found = Run.of(config, on_instances(config, 1, 1, applications=[LOAD, LOAD]))
    assert by_app(found) == {0: ALONE, 1: ALONE}


def test_applications_without_instances_share_the_walkers() -> None:
    config = change(TWO, walk={"walkers": 1})
    tenants = [Tenant("a", LOAD, [0]), Tenant("b", LOAD, [1])]
    found = Run.of(config, tenants)
    assert by_app(found) == {0: ALONE, 1: ALONE + WALK}


def test_an_instance_of_two_slices_has_two_walkers() -> None:
    config = in_slices(change(SMALL, walk={"walkers": 1}), 3)
    pages = [("load", BASE + 4096 * page) for page in range(3)]
    (tenant,) = on_instances(config, 2, applications=[one_warp(*pages, ("wait",))])
    first, second, third = sorted(end for _, end in Run.of(config, [tenant]).loads)
    assert second - first == LINE_FLITS  # on the one link to the SM
    assert third - first == WALK


def test_the_shared_tlb_holds_the_pages_of_all() -> None:
    found = Run.of(TWO, on_instances(TWO, 1, 1, applications=[LOAD, LOAD]))
    assert [len(level) for level in found.machine.tlbs.values()] == [2, 1]
    own = Run.of(private(TWO), on_instances(TWO, 1, 1, applications=[LOAD, LOAD]))
    assert [len(level) for level in own.machine.tlbs.values()] == [2, 2]
    for one in (found, own):
        assert one.count("walk", "walks", "app0") == one.count("walk", "walks", "app1") == 1
        per_instance = [sum(c.walks for c in s.walkers.counters) for s in one.machine.systems]
        assert per_instance == [1, 1]


def test_a_tlb_of_slices_is_one_and_as_large_as_its_instance() -> None:
    cut = {"entries": 12, "ways": 6, "ports": 3, "mshrs": 96, "queue": 192}
    config = in_slices(SMALL, 3)
    tlb = {**config.tlb, "L2": attrs.evolve(config.tlb["L2"], scope="slices", **cut)}
    config = attrs.evolve(config, tlb=tlb)
    pages = ("load", *(BASE + 4096 * page for page in range(8)))
    blocks = [[[pages, ("wait",)]]] * 2
    apps = [ScriptedApplication([ScriptedLaunch(blocks, warp_size=8)]) for _ in range(2)]
    found = Run.of(config, on_instances(config, 1, 2, applications=apps))
    assert [one.array.reach() for one in found.machine.tlbs["L2"]] == [4, 8]
    assert found.count("walk", "walks", "app1") == 8, "walked once for both of its SMs"


def test_a_full_queue_of_walks_holds_up_and_loses_nothing() -> None:
    config = change(TWO, walk={"queue": 1, "latency": cycles(50)})
    pages = [("load", *(BASE + 4096 * (8 * step + lane) for lane in range(8))) for step in range(3)]
    busy = one_warp(*pages, ("wait",))
    found = Run.of(config, on_instances(config, 1, 1, applications=[busy, LOAD]))
    assert found.count("walk", "walks", "app0") == 24
    assert found.count("tlb/L2", "stalls") > 0


def test_slices_of_the_a100() -> None:
    config = load_model("a100-mig").config
    applications = [ScriptedApplication([])] * 3
    domains = divide(config, on_instances(config, 3, 2, 2, applications=applications))
    assert [domain.sms for domain in domains] == [range(42), range(42, 70), range(70, 98)]
    assert [domain.banks for domain in domains] == [range(24), range(24, 40), range(40, 56)]
    assert [domain.channels for domain in domains] == [range(15), range(15, 25), range(25, 35)]
    for domain, slices in zip(domains, (3, 2, 2), strict=True):
        assert domain.config.walk.walkers == 8 * slices
        assert domain.config.l2.size == slices * (2 << 20)
        assert domain.config.memory.size == slices * (5 << 30)
        assert domain.config.walk.cache == config.walk.cache
    assert config.instance(7) == config


def applications(config: GpuConfig, apps: list[Program]) -> list[ScriptedApplication]:
    return [ScriptedApplication([launch(config, *blocks) for blocks in app]) for app in apps]


def trace_of(machine: Machine, app: int) -> Any:
    """All that can be known of one application of a machine that has run."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in machine.counter_rows():
        if row.app == machine.names[app]:
            counts[row.component, row.name] += row.value
    scheduler = machine.schedulers[app]
    return (
        counts,
        [machine.sms[sm].ledger.sums[app] for sm in machine.tenants[app].sms],
        [(one.begin, one.end) for one in scheduler.records],
        scheduler.finished_at,
    )


few = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
mixes = st.sampled_from([(1, 1), (1, 2), (2, 1), (1, 1, 1)])


def multi_instance(config: GpuConfig) -> GpuConfig:
    return in_slices(change(config, sm={"count": 2}), 3)


@few
@given(machines(), mixes, st.lists(programs, min_size=3, max_size=3))
def test_instances_without_a_shared_tlb_do_not_know_of_each_other(
    config: GpuConfig, sizes: tuple[int, ...], apps: list[Program]
) -> None:
    config = private(multi_instance(config))
    # In a chip of several partitions it matters where an instance lies: banks may be far from it.
    config = change(config, l2={"partitions": 1, "far": None, "copies": None})
    if config.dram.scheduler.policy == "golden-silver-normal":
        # Turns at the silver queue go round all applications, those of other instances, too.
        config = change(config, dram={"scheduler": PolicyConfig("fr-fcfs")})
    scripted = applications(config, apps)[: len(sizes)]
    together = Machine(config, on_instances(config, *sizes, applications=scripted), seed=1)
    run_machine(together)
    for index, (size, application) in enumerate(zip(sizes, scripted, strict=True)):
        (tenant,) = on_instances(config, size, applications=[application])
        alone = Machine(config, [attrs.evolve(tenant, name=f"app{index}")], seed=1)
        run_machine(alone)
        assert trace_of(alone, 0) == trace_of(together, index)


@few
@given(machines(), mixes, st.lists(programs, min_size=3, max_size=3))
def test_instances_with_a_shared_tlb_lose_nothing(
    config: GpuConfig, sizes: tuple[int, ...], apps: list[Program]
) -> None:
    config = multi_instance(config)
    scripted = applications(config, apps)[: len(sizes)]
    machine = Machine(config, on_instances(config, *sizes, applications=scripted), seed=1)
    run_machine(machine)
    for system in machine.systems:
        foreign = set(range(len(sizes))) - set(system.domain.apps)
        for app in foreign:
            assert system.walkers.counters[app].requests == 0
            assert all(bank.counters[app].lookups == 0 for bank in system.banks)


@few
@given(machines(), programs)
def test_the_largest_instance_is_the_whole_gpu(config: GpuConfig, app: Program) -> None:
    config = multi_instance(config)
    (application,) = applications(config, [app])
    (tenant,) = on_instances(config, 3, applications=[application])
    found = []
    for instance in (3, None):
        machine = Machine(config, [attrs.evolve(tenant, instance=instance)], seed=1)
        run_machine(machine)
        found.append((list(machine.counter_rows()), trace_of(machine, 0)))
    assert found[0] == found[1]


# -- channels by application -----------------------------------------------------------------------


def partitioned(config: GpuConfig, channels: int) -> GpuConfig:
    dram = {"channels": channels, "partition": "channels"}
    return change(config, dram=dram, sm={"count": 3})


def channels_used(config: GpuConfig, tenants: list[Tenant]) -> dict[int, set[int]]:
    """By the reads of each application, of data and of page tables."""
    machine = Machine(config, tenants, seed=3)
    used: dict[int, set[int]] = {app: set() for app in range(len(tenants))}

    def note(done: Completion) -> None:
        if done.kind != Kind.WRITEBACK:  # those belong to whose fill evicted the line
            used[done.app].add(done.channel)

    for channel in machine.systems[0].channels:
        channel.on_request.listen(note)
    run_machine(machine)
    return used


STREAM = [
    step
    for line in range(0, 512, 16)
    for step in (("store", *(BASE + 128 * (line + lane) for lane in range(16))), ("wait",))
]


def test_each_application_has_its_own_channels() -> None:
    dram = attrs.evolve(GDDR5, mapping=SMALL.dram.mapping)
    real = attrs.evolve(SMALL, dram=dram, walk=WalkConfig(8, "memory"))
    small_l2 = change(real, l2={"size": SMALL.l2.line * 8})
    for count, expected in (
        (1, [{0, 1, 2, 3}]),
        (2, [{0, 1}, {2, 3}]),
        (3, [{0}, {1}, {2, 3}]),
    ):
        config = partitioned(small_l2, 4)
        tenants = [Tenant(f"app{sm}", one_warp(*STREAM), [sm]) for sm in range(count)]
        assert list(channels_used(config, tenants).values()) == expected
        whole = change(config, dram={"partition": None})
        assert all(used == {0, 1, 2, 3} for used in channels_used(whole, tenants).values())


def test_alone_an_application_has_all_channels() -> None:
    found = []
    for partition in ("channels", None):
        config = change(partitioned(SMALL, 4), dram={"partition": partition})
        machine = Machine(config, [Tenant("a", one_warp(*STREAM), [0])], seed=3)
        run_machine(machine)
        found.append((list(machine.counter_rows()), machine.schedulers[0].finished_at))
    assert found[0] == found[1]


@given(st.integers(1, 8), st.integers(1, 8))
def test_parts_of_memory_are_balanced_and_apart(channels: int, apps: int) -> None:
    config = partitioned(SMALL, channels)
    (domain,) = divide(config, [Tenant(f"app{app}", LOAD, [0]) for app in range(apps)])
    if apps > channels:
        return
    parts = domain.parts
    assert [channel for part in parts for channel in part.channels] == list(range(channels))
    widths = [len(part.channels) for part in parts]
    assert max(widths) - min(widths) <= 1
    assert parts[0].base == 0
    assert all(one.base + one.size == two.base for one, two in pairwise(parts))
    assert parts[-1].base + parts[-1].size == config.memory.size
    assert all(part.base % config.memory.page == 0 for part in parts)
    for part in parts:
        assert abs(part.size - config.memory.size * len(part.channels) / channels) < 4096


@few
@given(machines(), programs, programs)
def test_tenants_with_their_own_channels_lose_nothing(
    config: GpuConfig, one: Program, two: Program
) -> None:
    config = partitioned(config, 3)
    tenants = [
        Tenant(f"app{index}", application, [index])
        for index, application in enumerate(applications(config, [one, two]))
    ]
    machine = Machine(config, tenants, seed=1)
    run_machine(machine)
    pages = range(1 << 20, (1 << 20) + 10)
    split = 3 // 2 * config.memory.size // 3 // config.memory.page
    mine, yours = ({machine.page_table.translate(asid, vpn) for vpn in pages} for asid in (0, 1))
    assert max(mine) < split <= min(yours)
