"""L1 caches that share their memory with shared memory."""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.files.units import Bytes
from gpusim.machine import Tenant
from gpusim.runs.lifetimes import watch_lifetimes
from tests.hardware.fbt.virtual_machines import VIRTUAL
from tests.hardware.sm.observed import tenant
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.instances import in_slices
from tests.machine.test_latency import BASE

UNIFIED = change(
    SMALL,
    l1={"unified": Bytes(64 << 10), "carve_outs": "0KiB 16KiB 48KiB"},
    memory={"page": Bytes(64 << 10)},
)
"""32 sets of 128 bytes, so a way is 4 KiB: 16, 12 or 4 ways."""


def lines(count: int, rounds: int = 2) -> list[tuple[object, ...]]:
    """As many lines as ways × sets, over and over."""
    script: list[tuple[object, ...]] = []
    for first in range(0, count * rounds, 32):
        where = [BASE + 128 * (line % count) for line in range(first, first + 32)]
        script += [("load", *where), ("wait",)]
    return script


def launch(count: int, shared: int, rounds: int = 2) -> ScriptedLaunch:
    return ScriptedLaunch([[lines(count, rounds)]], shared_bytes=shared)


def hits(config: GpuConfig, *launches: ScriptedLaunch) -> tuple[int, int]:
    run = Run.of(config, [tenant(config, *launches)])
    return run.count("l1", "hits"), run.count("l1", "resized")


@pytest.mark.parametrize(
    ("shared", "ways"),
    [
        (0, 16),
        (1 << 10, 12),  # 16 blocks of 1 KiB, as many as an SM can hold
        ((1 << 10) + 4, 4),  # 16 blocks of a bit more: more than 16 KiB
        (6 << 10, 4),  # 8 blocks of 6 KiB
        (17 << 10, 4),  # 2 blocks of 17 KiB
        (9 << 10, 4),  # 5 blocks of 9 KiB
    ],
)
def test_the_cache_has_what_the_smallest_fitting_carve_out_leaves(shared: int, ways: int) -> None:
    assert hits(UNIFIED, launch(32 * ways, shared)) == (32 * ways, 0)
    one_more = 32 * ways + 32  # LRU: a way more than there is, in turn, never hits
    assert hits(UNIFIED, launch(one_more, shared)) == (0, 0)


def test_few_threads_need_little_shared_memory() -> None:
    """What blocks have together counts, and an SM holds at most two of these."""
    config = change(UNIFIED, sm={"max_blocks": 2})
    assert hits(config, launch(32 * 12, 8 << 10)) == (32 * 12, 0)
    assert hits(config, launch(32 * 12, 9 << 10)) == (0, 0)


def test_a_launch_that_divides_it_otherwise_begins_with_an_empty_cache() -> None:
    config = change(UNIFIED, l1={"at_launch": "keep"})
    small = launch(64, 0, rounds=1)
    other = launch(64, 1 << 10, rounds=1)
    assert hits(config, small, small) == (64, 0)
    assert hits(config, small, other) == (0, 1)
    assert hits(config, small, other, other, small) == (64, 2)
    assert hits(UNIFIED, small, small) == (0, 0)


def test_replacement_policies_keep_the_order_of_each_size() -> None:
    for policy in ("fifo", "srrip", "random"):
        config = change(
            UNIFIED, l1={"replacement": attrs.evolve(SMALL.l1.replacement, policy=policy)}
        )
        steps = [launch(32 * 4, shared) for shared in (0, 1 << 10, 6 << 10, 0, 1 << 10)]
        assert hits(config, *steps) == (5 * 32 * 4, 4)


def test_virtual_caches_can_be_divided_too() -> None:
    l1 = attrs.evolve(UNIFIED.l1, translation="after-l2", at_launch="keep")
    config = attrs.evolve(VIRTUAL, l1=l1, memory=UNIFIED.memory)
    steps = [launch(64, shared, rounds=1) for shared in (0, 0, 1 << 10)]
    run = Run.of(config, [tenant(config, *steps)])
    assert (run.count("l1", "hits"), run.count("l1", "resized")) == (64, 1)
    assert run.count("l1", "invalidations") == 0


def test_lifetimes_of_lines_are_told_across_sizes() -> None:
    ended: list[tuple[int, ...]] = []
    finish = []

    def watch(machine: object) -> None:
        finish.append(watch_lifetimes(machine, lambda *life: ended.append(life)))  # type: ignore[arg-type]

    config = change(UNIFIED, l1={"at_launch": "keep"})
    steps = [launch(64, shared, rounds=1) for shared in (0, 1 << 10)]
    Run.of(config, [tenant(config, *steps)], watch)
    finish[0]()
    of_l1 = [life for life in ended if life[0] == 1]
    assert sum(life[-1] >= 0 for life in of_l1) == 64
    assert sum(life[-1] < 0 for life in of_l1) == 64


def test_each_instance_divides_its_own() -> None:
    config = in_slices(UNIFIED, 2)
    tenants = [
        Tenant(name, ScriptedApplication([launch(32 * 8, shared)], name), [sm], instance=1)
        for sm, (name, shared) in enumerate((("large", 0), ("small", 6 << 10)))
    ]
    run = Run.of(config, tenants)
    assert run.count("l1", "hits", "large") == 32 * 8
    assert run.count("l1", "hits", "small") == 0
