"""Dirty lines on their way from virtual L2 caches to DRAM."""

from __future__ import annotations

from attrs import frozen

from gpusim.core.engine import EventLoop, Port
from gpusim.core.interfaces import Route
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import pair
from gpusim.hardware.fbt.inputs import VirtualBank
from gpusim.hardware.fbt.purge import Purges
from gpusim.hardware.fbt.table import Page


@frozen(eq=False, repr=False)
class WrittenLine:
    """A dirty line that has left a bank.

    Attributes:
        page: its page.
        address: physical, of its first byte.
        sectors: those that are dirty, as in `MemoryRequest`.
        name: under which it was cached.
        app: index of the application that took its place.
        bank: it waits until the line has been written back.
    """

    page: Page
    address: int
    sectors: int
    name: int
    app: int
    bank: VirtualBank


class WriteBacks:
    """A dirty line finds its frame `latency` cycles after it left, and then goes to DRAM.

    Attributes:
        port: lines that have left their banks.

    Args:
        channel: DRAM channel of an address.
        purges: which wait for lines of their pages.
    """

    def __init__(
        self,
        env: EventLoop,
        latency: int,
        channel: Route,
        purges: Purges,
    ) -> None:
        self.port: Port[tuple[MemoryRequest, WrittenLine]] = Port(env, "fbt.write_backs", latency)
        self._env = env
        self._channel = channel
        self._purges = purges

    def begin(self, line: WrittenLine) -> None:
        """Take a dirty line in."""
        trail = pair(int(State.L2), self._env._now)
        request = MemoryRequest(
            Kind.WRITEBACK, line.app, 0, -1, 0, line.address, -1, line.sectors, 0, None, trail
        )
        self._purges.line_leaves(line.page)
        self.port.send((request, line))

    def send(self) -> Port[MemoryRequest] | None:
        """Send to DRAM what is due; returns the channel that has no room for the next one."""
        while (head := self.port.head()) is not None:
            request, line = head
            channel = self._channel.port(request.address)
            if channel.full:
                return channel
            self.port.take()
            channel.send(request)
            line.bank.written_back(line.name)
            self._purges.line_left(line.page)
        return None
