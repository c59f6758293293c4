"""What a fault costs, by hand."""

from __future__ import annotations

from gpusim.config.units import cycles
from gpusim.core.policy import PolicyConfig
from tests.paging.bench import (
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
