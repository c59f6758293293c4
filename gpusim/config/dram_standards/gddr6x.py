"""GDDR6X: 19 Gb/s, an eighth of the data rate as its clock.

No standard, and no public timing: by analogy the ns of GDDR6, bursts and columns in clocks.
"""

from __future__ import annotations

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standard import DramStandard, timing_in_clocks
from gpusim.config.dram_standards import gddr6
from gpusim.files.units import Bytes, Hertz

GDDR6X = DramConfig(
    clock=Hertz(2_375_000_000),
    channels=1,
    row=Bytes(2048),
    burst=Bytes(32),
    bank_groups=4,
    banks=4,
    rows=16384,
    mapping="row bank bank-group column channel",
    timing=timing_in_clocks(
        BL=2,
        CL=33,
        CWL=9,
        RCDRD=37,
        RCDWR=22,
        RP=37,
        RAS=72,
        RC=107,
        CCDS=2,
        CCDL=4,
        RRDS=11,
        RRDL=11,
        FAW=40,
        WR=37,
        WTRS=13,
        WTRL=15,
        RTP=6,
        RFC=286,
        REFI=4512,
        PPD=2,
    ),
)

STANDARD = DramStandard(
    title="Micron, 19 Gb/s",
    config=GDDR6X,
    preset=gddr6.STANDARD.preset,
    analogy="GDDR6 in ns; its own table is not public",
)
