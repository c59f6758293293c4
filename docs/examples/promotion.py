"""Promotion of small pages to large ones: frames are reserved, a stage counts what is touched.

After Ausavarungnirun et al., *Mosaic* (MICRO 2017): the frames of a large page are kept together
for the pages of one aligned range, so that they become one page without being copied.
"""

from __future__ import annotations

from attrs import define

from gpusim.plugin import (
    FrameAllocator,
    Slot,
    StageProcess,
    StageSite,
    Translation,
    at_least,
    count,
    policy,
)


@policy(Slot.FRAMES, "reserving")
class ReservingFrames(FrameAllocator):
    """The first page of an aligned range reserves frames side by side for all of it.

    Args:
        frames, seed: see `FrameAllocator`.
        pages: of a range: 32 of 64 KiB make 2 MiB.
    """

    def __init__(self, frames: int, seed: int, *, pages: int = 32) -> None:
        at_least(1, pages=pages)
        super().__init__(frames, seed)
        self._pages = pages
        self._next = 0
        self._ranges: dict[tuple[int, int], int] = {}

    def allocate(self, asid: int, vpn: int) -> int:
        key = asid, vpn // self._pages
        if key not in self._ranges:
            if self._next + self._pages > self.frames:
                raise self.memory_full()
            self._ranges[key] = self._next
            self._next += self._pages
        return self._ranges[key] + vpn % self._pages

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        """The frames stay reserved for their pages."""


@define(slots=True)
class PromotionCounters:
    """What became of the ranges of one application."""

    promotions: int = count("ranges that became one page")


@policy(Slot.STAGE, "promoter")
class Promoter(StageProcess):
    """Stands in front of the walkers and promotes a range when enough of its pages were walked.

    Args:
        pages: of a range, in the smallest pages.
        touched: how many of them have to be mapped; the others are mapped then.
    """

    def __init__(self, site: StageSite, *, pages: int = 32, touched: int = 32) -> None:
        at_least(1, pages=pages, touched=touched)
        super().__init__(site)
        self._pages = pages
        self._needed = min(touched, pages)
        self._touched: dict[int, set[int]] = {}
        self._own = [PromotionCounters() for _ in range(site.apps)]

    def asked(self, translation: Translation) -> bool:
        if not self.room:
            return False
        self.send_on(translation)
        return True

    def answered(self, translation: Translation) -> None:
        super().answered(translation)
        mapping = translation.mapping
        if mapping is None or mapping.pages > 1:
            return
        first = translation.tag // self._pages * self._pages
        touched = self._touched.setdefault(first, set())
        touched.add(translation.tag)
        if len(touched) >= self._needed and self.pages.promote(first, self._pages):
            del self._touched[first]
            self._own[translation.app].promotions += 1

    def own_counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)
