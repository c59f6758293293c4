"""Lines of other GPUs' memories that a GPU keeps in its own L2 cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.schema import L2Config
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import Port
from gpusim.core.interfaces import Packets, Route
from gpusim.core.metrics import Metric, Total, declare_metrics
from gpusim.core.request import MemoryRequest
from gpusim.core.unboxed import pair
from gpusim.core.warp_program import SECTOR_BYTES, SECTOR_COUNTS, SECTORS


@attr.s(auto_attribs=True, eq=False, repr=False)
class CopiesCounters:
    """What one GPU fetched into its L2 cache from memories of others, for one application."""

    fetches: int = count("loads that missed in its L2 cache and went to other GPUs")
    fetched_sectors: int = count("sectors of 32 bytes that came for these", "sectors")
    dropped: int = count("copies that were dropped as it stored to their lines")


declare_metrics(
    CopiesCounters,
    Metric("remote_fetches", "1", "lines of other GPUs that came to L2 caches", Total("fetches")),
)


@attr.s(auto_attribs=True, eq=False, repr=False)
class InvalidatedCounters:
    """What was dropped of it, for whatever application."""

    invalidated: int = count("copies that were dropped when launches began")


@mypyc_attr(allow_interpreted_subclasses=True)
class RemoteFetch(MemoryRequest):
    """A line that an L2 cache asks another GPU for.

    Attributes:
        fetched: what waits for it.
    """

    __slots__ = ("fetched",)

    fetched: MemoryRequest


@mypyc_attr(allow_interpreted_subclasses=True)
class ReaderCopies(Component):
    """The lines of other GPUs' memories in the L2 cache of one, which its loads have brought.

    Software keeps them coherent: they are dropped when a launch begins.  Stores and atomics go
    where a line lies, and drop the copy here.

    Args:
        gpu: the GPU.
        apps: applications that share the machine.
        l2: the L2 cache.
        drop: drops a line of an application; returns whether it was there.
        drop_all: drops all lines of other GPUs; returns how many there were.
    """

    path = "node/reader"

    def __init__(
        self,
        gpu: int,
        apps: int,
        l2: L2Config,
        drop: Callable[[int, int], bool],
        drop_all: Callable[[], int],
    ) -> None:
        self.name = f"reader[{gpu}]"
        self.instance = gpu
        self.counters = [CopiesCounters() for _ in range(apps)]
        self.whole = InvalidatedCounters()
        self._line = int(l2.line)
        self._sectored = l2.sectored
        self._drop = drop
        self._drop_all = drop_all

    def fetch(self, request: MemoryRequest, state: int, now: int) -> RemoteFetch:
        """What goes to the GPU in whose memory a line lies that a bank asks for."""
        line = self._line
        sectors = request.sectors & SECTORS
        if not self._sectored:
            sectors = (1 << line // SECTOR_BYTES) - 1
        fetch = RemoteFetch(
            request.kind,
            request.app,
            request.asid,
            -1,
            request.tag,
            request.address // line * line,
            request.vline,
            sectors,
            request.depth,
            request.access,
            pair(state, now),
        )
        fetch.fetched = request
        request.follow(fetch, now)
        counters = self.counters[request.app]
        counters.fetches += 1
        counters.fetched_sectors += SECTOR_COUNTS[sectors]
        return fetch

    def stored(self, request: MemoryRequest) -> None:
        """A store or an atomic leaves for another GPU."""
        if self._drop(request.address // self._line, request.app):
            self.counters[request.app].dropped += 1

    def invalidate(self) -> None:
        """Drop all copies."""
        self.whole.invalidated += self._drop_all()

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)

    def shared_counters(self) -> Iterable[object]:
        return (self.whole,)


class AskedBanks:
    """The way of other GPUs' loads to the banks in which their lines are at home.

    L2 caches that keep each other's lines wait for each other: a load that has an MSHR of one must
    not wait in the other behind loads that have come too late for an MSHR.  So these loads have a
    virtual channel of the crossbar, which takes the network's latency, and no other packet's place
    [our choice].

    Args:
        asked: by bank, what others ask for.
        homes: which bank a line belongs to.
        ways: by port of the gateway and bank, cycles through the crossbar.
    """

    def __init__(
        self,
        asked: Sequence[Port[MemoryRequest]],
        homes: Packets,
        ways: Sequence[Sequence[int]],
    ) -> None:
        self._asked = asked
        self._homes = homes
        self._ways = ways

    def send(self, access: MemoryRequest, port: int) -> None:
        """Send a load that has come to a port of the gateway."""
        bank = self._homes.link(access)
        self._asked[bank].send(access, self._ways[port][bank])


@mypyc_attr(allow_interpreted_subclasses=True)
class BeyondDram(Route):
    """To the channels of a GPU's own memory, or to its links.

    Args:
        near: to the channels.
        own: addresses of the GPU's memory.
        far: where requests to others go.
    """

    def __init__(self, near: Route, own: range, far: Port[MemoryRequest]) -> None:
        self._near = near
        self._first = own.start
        self._end = own.stop
        self._far = far

    def port(self, address: int) -> Port[MemoryRequest]:
        if self._first <= address < self._end:
            return self._near.port(address)
        return self._far
