"""The controller against one that looks at everything in every clock."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.config.dram_standards.hbm2 import HBM2
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import cycles
from tests.examples import examples
from tests.hardware.dram.clocked import Clocked
from tests.hardware.dram.driving import Driven

SMALL = evolve(GDDR5, read_queue=6, write_queue=5, timing=evolve(GDDR5.timing, REFI=cycles(0)))
PSEUDO = evolve(
    HBM2,
    read_queue=6,
    write_queue=5,
    row_bus=False,
    activate_clocks=1,
    timing=evolve(HBM2.timing, REFI=cycles(0), RRDL=cycles(7)),
)


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[int, int, bool]]:
    """Short streams over a few rows of a few banks, in bursts and with pauses."""
    cycle = 0
    stream = []
    for _ in range(draw(st.integers(1, 40))):
        cycle += draw(st.sampled_from([0, 0, 0, 1, 2, 5, 17, 80]))
        bank = draw(st.integers(0, 7))
        row = draw(st.integers(0, 2))
        column = draw(st.integers(0, 3))
        address = row << 15 | bank << 12 | column << 6
        stream.append((cycle, address, draw(st.sampled_from([False, False, True]))))
    return stream


def check_same(config: object, stream: list[tuple[int, int, bool]], protects_hits: bool) -> None:
    oracle = Clocked(config, protects_hits).run(stream)  # type: ignore[arg-type]
    driven = Driven(config, stream)  # type: ignore[arg-type]
    reads = {n: one.finished for n, one in enumerate(oracle) if not one.write}
    assert driven.answered == reads
    accepted = [request.trail[3] for request in driven.requests]
    assert accepted == [one.accepted for one in oracle]
    writes = sorted(one.finished for one in oracle if one.write)
    assert sorted(heard[8] for heard in driven.heard if heard[3] == 5) == writes


@st.composite
def scattered(draw: st.DrawFn) -> list[tuple[int, int, bool]]:
    """Longer streams of reads and writes all over the banks, fast enough to fill the queues."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    gap = draw(st.sampled_from([0, 1, 3, 9]))
    writes = random.random(150) < draw(st.sampled_from([0.3, 0.7]))
    places = random.integers(0, 1 << 12, 150) << 12
    return [(n * gap, int(places[n]), bool(writes[n])) for n in range(150)]


@pytest.mark.long
@settings(max_examples=examples(25), deadline=None)
@given(scattered())
def test_full_queues_equal_a_look_in_every_clock(stream: list[tuple[int, int, bool]]) -> None:
    config = evolve(SMALL, read_queue=32, write_queue=32)
    check_same(config, stream, protects_hits=True)


@settings(max_examples=examples(20), deadline=None)
@given(scattered())
@pytest.mark.long
def test_two_buses_equal_a_look_in_every_clock(stream: list[tuple[int, int, bool]]) -> None:
    config = evolve(PSEUDO, row_bus=True, read_queue=32, write_queue=32)
    check_same(config, stream, protects_hits=True)


@settings(max_examples=examples(150), deadline=None)
@given(streams())
def test_fr_fcfs_equals_a_look_in_every_clock(stream: list[tuple[int, int, bool]]) -> None:
    check_same(SMALL, stream, protects_hits=True)


@settings(max_examples=examples(100), deadline=None)
@given(streams())
def test_pseudo_channels_equal_a_look_in_every_clock(stream: list[tuple[int, int, bool]]) -> None:
    check_same(PSEUDO, stream, protects_hits=True)


@settings(max_examples=examples(100), deadline=None)
@given(streams())
def test_fcfs_equals_a_look_in_every_clock(stream: list[tuple[int, int, bool]]) -> None:
    check_same(evolve(SMALL, scheduler=PolicyConfig("fcfs")), stream, protects_hits=False)
