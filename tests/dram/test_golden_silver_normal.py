"""MASK's DRAM scheduler: scenes worked out by hand, and its choices against a naive scan.

GDDR5 in DRAM clocks, one core cycle each: a request alone takes 43 (controller 1, RCDRD 20, CL 20,
BL 2); the next row of a bank is activated RC = 66 after the one before.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.policy import PolicyConfig
from gpusim.config.units import cycles
from gpusim.dram.golden_silver_normal import GoldenSilverNormal
from gpusim.dram.mapping import AddressMapping
from gpusim.dram.presets import GDDR5
from gpusim.dram.pressure import TranslationPressure
from gpusim.dram.queue import PRECEDENCE, RANK_BITS, Waiting
from gpusim.dram.timing import make_banks
from gpusim.errors import OptionError
from gpusim.request import Kind, MemoryRequest
from tests.dram.driving import Driven
from tests.dram.test_against_clocked import scattered, streams

ROW = 1 << 15
BANK = 1 << 12
RC = 66
ALONE = 43


def config(policy: str = "golden-silver-normal", **options: Any) -> Any:
    """256 reads, no refresh."""
    timing = evolve(GDDR5.timing, REFI=cycles(0))
    return evolve(
        GDDR5, scheduler=PolicyConfig(policy, options), read_queue=256, timing=timing
    )  # fmt: skip


def rows(count: int, start: int = 10) -> list[tuple[int, int, bool]]:
    """So many reads at once of different rows of one bank."""
    return [(start, ROW * n, False) for n in range(count)]


def latencies(driven: Driven) -> list[int]:
    """Of each read, from its acceptance."""
    return [end - driven.requests[n].trail[3] for n, end in sorted(driven.answered.items())]


def test_golden_overtakes_silver_and_silver_overtakes_normal() -> None:
    # quotas of 2: app 0 has its turn (r0, r2), then app 1 (r4); r1 and r3 come out of turn
    depths, apps = [0, 0, 0, 0, 0, 3], [0, 1, 0, 0, 1, 1]
    driven = Driven(config(thresh_max=4), rows(6), depths=depths, apps=apps)
    order = [5, 0, 2, 4, 1, 3]
    assert latencies(driven) == [ALONE + RC * order.index(n) for n in range(6)]
    queues = ("golden", "silver", "normal")
    assert [driven.counter(f"{name}_reads") for name in queues] == [1, 3, 2]
    assert driven.counter("golden_latency_cycles") == ALONE
    assert driven.counter("silver_latency_cycles") == 3 * ALONE + (1 + 2 + 3) * RC
    assert driven.counter("normal_latency_cycles") == 2 * ALONE + (4 + 5) * RC
    assert (driven.counter("turns"), driven.counter("expired_turns")) == (2, 0)


def test_fr_fcfs_takes_them_as_they_come() -> None:
    driven = Driven(config("fr-fcfs"), rows(6), depths=[0] * 5 + [3], apps=[0, 1, 0, 0, 1, 1])
    assert latencies(driven) == [ALONE + RC * n for n in range(6)]


def test_golden_closes_a_row_that_data_still_wants() -> None:
    stream = [(10, 0, False), (11, ROW, False), *((12, 64 * n, False) for n in range(1, 40))]
    driven = Driven(config(), stream, depths=[0, 1] + [0] * 39)
    # data: ACT 11, RD 31, and no more; PRE 11 + RAS 46 = 57, ACT 77, RD 97, data 119
    assert driven.answered[1] == 119
    assert min(driven.answered[n] for n in range(2, 41)) == 77 + RC + 20 + 22
    waits = Driven(config("fr-fcfs"), stream, depths=[0, 1] + [0] * 39)
    assert waits.answered[1] > max(waits.answered[n] for n in range(2, 41))


def test_golden_is_first_come_first_served_and_others_work_meanwhile() -> None:
    stream = [
        (0, 0, False), (1, ROW, False), (2, BANK * 2, False), (3, BANK * 1, False)
    ]  # fmt: skip
    driven = Driven(config(), stream, depths=[0, 4, 4, 0])
    # r0 ACT 1; r1, the head, waits for its bank: PRE 47, ACT 67, RD 87, data 109; r2 behind it
    # may start after that ACT: + RRD 9 = 76; data in another bank goes at once: RRD 9 after r0
    assert driven.answered == {0: 43, 1: 109, 2: 76 + 42, 3: 10 + 42}


def test_a_hog_does_not_starve_another_application() -> None:
    # row hits of app 0 in bank 0, faster than they can be served; app 1 wants another row of it
    hog = [(2 * n, 64 * (n % 60), False) for n in range(1, 200)]
    other = [(20 * n + 1, ROW + 64 * n, False) for n in range(1, 6)]
    stream = sorted([*hog, *other])
    apps = [int(address >= ROW) for _, address, _ in stream]

    def overtaken(policy: str, **options: int) -> list[int]:
        """How many reads of the hog are answered before each of the other application."""
        driven = Driven(config(policy, **options), stream, apps=apps)
        ends = driven.answered
        theirs = [n for n in range(len(stream)) if apps[n]]
        return [sum(end < ends[n] for m, end in ends.items() if not apps[m]) for n in theirs]

    assert overtaken("fr-fcfs") == [len(hog)] * 5
    # the first is put into normal while the hog has its turn of 8, and is a row hit later
    assert max(overtaken("golden-silver-normal", thresh_max=16)) < len(hog) / 4


def test_a_turn_passes_when_its_application_is_idle() -> None:
    def reads(idle: int) -> Driven:
        stream = [(0, 0, False), (100, ROW, False), (100, 2 * ROW, False), (101, 3 * ROW, False)]
        return Driven(config(idle=idle), stream, apps=[0, 1, 1, 0])

    assert (reads(99).counter("silver_reads"), reads(99).counter("expired_turns")) == (3, 1)
    assert (reads(100).counter("silver_reads"), reads(100).counter("expired_turns")) == (2, 0)


def test_what_finds_silver_full_goes_to_normal_and_does_not_count() -> None:
    driven = Driven(config(silver=2, thresh_max=3), rows(5))
    assert (driven.counter("silver_reads"), driven.counter("normal_reads")) == (2, 3)
    assert driven.counter("turns") == 1


def test_a_full_golden_queue_stalls_the_port_and_nothing_is_lost() -> None:
    driven = Driven(config(golden=2), rows(6), depths=[1, 2, 3, 4, 0, 1])
    accepted = [request.trail[3] for request in driven.requests]
    # golden has room again when the row of its head is opened: at 11, 77, 143; data behind waits
    assert accepted == [10, 10, 11, 77, 77, 143]
    assert len(driven.answered) == 6


def test_full_data_queues_stall_the_port_and_nothing_is_lost() -> None:
    driven = Driven(config(silver=1, normal=1, thresh_max=1), rows(30), apps=[0, 1, 2] * 10)
    assert len(driven.answered) == 30
    assert driven.counter("silver_reads") + driven.counter("normal_reads") == 30


@settings(max_examples=60, deadline=None)
@given(streams(), st.randoms(use_true_random=False), st.integers(1, 3), st.integers(1, 3))
def test_full_queues_never_stand_still(
    stream: list[tuple[int, int, bool]], random: Random, size: int, thresh_max: int
) -> None:
    depths = [random.choice([0, 0, 1, 4]) for _ in stream]
    apps = [random.randrange(3) for _ in stream]
    sizes = {"golden": size, "silver": 1, "normal": size, "thresh_max": thresh_max, "idle": 30}
    driven = Driven(evolve(config(**sizes), write_queue=4), stream, depths=depths, apps=apps)
    reads = {n for n, (_, _, write) in enumerate(stream) if not write}
    assert set(driven.answered) == reads
    assert not driven.channels[0].in_flight()
    served = [driven.counter(f"{name}_reads") for name in LANES]
    assert sum(served) + driven.counter("forwarded") == len(reads)
    assert served[0] <= driven.counter("walk_reads") == sum(depths[n] > 0 for n in reads)


def test_writes_have_an_fr_fcfs_queue() -> None:
    driven = Driven(config(), [(10, ROW * n, n % 2 == 1) for n in range(40)])
    assert driven.counter("writes") == 20
    assert driven.counter("silver_reads") == 20


ALL_256 = {"golden": 256, "silver": 256, "normal": 256}


@settings(max_examples=60, deadline=None)
@given(st.one_of(streams(), scattered()), st.sampled_from(["open", "closed"]))
def test_one_application_without_walks_has_fr_fcfs(
    stream: list[tuple[int, int, bool]], page: str
) -> None:
    """Command for command: no more than 256 reads wait, all of them in silver."""
    base = Driven(evolve(config("fr-fcfs"), page_policy=page), stream)
    other = Driven(evolve(config(**ALL_256), page_policy=page), stream)
    assert other.heard == base.heard
    assert other.answered == base.answered
    for name in ("activations", "precharges", "row_hits", "row_conflicts", "data_clocks"):
        assert other.counter(name) == base.counter(name)


# -- the policy alone, against a naive one ---------------------------------------------------------

_, BANKS = make_banks(AddressMapping(GDDR5))
SIZES = {"golden": 2, "silver": 3, "normal": 4}
LANES = ("golden", "silver", "normal")


def waiting(bank: int, row: int, app: int, depth: int, cycle: int, number: int) -> Waiting:
    request = MemoryRequest(Kind.LOAD, app, 0, 0, 0, 0, 0, 1, depth, None, [])
    one = Waiting(request, BANKS[bank], row, False, 1, cycle)
    one.rank = cycle << RANK_BITS | number
    return one


class Naive:
    """One list of ``(request, its queue)`` by arrival, and the rules as they are written."""

    def __init__(self, apps: int, thresh_max: int, idle: int) -> None:
        self.all: list[tuple[Waiting, str]] = []
        self.apps, self.thresh_max, self.idle = apps, thresh_max, idle
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
        lane = "golden" if one.request.depth else self.lane(app, one.accepted)
        self.all.append((one, lane))
        return lane

    def lane(self, app: int, cycle: int) -> str:
        expired = app != self.turn and cycle > self.last + self.idle
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
        golden = self.of("golden")[:1]
        candidates = [one for one in golden if one.bank == bank]
        for lane in ("silver", "normal"):
            of_bank = [one for one in self.of(lane) if one.bank == bank]
            candidates += [one for one in of_bank if one.row == row]
            candidates += of_bank
        return candidates[0] if candidates else None


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "serve"]), st.integers(0, 3), st.integers(0, 2),
        st.integers(0, 2), st.sampled_from([0, 0, 0, 4]), st.sampled_from([0, 1, 5, 30]),
    ), max_size=80,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(STEPS, st.integers(1, 9))
def test_it_chooses_as_a_naive_one(steps: list[Any], thresh_max: int) -> None:
    queue = GoldenSilverNormal(0, 8, **SIZES, thresh_max=thresh_max, idle=20)
    queue.watch(TranslationPressure(3, 100_000))
    naive = Naive(3, thresh_max, 20)
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"golden": 0}, "golden: must be 1 or more"),
        ({"silver": -1}, "silver: must be 1 or more"),
        ({"normal": 0}, "normal: must be 1 or more"),
        ({"thresh_max": 0}, "thresh_max: must be 1 or more"),
        ({"idle": 0}, "idle: must be 1 or more"),
        ({"epoch": 0}, "epoch: must be 1 or more"),
        ({"quota": "presure"}, "did you mean 'pressure'"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        GoldenSilverNormal(256, 8, **options)
