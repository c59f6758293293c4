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

__all__ = [
    "ApplicationCharacterization",
    "ArrayFootprint",
    "Characterization",
    "Distribution",
    "KernelCounts",
    "characterize",
    "read_characterization",
]
