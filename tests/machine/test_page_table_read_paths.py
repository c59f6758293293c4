"""How page-table reads come to the L2 cache, and when a bank looks them up, by hand."""

from __future__ import annotations

import pytest

from gpusim.core.errors import UserError
from gpusim.files.units import cycles
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, change

BASE = 1 << 32
L1_TLB, L2_TLB, L1, L2, DRAM, CROSSBAR, ISSUE = 1, 10, 4, 10, 100, 8, 1
FETCHED = L1 + CROSSBAR + L2 + DRAM + CROSSBAR + 3


def walk_of(sent_by: str) -> int:
    """Cycles of a cold walk."""
    config = change(SMALL, walk={"cost": "memory", "sent_by": sent_by})
    (latency,) = Run(config, [("load", BASE), ("wait",)]).latencies
    return latency - ISSUE - L1_TLB - L2_TLB - FETCHED


def test_a_read_that_an_sm_sends_crosses_the_network_once() -> None:
    assert walk_of("walkers") == 4 * (L2 + DRAM)
    assert walk_of("sms") == 4 * (CROSSBAR + L2 + DRAM)


@pytest.mark.parametrize("sent_by", ["walkers", "sms"])
def test_data_and_reads_take_as_long_to_enter_a_bank(sent_by: str) -> None:
    walk = {"cost": "memory", "sent_by": sent_by}
    near, far = (change(SMALL, walk=walk, l2={"entry": entry}) for entry in (None, cycles(85)))
    script = [("load", BASE), ("wait",), ("load", BASE + 128), ("wait",)]
    before, after = Run(near, script).latencies, Run(far, script).latencies
    cold, warm = (late - soon for soon, late in zip(before, after, strict=True))
    assert (cold, warm) == (4 * 85 + 85, 85)


def test_reads_of_sms_are_packets_of_the_network() -> None:
    for sent_by, packets in (("walkers", 1), ("sms", 1 + 4)):
        config = change(SMALL, walk={"cost": "memory", "sent_by": sent_by})
        run = Run(config, [("load", BASE), ("wait",)])
        assert run.count("crossbar/requests", "packets") == packets
        assert run.count("l2", "translation_lookups") == 4


def cycles_of(order: str) -> int:
    """A walk beside 60 loads of other lines, of a page that is known, at a bank of one port."""
    config = change(
        SMALL,
        walk={"cost": "memory"},
        l2={"page_table_reads": order},
        sm={"max_loads": 64, "lsu_queue": 64},
        l1={"mshrs": 64},
    )
    known = [("load", BASE), ("wait",), ("barrier",)]
    loads = [("load", BASE + 128 * line) for line in range(1, 25)]
    run = Run(config, [*known, *loads, ("wait",)], [("barrier",), ("load", BASE + 4096), ("wait",)])
    return max(end - begin for begin, end in run.loads[1:])


def test_a_read_that_comes_first_is_not_later_than_one_in_order() -> None:
    assert cycles_of("first") <= cycles_of("in-order")


def test_without_other_requests_the_order_does_not_matter() -> None:
    for order in ("first", "in-order"):
        config = change(SMALL, walk={"cost": "memory"}, l2={"page_table_reads": order})
        run = Run(config, [("load", BASE), ("wait",), ("load", BASE + 4096), ("wait",)])
        assert [latency - ISSUE - L1_TLB - L2_TLB - FETCHED for latency in run.latencies] == [
            4 * (L2 + DRAM),
            4 * L2,
        ]


@pytest.mark.parametrize(
    ("model", "changes", "words"),
    [
        ("kepler-uvm", {"walk.sent_by": "sms"}, ["walk.sent_by", "no effect", "walk.memory"]),
        ("maxwell-mask", {"walk.sent_by": "sm"}, ["did you mean 'sms'"]),
        ("maxwell-mask", {"l2.page_table_reads": "last"}, ["l2.page_table_reads", "in-order"]),
        ("maxwell-mask", {"tlb.L2.misses": "hit-under-miss"}, ["tlb.L2.misses", "first level"]),
        ("a100-mig", {"tlb.L1.misses": "lsu-blocking"}, ["l1.translation", "virtual L1"]),
        ("maxwell-mask", {"tlb.L1.misses": "blocking"}, ["did you mean 'lsu-blocking'"]),
    ],
)
def test_refused(model: str, changes: dict[str, object], words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        load_model(model, [], changes)
    assert [word for word in words if word not in str(caught.value)] == []
