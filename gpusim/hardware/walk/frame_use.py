"""Which frames are in use, and which an allocator gave together."""

from __future__ import annotations

from collections.abc import Iterator


class FrameUse:
    """Frames in which pages lie, and blocks of frames that go back as they were given."""

    def __init__(self) -> None:
        self._given: dict[int, int] = {}
        """By first frame: how many frames an allocator gave together, which are in use."""
        self._users: dict[int, int] = {}
        """By frame: how many pages lie in it."""

    def give(self, pfn: int, pages: int) -> None:
        """An allocator gave some frames together."""
        self._given[pfn] = pages

    def count(self, pfn: int, pages: int, change: int) -> None:
        """One page more or less lies in some frames."""
        for frame in range(pfn, pfn + pages):
            self._users[frame] = self._users.get(frame, 0) + change

    def released(self, pfn: int, pages: int) -> Iterator[tuple[int, int]]:
        """Blocks among some frames that no page lies in, which are then no longer in use.

        Yields:
            the first frame of each, and how many it has.
        """
        frame, end = pfn, pfn + pages
        while frame < end:
            given = self._given.get(frame, 0)
            if given and not any(self._users.get(one) for one in range(frame, frame + given)):
                del self._given[frame]
                yield frame, given
            frame += given or 1
