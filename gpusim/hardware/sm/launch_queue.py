"""Launches of one application: which wait, which may begin, and which are under way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpusim.core.errors import UserError
from gpusim.core.streams import StreamUse
from gpusim.core.warp_program import Launch

MOST_WAITING: Final = 1024
"""Launches that a program may be ahead of the GPU [our choice]."""


class Waiting:
    """A launch that a program has made, and that has not begun.

    Attributes:
        launch: it.
        index: its number in the program.
        use: its stream, and what it waits for.
    """

    __slots__ = ("index", "launch", "use")

    def __init__(self, launch: Launch, index: int) -> None:
        self.launch = launch
        self.index = index
        self.use = launch.stream_use


class LaunchQueue:
    """The launches of one run of an application, in their streams.

    Args:
        launches: of the program, which is asked for one when it may go on.
        most: launches that may be under way on a GPU at once; None: no limit.
    """

    def __init__(self, launches: Iterator[Launch], most: int | None) -> None:
        self._launches = launches
        self._most = most
        self._asked = 0
        self._ended = False
        self._host_waits = False
        self._waiting: list[Waiting] = []
        self._under_way: list[StreamUse] = []
        self._known: set[StreamUse] = set()
        """Uses of all launches of streams, for those that come after them."""

    def take(self) -> Waiting | None:
        """The first launch that may begin now, which is under way from now on.

        Raises:
            UserError: a launch waits for one that has not been launched.
        """
        self._ask()
        blocked = list(self._under_way)
        for place, one in enumerate(self._waiting):
            if self._has_room(one.use) and not any(map(one.use.waits_for, blocked)):
                del self._waiting[place]
                self._under_way.append(one.use)
                return one
            blocked.append(one.use)
        return None

    def _has_room(self, use: StreamUse) -> bool:
        """Whether one more launch may be under way on its GPU, or on all."""
        if self._most is None or len(self._under_way) < self._most:
            return True
        beside = (other.gpu for other in self._under_way)
        return sum(gpu is None or use.gpu in (None, gpu) for gpu in beside) < self._most

    def end(self, use: StreamUse) -> None:
        """A launch with this use has ended."""
        self._under_way.remove(use)
        if not self._under_way and not self._waiting:
            self._host_waits = False

    def is_over(self) -> bool:
        """Whether the program has ended, and all its launches have."""
        self._ask()
        return self._ended and not self._waiting and not self._under_way

    def drop(self) -> None:
        """Begin no further launch."""
        self._ended = True
        self._waiting.clear()

    def _ask(self) -> None:
        """Let the program go on up to where it waits."""
        while not self._ended and not self._host_waits and len(self._waiting) < MOST_WAITING:
            launch = next(self._launches, None)
            if launch is None:
                self._ended = True
                return
            one = Waiting(launch, self._asked)
            self._asked += 1
            self._check(one)
            self._waiting.append(one)
            self._host_waits = one.use.host_waits or one.use.is_whole()

    def _check(self, one: Waiting) -> None:
        for other in one.use.after:
            if other not in self._known:
                raise UserError(
                    f"launch {one.index}, of kernel {one.launch.name!r}, waits for one that has "
                    "not been launched: yield that one first"
                )
        if not one.use.is_whole():
            self._known.add(one.use)
