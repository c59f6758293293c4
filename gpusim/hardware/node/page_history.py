"""Pages whose faults in the past say whether they move at once, or after many accesses.

Wang et al., *GRIT: Enhancing Multi-GPU Performance with Fine-Grained Dynamic Page Placement*, HPCA
2024, from memory, as its text is not at hand.  Of its three schemes there are two, on-touch
migration and access counters; its third one, copies of pages that are only read, is not built.
"""

from __future__ import annotations

from typing import ClassVar

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.hardware.node.remote_pages import CountedAccesses


@mypyc_attr(allow_interpreted_subclasses=True)
class PageHistory(CountedAccesses):
    """A page moves on touch until it has done so too often; then GPUs have to access it often.

    A page that GPUs have asked for `faults` times while it lay elsewhere is *counted* from then on:
    it is mapped where it lies, and moves to a GPU after `threshold` accesses.  Where half of an
    aligned group of `group` pages is counted all of it is, pages that no GPU has asked for as well;
    so are groups of as many groups, up to `levels` of them.

    The host keeps the history in memory, in no time [our choice: GRIT has a cache for it].  Beside
    access counters no bits are added: the scheme of a page takes two unused bits of its entry.

    Args:
        gpus, page_bytes, threshold: see `CountedAccesses`.
        faults: after which a page is counted.
        group: pages that are judged together, a power of two; 1: each by itself.
        levels: sizes of groups, each `group` times the one before.

    Raises:
        OptionError: an option cannot be.
    """

    by_faults: ClassVar[bool] = True

    def __init__(
        self,
        gpus: int,
        page_bytes: int,
        *,
        threshold: int = 256,
        faults: int = 4,
        group: int = 8,
        levels: int = 3,
    ) -> None:
        super().__init__(gpus, page_bytes, threshold=threshold)
        at_least(1, faults=faults, group=group, levels=levels)
        if group & group - 1:
            raise OptionError("group", "must be a power of two")
        self._most_faults = faults
        self._group = group
        self._levels = levels if group > 1 else 0
        self._faults: dict[int, int] = {}
        self._counted: dict[int, dict[int, int]] = {0: {}}
        """By level and group (at level 0 page): -1: all of it is counted; or how many parts are."""

    def counted(self, tag: int) -> bool:
        """Whether a page moves only after many accesses."""
        size = 1
        for level in range(self._levels + 1):
            if self._counted.get(level, {}).get(tag // size, 0) < 0:
                return True
            size *= self._group
        return False

    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        if self.counted(tag):
            return False
        faults = self._faults[tag] = self._faults.get(tag, 0) + 1
        if faults < self._most_faults:
            return True
        self._count(tag)
        return False

    def _count(self, tag: int) -> None:
        """A page is counted from now on, and with it groups of which half is."""
        number = tag
        self._counted[0][number] = -1
        for level in range(1, self._levels + 1):
            number //= self._group
            groups = self._counted.setdefault(level, {})
            groups[number] = groups.get(number, 0) + 1
            if 2 * groups[number] < self._group:
                return
            groups[number] = -1

    def accessed(self, tag: int, gpu: int, owner: int) -> bool:
        return self.counted(tag) and super().accessed(tag, gpu, owner)


register_policy(Slot.REMOTE_PAGES, "page-history", PageHistory)
