"""Fetches under way to an L2 bank, and the requests that wait for each."""

from __future__ import annotations

from gpusim.core.request import MemoryRequest
from gpusim.core.unboxed import IntDict, add_new

Arrival = tuple[int, list[MemoryRequest], list[MemoryRequest]]
"""The sectors that have come, the requests that have all they waited for, and the others."""


class Awaited:
    """What is under way of one line, and what waits for it.

    Most lines have one fetch under way, which brings all that the requests wait for.

    Attributes:
        sectors, bringer: of the first fetch, and the request that brings them: that of a miss, or
            one of its own.
        requests: that wait.
        more: the other fetches; None: there are none.
    """

    __slots__ = ("bringer", "more", "requests", "sectors")

    def __init__(self, sectors: int, bringer: MemoryRequest) -> None:
        self.sectors = sectors
        self.bringer = bringer
        self.requests: list[MemoryRequest] = []
        self.more: Several | None = None

    def coming(self) -> int:
        """The sectors that are on their way."""
        return self.sectors if self.more is None else self.more.coming()


class Several:
    """Fetches of one line that bring different sectors.

    Attributes:
        fetched, bringers: sectors of each fetch, and the request that brings them.
        needs: of each request that waits, the sectors for which it still does.
    """

    __slots__ = ("bringers", "fetched", "needs")

    def __init__(self, first: Awaited) -> None:
        self.fetched = [first.sectors]
        self.bringers = [first.bringer]
        self.needs = [first.sectors for _ in first.requests]

    def coming(self) -> int:
        found = 0
        for sectors in self.fetched:
            found |= sectors
        return found

    def bringer_of(self, missing: int) -> MemoryRequest:
        """What brings some missing sectors, all of which are on their way: the last that does."""
        place = len(self.fetched) - 1
        while place and not self.fetched[place] & missing:
            place -= 1
        return self.bringers[place]

    def take(self, bringer: MemoryRequest) -> int:
        """One of the fetches has come; returns its sectors."""
        place = 0
        while self.bringers[place] is not bringer:
            place += 1
        self.bringers.pop(place)
        return self.fetched.pop(place)


class Fetches:
    """Fetches under way by the names of lines; several of one line bring different sectors."""

    def __init__(self) -> None:
        self._lines: IntDict[Awaited] = IntDict()
        self._none: list[MemoryRequest] = []
        """No requests; never changed."""

    def lacking(self, name: int, missing: int) -> int:
        """The sectors among some missing ones of a line that are not on their way."""
        awaited = self._lines.get(name)
        return missing if awaited is None else missing & ~awaited.coming()

    def begin(self, name: int, sectors: int, bringer: MemoryRequest) -> None:
        """Some sectors of a line are on their way."""
        awaited = self._lines.get(name)
        if awaited is None:
            add_new(self._lines, name, Awaited(sectors, bringer))
            return
        if awaited.more is None:
            awaited.more = Several(awaited)
        awaited.more.fetched.append(sectors)
        awaited.more.bringers.append(bringer)

    def wait(self, name: int, missing: int, request: MemoryRequest, now: int) -> None:
        """Let a request wait for missing sectors, all of which are on their way."""
        awaited = self._lines[name]
        awaited.requests.append(request)
        more, bringer = awaited.more, awaited.bringer
        if more is not None:
            more.needs.append(missing)
            bringer = more.bringer_of(missing)
        if bringer is not request:
            request.follow(bringer, now)

    def arrive(self, name: int, bringer: MemoryRequest) -> Arrival:
        """A fetch has come."""
        awaited = self._lines[name]
        more = awaited.more
        if more is None or len(more.fetched) == 1:
            del self._lines[name]
            came = awaited.sectors if more is None else more.fetched[0]
            return came, awaited.requests, self._none
        came = more.take(bringer)
        ready: list[MemoryRequest] = []
        still: list[MemoryRequest] = []
        needs: list[int] = []
        for number, request in enumerate(awaited.requests):
            need = more.needs[number] & ~came
            if need:
                still.append(request)
                needs.append(need)
            else:
                ready.append(request)
        awaited.requests, more.needs = still, needs
        return came, ready, list(still)
