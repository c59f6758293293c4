"""A load/store unit alone: its SM, first TLB, L1 cache and crossbar are mocks.

What the unit knows of three of them are traits, which no class in Python may be beneath where
gpusim is compiled.  Their mocks are subclasses of what has these traits, and replace all that the
unit asks; nothing of the real ones is initialised or runs.
"""

from __future__ import annotations

from typing import Any, Final

from gpusim.core.engine import NEVER, Environment, Port, Waiters, Wakeable
from gpusim.core.mapping import Mapping
from gpusim.core.mshr import FULL, MERGED, NEW, Admission
from gpusim.core.request import Kind, MemoryRequest, Requester
from gpusim.core.unboxed import IntList
from gpusim.hardware.cache import L1Cache
from gpusim.hardware.sm.load_store_unit import LoadStoreUnit
from gpusim.hardware.sm.lsu_interfaces import LsuSite
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.sm.warp import Block, Seat, Warp, WarpAccess
from gpusim.hardware.tlb import TlbLevel
from tests.hardware.mocks import MockBelow, MockLink, MockPages, at
from tests.machine.bench import SMALL, ScriptedLaunch, change

TLB: Final = 1
"""Latency of a lookup in the first TLB."""
L1: Final = 4
"""Latency of a lookup in the L1 cache."""
TRANSLATION: Final = 30
"""From a TLB miss to its answer."""
REPLY: Final = 50
"""From the arrival of a request at the crossbar to its reply."""
LINES_OF_PAGE: Final = 32
LINE: Final = 128
FRAME: Final = 100
"""Page *n* lies in frame *n* + 100."""


class MockSm(Sm):
    """Notes which instructions complete and when, and when there is room for another one."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.index = 0
        self.completed: list[tuple[int, WarpAccess]] = []
        self.room: list[int] = []

    def complete(self, access: WarpAccess) -> None:
        self.completed.append((self.env.now, access))

    def lsu_has_room(self) -> None:
        self.room.append(self.env.now)


class MockTlb(TlbLevel):
    """Has the pages that the test puts into `held`; misses are answered after 30 cycles.

    Attributes:
        most_claims: lookups a cycle.
        room: False: misses are refused.
        claims: cycle of each lookup that got a port.
        missed: cycle and page of each miss.
        gone: pages whose first answer says that they are not there; then the TLB has them.
    """

    def __init__(self, env: Environment, pages: MockPages, latency: int) -> None:
        self.env = env
        self.latency = latency
        self.extra_cycles = 0
        self.pages = pages
        self.held: set[int] = set()
        self.most_claims = NEVER
        self.room = True
        self.claims: list[int] = []
        self.missed: list[tuple[int, int]] = []
        self.gone: set[int] = set()
        self.senders = Waiters()

    def claim(self) -> bool:
        if self.claims.count(self.env.now) >= self.most_claims:
            return False
        self.claims.append(self.env.now)
        return True

    def blocked(self) -> bool:
        return False

    def lookup(self, tag: int, requester: Requester) -> Mapping | None:
        return self.pages.find(tag) if tag in self.held else None

    def check(self, tag: int, mapping: Mapping) -> None:
        assert mapping is self.pages.find(tag)

    def refuses(self, tag: int, requester: Requester) -> bool:
        return not self.room

    def miss(self, request: MemoryRequest, delay: int) -> None:
        self.missed.append((self.env.now + delay, request.tag))
        if request.tag in self.gone:
            self.held.add(request.tag)
        else:
            request.mapping = self.pages.find(request.tag)
        at(self.env, delay + TRANSLATION, request.answer)

    def when_free(self, sender: Wakeable) -> None:
        self.senders.add(sender)

    def make_room(self) -> None:
        self.room = True
        self.senders.wake()


class MockL1(L1Cache):
    """Has the lines that the test puts into `lines_held`, and keeps none that arrives.

    Attributes:
        lines_held: lines by the names that the unit uses.
        free: MSHRs that are free; requests for a line that is on its way need none.
        stored: cycle and line of each store and atomic.
        filled: cycles in which lines arrived.
    """

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.latency = L1
        self.lines_held: set[int] = set()
        self.free = NEVER
        self.stored: list[tuple[int, int]] = []
        self.filled: list[int] = []
        self.missed: dict[int, list[MemoryRequest]] = {}
        self.senders = Waiters()

    def lookup(self, line: int, sectors: int, app: int) -> bool:
        return line in self.lines_held

    def admit(self, request: MemoryRequest, line: int) -> Admission:
        if line in self.missed:
            self.missed[line].append(request)
            return MERGED
        if not self.free:
            return FULL
        self.free -= 1
        self.missed[line] = [request]
        return NEW

    def fill(self, filled: MemoryRequest) -> None:
        self.filled.append(self.env.now)
        (line,) = (line for line, waiting in self.missed.items() if waiting[0] is filled)
        for request in self.missed.pop(line):
            assert request.access is not None
            request.access.answered(request)
        self.free += 1
        self.senders.wake()

    def pass_through(self, request: MemoryRequest, keep: bool) -> None:
        self.stored.append((self.env.now, request.address // LINE))

    def when_free(self, sender: Wakeable) -> None:
        self.senders.add(sender)


class Bench:
    """A unit of an SM with one warp; pages 0 and 1 are in the TLB.

    Args:
        tlb: latency of the first TLB.
        reply: cycles from a request's arrival at the crossbar to its reply.
        depth, opens: of the crossbar's entrance (`MockBelow`).
        translation: of the L1 cache.
        sm: keys of the SM that differ.
    """

    def __init__(
        self,
        tlb: int = TLB,
        reply: int = REPLY,
        depth: int = NEVER,
        opens: int = 0,
        translation: str = "parallel",
        **sm: Any,
    ) -> None:
        env = self.env = Environment()
        self.sm = MockSm(env)
        self.tlb = MockTlb(env, MockPages(), tlb)
        self.tlb.held |= {0, 1}
        self.l1 = MockL1(env)
        self.replies = MockLink()
        self.crossbar: MockBelow[MemoryRequest] = MockBelow(
            env, lambda request: self.replies.put(env.now + reply, request), depth, opens
        )
        config = change(SMALL, sm=sm, l1={"translation": translation})
        out = self.crossbar.port
        self.unit = LoadStoreUnit(
            LsuSite(env, config, self.tlb, self.l1, out, self.replies), self.sm
        )
        ended: Port[Block] = Port(env, "ended")
        block = Block(ScriptedLaunch([[()]]), 0, Seat(0, 0, 0, [0], 0, 0), ended)
        self.warp = Warp(0, block, 0, 0, 0, 0)
        self.issued: list[WarpAccess] = []

    def issue(self, cycle: int, *lines: int, kind: Kind = Kind.LOAD) -> None:
        """The SM hands over a memory instruction with these lines, which starts one cycle later."""
        access = WarpAccess(self.unit, self.warp, int(kind), len(self.issued), cycle)
        access.take(IntList(lines), [1] * len(lines), 0, len(lines))
        self.issued.append(access)
        at(self.env, cycle, lambda: self.unit.accept(access))

    def hold(self, *lines: int) -> None:
        """The L1 cache has these virtual lines, under their physical numbers."""
        self.l1.lines_held |= {physical(line) for line in lines}

    def run(self) -> list[int]:
        """Run to the end; when the instructions completed, in the order of `issue`."""
        self.env.run()
        assert not self.unit.in_flight()
        cycles = {id(access): cycle for cycle, access in self.sm.completed}
        assert len(cycles) == len(self.sm.completed)
        return [cycles[id(access)] for access in self.issued]

    @property
    def sent(self) -> list[tuple[int, int]]:
        """The cycle in which each request reached the crossbar, and its physical line."""
        return [(cycle, one.address // LINE) for cycle, one in self.crossbar.arrived]


def physical(line: int) -> int:
    """Where a virtual line lies."""
    return line + FRAME * LINES_OF_PAGE
