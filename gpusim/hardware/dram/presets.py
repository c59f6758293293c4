"""DRAM tables of two parts, as the validation and the tests use them.

GDDR5: a 5 Gb/s-class part at a 1625 MHz command clock on a 64-bit channel (bin 6500 of Ramulator's
table; tRFC and tREFI of 512 Mb parts).  HBM2: 8 Gb, 1200 MHz (2.4 Gb/s), two pseudo channels.
"""

from __future__ import annotations

from gpusim.config.dram import DramConfig, DramTiming
from gpusim.config.units import Bytes, Hertz, cycles


def _timing(**clocks: int) -> DramTiming:
    return DramTiming(**{name: cycles(count) for name, count in clocks.items()})


GDDR5 = DramConfig(
    clock=Hertz(1_625_000_000),
    channels=1,
    row=Bytes(4096),
    burst=Bytes(64),
    bank_groups=4,
    banks=2,
    rows=32768,
    mapping="row bank bank-group column channel",
    timing=_timing(
        BL=2, CL=20, CWL=5, RCDRD=20, RCDWR=17, RP=20, RAS=46, RC=66, CCDS=2, CCDL=3, RRDS=9,
        RRDL=9, FAW=38, A32W=299, WR=20, WTRS=9, WTRL=9, RTP=2, RFC=147, REFI=6338, PPD=2,
    ),
)  # fmt: skip

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
    timing=_timing(
        BL=2, CL=17, CWL=6, RCDRD=17, RCDWR=14, RP=17, RAS=40, RC=57, CCDS=2, CCDL=4, RRDS=5,
        RRDL=5, FAW=19, WR=19, WTRS=8, WTRL=10, RTP=6, RFC=421, REFI=4682,
    ),
)  # fmt: skip
