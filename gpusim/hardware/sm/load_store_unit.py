"""The load/store unit of an SM: transactions through the first TLB and the L1 cache.

Two arrangements share everything but the order of the two lookups
(`gpusim.hardware.sm.translation`): translation before, or beside, a physical L1
cache; and a virtual L1 cache before translation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterator
from typing import Protocol

from gpusim.config.schema import GpuConfig
from gpusim.core.engine import NEVER, Environment, Port, Probe, Process, Stall, Wakeable
from gpusim.core.mapping import Mapping
from gpusim.core.mshr import Admission
from gpusim.core.request import Kind, MemoryRequest, Requester, Sink
from gpusim.core.states import State
from gpusim.core.warp_program import Op
from gpusim.hardware.sm.history import History
from gpusim.hardware.sm.warp import WarpAccess

_LSU, _CACHE = int(State.LSU), int(State.CACHE)
_CREDIT = int(State.CREDIT)
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


class Owner(Protocol):
    """What the unit tells its SM."""

    index: int

    def complete(self, access: WarpAccess) -> None:
        """All transactions of an instruction are answered."""

    def lsu_has_room(self) -> None:
        """An instruction left the queue."""


class _Freeable(Protocol):
    def when_free(self, sender: Wakeable) -> None: ...


class _ExtraCycles(Protocol):
    extra_cycles: int


class FirstTlb(Protocol):
    """What the unit needs of the first TLB level (see `gpusim.hardware.tlb.TlbLevel`)."""

    latency: int

    @property
    def array(self) -> _ExtraCycles:
        """The array, which tells what the last lookup took beyond the latency."""

    def claim(self) -> bool:
        """Take a port for this cycle."""

    def lookup(self, tag: int, requester: Requester) -> Mapping | None:
        """What covers the page, or None."""

    def check(self, tag: int, mapping: Mapping) -> None:
        """Make sure that a hit is what the page table says."""

    def refuses(self, tag: int, app: int) -> bool:
        """Whether a miss has to wait."""

    def miss(self, request: MemoryRequest, delay: int) -> None:
        """Let a request wait for its translation."""

    def when_free(self, sender: Wakeable) -> None:
        """Wake when there may be room."""


class L1(Protocol):
    """What the unit needs of the L1 cache (see `gpusim.hardware.cache.L1Cache`)."""

    latency: int

    def fill(self, filled: MemoryRequest) -> None:
        """A line arrives."""

    def lookup(self, line: int, sectors: int, app: int) -> bool:
        """Whether a load hits."""

    def admit(self, request: MemoryRequest, line: int) -> Admission:
        """Register a load that missed."""

    def pass_through(self, request: MemoryRequest, keep: bool) -> None:
        """Note a store or an atomic."""

    def clear(self) -> None:
        """Forget all lines."""

    def when_free(self, sender: Wakeable) -> None:
        """Wake when an MSHR is free."""


class Replies(Protocol):
    """Where the answers of the L2 cache come in (see `gpusim.hardware.crossbar.Link`)."""

    @property
    def ready(self) -> int:
        """When the next answer is there."""

    def connect(self, receiver: Process) -> None:
        """Name who is woken when an answer arrives."""

    def take(self) -> MemoryRequest:
        """The next answer, which is there."""


class LoadStoreUnit(ABC):
    """Starts `lsu_width` transactions a cycle, in order; a stalled one stalls those behind it.

    Requests that have to be tried again (translated ones that come back, and those that found no
    MSHR, port or room) go before new ones.  `history` tells what the unit was stalled by while
    others waited in its queue.

    Attributes:
        transaction: class of its requests.
    """

    transaction: type[MemoryRequest] = MemoryRequest

    def __init__(
        self,
        env: Environment,
        sm: Owner,
        config: GpuConfig,
        tlb: FirstTlb,
        l1: L1,
        out: Sink,
        replies: Replies,
    ) -> None:
        self.env = env
        self.tlb = tlb
        self.array = tlb.array
        self.l1 = l1
        self.out = out
        self._accesses: deque[WarpAccess] = deque()
        self.depth = config.sm.lsu_queue
        self.credits = config.sm.store_credits
        self.name = f"sm[{sm.index}].lsu"
        self.on_request: Probe[[MemoryRequest, int, int]] = Probe()
        """A finished transaction, the cycle in which it was issued, and the cycle of its answer."""
        self.on_l1_hit: Probe[[int, int, int, int, int]] = Probe()
        """SM, application, warp slot, line and cycle of a load that hits the L1 cache."""
        self.on_l1_miss: Probe[[int, int, int, int, int]] = Probe()
        """Likewise of a load that misses it, merged ones included."""
        self._sm = sm
        self.index = sm.index
        self._credits = config.sm.store_credits
        self._width = config.sm.lsu_width
        self._line_shift = config.l1.line.bit_length() - 1
        self._page_lines_shift = config.memory.page.bit_length() - 1 - self._line_shift
        self._retry: deque[MemoryRequest] = deque()
        self._translated: Port[MemoryRequest] = Port(env, f"{self.name}.translated")
        self._replies = replies
        self._done: Port[WarpAccess] = Port(env, f"{self.name}.done")
        self.process = env.start(self._run())
        for port in (self._translated, self._done, replies):
            port.connect(self.process)
        self._wake = self.process.wake
        self._stall = Stall(self._wake)
        self.history = History(_LSU)
        self._paused = False

    def accept(self, access: WarpAccess) -> None:
        """Queue an instruction; it is seen in the next cycle.  The SM has asked `full`."""
        self._accesses.append(access)
        due = self.env._now + 1
        if due < self._wake.due:
            self._wake.at(due)

    @property
    def full(self) -> bool:
        """Whether the SM has to wait before it issues another memory instruction."""
        return len(self._accesses) >= self.depth

    def answered(self, access: WarpAccess, request: MemoryRequest) -> None:
        """A transaction of `access` that went out is answered in this cycle."""
        now = self.env._now
        if self.on_request.listeners:
            self.on_request(request, access.issued, now)
        access.remaining -= 1
        if access.remaining == 0:
            if access.hit_until > now:
                self._done.send(access, access.hit_until - now)
            else:
                access.cause = request
                self._sm.complete(access)

    def _run(self) -> Generator[int | None, None, None]:
        done, translated, replies = self._done, self._translated, self._replies
        retry = self._retry
        accesses = self._accesses
        stall = self._stall
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
                    request.address = self._physical(request.mapping, request.vline)
                self._try_again(request, now)
                stall.active = False
            upcoming = replies.ready
            if done.queue and done.queue[0][0] < upcoming:
                upcoming = done.queue[0][0]
            if (retry or accesses) and not stall.active and self._work(now):
                upcoming = now + 1
            yield None if upcoming == NEVER else upcoming - now

    def _work(self, now: int) -> bool:
        """Start what can be started in this cycle; True if there may be more in the next."""
        retry, accesses = self._retry, self._accesses
        if self._paused:
            self._paused = False
            self.history.enter(_LSU, now)
        for _ in range(self._width):
            if retry:
                if not self._proceed(retry[0]):
                    return not self._stall.active
                retry.popleft()
            elif accesses:
                access = accesses[0]
                if access.issued == now:
                    return True
                if not self._start(access, now):
                    return not self._stall.active
                if access.next == len(access.lines):
                    accesses.popleft()
                    self._sm.lsu_has_room()
        return bool(retry or accesses)

    @abstractmethod
    def _start(self, access: WarpAccess, now: int) -> bool:
        """Start the next transaction of `access`; False if it has to wait.

        It waits for the next cycle, or, after `_stalled`, until what it waits for is free.
        """

    @abstractmethod
    def _proceed(self, request: MemoryRequest) -> bool:
        """Go on with a request; False if it has to wait, as in `_start`."""

    def _request(self, access: WarpAccess, tag: int, now: int) -> MemoryRequest:
        """A memory request for the next transaction of `access`."""
        index = access.next
        request = self.transaction(
            access.kind, access.app, access.asid, self.index, tag, -1, access.lines[index],
            access.sectors[index], 0, access, [-1, access.issued, _CACHE, now],
        )  # fmt: skip
        request.links = [self.history]
        return request

    def _try_again(self, request: MemoryRequest, now: int) -> None:
        """`request` has started, but waits from now on."""
        request.follow(self.history, now)
        self._retry.append(request)

    def send_again(self, request: MemoryRequest) -> None:
        """Send a request out once more, whose answer was of no use; called by the L1 cache."""
        self._try_again(request, self.env._now)
        self._stall.active = False

    def _physical(self, mapping: Mapping, vline: int) -> int:
        """Physical byte address of a line."""
        return (mapping.delta << self._page_lines_shift) + vline << self._line_shift

    def _tell_l1(
        self, probe: Probe[[int, int, int, int, int]], requester: Requester, line: int
    ) -> None:  # fmt: skip
        """A load has hit or missed the L1 cache."""
        if probe.listeners:
            probe(self.index, requester.app, requester.warp_slot, line, self.env._now)

    def _has_credit(self, kind: int) -> bool:
        """Whether a transaction of this kind may start: posted ones need a credit."""
        if self.credits > 0 or kind not in _POSTED:
            return True
        self._stall.active = True
        return self._pause(_CREDIT)

    def _spend_credit(self, kind: int) -> None:
        if kind in _POSTED:
            self.credits -= 1

    def _acknowledge(self, request: MemoryRequest) -> None:
        """A store or an atomic comes back from the L2 cache."""
        if request.kind != _ATOMIC:
            self.credits += 1
            self._stall.active = False
        assert request.access is not None
        request.access.answered(request)

    def _stalled(self, on: _Freeable, state: int) -> bool:
        """Wait, in `state`, until `on` is free; False, for the caller to return."""
        self._stall.active = True
        on.when_free(self._stall)
        return self._pause(state)

    def _pause(self, state: int) -> bool:
        """From now on those in the queue wait in `state`; False, for the caller to return."""
        self._paused = True
        self.history.enter(state, self.env._now)
        return False

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Memory instructions and transactions that are not finished here."""
        return (
            len(self._accesses) + len(self._retry) + len(self._done) + len(self._translated)
            + self._credits - self.credits
        )  # fmt: skip

    def waiting(self) -> Iterator[str]:
        """Who waits for whom, for the watchdog."""
        if self._accesses or self._retry:
            yield (
                f"{self.name}: {len(self._accesses)} instructions queue, {len(self._retry)} "
                f"requests try again, {self.credits} of {self._credits} store credits are free"
            )
