"""Counters, messages and interfaces of the forward–backward table."""

from __future__ import annotations

from typing import Protocol

import attr

from gpusim.core.counters import count
from gpusim.core.engine import Port
from gpusim.core.mapping import Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.request import Translation, VirtualRequest
from gpusim.core.unboxed import IntList
from gpusim.hardware.fbt.purge import Bank


@attr.s(auto_attribs=True, eq=False, repr=False)
class FbtCounters:
    """What the forward–backward table did for one application."""

    lookups: int = count("translated misses of the L2 cache that looked for their frame")
    leading: int = count("misses let through under their own names")
    synonyms: int = count("misses let through under other, leading names")
    replays: int = count("of these, those whose line was in the L2 cache by the table")
    allocations: int = count("pages that got an entry")
    waits: int = count("lookups that had to wait: for a locked page, or for room")
    asked_again: int = count("translations overtaken by a shootdown, and asked for once more")
    synonym_faults: int = count("read-write synonyms: faults, after which the run goes on")


declare_metrics(
    FbtCounters,
    Metric(
        "fbt_synonyms",
        FRACTION,
        "L2 misses under names that do not lead",
        Ratio("synonyms", "lookups"),
    ),
)


class VirtualBank(Bank, Protocol):
    """The miss path of an L2 bank (see `gpusim.hardware.cache.TranslatedMisses`)."""

    grants: Port[VirtualRequest]
    replays: Port[VirtualRequest]

    def written_back(self, line: int) -> None:
        """DRAM has taken a dirty line."""


class Holder(Protocol):
    """A stage of translation in front of the table."""

    def shoot_down(self, tag: int | None) -> None:
        """Forget a page (None: all)."""


class Permissions(Protocol):
    """What the table needs of the page table."""

    def writable(self, asid: int, vpn: int) -> bool:
        """Whether stores to a page are allowed."""

    def find(self, tag: int) -> Mapping | None:
        """The mapping that covers a tagged page now, if one does."""


class Miss(Translation):
    """The translation of a miss; `asked`: how many shootdowns there had been when it began."""

    __slots__ = ("asked", "request")

    def __init__(self, request: VirtualRequest, asked: int, trail: IntList) -> None:
        access = request.access
        assert access is not None
        super().__init__(
            request.app,
            request.asid,
            request.sm,
            request.tag,
            access.slot,
            access.warp_slot,
            trail,
            access,
        )
        self.request: VirtualRequest | None = request
        """None when the table has let it through."""
        self.asked = asked
