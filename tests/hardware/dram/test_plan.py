"""The bank plan alone: which command each bank needs next."""

from __future__ import annotations

from gpusim.core.policy import PolicyConfig
from gpusim.hardware.dram.plan import ACTIVATE, COLUMN, IDLE, PRECHARGE
from tests.hardware.dram.parts import Parts, waiting


def test_a_closed_bank_an_open_row_and_another_row() -> None:
    parts = Parts()
    parts.open(1, 7)
    parts.open(2, 7)
    closed, hit, conflict = waiting(0, 7, 1), waiting(1, 7, 2), waiting(2, 8, 3)
    parts.accept(closed, hit, conflict)
    plan, banks = parts.plan, parts.banks
    assert [bank.step for bank in banks[:4]] == [ACTIVATE, COLUMN, PRECHARGE, IDLE]
    assert [bank.next for bank in banks[:4]] == [closed, hit, conflict, None]
    assert (plan.activations, plan.columns, plan.precharges) == ([banks[0]], [hit], [banks[2]])


def test_a_row_hit_takes_the_place_of_a_precharge() -> None:
    parts = Parts()
    parts.open(0, 7)
    conflict, hit = waiting(0, 8, 1), waiting(0, 7, 2)
    parts.accept(conflict, hit)
    assert (parts.plan.columns, parts.plan.precharges) == ([hit], [])
    parts.plan.column_done(parts.banks[0], hit)
    assert (parts.plan.columns, parts.plan.precharges) == ([], [parts.banks[0]])


def test_activations_are_kept_by_age() -> None:
    parts = Parts()
    parts.accept(waiting(0, 1, 5), waiting(1, 1, 3), waiting(2, 1, 4))
    assert [bank.index for bank in parts.plan.activations] == [1, 2, 0]


def test_a_row_that_was_opened_for_a_request_waits_for_it() -> None:
    parts = Parts()
    first, other = waiting(0, 1, 1), waiting(0, 2, 2)
    parts.accept(first, other)
    bank = parts.banks[0]
    bank.activate(1, 10, parts.timing)
    parts.plan.row_opened(bank, first)
    assert parts.queues.reads.requests() == [other]
    assert (parts.plan.opened, parts.plan.columns) == (1, [first])
    assert (first.opened, first.due) == (True, 10 + parts.timing.RCDRD)
    assert first.rank < other.rank
    assert bank.step == IDLE, "the row is not closed for the other request"
    parts.plan.column_done(bank, first)
    assert (parts.plan.opened, parts.plan.columns, bank.step) == (0, [], PRECHARGE)


def test_a_turn_plans_for_writes_and_keeps_what_was_opened() -> None:
    parts = Parts()
    parts.open(1, 1)
    opened, hit, read = waiting(0, 1, 1), waiting(1, 1, 2), waiting(2, 1, 3)
    write = waiting(3, 1, 4, write=True)
    parts.accept(opened, hit, read, write)
    parts.banks[0].activate(1, 10, parts.timing)
    parts.plan.row_opened(parts.banks[0], opened)
    assert parts.banks[3].step == IDLE
    parts.plan.turn()
    assert parts.plan.columns == [opened]
    assert parts.plan.activations == [parts.banks[3]]
    assert [bank.step for bank in parts.banks[:4]] == [IDLE, IDLE, IDLE, ACTIVATE]


def test_banks_that_the_queue_names_are_asked_again() -> None:
    parts = Parts(scheduler=PolicyConfig("fcfs"))
    first, second = waiting(0, 1, 1), waiting(1, 1, 2)
    parts.accept(first, second)
    assert parts.plan.activations == [parts.banks[0]]
    parts.banks[0].activate(1, 10, parts.timing)
    parts.plan.row_opened(parts.banks[0], first)
    assert parts.plan.activations == [parts.banks[1]]
    assert not parts.queues.reads.changed


def test_an_open_row_is_wanted_by_a_row_hit_or_its_opener() -> None:
    parts = Parts()
    parts.open(0, 1)
    bank = parts.banks[0]
    parts.accept(waiting(0, 2, 1))
    assert not parts.plan.row_is_wanted(bank)
    parts.accept(waiting(0, 1, 2))
    assert parts.plan.row_is_wanted(bank)
    parts.open(1, 5)
    parts.banks[1].opened_for = waiting(1, 5)
    assert parts.plan.row_is_wanted(parts.banks[1])
