"""MASK's DRAM scheduler alone: its choices against a naive scan, turns, quotas, options."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.unboxed import IntList
from gpusim.hardware.dram.golden_silver_normal import GOLDEN, ROW_HITS, GoldenSilverNormal
from gpusim.hardware.dram.pressure import TranslationPressure
from gpusim.hardware.dram.waiting import PRECEDENCE, Waiting
from tests.examples import examples

BANKS = 8
SIZES = {"golden": 2, "silver": 3, "normal": 4}
LANES = ("golden", "silver", "normal")


def waiting(bank: int, row: int, app: int, depth: int, cycle: int, number: int) -> Waiting:
    request = MemoryRequest(Kind.LOAD, app, 0, 0, 0, 0, 0, 1, depth, None, IntList())
    one = Waiting(request, bank, row, False, 1, cycle)
    one.rank = number
    return one


class Naive:
    """One list of ``(request, its queue)`` by arrival, and the rules as they are written."""

    def __init__(
        self,
        apps: int,
        thresh_max: int,
        idle: int,
        patience: int,
        golden_order: str = "queue",
        row_hits: str = "in-queue",
    ) -> None:
        self.golden_order, self.row_hits = golden_order, row_hits
        self.all: list[tuple[Waiting, str]] = []
        self.apps, self.thresh_max, self.idle, self.patience = apps, thresh_max, idle, patience
        self.turn, self.quota, self.last = -1, 0, 0

    def of(self, lane: str) -> list[Waiting]:
        return [one for one, where in self.all if where == lane]

    def full(self, app: int, depth: int) -> bool:
        if depth:
            return len(self.of("golden")) == SIZES["golden"]
        silver = app == self.turn and self.quota and len(self.of("silver")) < SIZES["silver"]
        return not silver and len(self.of("normal")) == SIZES["normal"]

    def add(self, one: Waiting) -> str:
        app = one.request.app
        for number, (waits, lane) in enumerate(self.all):
            late = self.patience and one.accepted - waits.accepted >= self.patience
            if lane == "normal" and late and len(self.of("silver")) < SIZES["silver"]:
                self.all[number] = waits, "silver"
        lane = "golden" if one.request.depth else self.lane(app, one.accepted)
        self.all.append((one, lane))
        return lane

    def lane(self, app: int, cycle: int) -> str:
        expired = self.idle and app != self.turn and cycle > self.last + self.idle
        if self.quota == 0 or expired:
            asking = {app} | {one.request.app for one, lane in self.all if lane != "golden"}
            others = [(self.turn + step) % self.apps for step in range(1, self.apps + 1)]
            self.turn = next(other for other in others if other in asking)
            self.quota, self.last = max(self.thresh_max // self.apps, 1), cycle
        if app != self.turn:
            return "normal"
        self.last = cycle
        if len(self.of("silver")) == SIZES["silver"]:
            return "normal"
        self.quota -= 1
        return "silver"

    def best(self, bank: int, row: int) -> Waiting | None:
        golden = self.of("golden")
        if self.golden_order == "queue":
            golden = golden[:1]
        if self.row_hits == "first":
            for lane in LANES:
                for one in self.of(lane):
                    if one.bank == bank and one.row == row:
                        return one
        candidates = [one for one in golden if one.bank == bank]
        for lane in ("silver", "normal"):
            of_bank = [one for one in self.of(lane) if one.bank == bank]
            candidates += [one for one in of_bank if one.row == row]
            candidates += of_bank
        return candidates[0] if candidates else None


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "serve"]),
        st.integers(0, 3),
        st.integers(0, 2),
        st.integers(0, 2),
        st.sampled_from([0, 0, 0, 4]),
        st.sampled_from([0, 1, 5, 30]),
    ),
    max_size=80,
)


@settings(max_examples=examples(300), deadline=None)
@given(
    STEPS,
    st.integers(1, 9),
    st.sampled_from([0, 0, 1, 10]),
    st.sampled_from([0, 20]),
    st.sampled_from(GOLDEN),
    st.sampled_from(ROW_HITS),
)
def test_it_chooses_as_a_naive_one(
    steps: list[Any],
    thresh_max: int,
    patience: int,
    idle: int,
    golden_order: str,
    row_hits: str,
) -> None:
    readings = {"golden_order": golden_order, "row_hits": row_hits}
    queue = GoldenSilverNormal(
        0, 8, **SIZES, thresh_max=thresh_max, idle=idle, patience=patience, **readings
    )
    queue.watch(TranslationPressure(3, 100_000))
    naive = Naive(3, thresh_max, idle, patience, **readings)
    cycle = 0
    for number, (action, bank, row, app, depth, later) in enumerate(steps):
        cycle += later
        one = waiting(bank, row, app, depth, cycle, number)
        assert queue.full(one.request) == naive.full(app, depth)
        best = queue.best(bank, row)
        assert best is naive.best(bank, row)
        assert queue.best(bank, -1) is naive.best(bank, -1)
        if action == "add" and not naive.full(app, depth):
            lane = naive.add(one)
            queue.add(one, cycle)
            assert LANES[(one.rank // PRECEDENCE) + 1] == lane
            assert (lane == "golden") == (depth > 0), "golden holds page-table reads alone"
        elif action == "serve" and best is not None:
            queue.changed.clear()
            queue.remove(best)
            naive.all = [pair for pair in naive.all if pair[0] is not best]
            head = naive.of("golden")[:1] if best.request.depth else []
            head = head if golden_order == "queue" else []
            assert queue.changed == [waits.bank for waits in head]
        assert queue.size == len(naive.all)
        assert set(queue.requests()) == {waits for waits, _ in naive.all}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=120), st.integers(1, 20))
def test_only_the_application_in_turn_enters_silver_and_not_more_than_its_quota(
    asked: list[tuple[int, int]], thresh_max: int
) -> None:
    queue = GoldenSilverNormal(0, 8, silver=64, thresh_max=thresh_max, idle=50)
    queue.watch(TranslationPressure(3, 100_000))
    entered: list[int] = []
    cycle = 0
    for number, (app, later) in enumerate(asked):
        cycle += later
        turns = next(queue.counters()).turns
        one = waiting(0, 0, app, 0, cycle, number)
        queue.add(one, cycle)
        if next(queue.counters()).turns != turns:
            entered = []
        if one.rank < PRECEDENCE:
            entered.append(app)
        assert len(set(entered)) <= 1
        assert len(entered) <= max(thresh_max // 3, 1)
        if number % 2:
            queue.remove(queue.best(0, 0))  # type: ignore[arg-type]


def test_quotas_follow_walks_and_the_warps_that_wait_for_them() -> None:
    pressure = TranslationPressure(2, 1000)
    for app, tag, warps in ((0, 1, 3), (1, 2, 1), (1, 3, 1)):
        for warp in range(warps):
            pressure.missed(app, tag, app, warp)
        pressure.walk_begun(app, tag, 10)

    def into_silver(quota: str, thresh_max: int) -> int:
        """Of 64 requests of app 0 and one of app 1, which came second."""
        queue = GoldenSilverNormal(0, 8, quota=quota, thresh_max=thresh_max)
        queue.watch(pressure)
        for number in range(64):
            queue.add(waiting(0, 0, 0, 0, 20, number), 20)
            if number == 0:
                queue.add(waiting(0, 0, 1, 0, 20, 99), 20)
        return sum(one.rank < PRECEDENCE for one in queue.requests())

    assert into_silver("pressure", 50) == 30  # 50 × (1 × 3) / (1 × 3 + 2 × 1)
    assert into_silver("walks", 50) == 16  # 50 × 1 / (1 + 2)
    assert into_silver("walks", 1) == 3  # one a turn: app 0, app 1, app 0; app 1 has no more


def test_quotas_follow_the_walks_that_are_under_way_when_the_turn_begins() -> None:
    """MASK §5.4: the number of concurrent page walks, not the most of the epoch."""
    pressure = TranslationPressure(2, 1000)
    for app, tag in ((0, 1), (0, 2), (0, 3), (1, 4)):
        pressure.missed(app, tag, app, 0)
        pressure.walk_begun(app, tag, 10)
    for tag in (1, 2):
        pressure.walk_ended(0, tag, 15)
        pressure.filled(0, tag)

    def into_silver(counted: str) -> int:
        queue = GoldenSilverNormal(0, 8, quota="walks", thresh_max=40, counted=counted)
        queue.watch(pressure)
        for number in range(64):
            queue.add(waiting(0, 0, 0, 0, 20, number), 20)
            if number == 0:
                queue.add(waiting(0, 0, 1, 0, 20, 99), 20)
        return sum(one.rank < PRECEDENCE for one in queue.requests())

    assert into_silver("now") == 20  # one walk of each
    assert into_silver("epoch") == 30  # three and one


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"golden": 0}, "golden: must be 1 or more"),
        ({"silver": -1}, "silver: must be 1 or more"),
        ({"normal": 0}, "normal: must be 1 or more"),
        ({"thresh_max": 0}, "thresh_max: must be 1 or more"),
        ({"idle": -1}, "idle: must be 0 or more"),
        ({"patience": -1}, "patience: must be 0 or more"),
        ({"epoch": 0}, "epoch: must be 1 or more"),
        ({"quota": "presure"}, "did you mean 'pressure'"),
        ({"counted": "nows"}, "did you mean 'now'"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        GoldenSilverNormal(256, 8, **options)
