"""Trails that cross the border between SMs and memory are cut as if they had not."""

from __future__ import annotations

from attrs import astuple
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.blame import Blames
from gpusim.core.engine import NEVER
from gpusim.core.request import MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import IntList, Words, pair, zeros
from gpusim.hardware.border.messages import KIND_BITS, KINDS, STALLED
from gpusim.hardware.border.trails import ToldPieces, ToldStalls, go_on
from gpusim.hardware.cache.bank_stalls import BankStalls, BankWait
from gpusim.hardware.sm.l2_waits import L2Waits
from gpusim.hardware.sm.ledger import BookedPieces
from gpusim.hardware.sm.root_waits import RootWaits

BANKS, LENGTH = 2, 60
ISSUED, SENT = 3, 7


def request(trail: IntList) -> MemoryRequest:
    return MemoryRequest(0, 0, 0, 0, 0, 0, 0, 1, 0, None, trail)


def told_stalls(told: Words, spells: list[list[tuple[int, int, int]]]) -> list[BankStalls]:
    """Banks that were stalled, each of whose stalls is told."""
    banks = [BankStalls() for _ in range(BANKS)]
    for number, bank in enumerate(banks):
        bank.follower = ToldStalls(number, told)
        begin = 0
        for blame, pause, length in spells[number]:
            begin += pause
            bank.note(blame, begin, begin + length)
            begin += length
    return banks


def heard_stalls(told: Words) -> list[Blames]:
    """The same on the other side."""
    heard = [Blames() for _ in range(BANKS)]
    while told:
        end = told.take()
        word, blame, begin = told.take(), told.take(), told.take()
        assert word & KINDS == STALLED
        bank = word >> KIND_BITS
        heard[bank].note(blame, begin, end)
    return heard


SPELL = st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(1, 9))


@given(
    spells=st.lists(st.lists(SPELL, max_size=5), min_size=BANKS, max_size=BANKS),
    steps=st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from(["state", "wait", "follow"])), max_size=6
    ),
    ends=st.tuples(st.integers(0, LENGTH), st.integers(0, LENGTH)),
)
def test_a_trail_goes_on_where_it_was_left(
    spells: list[list[tuple[int, int, int]]],
    steps: list[tuple[int, str]],
    ends: tuple[int, int],
) -> None:
    told = Words()
    banks = told_stalls(told, spells)
    heard = heard_stalls(told)
    there = request(pair(int(State.INTERCONNECT), SENT))
    other = request(pair(int(State.DRAM_QUEUE), SENT))
    now = SENT
    for number, (pause, what) in enumerate(steps):
        now += pause
        if what == "state":
            there.trail.append(int(State.DRAM))
            there.trail.append(now)
        elif what == "follow":
            other.trail.append(int(State.L2) + number)
            other.trail.append(now)
            there.follow(other, now)
        else:
            wait = BankWait(banks[number % BANKS], max(now - 4, 0), now)
            wait.until = now + 5 if number % 2 else NEVER
            there.refine(wait)
    ToldPieces(told).tell(there, LENGTH)
    here = request(pair(int(State.CACHE), ISSUED))
    whole = request(pair(int(State.CACHE), ISSUED))
    here.trail.append(int(State.INTERCONNECT))
    here.trail.append(SENT)
    whole.follow(there, SENT)
    go_on(here, told, heard)
    assert not told
    start, end = min(ends), max(ends)
    assert booked(here, start, end) == booked(whole, start, end)


def booked(trailed: MemoryRequest, start: int, end: int) -> tuple[list[int], tuple[int, ...]]:
    """Cycles by state, and those that banks are to blame for."""
    sums, waits = zeros(len(State) + 9), L2Waits()
    trailed.cut(start, end, BookedPieces(sums, waits, RootWaits()))
    return list(sums), astuple(waits)
