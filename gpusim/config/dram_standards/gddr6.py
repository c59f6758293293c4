"""GDDR6: a 16-bit channel, bursts of 16, a command clock of an eighth of 14 Gb/s."""

from __future__ import annotations

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standard import DramStandard, Preset, timing_in_clocks
from gpusim.files.units import Bytes, Hertz

GDDR6 = DramConfig(
    clock=Hertz(1_750_000_000),
    channels=1,
    row=Bytes(2048),
    burst=Bytes(32),
    bank_groups=4,
    banks=4,
    rows=16384,
    mapping="row bank bank-group column channel",
    timing=timing_in_clocks(
        BL=2,
        CL=24,
        CWL=6,
        RCDRD=27,
        RCDWR=16,
        RP=27,
        RAS=53,
        RC=79,
        CCDS=2,
        CCDL=4,
        RRDS=8,
        RRDL=8,
        FAW=29,
        WR=27,
        WTRS=9,
        WTRL=11,
        RTP=4,
        RFC=211,
        REFI=3333,
        PPD=1,
    ),
)

STANDARD = DramStandard(
    title="JESD250, 14 Gb/s",
    config=GDDR6,
    preset=Preset(
        source="CMU-SAFARI/ramulator2@c5b1c3a:python/ramulator/dram/gddr6.py",
        names="GDDR6_14000_1350mV_quad of GDDR6_8Gb_x16",
        picoseconds=570,
        clocks={
            "BL": 2,
            "CL": 24,
            "CWL": 6,
            "RCDRD": 27,
            "RCDWR": 16,
            "RP": 27,
            "RAS": 53,
            "RC": 79,
            "CCDS": 2,
            "CCDL": 4,
            "RRDS": 8,
            "RRDL": 8,
            "FAW": 29,
            "WR": 27,
            "WTRS": 9,
            "WTRL": 11,
            "RTP": 4,
            "RFC": 211,
            "REFI": 3333,
            "PPD": 1,
        },
        organization={"bank_groups": 4, "banks": 4, "row": 2048, "rows": 16384},
    ),
)
