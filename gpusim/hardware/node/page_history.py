"""Pages whose faults in the past say whether they move at once, after many accesses, or are copied.

Wang et al., *GRIT: Enhancing Multi-GPU Performance with Fine-Grained Dynamic Page Placement*, HPCA
2024, from memory, as its text is not at hand.
"""

from __future__ import annotations

from typing import ClassVar

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.hardware.node.remote_pages import CountedAccesses


class JudgedPages:
    """Pages that are judged alike, and groups of which half is.

    Args:
        group: parts of a group, a power of two; 1: there are no groups.
        levels: sizes of groups, each `group` times the one before.
    """

    def __init__(self, group: int, levels: int) -> None:
        self._group = group
        self._levels = levels if group > 1 else 0
        self._judged: dict[int, dict[int, int]] = {0: {}}
        """By level and group (at level 0 page): -1: all of it is; or how many parts are."""

    def __contains__(self, tag: int) -> bool:
        size = 1
        for level in range(self._levels + 1):
            if self._judged.get(level, {}).get(tag // size, 0) < 0:
                return True
            size *= self._group
        return False

    def add(self, tag: int) -> None:
        """A page is judged so from now on, and with it groups of which half is."""
        number = tag
        self._judged[0][number] = -1
        for level in range(1, self._levels + 1):
            number //= self._group
            groups = self._judged.setdefault(level, {})
            groups[number] = groups.get(number, 0) + 1
            if 2 * groups[number] < self._group:
                return
            groups[number] = -1


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
        self._faults: dict[int, int] = {}
        self._counted = JudgedPages(group, levels)

    def counted(self, tag: int) -> bool:
        """Whether a page moves only after many accesses."""
        return tag in self._counted

    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        if self.counted(tag):
            return False
        faults = self._faults[tag] = self._faults.get(tag, 0) + 1
        if faults < self._most_faults:
            return True
        self.judge(tag)
        return False

    def judge(self, tag: int) -> None:
        """A page has been asked for too often to move on touch any more."""
        self._counted.add(tag)

    def accessed(self, tag: int, gpu: int, owner: int) -> bool:
        return self.counted(tag) and super().accessed(tag, gpu, owner)


register_policy(Slot.REMOTE_PAGES, "page-history", PageHistory)


@mypyc_attr(allow_interpreted_subclasses=True)
class PageSchemes(PageHistory):
    """As `PageHistory`, but a page that was only read until it is judged is copied from then on.

    A GPU that asks for such a page gets a copy.  Each store to one with copies counts as a fault of
    the page; after `faults` of them it is counted, and copied no more.  Whether a page was written
    the faults say, whose accesses are stores or loads, and its group speaks for a page in this as
    in the other judgement; one that is judged both ways is counted [our choice].

    The bit of a page that was written lies beside its faults, with the host.

    Args:
        gpus, page_bytes, threshold, faults, group, levels: see `PageHistory`.
    """

    copies: ClassVar[bool] = True

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
        super().__init__(
            gpus, page_bytes, threshold=threshold, faults=faults, group=group, levels=levels
        )
        self._duplicated = JudgedPages(group, levels)
        self._written: set[int] = set()
        self._collapses: dict[int, int] = {}

    def duplicated(self, tag: int) -> bool:
        """Whether GPUs that ask for a page get copies."""
        return tag in self._duplicated and tag not in self._counted

    def asked(self, tag: int, gpu: int, *, writes: bool) -> None:
        if writes:
            self._written.add(tag)

    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        return not self.duplicated(tag) and super().fault(tag, gpu, owner)

    def judge(self, tag: int) -> None:
        if tag in self._written:
            super().judge(tag)
        else:
            self._duplicated.add(tag)

    def copied(self, tag: int, gpu: int, owner: int) -> bool:
        return self.duplicated(tag)

    def collapsed(self, tag: int) -> None:
        self._written.add(tag)
        collapses = self._collapses[tag] = self._collapses.get(tag, 0) + 1
        if collapses >= self._most_faults:
            self._counted.add(tag)


register_policy(Slot.REMOTE_PAGES, "page-schemes", PageSchemes)
