"""The log of what skipped blocks touch, against dicts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.hardware.sm.untimed import last_touches
from gpusim.hardware.sm.untimed.accesses import KIND_BITS
from gpusim.hardware.sm.untimed.last_touches import SLOT_BITS, LastTouches, last_of, pairs
from gpusim.hardware.sm.warp import Seat, SkippedBlock

PAGE_SHIFT = 2

Touch = tuple[int, int]
"""Name, sectors."""

Piece = tuple[int, int, list[Touch]]
"""Position of the SM, block slot, touches."""


def block(home: int, slot: int) -> SkippedBlock:
    return SkippedBlock(Seat(0, 0, slot, [0], 0, home), home, iter(()), [])


@st.composite
def pieces(draw: Callable[[Any], Any]) -> list[Piece]:
    touch = st.tuples(st.integers(0, 40).map(lambda name: name % 8 % 4 | name), st.integers(1, 15))
    piece = st.tuples(st.integers(0, 2), st.integers(0, 2), st.lists(touch, max_size=6))
    far = draw(st.sampled_from([0, 1 << 30, 1 << 52]))
    return [
        (home, slot, [(name + far * (name % 2), bits) for name, bits in touches])
        for home, slot, touches in draw(st.lists(piece, max_size=12))
    ]


def logged(made: list[Piece], by_slot: bool) -> LastTouches:
    log = LastTouches(PAGE_SHIFT, by_slot, 1 << 18)
    for home, slot, touches in made:
        log.add(block(home, slot), np.array(touches, dtype=np.int64).reshape(-1, 2).T)
    log.join()
    return log


@pytest.mark.parametrize("batch", [1, 5, 1 << 20])
@given(made=pieces(), by_slot=st.booleans())
def test_of_each_line_and_page_the_last_use_is_kept(
    batch: int, made: list[Piece], by_slot: bool
) -> None:
    lines: dict[tuple[int, int], tuple[int, int]] = {}
    pages: dict[tuple[int, int, int], tuple[int, int]] = {}
    found: dict[int, None] = {}
    number = 0
    for home, slot, touches in made:
        for name, bits in touches:
            page = name >> KIND_BITS + PAGE_SHIFT
            before, _ = lines.pop((home, name), (0, 0))
            lines[home, name] = before | bits, number
            user = home, slot if by_slot else 0, page
            pages.pop(user, None)
            pages[user] = slot, number
            found.setdefault(page)
            number += 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(last_touches, "_BATCH", batch)
        log = logged(made, by_slot)
    rows = zip(log.homes, log.names, log.sectors, log.at, strict=True)
    assert list(rows) == [(*key, *value) for key, value in lines.items()]
    seats = [home << SLOT_BITS | slot for (home, _, _), (slot, _) in pages.items()]
    assert list(zip(log.seats, log.pages, strict=True)) == [
        (seat, page) for seat, (_, _, page) in zip(seats, pages, strict=True)
    ]
    assert log.page_at.tolist() == [at for _, at in pages.values()]
    assert list(log.found) == list(found)
    assert set(log.seats.tolist()) <= set(log.blocks)
    assert all(one.home << SLOT_BITS | one.slot == seat for seat, one in log.blocks.items())


@given(st.lists(st.integers(0, 5)), st.sampled_from([1, 1 << 60]))
def test_equal_things_stand_together(groups: list[int], apart: int) -> None:
    place, starts, last = last_of(np.array(groups, dtype=np.int64) * apart)
    ordered = sorted(range(len(groups)), key=lambda one: (groups[one], one))
    assert place.tolist() == ordered
    ends = {group: number for number, group in enumerate(groups)}
    assert last.tolist() == [ends[group] for group in sorted(ends)]
    assert [groups[ordered[start]] for start in starts] == sorted(ends)


@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 1 << 60)), min_size=1))
def test_pairs_are_told_apart(both: list[tuple[int, int]]) -> None:
    users, numbers = np.array(both).T
    found = pairs(users, numbers)
    assert found.min() >= 0
    assert len(set(found.tolist())) == len(set(both))
