"""Barre Chord: a page whose fellows on other chiplets are known needs no walk.

Feng et al., *Barre Chord: Efficient Virtual Memory Translation for Multi-Chip-Module GPUs*, ISCA
2024, from memory, as its text is not at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.errors import at_least
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.registry import Slot, register_policy
from gpusim.core.request import Purpose, Translation
from gpusim.core.signals import Signals
from gpusim.core.stage import StageSite
from gpusim.core.stage_process import StageProcess
from gpusim.core.structures import Dimensions, Storage

_PREFETCH: Final = int(Purpose.PREFETCH)


@attr.s(auto_attribs=True, eq=False, repr=False)
class GroupCounters:
    """Translations of one application whose pages' groups were known."""

    asked: int = count("translations that came")
    known: int = count("of these, those of a group that was kept")
    computed: int = count("of these, those whose page has the group's frame: they are not walked")


declare_metrics(
    GroupCounters,
    Metric("{}_computed", FRACTION, "{}: misses that need no walk", Ratio("computed", "asked")),
)


class Fellows:
    """The stages of all GPUs, of which there is one a node.

    Attributes:
        stages: by number.
    """

    def __init__(self) -> None:
        self.stages: dict[int, CoalescedGroups] = {}


@mypyc_attr(allow_interpreted_subclasses=True)
class CoalescedGroups(StageProcess):
    """Stands behind the last TLB of each GPU, and keeps the frames of groups of pages.

    Runs of `run` pages are dealt out to the GPUs in turn (``node.placement = "interleave"``), and
    pages at the same place of a round are a group.  Where the driver has given them frames of the
    same number in the memory of each GPU, it says so in bits of their entries that were unused; a
    walk of one brings the frame of all.  A page that lies in no such frame is walked.

    The buffer is of each GPU and learns from its own walks alone; the paper's GPUs also ask each
    other's, by filters [not built].

    Args:
        site: where it stands.
        entries: groups that a buffer keeps, those used least recently leave first.
        latency: cycles of a lookup, and of the frame that is computed.
        run: pages side by side that lie with one GPU.
    """

    across_gpus: ClassVar[bool] = True

    def __init__(
        self, site: StageSite, *, entries: int = 64, latency: int = 10, run: int = 1
    ) -> None:
        at_least(0, latency=latency)
        at_least(1, entries=entries, run=run)
        super().__init__(site)
        self._entries = entries
        self._latency = latency
        self._run_pages = run
        self._fellows = Fellows()
        self._frames: dict[int, int] = {}
        """By group, in the order of use."""
        self._own = [GroupCounters() for _ in range(site.apps)]

    def attach(self, signals: Signals) -> None:
        self._fellows = signals.share(("coalesced-groups", self.site.kind), Fellows)
        self._fellows.stages[self.site.index] = self

    def group(self, tag: int) -> tuple[int, int]:
        """The group of a page, tagged with its address space, and the GPU of the page in it."""
        run, gpus = self._run_pages, len(self._fellows.stages)
        turn, place = divmod(tag & VPN_MASK, run)
        around, gpu = divmod(turn, gpus)
        return tag >> ASID_SHIFT << ASID_SHIFT | around * run + place, gpu

    def asked(self, translation: Translation) -> bool:
        if translation.kind == _PREFETCH:
            if self.room:
                self.send_on(translation)
                return True
            return False
        group, gpu = self.group(translation.tag)
        frame = self._frames.get(group)
        mapping = None if frame is None else self._computed(translation.tag, gpu, frame)
        if mapping is None and not self.room:
            return False
        own = self._own[translation.app]
        own.asked += 1
        own.known += frame is not None
        if mapping is None:
            self.send_on(translation, self._latency)
            return True
        own.computed += 1
        self._keep(group, mapping)
        self.reply(translation, mapping, self._latency)
        return True

    def _computed(self, tag: int, gpu: int, frame: int) -> Mapping | None:
        """What a page lies in if its entry says that it has the frame of its group."""
        mapping = self.pages.find(tag)
        if mapping is None or mapping.pages > 1:
            return None
        return mapping if self.pages.place_of(mapping.pfn) == (gpu, frame) else None

    def answered(self, translation: Translation) -> None:
        mapping = translation.mapping
        if mapping is not None and mapping.pages == 1:
            group, gpu = self.group(translation.tag)
            if self.pages.place_of(mapping.pfn)[0] == gpu:
                self._keep(group, mapping)
        super().answered(translation)

    def _keep(self, group: int, mapping: Mapping) -> None:
        """Keep the frame of a group, as the one that was used last."""
        frames = self._frames
        frames.pop(group, None)
        frames[group] = self.pages.place_of(mapping.pfn)[1]
        if len(frames) > self._entries:
            del frames[next(iter(frames))]

    def shoot_down(self, tag: int | None) -> None:
        if tag is None:
            self._frames.clear()
        elif self._fellows.stages:
            self._frames.pop(self.group(tag)[0], None)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """Of each group the number of a page and of a frame; what says so takes unused bits."""
        fields = {"group": dimensions.page_bits, "frame": dimensions.frame_bits}
        return (Storage("frames of groups", self._entries, fields),)

    def own_counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)


register_policy(Slot.STAGE, "coalesced-groups", CoalescedGroups)
