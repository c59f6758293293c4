"""Least-TLB: a TLB of the host that keeps what GPUs' last TLBs let go, and knows what they have.

Li et al., *Improving Address Translation in Multi-GPUs via Sharing and Spilling aware TLB Design*,
MICRO 2021, from memory, as its text is not at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.errors import OptionError, at_least
from gpusim.core.mapping import Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.registry import Slot, register_policy
from gpusim.core.request import Purpose, Translation
from gpusim.core.signals import Signals
from gpusim.core.stage import StageSite
from gpusim.core.stage_process import StageProcess
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.node.cuckoo_filter import CuckooFilter

_PREFETCH: Final = int(Purpose.PREFETCH)
_WAYS: Final = 4


@attr.s(auto_attribs=True, eq=False, repr=False)
class SharedTlbCounters:
    """What a GPU's misses found in the TLB of the host, and in TLBs of other GPUs."""

    asked: int = count("translations that came to the host's TLB")
    found: int = count("of these, those that it had")
    probed: int = count("of the others, those for which the TLB of another GPU was probed")
    shared: int = count("of these, those that it had")
    kept: int = count("translations that a GPU's last TLB let go, and the host's took in")
    spilled: int = count(
        "translations that the host's TLB let go, and another GPU's took in", later=True
    )


declare_metrics(
    SharedTlbCounters,
    Metric("{}_host_hits", FRACTION, "{}: misses that the host's TLB had", Ratio("found", "asked")),
    Metric(
        "{}_shared", FRACTION, "{}: misses that another GPU's TLB had", Ratio("shared", "asked")
    ),
)


class SharedTlb:
    """The TLB of the host and its trackers, of which there is one a node.

    Args:
        entries: translations that it holds, those used least recently leave first.
        spills: whether what leaves goes to the last TLB of a GPU.

    Attributes:
        pages: what it has, by tag, in the order of use.
        trackers: by number of the stage of a GPU, what the GPU's last TLB has.
        stages: by number.
    """

    def __init__(self, entries: int, *, spills: bool) -> None:
        self._entries = entries
        self._spills = spills
        self.pages: dict[int, Mapping] = {}
        self.trackers: dict[int, CuckooFilter] = {}
        self.stages: dict[int, LeastTlb] = {}
        self._origins: dict[int, int] = {}
        """By page that it has, the stage of the GPU whose TLB let it go."""
        self._spilling = False

    def take_in(self, tag: int, mapping: Mapping, origin: int) -> None:
        """Keep a translation that the TLB of a GPU has let go."""
        self.take_out(tag)
        self.pages[tag] = mapping
        self._origins[tag] = origin
        if len(self.pages) > self._entries:
            oldest = next(iter(self.pages))
            gone, source = self.pages[oldest], self._origins[oldest]
            self.take_out(oldest)
            if self._spills and not self._spilling:
                self._spill(oldest, gone, source)

    def take_out(self, tag: int) -> Mapping | None:
        """What it had of a page, which leaves it."""
        self._origins.pop(tag, None)
        return self.pages.pop(tag, None)

    def clear(self) -> None:
        """Forget everything."""
        self.pages.clear()
        self._origins.clear()

    def _spill(self, tag: int, mapping: Mapping, source: int) -> None:
        """Put a translation into the TLB of the GPU that let go least of what is here."""
        origins = list(self._origins.values())
        others = [number for number in self.stages if number != source]
        if not others:
            return
        receiver = min(others, key=lambda number: (origins.count(number), number))
        self._spilling = True  # what that evicts comes here, and makes no other one spill
        self.stages[receiver].receive(tag, mapping)
        self._spilling = False

    def holder(self, tag: int, asking: int) -> int:
        """The stage of another GPU whose TLB may have a page, the next one round; -1: none."""
        count = len(self.trackers)
        for further in range(1, count):
            other = (asking + further) % count
            if self.trackers[other].has(tag):
                return other
        return -1


@mypyc_attr(allow_interpreted_subclasses=True)
class LeastTlb(StageProcess):
    """Stands behind the last TLB of each GPU, and asks the host's TLB before walkers.

    The host's TLB is least inclusive: a walk fills the GPU's TLB alone; what that evicts goes to
    the host's, and what the host's has goes back to the GPU that asks, and leaves it.  A tracker of
    each GPU's last TLB, a cuckoo filter, tells which other GPU may have a page that the host's
    lacks; that one's TLB is probed, which is no use of its entry [our choice].  Where the probe
    finds nothing, as filters err, the walk begins after it [our choice: the paper walks at the same
    time].

    Args:
        site: where it stands.
        entries: of the host's TLB, fully associative [our choice].
        trip: cycles of a message between a GPU and the host, or another GPU.
        latency: cycles of a lookup in the host's TLB and its trackers, and of a probe.
        tracked: fingerprints of a tracker, a power of two; 0: no GPU is probed.
        bits: of a fingerprint.

    Raises:
        OptionError: an option cannot be.
    """

    spills: ClassVar[bool] = False
    across_gpus: ClassVar[bool] = True
    follows_last_tlb: ClassVar[bool] = True

    def __init__(
        self,
        site: StageSite,
        *,
        entries: int = 4096,
        trip: int = 100,
        latency: int = 10,
        tracked: int = 1024,
        bits: int = 12,
    ) -> None:
        at_least(0, trip=trip, latency=latency)
        at_least(1, entries=entries)
        at_least(2, bits=bits)
        if tracked and (tracked < _WAYS or tracked & tracked - 1):
            raise OptionError("tracked", f"must be 0, or a power of two of {_WAYS} or more")
        super().__init__(site)
        self._entries = entries
        self._trip = trip
        self._latency = latency
        self._tracked = tracked
        self._bits = bits
        self._tracker = CuckooFilter(max(tracked // _WAYS, 1), _WAYS, bits)
        self._there: dict[int, None] = {}
        """Pages in the last TLB, by its signals of fills and evictions."""
        self._spilled: set[int] = set()
        """Pages in the last TLB that the host's TLB has let go."""
        self._shared = SharedTlb(entries, spills=False)
        self._signals: Signals | None = None
        self._own = [SharedTlbCounters() for _ in range(site.apps)]

    def attach(self, signals: Signals) -> None:
        self._signals = signals
        entries, spills = self._entries, type(self).spills
        self._shared = signals.share(
            ("least-tlb", self.site.kind), lambda: SharedTlb(entries, spills=spills)
        )
        self._shared.stages[self.site.index] = self
        self._shared.trackers[self.site.index] = self._tracker
        signals.listen("tlb.last.fill", self._filled)
        signals.listen("tlb.last.evict", self._evicted)

    def _filled(self, _: int, tag: int) -> None:
        if self._tracked and tag not in self._there:
            self._there[tag] = None
            self._tracker.add(tag)

    def _evicted(self, _: int, tag: int, mapping: Mapping) -> None:
        spilled = tag in self._spilled
        self._gone(tag)
        if not spilled and self.pages.find(tag) is mapping:
            self._own[mapping.asid].kept += 1
            self._shared.take_in(tag, mapping, self.site.index)

    def receive(self, tag: int, mapping: Mapping) -> None:
        """The last TLB of this GPU takes in what the host's lets go."""
        assert self._signals is not None
        self._own[mapping.asid].spilled += 1
        self._signals.place("last", self.site.sms[0], tag, mapping)
        self._spilled.add(tag)

    def _gone(self, tag: int) -> None:
        self._spilled.discard(tag)
        if tag in self._there:
            del self._there[tag]
            self._tracker.remove(tag)

    def asked(self, translation: Translation) -> bool:
        if not self.room:
            return False
        if translation.kind == _PREFETCH:
            self.send_on(translation)
            return True
        own, tag = self._own[translation.app], translation.tag
        own.asked += 1
        answer = 2 * self._trip + self._latency
        mapping = self._shared.take_out(tag)
        if mapping is not None:
            own.found += 1
            self.reply(translation, mapping, answer)
            return True
        other = self._shared.holder(tag, self.site.index)
        if other >= 0:
            own.probed += 1
            answer += self._trip + self._latency
            mapping = self._peek(other, tag)
        if mapping is None:
            self.send_on(translation, answer)
            return True
        own.shared += 1
        self.reply(translation, mapping, answer)
        return True

    def _peek(self, other: int, tag: int) -> Mapping | None:
        assert self._signals is not None
        return self._signals.peek("last", self._shared.stages[other].site.sms[0], tag)

    def shoot_down(self, tag: int | None) -> None:
        if tag is None:
            self._shared.clear()
            self._spilled.clear()
            for one in list(self._there):
                self._gone(one)
        else:
            self._shared.take_out(tag)
            self._gone(tag)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """At the host: its TLB, one a node, and a tracker for each GPU."""
        fields = {"page": dimensions.page_bits, "frame": dimensions.frame_bits}
        tlb = Storage("TLB of the host", self._entries, fields)
        tracker = Storage("tracker of a GPU", self._tracked, {"fingerprint": self._bits})
        return (tlb, tracker) if self._tracked else (tlb,)

    def own_counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)


register_policy(Slot.STAGE, "least-tlb", LeastTlb)


@mypyc_attr(allow_interpreted_subclasses=True)
class SpillingLeastTlb(LeastTlb):
    """As `LeastTlb`; what the host's TLB lets go is put into the last TLB of another GPU.

    It goes to the GPU of whose entries the host's TLB has fewest, but not to that which let it go,
    in no time [our choice].  A spilled entry is not kept by the host's TLB again; what it evicts
    is, and makes no other one spill [our choice].  The paper has it for several applications.

    Args:
        site, entries, trip, latency, tracked, bits: see `LeastTlb`.
    """

    spills: ClassVar[bool] = True

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """As `LeastTlb`, a bit of each tracked entry of a GPU's TLB, and a counter for each GPU."""
        bit = Storage("spilled entries", self._tracked, {"spilled": 1})
        counter = Storage("entries of a GPU", 1, {"entries": bits_for(self._entries)})
        return (*super().storage(dimensions), bit, counter)


register_policy(Slot.STAGE, "least-tlb-spilling", SpillingLeastTlb)
