"""The slot of a TLB level: which translations it holds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from mypy_extensions import mypyc_attr

from gpusim.core.mapping import Mapping
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot
from gpusim.core.structures import Dimensions, Storage


@mypyc_attr(allow_interpreted_subclasses=True)
class TlbArray(Policy):
    """Decides hit or miss, where a translation goes, and what it evicts.

    A page is named by its *tag*, ``asid << ASID_SHIFT | vpn`` (`gpusim.core.mapping`), in the
    smallest pages of the machine.  An array gives back the very `Mapping` that it was given for a
    page, or that `Signals.mapping` tells of it; anything else ends the run.  `slot` is the
    hardware slot of the thread block that asks, which some arrays index by.

    Attributes:
        extra_cycles: what the last lookup took beyond the level's latency; it also holds the
            port for so long, except for `pipelined_cycles`.
        pipelined_cycles: how many of these are further stages of the pipeline, which the next
            lookup need not wait for.
        by_block_slot: it is indexed by block slots, so it cannot serve several SMs, whose slots
            have the same numbers.
        fills_every_slot: a translation that several blocks wait for is inserted for each of them,
            not only for the one that asked first.
        most_spaces: how many address spaces it can serve; 0: any number.
        replaces: entries go as ``tlb.NAME.replacement`` says, for which the array asks the policy
            (`gpusim.core.replacement.make_replacement`); otherwise a model may not name one.
        large_pages: what becomes of a page larger than the smallest: ``"whole"``: an entry maps
            all of it; ``"splintered"``: an entry maps the one small page in it that was asked for.
        hashable: pages are nothing but names to it, of which low bits choose the set, so that
            ``tlb.NAME.hash`` can give it others (`HashedArray`).
        spills: it puts the pages of each entry that it evicts into `spilled`, if there is such a
            list, for a victim buffer (``tlb.NAME.victims``) or a fill policy that follows them.
    """

    extra_cycles: int = 0
    pipelined_cycles: int = 0
    by_block_slot: ClassVar[bool] = False
    fills_every_slot: bool = False
    most_spaces: int = 0
    replaces: ClassVar[bool] = False
    large_pages: str = "splintered"
    hashable: bool = False
    spills: bool = False
    spilled: list[dict[int, Mapping]] | None = None

    @abstractmethod
    def lookup(self, tag: int, slot: int) -> Mapping | None:
        """What covers the page, or None; a hit counts as a use."""

    @abstractmethod
    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        """Take in what the page `tag` was found to be; returns how many entries were evicted.

        A mapping of more than one page covers `tag`, and an array that is ``"whole"`` keeps it for
        all of them.
        """

    @abstractmethod
    def invalidate(self, tag: int) -> bool:
        """Forget one page, with the larger one around it; returns whether it was there."""

    @abstractmethod
    def flush(self) -> None:
        """Forget everything."""

    def reach(self) -> int | None:
        """How many of the smallest pages it can hold at most; None: that is not known."""
        return None

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """What it keeps in hardware; None: it does not tell."""
        return None

    def counters(self) -> tuple[object, ...]:
        """Counters of its own beside the level's: attrs instances made with `counters.count`."""
        return ()

    def counters_of(self, asid: int) -> tuple[object, ...]:
        """Those of its own that it keeps for each address space."""
        return ()


open_slot(Slot.TLB_ARRAY, TlbArray, "config")
