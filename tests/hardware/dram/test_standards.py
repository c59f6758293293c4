"""Parts of newer GPUs: peak, streamed bandwidth and idle latency, in DRAM clocks by hand.

A request that arrives in clock c gets its first command in c + 1.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standards.gddr6 import GDDR6
from gpusim.config.dram_standards.gddr6x import GDDR6X
from gpusim.config.dram_standards.hbm2 import HBM2
from gpusim.config.dram_standards.hbm2e import HBM2E
from gpusim.config.dram_standards.hbm3 import HBM3
from gpusim.hardware.dram.timing import Timing
from tests.hardware.dram.driving import Driven

PARTS = {"HBM2": HBM2, "HBM2E": HBM2E, "HBM3": HBM3, "GDDR6": GDDR6, "GDDR6X": GDDR6X}
INTERLEAVED = {
    2: "row bank column bank-group pseudo-channel channel",
    1: "row bank column bank-group channel",
}
"""By pseudo channels: neighbouring bursts in other bank groups."""


@pytest.mark.parametrize(
    ("part", "channels", "gigabytes"),
    [
        ("HBM2", 1, 38.4),  # 128 bits, 2.4 Gb/s
        ("HBM2E", 40, 2048.0),  # five stacks of 1024 bits, 3.2 Gb/s
        ("HBM3", 16, 819.2),  # a stack of 1024 bits, 6.4 Gb/s: JESD238
        ("GDDR6", 16, 448.0),  # 256 bits, 14 Gb/s: GeForce RTX 3070
        ("GDDR6X", 20, 760.0),  # 320 bits, 19 Gb/s: GeForce RTX 3080
    ],
)
def test_peak(part: str, channels: int, gigabytes: float) -> None:
    dram = PARTS[part]
    timing = Timing.of(dram)
    assert timing.BL == timing.CCDS  # bursts of other bank groups follow each other
    peak = dram.burst * dram.pseudo_channels * dram.clock / timing.BL
    assert channels * peak / 1e9 == pytest.approx(gigabytes)


@pytest.mark.parametrize(
    ("part", "closed", "hit", "conflict"),
    [
        # the controller, the second clock of an activation, RCDRD, CL, BL
        (HBM2E, 1 + 1 + 23 + 23 + 2, 1 + 23 + 2, 1 + 23 + 23 + 23 + 2),
        # the controller, RCDRD, CL, BL; a conflict pays RP
        (GDDR6, 1 + 27 + 24 + 2, 1 + 24 + 2, 1 + 27 + 27 + 24 + 2),
    ],
)
def test_idle_latency(part: DramConfig, closed: int, hit: int, conflict: int) -> None:
    row = part.row * part.pseudo_channels * part.bank_groups * part.banks
    driven = Driven(part, [(10, 0, False), (500, 32, False), (1000, row, False)])
    taken = [driven.answered[n] - arrived for n, arrived in enumerate((10, 500, 1000))]
    assert taken == [closed, hit, conflict]


def test_a_row_streams_at_the_spacing_of_one_bank_group() -> None:
    """32 columns of HBM2E: ACT 1, 2; RD 25, 31, ..., data 25 after each. GDDR6: RD 28, 32, ..."""
    driven = Driven(HBM2E, [(0, 32 * n, False) for n in range(32)])
    assert max(driven.answered.values()) == 2 + 23 + 31 * 6 + 25
    driven = Driven(GDDR6, [(0, 32 * n, False) for n in range(64)])
    assert max(driven.answered.values()) == 1 + 27 + 63 * 4 + 26


@pytest.mark.parametrize("part", [HBM2E, GDDR6])
def test_a_stream_over_all_bank_groups_loses_what_refreshes_take(part: DramConfig) -> None:
    """While one pseudo channel is refreshed the queue fills with its requests: both wait."""
    count = 6000
    config = evolve(part, mapping=INTERLEAVED[part.pseudo_channels])
    driven = Driven(config, [(0, 32 * n, False) for n in range(count)], listen=False)
    timing = Timing.of(part)
    streamed = count * part.burst / max(driven.answered.values())
    peak = part.burst * part.pseudo_channels / timing.BL
    refreshes = part.pseudo_channels * (timing.RFC + timing.RP) / timing.REFI  # 19 % and 7 %
    assert 0.98 * (1 - refreshes) < streamed / peak < 1
