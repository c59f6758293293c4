"""Fetches under way to an L2 bank, and the requests that wait for each."""

from __future__ import annotations

from gpusim.core.request import MemoryRequest
from gpusim.core.unboxed import IntDict

Arrival = tuple[int, list[MemoryRequest], list[MemoryRequest]]
"""The sectors that have come, the requests that have all they waited for, and the others."""


class Awaited:
    """What is under way of one line, and what waits for it.

    Attributes:
        fetched, bringers: sectors of each fetch, and the request that brings them: that of a miss,
            or one of its own.
        requests, needs: that wait, and the sectors for which each still does.
    """

    __slots__ = ("bringers", "fetched", "needs", "requests")

    def __init__(self, sectors: int, bringer: MemoryRequest) -> None:
        self.fetched = [sectors]
        self.bringers = [bringer]
        self.requests: list[MemoryRequest] = []
        self.needs: list[int] = []


class Fetches:
    """Fetches under way by the names of lines; several of one line bring different sectors."""

    def __init__(self) -> None:
        self._lines: IntDict[Awaited] = IntDict()

    def lacking(self, name: int, missing: int) -> int:
        """The sectors among some missing ones of a line that are not on their way."""
        awaited = self._lines.get(name)
        if awaited is not None:
            for sectors in awaited.fetched:
                missing &= ~sectors
        return missing

    def begin(self, name: int, sectors: int, bringer: MemoryRequest) -> None:
        """Some sectors of a line are on their way."""
        awaited = self._lines.get(name)
        if awaited is None:
            self._lines[name] = Awaited(sectors, bringer)
        else:
            awaited.fetched.append(sectors)
            awaited.bringers.append(bringer)

    def wait(self, name: int, missing: int, request: MemoryRequest, now: int) -> None:
        """Let a request wait for missing sectors, all of which are on their way."""
        awaited = self._lines[name]
        awaited.requests.append(request)
        awaited.needs.append(missing)
        fetched = awaited.fetched
        for place in range(len(fetched) - 1, -1, -1):
            if fetched[place] & missing:
                bringer = awaited.bringers[place]
                if bringer is not request:
                    request.follow(bringer, now)
                return

    def arrive(self, name: int, bringer: MemoryRequest) -> Arrival:
        """A fetch has come."""
        awaited = self._lines[name]
        if len(awaited.fetched) == 1:
            del self._lines[name]
            return awaited.fetched[0], awaited.requests, []
        place = 0
        while awaited.bringers[place] is not bringer:
            place += 1
        came = awaited.fetched.pop(place)
        del awaited.bringers[place]
        ready: list[MemoryRequest] = []
        still: list[MemoryRequest] = []
        needs: list[int] = []
        for number, request in enumerate(awaited.requests):
            need = awaited.needs[number] & ~came
            if need:
                still.append(request)
                needs.append(need)
            else:
                ready.append(request)
        awaited.requests, awaited.needs = still, needs
        return came, ready, list(still)
