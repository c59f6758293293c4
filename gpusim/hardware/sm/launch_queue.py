"""Launches of one application: which wait, which may begin, and which are under way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpusim.core.errors import UserError
from gpusim.core.streams import DEFAULT_STREAM, StreamUse, stream_use
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
        self.use = stream_use(launch)


class LaunchQueue:
    """The launches of one run of an application, in their streams.

    Args:
        launches: of the program, which is asked for one when it may go on.
        most: launches that may be under way at once; None: no limit.
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
        if self._most is not None and len(self._under_way) >= self._most:
            return None
        blocked = list(self._under_way)
        for place, one in enumerate(self._waiting):
            if _may_begin(one.use, blocked):
                del self._waiting[place]
                self._under_way.append(one.use)
                return one
            blocked.append(one.use)
        return None

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
            self._host_waits = one.use.host_waits or one.use.stream == DEFAULT_STREAM

    def _check(self, one: Waiting) -> None:
        for other in one.use.after:
            if other not in self._known:
                raise UserError(
                    f"launch {one.index}, of kernel {one.launch.name!r}, waits for one that has "
                    "not been launched: yield that one first"
                )
        if one.use.stream != DEFAULT_STREAM:
            self._known.add(one.use)


def _may_begin(use: StreamUse, before: list[StreamUse]) -> bool:
    """Whether a launch waits for none of those before it that have not ended."""
    if use.stream == DEFAULT_STREAM:
        return not before
    for other in before:
        if other.stream == DEFAULT_STREAM or other.stream == use.stream or other in use.after:
            return False
    return True
