"""The base class of TLB prefetchers: a stage of translation with a prefetch buffer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.errors import at_least
from gpusim.core.mapping import Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.request import Purpose, Translation
from gpusim.core.stage import StageSite
from gpusim.core.stage_process import StageProcess
from gpusim.core.structures import Dimensions, Storage

Stream = tuple[int, int, int]
"""Whose misses follow each other: application, SM, warp slot."""

WARP_BITS: Final = 16
"""Bits of a warp's number on the GPU [our choice: 1024 SMs with 64 warps each]."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class PrefetchBufferCounters:
    """What a prefetch buffer did for one application; of what it asked for, see the stage."""

    demands: int = count("translations that warps wait for, which came to the prefetcher")
    buffer_hits: int = count("of these, answered by the buffer")
    unused: int = count("prefetched pages that left the buffer before a warp asked for them")


declare_metrics(
    PrefetchBufferCounters,
    Metric(
        "{}_coverage",
        FRACTION,
        "{}: TLB misses that the prefetch buffer answered",
        Ratio("buffer_hits", "demands"),
    ),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class Prefetcher(StageProcess):
    """Sees the misses of the TLB before it, and asks the stage below for pages that may follow.

    What comes goes into a buffer, fully associative and first in, first out, which is probed beside
    that TLB: in no time of its own [our choice].  A page that is hit leaves the buffer, and the TLB
    is filled with it.  Misses that the buffer answers count as misses for predictions (tagged
    prefetching).  A prefetch has to find room below, and is dropped where there is none; pages that
    are neither mapped nor in an array are not asked for.

    Args:
        site: where it stands.
        entries: pages in the buffer; also prefetches that may be under way.

    Raises:
        OptionError: there would be no buffer.
    """

    def __init__(self, site: StageSite, entries: int) -> None:
        at_least(1, entries=entries)
        super().__init__(site)
        self._entries = entries
        self._buffer: dict[int, Mapping] = {}
        """What has come and is not asked for yet, the oldest first."""
        self._awaited: dict[int, bool] = {}
        """Pages under way; False: forgotten meanwhile, so that what comes may be wrong."""
        self._own = [PrefetchBufferCounters() for _ in range(site.apps)]

    @abstractmethod
    def predicted(self, tag: int, stream: Stream) -> Sequence[int]:
        """A warp has missed a page: learn from it, and return the pages that may follow."""

    @abstractmethod
    def tables(self, page_bits: int) -> Sequence[Storage]:
        """What it predicts from; `page_bits` are those of a page number, and of a distance."""

    def asked(self, translation: Translation) -> bool:
        mapping = self._buffer.pop(translation.tag, None)
        if mapping is not None:
            self.reply(translation, mapping)
        elif self.room:
            self.send_on(translation)
        else:
            return False
        if translation.kind != Purpose.PREFETCH:
            own = self._own[translation.app]
            own.demands += 1
            own.buffer_hits += mapping is not None
            self._look_ahead(translation)
        return True

    def answered(self, translation: Translation) -> None:
        if translation.back is not None:
            self.pass_back(translation)
        elif self._awaited.pop(translation.tag) and translation.mapping is not None:
            if len(self._buffer) >= self._entries:
                del self._buffer[next(iter(self._buffer))]
                self._own[translation.app].unused += 1
            self._buffer[translation.tag] = translation.mapping

    def shoot_down(self, tag: int | None) -> None:
        if tag is None:
            self._buffer.clear()
            self._awaited = dict.fromkeys(self._awaited, False)
        else:
            self._buffer.pop(tag, None)
            if tag in self._awaited:
                self._awaited[tag] = False

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        fields = {"page": dimensions.page_bits, "frame": dimensions.frame_bits}
        buffer = Storage("prefetch buffer", self._entries, fields)
        return [buffer, *self.tables(dimensions.page_bits)]

    def own_counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)

    def _look_ahead(self, translation: Translation) -> None:
        stream = translation.app, translation.sm, translation.warp_slot
        for tag in self.predicted(translation.tag, stream):
            if tag in self._buffer or tag in self._awaited or len(self._awaited) >= self._entries:
                continue
            if self.prefetch(tag, translation):
                self._awaited[tag] = True
