"""Stages of address translation: TLB levels, prefetchers, page-table walkers, and what users add.

A stage takes a `Translation` on its port `requests` and answers it on the path back, by
``translation.answer()``.  It knows only what is `below`: the next stage, whatever that is.  The
model lists the stages, from the SM outward (``stages = ["L1", "L2", "walk"]``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.component import Component
from gpusim.core.engine import EventLoop, Port, Sink
from gpusim.core.mapping import Mapping, Mappings
from gpusim.core.registry import Slot, open_slot
from gpusim.core.request import MemoryRequest, Requester, Translation
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage


class Pages(Protocol):
    """What a stage may ask about pages, and do to them (see `gpusim.machine.pages.Pages`).

    Attributes:
        page_bytes: of the smallest pages.
    """

    page_bytes: int

    @property
    def mappings(self) -> Mappings:
        """Where all pages lie, as the SMs of the stage may use them."""

    def find(self, tag: int) -> Mapping | None:
        """The mapping that covers a tagged page now, if one does."""

    def place_of(self, pfn: int) -> tuple[int, int]:
        """The GPU in whose memory a frame lies, and its number there."""

    def knows(self, tag: int) -> bool:
        """Whether a tagged page is mapped, or lies in an array of its application."""

    def map(self, tag: int, pfn: int, pages: int = 1, *, writable: bool = True) -> Mapping:
        """Map a page, of which no part is mapped yet."""

    def unmap(self, tag: int) -> Mapping:
        """Unmap a page, and invalidate its translation everywhere."""

    def remap(self, tag: int, pfn: int | None = None) -> Mapping:
        """Map a page to another frame (a free one by default), and invalidate its translation."""

    def protect(self, tag: int, *, writable: bool) -> Mapping:
        """Change a page's permission, and invalidate its translation everywhere."""

    def promote(self, tag: int, pages: int, pfn: int | None = None) -> Mapping | None:
        """Map `pages` pages as one large page, and invalidate their translations.

        Returns:
            The large page; None: these pages cannot become one.
        """

    def coalesce(self, tag: int, pages: int) -> Mapping | None:
        """Make one large page of `pages` pages where they lie; their translations stay valid."""


@frozen(eq=False, repr=False)
class StageMemory:
    """The memory behind a stage, in which it may keep what does not fit beside a TLB.

    Attributes:
        way: where a read goes, to an L2 bank or a DRAM channel, as those of page walks do.
        reserve: takes bytes for good, in whole pages of 4 KiB; returns the first address.
        depth: of its reads, as level of the page table: one more than the deepest.
    """

    way: Callable[[MemoryRequest], Sink]
    reserve: Callable[[int], int]
    depth: int


@frozen(eq=False)
class StageSite:
    """Where a stage stands in a machine; a stage of a user's own is made with it.

    Attributes:
        env: the environment.
        name: for reports, such as ``"prefetch[3]"``.
        kind: the name of its table in the model.
        index: which of the stages with that name it is, over the whole GPU.
        below: where it sends what it cannot answer.
        state: state of a warp whose translation is at this stage.
        below_state: state of a warp whose translation is at the next stage.
        apps: applications that share the machine.
        sms: the SMs that it serves.
        pages: the pages of all address spaces.
        queue: translations that fit into `requests`.
        trip: cycles of the way to it.
        near: states of a translation at the stages below, up to the next TLB level.
        memory: where it may read and write; None: in no machine.
    """

    env: EventLoop
    name: str
    kind: str
    index: int
    below: Sink
    state: int
    below_state: int
    apps: int
    sms: Sequence[int]
    pages: Pages
    queue: int
    trip: int
    near: Sequence[int] = ()
    memory: StageMemory | None = None


class WarmStage(Protocol):
    """What translates a page without a clock: a stage, or the walkers of several domains."""

    def warm(self, tag: int, requester: Requester) -> Mapping:
        """The mapping of a page; what is kept on the way is as if it had been asked for."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Stage(Component):
    """What the machine, and the stage above, need of any stage.

    Args:
        name: for reports.
        path: of its counters in the results.
        instance: which of the stages with that path it is.
        requests: where the stage above sends its translations.

    Attributes:
        prefetches: by application, what it did for prefetches that came from other stages, which
            is in no other counters; empty: they are not counted apart.
        below: where it sends what it cannot answer; the machine names it.  Walkers, which are last,
            have a plain `Sink`, to which nothing can be sent.
        warm_below: what answers `warm` behind it, where something is skipped.
        across_gpus: whether it answers with translations that other GPUs of a node have asked for.
        asks_other_gpus: whether the last TLBs of other GPUs get translations of this one's SMs.
        follows_last_tlb: whether it listens to what the last TLB evicts.
    """

    across_gpus: ClassVar[bool] = False
    asks_other_gpus: ClassVar[bool] = False
    follows_last_tlb: ClassVar[bool] = False

    def __init__(self, name: str, path: str, instance: int, requests: Port[Translation]) -> None:
        self.name = name
        self.path = path
        self.instance = instance
        self.requests = requests
        self.below = Sink()
        self.prefetches: Sequence[Any] = ()
        self.warm_below: WarmStage | None = None

    def attach(self, signals: Signals) -> None:
        """The machine is built; see `gpusim.core.signals`."""

    def warm(self, tag: int, requester: Requester) -> Mapping:
        """Translate a page without a clock; what is kept on the way is as if it had been asked for.

        A stage that keeps nothing, or does not say otherwise, asks the next one.  Nothing is
        counted.
        """
        assert self.warm_below is not None
        return self.warm_below.warm(tag, requester)

    @abstractmethod
    def shoot_down(self, tag: int | None) -> None:
        """Forget a page (None: all), also what has been read of it and is on its way.

        Called in the cycle in which the page changes, before it does.
        """

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """The storage that it needs in hardware; None: not stated."""
        return None

    def sent(self, paths: Sequence[str]) -> str:
        """What it has sent to the stage below, as a sum of counters (`gpusim.core.tally`).

        Args:
            paths: where it counts translations: its own, and that of its prefetches if there are
                any in this machine.
        """
        return " + ".join(f"{path}.fills" for path in paths)

    def received(self, paths: Sequence[str]) -> str:
        """What has come from the stage above, as a sum of counters; `paths` as for `sent`."""
        return " + ".join(f"{path}.lookups" for path in paths)


open_slot(Slot.STAGE, Stage, "site")


@mypyc_attr(allow_interpreted_subclasses=True)
class Prefetches(Component):
    """What a stage did for prefetches, beside what it did for warps."""

    def __init__(self, stage: Stage) -> None:
        self.name = f"{stage.name}, prefetches"
        self.path = f"{stage.path}/prefetch"
        self.instance = stage.instance
        self._counters = stage.prefetches

    def app_counters(self, app: int) -> Iterable[object]:
        return (self._counters[app],)
