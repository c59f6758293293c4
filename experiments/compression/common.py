"""What studies of COMP share: machine, programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Material, counted, programs_of

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

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

APART = ", merged left out"
"""In the names of columns: hit rates of the lookups that merged with no walk under way."""


def rates_apart(material: Material, designs: list[str]) -> pd.DataFrame:
    """L2 TLB hit rates without the lookups that waited for a walk of another."""
    import pandas as pd

    columns = {
        design + APART: material.read(_rate_apart, PROGRAMS, {"variant": design})
        for design in designs
    }
    return pd.DataFrame(columns).rename_axis("program")


def _rate_apart(result: Result) -> float:
    counts = counted(result, "tlb/L2")
    return counts["hits"] / max(counts["lookups"] - counts["merged"], 1)
