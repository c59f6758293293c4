"""Dirty lines on their way from virtual L2 caches to DRAM."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.core.engine import EventLoop, Port
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.hardware.fbt.inputs import VirtualBank
from gpusim.hardware.fbt.purge import Purges
from gpusim.hardware.fbt.table import Page


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
        line_bytes: int,
        channel: Callable[[int], Port[MemoryRequest]],
        purges: Purges,
    ) -> None:
        self.port: Port[tuple[MemoryRequest, Page, VirtualBank, int]] = Port(
            env, "fbt.write_backs", latency
        )
        self._env = env
        self._line_bytes = line_bytes
        self._sectors = (1 << (line_bytes // SECTOR_BYTES)) - 1
        self._channel = channel
        self._purges = purges

    def begin(self, page: Page, frame_line: int, line: int, app: int, bank: VirtualBank) -> None:
        """A dirty line of a page has left a bank; `frame_line` is its physical number."""
        address, trail = frame_line * self._line_bytes, [int(State.L2), self._env._now]
        request = MemoryRequest(
            Kind.WRITEBACK, app, 0, -1, 0, address, -1, self._sectors, 0, None, trail
        )
        self._purges.line_leaves(page)
        self.port.send((request, page, bank, line))

    def send(self) -> Port[MemoryRequest] | None:
        """Send to DRAM what is due; returns the channel that has no room for the next one."""
        while (head := self.port.head()) is not None:
            request, page, bank, line = head
            channel = self._channel(request.address)
            if channel.full:
                return channel
            self.port.take()
            channel.send(request)
            bank.written_back(line)
            self._purges.line_left(page)
        return None
