"""Who waits for a page walk, and how many walks there are at once, by hand.

The machine is that of `test_latency`: a load that misses in the first TLB (1 cycle) and in the
second one (10) waits for a walk of 500 cycles.
"""

from __future__ import annotations

import attrs
import pytest

from tests.machine.bench import SMALL, Run, change
from tests.machine.own_stages import EACH_WAY, with_stage

BASE = 1 << 32
PAGE = 4096
WALKED = 1 + 10 + 500
COUNTERS = ("long_misses", "long_miss_cycles", "long_miss_warps", "most_miss_warps")


def long_misses(run: Run) -> tuple[int, ...]:
    return tuple(run.count("tlb/L1", name) for name in COUNTERS)


def test_a_page_that_a_warp_waits_for_alone() -> None:
    run = Run(SMALL, [("load", BASE), ("wait",), ("load", BASE), ("wait",)])
    assert long_misses(run) == (1, WALKED, 1, 1)
    assert run.count("walk", "most_walks") == 1


def test_a_warp_counts_once_however_many_of_its_loads_wait() -> None:
    both = [("load", BASE), ("load", BASE + 128), ("wait",)]
    assert long_misses(Run(SMALL, both)) == (1, WALKED, 1, 1)
    assert long_misses(Run(SMALL, both, both)) == (1, WALKED, 2, 2)


def test_pages_are_counted_apart() -> None:
    shared = [("load", BASE), ("wait",)]
    run = Run(SMALL, shared, shared, shared, [("load", BASE + PAGE), ("wait",)])
    assert long_misses(run) == (2, 2 * WALKED, 3 + 1, 3)
    assert run.count("walk", "most_walks") == 2


def test_walks_at_once_are_those_that_have_a_walker() -> None:
    pages = [[("load", BASE + PAGE * page), ("wait",)] for page in range(5)]
    run = Run(change(SMALL, walk={"walkers": 3}), *pages)
    assert run.count("walk", "walks") == 5
    assert run.count("walk", "most_walks") == 3


def test_a_page_that_the_second_tlb_has_is_no_long_miss() -> None:
    pages = [BASE + PAGE * page + 128 * (page % 32) for page in range(17)]  # one more than L1 holds
    warm = [step for page in pages for step in (("load", page), ("wait",))]
    run = Run(SMALL, [*warm, ("load", pages[0]), ("wait",)])
    assert run.count("tlb/L1", "misses") == 18
    assert long_misses(run) == (17, 17 * WALKED, 17, 1)


def test_sms_that_wait_for_the_same_walk_are_counted_apart() -> None:
    two = change(SMALL, sm={"count": 2})
    run = Run(two, [("load", BASE), ("wait",)], blocks=2)
    misses, cycles, warps, most = long_misses(run)
    assert (misses, warps, most) == (2, 2, 2)  # the sum of one each
    assert WALKED < cycles <= 2 * WALKED  # the later one of two lookups a cycle apart merges
    assert run.count("walk", "walks") == 1


def test_without_a_second_tlb_all_misses_are_long() -> None:
    run = Run(attrs.evolve(SMALL, tlb={"L1": SMALL.tlb["L1"]}), [("load", BASE), ("wait",)])
    assert long_misses(run) == (1, 1 + 500, 1, 1)


STAGES = [
    ("L1", "own", "L2", "walk"),
    ("L1", "L2", "own", "walk"),
]


@pytest.mark.parametrize("stages", STAGES)
def test_they_do_not_depend_on_a_stage_between(stages: tuple[str, ...]) -> None:
    config = with_stage(SMALL, "PassOn", *stages)
    run = Run(config, [("load", BASE), ("load", BASE + 128), ("wait",)])
    assert long_misses(run) == (1, WALKED + 2 * EACH_WAY, 1, 1)
    warm = [
        step
        for page in range(17)
        for step in (("load", BASE + PAGE * page + 128 * (page % 32)), ("wait",))
    ]
    run = Run(config, [*warm, ("load", BASE), ("wait",)])  # the second TLB has it
    assert run.count("tlb/L1", "misses") == 18
    assert run.count("tlb/L1", "long_misses") == 17


def test_what_a_stage_of_ones_own_answers_is_no_long_miss() -> None:
    config = with_stage(
        attrs.evolve(SMALL, tlb={"L1": SMALL.tlb["L1"]}), "NextPage", "L1", "own", "walk"
    )
    script = [("load", BASE), ("wait",), ("load", BASE + PAGE + 128), ("wait",)]
    run = Run(config, script)
    assert run.count("stage/own", "answered") == 0, "no array has that page"
    assert long_misses(run)[0] == 2
