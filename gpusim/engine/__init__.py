"""The ground that every component stands on: whole-cycle time, ports, probes, the watchdog."""

from gpusim.engine.environment import NEVER, Environment, Process, Stall, Waiters, Wake, Wakeable
from gpusim.engine.port import Port
from gpusim.engine.probe import Probe
from gpusim.engine.watchdog import DeadlockError, Watchdog

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
