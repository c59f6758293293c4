"""What is kept of a page that moves from one GPU to another one, or is copied to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import frozen

from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.unboxed import pair
from gpusim.hardware.node.far_faults import FarFault

_WRITEBACK: Final = int(Kind.WRITEBACK)

BEGIN: Final = 0
FORGET: Final = 1
ACKNOWLEDGED: Final = 2
PASSED: Final = 3
"""Steps: a move begins; a GPU is asked to forget its page, and has; all of a move of fixed cost is
over."""


class Move:
    """A page that moves, or is copied.

    Attributes:
        copies: the page stays with its owner, and `target` gets a copy.
        tag: its first page.
        app: its application.
        source, target: the GPUs.
        begun: cycle in which it began.
        silent: cycle in which all GPUs had acknowledged.
        left: acknowledgements, or pieces of the copy, that are to come.
        faults: those that wait for it.
        departure: which the page leaves with; None: it goes to another GPU.
        waiting: departures that wait until it has moved.
    """

    __slots__ = (
        "app",
        "begun",
        "copies",
        "departure",
        "faults",
        "left",
        "silent",
        "source",
        "tag",
        "target",
        "waiting",
    )

    def __init__(
        self, tag: int, app: int, source: int, target: int, now: int, *, copies: bool = False
    ) -> None:
        self.tag = tag
        self.app = app
        self.source = source
        self.target = target
        self.copies = copies
        self.begun = now
        self.silent = now
        self.left = 0
        self.faults: list[FarFault] = []
        self.departure: Departure | None = None
        self.waiting: list[Departure] = []


class Departure:
    """Pages that leave the memory of a GPU for the host together.

    Attributes:
        left: pages that GPUs have not forgotten yet, and one more until all are known.
        stays: whether a page has not moved away.
        then: called when all GPUs have forgotten them, with those that leave.
        moves: those of pages that all GPUs have forgotten.
    """

    __slots__ = ("left", "moves", "stays", "then")

    def __init__(
        self, left: int, stays: Callable[[int], bool], then: Callable[[list[int]], None]
    ) -> None:
        self.left = left
        self.stays = stays
        self.then = then
        self.moves: list[Move] = []


@frozen
class Step:
    """What happens to a move next: at a GPU, where it says so."""

    what: int
    move: Move
    gpu: int = -1


class Arrival:
    """A page has been entered into the table of a GPU, which has not used it.

    Attributes:
        later: steps that wait until it has.
    """

    __slots__ = ("later",)

    def __init__(self) -> None:
        self.later: list[Step] = []


class PageChunk(MemoryRequest):
    """A piece of a page on its way to another GPU."""

    __slots__ = ("move",)

    def __init__(self, move: Move, number: int, now: int) -> None:
        super().__init__(
            _WRITEBACK, move.app, 0, -1, move.tag, number, -1, 0, 0, None, pair(0, now)
        )
        self.move = move
