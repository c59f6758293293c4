"""What a run leaves behind: one HDF5 file, its digest, and the way to read it back."""

from gpusim.results.digest import digest
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
from gpusim.results.schema import RECORDS, SCHEMA_VERSION
from gpusim.results.summary import headline
from gpusim.results.writer import ResultWriter, TableWriter

__all__ = [
    "RECORDS",
    "SCHEMA_VERSION",
    "ApplicationFacts",
    "LaunchFacts",
    "Provenance",
    "Recorder",
    "Result",
    "ResultWriter",
    "RunData",
    "SummaryValue",
    "TableWriter",
    "WallClock",
    "check_records",
    "digest",
    "headline",
    "open_result",
]
