"""Translation points: a transaction through the first TLB and the L1 cache, in either order.

`BeforeL1` translates before, or beside, a physical L1 cache; `AfterL1` translates what leaves a
virtual one; `AfterL2` translates nothing on this side of a virtual L2 cache.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.config.schema import GpuConfig
from gpusim.core.engine import Port, Sink
from gpusim.core.interfaces import FirstCache, FirstTlb
from gpusim.core.mapping import Mapping
from gpusim.core.mshr import FULL, MERGED
from gpusim.core.request import Kind, MemoryRequest, Requester, VirtualRequest
from gpusim.core.states import State
from gpusim.core.unboxed import Fifo, four
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.hardware.sm.lsu_interfaces import StartingUnit
from gpusim.hardware.sm.warp import WarpAccess

_CACHE: Final = int(State.CACHE)
_INTERCONNECT: Final = int(State.INTERCONNECT)
_MSHR: Final = int(State.MSHR)
_TLB: Final = int(State.TLB)
_LOAD: Final = int(Kind.LOAD)
_STORE: Final = int(Kind.STORE)
_STARTED: Final = 3
"""Where the trail of a request has the cycle in which it first met the TLB."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TranslationPoint:
    """Where virtual becomes physical; takes transactions through the first TLB and the L1 cache.

    Args:
        unit: the load/store unit or side unit that starts them; called when they wait, or hit.

    Attributes:
        virtual: whether the L2 cache is virtual, too, and its requests carry names.
        virtual_l1: whether the L1 cache is.
        translated: requests that come back from a TLB miss.
        retry: requests to go on with: translated ones, and those that found no MSHR, port or room.
        tlb, l1: the first TLB, and the L1 cache.
        line_shift, page_lines_shift: bytes of a line of the L1 cache, and such lines of a page, as
            shifts.
    """

    virtual: bool = False
    virtual_l1: bool = False

    def __init__(
        self, unit: StartingUnit, config: GpuConfig, tlb: FirstTlb, l1: FirstCache, out: Sink
    ) -> None:
        env = self.env = unit.env
        self.translated: Port[MemoryRequest] = Port(env, f"{unit.name}.translated")
        self.retry: Fifo[MemoryRequest] = Fifo()
        self._sm = unit.index
        self._stall = unit.stall
        self._history = unit.stall.history
        self._done = unit.done
        self._on_request = unit.on_request
        self._on_l1_hit = unit.on_l1_hit
        self._on_l1_miss = unit.on_l1_miss
        self.tlb = tlb
        self.l1 = l1
        self._out = out
        self.line_shift = config.l1.line.bit_length() - 1
        self._parts_shift = config.l2.line.bit_length() - 1 - self.line_shift
        self._line_sectors = config.l1.line // SECTOR_BYTES
        self.page_lines_shift = config.memory.page.bit_length() - 1 - self.line_shift

    @abstractmethod
    def start(self, access: WarpAccess, now: int) -> bool:
        """Start the next transaction of `access`; False if it has to wait.

        The stall then says whether it waits for the next cycle, or until something is free.
        """

    @abstractmethod
    def proceed(self, request: MemoryRequest, now: int) -> bool:
        """Go on with a request that was postponed; False if it has to wait, as in `start`."""

    def postpone(self, request: MemoryRequest, now: int) -> None:
        """`request` has started, but waits from now on."""
        request.follow(self._history, now)
        self.retry.append(request)

    def physical(self, mapping: Mapping, vline: int) -> int:
        """Physical byte address of a line of a page."""
        return (mapping.delta << self.page_lines_shift) + vline << self.line_shift

    def _request(self, access: WarpAccess, tag: int, now: int) -> MemoryRequest:
        """A memory request for the next transaction of `access`."""
        index = access.next
        line, sectors = access.lines[index], access.sectors[index]
        trail = four(-1, access.issued, _CACHE, now)
        request: MemoryRequest
        if self.virtual:
            named = request = VirtualRequest(
                access.kind,
                access.app,
                access.asid,
                self._sm,
                tag,
                -1,
                line,
                sectors,
                0,
                access,
                trail,
            )
            if self._parts_shift:
                named.lies_in(self._parts_shift, self._line_sectors)
        else:
            request = MemoryRequest(
                access.kind,
                access.app,
                access.asid,
                self._sm,
                tag,
                -1,
                line,
                sectors,
                0,
                access,
                trail,
            )
        request.origin = self._history
        return request

    def _hit(
        self,
        access: WarpAccess,
        tag: int,
        line: int,
        now: int,
        latency: int,
        request: MemoryRequest | None = None,
    ) -> bool:
        """The next transaction of `access`, or a request of it, has its data after `latency`."""
        until = now + latency
        if self._on_l1_hit.listeners:
            self._on_l1_hit(self._sm, access.app, access.warp_slot, line, now)
        if self._on_request.listeners:
            sent = self._request(access, tag, now) if request is None else request
            self._on_request(sent, access.issued, until)
        access.cause = request
        access.hit_at = now
        access.hit_until = until
        access.remaining -= 1
        if not access.remaining:
            self._done.send(access, latency)
        return True

    def _translate(self, request: MemoryRequest, delay: int) -> bool:
        """Ask the first TLB for the page of a request; False if it has to wait.

        Args:
            request: its answer comes to `_answered` if the TLB has it, else to `translated`.
            delay: cycles that it takes before the lookup.
        """
        tlb, access = self.tlb, request.access
        assert access is not None
        if not tlb.claim():
            return self._no_port()
        mapping = tlb.lookup(request.tag, access)
        if mapping is not None:
            tlb.check(request.tag, mapping)
            request.mapping = mapping
            return self._answered(request, mapping, delay + tlb.latency + tlb.extra_cycles)
        if tlb.refuses(request.tag, access):
            return self._stall.until_free(tlb, _TLB)
        request.return_to(self.translated)
        tlb.miss(request, delay)
        return True

    def _no_port(self) -> bool:
        """The first TLB has a port in the next cycle, or when a miss is over; False."""
        if self.tlb.blocked():
            return self._stall.until_free(self.tlb, _TLB)
        return self._stall.note(_TLB)

    @abstractmethod
    def _answered(self, request: MemoryRequest, mapping: Mapping, delay: int) -> bool:
        """The TLB had the page of a request, after `delay`; False if it has to wait."""

    def _pass(self, request: MemoryRequest) -> None:
        """A store, an atomic or a coherent load passes the L1 cache."""
        if request.kind == _LOAD:
            self.l1.pass_by(request)
        else:
            self.l1.pass_through(request, request.kind == _STORE)

    def _missed(self, requester: Requester | None, line: int) -> None:
        """Tell listeners that a load has missed the L1 cache."""
        if requester is not None:
            now = self.env._now
            self._on_l1_miss(self._sm, requester.app, requester.warp_slot, line, now)

    def _send(self, request: MemoryRequest, delay: int) -> bool:
        """Send a request to the L2 cache; there must be room in the network."""
        request.trail.append(_INTERCONNECT)
        request.trail.append(self.env._now + delay)
        self._out.send(request, delay)
        return True


class BeforeL1(TranslationPoint):
    """TLB before, or in parallel with, a physically tagged L1 cache.

    What has missed the TLB asks the L1 cache when it has its translation: of an access that began
    with the TLB's (``"virtually-indexed"``), for what is left of it, and at least for the cycle in
    which tags are compared; else for all of it anew.
    """

    def __init__(
        self, unit: StartingUnit, config: GpuConfig, tlb: FirstTlb, l1: FirstCache, out: Sink
    ) -> None:
        super().__init__(unit, config, tlb, l1, out)
        before = config.l1.translation == "before"
        self._latency = tlb.latency + l1.latency if before else max(tlb.latency, l1.latency)
        self._goes_on = config.l1.translation == "virtually-indexed"

    def start(self, access: WarpAccess, now: int) -> bool:
        tlb = self.tlb
        if not tlb.claim():
            return self._no_port()
        index = access.next
        vline = access.lines[index]
        tag = access.asid_tag | vline >> self.page_lines_shift
        mapping = tlb.lookup(tag, access)
        if mapping is None:
            if tlb.refuses(tag, access):
                return self._stall.until_free(tlb, _TLB)
            request = self._request(access, tag, now)
            request.return_to(self.translated)
            tlb.miss(request, 0)
            return True
        line = (mapping.delta << self.page_lines_shift) + vline
        latency = self._latency + self.tlb.extra_cycles
        looks = access.kind == _LOAD and not access.coherent
        if looks and self.l1.lookup(line, access.sectors[index], access.app):
            return self._hit(access, tag, line, now, latency)
        tlb.check(tag, mapping)
        request = self._request(access, tag, now)
        request.mapping = mapping
        request.address = line << self.line_shift
        if not self._leave_l1(request, line, latency, looks):
            self.postpone(request, now)
        return True

    def proceed(self, request: MemoryRequest, now: int) -> bool:
        """A request that has been translated, or had to wait, meets the L1 cache (again)."""
        if request.mapping is None:  # its page went away while it was translated: ask again
            return self._translate(request, 0)
        line = request.address >> self.line_shift
        latency = self.l1.latency
        if self._goes_on:
            latency = max(latency - (now - request.trail[_STARTED]), 1)
        if request.trail[-2] != _CACHE:
            request.trail.append(_CACHE)
            request.trail.append(now)
        access = request.access
        looks = request.kind == _LOAD and not (access is not None and access.coherent)
        if looks and self.l1.lookup(line, request.sectors, request.app):
            assert isinstance(access, WarpAccess)
            return self._hit(access, request.tag, line, now, latency, request)
        return self._leave_l1(request, line, latency, looks)

    def _answered(self, request: MemoryRequest, mapping: Mapping, delay: int) -> bool:
        self.translated.send(request, delay)
        return True

    def _leave_l1(self, request: MemoryRequest, line: int, latency: int, looks: bool) -> bool:
        """Send on a load that `looks` and missed, or another one; False if it has to wait."""
        if self._out.full:
            return self._stall.until_free(self._out, _INTERCONNECT)
        if looks:
            admission = self.l1.admit(request, line)
            if admission == FULL:
                return self._stall.until_free(self.l1, _MSHR)
            if self._on_l1_miss.listeners:
                self._missed(request.access, line)
            if admission == MERGED:
                return True
        else:
            self._pass(request)
        return self._send(request, latency)


@mypyc_attr(allow_interpreted_subclasses=True)
class AfterL1(TranslationPoint):
    """A virtual L1 cache; the TLB is asked only for what leaves it (STAR §II)."""

    virtual_l1 = True

    def start(self, access: WarpAccess, now: int) -> bool:
        l1 = self.l1
        index = access.next
        vline = access.lines[index]
        line = access.asid_tag | vline
        tag = access.asid_tag | vline >> self.page_lines_shift
        looks = access.kind == _LOAD and not access.coherent
        if looks and l1.lookup(line, access.sectors[index], access.app):
            return self._hit(access, tag, line, now, l1.latency)
        request = self._request(access, tag, now)
        if looks:
            admission = l1.admit(request, line)
            if admission == FULL:
                return self._stall.until_free(l1, _MSHR)
            if self._on_l1_miss.listeners:
                self._missed(access, line)
            if admission == MERGED:
                return True
        else:
            self._pass(request)
        if not self._translate(request, l1.latency):
            self.postpone(request, now)
        return True

    def proceed(self, request: MemoryRequest, now: int) -> bool:
        if request.mapping is None:
            return self._translate(request, 0)
        return self._leave(request, 0)

    def _answered(self, request: MemoryRequest, mapping: Mapping, delay: int) -> bool:
        request.address = self.physical(mapping, request.vline)
        return self._leave(request, delay)

    def _leave(self, request: MemoryRequest, delay: int) -> bool:
        """Send on a request that needs no translation (any more); False if it has to wait."""
        if self._out.full:
            return self._stall.until_free(self._out, _INTERCONNECT)
        return self._send(request, delay)


@mypyc_attr(allow_interpreted_subclasses=True)
class AfterL2(AfterL1):
    """Nothing is translated on this side of a virtual L2 cache (VC §4)."""

    virtual = True

    def _translate(self, request: MemoryRequest, delay: int) -> bool:
        return self._leave(request, delay)


TRANSLATION_POINTS: dict[str, type[TranslationPoint]] = {
    "before": BeforeL1,
    "parallel": BeforeL1,
    "virtually-indexed": BeforeL1,
    "after": AfterL1,
    "after-l2": AfterL2,
}
