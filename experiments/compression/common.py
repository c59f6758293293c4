"""What studies of COMP share: machine, programs, sweeps."""

from __future__ import annotations

from functools import partial

from gpusim.studies.reproduce import programs_of
from gpusim.studies.sweep.spec import Sweep

MODEL = "kepler-uvm"

PROGRAMS = programs_of("compression")
"""The proxy set."""

WORKLOADS = tuple(PROGRAMS.values())
REGULAR = list(programs_of("compression", "regular"))
IRREGULAR = list(programs_of("compression", "irregular"))

L2_RATE = "tlb_L2_hit_rate"
"""The L2 TLB is one for all SMs."""

sweep = partial(Sweep, models=MODEL, workloads=WORKLOADS)
"""Programs on the baseline, or on other designs."""
