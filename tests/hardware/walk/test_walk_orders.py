"""Walk orders against naive ones: shortest job first, and an even share for each application."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.mapping import Mapping
from gpusim.core.request import Access, Translation
from gpusim.core.structures import Dimensions
from gpusim.core.unboxed import IntList
from gpusim.hardware.walk import FairShare, ShortestJobFirst, Walk, WalkOrder
from gpusim.hardware.walk.page_path import PagePath
from tests.examples import examples


class Instruction(Access):
    """Whose walks they are; nothing is answered here."""


PATH = PagePath((), (), Mapping(0, 0))
SIZES = Dimensions(page_bits=36, frame_bits=20, sms=16, block_slots=16, page_table_levels=4)


def walk(number: int, app: int = 0, access: Access | None = None) -> Walk:
    return Walk(Translation(app, app, 0, number, 0, 0, IntList(), access), PATH, number)


STEPS = st.lists(st.one_of(st.integers(0, 4), st.just("begin"), st.just("end")), max_size=80)
"""A walk of an instruction or application comes; the next one begins; the first one ends."""


class Queue:
    """Walks that wait and are under way, driven as the walkers do."""

    def __init__(self, order: WalkOrder) -> None:
        self.order = order
        self.instructions = [Instruction() for _ in range(4)]
        self.waiting: list[Walk] = []
        self.under_way: list[Walk] = []
        self.came = 0

    def step(self, what: int | str) -> tuple[list[Walk], Walk] | None:
        """Walks that waited, and the one that began, if one did."""
        if what == "begin" and self.waiting:
            shown = list(self.waiting)
            begun = self.waiting.pop(self.order.choose(self.waiting, self.came))
            self.under_way.append(begun)
            return shown, begun
        if what == "end" and self.under_way:
            self.order.finished(self.under_way.pop(0), self.came)
        elif isinstance(what, int):
            access = self.instructions[what] if what < 4 else None  # 4: a prefetch
            self.waiting.append(walk(self.came, what, access))
            self.order.arrived(self.waiting[-1], self.came)
            self.came += 1
        return None


@settings(max_examples=examples(200), deadline=None)
@given(st.booleans(), st.integers(1, 6), STEPS)
def test_shortest_job_first(batch: bool, patience: int, steps: list[int | str]) -> None:
    queue = Queue(ShortestJobFirst(batch=batch, patience=patience))
    begun: list[tuple[Walk, Walk]] = []  # the oldest that waited, and the one that began
    for what in steps:
        there = [*queue.waiting, *queue.under_way]
        if (choice := queue.step(what)) is None:
            continue
        shown, chosen = choice
        passed = 0
        while passed < len(begun) and begun[-1 - passed][0] is shown[0]:
            passed += 1
        last = begun[-1][1].access if begun else None
        same = [one for one in shown if batch and last is not None and one.access is last]
        count = {id(one): sum(other.access is one.access for other in there) for one in shown}
        shortest = [one for one in shown if count[id(one)] == min(count.values())]
        assert chosen is (shown if passed >= patience else same or shortest)[0]
        begun.append((shown[0], chosen))


@settings(max_examples=examples(200), deadline=None)
@given(STEPS)
def test_fair_share(steps: list[int | str]) -> None:
    queue = Queue(FairShare())
    for what in steps:
        busy = [one.app for one in queue.under_way]
        if (choice := queue.step(what)) is not None:
            shown, chosen = choice
            fewest = min(busy.count(one.app) for one in shown)
            assert chosen is next(one for one in shown if busy.count(one.app) == fewest)


def test_an_application_alone_gets_all_walkers() -> None:
    queue = Queue(FairShare())
    for what in (0, 0, 0, 1, "begin", "begin", "begin", "begin"):
        queue.step(what)
    assert [one.app for one in queue.under_way] == [0, 1, 0, 0]


def test_patience_is_a_number_of_walks() -> None:
    with pytest.raises(OptionError, match="patience: must be 1 or more"):
        ShortestJobFirst(patience=0)


def test_what_they_keep() -> None:
    scores, batch = ShortestJobFirst().storage(SIZES, walkers=8, queue=256)
    assert (scores.count, scores.entry_bits) == (256, 20 + 9)
    assert batch.bits == 20 + 21
    owners, counters = FairShare().storage(SIZES, walkers=8, queue=256)
    assert (owners.bits, counters.bits) == (256 * 4, 16 * 4)
