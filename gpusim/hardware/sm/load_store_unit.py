"""The load/store unit of an SM: transactions through the first TLB and the L1 cache.

`LoadStoreUnit` queues memory instructions and starts their transactions.  It holds one
**translation point**, which takes a transaction through the TLB and the L1 cache: `BeforeL1`
translates before, or beside, a physical L1 cache; `AfterL1` translates what leaves a virtual one;
`AfterL2` translates nothing on this side of a virtual L2 cache.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterator

from gpusim.config.schema import GpuConfig
from gpusim.core.engine import NEVER, Environment, Port, Probe
from gpusim.core.mapping import Mapping
from gpusim.core.mshr import FULL, MERGED
from gpusim.core.request import Kind, MemoryRequest, Requester, Sink, VirtualRequest
from gpusim.core.states import State
from gpusim.core.warp_program import Op
from gpusim.hardware.sm.history import RecordedStall
from gpusim.hardware.sm.neighbours import L1, FirstTlb, Owner, Replies
from gpusim.hardware.sm.warp import WarpAccess

_LSU, _CACHE, _INTERCONNECT = int(State.LSU), int(State.CACHE), int(State.INTERCONNECT)
_CREDIT, _MSHR, _TLB = int(State.CREDIT), int(State.MSHR), int(State.TLB)
_LOAD, _ATOMIC = int(Kind.LOAD), int(Kind.ATOMIC)
_STORE, _REDUCE = int(Kind.STORE), int(Kind.REDUCE)
_POSTED = (_STORE, _REDUCE)

# Kinds travel as plain ints: to compare an enum's member with an int costs several times as much.
KIND_OF_OP: dict[int, int] = {
    int(Op.LOAD): _LOAD,
    int(Op.STORE): _STORE,
    int(Op.ATOMIC): _ATOMIC,
    int(Op.REDUCE): _REDUCE,
}


class LoadStoreUnit:
    """Starts `lsu_width` transactions a cycle, in order; a stalled one stalls those behind it.

    Requests that have to be tried again go before new transactions.  Posted transactions (stores
    and reductions) need a store credit, which comes back with their acknowledgement.

    Attributes:
        on_request: announces a finished transaction, the cycle in which it was issued, and the
            cycle of its answer.
        on_l1_hit: announces a load that hits the L1 cache: SM, application, warp slot, line, cycle.
        on_l1_miss: likewise one that misses it, merged ones included.
        full: whether the SM has to wait before it issues another memory instruction.
        done: instructions whose last transaction hit, when they have their data.
        stall: what the unit waits for before it goes on.
        history: what it was stalled by while others waited in its queue.
    """

    def __init__(
        self, env: Environment, sm: Owner, config: GpuConfig, tlb: FirstTlb, l1: L1, out: Sink,
        replies: Replies,
    ) -> None:  # fmt: skip
        self.env = env
        self.index = sm.index
        self.name = f"sm[{sm.index}].lsu"
        self.l1 = l1
        self.depth = config.sm.lsu_queue
        self.full = False
        self.credits = config.sm.store_credits
        self.on_request: Probe[[MemoryRequest, int, int]] = Probe()
        self.on_l1_hit: Probe[[int, int, int, int, int]] = Probe()
        self.on_l1_miss: Probe[[int, int, int, int, int]] = Probe()
        self.done: Port[WarpAccess] = Port(env, f"{self.name}.done")
        self._sm = sm
        self._replies = replies
        self._credits = config.sm.store_credits
        self._width = config.sm.lsu_width
        self._accesses: deque[WarpAccess] = deque()
        self.process = env.start(self._run())
        self._wake = self.process.wake
        self.stall = RecordedStall(env, self._wake, _LSU)
        self.history = self.stall.history
        self._point = TRANSLATION_POINTS[config.l1.translation](self, config, tlb, l1, out)
        self._start, self._proceed = self._point.start, self._point.proceed
        self._retry = self._point.retry
        for port in (self._point.translated, self.done, replies):
            port.connect(self.process)

    def accept(self, access: WarpAccess) -> None:
        """Queue an instruction; it is seen in the next cycle.  The SM has asked `full`."""
        self._accesses.append(access)
        self.full = len(self._accesses) >= self.depth
        due = self.env._now + 1
        if due < self._wake.due:
            self._wake.at(due)

    def _run(self) -> Generator[int | None, None, None]:
        done, replies, stall = self.done, self._replies, self.stall
        point, translated = self._point, self._point.translated
        retry, accesses = self._retry, self._accesses
        while True:
            now = self.env._now
            while done.queue and (finished := done.take()) is not None:
                self._sm.complete(finished)
            while replies.ready <= now:
                reply = replies.take()
                if reply.kind == _LOAD:
                    self.l1.fill(reply)
                else:
                    self._acknowledge(reply)
            while translated.queue and (request := translated.take()) is not None:
                if request.mapping is not None:
                    request.address = point.physical(request.mapping, request.vline)
                self.send_again(request)
            upcoming = replies.ready
            if done.queue and done.queue[0][0] < upcoming:
                upcoming = done.queue[0][0]
            if (retry or accesses) and not stall.active and self._work(now):
                upcoming = now + 1
            yield None if upcoming == NEVER else upcoming - now

    def _work(self, now: int) -> bool:
        """Start what can be started in this cycle; True if there may be more in the next."""
        stall, retry, accesses = self.stall, self._retry, self._accesses
        if stall.noted:
            stall.over(now)
        for _ in range(self._width):
            if retry:
                if not self._proceed(retry[0], now):
                    return not stall.active
                retry.popleft()
            elif accesses:
                access = accesses[0]
                if access.issued == now:
                    return True
                kind = access.kind
                posted = kind != _LOAD and kind in _POSTED
                if posted and not self.credits:
                    stall.active = True
                    return stall.note(_CREDIT)
                if not self._start(access, now):
                    return not stall.active
                if posted:
                    self.credits -= 1
                access.next += 1
                if access.next == len(access.lines):
                    accesses.popleft()
                    self.full = False
                    self._sm.lsu_has_room()
        return bool(retry or accesses)

    def send_again(self, request: MemoryRequest) -> None:
        """Go on with a request that has its translation, or whose answer was of no use."""
        self._point.postpone(request, self.env._now)
        self.stall.active = False

    def _acknowledge(self, request: MemoryRequest) -> None:
        """A store or an atomic comes back from the L2 cache."""
        if request.kind != _ATOMIC:
            self.credits += 1
            self.stall.active = False
        assert request.access is not None
        request.access.answered(request)

    def answered(self, access: WarpAccess, request: MemoryRequest) -> None:
        """A transaction of `access` that went out is answered in this cycle."""
        now = self.env._now
        if self.on_request.listeners:
            self.on_request(request, access.issued, now)
        access.remaining -= 1
        if access.remaining == 0:
            if access.hit_until > now:
                self.done.send(access, access.hit_until - now)
            else:
                access.cause = request
                self._sm.complete(access)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Memory instructions and transactions that are not finished here."""
        return (
            len(self._accesses) + len(self._retry) + len(self._point.translated)
            + len(self.done) + self._credits - self.credits
        )  # fmt: skip

    def waiting(self) -> Iterator[str]:
        """Who waits for whom, for the watchdog."""
        if self._accesses or self._retry:
            yield (
                f"{self.name}: {len(self._accesses)} instructions queue, {len(self._retry)} "
                f"requests try again, {self.credits} of {self._credits} store credits are free"
            )


class TranslationPoint(ABC):
    """Where virtual becomes physical; takes transactions through the first TLB and the L1 cache.

    Args:
        unit: whose transactions they are: it is told what they wait for, and which ones hit.

    Attributes:
        transaction: class of the requests.
        translated: requests that come back from a TLB miss.
        retry: requests to go on with: translated ones, and those that found no MSHR, port or room.
    """

    transaction: type[MemoryRequest] = MemoryRequest

    def __init__(
        self, unit: LoadStoreUnit, config: GpuConfig, tlb: FirstTlb, l1: L1, out: Sink
    ) -> None:
        env = self.env = unit.env
        self.translated: Port[MemoryRequest] = Port(env, f"{unit.name}.translated")
        self.retry: deque[MemoryRequest] = deque()
        self._sm = unit.index
        self._stall = unit.stall
        self._history = unit.history
        self._done = unit.done
        self._on_request = unit.on_request
        self._on_l1_hit = unit.on_l1_hit
        self._on_l1_miss = unit.on_l1_miss
        self._tlb = tlb
        self._array = tlb.array
        self._l1 = l1
        self._out = out
        self._line_shift = config.l1.line.bit_length() - 1
        self._page_lines_shift = config.memory.page.bit_length() - 1 - self._line_shift

    @abstractmethod
    def start(self, access: WarpAccess, now: int) -> bool:
        """Start the next transaction of `access`; False if it has to wait.

        The stall then tells whether it waits for the next cycle, or until something is free.
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
        return (mapping.delta << self._page_lines_shift) + vline << self._line_shift

    def _request(self, access: WarpAccess, tag: int, now: int) -> MemoryRequest:
        """A memory request for the next transaction of `access`."""
        index = access.next
        request = self.transaction(
            access.kind, access.app, access.asid, self._sm, tag, -1, access.lines[index],
            access.sectors[index], 0, access, [-1, access.issued, _CACHE, now],
        )  # fmt: skip
        request.links = [self._history]
        return request

    def _hit(
        self, access: WarpAccess, tag: int, line: int, now: int, latency: int,
        request: MemoryRequest | None = None,
    ) -> bool:  # fmt: skip
        """The next transaction of `access`, or a request of it, has its data after `latency`."""
        until = now + latency
        if self._on_l1_hit.listeners:
            self._on_l1_hit(self._sm, access.app, access.warp_slot, line, now)
        if self._on_request.listeners:
            told = self._request(access, tag, now) if request is None else request
            self._on_request(told, access.issued, until)
        access.cause = request
        access.hit_at = now
        access.hit_until = until
        access.remaining -= 1
        if not access.remaining:
            self._done.send(access, latency)
        return True

    def _missed(self, requester: Requester | None, line: int) -> None:
        """A load has missed the L1 cache."""
        if self._on_l1_miss.listeners and requester is not None:
            now = self.env._now
            self._on_l1_miss(self._sm, requester.app, requester.warp_slot, line, now)

    def _send(self, request: MemoryRequest, delay: int) -> bool:
        """Send a request to the L2 cache; there must be room in the network."""
        request.trail += (_INTERCONNECT, self.env._now + delay)
        self._out.send(request, delay)
        return True


class BeforeL1(TranslationPoint):
    """TLB before, or in parallel with, a physically tagged L1 cache."""

    def __init__(
        self, unit: LoadStoreUnit, config: GpuConfig, tlb: FirstTlb, l1: L1, out: Sink
    ) -> None:
        super().__init__(unit, config, tlb, l1, out)
        parallel = config.l1.translation == "parallel"
        self._latency = max(tlb.latency, l1.latency) if parallel else tlb.latency + l1.latency

    def start(self, access: WarpAccess, now: int) -> bool:
        tlb = self._tlb
        if not tlb.claim():
            return self._stall.note(_TLB)  # there is a port in the next cycle
        index = access.next
        vline = access.lines[index]
        tag = access.asid_tag | vline >> self._page_lines_shift
        mapping = tlb.lookup(tag, access)
        if mapping is None:
            if tlb.refuses(tag, access.app):
                return self._stall.until_free(tlb, _TLB)
            request = self._request(access, tag, now)
            request.path.append(self.translated)
            tlb.miss(request, 0)
            return True
        line = (mapping.delta << self._page_lines_shift) + vline
        latency = self._latency + self._array.extra_cycles
        if access.kind == _LOAD and self._l1.lookup(line, access.sectors[index], access.app):
            return self._hit(access, tag, line, now, latency)
        tlb.check(tag, mapping)
        request = self._request(access, tag, now)
        request.mapping = mapping
        request.address = line << self._line_shift
        if not self._leave_l1(request, line, latency):
            self.postpone(request, now)
        return True

    def proceed(self, request: MemoryRequest, now: int) -> bool:
        """A request that has been translated, or had to wait, meets the L1 cache (again)."""
        if request.mapping is None:
            return self._translate_again(request)
        line = request.address >> self._line_shift
        latency = self._l1.latency
        if request.trail[-2] != _CACHE:
            request.trail += (_CACHE, now)
        if request.kind == _LOAD and self._l1.lookup(line, request.sectors, request.app):
            access = request.access
            assert isinstance(access, WarpAccess)
            return self._hit(access, request.tag, line, now, latency, request)
        return self._leave_l1(request, line, latency)

    def _translate_again(self, request: MemoryRequest) -> bool:
        """Its page went away while it was translated: ask again; False if it has to wait."""
        tlb, access = self._tlb, request.access
        assert access is not None
        if not tlb.claim():
            return self._stall.note(_TLB)
        mapping = tlb.lookup(request.tag, access)
        if mapping is not None:
            tlb.check(request.tag, mapping)
            request.mapping = mapping
            self.translated.send(request, tlb.latency + self._array.extra_cycles)
            return True
        if tlb.refuses(request.tag, request.app):
            return self._stall.until_free(tlb, _TLB)
        request.path.append(self.translated)
        tlb.miss(request, 0)
        return True

    def _leave_l1(self, request: MemoryRequest, line: int, latency: int) -> bool:
        """Send on a load that missed, a store or an atomic; False if it has to wait."""
        if self._out.full:
            return self._stall.until_free(self._out, _INTERCONNECT)
        if request.kind == _LOAD:
            admission = self._l1.admit(request, line)
            if admission == FULL:
                return self._stall.until_free(self._l1, _MSHR)
            self._missed(request.access, line)
            if admission == MERGED:
                return True
        else:
            self._l1.pass_through(request, request.kind == _STORE)
        return self._send(request, latency)


class AfterL1(TranslationPoint):
    """A virtual L1 cache; the TLB is asked only for what leaves it (STAR §II)."""

    def start(self, access: WarpAccess, now: int) -> bool:
        l1, kind = self._l1, access.kind
        index = access.next
        vline = access.lines[index]
        line = access.asid_tag | vline
        tag = access.asid_tag | vline >> self._page_lines_shift
        if kind == _LOAD and l1.lookup(line, access.sectors[index], access.app):
            return self._hit(access, tag, line, now, l1.latency)
        request = self._request(access, tag, now)
        if kind == _LOAD:
            admission = l1.admit(request, line)
            if admission == FULL:
                return self._stall.until_free(l1, _MSHR)
            self._missed(access, line)
            if admission == MERGED:
                return True
        else:
            l1.pass_through(request, kind == _STORE)
        if not self._translate(request, l1.latency):
            self.postpone(request, now)
        return True

    def proceed(self, request: MemoryRequest, now: int) -> bool:
        if request.mapping is None:
            return self._translate(request, 0)
        return self._leave(request, 0)

    def _translate(self, request: MemoryRequest, delay: int) -> bool:
        """Translate what leaves the L1 cache and send it on; False if it has to wait."""
        tlb = self._tlb
        access = request.access
        assert access is not None
        if not tlb.claim():
            return self._stall.note(_TLB)
        mapping = tlb.lookup(request.tag, access)
        if mapping is not None:
            tlb.check(request.tag, mapping)
            request.mapping = mapping
            request.address = self.physical(mapping, request.vline)
            return self._leave(request, delay + tlb.latency + self._array.extra_cycles)
        if tlb.refuses(request.tag, request.app):
            return self._stall.until_free(tlb, _TLB)
        request.path.append(self.translated)
        tlb.miss(request, delay)
        return True

    def _leave(self, request: MemoryRequest, delay: int) -> bool:
        """Send on a request that needs no translation (any more); False if it has to wait."""
        if self._out.full:
            return self._stall.until_free(self._out, _INTERCONNECT)
        return self._send(request, delay)


class AfterL2(AfterL1):
    """Nothing is translated on this side of a virtual L2 cache (VC §4)."""

    transaction = VirtualRequest

    def _translate(self, request: MemoryRequest, delay: int) -> bool:
        return self._leave(request, delay)


TRANSLATION_POINTS: dict[str, type[TranslationPoint]] = {
    "before": BeforeL1,
    "parallel": BeforeL1,
    "after": AfterL1,
    "after-l2": AfterL2,
}
