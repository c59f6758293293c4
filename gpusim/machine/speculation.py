"""Wires speculative fetches between an SM's first TLB and its way to the L2 cache."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.config.schema import GpuConfig
from gpusim.config.speculation import SpeculationConfig
from gpusim.core.engine import Environment, Sink
from gpusim.core.registry import Slot, make_policy
from gpusim.core.structures import bits_for
from gpusim.hardware.cache import L1Cache
from gpusim.hardware.sm.speculation import SpeculationSite, SpeculativeFetches
from gpusim.hardware.tlb import TlbLevel


class Speculation:
    """Lets the loads of SMs fetch at guessed frames.

    Args:
        env: the environment.
        config: the machine.
        speculation: of the machine.
        apps: applications that share it.
        has_frame: whether an address space's memory has a frame.
    """

    def __init__(
        self,
        env: Environment,
        config: GpuConfig,
        speculation: SpeculationConfig,
        apps: int,
        has_frame: Callable[[int, int], bool],
    ) -> None:
        self._env = env
        self._config = speculation
        self._apps = apps
        self._line = bits_for(config.l1.line)
        self._page = bits_for(config.memory.page)
        self._has_frame = has_frame

    def of(self, tlb: TlbLevel, l1: L1Cache, out: Sink) -> SpeculativeFetches:
        """The unit of an SM between these; its `way` takes the place of `out`."""
        site = SpeculationSite(
            self._env,
            l1.instance,
            self._apps,
            self._config.entries,
            tlb.latency,
            self._line,
            self._page - self._line,
            self._has_frame,
        )
        unit = SpeculativeFetches(site, make_policy(Slot.FRAME_GUESS, self._config.guess), l1, out)
        tlb.on_request_miss.listen(unit.missed)
        return unit
