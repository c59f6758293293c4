"""HBM2: two pseudo channels of 64 bits, 2.4 Gb/s."""

from __future__ import annotations

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standard import DramStandard, Preset, timing_in_clocks
from gpusim.files.units import Bytes, Hertz

HBM2 = DramConfig(
    clock=Hertz(1_200_000_000),
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
        CL=17,
        CWL=6,
        RCDRD=17,
        RCDWR=14,
        RP=17,
        RAS=40,
        RC=57,
        CCDS=2,
        CCDL=4,
        RRDS=5,
        RRDL=5,
        FAW=19,
        WR=19,
        WTRS=8,
        WTRL=10,
        RTP=6,
        RFC=421,
        REFI=4682,
    ),
)

STANDARD = DramStandard(
    title="JESD235, 2.4 Gb/s",
    config=HBM2,
    preset=Preset(
        source="CMU-SAFARI/ramulator2@c5b1c3a:python/ramulator/dram/hbm2.py",
        names="HBM2_2400Mbps of HBM2_8Gb",
        picoseconds=833,
        clocks={
            "BL": 2,
            "CL": 17,
            "CWL": 6,
            "RCDRD": 17,
            "RCDWR": 14,
            "RP": 17,
            "RAS": 40,
            "RC": 57,
            "CCDS": 2,
            "CCDL": 4,
            "WR": 19,
            "WTRS": 8,
            "WTRL": 10,
            "RTP": 6,
        },
        nanoseconds={"RRDS": 4, "RRDL": 4, "FAW": 15, "RFC": 350, "REFI": 3900},
        organization={
            "pseudo_channels": 2,
            "bank_groups": 4,
            "banks": 4,
            "row": 1024,
            "rows": 65536,
        },
    ),
)
