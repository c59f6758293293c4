"""Pages that come from the host, and leave for it once all GPUs have forgotten them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gpusim.core.engine import EventLoop
from gpusim.core.mapping import Mapping
from gpusim.hardware.node.arrivals import Arrivals
from gpusim.hardware.node.known_pages import KnownPages
from gpusim.hardware.node.move_site import NodePages
from gpusim.hardware.node.page_move import Departure, Move


class Leaving(Protocol):
    """What lets GPUs forget a page."""

    def begins_to_leave(self, move: Move, mapping: Mapping) -> None:
        """A page is to be forgotten by all GPUs: `Departures.forgotten` is called then."""

    def have_left(self, moves: Sequence[Move]) -> None:
        """Pages have left the memories of GPUs."""


class Departures:
    """Lets pages leave together; one that moves now leaves when it has, if it still lies there.

    Args:
        env: the environment.
        pages: of the node.
        known: which GPUs know which pages.
        arrivals: pages that GPUs were given and have not used.
        moves: by page, those under way, of pages that leave as well.
        leaving: lets GPUs forget pages.
    """

    def __init__(
        self,
        env: EventLoop,
        pages: NodePages,
        known: KnownPages,
        arrivals: Arrivals,
        moves: dict[int, Move],
        leaving: Leaving,
    ) -> None:
        self._env = env
        self._pages = pages
        self._known = known
        self._arrivals = arrivals
        self._moves = moves
        self._leaving = leaving

    def brought(self, tag: int, gpu: int, *, asked: bool) -> None:
        """A page has come to a GPU's memory from the host, and into its table.

        Args:
            tag: the page.
            gpu: the GPU.
            asked: whether it has asked for the page.
        """
        mapping = self._pages.find(tag)
        if mapping is not None:
            self._known.expect(mapping.tag, gpu)
            if asked:
                self._arrivals.expect(mapping.tag, gpu)
            self._known.enter(mapping, gpu)
            self._arrivals.entered(mapping.tag, gpu)

    def is_moving(self, tag: int) -> bool:
        """Whether a page moves, or leaves, now."""
        return tag in self._moves

    def leave(
        self,
        tags: Sequence[int],
        stays: Callable[[int], bool],
        then: Callable[[list[int]], None],
    ) -> None:
        """Let all GPUs forget pages of a GPU's memory, which leave for the host.

        Args:
            tags: the pages.
            stays: whether a page that moved meanwhile is in that memory still, and leaves.
            then: called with the pages that leave, when all GPUs have forgotten them.
        """
        found: dict[int, None] = {}
        for tag in tags:
            mapping = self._pages.find(tag)
            if mapping is not None:
                found[mapping.tag] = None
        departure = Departure(len(found) + 1, stays, then)
        for tag in found:
            move = self._moves.get(tag)
            if move is None:
                self.depart(departure, tag)
            else:
                move.waiting.append(departure)
        self._one_less(departure)

    def depart(self, departure: Departure, tag: int) -> None:
        """A page that does not move leaves, if it is where it was."""
        mapping = self._pages.find(tag)
        if mapping is None or not departure.stays(tag):
            self._one_less(departure)
            return
        gpu = self._pages.gpu_of(mapping.pfn)
        move = Move(mapping.tag, mapping.asid, gpu, gpu, self._env._now)
        move.departure = departure
        self._moves[mapping.tag] = move
        self._leaving.begins_to_leave(move, mapping)

    def forgotten(self, move: Move) -> None:
        """All GPUs have forgotten a page that leaves."""
        assert move.departure is not None
        move.departure.moves.append(move)
        self._one_less(move.departure)

    def _one_less(self, departure: Departure) -> None:
        """One page less is waited for: after the last one, all leave."""
        departure.left -= 1
        if departure.left:
            return
        leaving: list[int] = []
        for move in departure.moves:
            mapping = self._pages.find(move.tag)
            if mapping is not None:
                leaving += range(mapping.tag, mapping.tag + mapping.pages)
        departure.then(leaving)
        self._leaving.have_left(departure.moves)
