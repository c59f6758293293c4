"""The chooser alone: the next command of a plan, and its clock."""

from __future__ import annotations

import pytest

from gpusim.core.engine import NEVER
from gpusim.hardware.dram.plan import ACTIVATE, COLUMN, PRECHARGE, REFRESH
from tests.hardware.dram.parts import Parts, waiting


def test_nothing_to_do() -> None:
    assert Parts().chooser.choose() == NEVER


@pytest.mark.parametrize(
    ("command", "name"),
    [(COLUMN, "read_ok"), (ACTIVATE, "activate_ok"), (PRECHARGE, "precharge_ok")],
)
def test_a_command_waits_for_bank_group_rank_and_bus(command: int, name: str) -> None:
    parts = Parts()
    if command != ACTIVATE:
        parts.open(0, 1 if command == COLUMN else 2)
    bank = parts.banks[0]
    setattr(bank, name, 5)
    one = waiting(0, 1)
    parts.accept(one)
    chooser = parts.chooser
    assert (chooser.choose(), chooser.command, chooser.waiting) == (5, command, one)
    holders = [bank.rank] if command == PRECHARGE else [bank.rank, bank.group]
    for clock, holder in enumerate(holders, 6):
        setattr(holder, name, clock)
        chooser.forget()
        assert chooser.choose() == clock
    parts.bus.hold(20)
    chooser.forget()
    assert chooser.choose() == 20


def test_in_one_clock_a_row_hit_goes_before_an_older_activation() -> None:
    parts = Parts()
    parts.open(1, 1)
    hit = waiting(1, 1, 2)
    parts.accept(waiting(0, 1, 1), hit)
    assert (parts.chooser.choose(), parts.chooser.waiting) == (0, hit)


def test_an_activation_goes_before_a_later_row_hit() -> None:
    parts = Parts()
    parts.open(1, 1)
    parts.banks[1].read_ok = 1
    old = waiting(0, 1, 2)
    parts.accept(old, waiting(1, 1, 1))
    assert (parts.chooser.choose(), parts.chooser.waiting) == (0, old)


@pytest.mark.parametrize(("precharge_rank", "command"), [(1, PRECHARGE), (3, ACTIVATE)])
def test_activations_and_precharges_go_by_age(precharge_rank: int, command: int) -> None:
    parts = Parts()
    parts.open(1, 1)
    parts.accept(waiting(0, 1, 2), waiting(1, 2, precharge_rank))
    assert (parts.chooser.choose(), parts.chooser.command) == (0, command)


def test_it_turns_to_writes_when_no_reads_wait_and_back() -> None:
    parts = Parts()
    write, read = waiting(0, 1, 1, write=True), waiting(1, 1, 2)
    parts.accept(write)
    parts.chooser.choose()
    assert (parts.queues.draining, parts.chooser.waiting) == (True, write)
    parts.accept(read)
    parts.chooser.forget()
    parts.chooser.choose()
    assert (parts.queues.draining, parts.chooser.waiting) == (False, read)


def test_while_a_refresh_is_pending_only_opened_rows_are_accessed() -> None:
    parts = Parts()
    parts.open(1, 1)
    opened, hit = waiting(0, 1, 1), waiting(1, 1, 2)
    parts.accept(opened, hit)
    parts.banks[0].activate(1, 0, parts.timing)
    parts.plan.row_opened(parts.banks[0], opened)
    parts.refresh.begin()
    chooser = parts.chooser
    assert (chooser.choose(), chooser.waiting) == (parts.timing.RCDRD, opened)
    parts.plan.column_done(parts.banks[0], opened)
    chooser.forget()
    assert (chooser.choose(), chooser.command) == (parts.timing.RAS, REFRESH)
