"""One page walk: whose it is, and how far it has come."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from gpusim.core.request import Access, Translation
from gpusim.hardware.walk.page_table import PagePath


@mypyc_attr(allow_interpreted_subclasses=True)
class Walk:
    """A walk that waits for a walker, or is under way.

    Attributes:
        translation: the one that asked first.
        path: what is read, and what is found.
        requested: cycle in which it was asked for.
        started: cycle in which it got a walker.
        arrived: cycle in which it came to its level.
        level: that it reads next, 0 is the root.
        read: levels of the page table really read so far.
    """

    __slots__ = ("arrived", "level", "path", "read", "requested", "started", "translation")

    def __init__(self, translation: Translation, path: PagePath, requested: int) -> None:
        self.translation = translation
        self.path = path
        self.requested = requested
        self.started = 0
        self.arrived = 0
        self.level = 0
        self.read = 0

    @property
    def app(self) -> int:
        """Index of the application."""
        return self.translation.app

    @property
    def tag(self) -> int:
        """The page, tagged with its address space."""
        return self.translation.tag

    @property
    def sm(self) -> int:
        """Index of the SM whose lookup missed first."""
        return self.translation.sm

    @property
    def kind(self) -> int:
        """Why it is walked, see `gpusim.core.request.Purpose`."""
        return self.translation.kind

    @property
    def access(self) -> Access | None:
        """The warp instruction behind it; one object for all walks of an instruction."""
        return self.translation.access
