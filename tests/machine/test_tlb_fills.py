"""What a TLB tells its fill policy, and what pages cost that the policy keeps; worked out by hand.

The machine is that of `test_latency`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.core.mapping import Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.request import Requester
from gpusim.hardware.tlb import FillPolicy
from gpusim.machine import Tenant
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.test_latency import BASE, ISSUE, L1, L1_TLB, L2_TLB, WALK

MISS_EVERYWHERE = 645  # see test_latency
PAGE = 4096
VPN = BASE // PAGE


class Keeper(FillPolicy):
    """Keeps every page itself, without limit, and writes down what it is given."""

    def __init__(self, apps: int, sms: int, warps: int) -> None:
        self.made_with = (apps, sms, warps)
        self.pages: dict[int, Mapping] = {}
        self.fills: list[tuple[int, int, list[tuple[int, int]]]] = []
        self.lookups: list[tuple[int, int, int, bool, int]] = []

    def admits(
        self, tag: int, mapping: Mapping, requesters: Sequence[Requester], cycle: int
    ) -> bool:
        self.pages[tag] = mapping
        self.fills.append((tag, cycle, [(one.sm, one.warp_slot) for one in requesters]))
        return False

    def find(self, tag: int, requester: Requester) -> Mapping | None:
        return self.pages.get(tag)

    def looked_up(self, requester: Requester, hit: bool, cycle: int) -> None:
        self.lookups.append((requester.app, requester.sm, requester.warp_slot, hit, cycle))


class Dropper(FillPolicy):
    """Keeps nothing, and lets nothing in."""

    def __init__(self, apps: int, sms: int, warps: int) -> None:
        pass

    def admits(
        self, tag: int, mapping: Mapping, requesters: Sequence[Requester], cycle: int
    ) -> bool:
        return False


def with_fill(config: GpuConfig, level: str, policy: str, **keys: Any) -> GpuConfig:
    fill = PolicyConfig(f"{__name__}:{policy}" if policy[0].isupper() else policy)
    changed = attrs.evolve(config.tlb[level], fill=fill, **keys)
    return attrs.evolve(config, tlb={**config.tlb, level: changed})


def keeper(run: Run, level: str, index: int = 0) -> Keeper:
    policy = run.machine.tlbs[level][index].fill_policy
    assert isinstance(policy, Keeper)
    return policy


def seventeen_pages_and_the_first_again() -> list[tuple[Any, ...]]:
    """Page 0 leaves the L1 TLB of 16; its line stays in the L1 cache, see `test_latency`."""
    pages = [BASE + PAGE * page + 128 * (page % 32) for page in range(17)]
    return [step for page in (*pages, pages[0]) for step in (("load", page), ("wait",))]


def test_a_page_that_the_policy_keeps_is_a_hit_of_the_level() -> None:
    script = seventeen_pages_and_the_first_again()
    run = Run(with_fill(SMALL, "L2", "Keeper"), script)
    assert run.latencies[-1] == ISSUE + L1_TLB + L2_TLB + L1 == 16
    assert run.latencies == Run(SMALL, script).latencies
    assert [run.count("tlb/L2", name) for name in ("lookups", "hits", "misses")] == [18, 1, 17]
    assert run.machine.tlbs["L2"][0].array.lookup(VPN, 0) is None


def test_a_page_that_is_dropped_is_walked_again() -> None:
    run = Run(with_fill(SMALL, "L2", "Dropper"), seventeen_pages_and_the_first_again())
    assert run.latencies[-1] == ISSUE + L1_TLB + L2_TLB + WALK + L1
    assert run.count("tlb/L2", "fills") == 18


def test_the_first_level_may_have_one_too() -> None:
    twice = [("load", BASE), ("wait",), ("load", BASE), ("wait",)]
    kept = Run(with_fill(SMALL, "L1", "Keeper"), twice)
    assert kept.latencies == [MISS_EVERYWHERE, ISSUE + L1]
    assert [hit for *_, hit, _ in keeper(kept, "L1").lookups] == [False, True]
    dropped = Run(with_fill(SMALL, "L1", "Dropper"), twice)
    assert dropped.latencies == [MISS_EVERYWHERE, ISSUE + L1_TLB + L2_TLB + L1]


@pytest.mark.parametrize("translation", ["before", "parallel", "after"])
def test_warps_are_told_apart_in_the_first_level(translation: str) -> None:
    config = change(with_fill(SMALL, "L1", "Keeper"), l1={"translation": translation})
    run = Run(config, [("load", BASE), ("wait",)], [("load", BASE + 128), ("wait",)])
    (told,) = [keeper(run, "L1")]
    assert sorted(lookup[:4] for lookup in told.lookups) == [(0, 0, 0, False), (0, 0, 1, False)]
    ((tag, _, who),) = told.fills
    assert (tag, who) == (VPN, [(0, 0), (0, 1)])


def two_sms(*scripts: list[tuple[Any, ...]], **keys: Any) -> Run:
    """An application an SM, all on one L2 TLB with a `Keeper`."""
    config = change(with_fill(SMALL, "L2", "Keeper", **keys), sm={"count": 2})
    tenants = [
        Tenant(f"app{sm}", ScriptedApplication([ScriptedLaunch([[script]])]), [sm])
        for sm, script in enumerate(scripts)
    ]
    return Run.of(config, tenants)


def test_what_it_is_told_in_a_deeper_level() -> None:
    run = two_sms([("load", BASE), ("wait",)], [("load", BASE + PAGE), ("wait",)])
    told = keeper(run, "L2")
    assert told.made_with == (2, 2, SMALL.sm.max_warps)
    (first, second) = told.lookups
    assert (first[:4], second[:4]) == ((0, 0, 0, False), (1, 1, 0, False))
    cycle = first[4]
    assert second[4] == cycle + 1, "the L2 TLB has one port"
    assert [fill[1:] for fill in told.fills] == [
        (cycle + L2_TLB + WALK, [(0, 0)]),
        (cycle + 1 + L2_TLB + WALK, [(1, 0)]),
    ]


def test_all_whose_misses_merged_are_told_the_first_one_first() -> None:
    config = change(with_fill(SMALL, "L2", "Keeper"), sm={"count": 2})
    launch = ScriptedLaunch([[[("load", BASE), ("wait",)]]] * 2)
    run = Run.of(config, [Tenant("app", ScriptedApplication([launch]), range(2))])
    ((tag, _, who),) = keeper(run, "L2").fills
    assert (tag, who) == (VPN, [(0, 0), (1, 0)])
    assert run.count("tlb/L2", "merged") == 1


def test_a_retried_lookup_is_told_once() -> None:
    pages = [BASE + PAGE * page for page in range(6)]
    run = two_sms([("load", *pages), ("wait",)], [("load", *pages), ("wait",)], mshrs=1)
    assert run.count("tlb/L2", "stalls") > 0
    assert len(keeper(run, "L2").lookups) == run.count("tlb/L2", "lookups") == 12


def test_always_asks_nobody() -> None:
    run = Run(SMALL, [("load", BASE), ("wait",)])
    assert run.machine.tlbs["L2"][0].fill_policy is None
    ideal = attrs.evolve(SMALL.tlb["L2"], ideal=True, fill=PolicyConfig("mask-tokens"))
    run = Run(attrs.evolve(SMALL, tlb={**SMALL.tlb, "L2": ideal}), [("load", BASE), ("wait",)])
    assert run.machine.tlbs["L2"][0].fill_policy is None
