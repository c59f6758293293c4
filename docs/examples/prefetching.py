"""TLB prefetchers as stages of translation: the next page, and a page at the stride of its warp."""

from __future__ import annotations

from collections import OrderedDict

from attrs import define

from gpusim.plugin import (
    Mapping,
    Purpose,
    Slot,
    StageProcess,
    StageSite,
    Translation,
    at_least,
    count,
    policy,
)


@define(slots=True)
class BufferCounters:
    """What a prefetch buffer did for one application."""

    buffer_hits: int = count("translations that the buffer answered")
    buffer_evictions: int = count("prefetched pages that went before a warp asked for them")


class Prefetcher(StageProcess):
    """Asks the stage below for pages ahead of demand, and keeps them in a buffer.

    Args:
        entries: pages in the buffer, which is fully associative and first in, first out.
        degree: pages that are asked for at once.
    """

    def __init__(self, site: StageSite, *, entries: int = 16, degree: int = 1) -> None:
        at_least(1, entries=entries, degree=degree)
        super().__init__(site)
        self._entries = entries
        self._degree = degree
        self._buffer: OrderedDict[int, Mapping] = OrderedDict()
        self._awaited: set[int] = set()
        self._own = [BufferCounters() for _ in range(site.apps)]

    def distance(self, translation: Translation) -> int:
        """How many pages further the one to be prefetched lies; 0: none."""
        raise NotImplementedError

    def asked(self, translation: Translation) -> bool:
        mapping = self._buffer.pop(translation.tag, None)
        if mapping is not None:
            self._own[translation.app].buffer_hits += 1
            self.reply(translation, mapping, delay=1)
        elif self.room:
            self.send_on(translation, delay=1)
        else:
            return False
        if translation.kind == Purpose.DEMAND:
            self._look_ahead(translation)
        return True

    def answered(self, translation: Translation) -> None:
        if translation.back is not None:  # of another translation
            self.pass_back(translation)
            return
        wanted = translation.tag in self._awaited
        self._awaited.discard(translation.tag)
        if wanted and translation.mapping is not None:
            if len(self._buffer) >= self._entries:
                self._buffer.popitem(last=False)
                self._own[translation.app].buffer_evictions += 1
            self._buffer[translation.tag] = translation.mapping

    def shoot_down(self, tag: int | None) -> None:
        if tag is None:
            self._buffer.clear()
            self._awaited.clear()
        else:
            self._buffer.pop(tag, None)
            self._awaited.discard(tag)

    def own_counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)

    def _look_ahead(self, translation: Translation) -> None:
        distance = self.distance(translation)
        for step in range(1, self._degree + 1 if distance else 1):
            tag = translation.tag + step * distance
            if tag in self._buffer or tag in self._awaited or len(self._awaited) >= self._entries:
                continue
            if self.prefetch(tag, translation, delay=1):
                self._awaited.add(tag)


@policy(Slot.STAGE, "next-page")
class NextPage(Prefetcher):
    """The pages behind the one that was asked for."""

    def distance(self, translation: Translation) -> int:
        return 1


@policy(Slot.STAGE, "stride")
class Stride(Prefetcher):
    """A page as far ahead as the last two pages of the same warp slot lie apart, seen twice."""

    def __init__(self, site: StageSite, *, entries: int = 16, degree: int = 1) -> None:
        super().__init__(site, entries=entries, degree=degree)
        self._last: dict[tuple[int, int], tuple[int, int]] = {}
        """By SM and warp slot: the last page, and how far it was from the one before."""

    def distance(self, translation: Translation) -> int:
        warp = translation.sm, translation.warp_slot
        page, before = self._last.get(warp, (translation.tag, 0))
        stride = translation.tag - page
        self._last[warp] = translation.tag, stride
        return stride if stride == before else 0
