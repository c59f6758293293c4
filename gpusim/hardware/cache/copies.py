"""An L2 cache in partitions, each of which keeps copies of lines that lie in another.

As in an A100 or H100 (NVIDIA A100 white paper: each partition caches data for the SMs of the GPCs
that are directly connected to it).  A line has one home, the bank that it would have without
copies.  Loads ask the bank at the same place in the partition of their SM; a miss there asks the
home, which alone asks DRAM, and both keep the line: so lines that are far from those who read them
take room in two partitions.  Stores and atomics go to the home, and the copies of their line are
gone in the same cycle, at no cost [our choice].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, NeverFull, Port, Sink
from gpusim.core.law import Law, laws_of
from gpusim.core.request import MemoryRequest
from gpusim.core.states import State
from gpusim.hardware.cache.l2 import LOOKUPS, L2Bank, L2Counters
from gpusim.hardware.cache.sectored_l2 import (
    DIRTY_SHIFT,
    SectorCounters,
    SectoredL2Bank,
    SectoredMisses,
)

_L2: Final = int(State.L2)
_INTERCONNECT: Final = int(State.INTERCONNECT)


@attr.s(auto_attribs=True)
class CopyCounters:
    """What only a bank with copies counts, for one application."""

    asked: int = count("loads of other partitions that looked for their line at home")
    asked_hits: int = count("loads of other partitions that found it")
    asked_merged: int = count("loads of other partitions that waited for a fetch under way")
    copied: int = count("fills that came from another partition")
    copies_dropped: int = count("copies in other partitions that a store made stale")


class Crossing(NeverFull):
    """The way to a port of a bank in another partition; who asks has an MSHR."""

    def __init__(self, env: EventLoop, port: Port[MemoryRequest], cycles: int) -> None:
        self.name = port.name
        self._env = env
        self._port = port
        self._cycles = cycles

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        """Send a request or its answer across."""
        item.trail.append(_INTERCONNECT)
        item.trail.append(self._env._now + extra_cycles)
        self._port.send(item, extra_cycles + self._cycles)


class CopyingMisses(SectoredMisses):
    """Misses of lines whose home is elsewhere are asked of their home.

    What other partitions ask takes a port of the bank before its own requests, and its place in an
    MSHR of the bank that asked: so two banks never wait for each other.

    Attributes:
        asked: loads of other partitions.
    """

    laws: Sequence[Law] = laws_of(
        [L2Counters, SectorCounters, CopyCounters],
        LOOKUPS,
        Law(
            "fills",
            "misses - merged - claimed + asked - asked_hits - asked_merged",
            other="misses that fetched something, of its own and asked by other partitions",
        ),
    )

    def __init__(
        self, bank: L2Bank, channel: Callable[[int], Port[MemoryRequest]], sector: int
    ) -> None:
        super().__init__(bank, channel, sector)
        self.copies = [CopyCounters() for _ in bank.counters]
        self.asked: Port[MemoryRequest] = Port(bank.env, f"{bank.name}.asked")
        self.asked.connect(bank.process)
        self.second_lookups = self.asked
        self._twins: list[L2Bank] = []
        self._ways: list[Crossing] = []
        self._back: list[Crossing] = []
        self._own = 0
        self._home: Callable[[int], int] = _nowhere

    def join(self, twins: Sequence[L2Bank], home: Callable[[int], int], far: int) -> None:
        """Tell of the banks at the same place in all partitions.

        Args:
            twins: these banks, the own one among them.
            home: the partition in which an address is at home.
            far: cycles to another partition and back.
        """
        env = self.bank.env
        self._twins = [twin for twin in twins if twin is not self.bank]
        self._own = list(twins).index(self.bank)
        self._home = home
        for twin in twins:
            misses = twin.misses
            assert isinstance(misses, CopyingMisses)
            self._ways.append(Crossing(env, misses.asked, far // 2))
        self._back = [Crossing(env, self.bank.fills, far - far // 2)]

    def way(self, request: MemoryRequest) -> Sink:
        home = self._home(request.address)
        return self.channel(request.address) if home == self._own else self._ways[home]

    def send(self, request: MemoryRequest, way: Sink) -> None:
        if isinstance(way, Crossing):
            request.path.append(self._back[0])
            way.send(request, self.bank.latency)
        else:
            super().send(request, way)

    def replay(self, request: MemoryRequest) -> None:
        """Look up what another partition asks for; it is fetched if it is not here."""
        bank, counters = self.bank, self.copies[request.app]
        line = request.address >> bank.shift
        request.trail.append(_L2)
        request.trail.append(bank.env._now)
        missing = bank.arrays[request.app].missing(line, request.sectors)
        counters.asked += 1
        if not missing:
            counters.asked_hits += 1
            bank.answer(request, bank.latency)
            return
        fetch = self.unfetched(line, missing)
        bank.mshrs.join(line, request)
        if fetch:
            self.fetch(request, line, fetch, self.channel(request.address))
        else:
            counters.asked_merged += 1
        self.wait(request, line, missing)

    def fill(self, filled: MemoryRequest) -> None:
        self.copies[filled.app].copied += self._home(filled.address) != self._own
        super().fill(filled)

    def _keep(self, line: int, state: int, app: int) -> None:
        super()._keep(line, state, app)
        if state >> DIRTY_SHIFT:
            for twin in self._twins:
                dropped = twin.arrays[app].remove(line)
                self.copies[app].copies_dropped += dropped != 0

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return super().in_flight() + len(self.asked)

    def app_counters(self, app: int) -> Iterable[object]:
        return (*super().app_counters(app), self.copies[app])


@mypyc_attr(allow_interpreted_subclasses=True)
class CopyingL2Bank(SectoredL2Bank):
    """Its misses are `CopyingMisses`; what another partition asked for goes back there."""

    def answer(self, request: MemoryRequest, delay: int) -> None:
        path = request.path
        if path and isinstance(path[-1], Crossing):
            path.pop().send(request, delay)
        else:
            super().answer(request, delay)


def _nowhere(address: int) -> int:
    raise AssertionError(address)


def join_partitions(
    banks: Sequence[L2Bank], parts: int, home: Callable[[int], int], far: int
) -> None:
    """Tell all banks of a cache of their twins.

    Args:
        banks: in their order; as many in each partition.
        parts: partitions.
        home: the bank of an address.
        far: cycles to another partition and back.
    """
    each = len(banks) // parts

    def partition_of(address: int) -> int:
        return home(address) // each

    for number, bank in enumerate(banks):
        assert isinstance(bank.misses, CopyingMisses)
        bank.misses.join(banks[number % each :: each], partition_of, far)
