"""What figures of ORCH share: machine, programs, designs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpusim.studies.reproduce import programs_of
from gpusim.studies.sweep.spec import Sweep

MODEL = "kepler-uvm"
"""Table III."""

PROGRAMS = programs_of("orchestrated")
"""Table II."""

WORKLOADS = tuple(PROGRAMS.values())
MATRIX = ["atax", "bicg", "gemm", "mvt"]
IRREGULAR = ["bfs", "color", "mis", "nw", "pagerank", "3dconv"]

PROPOSAL = "partitioning-sharing"
DESIGNS = ("baseline", "scheduling", "partitioning", PROPOSAL)
"""Each with what the one before has (§V)."""


def sweep(
    variants: Iterable[str],
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
