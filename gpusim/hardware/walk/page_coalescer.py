"""In-place coalescing: small pages whose frames lie side by side become one large page.

Ausavarungnirun et al., *Mosaic: A GPU Memory Manager with Application-Transparent Support for
Multiple Page Sizes*, MICRO 2017: the In-Place Coalescer; frames are those of `MosaicFrames`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.registry import Slot, register_policy
from gpusim.core.request import Translation
from gpusim.core.stage import StageSite
from gpusim.core.stage_process import StageProcess
from gpusim.core.structures import Dimensions, Storage

LARGE: Final = 2 << 20
"""Bytes of a large page."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class CoalescerCounters:
    """What became of the pages of one application."""

    coalesced: int = count("ranges of 2 MiB that became one page")


@mypyc_attr(allow_interpreted_subclasses=True)
class Coalescer(StageProcess):
    """Stands before the walkers, and makes one page of an aligned 2 MiB when all of it is mapped.

    It looks when a walk has found a small page there.  All pages have to be mapped, with the same
    permission, to the frames of an aligned 2 MiB in the same order; nothing is moved.  TLBs may go
    on using translations of the small pages, which stay valid, so nothing is invalidated; what the
    driver does takes no time [our choice: no access waits for it].

    Args:
        site: where it stands.
    """

    def __init__(self, site: StageSite) -> None:
        super().__init__(site)
        self._pages = LARGE // site.pages.page_bytes
        self._mapped: dict[int, int] = {}
        """By number of a range: its first page of which it is not known that it is as it must."""
        self._own = [CoalescerCounters() for _ in range(site.apps)]

    def asked(self, translation: Translation) -> bool:
        if not self.room:
            return False
        self.send_on(translation)
        return True

    def answered(self, translation: Translation) -> None:
        super().answered(translation)
        mapping = translation.mapping
        if mapping is None or mapping.pages >= self._pages:
            return
        if self._full(translation.tag // self._pages) and self.pages.coalesce(
            translation.tag, self._pages
        ):
            self._own[translation.app].coalesced += 1

    def shoot_down(self, tag: int | None) -> None:
        if tag is None:
            self._mapped.clear()
        else:
            self._mapped.pop(tag // self._pages, None)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """The driver keeps the books; page tables have the bits already."""
        return ()

    def own_counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)

    def warnings(self) -> Iterator[str]:
        if not any(one.coalesced for one in self._own):
            came = sum(one.received for one in self.counters)
            yield (
                f"{self.name} coalesced no pages: none of the {came} translations that it saw was "
                "in a full, aligned range of 2 MiB; see memory.frames"
            )

    def _full(self, range_: int) -> bool:
        """Whether all pages of a range are mapped in order; looks at each page once."""
        first = range_ * self._pages
        head = self.pages.find(first)
        if head is None or head.pfn % self._pages:
            return False
        page = self._mapped.get(range_, first)
        while page < first + self._pages:
            mapping = self.pages.find(page)
            if mapping is None or mapping.delta != head.delta:
                break
            page += 1
        self._mapped[range_] = page
        return page == first + self._pages


register_policy(Slot.STAGE, "coalescer", Coalescer)
