"""Where virtual becomes physical: before, beside or after the L1 cache."""

from __future__ import annotations

from gpusim.config.schema import GpuConfig
from gpusim.core.engine import Environment
from gpusim.core.mshr import FULL, MERGED
from gpusim.core.request import Kind, MemoryRequest, Sink, VirtualRequest
from gpusim.core.states import State
from gpusim.hardware.sm.load_store_unit import L1, FirstTlb, LoadStoreUnit, Owner, Replies
from gpusim.hardware.sm.warp import WarpAccess

_LOAD, _STORE = int(Kind.LOAD), int(Kind.STORE)
_CACHE, _INTERCONNECT = int(State.CACHE), int(State.INTERCONNECT)
_MSHR, _TLB = int(State.MSHR), int(State.TLB)


class PhysicalLoadStoreUnit(LoadStoreUnit):
    """TLB before, or in parallel with, a physically tagged L1 cache."""

    def __init__(
        self, env: Environment, sm: Owner, config: GpuConfig, tlb: FirstTlb, l1: L1, out: Sink,
        replies: Replies,
    ) -> None:  # fmt: skip
        super().__init__(env, sm, config, tlb, l1, out, replies)
        parallel = config.l1.translation == "parallel"
        self._latency = max(tlb.latency, l1.latency) if parallel else tlb.latency + l1.latency

    def _start(self, access: WarpAccess, now: int) -> bool:
        kind = access.kind
        if kind != _LOAD and not self._has_credit(kind):
            return False
        tlb = self.tlb
        if not tlb.claim():
            return self._pause(_TLB)  # there is a port in the next cycle
        index = access.next
        vline = access.lines[index]
        tag = access.asid_tag | vline >> self._page_lines_shift
        mapping = tlb.lookup(tag, access)
        if mapping is None:
            if tlb.refuses(tag, access.app):
                return self._stalled(tlb, _TLB)
            request = self._request(access, tag, now)
            request.path.append(self._translated)
            tlb.miss(request, 0)
        else:
            line = (mapping.delta << self._page_lines_shift) + vline
            latency = self._latency + self.array.extra_cycles
            if kind == _LOAD and self.l1.lookup(line, access.sectors[index], access.app):
                if self.on_request.listeners:
                    self.on_request(self._request(access, tag, now), access.issued, now + latency)
                if self.on_l1_hit.listeners:
                    self._tell_l1(self.on_l1_hit, access, line)
                access.next = index + 1
                if access.hit(now, now + latency):
                    self._done.send(access, latency)
                return True
            tlb.check(tag, mapping)
            request = self._request(access, tag, now)
            request.mapping = mapping
            request.address = line << self._line_shift
            if not self._leave_l1(request, line, latency):
                self._try_again(request, now)
        if kind != _LOAD:
            self._spend_credit(kind)
        access.next = index + 1
        return True

    def _proceed(self, request: MemoryRequest) -> bool:
        """A request that has been translated, or had to wait, meets the L1 cache (again)."""
        if request.mapping is None:
            return self._translate_again(request)
        line = request.address >> self._line_shift
        latency = self.l1.latency
        now = self.env._now
        if request.trail[-2] != _CACHE:
            request.trail += (_CACHE, now)
        if request.kind == _LOAD and self.l1.lookup(line, request.sectors, request.app):
            access = request.access
            assert isinstance(access, WarpAccess)
            self._tell_l1(self.on_l1_hit, access, line)
            if self.on_request.listeners:
                self.on_request(request, access.issued, now + latency)
            if access.hit(now, now + latency, request):
                self._done.send(access, latency)
            return True
        return self._leave_l1(request, line, latency)

    def _translate_again(self, request: MemoryRequest) -> bool:
        """The page went away while it was translated: ask again; False if it has to wait."""
        tlb, access = self.tlb, request.access
        assert access is not None
        if not tlb.claim():
            return self._pause(_TLB)
        mapping = tlb.lookup(request.tag, access)
        if mapping is not None:
            tlb.check(request.tag, mapping)
            request.mapping = mapping
            request.address = self._physical(mapping, request.vline)
            self._translated.send(request, tlb.latency + self.array.extra_cycles)
        elif tlb.refuses(request.tag, request.app):
            return self._stalled(tlb, _TLB)
        else:
            request.path.append(self._translated)
            tlb.miss(request, 0)
        return True

    def _leave_l1(self, request: MemoryRequest, line: int, latency: int) -> bool:
        """Send on a load that missed, a store or an atomic; False if it has to wait."""
        if self.out.full:
            return self._stalled(self.out, _INTERCONNECT)
        if request.kind == _LOAD:
            admission = self.l1.admit(request, line)
            if admission == FULL:
                return self._stalled(self.l1, _MSHR)
            assert request.access is not None
            self._tell_l1(self.on_l1_miss, request.access, line)
            if admission == MERGED:
                return True
        else:
            self.l1.pass_through(request, request.kind == _STORE)
        request.trail += (_INTERCONNECT, self.env._now + latency)
        self.out.send(request, latency)
        return True


class VirtualLoadStoreUnit(LoadStoreUnit):
    """A virtual L1 cache; the TLB is asked only for what leaves it (STAR §II)."""

    def _start(self, access: WarpAccess, now: int) -> bool:
        kind = access.kind
        if kind != _LOAD and not self._has_credit(kind):
            return False
        l1 = self.l1
        index = access.next
        vline = access.lines[index]
        tag = access.asid_tag | vline >> self._page_lines_shift
        if kind == _LOAD and l1.lookup(access.asid_tag | vline, access.sectors[index], access.app):
            until = now + l1.latency
            if self.on_request.listeners:
                self.on_request(self._request(access, tag, now), access.issued, until)
            if self.on_l1_hit.listeners:
                self._tell_l1(self.on_l1_hit, access, access.asid_tag | vline)
            access.next += 1
            if access.hit(now, until):
                self._done.send(access, l1.latency)
            return True
        request = self._request(access, tag, now)
        if kind == _LOAD:
            admission = l1.admit(request, access.asid_tag | vline)
            if admission == FULL:
                return self._stalled(l1, _MSHR)
            self._tell_l1(self.on_l1_miss, access, access.asid_tag | vline)
            if admission == MERGED:
                access.next += 1
                return True
        else:
            l1.pass_through(request, kind == _STORE)
        if not self._translate(request, l1.latency):
            self._try_again(request, now)
        self._spend_credit(kind)
        access.next += 1
        return True

    def _proceed(self, request: MemoryRequest) -> bool:
        return self._translate(request, 0) if request.mapping is None else self._send(request, 0)

    def _send(self, request: MemoryRequest, delay: int) -> bool:
        """Send a translated request to the L2 cache; False if the network is full."""
        if self.out.full:
            return self._stalled(self.out, _INTERCONNECT)
        request.trail += (_INTERCONNECT, self.env._now + delay)
        self.out.send(request, delay)
        return True

    def _translate(self, request: MemoryRequest, delay: int) -> bool:
        """Translate what leaves the L1 cache and send it on; False: try again."""
        tlb = self.tlb
        access = request.access
        assert access is not None
        if not tlb.claim():
            return self._pause(_TLB)
        mapping = tlb.lookup(request.tag, access)
        if mapping is not None:
            tlb.check(request.tag, mapping)
            request.mapping = mapping
            request.address = self._physical(mapping, request.vline)
            return self._send(request, delay + tlb.latency + self.array.extra_cycles)
        if tlb.refuses(request.tag, request.app):
            return self._stalled(tlb, _TLB)
        request.path.append(self._translated)
        tlb.miss(request, delay)
        return True


class UntranslatedLoadStoreUnit(VirtualLoadStoreUnit):
    """Nothing is translated on this side of a virtual L2 cache (VC §4)."""

    transaction = VirtualRequest

    def _translate(self, request: MemoryRequest, delay: int) -> bool:
        return self._send(request, delay)


LOAD_STORE_UNITS: dict[str, type[LoadStoreUnit]] = {
    "before": PhysicalLoadStoreUnit,
    "parallel": PhysicalLoadStoreUnit,
    "after": VirtualLoadStoreUnit,
    "after-l2": UntranslatedLoadStoreUnit,
}
