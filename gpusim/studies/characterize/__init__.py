"""Characterization without timing: what blocks and SMs access, before any TLB."""

from gpusim.studies.characterize.characterization import (
    ApplicationCharacterization,
    ArrayFootprint,
    Characterization,
    KernelCounts,
)
from gpusim.studies.characterize.distribution import Distribution
from gpusim.studies.characterize.file import read_characterization
from gpusim.studies.characterize.run import characterize, depends_on
from gpusim.studies.characterize.tlb_reuse import reuse_distances

__all__ = [
    "ApplicationCharacterization",
    "ArrayFootprint",
    "Characterization",
    "Distribution",
    "KernelCounts",
    "characterize",
    "depends_on",
    "read_characterization",
    "reuse_distances",
]
