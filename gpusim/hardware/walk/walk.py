"""One page walk: whose it is, and how far it has come."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from gpusim.core.request import Access, Translation
from gpusim.hardware.walk.page_path import PagePath


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
        moved: whether its page has changed before its entry was read: the path is looked up anew.
        overtaken: whether it has changed afterwards: what was read is void.
        home: the SM whose warp executes it; -1: a walker of the hardware does.
        begun: whether that warp has issued anything of it.
        issued: whether it has issued the instructions of the current step.
    """

    __slots__ = (
        "arrived",
        "begun",
        "home",
        "issued",
        "level",
        "moved",
        "overtaken",
        "path",
        "read",
        "requested",
        "started",
        "translation",
    )

    def __init__(self, translation: Translation, path: PagePath, requested: int) -> None:
        self.translation = translation
        self.path = path
        self.requested = requested
        self.started = 0
        self.arrived = 0
        self.level = 0
        self.read = 0
        self.moved = False
        self.overtaken = False
        self.home = -1
        self.begun = False
        self.issued = False

    def shoot_down(self) -> None:
        """Its page changes: what it has read of the last level is void, and not asked for is new.

        A walk of a fixed time, or of a time a level, has read its entry when it begins.
        """
        if self.level >= len(self.path.entries) - 1:
            self.overtaken = True
        else:
            self.moved = True

    def return_to_root(self) -> None:
        """What it has read is void: it begins anew, with the path as it is then."""
        self.level = 0
        self.read = 0
        self.overtaken = False
        self.moved = True

    def go_on(self, path: PagePath) -> None:
        """Follow the path as it is now; void if the levels above have changed as well."""
        self.moved = False
        self.overtaken = (
            self.level >= len(path.entries)
            or path.entries[: self.level] != self.path.entries[: self.level]
        )
        if not self.overtaken:
            self.path = path

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
