"""Calls by which a program maps and unmaps pieces of its arrays, as the host's driver does them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence

import attr

from gpusim.config.mapping_calls import MappingCallsConfig
from gpusim.config.schema import GpuConfig
from gpusim.config.shootdown import shootdown_parts
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop
from gpusim.core.errors import UserError
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.metrics import Metric, PerCycle, Total, declare_metrics
from gpusim.hardware.walk import NodeTable
from gpusim.machine.pages import Pages
from gpusim.machine.tenants import Tenant


@attr.s(auto_attribs=True, eq=False, repr=False)
class MappingCallCounters:
    """What calls of one application's host mapped and unmapped."""

    pieces_mapped: int = count("pieces of arrays that were mapped")
    pieces_unmapped: int = count("pieces that were unmapped")
    call_pages_mapped: int = count("smallest pages of these pieces")
    call_pages_unmapped: int = count("smallest pages of the pieces that were unmapped")
    call_pages_resident: int = count("smallest pages of such arrays with a frame now", falls=True)


@attr.s(auto_attribs=True, eq=False, repr=False)
class MappingDriverCounters:
    """How long the host's driver mapped and unmapped, for all applications together."""

    call_cycles: int = count("cycles in which the driver mapped or unmapped pieces", "cycles")


declare_metrics(
    MappingCallCounters,
    Metric("pieces_mapped", "1", "pieces of arrays mapped in mid-run", Total("pieces_mapped")),
    Metric("pieces_unmapped", "1", "pieces of arrays unmapped", Total("pieces_unmapped")),
)
declare_metrics(
    MappingDriverCounters,
    Metric(
        "mapping_call_use",
        "fraction",
        "time that the driver maps or unmaps pieces",
        PerCycle("call_cycles"),
    ),
)


class MappingCalls(Component):
    """The host's driver: maps and unmaps pieces for all applications, one after the other.

    A piece is mapped as a whole when the time of its call has passed.  What is unmapped is shot
    down in one cycle, and its call ends when that is acknowledged.  On a node pages go where
    placement puts them; where that depends on who asks, to the first GPU of the application.

    Args:
        env: the environment.
        config: the machine.
        pages: all pages.
        gpus: the first GPU of each application.
    """

    path = name = "mapping_calls"

    laws: Sequence[Law] = laws_of(
        [MappingCallCounters],
        Law(
            "call_pages_mapped",
            "call_pages_unmapped + call_pages_resident",
            "pages that calls mapped",
            "pages that calls unmapped, and those that are there",
        ),
    )

    def __init__(
        self, env: EventLoop, config: GpuConfig, pages: Pages, gpus: Sequence[int]
    ) -> None:
        times = config.mapping_calls or MappingCallsConfig()
        self._env = env
        self._pages = pages
        self._map = times.map.cycles(config.clock)
        self._unmap = times.unmap.cycles(config.clock)
        self._message, self._rest = shootdown_parts(config.shootdown, config.clock)
        self._free_at = 0
        self._waiting = 0
        self._gpus = gpus
        self._counters = [MappingCallCounters() for _ in gpus]
        self._whole = MappingDriverCounters()
        pages.table.on_map.append(self._mapped)
        pages.table.on_unmap.append(self._unmapped)

    def perform(self, app: int, call: MappingCall) -> Generator[int, None, None]:
        """Map or unmap the pieces of a call, which ends with the process that this is."""
        self._waiting += 1
        before = self._map if call.maps else self._unmap + self._message
        after = 0 if call.maps else self._rest
        for address in call.pieces:
            begin = max(self._free_at, self._env.now)
            self._free_at = begin + before + after
            if self._free_at - after > self._env.now:
                yield self._free_at - after - self._env.now
            self._change(app, address, call)
            if after:
                yield after
            self._whole.call_cycles += before + after
        self._waiting -= 1

    def at_once(self, app: int, call: MappingCall) -> None:
        """Map or unmap the pieces of a call in no time."""
        for address in call.pieces:
            self._change(app, address, call)

    def _change(self, app: int, address: int, call: MappingCall) -> None:
        if call.maps:
            self._map_piece(app, address, call.piece_bytes)
        else:
            self._unmap_piece(app, address, call)

    def _map_piece(self, app: int, address: int, size: int) -> None:
        """Give a piece frames; what an earlier run of its application has mapped keeps its own."""
        table, counters = self._pages.table, self._counters[app]
        counters.pieces_mapped += 1
        if isinstance(table, NodeTable):
            table.asking = self._gpus[app]
        first, end = address >> table.page_shift, address + size >> table.page_shift
        for vpn in range(first, end):
            if table.find(app << ASID_SHIFT | vpn) is None:
                counters.call_pages_mapped += table.map_new(app, vpn).mapping.pages

    def _unmap_piece(self, app: int, address: int, call: MappingCall) -> None:
        table, counters = self._pages.table, self._counters[app]
        counters.pieces_unmapped += 1
        vpn, end = address >> table.page_shift, address + call.piece_bytes >> table.page_shift
        while vpn < end:
            mapping = table.find(app << ASID_SHIFT | vpn)
            if mapping is None or not vpn == mapping.vpn <= mapping.vpn + mapping.pages <= end:
                raise UserError(
                    f"{call.name!r}: the piece at {address:#x} of {call.piece_bytes >> 10} KiB "
                    f"{'is not mapped' if mapping is None else f'is a part of {mapping}'}"
                )
            self._pages.unmap(mapping.tag)
            counters.call_pages_unmapped += mapping.pages
            vpn += mapping.pages

    def _mapped(self, mapping: Mapping) -> None:
        if self._pages.table.reserved.array_of(mapping.asid, mapping.vpn) is not None:
            self._counters[mapping.asid].call_pages_resident += mapping.pages

    def _unmapped(self, mapping: Mapping) -> None:
        if self._pages.table.reserved.array_of(mapping.asid, mapping.vpn) is not None:
            self._counters[mapping.asid].call_pages_resident -= mapping.pages

    def pieces(self) -> int:
        """How many have been mapped or unmapped."""
        return sum(one.pieces_mapped + one.pieces_unmapped for one in self._counters)

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog."""
        if self._waiting:
            yield f"{self.name}: {self._waiting} calls under way"

    def in_flight(self) -> int:
        """Calls under way."""
        return self._waiting

    def app_counters(self, app: int) -> Iterable[object]:
        return (self._counters[app],)

    def shared_counters(self) -> Iterable[object]:
        return (self._whole,)


def calls_of(
    env: EventLoop, config: GpuConfig, tenants: Sequence[Tenant], pages: Pages
) -> MappingCalls | None:
    """What maps pieces of arrays; None: no application has such an array.

    Raises:
        UserError: one has, and pages come on demand.
    """
    own = [
        (tenant.name, array.name)
        for tenant in tenants
        for array in tenant.application.buffers
        if array.piece
    ]
    if not own:
        return None
    if config.paging is not None:
        name, array = own[0]
        raise UserError(
            f"array {array!r} of {name!r} is mapped piece by piece by its program, and lies on the "
            "device: not with demand paging (table [paging])"
        )
    gpus = [tenant.sms[0] // config.sm.count for tenant in tenants]
    return MappingCalls(env, config, pages, gpus)
