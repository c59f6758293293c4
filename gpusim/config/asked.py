"""What a machine asks of the programs that it runs."""

from __future__ import annotations

from collections.abc import Iterable

from gpusim.config.schema import GpuConfig
from gpusim.config.sm import SCOREBOARD, SmConfig
from gpusim.core.warp_program import ARITHMETIC_OPS, SCOREBOARD_OPS, SIDE_OPS, Asked


def asked_of(config: GpuConfig) -> Asked:
    """What the SMs of a machine ask of programs, but for places in the code."""
    return asked_by(config.sm, [SIDE_OPS[name] for name in config.side_caches])


def asked_by(sm: SmConfig, sides: Iterable[int], *, places: bool = False) -> Asked:
    """What an SM asks of programs.

    Args:
        sm: its configuration.
        sides: the operations that go to its side caches.
        places: whether it asks for places in the code.
    """
    kinds = {int(op) for op in sides}
    if sm.shared_loads == SCOREBOARD:
        kinds.update(map(int, SCOREBOARD_OPS))
    units = () if sm.arithmetic is None else sm.arithmetic.units
    if units:
        kinds.update(map(int, ARITHMETIC_OPS))
    latency = tuple(unit.latency for unit in units)
    interval = tuple(unit.interval for unit in units)
    return Asked(frozenset(kinds), latency, interval, places)
