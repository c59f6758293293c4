"""GDDR5: a 64-bit channel of 6.5 Gb/s, tRFC and tREFI of 512 Mb."""

from __future__ import annotations

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standard import DramStandard, Preset, timing_in_clocks
from gpusim.files.units import Bytes, Hertz

GDDR5 = DramConfig(
    clock=Hertz(1_625_000_000),
    channels=1,
    row=Bytes(4096),
    burst=Bytes(64),
    bank_groups=4,
    banks=2,
    rows=32768,
    mapping="row bank bank-group column channel",
    timing=timing_in_clocks(
        BL=2,
        CL=20,
        CWL=5,
        RCDRD=20,
        RCDWR=17,
        RP=20,
        RAS=46,
        RC=66,
        CCDS=2,
        CCDL=3,
        RRDS=9,
        RRDL=9,
        FAW=38,
        A32W=299,
        WR=20,
        WTRS=9,
        WTRL=9,
        RTP=2,
        RFC=147,
        REFI=6338,
        PPD=2,
    ),
)

STANDARD = DramStandard(
    title="JESD212, 6.5 Gb/s",
    config=GDDR5,
    preset=Preset(
        source="CMU-SAFARI/ramulator@214f635:src/GDDR5.cpp",
        names="GDDR5_6500 (Ramulator 2 has none)",
        picoseconds=615,
        clocks={
            "BL": 2,
            "CL": 20,
            "CWL": 5,
            "RCDRD": 20,
            "RCDWR": 17,
            "RP": 20,
            "RAS": 46,
            "RC": 66,
            "CCDS": 2,
            "CCDL": 3,
            "RRDS": 9,
            "RRDL": 9,
            "FAW": 38,
            "A32W": 299,
            "WR": 20,
            "WTRS": 9,
            "WTRL": 9,
            "RTP": 2,
            "RFC": 147,
            "REFI": 6338,
            "PPD": 2,
        },
        organization={"bank_groups": 4, "banks": 2},
    ),
)
