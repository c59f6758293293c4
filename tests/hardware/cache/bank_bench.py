"""A bank of the L2 cache alone: its SMs, walkers, DRAM and translation are mocks."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

from gpusim.config.schema import L2Config
from gpusim.core.engine import NEVER, Environment, Port
from gpusim.core.request import Kind, MemoryRequest, VirtualRequest
from gpusim.core.states import State
from gpusim.core.unboxed import IntList
from gpusim.core.warp_program import COVERED_SHIFT
from gpusim.files.units import Bytes, Hertz, cycles
from gpusim.hardware.cache import BankSite, DramMisses, L2Bank, TranslatedMisses
from gpusim.hardware.cache.page_table_reads import make_levels
from tests.hardware.mocks import MockLink, OneRoute

LATENCY, DRAM, TRIP = 10, 100, 7
LINE, LINES_OF_PAGE = 128, 32
WHOLE = 0b1111


class Bench:
    """A bank of 4 sets of 2 ways and latency 10 before a DRAM that takes 100 cycles.

    Args:
        dram_from, replies_from: cycle before which DRAM, or the crossbar, takes nothing.
        dram_depth, reply_depth: what fits into their ports.
        l2: keys of the cache that differ.

    Attributes:
        asked: what DRAM took: cycle, kind, address, and sectors.
        answered: cycle in which each request was answered, in the order of `load` and the others.
    """

    def __init__(
        self,
        dram_from: int = 0,
        replies_from: int = 0,
        dram_depth: int = NEVER,
        reply_depth: int = NEVER,
        **l2: Any,
    ) -> None:
        env = self.env = Environment()
        self.link = MockLink()
        self.replies: Port[MemoryRequest] = Port(env, "replies", depth=reply_depth)
        self.walks: Port[MemoryRequest] = Port(env, "walks")
        self.dram: Port[MemoryRequest] = Port(env, "dram", depth=dram_depth)
        keys: dict[str, Any] = {"size": 8 * LINE, "ways": 2, "latency": cycles(LATENCY), "banks": 1}
        config = L2Config(**keys | l2)
        site = BankSite(
            env, 0, config, Hertz(10**9), [0], make_levels(1, 4), self.link, self.replies
        )
        self.bank = self.make(site)
        self.asked: list[tuple[int, int, int, int]] = []
        self.requests: list[MemoryRequest] = []
        self._answered: dict[int, int] = {}
        self.dram.connect(env.start(self._dram(dram_from)))
        for port in (self.replies, self.walks):
            port.connect(env.start(self._collect(port, replies_from)))

    def make(self, site: BankSite) -> L2Bank:
        return L2Bank(site, partial(DramMisses, channel=OneRoute(self.dram)))

    def _dram(self, begin: int) -> Generator[int | None, None, None]:
        while self.env.now < begin:
            yield begin - self.env.now
        while True:
            while (request := self.dram.take()) is not None:
                entry = self.env.now, request.kind, request.address, request.sectors
                self.asked.append(entry)
                if request.kind != Kind.WRITEBACK:
                    request.answer(DRAM)
            yield self.dram.pause()

    def _collect(self, port: Port[MemoryRequest], begin: int) -> Generator[int | None, None, None]:
        while self.env.now < begin:
            yield begin - self.env.now
        while True:
            while (request := port.take()) is not None:
                self._answered[id(request)] = self.env.now
            yield port.pause()

    def request(self, cycle: int, kind: Kind, address: int, sectors: int) -> MemoryRequest:
        trail = IntList([int(State.INTERCONNECT), 0])
        return MemoryRequest(kind, 0, 0, 0, 0, address, -1, sectors, 0, None, trail)

    def put(self, cycle: int, kind: Kind, address: int, sectors: int) -> None:
        request = self.request(cycle, kind, address, sectors)
        self.requests.append(request)
        self.link.put(cycle, request)

    def load(self, cycle: int, address: int, sectors: int = WHOLE) -> None:
        self.put(cycle, Kind.LOAD, address, sectors)

    def atomic(self, cycle: int, address: int, sectors: int = 1) -> None:
        self.put(cycle, Kind.ATOMIC, address, sectors)

    def store(self, cycle: int, address: int, sectors: int = WHOLE, covered: int = WHOLE) -> None:
        self.put(cycle, Kind.STORE, address, sectors | (sectors & covered) << COVERED_SHIFT)

    def walk(self, cycle: int, address: int, depth: int = 1) -> None:
        """A page-table read, which comes in on the bank's own port."""
        read = MemoryRequest(
            Kind.WALK, 0, 0, -1, 0, address, -1, 1, depth, None, IntList([State.L2, 0])
        )
        read.return_to(self.walks)
        self.requests.append(read)
        self.bank.requests.send(read, cycle)

    def run(self) -> list[int]:
        """Run to the end; when the requests were answered."""
        self.env.run()
        assert not self.bank.in_flight()
        return [self._answered[id(request)] for request in self.requests]

    def count(self, name: str) -> int:
        for counters in self.bank.app_counters(0):
            if hasattr(counters, name):
                return int(getattr(counters, name))
        raise KeyError(name)


class VirtualBench(Bench):
    """A bank whose lines have virtual names: line *n* is physical line *n* + 1000.

    Attributes:
        translated: lines whose misses came to the mock table, which lets them through after 7
            cycles.
        told: what the bank told the table, in order.
    """

    def make(self, site: BankSite) -> L2Bank:
        self.translated: list[int] = []
        self.told: list[tuple[str, int]] = []
        self.entrance: Port[VirtualRequest] = Port(self.env, "entrance")
        self.entrance.connect(self.env.start(self._table()))
        misses = partial(
            TranslatedMisses,
            channel=OneRoute(self.dram),
            table=self,
            lines_shift=LINES_OF_PAGE.bit_length() - 1,
        )
        return L2Bank(site, misses)

    def _table(self) -> Generator[int | None, None, None]:
        while True:
            while (request := self.entrance.take()) is not None:
                self.translated.append(request.line)
                request.leading = request.line
                request.address = (1000 + request.line) * LINE
                misses = self.bank.misses
                assert isinstance(misses, TranslatedMisses)
                misses.grants.send(request, TRIP)
            yield self.entrance.pause()

    def request(self, cycle: int, kind: Kind, address: int, sectors: int) -> MemoryRequest:
        line = address // LINE
        trail = IntList([int(State.INTERCONNECT), 0])
        return VirtualRequest(kind, 0, 0, 0, 0, -1, line, sectors, 0, None, trail)

    # -- what the bank tells its table -----------------------------------------------------------

    def filled(self, request: VirtualRequest) -> None:
        self.told.append(("filled", request.line))

    def finished(self, request: VirtualRequest) -> None:
        self.told.append(("finished", request.line))

    def wrote(self, line: int, request: VirtualRequest) -> None:
        self.told.append(("wrote", line))

    def evicted(self, line: int, dirty: int, app: int, bank: TranslatedMisses) -> None:
        self.told.append((f"evicted {dirty:04b}", line))
        if dirty:
            bank.written_back(line)


def sectored(size: int = 32, **keys: Any) -> dict[str, Any]:
    return {"sector": Bytes(size), **keys}
