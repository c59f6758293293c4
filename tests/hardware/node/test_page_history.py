"""Pages judged by their faults, against a model that keeps the set of counted pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.hardware.node import PageHistory, PageSchemes


def _made(**options: int) -> PageHistory:
    made: PageHistory = make_policy(
        Slot.REMOTE_PAGES, PolicyConfig("page-history", options), 2, 4096
    )
    return made


def test_a_page_goes_to_and_fro_three_times_and_then_stays() -> None:
    one = _made(threshold=2, faults=4, group=1)
    assert [one.fault(7, turn % 2, 1 - turn % 2) for turn in range(5)] == [True] * 3 + [False] * 2
    assert not one.accessed(8, 0, 1)  # that one moves on touch
    assert [one.accessed(7, 0, 1) for _ in range(3)] == [False, True, False]


def test_half_of_a_group_speaks_for_all_of_it() -> None:
    one = _made(faults=1, group=4, levels=2)
    for page in (16, 17):
        assert not one.fault(page, 0, 1)
    assert [page for page in range(64) if one.counted(page)] == [16, 17, 18, 19]
    for page in (20, 23):  # by hand: two of the four groups of 16 pages
        assert not one.fault(page, 0, 1)
    assert [page for page in range(64) if one.counted(page)] == list(range(16, 32))


class Naive:
    """All pages that are counted, found anew after each fault."""

    def __init__(self) -> None:
        self.faults: dict[int, int] = {}
        self.counted: set[int] = set()

    def fault(self, page: int) -> bool:
        if page in self.counted:
            return False
        self.faults[page] = self.faults.get(page, 0) + 1
        if self.faults[page] < 2:
            return True
        self.counted.add(page)
        for size in (4, 16):
            for first in range(0, 64, size):
                parts = [range(at, at + size // 4) for at in range(first, first + size, size // 4)]
                whole = sum(all(one in self.counted for one in part) for part in parts)
                if whole >= 2:
                    self.counted |= set(range(first, first + size))
        return False


@given(st.lists(st.integers(0, 63), max_size=120))
def test_it_is_a_set_of_pages(pages: list[int]) -> None:
    one, naive = _made(faults=2, group=4, levels=2), Naive()
    for page in pages:
        assert one.fault(page, 0, 1) == naive.fault(page)
        assert {page for page in range(64) if one.counted(page)} == naive.counted


def _schemes(**options: int) -> PageSchemes:
    made: PageSchemes = make_policy(
        Slot.REMOTE_PAGES, PolicyConfig("page-schemes", options), 2, 4096
    )
    return made


def test_a_page_that_is_only_read_is_copied_until_enough_stores_have_come() -> None:
    one = _schemes(threshold=2, faults=2, group=1)
    moves = []
    for turn in range(3):
        one.asked(7, turn % 2, writes=False)
        moves.append(one.fault(7, turn % 2, 1 - turn % 2))
    assert moves == [True, False, False]
    assert one.copied(7, 0, 1)
    one.collapsed(7)
    assert one.copied(7, 0, 1)
    one.collapsed(7)
    assert not one.copied(7, 0, 1)
    assert [one.accessed(7, 0, 1) for _ in range(2)] == [False, True]


class NaiveSchemes(Naive):
    """As before, with a set of pages of each judgement, found anew after each fault."""

    def __init__(self) -> None:
        super().__init__()
        self.own: dict[str, set[int]] = {"counted": set(), "copied": set()}
        self.written: set[int] = set()
        self.collapses: dict[int, int] = {}

    def pages(self, kind: str) -> set[int]:
        found = set(self.own[kind])
        for size in (4, 16):
            for first in range(0, 64, size):
                parts = [range(at, at + size // 4) for at in range(first, first + size, size // 4)]
                if sum(all(one in found for one in part) for part in parts) >= 2:
                    found |= set(range(first, first + size))
        return found

    def asks(self, page: int, writes: bool) -> str:
        self.written |= {page} if writes else set()
        if page in self.pages("counted"):
            return "stays"
        if page in self.pages("copied"):
            return "copied"
        self.faults[page] = self.faults.get(page, 0) + 1
        if self.faults[page] < 2:
            return "moves"
        kind = "counted" if page in self.written else "copied"
        self.own[kind].add(page)
        return {"counted": "stays"}.get(kind, kind)

    def collapses_of(self, page: int) -> None:
        self.written.add(page)
        self.collapses[page] = self.collapses.get(page, 0) + 1
        if self.collapses[page] >= 2:
            self.own["counted"].add(page)


@given(st.lists(st.tuples(st.integers(0, 63), st.sampled_from("rrws")), max_size=120))
def test_schemes_are_two_sets_of_pages(steps: list[tuple[int, str]]) -> None:
    one, naive = _schemes(faults=2, group=4, levels=2), NaiveSchemes()
    for page, what in steps:
        if what == "s":
            one.collapsed(page)
            naive.collapses_of(page)
            continue
        one.asked(page, 0, writes=what == "w")
        moves = one.fault(page, 0, 1)
        told = "moves" if moves else "copied" if one.copied(page, 0, 1) else "stays"
        assert told == naive.asks(page, what == "w")


@pytest.mark.parametrize("options", [{"group": 3}, {"faults": 0}])
def test_options_that_cannot_be(options: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        _made(**options)
