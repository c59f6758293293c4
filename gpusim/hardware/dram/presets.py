"""DRAM tables of parts that GPUs have, one channel each; the validation uses the first two.

Clocks are those of commands.  Who states a value is in the comment above its table: Ramulator 2.1's
presets (python/ramulator/dram, primary timings that it calls typical, secondary ones by JEDEC's
formulas), JEDEC's standards, or an analogy, which is said.
"""

from __future__ import annotations

from gpusim.config.dram import DramConfig, DramTiming
from gpusim.files.units import Bytes, Hertz, cycles


def _timing(**clocks: int) -> DramTiming:
    return DramTiming(**{name: cycles(count) for name, count in clocks.items()})


# A 5 Gb/s-class part on a 64-bit channel: bin 6500 of Ramulator's table, tRFC and tREFI of 512 Mb.
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

# JESD235: 8 Gb, 2.4 Gb/s, two pseudo channels of 64 bits; Ramulator 2.1, HBM2_8Gb, HBM2_2400Mbps.
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

# JESD235D: 3.2 Gb/s at 1600 MHz.  No table of it is public: by analogy, the ns of HBM2 above in
# clocks of 625 ps, rounded up (RC: 57 × 0.833 = 47.5 ns = 76), and of tRRD 4 ns, tFAW 15 ns, tRFC
# 350 ns and tREFI 3.9 us by Ramulator 2.1's formulas.
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
    timing=_timing(
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

# JESD238: 16 channels a stack, of two pseudo channels of 32 bits, bursts of 8, a command clock of a
# quarter of the data rate.  Ramulator 2.1, HBM3_16Gb, HBM3_6400Mbps; tRRD 5 ns, tFAW 15 ns, tRFC
# 450 ns, tREFI 3.9 us by its formulas.  An activation takes 1.5 clocks there, 2 here.
HBM3 = DramConfig(
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
    timing=_timing(
        BL=2,
        CL=26,
        CWL=8,
        RCDRD=26,
        RCDWR=14,
        RP=26,
        RAS=48,
        RC=74,
        CCDS=2,
        CCDL=4,
        RRDS=8,
        RRDL=8,
        FAW=24,
        WR=24,
        WTRS=8,
        WTRL=12,
        RTP=6,
        RFC=720,
        REFI=6240,
        PPD=2,
    ),
)

# JESD250: a 16-bit channel, bursts of 16, a command clock of an eighth of the data rate: 14 Gb/s at
# 1750 MHz.  Ramulator 2.1, GDDR6_8Gb_x16, GDDR6_2000_1350mV_quad (tCK 570 ps), except for CCD: a
# burst there takes 2 clocks, as here, but CCDS and CCDL (4, 6) are those of its other data mode, in
# which it takes 4; by analogy half of them, which lets bursts follow each other, as JESD250 does.
GDDR6 = DramConfig(
    clock=Hertz(1_750_000_000),
    channels=1,
    row=Bytes(2048),
    burst=Bytes(32),
    bank_groups=4,
    banks=4,
    rows=16384,
    mapping="row bank bank-group column channel",
    timing=_timing(
        BL=2,
        CL=24,
        CWL=6,
        RCDRD=26,
        RCDWR=16,
        RP=26,
        RAS=53,
        RC=79,
        CCDS=2,
        CCDL=3,
        RRDS=7,
        RRDL=7,
        FAW=28,
        WR=26,
        WTRS=9,
        WTRL=11,
        RTP=4,
        RFC=210,
        REFI=3333,
    ),
)

# No standard and no public timing: 19 Gb/s (GeForce RTX 3080), and by analogy GDDR6 above: an
# eighth of the data rate as its clock, its bursts and column spacing in clocks, all else in ns
# (times 2375 / 1750, rounded up; REFI down).
GDDR6X = DramConfig(
    clock=Hertz(2_375_000_000),
    channels=1,
    row=Bytes(2048),
    burst=Bytes(32),
    bank_groups=4,
    banks=4,
    rows=16384,
    mapping="row bank bank-group column channel",
    timing=_timing(
        BL=2,
        CL=33,
        CWL=9,
        RCDRD=36,
        RCDWR=22,
        RP=36,
        RAS=72,
        RC=108,
        CCDS=2,
        CCDL=3,
        RRDS=10,
        RRDL=10,
        FAW=38,
        WR=36,
        WTRS=13,
        WTRL=15,
        RTP=6,
        RFC=285,
        REFI=4523,
    ),
)
