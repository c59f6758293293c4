"""Characterization without timing: what blocks and SMs access, before any TLB."""

from gpusim.studies.characterize.characterization import (
    ApplicationCharacterization,
    ArrayFootprint,
    Characterization,
    KernelCounts,
)
from gpusim.studies.characterize.distribution import Distribution
from gpusim.studies.characterize.file import read_characterization
from gpusim.studies.characterize.run import characterize
from gpusim.studies.characterize.tlb_reuse import reuse_distances

__all__ = [
    "ApplicationCharacterization",
    "ArrayFootprint",
    "Characterization",
    "Distribution",
    "KernelCounts",
    "characterize",
    "read_characterization",
    "reuse_distances",
]
