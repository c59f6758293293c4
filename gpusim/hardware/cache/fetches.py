"""Fetches under way to an L2 bank, and the requests that wait for each."""

from __future__ import annotations

from gpusim.core.request import MemoryRequest
from gpusim.core.unboxed import IntDict

Fetch = tuple[int, MemoryRequest]
"""Sectors, and the request that brings them: that of a miss, or one of its own."""

Waiting = tuple[MemoryRequest, int]
"""A request, and the sectors that it still waits for."""

Arrival = tuple[int, list[MemoryRequest], list[MemoryRequest]]
"""The sectors that have come, the requests that have all they waited for, and the others."""


class Fetches:
    """Fetches under way by the names of lines; several of one line bring different sectors."""

    def __init__(self) -> None:
        self._fetches: IntDict[list[Fetch]] = IntDict()
        self._waiting: IntDict[list[Waiting]] = IntDict()

    def lacking(self, name: int, missing: int) -> int:
        """The sectors among some missing ones of a line that are not on their way."""
        fetches = self._fetches.get(name)
        if fetches is not None:
            for sectors, _ in fetches:
                missing &= ~sectors
        return missing

    def begin(self, name: int, sectors: int, bringer: MemoryRequest) -> None:
        """Some sectors of a line are on their way."""
        fetches = self._fetches.get(name)
        if fetches is None:
            self._fetches[name] = [(sectors, bringer)]
        else:
            fetches.append((sectors, bringer))

    def wait(self, name: int, missing: int, request: MemoryRequest, now: int) -> None:
        """Let a request wait for missing sectors, all of which are on their way."""
        waiting = self._waiting.get(name)
        if waiting is None:
            self._waiting[name] = [(request, missing)]
        else:
            waiting.append((request, missing))
        for sectors, bringer in reversed(self._fetches[name]):
            if sectors & missing:
                if bringer is not request:
                    request.follow(bringer, now)
                return

    def arrive(self, name: int, bringer: MemoryRequest) -> Arrival:
        """A fetch has come."""
        fetches, waiting = self._fetches[name], self._waiting[name]
        if len(fetches) == 1:
            del self._fetches[name], self._waiting[name]
            return fetches[0][0], [request for request, _ in waiting], []
        (came,) = [sectors for sectors, one in fetches if one is bringer]
        self._fetches[name] = [fetch for fetch in fetches if fetch[1] is not bringer]
        still = [(one, need & ~came) for one, need in waiting if need & ~came]
        self._waiting[name] = still
        ready = [one for one, need in waiting if not need & ~came]
        return came, ready, [one for one, _ in still]
