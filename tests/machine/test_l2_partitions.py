"""L2 banks that are nearer to some SMs than to others."""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.files.units import Bytes, cycles
from gpusim.machine import Tenant
from gpusim.machine.domains import Partitions
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.instances import in_slices, private
from tests.machine.test_latency import BASE, CROSSBAR, DRAM, ISSUE, L1, L2, LINE_FLITS


def parted(sms: int, banks: int, parts: int, far: int, sms_of_gpc: int = 1) -> GpuConfig:
    config = change(
        SMALL,
        sm={"count": sms},
        l2={"banks": banks, "partitions": parts, "far": cycles(far), "size": Bytes(banks << 17)},
    )
    return attrs.evolve(config, tpcs_per_gpc=sms_of_gpc)


def latencies(config: GpuConfig, sm: int, line: int) -> list[int]:
    """Of a load that misses the L2 cache and of an atomic that hits it, after the page is known."""
    script = [
        ("load", BASE + 2048),
        ("wait",),
        ("load", BASE + 128 * line),
        ("wait",),
        ("atomic", BASE + 128 * line),
        ("wait",),
    ]
    scripts = [[[("compute", 1)]] for _ in range(config.sm.count)]
    scripts[sm] = [script]
    application = ScriptedApplication([ScriptedLaunch(scripts)])
    run = Run.of(config, [Tenant("scripted", application, range(config.sm.count))])
    return run.latencies[1:]


@pytest.mark.parametrize("far", [0, 1, 30, 151])
def test_the_way_to_another_partition_is_longer(far: int) -> None:
    config = parted(sms=2, banks=2, parts=2, far=far)
    hit = ISSUE + L1 + CROSSBAR + L2 + CROSSBAR
    for sm in (0, 1):
        for line in (0, 1):
            longer = far if sm != line else 0
            assert latencies(config, sm, line) == [
                hit + DRAM + LINE_FLITS - 1 + longer,
                hit + longer,
            ]


def test_gpcs_and_banks_are_dealt_out_in_their_order() -> None:
    found = Partitions.of(parted(sms=11, banks=6, parts=2, far=7, sms_of_gpc=3))
    assert found.of_sm == (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1)  # 4 GPCs, the last of 2 SMs
    assert found.of_bank == (0, 0, 0, 1, 1, 1)
    assert found.ways_there(range(5, 7), range(2, 4)) == [[0, 3], [3, 0]]
    assert found.ways_back(range(5, 7), range(2, 4)) == [[0, 4], [4, 0]]
    thirds = Partitions.of(parted(sms=3, banks=6, parts=3, far=7))
    assert (thirds.of_sm, thirds.of_bank) == ((0, 1, 2), (0, 0, 1, 1, 2, 2))


def test_a_far_packet_does_not_hold_up_near_ones() -> None:
    """Line 1 is asked for first, and is far; line 0 is here long before."""
    config = parted(sms=2, banks=2, parts=2, far=40)
    warm = [("load", BASE + 2048), ("wait",)]
    scripts = [[[*warm, ("load", BASE + 128, BASE), ("wait",)]], [[("compute", 1)]]]
    application = ScriptedApplication([ScriptedLaunch(scripts)])
    run = Run.of(config, [Tenant("scripted", application, range(2))])
    near, far = run.latencies[1:]
    assert (near, far) == (134 + 1, 134 + 40)


def test_an_instance_has_the_partition_that_it_lies_in() -> None:
    """Two slices: each instance is all near; one of both has both."""
    config = private(in_slices(parted(sms=1, banks=1, parts=1, far=0), 2))
    config = change(config, l2={"partitions": 2, "far": cycles(50)})
    script = [("load", BASE), ("wait",), ("load", BASE + 128), ("wait",)]
    half = [
        Tenant(name, ScriptedApplication([ScriptedLaunch([[script]])], name), [sm], instance=1)
        for sm, name in enumerate("ab")
    ]
    assert sorted(Run.of(config, half).latencies) == [134, 134, 645, 645]
    whole = Tenant("w", ScriptedApplication([ScriptedLaunch([[script]])]), range(2), instance=2)
    assert Run.of(config, [whole]).latencies == [645, 184]


def test_an_ideal_crossbar_has_no_far_side() -> None:
    config = change(parted(sms=2, banks=2, parts=2, far=40), crossbar={"ideal": True})
    assert latencies(config, 0, 0) == latencies(config, 0, 1)
