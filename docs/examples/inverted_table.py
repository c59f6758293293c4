"""An inverted page table: one entry a frame, and a hash table of chains through them.

After Jacob & Mudge, *A Look at Several Memory Management Units, TLB-Refill Mechanisms, and Page
Table Organizations* (ASPLOS 1998): a walk reads its anchor, then entry after entry of the chain.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.plugin import ASID_SHIFT, Mapping, Slot, Step, TableLayout, TableSite, at_least, policy

ENTRY_BYTES = 16
ANCHOR_BYTES = 8


@policy(Slot.PAGE_TABLE, "inverted")
class InvertedTable(TableLayout):
    """Chains by the first number of a page; its entry lies where the number of its frame says.

    Args:
        site: what it is made with.
        frames_per_anchor: how many frames there are for each chain.
    """

    moves = True

    def __init__(self, site: TableSite, *, frames_per_anchor: int = 2) -> None:
        at_least(1, frames_per_anchor=frames_per_anchor)
        super().__init__(site)
        self.levels = 3
        self._anchors = site.frames // frames_per_anchor
        self._chains: dict[int, dict[int, list[Mapping]]] = {}
        self._bases: dict[int, tuple[int, int]] = {}

    def steps(self, tag: int, mapping: Mapping | None) -> Sequence[Step]:
        anchor, chain = self._chain(tag if mapping is None else mapping.tag)
        found = [Step(self._base(tag)[0] + anchor * ANCHOR_BYTES)]
        for entry in chain:
            found.append(Step(self._base(tag)[1] + entry.pfn * ENTRY_BYTES))
            if entry is mapping:
                break
        return found

    def mapped(self, mapping: Mapping) -> None:
        self._chain(mapping.tag)[1].append(mapping)

    def unmapped(self, mapping: Mapping) -> None:
        self._chain(mapping.tag)[1].remove(mapping)

    def _chain(self, tag: int) -> tuple[int, list[Mapping]]:
        """Number of the anchor of a page, and the pages of its chain."""
        memory = self.site.memory_of(tag >> ASID_SHIFT)
        anchor = tag * 0x9E3779B97F4A7C15 % (1 << 61) % self._anchors
        return anchor, self._chains.setdefault(memory, {}).setdefault(anchor, [])

    def _base(self, tag: int) -> tuple[int, int]:
        """Where the anchors and the entries of a page's memory begin."""
        asid = tag >> ASID_SHIFT
        memory = self.site.memory_of(asid)
        if memory not in self._bases:
            anchors = self.site.reserve(asid, self._anchors * ANCHOR_BYTES)
            entries = self.site.reserve(asid, self.site.frames * ENTRY_BYTES)
            self._bases[memory] = anchors, entries
        return self._bases[memory]
