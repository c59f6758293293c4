"""The event engine of the simulator: time in whole cycles, ports, probes, the watchdog."""

from gpusim.core.engine.environment import Environment, Process
from gpusim.core.engine.loop import (
    NEVER,
    EventLoop,
    Sleeper,
    Stall,
    Turning,
    TurnTaker,
    Waiters,
    Wake,
    Wakeable,
)
from gpusim.core.engine.port import NeverFull, Port, Sink
from gpusim.core.engine.probe import Probe
from gpusim.core.engine.watchdog import Watchdog

__all__ = [
    "NEVER",
    "Environment",
    "EventLoop",
    "NeverFull",
    "Port",
    "Probe",
    "Process",
    "Sink",
    "Sleeper",
    "Stall",
    "TurnTaker",
    "Turning",
    "Waiters",
    "Wake",
    "Wakeable",
    "Watchdog",
]
