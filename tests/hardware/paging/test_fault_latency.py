"""When the loads of faults end, cycle by cycle: lookups, walks, driver, link."""

from __future__ import annotations

from gpusim.core.policy import PolicyConfig
from gpusim.files.units import cycles
from tests.hardware.paging.bench import (
    BATCH,
    FETCH,
    L1_TLB,
    L2_TLB,
    MOVE,
    OVERHEAD,
    WALK,
    WAY,
    each,
    load,
    paged,
    run,
    store,
)
from tests.machine.bench import SMALL, change

ARRIVES = OVERHEAD + MOVE + WAY
"""A page on an idle link."""
FAULT = L1_TLB + L2_TLB + WALK + BATCH + ARRIVES + WALK + FETCH
"""Lookups, the walk that finds nothing, the driver, the link, the walk again, the data."""


def test_one_fault() -> None:
    done = run(paged(), each(3))
    assert done.latencies == [FAULT]
    assert done.states()["fault"] == BATCH + ARRIVES
    assert done.count("walk", "walks") == 2
    assert done.count("faults", "faults") == done.count("faults", "replays") == 1


def test_a_page_that_is_there_costs_nothing_more() -> None:
    done = run(paged(), [*each(3), load(3, line=1), ("wait",)])
    assert done.latencies == [FAULT, FETCH]  # the L1 TLB hits beside the L1 cache


def test_the_driver_takes_time_for_each_page() -> None:
    done = run(paged(fault_time=cycles(70)), each(3))
    assert done.latencies == [FAULT + 70]


def test_a_batch_is_served_together() -> None:
    """Three warps miss: one finds the driver asleep, the others share the next batch.

    They wait until the first batch has ended, which empties the buffer, walk again, and fault.
    """
    done = run(paged(), each(0), each(10), each(20))
    assert done.count("paging", "batches") == 2
    assert done.count("paging", "faults") == 3
    assert done.count("faults", "faults") == 5
    (begin, first), (_, second), (_, third) = done.loads
    assert first == begin + FAULT
    assert second == first + WALK + BATCH + 2 * (OVERHEAD + MOVE) + WAY
    assert second < third < second + 10, "its line comes after that of the other"


def test_side_by_side_pages_cross_the_link_together() -> None:
    """With replays of what was served, the faults that came meanwhile make one batch."""
    done = run(paged(replay="served"), each(0), each(10), each(11))
    assert done.count("link", "transfers_to_device") == 2
    assert done.count("link", "bytes_to_device") == 3 * 4096
    assert done.count("faults", "faults") == 3
    assert done.count("link", "busy_to_device") == 2 * OVERHEAD + 3 * MOVE


def test_two_faults_of_a_page_are_one() -> None:
    done = run(paged(), each(3), [("compute", 40), load(3, line=2), ("wait",)])
    assert done.count("paging", "pages_asked") == 1
    assert done.count("faults", "faults") == 1, "the TLB merges them"


def test_a_page_comes_while_it_is_walked() -> None:
    """Page 1 is prefetched for page 0 while a walk of page 1 is under way, which then finds it."""
    config = paged(prefetch=PolicyConfig("block"))
    arrives = BATCH + OVERHEAD + 16 * MOVE + WAY
    late = L1_TLB + L2_TLB + WALK + arrives - 300
    done = run(config, each(0), [("compute", late), load(1), ("wait",)])
    assert done.count("faults", "faults") == 1
    assert done.count("walk", "walks") == 3
    assert min(done.latencies) == L1_TLB + L2_TLB + WALK + FETCH


def test_what_was_stored_to_goes_back_before_another_page_comes() -> None:
    config = paged(capacity=4096)
    clean = run(config, each(0, 1))
    assert clean.latencies == [FAULT, FAULT]
    assert clean.count("link", "bytes_to_host") == 0
    dirty = run(config, [*each(0), store(0), ("compute", 2000), *each(1)])
    assert dirty.latencies[-1] == FAULT + OVERHEAD + MOVE + WAY
    assert dirty.count("link", "bytes_to_host") == 4096
    assert dirty.count("paging", "pages_written_back") == 1


def test_an_evicted_page_is_a_fault_again() -> None:
    done = run(paged(capacity=4096), each(0, 1, 0))
    assert done.latencies == [FAULT] * 3
    assert done.count("paging", "pages_out") == 2
    assert done.count("paging", "resident") == 1


def test_a_page_that_leaves_while_it_is_walked() -> None:
    """There is room for one page, and two warps want two: each walk may end on a page that left."""
    config = paged(capacity=4096)
    other = [("compute", BATCH + 300), *each(1, 0)]
    done = run(config, each(0, 1, 0), other)
    assert done.count("paging", "resident") == 1
    assert len(done.latencies) == 5
    assert done.count("paging", "pages_asked") == done.count("paging", "pages_out") + 1


def test_a_load_of_a_page_that_is_on_its_way_out() -> None:
    """Page 0 is written back to make room for page 1; a load of it meanwhile has to fault."""
    config = paged(change(SMALL, sm={"count": 2}), capacity=4096)
    later = FAULT + 500 + 2000 + L1_TLB + L2_TLB + WALK + BATCH
    before = [*each(0), store(0), ("compute", 2000), *each(1)]
    done = run(config, before, [("compute", later), load(0, line=5), ("wait",)])
    assert done.count("paging", "pages_written_back") == 1
    *_, (asked, other), (begin, end) = done.loads
    leaves = asked + L1_TLB + L2_TLB + WALK + BATCH
    assert leaves < begin + L1_TLB + L2_TLB + WALK < leaves + ARRIVES, "a walk in mid-way"
    assert end == other + BATCH + ARRIVES + WALK
    assert done.count("faults", "faults") == 4, "it faults anew when all others walk again"


HEADER = 32 // 4
HOST = 100
OVER_THE_LINK = HEADER + WAY + HOST + 128 // 4 + WAY
"""The request for a line, the host's memory, the line."""
REMOTE = FETCH - 100 + OVER_THE_LINK
"""A read in which the host stands where DRAM does."""


def test_a_line_of_a_page_that_stays_with_the_host() -> None:
    done = run(paged(migration="never"), [*each(3), load(3, line=1), ("wait",)])
    assert done.latencies == [L1_TLB + L2_TLB + WALK + REMOTE, REMOTE]
    assert done.count("faults", "faults") == done.count("paging", "batches") == 0
    assert done.count("host", "read_cycles") == 2 * OVER_THE_LINK
    assert done.count("link", "bytes_to_device") == 2 * 128


def test_a_pinned_array_beside_others() -> None:
    done = run(paged(pinned=("a",)), each(3))
    assert done.latencies == [L1_TLB + L2_TLB + WALK + REMOTE]


BLOCK = OVERHEAD + 16 * MOVE + WAY
"""64 KiB on the link."""


def lines(*numbers: int) -> list[tuple[object, ...]]:
    return [step for line in numbers for step in (load(0, line), ("wait",))]


def test_what_is_accessed_often_comes() -> None:
    """The third read of a block sends for it; until the driver comes to it, reads go on."""
    config = paged(migration="accesses", threshold=3)
    done = run(config, [*lines(0, 1, 2, 3), ("compute", BATCH + BLOCK), *lines(4, 5)])
    walked = L1_TLB + L2_TLB + WALK
    assert done.latencies == [walked + REMOTE, *[REMOTE] * 3, walked + FETCH, FETCH]
    assert done.count("paging", "pages_migrated") == 16
    assert done.count("host", "reads") == 4


def test_a_load_of_a_block_that_is_on_its_way() -> None:
    """It faults; the driver finds it there when it comes to the fault, after the block."""
    config = paged(migration="accesses", threshold=1)
    done = run(config, [*lines(0), ("compute", BATCH), *lines(1)])
    (begin, _), (_, end) = done.loads
    sent_for = begin + L1_TLB + L2_TLB + WALK + 1 + 4 + 8 + 10
    assert end == sent_for + BATCH + BLOCK + BATCH + WALK + FETCH - 1  # it started before
    assert done.count("paging", "duplicates") == done.count("faults", "faults") == 1


def test_faults_that_were_lost_or_found_no_room_are_not_forgotten() -> None:
    """Only what was served is replayed, but the buffer holds one fault, or the memory one page."""
    four = [each(page) for page in (0, 10, 20, 30)]
    lost = run(paged(replay="served", fault_buffer=1), *four)
    assert lost.count("faults", "lost") > 0
    assert lost.count("paging", "resident") == 4
    full = run(paged(replay="served", capacity=4096), *four)
    assert full.count("paging", "not_served") > 0
    assert full.count("paging", "pages_out") == 3
