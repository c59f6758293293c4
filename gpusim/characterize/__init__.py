"""Characterization without timing: what blocks and SMs access, before any TLB."""

from gpusim.characterize.characterization import (
    ApplicationCharacterization,
    ArrayFootprint,
    Characterization,
    KernelCounts,
)
from gpusim.characterize.distribution import Distribution
from gpusim.characterize.file import read_characterization
from gpusim.characterize.run import characterize
from gpusim.characterize.tlb_reuse import reuse_distances

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
