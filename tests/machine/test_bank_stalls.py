"""What waits behind a stalled L2 bank waits for the bank: causes, beside unchanged states."""

from __future__ import annotations

import attr
import pytest

import gpusim
from gpusim.config.schema import GpuConfig
from gpusim.core.blame import Blame
from gpusim.core.cut import KeptPieces, Piece, Trailed
from gpusim.core.request import Traveller
from gpusim.core.states import State
from gpusim.core.unboxed import IntList, zeros
from gpusim.files.units import Bytes
from gpusim.hardware.cache.bank_stalls import BankStalls, BankWait
from gpusim.hardware.sm.history import History
from gpusim.hardware.sm.l2_waits import L2Waits
from gpusim.hardware.sm.ledger import BookedPieces
from gpusim.hardware.sm.root_waits import RootWaits
from gpusim.machine import Machine, Tenant
from gpusim.results.comparison import compare
from gpusim.results.wait_roots import wait_roots
from gpusim.runs.run import run_machine
from tests.machine.bench import SMALL, Script, ScriptedApplication, ScriptedLaunch, change
from tests.opened import opened_machine

BASE = 1 << 32
LINK, L2 = int(State.INTERCONNECT), int(State.L2)
CACHE, DRAM = int(State.CACHE), int(State.DRAM)
MERGE, MSHRS = int(Blame.MERGE_LIST), int(Blame.MSHRS)
ONE_BANK = change(SMALL, sm={"count": 1}, l2={"banks": 1, "size": Bytes(64 << 10)})


def machine_for(config: GpuConfig, *scripts: Script) -> Machine:
    """A machine with warps, one a script."""
    application = ScriptedApplication([ScriptedLaunch([list(scripts)])])
    machine: Machine = opened_machine(config, [Tenant("app", application, range(1))], 1)
    return machine


def waits(config: GpuConfig, *scripts: Script) -> tuple[L2Waits, dict[str, int]]:
    """Waits of warps for stalled banks, and sums over their states."""
    machine = machine_for(config, *scripts)
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


def test_a_trail_is_no_longer_however_often_the_bank_was_stalled() -> None:
    """The sixteenth miss waits while fifteen others are fetched, one after the other."""
    lengths: list[int] = []
    scripts: list[Script] = [[("load", BASE + 128 * line), ("wait", 0)] for line in range(16)]
    machine = machine_for(change(ONE_BANK, l2={"mshrs": 1}), *scripts)
    (sm,) = machine.sms
    sm.lsu.on_request.listen(lambda request, _begin, _end: lengths.append(len(request.trail)))
    run_machine(machine)
    assert sm.ledger.l2_waits[0].behind_mshrs > 0
    assert max(lengths) == lengths[0]


def test_a_full_way_to_dram_and_a_full_way_back_are_told_apart() -> None:
    narrow = change(
        ONE_BANK, dram={"read_queue": 1, "write_queue": 1}, crossbar={"bytes_per_cycle": 1}
    )
    found, sums = waits(narrow, *LINES)
    assert found.behind <= sums["interconnect"]
    assert found.at <= sums["l2"]
    assert not found.behind_merge_lists + found.at_merge_lists


# -- trails --------------------------------------------------------------------------------------


def told(trailed: Trailed, start: int, end: int) -> tuple[list[Piece], dict[str, int]]:
    """The pieces of a time, and what is to blame for some of it."""
    pieces, waits = KeptPieces(), L2Waits()
    trailed.cut(start, end, pieces)
    sums = zeros(len(State))
    trailed.cut(start, end, BookedPieces(sums, waits, RootWaits()))
    assert sum(sums) == sum(until - begin for _, begin, until in pieces.pieces) == end - start
    return pieces.pieces[::-1], counts(waits)


def stalled(*intervals: tuple[int, int, int]) -> BankStalls:
    stalls = BankStalls()
    for cause, begin, end in intervals:
        stalls.begin(cause, begin)
        stalls.end(end)
    return stalls


def test_a_wait_is_told_by_the_stalls_of_its_bank() -> None:
    stalls = stalled((MSHRS, 10, 20), (MSHRS, 20, 25), (MERGE, 30, 40), (MERGE, 41, 41))
    wait = BankWait(stalls, arrived=15, next_at=32)
    wait.until = 38
    states = [(LINK, 5, 32), (L2, 32, 60)]
    assert told(wait, 5, 60) == (
        states,
        {"behind_mshrs": 10, "behind_merge_lists": 2, "at_merge_lists": 6},
    )
    assert told(wait, 20, 31) == ([(LINK, 20, 31)], {"behind_mshrs": 5, "behind_merge_lists": 1})
    assert told(wait, 36, 60) == ([(L2, 36, 60)], {"at_merge_lists": 2})
    assert told(wait, 50, 60) == ([(L2, 50, 60)], {})


def test_a_wait_stands_in_the_trail_for_the_state_in_which_it_began() -> None:
    request = Traveller(0, 0, 0, 0, IntList([CACHE, 0, LINK, 5]))
    wait = BankWait(stalled((MERGE, 12, 19)), arrived=10, next_at=15)
    request.refine(wait)
    request.trail += [DRAM, 30]
    states = [(CACHE, 0, 5), (LINK, 5, 15), (L2, 15, 30), (DRAM, 30, 40)]
    assert told(request, 0, 40) == (states, {"behind_merge_lists": 3, "at_merge_lists": 4})


def test_who_waits_for_room_takes_over_what_its_packet_waited_for() -> None:
    history = History(LINK)
    history.blames.note_those_of(stalled((MERGE, 0, 20), (MSHRS, 22, 30), (MERGE, 31, 50)), 10, 40)
    assert told(history, 5, 60) == (
        [(LINK, 5, 60)],
        {"behind_merge_lists": 10 + 9, "behind_mshrs": 8},
    )
    assert told(history, 15, 24) == ([(LINK, 15, 24)], {"behind_merge_lists": 5, "behind_mshrs": 2})


# -- what people see -----------------------------------------------------------------------------


def test_results_tell_what_waits_for_whom() -> None:
    """A GEMM whose merge lists have two places, as the one of 512 that took 61,173 cycles."""
    narrow = {"l2.mshr_merge": 2, "l2.mshr_grain": "line"}
    workload = gpusim.load_workload("gemm", "smoke", overrides={"iterations": 2})
    with (
        gpusim.simulate(gpusim.load_model("h100", [], narrow), workload) as result,
        gpusim.simulate(gpusim.load_model("h100"), workload) as wide,
    ):
        parts = dict(wait_roots(result))
        assert "behind full merge lists of L2 banks" in parts["interconnect"]
        assert "at full merge lists of L2 banks" in parts["l2"]
        assert result.summary["l2_merge_list_waits"] > wide.summary["l2_merge_list_waits"]
        assert "l2_merge_list_waits" in result.summary_descriptions
        assert "full merge lists of the L2 cache" in compare(wide, result).cause.sentence
