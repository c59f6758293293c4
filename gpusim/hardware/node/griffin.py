"""Griffin: pages that come late to a GPU which has many, and pages that move where they are used.

Baruah et al., *Griffin: Hardware-Software Support for Efficient Page Migration in Multi-GPU
Systems*, HPCA 2020.  The rules are from memory, as the paper's text is not at hand: delayed first
touch, and a classification of pages by filtered counts of the accesses of each GPU, by which a page
moves only where that pays.  Weights and thresholds are our choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.node.placement import PagePlacement
from gpusim.hardware.node.remote_pages import RemotePages

_COUNTER_BITS: Final = 8
"""Of the accesses of a GPU to a page, as Griffin's filtered counts [our choice]."""


@mypyc_attr(allow_interpreted_subclasses=True)
class DelayedFirstTouch(PagePlacement):
    """A page lies with the GPU that touches it first, unless that has more than its share.

    Griffin leaves such a page with the CPU, until it is touched again.  Here it goes to the GPU
    that has fewest pages, the next one after the toucher if several have [our choice].

    Args:
        gpus, page_bytes: see `PagePlacement`.
        slack: pages that a GPU may have above the mean of all.
    """

    by_touch = True

    def __init__(self, gpus: int, page_bytes: int, *, slack: int = 8) -> None:
        super().__init__(gpus, page_bytes)
        at_least(0, slack=slack)
        self._slack = slack
        self._pages = [0] * gpus

    def place(self, asid: int, vpn: int, gpu: int) -> int:
        owner = gpu
        if self._pages[gpu] * self.gpus > sum(self._pages) + self._slack * self.gpus:
            after = [(gpu + further) % self.gpus for further in range(self.gpus)]
            owner = min(after, key=self._pages.__getitem__)
        self._pages[owner] += 1
        return owner


register_policy(Slot.PAGE_PLACEMENT, "delayed-first-touch", DelayedFirstTouch)


class _Counts:
    """The accesses of each GPU to a page.

    Attributes:
        epoch: that `now` is of.
        now: accesses in it.
        filtered: of the epochs before.
    """

    __slots__ = ("epoch", "filtered", "now")

    def __init__(self, gpus: int, epoch: int) -> None:
        self.epoch = epoch
        self.now = [0] * gpus
        self.filtered = [0.0] * gpus


@mypyc_attr(allow_interpreted_subclasses=True)
class ClassifiedPages(RemotePages):
    """A page moves to the GPU that mostly uses it, where that pays.

    Accesses are counted by page and GPU, its own included, and filtered at the end of each epoch:
    a filtered count is `weight` times that of the epoch and the rest of what it was.  A page whose
    filtered counts are below `busy` together is *idle*; one of which a GPU has the share
    `dedicated` is *dedicated* to it, others are *shared*.  Idle and shared pages stay.  A dedicated
    page moves to its GPU when that accesses it from afar.

    Args:
        gpus, page_bytes: see `RemotePages`.
        epoch: cycles after which counts are filtered.
        weight: of the latest epoch.
        busy: filtered accesses, of all GPUs, from which on a page may be worth a move.
        dedicated: share of one GPU.

    Raises:
        OptionError: an option cannot be.
    """

    counts = True
    counts_own = True

    def __init__(
        self,
        gpus: int,
        page_bytes: int,
        *,
        epoch: int = 1000,
        weight: float = 0.5,
        busy: int = 8,
        dedicated: float = 0.75,
    ) -> None:
        super().__init__(gpus, page_bytes)
        at_least(1, epoch=epoch, busy=busy)
        if not 0 < weight <= 1:
            raise OptionError("weight", "must be above 0 and up to 1")
        if not 0.5 < dedicated <= 1:
            raise OptionError("dedicated", "must be above 0.5 and up to 1")
        self._epoch = epoch
        self._weight = weight
        self._busy = busy
        self._dedicated = dedicated
        self._counts: dict[int, _Counts] = {}
        self._signals: Signals | None = None

    def attach(self, signals: Signals) -> None:
        self._signals = signals

    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        return False

    def accessed(self, tag: int, gpu: int, owner: int) -> bool:
        assert self._signals is not None
        return self.accessed_at(tag, gpu, owner, self._signals.now)

    def accessed_at(self, tag: int, gpu: int, owner: int, now: int) -> bool:
        """Count an access in a cycle; whether the page moves to `gpu`."""
        epoch = now // self._epoch
        counts = self._counts.get(tag)
        if counts is None:
            counts = self._counts[tag] = _Counts(self.gpus, epoch)
        elif counts.epoch < epoch:
            self._end_epochs(counts, epoch)
        counts.now[gpu] += 1
        if gpu == owner or counts.filtered[gpu] < max(counts.filtered):
            return False
        return self.kind(tag) == "dedicated"

    def _end_epochs(self, counts: _Counts, epoch: int) -> None:
        """Filter what was counted, and the epochs since, in which nothing was."""
        rest = 1 - self._weight
        idle = rest ** (epoch - counts.epoch - 1)
        for gpu, count in enumerate(counts.now):
            counts.filtered[gpu] = (self._weight * count + rest * counts.filtered[gpu]) * idle
            counts.now[gpu] = 0
        counts.epoch = epoch

    def kind(self, tag: int) -> str:
        """What a page is since its latest epoch: ``"idle"``, ``"dedicated"`` or ``"shared"``."""
        counts = self._counts.get(tag)
        total = 0.0 if counts is None else sum(counts.filtered)
        if counts is None or total < self._busy:
            return "idle"
        return "dedicated" if max(counts.filtered) >= self._dedicated * total else "shared"

    def moved(self, tag: int, gpu: int) -> None:
        self._counts.pop(tag, None)

    def storage(self, dimensions: Dimensions, pages: int) -> Sequence[Storage]:
        fields = {"filtered": _COUNTER_BITS, "of the epoch": _COUNTER_BITS}
        return (Storage("accesses of GPUs to pages", pages * self.gpus, fields),)


register_policy(Slot.REMOTE_PAGES, "griffin", ClassifiedPages)
