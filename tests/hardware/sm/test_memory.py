"""Loads, stores and atomics of warps: limits, credits, merging and back-pressure, by hand.

Latencies as in tests/machine/test_latency.py: L1 4 cycles, crossbar 8 either way (32 bytes a
cycle), L2 10, DRAM 100; an instruction issued in cycle t is seen by the load/store unit in t + 1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import attrs
import pytest

from gpusim.files.units import Bytes
from tests.machine.bench import SMALL, Run, change

BASE = 1 << 32
PAGE = 4096
TO_L2 = 1 + 4 + 8
BACK = 8 + 3  # a line of four flits
POSTED = TO_L2 + 10 + 8  # a store or an atomic that hits in the L2, and its answer of one flit


def by_issue(run: Run) -> list[tuple[int, int]]:
    return sorted(run.loads)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_limit_of_outstanding_loads(limit: int) -> None:
    loads = [("load", BASE + i * (PAGE + 128)) for i in range(4)]
    run = Run(change(SMALL, sm={"max_loads": limit}), loads)
    issued = by_issue(run)
    assert [begin for begin, _ in issued[:limit]] == list(range(1, limit + 1))
    for index in range(limit, 4):
        assert issued[index][0] == issued[index - limit][1], "as soon as the oldest is answered"


def test_stores_do_not_count_as_outstanding_loads() -> None:
    run = Run(change(SMALL, sm={"max_loads": 1}), [("store", BASE), ("load", BASE + PAGE)])
    assert [begin for begin, _ in by_issue(run)] == [1, 2]


@pytest.mark.parametrize("outstanding", [0, 1, 2, 3])
def test_waiting_for_all_but_the_youngest(outstanding: int) -> None:
    loads = [("load", BASE + i * (PAGE + 128)) for i in range(3)]
    run = Run(SMALL, [*loads, ("wait", outstanding), ("load", BASE + 256)])
    issued = by_issue(run)
    if outstanding == 3:
        assert issued[3][0] == 4
    else:
        assert issued[3][0] == issued[2 - outstanding][1]


def test_waiting_for_a_load_that_is_answered_out_of_order() -> None:
    # The second load hits long before the first is back: "all but the youngest" still waits.
    script = [
        ("load", BASE),
        ("wait",),
        ("load", BASE + 7 * PAGE),
        ("load", BASE),
        ("wait", 1),
        ("load", BASE),
    ]
    run = Run(SMALL, script)
    _, slow, quick, last = by_issue(run)
    assert quick[1] < slow[1]
    assert last[0] == slow[1]


def test_store_credits_run_out_and_come_back() -> None:
    script = [("load", BASE), ("wait",), ("store", BASE), ("store", BASE + 32)]
    two = Run(change(SMALL, sm={"store_credits": 2}), script)
    assert two.latencies[1:] == [POSTED, POSTED] == [31, 31]
    one = Run(change(SMALL, sm={"store_credits": 1}), script)
    # The second store is issued a cycle after the first and starts when that is acknowledged.
    assert one.latencies[1:] == [POSTED, (POSTED - 1) + (POSTED - 1)] == [31, 60]
    assert one.machine.sms[0].lsu.credits == 1


@pytest.mark.parametrize("translation", ["parallel", "before", "after"])
def test_a_store_of_many_lines_with_one_credit(translation: str) -> None:
    config = change(SMALL, sm={"store_credits": 1}, l1={"translation": translation})
    run = Run(config, [("store", *(BASE + 128 * i for i in range(8))), ("reduce", BASE)])
    assert run.count("sm", "transactions") == 9
    assert run.count("l2", "stores") == 9
    assert run.machine.sms[0].lsu.credits == 1
    ends = [end for _, end in run.loads]
    assert all(later - sooner >= 30 for sooner, later in pairwise(ends))


@pytest.mark.parametrize("op", ["atomic", "reduce"])
def test_atomics_bypass_the_l1_and_drop_its_copy(op: str) -> None:
    run = Run(
        SMALL,
        [
            ("load", BASE),
            ("wait",),
            (op, BASE),
            ("wait",),
            ("compute", 100),
            ("load", BASE),
            ("wait",),
        ],
    )
    assert run.latencies[1:] == [POSTED, TO_L2 + 10 + BACK] == [31, 34]
    assert run.count("l1", "hits") == 0
    assert run.count("l1", "lookups") == 2
    assert run.count("l1", "stores") == 1
    assert run.count("l2", "hits") == 2


def test_a_store_keeps_the_l1_copy() -> None:
    run = Run(SMALL, [("load", BASE), ("wait",), ("store", BASE), ("load", BASE), ("wait",)])
    assert run.count("l1", "hits") == 1


def test_a_store_does_not_allocate_in_the_l1() -> None:
    run = Run(SMALL, [("store", BASE), ("compute", 1000), ("load", BASE), ("wait",)])
    assert run.count("l1", "hits") == 0
    assert run.count("l2", "hits") == 1


def test_an_atomic_is_waited_for_and_a_reduction_is_not() -> None:
    for op, posted in (("atomic", False), ("reduce", True), ("store", True)):
        run = Run(SMALL, [("load", BASE), ("wait",), (op, BASE), ("wait",), ("load", BASE + 64)])
        _, first, second = by_issue(run)
        assert second[0] == (first[0] + 1 if posted else first[1])


def test_a_reduction_needs_a_credit_and_an_atomic_does_not() -> None:
    for op, waits in (("atomic", False), ("reduce", True)):
        script = [("load", BASE), ("wait",), (op, BASE), (op, BASE + 32), ("wait",)]
        run = Run(change(SMALL, sm={"store_credits": 1}), script)
        assert run.latencies[2] == (60 if waits else 31)


TINY_L2: dict[str, Any] = {"size": Bytes(8 * 128), "ways": 2}
"""Four sets of two lines: lines 0, 4 and 8 of a page contend."""


@pytest.mark.parametrize(("op", "dirty"), [("load", 0), ("store", 1), ("reduce", 1), ("atomic", 1)])
def test_dirty_lines_are_written_back_and_clean_ones_are_not(op: str, dirty: int) -> None:
    script = [(op, BASE), ("compute", 1000)]
    for line in (4, 8):
        script += [("load", BASE + 128 * line), ("wait",)]
    run = Run(change(SMALL, l2=TINY_L2), script)
    assert run.count("l2", "writebacks") == run.count("dram", "writes") == dirty
    assert run.count("l2", "fills") == run.count("dram", "data_reads") == 3


def test_a_line_is_written_back_once() -> None:
    script: list[tuple[Any, ...]] = [("atomic", BASE), ("wait",)]
    for line in (4, 8, 0, 4, 8):  # line 0 comes back clean
        script += [("load", BASE + 128 * line), ("wait",)]
    run = Run(change(SMALL, l2=TINY_L2, l1={"size": Bytes(128), "ways": 1}), script)
    assert run.count("l2", "fills") == 6
    assert run.count("l2", "writebacks") == 1


def test_many_write_backs_drain() -> None:
    # One set of one line: every store evicts the one before.
    config = change(SMALL, l2={"size": Bytes(128), "ways": 1})
    config = attrs.evolve(config, dram=attrs.evolve(config.dram, ideal=False, write_queue=2))
    run = Run(config, [("store", *(BASE + 128 * i for i in range(32)))] * 2)
    fills = run.count("l2", "fills")
    assert fills >= 32
    assert run.count("l2", "writebacks") == run.count("dram", "writes") == fills - 1


def test_misses_of_two_sms_merge_in_the_l2() -> None:
    run = Run(change(SMALL, sm={"count": 2}), [("load", BASE), ("wait",)], blocks=2)
    assert run.count("l2", "lookups") == run.count("l2", "misses") == 2
    assert run.count("l2", "merged") == 1
    assert run.count("dram", "data_reads") == 1
    assert run.count("walk", "walks") == 1


def test_a_full_l2_mshr_file_stalls_the_bank() -> None:
    script = [("load", BASE), ("wait",), ("load", BASE + 128, BASE + 256), ("wait",)]
    run = Run(change(SMALL, l2={"mshrs": 1}), script)
    first = TO_L2 + 10 + 100 + BACK
    second = TO_L2 + 10 + 100 + 10 + 100 + BACK  # looks up when the first line has come
    assert run.latencies[1:] == [first, second] == [134, 244]
    assert run.count("l2", "stalls") == 1


def test_a_full_l2_mshr_holds_back_its_line() -> None:
    config = change(SMALL, sm={"count": 3}, l2={"mshr_merge": 2})
    run = Run(config, [("load", BASE), ("wait",)], blocks=3)
    assert run.count("l2", "merged") == 1
    assert run.count("l2", "hits") == 1  # the third one, after the fill
    assert run.count("l2", "stalls") == 1


def test_a_crossbar_with_room_for_one_packet() -> None:
    # Both lines are in the L2 and not in the L1.
    script = [
        ("atomic", BASE),
        ("wait",),
        ("atomic", BASE + 128),
        ("wait",),
        ("load", BASE, BASE + 128),
    ]
    free = Run(SMALL, script)
    assert free.latencies[2:] == [34, 38], "the second line follows four flits later"
    run = Run(change(SMALL, crossbar={"queue": 1}), script)
    # The first packet reaches the L2 in 13; then the second goes through the L1 again and reaches
    # it in 25.  It is looked up in 34, when the first answer has left the network back.
    assert 13 + 4 + 8 == 25 < 34
    assert run.latencies[2:] == [34, 34 + 10 + BACK] == [34, 55]


def test_the_queue_of_the_load_store_unit() -> None:
    config = change(SMALL, sm={"lsu_queue": 1})
    lines = [BASE + 128 * i for i in range(4)]
    warm = [("load", *lines), ("wait",)]
    run = Run(config, [*warm, ("load", *lines), ("load", *lines), ("wait",)])
    begins = [begin for begin, _ in run.loads[4:]]
    # The second is issued when the last transaction of the first has started: after four cycles.
    assert begins == [begins[0]] * 4 + [begins[0] + 4] * 4
    assert run.latencies[8:] == [5, 6, 7, 8]
