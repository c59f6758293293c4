"""The issuer alone: what each command does to bank, bus, plan and counters."""

from __future__ import annotations

from gpusim.hardware.dram.bank import CLOSED
from gpusim.hardware.dram.counters import ChannelCounters
from gpusim.hardware.dram.plan import ACTIVATE, PRECHARGE
from gpusim.hardware.dram.waiting import CONFLICT, HIT, MISS
from tests.hardware.dram.parts import Parts, waiting


def test_a_conflict_from_precharge_to_data() -> None:
    parts = Parts()
    issuer, t, bank = parts.issuer, parts.timing, parts.banks[0]
    parts.open(0, 2)
    one = waiting(0, 1)
    parts.accept(one)
    issuer.precharge(one, 10)
    assert (bank.row, bank.step, bank.activate_ok) == (CLOSED, ACTIVATE, 10 + t.RP)
    issuer.activate(one, 30)
    assert (bank.row, bank.read_ok, parts.queues.reads.size) == (1, 30 + t.RCDRD, 0)
    issuer.access(one, 50)
    assert issuer.done == [one]
    assert (one.first, one.outcome, one.finished) == (10, CONFLICT, 50 + t.CL + t.BL)
    assert issuer.counters == ChannelCounters(1, 1, 0, t.BL)
    assert (parts.bus.row_ok, parts.bus.column_ok) == (51, 51)


def test_the_first_command_tells_the_outcome() -> None:
    parts = Parts()
    parts.open(1, 1)
    miss, hit = waiting(0, 1, 1), waiting(1, 1, 2)
    parts.accept(miss, hit)
    parts.issuer.activate(miss, 1)
    parts.issuer.access(hit, 2)
    assert (miss.outcome, hit.outcome) == (MISS, HIT)


def test_a_request_is_done_with_its_last_burst() -> None:
    parts = Parts()
    parts.open(0, 1)
    one = waiting(0, 1, left=2)
    parts.accept(one)
    parts.issuer.access(one, 5)
    assert (parts.issuer.done, parts.plan.columns, parts.queues.reads.size) == ([], [one], 1)
    parts.issuer.access(one, 8)
    assert (parts.issuer.done, parts.plan.columns, parts.queues.reads.size) == ([one], [], 0)


def test_an_unwanted_row_is_closed_if_rows_are_kept_closed() -> None:
    for closed_page in (False, True):
        parts = Parts(closed_page=closed_page)
        parts.open(0, 1)
        one = waiting(0, 1, 1)
        parts.accept(one, waiting(0, 2, 2))
        parts.issuer.access(one, 5)
        bank = parts.banks[0]
        assert bank.step == (ACTIVATE if closed_page else PRECHARGE)
        assert parts.issuer.counters.precharges == closed_page
        if closed_page:
            assert bank.activate_ok == 5 + parts.timing.RTP + parts.timing.RP


def test_a_refresh_closes_rows_first() -> None:
    parts = Parts()
    t = parts.timing
    parts.open(0, 1)
    parts.accept(waiting(1, 1))
    parts.refresh.begin()
    parts.issuer.refresh(10)
    assert (parts.banks[0].row, parts.refresh.pending) == (CLOSED, parts.ranks)
    assert parts.refresh.next_clock() == 10 + t.RP
    parts.issuer.refresh(10 + t.RP)
    assert parts.refresh.pending == []
    assert parts.refresh.due == 2 * t.REFI
    assert all(bank.activate_ok == 10 + t.RP + t.RFC for bank in parts.banks)
    assert (parts.issuer.counters.precharges, parts.issuer.counters.refreshes) == (1, 1)
    assert parts.banks[1].step == ACTIVATE
