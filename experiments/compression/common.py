"""What studies of COMP share: machine, programs, sweeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


def sweep(
    variants: Iterable[str] = ("baseline",),
    programs: Mapping[str, str] = PROGRAMS,
    axes: Mapping[str, object] | None = None,
) -> Sweep:
    """Some programs on some designs."""
    return Sweep(
        models=MODEL,
        workloads=tuple(programs.values()),
        variants=list(variants),
        set=axes or {},
    )
