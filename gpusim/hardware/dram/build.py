"""All DRAM channels of a machine."""

from __future__ import annotations

from bisect import bisect

from gpusim.config.choices import wrong_choices
from gpusim.config.dram import DramConfig
from gpusim.core.engine import EventLoop, Port
from gpusim.core.errors import UserError
from gpusim.core.interfaces import Route
from gpusim.core.request import MemoryRequest
from gpusim.files.units import Hertz
from gpusim.hardware.dram.controller import DramChannel
from gpusim.hardware.dram.hashed_mapping import mapping_of
from gpusim.hardware.dram.ideal import IdealDramChannel
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.timing import Timing
from gpusim.hardware.dram.use import ChannelUse

ONE_BURST_EACH = ChannelUse()


def build_dram(
    env: EventLoop,
    config: DramConfig,
    core_clock: Hertz,
    use: ChannelUse = ONE_BURST_EACH,
) -> tuple[list[DramChannel | IdealDramChannel], AddressMapping]:
    """Channels and the mapping that tells which of them, counted from 0, an address belongs to.

    Args:
        env: the environment.
        config: the DRAM table.
        core_clock: what the environment's cycles are.
        use: what the channels are asked for.

    Raises:
        UserError: an impossible table.
    """
    mapping = check_dram(config, use)
    make = IdealDramChannel if config.ideal else DramChannel
    return [
        make(env, use.first + index, config, mapping, core_clock, use)
        for index in range(config.channels)
    ], mapping


def check_dram(config: DramConfig, use: ChannelUse = ONE_BURST_EACH) -> AddressMapping:
    """The mapping of a DRAM table, if all of the table can be built.

    Raises:
        UserError: an impossible table.
    """
    mapping = mapping_of(config)
    size = use.request_bytes or config.burst
    if size % config.burst or size > mapping.contiguous_bytes:
        raise UserError(
            f"dram.mapping: {config.mapping!r} cuts requests of {size} bytes (a cache line): a "
            f"request is a multiple of a burst of {config.burst} bytes, and at most "
            f"{mapping.contiguous_bytes} bytes lie in one row of one channel; keep the lowest "
            f"column bits below 'channel' with 'column:n' as the last field"
        )
    _check_values(config)
    if not config.ideal:
        Timing.of(config)
    return mapping


class MappedRoute(Route):
    """To the channel that a mapping names.

    Args:
        mapping: of all channels.
        ports: of the channels.
    """

    def __init__(self, mapping: AddressMapping, ports: list[Port[MemoryRequest]]) -> None:
        self._mapping = mapping
        self._ports = ports

    def port(self, address: int) -> Port[MemoryRequest]:
        return self._ports[self._mapping.channel(address)]


class RoutesByPart(Route):
    """To a channel of the part of memory that an address lies in.

    Args:
        bases: first addresses of the parts, in order.
        routes: within each part.
    """

    def __init__(self, bases: list[int], routes: list[Route]) -> None:
        self._bases = bases
        self._routes = routes

    def port(self, address: int) -> Port[MemoryRequest]:
        return self._routes[bisect(self._bases, address) - 1].port(address)


def _check_values(config: DramConfig) -> None:
    for place, value, allowed in wrong_choices(config, ("dram",)):
        raise UserError(f"{'.'.join(place)}: {value!r}{allowed}")
    for key in ("read_queue", "write_queue", "activate_clocks"):
        if getattr(config, key) < 1:
            raise UserError(f"dram.{key}: {getattr(config, key)}; allowed: 1 or more")
    if not 0 < config.drain_low <= config.drain_high < 1:
        raise UserError(
            f"dram.drain_low, dram.drain_high: {config.drain_low}, {config.drain_high}; allowed: "
            f"0 < drain_low <= drain_high < 1"
        )
