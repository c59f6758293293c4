"""The ground that every component stands on: whole-cycle time, ports, probes, the watchdog."""

from gpusim.core.engine.environment import (
    NEVER,
    Environment,
    Process,
    Stall,
    Waiters,
    Wake,
    Wakeable,
)
from gpusim.core.engine.port import Port
from gpusim.core.engine.probe import Probe
from gpusim.core.engine.watchdog import DeadlockError, Watchdog

__all__ = [
    "NEVER",
    "DeadlockError",
    "Environment",
    "Port",
    "Probe",
    "Process",
    "Stall",
    "Waiters",
    "Wake",
    "Wakeable",
    "Watchdog",
]
