"""Homes of the lines of an L2 bank: the bank itself, or, for some lines, a bank elsewhere.

An L2 cache may be in partitions, each of which keeps copies of lines that lie in another, as in an
A100 or H100 (NVIDIA A100 white paper: each partition caches data for the SMs of the GPCs that are
directly connected to it).  A line has one home, the bank that it would have without copies.  Loads
ask the bank at the same place in the partition of their SM; a miss there asks the home, which alone
asks DRAM, and both keep the line: so lines that are far from their readers take room in two
partitions.  Stores and atomics go to the home, and the copies of their line are gone in the same
cycle, at no cost but `l2.store_to_load` [our choice].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, NeverFull, Port, Sink
from gpusim.core.interfaces import Route
from gpusim.core.request import MemoryRequest
from gpusim.core.states import State

if TYPE_CHECKING:
    from gpusim.hardware.cache.l2 import L2Bank

_INTERCONNECT: Final = int(State.INTERCONNECT)


@attr.s(auto_attribs=True, eq=False, repr=False)
class AskedCounters:
    """What only a bank counts that others ask for their lines, for one application."""

    asked: int = count("loads of other partitions or GPUs that looked for their line at home")
    asked_hits: int = count("loads of other partitions or GPUs that found it")
    asked_merged: int = count("loads of other partitions or GPUs that waited for a fetch under way")


@attr.s(auto_attribs=True, eq=False, repr=False)
class CopyCounters:
    """What only a bank with copies of other partitions counts, for one application."""

    copied: int = count("fills that came from another partition")
    copies_dropped: int = count("copies in other partitions that a store made stale")


class Crossing(NeverFull):
    """The way to a port of a bank in another partition; what is sent there has an MSHR."""

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


@mypyc_attr(allow_interpreted_subclasses=True)
class Homes:
    """All lines of a bank are at home there, and come from DRAM.

    Args:
        bank: whose lines they are.
        channel: the DRAM channel that an address belongs to.

    Attributes:
        asked: what other partitions or GPUs ask for; None: they ask for nothing.
        counted: classes of its counters.
        fetches: what makes the bank fetch beside its own misses, as a term of a law.
    """

    asked: Port[MemoryRequest] | None
    counted: Sequence[type]
    fetches: str

    def __init__(self, bank: L2Bank, channel: Route) -> None:
        self.bank = bank
        self.channel = channel
        self.asked = None
        self.counted = ()
        self.fetches = ""

    def way(self, request: MemoryRequest) -> Sink:
        """Where what a request misses is asked for, once there is room."""
        return self.channel.port(request.address)

    def back(self, way: Sink) -> Sink:
        """Where the answer to what is sent this way has to go."""
        return self.bank.fills

    def came(self, filled: MemoryRequest) -> None:
        """A fetch has been answered."""

    def looked_up(self, app: int, missed: bool, merged: bool) -> None:
        """Count what became of a request that was `asked`."""

    def changed(self, line: int, app: int) -> None:
        """A store or an atomic has changed a line."""

    def app_counters(self, app: int) -> Iterable[object]:
        """The counters that it adds to the bank's for one application."""
        return ()


@mypyc_attr(allow_interpreted_subclasses=True)
class AskedHomes(Homes):
    """Others keep copies of lines that are at home here, and ask for them.

    What they ask takes a port of the bank before its own requests, even while these have to wait,
    and its place in an MSHR of the bank that asked: so two banks never wait for each other.
    """

    def __init__(self, bank: L2Bank, channel: Route) -> None:
        super().__init__(bank, channel)
        self.asked = Port(bank.env, f"{bank.name}.asked")
        self.asked.connect(bank.process)
        self.counted = (AskedCounters,)
        self.fetches = " + asked - asked_hits - asked_merged"
        self.looked = [AskedCounters() for _ in bank.counters]

    def looked_up(self, app: int, missed: bool, merged: bool) -> None:
        counters = self.looked[app]
        counters.asked += 1
        counters.asked_hits += not missed
        counters.asked_merged += merged

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.looked[app],)


@mypyc_attr(allow_interpreted_subclasses=True)
class PartitionHomes(AskedHomes):
    """Lines are at home in the bank at the same place of one of several partitions."""

    def __init__(self, bank: L2Bank, channel: Route) -> None:
        super().__init__(bank, channel)
        self.counted = (AskedCounters, CopyCounters)
        self.copies = [CopyCounters() for _ in bank.counters]
        self._twins: list[PartitionHomes] = []
        self._ways: list[Sink] = []
        self._back: Sink = bank.fills
        self._own = 0
        self._home: Callable[[int], int] = _nowhere

    def join(self, twins: Sequence[PartitionHomes], home: Callable[[int], int], far: int) -> None:
        """Introduce the banks at the same place in all partitions.

        Args:
            twins: those of these banks, the own one among them.
            home: the partition in which an address is at home.
            far: cycles to another partition and back.
        """
        env = self.bank.env
        self._twins = [twin for twin in twins if twin is not self]
        self._own = list(twins).index(self)
        self._home = home
        for twin in twins:
            assert twin.asked is not None
            self._ways.append(Crossing(env, twin.asked, far // 2))
        self._back = Crossing(env, self.bank.fills, far - far // 2)

    def way(self, request: MemoryRequest) -> Sink:
        home = self._home(request.address)
        return self.channel.port(request.address) if home == self._own else self._ways[home]

    def back(self, way: Sink) -> Sink:
        return self._back if isinstance(way, Crossing) else self.bank.fills

    def came(self, filled: MemoryRequest) -> None:
        self.copies[filled.app].copied += self._home(filled.address) != self._own

    def changed(self, line: int, app: int) -> None:
        for twin in self._twins:
            self.copies[app].copies_dropped += twin.bank.lines.remove(line, app) != 0

    def app_counters(self, app: int) -> Iterable[object]:
        return (*super().app_counters(app), self.copies[app])


def _nowhere(address: int) -> int:
    raise AssertionError(address)


def join_partitions(
    homes: Sequence[PartitionHomes], parts: int, home: Callable[[int], int], far: int
) -> None:
    """Introduce all banks of a cache with copies to their twins.

    Args:
        homes: those of the banks in their order; as many in each partition.
        parts: partitions.
        home: the bank of an address.
        far: cycles to another partition and back.
    """
    each = len(homes) // parts

    def partition_of(address: int) -> int:
        return home(address) // each

    for number, one in enumerate(homes):
        one.join(homes[number % each :: each], partition_of, far)
