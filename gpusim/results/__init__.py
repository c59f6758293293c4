"""Results of runs: one HDF5 file each, its digest, and the way to read it back."""

from gpusim.results.comparison import Comparison, compare
from gpusim.results.datasets import DRAWN, RECORDS, SCHEMA_VERSION
from gpusim.results.digest import digest
from gpusim.results.folder import Results, open_results
from gpusim.results.repeated_runs import bands
from gpusim.results.result import Result, open_result
from gpusim.results.run_data import (
    ApplicationFacts,
    ByLaunch,
    KernelFacts,
    LaunchFacts,
    NumberFacts,
    Provenance,
    RunData,
    SummaryValue,
    WallClock,
)
from gpusim.results.transactions import Life, WalkWait, follow, slowest_requests

__all__ = [
    "DRAWN",
    "RECORDS",
    "SCHEMA_VERSION",
    "ApplicationFacts",
    "ByLaunch",
    "Comparison",
    "KernelFacts",
    "LaunchFacts",
    "Life",
    "NumberFacts",
    "Provenance",
    "Result",
    "Results",
    "RunData",
    "SummaryValue",
    "WalkWait",
    "WallClock",
    "bands",
    "compare",
    "digest",
    "follow",
    "open_result",
    "open_results",
    "slowest_requests",
]
