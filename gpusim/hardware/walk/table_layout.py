"""The slot of page tables other than the radix tree: where entries lie, and what a walk reads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.mapping import Mapping
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot

LINE_BYTES: Final = 64
"""Of a slot of a hash table, or a node, that one read brings: eight entries of a page table."""


@frozen
class Step:
    """What a walk reads at once, before it can go on.

    Attributes:
        address: physical, of the entry that leads on, or, in the last step, of the page's own.
        beside: addresses that are read together with it, as the walk cannot know which one it is.
        prefix: the part of the page number that selects the entry, and all above it, by which a
            page-walk cache keeps it; of no meaning if the layout is no tree.
    """

    address: int
    beside: tuple[int, ...] = ()
    prefix: int = 0


@frozen(eq=False)
class TableSite:
    """What a layout of page tables is made with.

    Attributes:
        page_shift: of the smallest pages, in which pages and frames are counted: bytes as a power
            of two.
        levels: ``memory.levels``, of a radix tree of 4 KiB pages.
        table_entries: ``memory.table_entries``, of a table of 4 KiB of that tree.
        frames: of all memory.
        memory_of: which of the memories of the machine the pages of an address space lie in.
        reserve: takes some bytes of the memory of an address space for good, in whole pages of
            4 KiB; returns the first address.
    """

    page_shift: int
    levels: int
    table_entries: int
    frames: int
    memory_of: Callable[[int], int]
    reserve: Callable[[int, int], int]


@mypyc_attr(allow_interpreted_subclasses=True)
class TableLayout(Policy):
    """Where the entries of page tables lie, and what a walk reads to find one.

    What is mapped to what the machine knows itself; a layout hears of each page that is mapped
    or unmapped, and says for each walk which addresses are read, in which order.

    Args:
        site: what it is made with.

    Attributes:
        moves: whether the steps of a page can change while it stays mapped, because others come
            and go: they are then asked for anew at the begin of each walk.
        tree: whether each step leads to smaller tables, so that a page-walk cache can keep upper
            ones; ``walk.cache`` of other layouts can keep lines only.
        first_is_enough: of several reads of a step, the walk goes on when the one at `address` has
            come: the others are answered, and of no use.  Else it waits for all.
        levels: steps that are counted apart; further ones are counted with the last.
    """

    moves: ClassVar[bool] = False
    tree: ClassVar[bool] = False
    first_is_enough: ClassVar[bool] = True
    levels: int = 1

    def __init__(self, site: TableSite) -> None:
        self.site = site

    @abstractmethod
    def steps(self, tag: int, mapping: Mapping | None) -> Sequence[Step]:
        """What a walk of a page reads, at least one step.

        Args:
            tag: the page.
            mapping: what covers it, which `mapped` has named; None: it is not mapped, and the
                walk finds that out.
        """

    def mapped(self, mapping: Mapping) -> None:
        """A page, of any size, has an entry from now on."""

    def unmapped(self, mapping: Mapping) -> None:
        """A page has no entry any more, or another one which `mapped` names next."""


open_slot(Slot.PAGE_TABLE, TableLayout, "site")


def levels_of(layout: TableLayout) -> int:
    """`levels` of a layout, whose class may state them: as Python reads them."""
    stated: Any = layout
    levels: int = stated.levels
    return levels


def mixed(key: int, seed: int = 0) -> int:
    """A hash of a whole number, of 64 bits: the finalizer of MurmurHash3 (Appleby)."""
    mask = (1 << 64) - 1
    key = (key + 0x9E3779B97F4A7C15 * (seed + 1)) & mask
    key = (key ^ key >> 33) * 0xFF51AFD7ED558CCD & mask
    key = (key ^ key >> 33) * 0xC4CEB9FE1A85EC53 & mask
    return key ^ key >> 33
