"""What a run leaves behind: one HDF5 file, its digest, and the way to read it back."""

from gpusim.results.bands import bands
from gpusim.results.comparison import Comparison, compare
from gpusim.results.digest import digest
from gpusim.results.folder import Results, open_results
from gpusim.results.lives import Life, WalkWait, follow, slowest_requests
from gpusim.results.recorder import Recorder, check_records
from gpusim.results.result import Result, open_result
from gpusim.results.run_data import (
    ApplicationFacts,
    LaunchFacts,
    Provenance,
    RunData,
    SummaryValue,
    WallClock,
)
from gpusim.results.schema import DRAWN, RECORDS, SCHEMA_VERSION
from gpusim.results.summary import headline
from gpusim.results.writer import ResultWriter, TableWriter

__all__ = [
    "DRAWN",
    "RECORDS",
    "SCHEMA_VERSION",
    "ApplicationFacts",
    "Comparison",
    "LaunchFacts",
    "Life",
    "Provenance",
    "Recorder",
    "Result",
    "ResultWriter",
    "Results",
    "RunData",
    "SummaryValue",
    "TableWriter",
    "WalkWait",
    "WallClock",
    "bands",
    "check_records",
    "compare",
    "digest",
    "follow",
    "headline",
    "open_result",
    "open_results",
    "slowest_requests",
]
