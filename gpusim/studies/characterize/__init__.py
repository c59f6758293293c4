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
from gpusim.studies.characterize.tlb_designs import Design, designs_of
from gpusim.studies.characterize.tlb_levels import LevelCounts
from gpusim.studies.characterize.tlb_result import DesignCounts, LevelResult, TlbResult
from gpusim.studies.characterize.tlb_reuse import reuse_distances
from gpusim.studies.characterize.tlb_run import characterize_tlbs

__all__ = [
    "ApplicationCharacterization",
    "ArrayFootprint",
    "Characterization",
    "Design",
    "DesignCounts",
    "Distribution",
    "KernelCounts",
    "LevelCounts",
    "LevelResult",
    "TlbResult",
    "characterize",
    "characterize_tlbs",
    "depends_on",
    "designs_of",
    "read_characterization",
    "reuse_distances",
]
