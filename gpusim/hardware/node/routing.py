"""Which link of a GPU's crossbar a request takes where some of them lead to other GPUs."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from gpusim.core.interfaces import Packets
from gpusim.core.request import Kind, MemoryRequest

_LOAD: Final = int(Kind.LOAD)


@frozen(eq=False, repr=False)
class BeyondMemory:
    """What lies beyond a GPU's own memory.

    Attributes:
        base, end: of its own physical addresses.
        first: the first link of the crossbar that leads to other GPUs.
        ports: how many of them there are.
    """

    base: int
    end: int
    first: int
    ports: int


class ToMemories(Packets):
    """Requests to other memories leave by the ports of links, whose lines take turns.

    Args:
        near: the link of a request of an SM to its own memory, and the sizes of all.
        home: the link of a request which came from another GPU.
        beyond: what is no own memory.
        line_shift: bytes of a line, as a power of two.
        first_port: the number, counted as SMs are, from which on requests come from other GPUs.
        caching: loads of SMs look in the L2 cache of their own GPU first.
    """

    def __init__(
        self,
        near: Packets,
        home: Packets,
        beyond: BeyondMemory,
        line_shift: int,
        first_port: int,
        *,
        caching: bool,
    ) -> None:
        self._near = near
        self._home = home
        self._base = beyond.base
        self._end = beyond.end
        self._first = beyond.first
        self._ports = beyond.ports
        self._line_shift = line_shift
        self._first_port = first_port
        self._caching = caching

    def link(self, request: MemoryRequest) -> int:
        address = request.address
        if address < self._base or address >= self._end:
            if self._caching and request.kind == _LOAD and request.sm < self._first_port:
                access = request.access
                if access is None or not access.coherent:
                    return self._home.link(request)
            return self._first + (address >> self._line_shift) % self._ports
        near = request.sm < self._first_port
        return self._near.link(request) if near else self._home.link(request)

    def size(self, request: MemoryRequest) -> int:
        return self._near.size(request)
