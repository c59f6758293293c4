"""MASK's DRAM scheduler in a channel: scenes worked out by hand.

GDDR5 in DRAM clocks, one core cycle each: a request alone takes 43 (controller 1, RCDRD 20, CL 20,
BL 2); the next row of a bank is activated RC = 66 after the one before.
"""

from __future__ import annotations

from random import Random
from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import cycles
from tests.examples import examples
from tests.hardware.dram.driving import Driven
from tests.hardware.dram.test_against_clocked import scattered, streams

QUEUES = ("golden", "silver", "normal")
ROW = 1 << 15
BANK = 1 << 12
RC = 66
ALONE = 43


def config(policy: str = "golden-silver-normal", **options: Any) -> Any:
    """256 reads, no refresh."""
    timing = evolve(GDDR5.timing, REFI=cycles(0))
    return evolve(GDDR5, scheduler=PolicyConfig(policy, options), read_queue=256, timing=timing)


def rows(count: int, start: int = 10) -> list[tuple[int, int, bool]]:
    """`count` reads at once of different rows of one bank."""
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
    assert [driven.counter(f"{name}_reads") for name in QUEUES] == [1, 3, 2]
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
    stream = [(0, 0, False), (1, ROW, False), (2, BANK * 2, False), (3, BANK * 1, False)]
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


def test_patience_ends_the_wait_of_what_starves_in_normal() -> None:
    # app 0 has the turn and asks for a new row of the bank whenever one is closed
    stream = [(RC * n, ROW * (n + 2), False) for n in range(30)]
    stream[1:1] = [(1, 0, False), (2, ROW, False)]
    apps = [0, 1, 1] + [0] * 29

    def driven(patience: int) -> Driven:
        return Driven(config(patience=patience, idle=10_000), stream, apps=apps)

    assert driven(0).counter("normal_reads") == 2
    patient = driven(5 * RC)
    # when read 7 comes at 330 they have waited 329 and 328 cycles, one too few; they go on when
    # read 8 comes, at 396, and are older than it
    assert (patient.counter("promoted"), patient.counter("normal_reads")) == (2, 0)
    assert sorted(patient.answered, key=patient.answered.__getitem__)[:9] == [
        0,
        *range(3, 8),
        1,
        2,
        8,
    ]
    assert patient.answered[1] == ALONE + 6 * RC


def after_silence(**idle: int) -> Driven:
    """An application asks again 100 cycles after its first request, and another one meanwhile."""
    stream = [(0, 0, False), (100, ROW, False), (100, 2 * ROW, False), (101, 3 * ROW, False)]
    return Driven(config(**idle), stream, apps=[0, 1, 1, 0])


def test_only_the_quota_ends_a_turn() -> None:
    """MASK §5.4: the next application sends after the quota of the one before is reached."""
    driven = after_silence()
    assert (driven.counter("silver_reads"), driven.counter("normal_reads")) == (2, 2)
    assert (driven.counter("turns"), driven.counter("expired_turns")) == (1, 0)


def test_a_turn_may_pass_when_its_application_is_idle() -> None:
    def reads(idle: int) -> Driven:
        return after_silence(idle=idle)

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


@settings(max_examples=examples(60), deadline=None)
@given(
    streams(),
    st.randoms(use_true_random=False),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([0, 60]),
)
def test_full_queues_never_stand_still(
    stream: list[tuple[int, int, bool]], random: Random, size: int, thresh_max: int, patience: int
) -> None:
    depths = [random.choice([0, 0, 1, 4]) for _ in stream]
    apps = [random.randrange(3) for _ in stream]
    sizes = {"golden": size, "silver": 1, "normal": size, "thresh_max": thresh_max}
    chosen = config(**sizes, idle=30, patience=patience)
    driven = Driven(evolve(chosen, write_queue=4), stream, depths=depths, apps=apps)
    reads = {n for n, (_, _, write) in enumerate(stream) if not write}
    assert set(driven.answered) == reads
    assert not driven.channels[0].in_flight()
    served = [driven.counter(f"{name}_reads") for name in QUEUES]
    assert sum(served) + driven.counter("forwarded") == len(reads)
    assert served[0] <= driven.counter("walk_reads") == sum(depths[n] > 0 for n in reads)


def test_writes_have_an_fr_fcfs_queue() -> None:
    driven = Driven(config(), [(10, ROW * n, n % 2 == 1) for n in range(40)])
    assert driven.counter("writes") == 20
    assert driven.counter("silver_reads") == 20


ALL_256 = {"golden": 256, "silver": 256, "normal": 256}


@settings(max_examples=examples(60), deadline=None)
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
