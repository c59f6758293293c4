"""The accesses of a GPU that have left its SMs and are not answered, by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from gpusim.core.engine import Probe, Sink, Wakeable
from gpusim.core.request import Kind, MemoryRequest

_WALK: Final = int(Kind.WALK)


class AccessesUnderWay:
    """Counts them, and tells when those to a page have been answered.

    Attributes:
        gpu: the GPU.
        on_left: page and GPU, of a request that has left its SM.
    """

    def __init__(self, gpu: int) -> None:
        self.on_left: Probe[[int, int]] = Probe()
        self.gpu = gpu
        self._pages: dict[MemoryRequest, int] = {}
        self._counts: dict[int, int] = {}
        self._waiting: dict[int, Callable[[], None]] = {}
        self._expected: dict[int, Callable[[], None]] = {}

    def left(self, request: MemoryRequest) -> None:
        """A request has left its SM."""
        if request.mapping is not None:
            tag = request.mapping.tag
            if self.on_left.listeners:
                self.on_left(tag, self.gpu)
            self._pages[request] = tag
            self._counts[tag] = self._counts.get(tag, 0) + 1
            self.came(tag)

    def came(self, tag: int) -> None:
        """An access to a page has come to where it leaves its SM."""
        if tag in self._expected:
            self._expected.pop(tag)()

    def expect(self, tag: int, then: Callable[[], None]) -> None:
        """Call `then` when the next access to a page leaves its SM, or has to wait there."""
        self._expected[tag] = then

    def ended(self, request: MemoryRequest, issued: int, now: int) -> None:
        """A request has been answered, of those that left or that waited for one of them."""
        tag = self._pages.pop(request, -1)
        if tag < 0:
            return
        count = self._counts[tag] - 1
        if count:
            self._counts[tag] = count
            return
        del self._counts[tag]
        if tag in self._waiting:
            self._waiting.pop(tag)()

    def when_drained(self, tag: int, then: Callable[[], None], pages: int = 1) -> None:
        """Call `then` when no access to a page is under way: at once, if none is.

        Args:
            tag: the page.
            then: see above.
            pages: parts of it by whose names accesses may know it.
        """
        for part in range(tag, tag + pages):
            if part in self._counts:
                self._waiting[part] = lambda: self.when_drained(tag, then, pages)
                return
        then()


class Guard(Protocol):
    """Holds what may not leave yet."""

    def holds(self, request: MemoryRequest, way: Sink) -> bool:
        """Whether a request of an SM is held, to leave by `way` later."""


class WatchedExit(Sink):
    """The way out of an SM, which notes what leaves.

    Args:
        way: where it goes.
        accesses: of the GPU.
        guard: holds what may not leave yet; None: all may.
    """

    def __init__(self, way: Sink, accesses: AccessesUnderWay, guard: Guard | None = None) -> None:
        self.name = way.name
        self._way = way
        self._accesses = accesses
        self._guard = guard

    @property
    def full(self) -> bool:
        return self._way.full

    def when_free(self, sender: Wakeable) -> None:
        self._way.when_free(sender)

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        if item.kind != _WALK:
            if self._guard is not None and self._guard.holds(item, self._way):
                return
            self._accesses.left(item)
        self._way.send(item, extra_cycles)
