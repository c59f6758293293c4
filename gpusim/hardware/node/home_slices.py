"""The last TLBs of all modules as slices of one, each page in the slice of its home.

Pratheek et al., *Designing Virtual Memory System of MCM GPUs*, MICRO 2022 (MGvm), from memory, as
its text is not at hand: slices by address, and page tables that lie with the slice of their pages.
Its choice of the run of pages in mid-run is not built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.engine import Sink
from gpusim.core.errors import at_least
from gpusim.core.mapping import VPN_MASK, Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.registry import Slot, register_policy
from gpusim.core.request import Requester, Translation
from gpusim.core.signals import Signals
from gpusim.core.stage import StageSite
from gpusim.core.stage_process import StageProcess
from gpusim.core.structures import Dimensions, Storage

_TABLE: Final = 512
"""Pages whose entries of 8 bytes lie in one table of 4 KiB."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class HomeCounters:
    """Where the homes of translations are that came from one GPU."""

    here: int = count("translations whose home is the GPU that asks")
    elsewhere: int = count("those whose home is another one")


declare_metrics(
    HomeCounters,
    Metric(
        "{}_elsewhere",
        FRACTION,
        "{}: translations whose home is another GPU",
        Ratio("elsewhere", "here + elsewhere"),
    ),
)


class Homes:
    """The stages of all GPUs, by their numbers: one of these a node."""

    def __init__(self) -> None:
        self.stages: dict[int, HomeSlices] = {}


@mypyc_attr(allow_interpreted_subclasses=True)
class HomeSlices(StageProcess):
    """Stands behind the first TLBs of a GPU, and sends each translation to its page's home.

    Runs of `run` pages have their homes on the GPUs in turn.  What stands behind this stage there,
    the last TLB, looks the page up, and walkers there walk it; so parts of a shared page table lie
    with the GPUs that are homes of their pages, and all reads of a walk are at home where a run is
    what the entries of one table map.  A translation takes `trip` each way, beside requests on the
    links [our choice].  With first touch, a page lies with its home [our choice: who walks has
    touched it].

    Args:
        site: where it stands.
        run: pages side by side that have one home.
        trip: cycles of the way to another GPU.
    """

    across_gpus: ClassVar[bool] = True
    asks_other_gpus: ClassVar[bool] = True

    def __init__(self, site: StageSite, *, run: int = _TABLE, trip: int = 32) -> None:
        at_least(1, run=run)
        at_least(0, trip=trip)
        super().__init__(site)
        self._run_pages = run
        self._trip = trip
        self._homes = Homes()
        self._full: Sink = site.below
        """What the first translation of those that wait, waits for."""
        self._own = [HomeCounters() for _ in range(site.apps)]

    def attach(self, signals: Signals) -> None:
        self._homes = signals.share(("home-slices", self.site.kind), Homes)
        self._homes.stages[self.site.index] = self

    def home(self, tag: int) -> int:
        """The number of the stage in whose GPU a page has its home."""
        return (tag & VPN_MASK) // self._run_pages % len(self._homes.stages)

    def asked(self, translation: Translation) -> bool:
        home = self.home(translation.tag)
        below = self._homes.stages[home].below
        if below.full:
            self._full = below
            return False
        own = self._own[translation.app]
        if home == self.site.index:
            own.here += 1
            self.send_on(translation)
        else:
            own.elsewhere += 1
            self.send_on(translation, self._trip, below)
        return True

    def warm(self, tag: int, requester: Requester) -> Mapping:
        below = self._homes.stages[self.home(tag)].warm_below
        assert below is not None
        return below.warm(tag, requester)

    def answered(self, translation: Translation) -> None:
        if translation.back is not None:
            at_home = self.home(translation.tag) == self.site.index
            self.pass_back(translation, 0 if at_home else self._trip)

    def _wait(self) -> None:
        self._full.when_free(self.process.wake)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """Wires: the home is some bits of the page's number."""
        return ()

    def own_counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)


register_policy(Slot.STAGE, "home-slices", HomeSlices)
