"""A TLB in memory: many entries, each of which costs a read of the memory behind.

Ryoo et al., *Rethinking TLB Designs in Virtualized Environments: A Very Large Part-of-Memory TLB*,
ISCA 2017: sets of four entries of 16 bytes, one line each, which the data caches hold, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.errors import OptionError, at_least
from gpusim.core.mapping import Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.registry import Slot, register_policy
from gpusim.core.request import Translation
from gpusim.core.stage import StageSite
from gpusim.core.stage_process import StageProcess
from gpusim.core.structures import Dimensions, Storage

ENTRY_BYTES: Final = 16
"""Of an entry: page, frame, attributes (POM-TLB §2.1)."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class InMemoryCounters:
    """What a TLB in memory did for one application."""

    hits: int = count("translations of which the entry was read")
    misses: int = count("translations sent on, as the set that was read did not have them")
    evictions: int = count("entries whose places others took")


declare_metrics(
    InMemoryCounters,
    Metric(
        "{}_hit_rate", FRACTION, "{}: hit rate of the TLB in memory", Ratio("hits", "hits + misses")
    ),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class InMemoryTlb(StageProcess):
    """Reads one set for each translation, and asks the stage below if the page is not in it.

    A set lies side by side, so that one read brings it [our choice: of 32 bytes at a time, as every
    page-table read].  What comes back from below is written into its set, in the place of the entry
    that was used longest ago; nothing waits for that.  A page that changes is forgotten at once
    [our choice: the write that invalidates it is not modelled].  Large pages are kept as the small
    page that was asked for [our choice: the paper has a second array for them].

    Args:
        site: where it stands.
        entries: of all sets, a power of two; the paper has 2^20 (16 MiB).
        ways: entries of a set.

    Raises:
        OptionError: the shape cannot be.
    """

    def __init__(self, site: StageSite, *, entries: int = 65536, ways: int = 4) -> None:
        at_least(1, entries=entries, ways=ways)
        if entries % ways or entries // ways & (entries // ways - 1):
            raise OptionError("entries", f"must be {ways} times a power of two")
        super().__init__(site)
        self._ways = ways
        self._mask = entries // ways - 1
        self._set_bytes = ways * ENTRY_BYTES
        self._base = self.reserve(entries * ENTRY_BYTES)
        self._sets: dict[int, dict[int, Mapping]] = {}
        """By number, those in which something is: entries by tag, the one used last at the end."""
        self._own = [InMemoryCounters() for _ in range(site.apps)]

    def asked(self, translation: Translation) -> bool:
        self.read(translation, self._address(translation.tag))
        return True

    def came(self, translation: Translation, address: int) -> bool:
        tag = translation.tag
        entries = self._sets.get(tag & self._mask, {})
        mapping = entries.pop(tag, None)
        own = self._own[translation.app]
        if mapping is not None:
            entries[tag] = mapping
            own.hits += 1
            self.reply(translation, mapping)
            return True
        if not self.room:
            return False
        own.misses += 1
        self.send_on(translation)
        return True

    def answered(self, translation: Translation) -> None:
        if translation.mapping is not None:
            self._keep(translation, translation.mapping)
        super().answered(translation)

    def _keep(self, translation: Translation, mapping: Mapping) -> None:
        tag = translation.tag
        entries = self._sets.setdefault(tag & self._mask, {})
        if tag not in entries and len(entries) >= self._ways:
            del entries[next(iter(entries))]
            self._own[translation.app].evictions += 1
        entries[tag] = mapping
        self.write(translation, self._address(tag))

    def _address(self, tag: int) -> int:
        """Where the set of a page lies."""
        return self._base + (tag & self._mask) * self._set_bytes

    def shoot_down(self, tag: int | None) -> None:
        if tag is None:
            self._sets.clear()
        else:
            self._sets.get(tag & self._mask, {}).pop(tag, None)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """Nothing beside the memory that it takes."""
        return ()

    def own_counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)

    def warnings(self) -> Iterator[str]:
        if not any(one.hits for one in self._own) and any(one.misses for one in self._own):
            misses = sum(one.misses for one in self._own)
            yield f"{self.name} had none of the {misses} pages that it was asked for"


register_policy(Slot.STAGE, "in-memory", InMemoryTlb)
