"""Wires the warps of SMs that execute page walks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpusim.config.sm import SmConfig
from gpusim.config.translation import WarpWalksConfig
from gpusim.core.engine import Environment
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.sm.walk_warp import WalkWarp
from gpusim.hardware.walk import WarpWalkers
from gpusim.machine.memory_system import MemorySystem


def walk_warps(
    env: Environment,
    config: SmConfig,
    warps: WarpWalksConfig,
    sms: Sequence[Sm],
    system_of: Mapping[int, MemorySystem],
) -> Iterator[WalkWarp]:
    """Let a warp of each SM execute walks of its memory system, at the first issue port."""
    cycles = -(-config.warp_size // config.simd_lanes)
    for sm in sms:
        port = sm.issue_ports[0]
        warp = WalkWarp(env, sm.index, port, warps.lanes, config.max_warps, cycles)
        walkers = system_of[sm.index].walkers
        assert isinstance(walkers, WarpWalkers)
        walkers.executors[sm.index] = warp
        yield warp
