"""Launches one after the other, blocks and the slots they get, and tenants side by side."""

from __future__ import annotations

from collections import defaultdict

from gpusim.core.request import MemoryRequest
from gpusim.machine import Tenant
from tests.hardware.sm.observed import Observed, launch, tenant
from tests.machine.bench import SMALL, Run, ScriptedApplication, change

BASE = 1 << 32
LOAD = [("load", BASE), ("wait",)]


def test_the_l1_is_emptied_between_launches_and_the_tlbs_are_not() -> None:
    apart = Run.of(SMALL, [tenant(SMALL, *[launch(SMALL, [LOAD])] * 3)])
    assert apart.count("l1", "lookups") == 3
    assert apart.count("l1", "hits") == 0
    assert apart.count("l2", "hits") == 2
    assert apart.count("walk", "walks") == 1
    together = Run.of(SMALL, [tenant(SMALL, launch(SMALL, [LOAD * 3]))])
    assert together.count("l1", "hits") == 2


def test_a_launch_starts_when_the_one_before_has_drained() -> None:
    kernels = [
        launch(SMALL, [[("compute", 10)]], [[("store", BASE)]]),
        launch(SMALL, [[("compute", 5)]]),
        launch(SMALL, [LOAD]),
    ]
    seen = Observed(SMALL, tenant(SMALL, *kernels))
    (scheduler,) = seen.machine.schedulers
    records = scheduler.records
    assert [record.index for record in records] == [0, 1, 2]
    assert [record.blocks for record in records] == [2, 1, 1]
    assert records[0].begin == 0
    assert [r.end for r in records[:-1]] == [r.begin for r in records[1:]]
    warps = {0: (0, 1), 1: (2,), 2: (3,)}
    for index, record in enumerate(records):
        for warp in warps[index]:
            born, died = seen.life(warp)
            assert record.begin < born
            assert died < record.end
    assert seen.life(1)[1] - seen.life(1)[0] > 600, "the store is a part of the launch"
    assert scheduler.finished_at == records[-1].end


def test_block_slots_are_reused_lowest_first() -> None:
    config = change(SMALL, sm={"schedulers": 3, "max_blocks": 3})
    lengths = [90, 20, 50, 10, 10, 10]
    seen = Observed(config, tenant(config, launch(config, *([[("compute", n)]] for n in lengths))))
    assert [seen.places[warp][1] for warp in range(6)] == [0, 1, 2, 1, 1, 1]
    # Block 1 opens in 2, ends in 22; its room is free in 23, and block 3 opens there in 24.
    assert [seen.life(warp)[0] for warp in range(4)] == [1, 2, 3, 24]
    # When several slots are free, the lowest is taken.
    config = change(SMALL, sm={"schedulers": 3, "max_blocks": 3})
    first = launch(config, *([[("compute", n)]] for n in (10, 10, 10)))
    seen = Observed(config, tenant(config, first, launch(config, [[("compute", 1)]])))
    assert seen.places[3][1] == 0


def test_blocks_go_round_the_sms() -> None:
    config = change(SMALL, sm={"count": 3, "max_blocks": 2})
    blocks = [[[("compute", 100 + 10 * n)]] for n in range(8)]
    seen = Observed(config, tenant(config, launch(config, *blocks)))
    assert [seen.places[warp][0] for warp in range(6)] == [0, 1, 2, 0, 1, 2]
    # One block an SM computes at a time, the older first: SM 0 ends block 0 in 101, SM 1 block 1
    # in 112 (it opened a cycle later).
    assert [seen.places[warp][0] for warp in (6, 7)] == [0, 1]


class TwoTenants:
    """The same program in two address spaces, on an SM each."""

    def __init__(self, *scripts: list[tuple[object, ...]]) -> None:
        self.config = change(SMALL, sm={"count": 2})
        kernels = [launch(self.config, scripts)]
        self.run = Run.of(
            self.config,
            [
                Tenant(name, ScriptedApplication(kernels, name), (sm,))
                for sm, name in enumerate(("left", "right"))
            ],
        )


def frame(request: MemoryRequest) -> int:
    """Where the page of a request lies."""
    assert request.mapping is not None
    return request.mapping.frame(request.tag)


def test_tenants_have_address_spaces_of_their_own() -> None:
    pages = [("load", *(BASE + 4096 * i + 128 * i for i in range(6))), ("wait",)]
    run = TwoTenants(pages).run
    requests: dict[int, list[MemoryRequest]] = defaultdict(list)
    for request in run.requests:
        requests[request.app].append(request)
    left, right = requests[0], requests[1]
    assert {r.vline for r in left} == {r.vline for r in right}
    assert not {frame(r) for r in left} & {frame(r) for r in right}
    assert not {r.address for r in left} & {r.address for r in right}
    table = run.machine.page_table
    for request in run.requests:
        assert request.asid == request.app == request.sm
        assert request.mapping is table.find(request.tag)
        assert frame(request) == request.address >> 12
    assert run.count("walk", "walks") == 12
    assert run.count("l2", "merged") == run.count("l2", "hits") == 0


def test_tenants_stay_on_their_sms() -> None:
    run = TwoTenants([("compute", 50)], LOAD).run
    for sm, counters in enumerate(sm.counters for sm in run.machine.sms):
        assert [c.warps for c in counters] == [2 * (app == sm) for app in range(2)]


def test_counters_by_application_add_up() -> None:
    config = change(SMALL, sm={"count": 2})
    scripts = {
        "left": [("load", *(BASE + 128 * i for i in range(9))), ("wait",), ("compute", 40)],
        "right": [("store", BASE), ("atomic", BASE + 4096), ("wait",), ("shared", 3)],
    }

    def one(name: str, sm: int) -> Tenant:
        return Tenant(name, ScriptedApplication([launch(config, [scripts[name]])], name), (sm,))

    both = Run.of(config, [one("left", 0), one("right", 1)])
    alone = {name: Run.of(config, [one(name, sm)]) for sm, name in enumerate(scripts)}
    for component, counter in (
        ("sm", "instructions"),
        ("sm", "transactions"),
        ("sm", "issue_cycles"),
        ("sm", "warps"),
        ("tlb/L1", "lookups"),
        ("tlb/L2", "misses"),
        ("walk", "walks"),
        ("l1", "misses"),
        ("l1", "stores"),
        ("l2", "lookups"),
        ("l2", "fills"),
        ("dram", "data_reads"),
    ):
        shares = {name: both.count(component, counter, name) for name in scripts}
        assert sum(shares.values()) == both.count(component, counter)
        assert shares == {name: alone[name].count(component, counter) for name in scripts}
    packets = both.count("crossbar/requests", "packets")
    assert packets == sum(run.count("crossbar/requests", "packets") for run in alone.values())
