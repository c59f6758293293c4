"""What waits behind a stalled L2 bank waits for the bank: causes, beside unchanged states."""

from __future__ import annotations

from typing import Any

import attr
import pytest

import gpusim
from gpusim.config.schema import GpuConfig
from gpusim.core.blame import Blame, blamed, whole
from gpusim.core.request import CONTINUES
from gpusim.core.states import State
from gpusim.core.unboxed import IntList
from gpusim.files.units import Bytes
from gpusim.hardware.cache.bank_stalls import BankStalls
from gpusim.hardware.sm.l2_waits import L2Waits
from gpusim.machine import Machine, Tenant
from gpusim.results.bank_waits import bank_waits
from gpusim.results.comparison import compare
from gpusim.runs.run import run_machine
from tests.machine.bench import SMALL, Script, ScriptedApplication, ScriptedLaunch, change
from tests.opened import opened_machine

BASE = 1 << 32
LINK, L2 = int(State.INTERCONNECT), int(State.L2)
MERGE, MSHRS = int(Blame.MERGE_LIST), int(Blame.MSHRS)
ONE_BANK = change(SMALL, sm={"count": 1}, l2={"banks": 1, "size": Bytes(64 << 10)})


def waits(config: GpuConfig, *scripts: Script) -> tuple[L2Waits, dict[str, int]]:
    """Waits of warps, one a script, for stalled banks, and sums over their states."""
    application = ScriptedApplication([ScriptedLaunch([list(scripts)])])
    machine: Machine = opened_machine(config, [Tenant("app", application, range(1))], 1)
    run_machine(machine)
    (sm,) = machine.sms
    return sm.ledger.l2_waits[0], dict(zip(machine.states, sm.ledger.sums[0], strict=True))


def counts(found: L2Waits) -> dict[str, int]:
    return {name: value for name, value in attr.asdict(found).items() if value}


LINES: list[Script] = [[("load", BASE + 128 * line), ("wait", 0)] for line in range(4)]
HITS_L1_NOT = {"l1": {"mshrs": 8}}


def test_a_bank_with_enough_of_all_is_to_blame_for_nothing() -> None:
    found, sums = waits(ONE_BANK, *LINES)
    assert not counts(found)
    assert sums["interconnect"] > 0


def test_misses_behind_one_that_finds_no_mshr() -> None:
    """With one MSHR the second miss is next at the bank, and the others lie behind it."""
    free, _ = waits(ONE_BANK, *LINES)
    found, sums = waits(change(ONE_BANK, l2={"mshrs": 1}), *LINES)
    assert set(counts(found)) == {"behind_mshrs", "at_mshrs"}
    assert 0 < found.behind <= sums["interconnect"]
    assert 0 < found.at <= sums["l2"]
    assert not counts(free)


def test_each_miss_is_at_the_bank_while_the_one_before_it_is_fetched() -> None:
    """Four fetches one after the other: the last miss is behind two of them and at one."""
    found, _ = waits(change(ONE_BANK, l2={"mshrs": 1}), *LINES)
    alone, _ = waits(change(ONE_BANK, l2={"mshrs": 1}), *LINES[:2])
    fetch = alone.at_mshrs
    assert fetch > 100, "DRAM takes 100 cycles"
    assert found.at_mshrs == pytest.approx(3 * fetch, rel=0.1)
    assert found.behind_mshrs == pytest.approx((1 + 2) * fetch, rel=0.1)


def test_a_full_way_to_dram_and_a_full_way_back_are_told_apart() -> None:
    narrow = change(
        ONE_BANK, dram={"read_queue": 1, "write_queue": 1}, crossbar={"bytes_per_cycle": 1}
    )
    found, sums = waits(narrow, *LINES)
    assert found.behind <= sums["interconnect"]
    assert found.at <= sums["l2"]
    assert not found.behind_merge_lists + found.at_merge_lists


# -- trails --------------------------------------------------------------------------------------


def test_marks_split_the_last_state_and_leave_it_what_it_was() -> None:
    stalls = BankStalls()
    for cause, begin, end in ((MSHRS, 10, 20), (MSHRS, 20, 25), (MERGE, 30, 40), (MERGE, 41, 41)):
        stalls.begin(cause, begin)
        stalls.end(end)
    assert stalls.intervals == [(10, 25, MSHRS), (30, 40, MERGE)]
    trail = IntList([LINK, 5])
    stalls.mark(trail, 15)
    assert trail == [
        *(LINK, 5),
        *(blamed(LINK, MSHRS) | CONTINUES, 15),
        *(LINK | CONTINUES, 25),
        *(blamed(LINK, MERGE) | CONTINUES, 30),
        *(LINK | CONTINUES, 40),
    ]
    pieces: list[Any] = [
        (state, cycle, cycle)
        for state, cycle in zip(list(trail)[::2], list(trail)[1::2], strict=True)
    ]
    assert [state for state, _, _ in whole(pieces[::-1])] == [LINK]
    stalls.forget(29)
    assert stalls.intervals == [(30, 40, MERGE)]
    stalls.forget(40)
    assert not stalls.intervals


def test_what_is_next_at_a_bank_and_tries_again_has_one_mark() -> None:
    stalls = BankStalls()
    trail = IntList([L2, 10])
    for begin, end in ((10, 12), (12, 19)):
        stalls.begin(MERGE, begin)
        stalls.end(end)
        stalls.mark(trail, trail[-1])
    assert trail == [blamed(L2, MERGE), 10, L2 | CONTINUES, 19]


def test_pieces_that_lay_apart_stay_apart() -> None:
    pieces = [(L2, 20, 30), (L2 | CONTINUES, 15, 20), (blamed(L2, MERGE), 10, 15), (L2, 0, 10)]
    assert whole(pieces) == [(L2, 20, 30), (L2, 10, 20), (L2, 0, 10)]


# -- what people see -----------------------------------------------------------------------------


def test_results_tell_what_waits_for_whom() -> None:
    """A GEMM whose merge lists have two places, as the one of 512 that took 61,173 cycles."""
    narrow = {"l2.mshr_merge": 2, "l2.mshr_grain": "line"}
    workload = gpusim.load_workload("gemm", "smoke")
    with (
        gpusim.simulate(gpusim.load_model("h100", [], narrow), workload) as result,
        gpusim.simulate(gpusim.load_model("h100"), workload) as wide,
    ):
        parts = dict(bank_waits(result))
        assert "behind full merge lists of L2 banks" in parts["interconnect"]
        assert "at full merge lists of L2 banks" in parts["l2"]
        assert result.summary["l2_merge_list_waits"] > wide.summary["l2_merge_list_waits"]
        assert "l2_merge_list_waits" in result.summary_descriptions
        assert "full merge lists of the L2 cache" in compare(wide, result).cause.sentence
