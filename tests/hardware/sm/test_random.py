"""Random programs on machines with too little of everything: nothing is lost, nothing stands still.

`run` itself checks conservation and that the machine has drained; deadlocks raise.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig
from gpusim.core.warp_program import Op
from gpusim.machine import Machine, Tenant
from gpusim.runs.run import run_machine
from tests.examples import examples
from tests.hardware.sm.observed import Observed, launch
from tests.hardware.sm.tiny_machines import machines, programs
from tests.machine.bench import ScriptedApplication

Program = list[list[list[list[tuple[Any, ...]]]]]

thorough = settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def tenants(config: GpuConfig, *apps: Program) -> list[Tenant]:
    """The SMs in equal shares, at least one each."""
    count = config.sm.count
    return [
        Tenant(
            f"app{index}",
            ScriptedApplication([launch(config, *blocks) for blocks in app], f"app{index}"),
            range(count * index // len(apps), count * (index + 1) // len(apps)),
        )
        for index, app in enumerate(apps)
    ]


def count_ops(app: Program, *names: str) -> int:
    return sum(
        step[0] in names
        for blocks in app
        for block in blocks
        for script in block
        for step in script
    )


@thorough
@given(machines(), programs)
def test_everything_is_done_once(config: GpuConfig, app: Program) -> None:
    machine = Machine(config, tenants(config, app), seed=1)
    answered: dict[int, int] = defaultdict(int)

    def hear(request: Any, begin: int, end: int) -> None:
        assert 0 < begin < end
        answered[request.kind] += 1

    for sm in machine.sms:
        sm.lsu.on_request.listen(hear)
    run_machine(machine)
    counters = [sm.counters[0] for sm in machine.sms]
    assert sum(c.loads for c in counters) == count_ops(app, "load", "atomic")
    assert sum(c.stores for c in counters) == count_ops(app, "store", "reduce")
    assert sum(c.barriers for c in counters) == count_ops(app, "barrier")
    assert sum(c.shared_instructions for c in counters) == count_ops(app, "shared")
    computed = sum(
        step[1]
        for blocks in app
        for block in blocks
        for script in block
        for step in script
        if step[0] == "compute"
    )
    assert sum(c.compute_instructions for c in counters) == computed
    expected: dict[int, int] = defaultdict(int)
    for blocks in app:
        for script in (script for block in blocks for script in block):
            for name, *where in script:
                if name in {"load", "store", "atomic", "reduce"}:
                    expected[Op[name.upper()] - Op.LOAD] += len({a // 128 for a in where})
    assert answered == {kind: n for kind, n in expected.items() if n}
    assert sum(answered.values()) == machine.transactions


@thorough
@given(machines(), programs)
def test_states_tile_every_life(config: GpuConfig, app: Program) -> None:
    seen = Observed(config, *tenants(config, app))
    sums: dict[tuple[int, str], int] = defaultdict(int)
    lives: dict[int, int] = defaultdict(int)
    for warp, pieces in seen.intervals.items():
        sm, _, _ = seen.places[warp]
        for (_, begin, end), (_, following, _) in pairwise(pieces):
            assert begin < end == following, "a gap, or two states at once"
        assert pieces[-1][1] < pieces[-1][2]
        for state, begin, end in pieces:
            sums[sm, state] += end - begin
        lives[sm] += pieces[-1][2] - pieces[0][1]
    for sm in seen.machine.sms:
        (ledger,) = sm.ledger.sums
        for state, total in zip(seen.machine.states, ledger, strict=True):
            assert total == sums[sm.index, state]
        assert sm.ledger.lifetimes == [lives[sm.index]]


@thorough
@given(machines(), programs, programs)
def test_tenants_share_a_tiny_machine(config: GpuConfig, one: Program, two: Program) -> None:
    config = attrs.evolve(config, sm=attrs.evolve(config.sm, count=max(2, config.sm.count)))
    machine = Machine(config, tenants(config, one, two), seed=1)
    run_machine(machine)
    for app, program in enumerate((one, two)):
        warps = sum(len(block) for blocks in program for block in blocks)
        assert sum(sm.counters[app].warps for sm in machine.sms) == warps
    frames = [
        {machine.page_table.translate(asid, vpn) for vpn in range(1 << 20, (1 << 20) + 10)}
        for asid in range(2)
    ]
    assert not frames[0] & frames[1]


def outcome(machine: Machine) -> Any:
    return (
        list(machine.counter_rows()),
        [sm.ledger.sums for sm in machine.sms],
        [(record.begin, record.end) for s in machine.schedulers for record in s.records],
    )


@settings(thorough, max_examples=examples(40))
@given(machines(), programs)
def test_listening_changes_nothing(config: GpuConfig, app: Program) -> None:
    unheard = Machine(config, tenants(config, app), seed=1)
    run_machine(unheard)
    heard = Machine(config, tenants(config, app), seed=1)
    announced: dict[str, int] = defaultdict(int)

    def listener(name: str) -> Any:
        def hear(*_: Any) -> None:
            announced[name] += 1

        return hear

    heard.on_interval.listen(listener("intervals"))
    heard.systems[0].walkers.on_walk.listen(listener("walks"))
    for sm in heard.sms:
        sm.lsu.on_request.listen(listener("requests"))
    for level in heard.tlbs.values():
        for tlb in level:
            tlb.on_lookup.listen(listener("lookups"))
    for channel in heard.systems[0].channels:
        channel.on_request.listen(listener("dram"))
    run_machine(heard)
    assert outcome(heard) == outcome(unheard)
    rows = list(heard.counter_rows())

    def total(component: str, *names: str) -> int:
        return sum(r.value for r in rows if r.component.startswith(component) and r.name in names)

    assert announced["walks"] == total("walk", "walks")
    assert announced["lookups"] == total("tlb/", "lookups")
    assert announced["requests"] == total("sm", "transactions")
    assert announced["dram"] == total("dram", "data_reads", "walk_reads", "writes")


@pytest.mark.parametrize("translation", ["before", "parallel", "after"])
@pytest.mark.parametrize("cost", ["fixed", "per-level", "memory"])
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_each_arrangement_with_one_of_everything(
    translation: str, cost: str, data: st.DataObject
) -> None:
    config = data.draw(machines())
    config = attrs.evolve(
        config,
        sm=attrs.evolve(config.sm, count=2, store_credits=1, lsu_queue=1, max_loads=1),
        l1=attrs.evolve(config.l1, translation=translation, mshrs=1, mshr_merge=1),
        tlb={n: attrs.evolve(t, mshrs=1, queue=1, ports=1) for n, t in config.tlb.items()},
        walk=attrs.evolve(config.walk, walkers=1, queue=1, cost=cost, cache=None),
        l2=attrs.evolve(config.l2, mshrs=1, mshr_merge=1, queue=1),
        crossbar=attrs.evolve(config.crossbar, queue=1, ideal=False),
        dram=attrs.evolve(config.dram, read_queue=1, write_queue=1),
    )
    app = data.draw(programs)
    machine = Machine(config, tenants(config, app), seed=1)
    run_machine(machine)
    assert machine.in_flight() == 0
    assert machine.warps_ended == sum(len(block) for blocks in app for block in blocks)
