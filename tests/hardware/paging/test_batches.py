"""How faults become batches: interrupts, µTLBs, blocks that are filled, pages that leave."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig, ShootdownConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.warp_program import Buffer
from gpusim.files.units import cycles
from gpusim.machine import Tenant
from tests.hardware.paging.bench import (
    BASE,
    BATCH,
    FETCH,
    L1_TLB,
    L2_TLB,
    MOVE,
    OVERHEAD,
    PAGE,
    WALK,
    WAY,
    each,
    load,
    paged,
    run,
    store,
)
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change

FIRST = L1_TLB + L2_TLB + WALK
"""From a load to its fault."""
INTERRUPT = 3_000
LONE = FIRST + BATCH + OVERHEAD + MOVE + WAY + WALK + FETCH


def batches(config: GpuConfig, *scripts: Any, pages: int = 64) -> tuple[Run, list[list[int]]]:
    """A run, and its batches: begin, end, faults, asked, came, left, blocks, new blocks."""
    seen: list[list[int]] = []
    done = run(
        config,
        *scripts,
        pages=pages,
        attach=lambda m: m.paging.driver.on_batch.listen(lambda *batch: seen.append([*batch])),
    )
    return done, seen


def test_the_driver_wakes_after_an_interrupt() -> None:
    done = run(paged(interrupt=cycles(INTERRUPT)), each(3))
    assert done.latencies == [LONE + INTERRUPT]


def test_faults_that_come_before_it_wakes_are_in_one_batch() -> None:
    """Without it the first fault makes a batch of its own; an awake driver needs no interrupt."""
    _, before = batches(paged(), each(0), each(10), each(20))
    assert [faults for _, _, faults, *_ in before] == [1, 2]
    done, after = batches(paged(interrupt=cycles(INTERRUPT)), each(0), each(10), each(20))
    assert [faults for _, _, faults, *_ in after] == [3]
    assert done.count("faults", "faults") == 3


def many(pages: int) -> list[tuple[Any, ...]]:
    """Warps whose one load has a page a lane."""
    return [
        ("load", *(BASE + PAGE * page for page in range(pages))),
        ("load", *(BASE + PAGE * page for page in range(32, 32 + pages))),
        ("wait",),
    ]


WIDE = attrs.evolve(
    change(SMALL, sm={"count": 1}, walk={"walkers": 64}),
    tlb={name: attrs.evolve(tlb, mshrs=128) for name, tlb in SMALL.tlb.items()},
)


def test_a_utlb_has_so_many_faults() -> None:
    """Listing 1 of Allen and Ge (SC'21): a warp loads 64 pages, and the first batch is of 56."""
    config = paged(WIDE, interrupt=cycles(INTERRUPT), utlb_faults=56)
    done, seen = batches(config, many(32), pages=64)
    assert [faults for _, _, faults, *_ in seen] == [56, 8]
    assert done.count("faults", "held") == 8
    assert done.count("faults", "reported") == 64
    assert done.count("paging", "faults_written") == 64


def test_sms_of_a_tpc_share_a_utlb() -> None:
    config = paged(
        attrs.evolve(change(WIDE, sm={"count": 4}), sms_per_tpc=2),
        interrupt=cycles(INTERRUPT),
        utlb_faults=1,
    )
    _, seen = batches(config, each(0), each(10), each(20), each(30))
    assert [faults for _, _, faults, *_ in seen] == [2, 2]


def test_faults_are_written_one_after_the_other() -> None:
    """20 cycles apart, the driver finds as many as were written before it wakes."""
    config = paged(WIDE, interrupt=cycles(110), fault_interval=cycles(20))
    _, seen = batches(config, many(32), pages=64)
    assert seen[0][2] == 1 + 110 // 20


@pytest.mark.parametrize(
    ("key", "pages", "times"),
    [
        ("fault_time", (0, 1, 600), 3),
        ("block_time", (0, 1, 600), 2),
        ("first_touch", (0, 1, 600), 2),
        ("page_time", (0, 1, 600), 3),
    ],
)
def test_what_a_batch_costs(key: str, pages: tuple[int, ...], times: int) -> None:
    """Three pages in two blocks of 2 MiB, which have 512 pages each."""
    scripts = [each(page) for page in pages]
    at_once = {"interrupt": cycles(INTERRUPT)}
    _, ((begin, end, *plain),) = batches(paged(**at_once), *scripts, pages=1024)
    _, ((b, e, *more),) = batches(paged(**at_once, **{key: cycles(70)}), *scripts, pages=1024)
    assert plain == more == [3, 3, 3, 0, 2, 2]
    assert (e - b) - (end - begin) == 70 * times


def test_a_block_is_touched_for_the_first_time_once() -> None:
    done, seen = batches(paged(first_touch=cycles(70), capacity=PAGE), each(0, 1, 0))
    assert [batch[-1] for batch in seen] == [1, 0, 0]
    assert done.latencies == [LONE + 70, LONE, LONE]
    assert done.count("paging", "touched") == 1


def test_page_time_goes_by_bytes() -> None:
    """A page of 64 KiB is sixteen times 4 KiB."""
    large = change(SMALL, memory={"page": 64 << 10})
    plain = run(paged(large, eviction_block=64 << 10), each(0))
    timed = run(paged(large, eviction_block=64 << 10, page_time=cycles(7)), each(0))
    assert timed.latencies[0] - plain.latencies[0] == 16 * 7


@pytest.mark.parametrize(("transfers", "pieces"), [("runs", 3), ("blocks", 2)])
def test_pages_of_a_block_cross_the_link_together(transfers: str, pieces: int) -> None:
    """Pages 0, 7 and 600: two blocks of 512 pages."""
    config = paged(interrupt=cycles(INTERRUPT), transfers=transfers)
    done = run(config, each(0), each(7), each(600), pages=1024)
    assert done.count("link", "transfers_to_device") == pieces
    assert done.count("link", "busy_to_device") == pieces * OVERHEAD + 3 * MOVE


def test_a_page_is_reported_by_each_warp_that_waits_for_it() -> None:
    """Two warps of two SMs, a page for each SM: four faults of two pages, and SMs take turns."""
    config = paged(
        attrs.evolve(change(WIDE, sm={"count": 2})),
        interrupt=cycles(INTERRUPT),
        fault_interval=cycles(20),
        utlb_faults=56,
    )
    blocks = [[[load(page, line), ("wait",)] for line in range(2)] for page in (0, 10)]
    seen: list[list[int]] = []
    done = Run.of(
        config,
        [tenant(blocks)],
        lambda m: m.paging.driver.on_batch.listen(lambda *batch: seen.append([*batch])),
    )
    assert [batch[2:4] for batch in seen] == [[4, 2]]
    assert done.count("faults", "reported") == 2
    assert done.count("paging", "faults_written") == 4
    assert done.count("paging", "faults_again") == done.count("paging", "duplicates") == 2


def tenant(blocks: list[list[Any]]) -> Tenant:
    application = ScriptedApplication(
        [ScriptedLaunch(blocks)], buffers=(Buffer("a", BASE, PAGE * 64),)
    )
    return Tenant("scripted", application, range(2))


def test_an_eviction_waits_for_its_shootdown() -> None:
    """Message, drain and acknowledgement before the page that was stored to can leave."""
    slow = attrs.evolve(SMALL, shootdown=ShootdownConfig(cycles(30), cycles(20), cycles(50)))
    program = [*each(0), store(0), ("compute", 2000), load(1), ("wait",)]
    plain, shot = (run(paged(one, capacity=PAGE), program) for one in (SMALL, slow))
    assert shot.latencies[-1] - plain.latencies[-1] == 100
    assert shot.count("paging", "shootdowns") == 1


WHOLE = {"prefetch": PolicyConfig("tree", {"threshold": 1}), "eviction_block": 2 << 20}
"""A fault brings all 2 MiB around it."""


@pytest.mark.parametrize(("large", "walks"), [(False, 3), (True, 2)])
def test_a_block_that_is_there_becomes_one_page(large: bool, walks: int) -> None:
    """The second walk of page 0 finds it large, and page 300 hits in the first TLB."""
    config = paged(large_pages=large, **WHOLE)
    done = run(config, each(0, 300), pages=512)
    assert done.count("paging", "pages_asked") == 1
    assert done.count("paging", "pages_prefetched") == 511
    assert done.count("walk", "walks") == walks
    assert done.latencies[1] == FETCH + (0 if large else FIRST)


def test_a_large_page_leaves_as_a_whole() -> None:
    """There is room for one block: the second takes the place of the first, which comes again."""
    config = paged(large_pages=True, capacity=2 << 20, **WHOLE)
    done = run(config, each(0, 512, 511), pages=1024)
    assert done.count("paging", "pages_out") == 2 * 512
    assert done.count("paging", "resident") == 512
    assert done.count("paging", "evictions") == 2
    assert done.count("paging", "taken_away") == 0
