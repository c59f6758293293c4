"""What lookups in shared entries cost; worked out by hand.

The machine is that of `test_latency`; its L1 TLB holds one page here, and its L2 TLB is the one
with sub-entries, 40 cycles, with one entry for 16 pages of 4 KiB.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import cycles
from gpusim.machine import Tenant
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch
from tests.machine.test_latency import BASE, ISSUE, L1, L1_TLB, WALK

LOOKUP = 40
FETCH = 133  # see test_latency: a line that is in no cache
A, B, C, D, E = range(0, 80, 16)


def machine(policy: str = "star", entries: int = 1, ways: int = 1, **options: Any) -> GpuConfig:
    first = attrs.evolve(SMALL.tlb["L1"], entries=1, ways=1)
    second = attrs.evolve(
        SMALL.tlb["L2"],
        entries=entries,
        ways=ways,
        sub_entries=16,
        latency=cycles(LOOKUP),
        array=PolicyConfig(policy, options),
    )
    return attrs.evolve(SMALL, tlb={"L1": first, "L2": second})


def address(page: int) -> int:
    return BASE + 4096 * page + 128 * (page % 32)


def touch(*pages: int) -> Script:
    return [step for page in pages for step in (("load", address(page)), ("wait",))]


def hit(comparisons: int = 0) -> int:
    return ISSUE + L1_TLB + LOOKUP + 10 * comparisons + L1


def miss(comparisons: int = 0, line: int = FETCH) -> int:
    return ISSUE + L1_TLB + LOOKUP + 10 * comparisons + WALK + line


def test_the_second_base_is_compared_ten_cycles_later() -> None:
    run = Run(machine(), touch(A, B, A, B, A + 1, B + 8, C, A))
    assert run.latencies == [
        miss(),
        miss(),  # no entry is shared yet
        hit(),
        hit(1),  # 46 and 56: 40 and 50 cycles in the L2 TLB
        miss(),
        miss(1),  # the base is there, the page is not
        miss(1),
        miss(line=L1),  # nothing matches in a set with a shared entry; C has evicted both
    ]
    assert (hit(), hit(1)) == (46, 56)
    assert run.count("tlb/L2", "evictions") == 1
    assert run.count("tlb/L2", "evicted_with_3", "scripted") == 1  # A, A + 1, B + 8 for B


def test_one_base_costs_what_the_plain_array_costs() -> None:
    pages = (A, B, A, A + 1, B, B + 8, C, A)
    one, plain = (Run(config, touch(*pages)) for config in (machine(bases=1), machine("sub-entry")))
    assert one.loads == plain.loads
    assert one.cycles == plain.cycles


def test_four_bases_take_up_to_seventy_cycles() -> None:
    run = Run(machine(bases=4), touch(A, B, C, D, A, B, C, D, E))
    assert run.latencies == [
        miss(),
        miss(),
        miss(1),
        miss(2),
        hit(),
        hit(1),
        hit(2),
        hit(3),
        miss(3),
    ]
    assert hit(3) - hit() == 70 - LOOKUP


def test_cycles_of_a_comparison_are_an_option() -> None:
    run = Run(machine(compare_cycles=3), touch(A, B, A, B))
    assert run.latencies[-1] - run.latencies[-2] == 3


@pytest.mark.parametrize(("hold_port", "waited"), [(True, 10), (False, 0)])
def test_whether_the_port_is_held(hold_port: bool, waited: int) -> None:
    # One instruction loads from B and A: the lookup of B compares twice.
    script = [*touch(A, B, A + 9), ("load", address(B), address(A)), ("wait",)]
    run = Run(machine(hold_port=hold_port), script)
    # A cycle of L1 TLB port apart they reach the L2 TLB a cycle apart, and A waits for B or not.
    assert run.count("tlb/L2", "queue_cycles") == waited
    assert run.machine.tlbs["L2"][0].array.star.stride_shares == 1


def test_ways_compared_in_two_groups() -> None:
    # Two ways, one a group: A is in the first, B in the second one; C takes the way of B, and then
    # B that of A.
    run = Run(machine("sub-entry-groups", entries=2, ways=2), touch(A, B, A, B, A + 1, C, B, C))
    assert run.latencies == [
        miss(1),
        miss(1),
        hit(),
        hit(1),
        miss(),
        miss(1),
        miss(1, line=L1),
        hit(1),
    ]


def tenants(number: int) -> list[Tenant]:
    applications = [
        ScriptedApplication([ScriptedLaunch([[touch(A, B, A)]])]) for _ in range(number)
    ]
    return [Tenant(f"app{i}", one, range(i, i + 1)) for i, one in enumerate(applications)]


def test_ways_of_an_application_are_its_own() -> None:
    config = attrs.evolve(
        machine("static-ways", 4, 4, ways_of="2/1/1", of="sub-entry"),
        sm=attrs.evolve(SMALL.sm, count=3),
    )
    run = Run.of(config, tenants(3))
    # The first one keeps A and B; with one way, B evicts A and A evicts B.
    assert [run.count("tlb/L2", "hits", f"app{i}") for i in range(3)] == [1, 0, 0]
    assert [run.count("tlb/L2", "evicted_with_1", f"app{i}") for i in range(3)] == [0, 2, 2]
    with pytest.raises(
        UserError, match=r"tlb\.L2\.array: 'static-ways' serves 3 applications, .* 4"
    ):
        Run.of(attrs.evolve(config, sm=attrs.evolve(SMALL.sm, count=4)), tenants(4))
