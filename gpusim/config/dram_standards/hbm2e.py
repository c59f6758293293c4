"""HBM2E: two pseudo channels of 64 bits, 3.2 Gb/s."""

from __future__ import annotations

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standard import DramStandard, timing_in_clocks
from gpusim.config.dram_standards import hbm2
from gpusim.files.units import Bytes, Hertz

HBM2E = DramConfig(
    clock=Hertz(1_600_000_000),
    channels=1,
    row=Bytes(1024),
    burst=Bytes(32),
    pseudo_channels=2,
    bank_groups=4,
    banks=4,
    rows=65536,
    activate_clocks=2,
    row_bus=True,
    mapping="row bank bank-group pseudo-channel column channel",
    timing=timing_in_clocks(
        BL=2,
        CL=23,
        CWL=8,
        RCDRD=23,
        RCDWR=19,
        RP=23,
        RAS=54,
        RC=76,
        CCDS=2,
        CCDL=6,
        RRDS=7,
        RRDL=7,
        FAW=24,
        WR=26,
        WTRS=11,
        WTRL=14,
        RTP=8,
        RFC=560,
        REFI=6240,
    ),
)

STANDARD = DramStandard(
    title="JESD235D, 3.2 Gb/s",
    config=HBM2E,
    preset=hbm2.STANDARD.preset,
    reasons={
        "CCDL": "3.3 ns, as a bank group's column path takes a time, not clocks",
    },
    analogy="HBM2 in ns; its own table is not public",
)
