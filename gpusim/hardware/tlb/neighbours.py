"""Probes of the first TLBs of neighbouring SMs: a page that one of them has is not asked for below.

Baruah et al., *Valkyrie: Leveraging Inter-TLB Locality to Enhance GPU Performance*, PACT 2020: L1
TLBs in groups, whose misses ask the others of the group before the L2 TLB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.errors import at_least
from gpusim.core.mapping import Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.registry import Slot, register_policy
from gpusim.core.request import Purpose, Translation
from gpusim.core.signals import Signals
from gpusim.core.stage import StageSite
from gpusim.core.stage_process import StageProcess
from gpusim.core.structures import Dimensions, Storage

_PREFETCH: Final = int(Purpose.PREFETCH)


@attr.s(auto_attribs=True, eq=False, repr=False)
class ProbeCounters:
    """What probes of neighbours found for one application."""

    probed: int = count("translations for which neighbours were probed")
    found: int = count("of these, those that one of them had")


declare_metrics(
    ProbeCounters,
    Metric("{}_found", FRACTION, "{}: misses that a neighbour's TLB had", Ratio("found", "probed")),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class NeighbourProbes(StageProcess):
    """Stands behind the first TLB, and looks into those of the other SMs of a group.

    All neighbours are probed at once, and the answer comes after `latency` cycles, found or not;
    what several have comes from the nearest.  A probe is no use of an entry in the TLB that has it,
    and takes none of its ports [our choice: the paper's ring has ports of its own].  As many pages
    of a group as `probes` can be probed in a cycle; further ones wait, and those behind them.

    Args:
        site: where it stands.
        group: SMs side by side that probe each other.
        latency: from a miss to the answer of the neighbours, in cycles.
        probes: misses of a group that are probed in a cycle.

    Raises:
        OptionError: an option cannot be.
    """

    def __init__(
        self, site: StageSite, *, group: int = 4, latency: int = 10, probes: int = 1
    ) -> None:
        at_least(0, latency=latency)
        at_least(1, probes=probes)
        at_least(2, group=group)
        super().__init__(site)
        self._group = group
        self._latency = latency
        self._probes = probes
        self._cycle = -1
        self._probed: dict[int, int] = {}
        """By group, misses that were probed in that cycle."""
        self._signals: Signals | None = None
        self._own = [ProbeCounters() for _ in range(site.apps)]

    def attach(self, signals: Signals) -> None:
        self._signals = signals

    def asked(self, translation: Translation) -> bool:
        group = translation.sm // self._group
        if self._cycle != self.env.now:
            self._cycle = self.env.now
            self._probed.clear()
        if self._probed.get(group, 0) >= self._probes:
            return False
        own = self._own[translation.app]
        mapping = None if translation.kind == _PREFETCH else self._found(translation)
        if mapping is None and not self.room:
            return False
        self._probed[group] = self._probed.get(group, 0) + 1
        if translation.kind != _PREFETCH:
            own.probed += 1
            own.found += mapping is not None
        if mapping is not None:
            self.reply(translation, mapping, self._latency)
        else:
            self.send_on(translation, self._latency)
        return True

    def _found(self, translation: Translation) -> Mapping | None:
        """What the nearest neighbour that has a page has."""
        assert self._signals is not None
        sm = translation.sm
        first = sm // self._group * self._group
        others = [one for one in self.site.sms if first <= one < first + self._group and one != sm]
        for other in sorted(others, key=lambda one: (abs(one - sm), one)):
            mapping = self._signals.peek("first", other, translation.tag)
            if mapping is not None:
                return mapping
        return None

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """Wires and comparators that are there already."""
        return ()

    def own_counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)


register_policy(Slot.STAGE, "neighbours", NeighbourProbes)
