"""Which GPUs of a node know which pages: those whose tables have them, or will have them.

Where all GPUs walk one table, any of them may know any page.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.core.mapping import Mapping
from gpusim.hardware.node.forwarding import Forwarding
from gpusim.hardware.node.invalidation import Invalidation
from gpusim.hardware.node.move_site import GpuSide, MoveSite, NodePages


class KnownPages:
    """Enters pages into tables of GPUs, and lets GPUs forget them.

    Args:
        site: of the moves.
        pages: of the node.

    Attributes:
        gpus: by number.
    """

    def __init__(self, site: MoveSite, pages: NodePages) -> None:
        self.gpus: Sequence[GpuSide] = ()
        self._shared = site.shared
        self._pages = pages
        self._invalidation: Invalidation | None = site.invalidation
        self._forwarding: Forwarding | None = site.forwarding
        self._holders: dict[int, int] = {}
        """By page, the GPUs whose tables have it, or will have: a bit each."""

    def expect(self, tag: int, gpu: int) -> None:
        """A GPU's table has a page, or will have it; `tag`: its first page."""
        self._holders[tag] = self._holders.get(tag, 0) | 1 << gpu

    def enter(self, mapping: Mapping, gpu: int) -> None:
        """Enter a page into a GPU's table."""
        self.gpus[gpu].enter(mapping)
        for tag in range(mapping.tag, mapping.tag + mapping.pages):
            if self._invalidation is not None:
                self._invalidation.written(tag, gpu)
            if self._forwarding is not None:
                self._forwarding.entered(tag, gpu)

    def holders(self, mapping: Mapping) -> int:
        """The GPUs whose tables have a page, or a part of it, or will have: a bit each."""
        if self._shared:
            return (1 << len(self.gpus)) - 1
        holders = self._holders.get(mapping.tag, 0)
        for tag in range(mapping.tag + 1, mapping.tag + mapping.pages):
            holders |= self._holders.get(tag, 0)
        return holders

    def is_held(self, tag: int, gpu: int) -> bool:
        """Whether a GPU's table has a page, or will have it."""
        mapping = self._pages.find(tag)
        return mapping is not None and self.holders(mapping) >> gpu & 1 != 0

    def forget(self, tag: int, gpu: int) -> None:
        """A GPU forgets a page, if it has it."""
        mapping = self._pages.find(tag)
        if mapping is None or not self.holders(mapping) >> gpu & 1:
            return
        others = ~(1 << gpu)
        parts = range(mapping.tag, mapping.tag + mapping.pages)
        for part in parts:
            self._holders[part] = self._holders.get(part, 0) & others
        self.gpus[gpu].forget(mapping)
        if self._forwarding is not None:
            for part in parts:
                self._forwarding.left(part, gpu)
