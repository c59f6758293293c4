"""Reads of page-table entries that walks have sent, and wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gpusim.core.engine import EventLoop, Port, Sink, Wakeable
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import pair
from gpusim.hardware.walk.page_path import NOWHERE
from gpusim.hardware.walk.page_table import PageTable
from gpusim.hardware.walk.walk import Walk

_WALK_READ: Final = int(Kind.WALK)
_WALK: Final = int(State.WALK)


class _Together:
    """Reads that a walk has sent at once.

    Attributes:
        left: how many have not come.
        over: whether the walk has gone on.
    """

    __slots__ = ("left", "over")

    def __init__(self, count: int) -> None:
        self.left = count
        self.over = False


class LevelRead(MemoryRequest):
    """The read of one page-table entry, which remembers its walk; `sm`: the SM that sends it.

    Attributes:
        together: the reads that were sent at once with it; None: it is alone.
        first: whether the walk goes on from its entry.
    """

    __slots__ = ("first", "together", "walk")

    def __init__(self, walk: Walk, address: int, sm: int, depth: int) -> None:
        translation = walk.translation
        super().__init__(
            _WALK_READ,
            translation.app,
            translation.asid,
            sm,
            translation.tag,
            address,
            -1,
            1,
            depth,
            None,
            pair(_WALK, walk.started),
        )
        self.walk = walk
        self.together: _Together | None = None
        self.first = True


class LevelReads:
    """Sends the reads of the levels of walks, and says with which of them a walk goes on.

    Args:
        env: the environment.
        name: of the walkers.
        table: the page table that is read.
        memory: where a read goes; asked once for each.

    Attributes:
        answers: where reads come back.
        unsent: reads for which there was no room.
        late: reads under way that no walk waits for any more.
    """

    def __init__(
        self, env: EventLoop, name: str, table: PageTable, memory: Callable[[MemoryRequest], Sink]
    ) -> None:
        self.answers: Port[LevelRead] = Port(env, f"{name}.reads")
        self.unsent: list[tuple[LevelRead, Sink]] = []
        self.late = 0
        self._table = table
        self._memory = memory
        self._deep = table.layout is not None
        """Whether walks may have more steps than are counted apart."""

    def send(self, walk: Walk, sm: int, delay: int, wake: Wakeable) -> int:
        """Send the reads of the current level of a walk.

        Args:
            walk: it.
            sm: which sends them; -1: the walkers do.
            delay: in which they leave.
            wake: woken when there is room for those that cannot leave.

        Returns:
            how many there are beside the one from which the walk goes on.
        """
        path = walk.path
        read = self._send_one(walk, path.entries[walk.level], sm, delay, wake)
        if not path.beside:
            return 0
        beside = path.beside[walk.level]
        read.together = _Together(1 + len(beside))
        for other in beside:
            one = self._send_one(walk, other, sm, delay, wake)
            one.first = False
            one.together = read.together
        return len(beside)

    def _send_one(self, walk: Walk, address: int, sm: int, delay: int, wake: Wakeable) -> LevelRead:
        depth = walk.level + 1
        if self._deep:
            depth = min(depth, self._table.levels)
        read = LevelRead(walk, address, sm, depth)
        read.return_to(self.answers)
        port = self._memory(read)
        if self.unsent or not _sent(read, port, delay, wake):
            self.unsent.append((read, port))
        return read

    def send_again(self, wake: Wakeable) -> None:
        """Send the reads for which there was no room."""
        while self.unsent:
            read, port = self.unsent[0]
            if not _sent(read, port, 0, wake):
                return
            self.unsent.pop(0)

    def too_late(self, read: LevelRead) -> bool:
        """A read has come: whether its walk has gone on without it."""
        if read.together is None or not read.together.over:
            return False
        self.late -= 1
        return True

    def goes_on(self, read: LevelRead) -> bool:
        """A read has come that is not too late: whether its walk goes on with it."""
        together = read.together
        if together is None:
            return True
        together.left -= 1
        enough = self._table.first_is_enough and read.walk.path.mapping is not NOWHERE
        if together.left and not (enough and read.first):
            return False
        together.over = True
        self.late += together.left
        return True


def _sent(read: LevelRead, port: Sink, delay: int, wake: Wakeable) -> bool:
    """Send a read, if there is room for it."""
    if port.full:
        port.when_free(wake)
        return False
    port.send(read, delay)
    return True
