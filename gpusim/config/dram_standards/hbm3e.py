"""HBM3E: as HBM3, 8 Gb/s.

No table of it is public: by analogy the ns of HBM3, which HBM4_8000Mbps of Ramulator 2.1 has, too.
"""

from __future__ import annotations

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standard import DramStandard, timing_in_clocks
from gpusim.config.dram_standards import hbm3
from gpusim.files.units import Bytes, Hertz

HBM3E = DramConfig(
    clock=Hertz(2_000_000_000),
    channels=1,
    row=Bytes(1024),
    burst=Bytes(32),
    pseudo_channels=2,
    bank_groups=4,
    banks=4,
    rows=32768,
    activate_clocks=2,
    row_bus=True,
    mapping="row bank bank-group pseudo-channel column channel",
    timing=timing_in_clocks(
        BL=2,
        CL=25,
        CWL=13,
        RCDRD=39,
        RCDWR=19,
        RP=33,
        RAS=57,
        RC=90,
        CCDS=2,
        CCDL=4,
        RRDS=5,
        RRDL=7,
        FAW=30,
        WR=42,
        WTRS=9,
        WTRL=13,
        RTP=12,
        RFC=700,
        REFI=7800,
        PPD=3,
    ),
)

STANDARD = DramStandard(
    title="JESD238B, 8 Gb/s",
    config=HBM3E,
    preset=hbm3.STANDARD.preset,
    reasons={
        "rows": "two stack IDs of 16384 rows are one of 32768 here",
    },
    analogy="HBM3 in ns; its own table is not public",
)
