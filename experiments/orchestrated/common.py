"""What figures of ORCH share: machine, programs, designs."""

from __future__ import annotations

from functools import partial

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

sweep = partial(Sweep, models=MODEL, workloads=WORKLOADS)
"""Programs on some designs."""
