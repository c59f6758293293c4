"""The process of a channel: latencies to the cycle, back-pressure, counters, conservation.

GDDR5, in DRAM clocks: RCDRD 20, RCDWR 17, CL 20, CWL 5, BL 2, RP 20, RAS 46, CCDL 3, CCDS 2, RRD 9,
FAW 38, WTR 9, RTP 2, RFC 147, REFI 6338.  A request that arrives in clock c gets its first command
in c + 1.
"""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.config.dram_standards.hbm2 import HBM2
from gpusim.core.engine import Environment
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.core.states import State
from gpusim.files.units import cycles, parse_duration
from gpusim.hardware.dram import ChannelUse, IdealDramChannel, build_dram
from tests.examples import examples
from tests.hardware.dram.driving import Driven

ROW = 1 << 15
GROUP = 1 << 12


def _latencies(stream: list[tuple[int, int, bool]], **change: Any) -> dict[int, int]:
    driven = Driven(evolve(GDDR5, **change), stream)
    return {n: end - stream[n][0] for n, end in driven.answered.items()}


def test_closed_row() -> None:
    assert _latencies([(10, 0, False)]) == {0: 1 + 20 + 20 + 2}  # controller, RCDRD, CL, BL


def test_row_hit() -> None:
    assert _latencies([(10, 0, False), (500, 64, False)])[1] == 1 + 20 + 2  # controller, CL, BL


def test_row_conflict() -> None:
    latencies = _latencies([(10, 0, False), (500, ROW, False)])
    assert latencies[1] == 1 + 20 + 20 + 20 + 2  # controller, RP, RCDRD, CL, BL


def test_conflict_waits_until_the_row_has_been_open_long_enough() -> None:
    latencies = _latencies([(10, 0, False), (10, ROW, False)])
    # ACT 11, PRE 11 + RAS = 57, ACT 77, RD 97, data 97 + 22 = 119
    assert latencies == {0: 43, 1: 119 - 10}


def test_two_hits_of_one_bank_and_of_two_groups() -> None:
    opened = [(0, 0, False), (100, GROUP, False)]
    same = _latencies([*opened, (500, 64, False), (500, 128, False)])
    assert (same[2], same[3]) == (23, 23 + 3)  # CCDL
    other = _latencies([*opened, (500, 64, False), (500, GROUP + 64, False)])
    assert (other[2], other[3]) == (23, 23 + 2)  # CCDS


def test_eight_activations() -> None:
    latencies = _latencies([(10, bank * GROUP, False) for bank in range(8)])
    # ACT at +1, +10, +19, +28 by RRD; FAW allows +39, but there the third bank's RD takes the
    # command bus, so at +40, and then at +49, +58, +67 by RRD
    assert [latencies[n] - 42 for n in range(8)] == [1, 10, 19, 28, 40, 49, 58, 67]


def test_read_after_write_turns_the_bus() -> None:
    driven = Driven(GDDR5, [(0, 0, False), (400, 64, True), (401, 128, False)])
    # WR 401, its data until 401 + CWL 5 + BL 2 = 408; RD 408 + WTR 9 = 417, data 417 + 22 = 439
    assert driven.answered[2] == 439
    assert [heard[8] for heard in driven.heard if heard[3] == 5] == [408]


def test_write_after_read_turns_the_bus() -> None:
    driven = Driven(GDDR5, [(0, 0, False), (400, 64, False), (401, 128, True)])
    # RD 401; WR 401 + CL 20 + CCDS 2 + 2 - CWL 5 = 420; data until 420 + 7
    assert driven.answered[1] == 423
    assert [heard[8] for heard in driven.heard if heard[3] == 5] == [427]


def test_a_read_gets_the_data_of_a_waiting_write() -> None:
    driven = Driven(GDDR5, [(0, 0, False), (3, ROW, True), (4, ROW, False)])
    # the write waits for its row (PRE after RAS), the read is answered in the next clock
    assert driven.answered[2] == 5
    assert driven.counter("forwarded") == 1


def test_refresh_closes_rows_and_takes_its_time() -> None:
    driven = Driven(GDDR5, [(6200, 0, False), (6339, 64, False)])
    # PREab 6338, REF 6358 (RP), ACT 6358 + 147 = 6505, RD 6525, data 6547
    assert driven.answered[1] == 6547
    assert driven.counter("refreshes") == 1
    assert driven.counter("row_misses") == 2


def test_refresh_of_closed_rows_needs_no_precharge() -> None:
    # REF 6338, ACT 6485, RD 6505, data 6527
    assert _latencies([(6338, 0, False)]) == {0: 6527 - 6338}


def test_an_idle_channel_schedules_nothing() -> None:
    driven = Driven(GDDR5, [(0, 0, False), (1_000_000, 0, False)])
    assert driven.env.now < 1_000_100
    assert driven.counter("refreshes") == 1_000_000 // 6338
    assert driven.env.events < 25


def test_closed_rows_close_by_themselves() -> None:
    latencies = _latencies(
        [(0, 0, False), (0, 64, False), (500, 128, False), (1000, ROW, False)],
        page_policy="closed",
    )
    # the second waits in the queue and hits; later ones find the row closed
    assert latencies == {0: 43, 1: 46, 2: 43, 3: 43}


def test_closed_row_reopens_after_precharge() -> None:
    latencies = _latencies([(0, 0, False), (22, ROW, False)], page_policy="closed")
    # ACT 1, RD 21, precharge by itself at 1 + RAS = 47, ACT 67, RD 87, data 109
    assert latencies[1] == 109 - 22


def test_hbm2_activation_takes_two_clocks() -> None:
    driven = Driven(HBM2, [(10, 0, False), (500, 32, False), (1000, ROW, False)])
    assert driven.answered[0] == 10 + 1 + 1 + 17 + 17 + 2  # ... second clock, RCDRD, CL, BL
    assert driven.answered[1] == 500 + 1 + 17 + 2
    assert driven.answered[2] == 1000 + 1 + 17 + 17 + 17 + 2  # it begins before RP has passed


def test_clocks_are_converted_exactly() -> None:
    # core 1 GHz: cycle 10 is clock 16.25, so 17; data in clock 17 + 43 = 60 is cycle 36.9, so 37
    assert Driven(GDDR5, [(10, 0, False)], core=1_000_000_000).answered == {0: 37}
    # core 3.25 GHz: cycle 11 is clock 5.5, so 6; data in clock 49 is cycle 98
    assert Driven(GDDR5, [(11, 0, False)], core=3_250_000_000).answered == {0: 98}


def test_sequential_reads_run_at_the_column_rate() -> None:
    stream = [(0, 64 * n, False) for n in range(64)]
    driven = Driven(GDDR5, stream)
    # one row: ACT 1, RD 21, 24, ..., 21 + 63 * CCDL, data 22 later
    assert max(driven.answered.values()) == 21 + 63 * 3 + 22
    assert driven.counter("row_hits") == 63
    assert driven.counter("data_clocks") == 128


def test_a_line_of_two_bursts_takes_two_columns() -> None:
    config = evolve(GDDR5, mapping="row bank bank-group column channel column:1")
    driven = Driven(config, [(10, 0, False)], request_bytes=128)
    assert driven.answered == {0: 53 + 3}  # CCDL
    assert driven.counter("data_read_bytes") == 128


def test_trails_tell_queue_and_service() -> None:
    driven = Driven(GDDR5, [(10, 0, False), (10, ROW, False)])
    assert driven.requests[1].trail == [State.L2, 0, State.DRAM_QUEUE, 10, State.DRAM, 57]
    assert driven.counter("queue_cycles") == 1 + 47


def test_a_full_queue_stalls_the_port() -> None:
    stream = [(0, ROW * n, False) for n in range(60)]
    driven = Driven(GDDR5, stream)
    assert len(driven.answered) == 60
    accepted = [request.trail[3] for request in driven.requests]
    # 32 at once; a place is free when the activation of the first goes, in clock 1, the next
    # conflict 66 (RC) later, and so on
    assert accepted[:34] == [0] * 32 + [1, 67]
    assert accepted[34] - accepted[33] == 66


def test_counters_by_class() -> None:
    driven = Driven(GDDR5, [(0, 0, False), (100, 64, True)], depths=[2, 0])
    assert driven.counter("walk_reads") == 1
    assert driven.counter("data_reads") == 0
    assert driven.counter("walk_latency_cycles") == 43
    assert driven.counter("data_latency_cycles") == 0
    assert driven.counter("write_bytes") == driven.counter("walk_read_bytes") == 64


def test_ideal_dram() -> None:
    config = evolve(GDDR5, ideal=True, ideal_latency=cycles(30))
    driven = Driven(config, [(n // 3, 64 * n, n % 2 == 1) for n in range(30)])
    assert isinstance(driven.channels[0], IdealDramChannel)
    assert driven.answered == {n: n // 3 + 30 for n in range(0, 30, 2)}
    assert driven.counter("writes") == 15
    assert not driven.channels[0].in_flight()


STREAMS = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, (1 << 20) - 1), st.booleans()), max_size=120
).map(lambda some: sorted((cycle, place * 64, write) for cycle, place, write in some))


@settings(max_examples=examples(40), deadline=None)
@given(
    STREAMS,
    st.sampled_from(["fcfs", "fr-fcfs", "fr-rr-fcfs", "golden-silver-normal"]),
    st.sampled_from(["open", "closed"]),
    st.sampled_from([1_000_000_000, 1_625_000_000, 3_000_000_000]),
    st.integers(1, 3),
)
def test_nothing_is_lost_and_probes_change_nothing(
    stream: list[tuple[int, int, bool]], scheduler: str, page: str, core: int, channels: int
) -> None:
    config = evolve(
        GDDR5,
        scheduler=PolicyConfig(scheduler),
        page_policy=page,
        channels=channels,
        read_queue=5,
        write_queue=4,
        timing=evolve(GDDR5.timing, REFI=cycles(400)),
    )
    driven = Driven(config, stream, core)
    assert set(driven.answered) == {n for n, one in enumerate(stream) if not one[2]}
    assert driven.counter("writes") == sum(one[2] for one in stream)
    assert sum(channel.in_flight() for channel in driven.channels) == 0
    assert not [text for channel in driven.channels for text in channel.waiting()]
    outcomes = ("row_hits", "row_misses", "row_conflicts", "forwarded")
    assert sum(driven.counter(name) for name in outcomes) == len(stream)
    for heard in driven.heard:
        assert heard[6] <= heard[7] <= heard[8]
    quiet = Driven(config, stream, core, listen=False)
    assert quiet.answered == driven.answered


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"page_policy": "opne"}, "dram.page_policy: 'opne'; did you mean 'open'"),
        ({"read_queue": 0}, "dram.read_queue: 0; allowed: 1 or more"),
        ({"drain_low": 0.9}, "dram.drain_low, dram.drain_high: 0.9, 0.8"),
        ({"scheduler": PolicyConfig("frfcfs")}, "did you mean 'fr-fcfs'"),
        ({"timing": evolve(GDDR5.timing, CCDL=cycles(1))}, "dram.timing.CCDL: 1 clocks are less"),
        ({"timing": evolve(GDDR5.timing, CL=cycles(0))}, "dram.timing.CL: 0 clocks"),
        ({"timing": evolve(GDDR5.timing, REFI=cycles(99))}, "leave no time between refreshes"),
        ({"activate_clocks": 0}, "dram.activate_clocks: 0"),
    ],
)
def test_impossible_tables_are_refused(change: dict[str, Any], message: str) -> None:
    config = evolve(GDDR5, **change)
    with pytest.raises(UserError, match=message):
        build_dram(Environment(), config, config.clock)


def test_lines_that_would_be_cut_are_refused() -> None:
    with pytest.raises(UserError, match="cuts requests of 128 bytes"):
        build_dram(
            Environment(), evolve(GDDR5, channels=8), GDDR5.clock, ChannelUse(request_bytes=128)
        )


@pytest.mark.parametrize("trip", ["13 cycles", "8ns"])
@pytest.mark.parametrize("ideal", [False, True])
def test_the_way_to_a_channel_takes_its_time(trip: str, ideal: bool) -> None:
    """13 clocks of 1625 MHz, and 8 ns, are 8 core cycles of 1 GHz; the answer comes without."""
    core = 1_000_000_000
    near = Driven(evolve(GDDR5, ideal=ideal), [(18, 0, False)], core=core)
    config = evolve(GDDR5, ideal=ideal, trip=parse_duration(trip))
    far = Driven(config, [(10, 0, False)], core=core)
    assert far.answered == near.answered
    trail = far.requests[0].trail
    assert trail[3] == 10  # the way counts as DRAM's, not as that of who sent the request


def test_staggered_channels_are_refreshed_one_after_another() -> None:
    """Two channels of 64 bytes in turn; the second is refreshed half of REFI later."""
    apart = 6338 // 2
    for refresh, due in ((None, (6338, 6338)), ("staggered", (6338, 6338 + apart))):
        config = evolve(GDDR5, channels=2, refresh=refresh)
        for channel, clock in enumerate(due):
            driven = Driven(config, [(clock, 64 * channel, False)])
            # REF, ACT after RFC 147, RD after RCDRD 20, data after CL 20 and BL 2
            assert driven.answered[0] == clock + 147 + 20 + 22
    driven = Driven(evolve(GDDR5, channels=2, refresh="staggered"), [(6338, 64, False)])
    assert driven.answered[0] == 6338 + 1 + 20 + 22  # the second one is not refreshed now


def test_an_unknown_refresh_is_refused() -> None:
    with pytest.raises(UserError, match=r"dram\.refresh: 'stagered'; did you mean 'staggered'"):
        build_dram(Environment(), evolve(GDDR5, refresh="stagered"), GDDR5.clock)
