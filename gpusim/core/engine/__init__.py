"""The event engine of the simulator: time in whole cycles, ports, probes, the watchdog."""

from gpusim.core.engine.environment import Environment, LeadingEnvironment, Process
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
from gpusim.core.engine.sides import Hearer, Side, Sides, Together
from gpusim.core.engine.watchdog import Watchdog

__all__ = [
    "NEVER",
    "Environment",
    "EventLoop",
    "Hearer",
    "LeadingEnvironment",
    "NeverFull",
    "Port",
    "Probe",
    "Process",
    "Side",
    "Sides",
    "Sink",
    "Sleeper",
    "Stall",
    "Together",
    "TurnTaker",
    "Turning",
    "Waiters",
    "Wake",
    "Wakeable",
    "Watchdog",
]
