"""The load/store unit of an SM: queues memory instructions and starts their transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpusim.core.engine import Port, Probe, Turning, TurnTaker
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import Fifo
from gpusim.core.warp_program import SECTOR_BYTES, LaneChunk, Segment
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from gpusim.hardware.sm.history import RecordedStall
from gpusim.hardware.sm.lsu_interfaces import LsuSite, Owner
from gpusim.hardware.sm.translation_point import TRANSLATION_POINTS
from gpusim.hardware.sm.untimed.accesses import Touched, touched_by
from gpusim.hardware.sm.warp import Answerable, WarpAccess

_LSU: Final = int(State.LSU)
_CREDIT: Final = int(State.CREDIT)
_LOAD: Final = int(Kind.LOAD)
_ATOMIC: Final = int(Kind.ATOMIC)
_STORE: Final = int(Kind.STORE)
_REDUCE: Final = int(Kind.REDUCE)


class LoadStoreUnit(Answerable, Turning):
    """Starts `lsu_width` transactions at once, in order; a stalled one stalls those behind it.

    It can start others after `lsu_interval` cycles.  Before an L1 cache with tag banks it takes one
    instruction after the other, for as many cycles as its lanes need (`L1Passes`).

    Its **translation point** takes transactions through the first TLB and the L1 cache.  Requests
    that have to be tried again go before new transactions.  Posted transactions (stores and
    reductions) need a store credit, which comes back with their acknowledgement.

    Attributes:
        on_request: announces a finished transaction, the cycle in which it was issued, and the
            cycle of its answer.
        on_l1_hit: announces a load that hits the L1 cache: SM, application, warp slot, line, cycle.
        on_l1_miss: announces a load that misses it, merged ones included: SM, application, warp
            slot, line, cycle.
        full: whether the SM has to wait before it issues another memory instruction.
        point: takes its transactions through the first TLB and the L1 cache.
        done: instructions whose last transaction hit, when they have their data.
        stall: what the unit waits for before it goes on.
        history: what it was stalled by while others waited in its queue.
        coalescing: what its transactions are like.
    """

    def __init__(self, site: LsuSite, sm: Owner, name: str | None = None) -> None:
        env, config, replies = site.env, site.config, site.replies
        self.env = env
        self.index = sm.index
        self.name = name or f"sm[{sm.index}].lsu"
        self.l1 = site.l1
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
        self._width = config.sm.lsu_width if config.l1.banks is None else config.l1.banks.tags
        self._rest = config.sm.lsu_interval if config.sm.lsu_interval > 1 else 0
        self._rests_until = 0
        """When it may start transactions again."""
        self._accesses: Fifo[WarpAccess] = Fifo()
        self.process = TurnTaker(env, self)
        self._wake = self.process.wake
        self.stall = RecordedStall(env, self._wake, _LSU)
        self.history = self.stall.history
        self.coalescing = Coalescing.of(config)
        self._grain = SECTOR_BYTES if config.knows_sectors else int(config.l1.line)
        self._stores_late = config.stores_late
        self.point = TRANSLATION_POINTS[config.l1.translation](
            self, config, site.tlb, site.l1, site.out
        )
        self._retry = self.point.retry
        self._translated = self.point.translated
        for port in (self.point.translated, self.done, replies):
            port.connect(self.process)

    def accept(self, access: WarpAccess) -> None:
        """Queue an instruction; it is seen in the next cycle.  The SM has asked `full`."""
        self._accesses.append(access)
        self.full = len(self._accesses) >= self.depth
        due = self.env._now + 1
        if due < self._wake.due:
            self._wake.at(due)

    def turn(self, now: int) -> int:
        done, replies, translated = self.done, self._replies, self._translated
        while done.ready <= now and (finished := done.take()) is not None:
            self._sm.complete(finished)
        while replies.ready <= now:
            reply = replies.take()
            if reply.kind != _LOAD:
                self._acknowledge(reply)
            elif (asker := reply.access) is not None and asker.coherent:
                asker.answered(reply)
            else:
                self.l1.fill(reply)
        while translated.ready <= now and (request := translated.take()) is not None:
            if request.mapping is not None:
                request.address = self.point.physical(request.mapping, request.vline)
            self.send_again(request)
        upcoming = replies.ready
        if done.ready < upcoming:
            upcoming = done.ready
        if translated.ready < upcoming:
            upcoming = translated.ready
        if (
            (self._retry or self._accesses)
            and not self.stall.active
            and (self._rests_until > now or self._work(now))
        ):
            following = self._rests_until if self._rests_until > now else now + 1
            if following < upcoming:
                upcoming = following
        return upcoming

    def _work(self, now: int) -> bool:
        """Start what can be started in this cycle; True if there may be more in the next."""
        stall, retry, accesses, point = self.stall, self._retry, self._accesses, self.point
        if stall.noted:
            stall.over(now)
        for _ in range(self._width):
            if retry:
                if not point.proceed(retry[0], now):
                    return not stall.active
                retry.pop(0)
            elif accesses:
                access = accesses[0]
                if access.issued == now or (access.passes and not access.may_start(now)):
                    return True
                kind = access.kind
                posted = kind == _STORE or kind == _REDUCE
                if posted and not self.credits:
                    return stall.until_freed(_CREDIT)
                if not point.start(access, now):
                    return not stall.active
                if posted:
                    self.credits -= 1
                access.next += 1
                if access.next == access.end:
                    accesses.pop(0)
                    self.full = False
                    self._sm.lsu_has_room()
                    if access.passes:
                        break
            self._rests_until = now + self._rest
        return bool(retry or accesses)

    def send_again(self, request: MemoryRequest) -> None:
        """Go on with a request that has its translation, or whose answer was of no use."""
        self.point.postpone(request, self.env._now)
        self.stall.active = False

    def _acknowledge(self, request: MemoryRequest) -> None:
        """A store or an atomic comes back from the L2 cache."""
        if request.kind != _ATOMIC:
            self.credits += 1
            stall = self.stall
            if stall.active:
                if stall.state == _CREDIT:
                    stall.freed_by(request)
                stall.active = False
            if self._stores_late and request.kind == _STORE:
                self.l1.acknowledged(request)
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

    # -- without a clock ---------------------------------------------------------------------------

    def touched(self, chunk: LaneChunk, blocks: int) -> Touched:
        """What `blocks` blocks of equal size access, side by side, in a piece."""
        coalescing = self.coalescing
        return touched_by(chunk, coalescing.line_bytes, self._grain, coalescing.covered, blocks)

    def coalesced(self, chunk: LaneChunk) -> list[Segment]:
        """A piece of a block by warps, as a block that is timed has it."""
        return coalesce(chunk, self.coalescing)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Memory instructions and transactions that are not finished here."""
        return (
            len(self._accesses)
            + len(self._retry)
            + len(self.point.translated)
            + len(self.done)
            + self._credits
            - self.credits
        )

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        if self._accesses or self._retry:
            yield (
                f"{self.name}: {len(self._accesses)} instructions queue, {len(self._retry)} "
                f"requests try again, {self.credits} of {self._credits} store credits are free"
            )
