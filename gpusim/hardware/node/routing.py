"""Which link of a GPU's crossbar a request takes where some of them lead to other GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import frozen

from gpusim.core.request import MemoryRequest

LinkOf = Callable[[MemoryRequest], int]


@frozen
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


def by_memory(
    near: LinkOf, home: LinkOf, beyond: BeyondMemory, line_shift: int, first_port: int
) -> LinkOf:
    """Requests to other memories leave by the ports of links, whose lines take turns.

    Args:
        near: the link of a request of an SM to its own memory.
        home: that of a request which came from another GPU.
        beyond: what is no own memory.
        line_shift: bytes of a line, as a power of two.
        first_port: the number, counted as SMs are, from which on requests come from other GPUs.
    """
    base: Final = beyond.base
    end: Final = beyond.end
    first: Final = beyond.first
    ports: Final = beyond.ports

    def link_of(request: MemoryRequest) -> int:
        address = request.address
        if address < base or address >= end:
            return first + (address >> line_shift) % ports
        return near(request) if request.sm < first_port else home(request)

    return link_of


def with_ports(longer: list[list[int]], ports: int, more: int) -> list[list[int]]:
    """How much longer packets take, with ports of links as further sources and as further links.

    Args:
        longer: by source and link, of the others.
        ports: how many there are, each way.
        more: of the way to them.
    """
    if not ports:
        return longer
    links = len(longer[0])
    own = [[*row, *[more] * ports] for row in longer]
    return own + [[0] * links + [more] * ports for _ in range(ports)]
