"""What a walk of one page reads."""

from __future__ import annotations

from typing import Final

from gpusim.core.mapping import Mapping


class PagePath:
    """What a walk of one page reads.

    Attributes:
        entries: physical address of the entry read at each level, root first.
        prefixes: for each of these entries the part of the page number that selects it and all
            above it: what a walk cache is keyed by.
        mapping: what the last one says.
        beside: what is read together with each entry; empty: nothing is.
    """

    __slots__ = ("beside", "entries", "mapping", "prefixes")

    def __init__(
        self,
        entries: tuple[int, ...],
        prefixes: tuple[int, ...],
        mapping: Mapping,
        beside: tuple[tuple[int, ...], ...] = (),
    ) -> None:
        self.entries = entries
        self.prefixes = prefixes
        self.mapping = mapping
        self.beside = beside

    @property
    def pfn(self) -> int:
        """The first frame of the page."""
        return self.mapping.pfn


NOWHERE: Final = Mapping(0, 0)
"""What the walk of a page finds that is not there."""
