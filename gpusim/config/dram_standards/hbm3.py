"""HBM3: 16 channels a stack, each of two pseudo channels of 32 bits, bursts of 8, 6.4 Gb/s.

An activation takes 1.5 clocks, 2 here.
"""

from __future__ import annotations

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standard import DramStandard, Preset, timing_in_clocks
from gpusim.files.units import Bytes, Hertz

HBM3 = DramConfig(
    clock=Hertz(1_600_000_000),
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
        CL=20,
        CWL=10,
        RCDRD=31,
        RCDWR=15,
        RP=26,
        RAS=45,
        RC=72,
        CCDS=2,
        CCDL=4,
        RRDS=4,
        RRDL=5,
        FAW=24,
        WR=33,
        WTRS=7,
        WTRL=10,
        RTP=9,
        RFC=560,
        REFI=6240,
        PPD=2,
    ),
)

STANDARD = DramStandard(
    title="JESD238, 6.4 Gb/s",
    config=HBM3,
    preset=Preset(
        source="CMU-SAFARI/ramulator2@c5b1c3a:python/ramulator/dram/hbm3.py",
        names="HBM3_6400Mbps of HBM3_16Gb_8hi",
        picoseconds=625,
        clocks={
            "BL": 2,
            "CL": 20,
            "CWL": 10,
            "RCDRD": 31,
            "RCDWR": 15,
            "RP": 26,
            "RAS": 45,
            "RC": 72,
            "CCDS": 2,
            "CCDL": 4,
            "RRDS": 4,
            "RRDL": 5,
            "FAW": 24,
            "WR": 33,
            "WTRS": 7,
            "WTRL": 10,
            "RTP": 9,
            "PPD": 2,
            "REFI": 6240,
        },
        nanoseconds={"RFC": 350},
        organization={
            "pseudo_channels": 2,
            "bank_groups": 4,
            "banks": 4,
            "row": 1024,
            "rows": 16384,
        },
    ),
    reasons={
        "rows": "two stack IDs of 16384 rows are one of 32768 here",
    },
)
