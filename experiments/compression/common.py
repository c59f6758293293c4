"""What studies of COMP share: machine, programs."""

from __future__ import annotations

from gpusim.studies.reproduce import programs_of

MODEL = "kepler-uvm"

PROGRAMS = programs_of("compression")
"""The proxy set."""

WORKLOADS = tuple(PROGRAMS.values())
REGULAR = list(programs_of("compression", "regular"))
IRREGULAR = list(programs_of("compression", "irregular"))

SHORT = ("nw", "sssp", "bc", "mummer", "cfd", "streamcluster", "histo", "shoc_bfs")
"""Irregular ones, only nw of them ORCH's: for studies of a parameter, which need many runs."""

SHORT_PROGRAMS = {name: PROGRAMS[name] for name in SHORT}

L2_RATE = "tlb_L2_hit_rate"
"""The L2 TLB is one for all SMs."""
