# ruff: noqa: I001 (one import a module)
"""What `gpusim.results` offers, and where each name is from."""

from .comparison import Comparison as Comparison, compare as compare
from .datasets import SCHEMA_VERSION as SCHEMA_VERSION
from .event_tables import DRAWN as DRAWN, RECORDS as RECORDS
from .digest import digest as digest
from .folder import Results as Results, open_results as open_results
from .repeated_runs import bands as bands
from .result import Result as Result, open_result as open_result
from .run_data import (
    ApplicationFacts as ApplicationFacts,
    ByLaunch as ByLaunch,
    KernelFacts as KernelFacts,
    LaunchFacts as LaunchFacts,
    NumberFacts as NumberFacts,
    Provenance as Provenance,
    RunData as RunData,
    SummaryValue as SummaryValue,
    WallClock as WallClock,
)
from .transactions import (
    Life as Life,
    WalkWait as WalkWait,
    follow as follow,
    slowest_requests as slowest_requests,
)
