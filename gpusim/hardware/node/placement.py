"""The policy slot of page placement: in the memory of which GPU of a node a page lies."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.warp_program import Buffer


@mypyc_attr(allow_interpreted_subclasses=True)
class PagePlacement(Policy):
    """Chooses the GPU in whose memory a page gets its frame.

    Args:
        gpus: of the node.
        page_bytes: of the smallest pages, in which pages are counted.

    Attributes:
        by_touch: whether it depends on who asks, so that no page can be placed before.
    """

    by_touch: bool = False

    def __init__(self, gpus: int, page_bytes: int) -> None:
        self.gpus = gpus
        self.page_bytes = page_bytes

    def begin(self, asid: int, arrays: Sequence[Buffer]) -> None:
        """An application begins: these are its arrays, as far as it names any."""

    @abstractmethod
    def place(self, asid: int, vpn: int, gpu: int) -> int:
        """The GPU in whose memory a page will lie that `gpu` is the first to ask for."""


open_slot(Slot.PAGE_PLACEMENT, PagePlacement, "gpus", "page_bytes")


@mypyc_attr(allow_interpreted_subclasses=True)
class FirstTouchPlacement(PagePlacement):
    """A page lies where the GPU is that asks for it first."""

    by_touch = True

    def place(self, asid: int, vpn: int, gpu: int) -> int:
        return gpu


register_policy(Slot.PAGE_PLACEMENT, "first-touch", FirstTouchPlacement)


@mypyc_attr(allow_interpreted_subclasses=True)
class InterleavedPlacement(PagePlacement):
    """Pages, or runs of pages, are dealt out to the GPUs in turn.

    Args:
        gpus, page_bytes: see `PagePlacement`.
        pages: of a run.
        first: the GPU of an application's first run, where its first array begins; -1: the last
            GPU.  None: runs are counted from address 0 on.
    """

    def __init__(
        self, gpus: int, page_bytes: int, *, pages: int = 1, first: int | None = None
    ) -> None:
        super().__init__(gpus, page_bytes)
        at_least(1, pages=pages)
        if first is not None:
            at_least(-1, first=first)
        self._pages = pages
        self._first = first
        self._begins: dict[int, int] = {}
        """By address space, the page from which on runs are counted."""

    def begin(self, asid: int, arrays: Sequence[Buffer]) -> None:
        if self._first is not None and arrays:
            base = min(array.base for array in arrays)
            self._begins[asid] = base // self.page_bytes - self._first * self._pages

    def place(self, asid: int, vpn: int, gpu: int) -> int:
        return (vpn - self._begins.get(asid, 0)) // self._pages % self.gpus


register_policy(Slot.PAGE_PLACEMENT, "interleave", InterleavedPlacement)


@mypyc_attr(allow_interpreted_subclasses=True)
class ArrayPlacement(PagePlacement):
    """Each array is cut into equal runs of pages, one for each GPU, in their order.

    What remains of the division lies on the last GPU, as where MGPUSim distributes memory over
    devices that are not unified.  Pages that lie in no array are dealt out in turn.
    """

    def __init__(self, gpus: int, page_bytes: int) -> None:
        super().__init__(gpus, page_bytes)
        self._arrays: dict[int, list[tuple[int, int]]] = {}
        """By address space, the first page of each array and how many it has, in their order."""

    def begin(self, asid: int, arrays: Sequence[Buffer]) -> None:
        size = self.page_bytes
        ends = ((one.base // size, (one.base + max(one.bytes, 1) - 1) // size) for one in arrays)
        self._arrays[asid] = sorted((first, last - first + 1) for first, last in ends)

    def place(self, asid: int, vpn: int, gpu: int) -> int:
        arrays = self._arrays.get(asid, [])
        index = bisect_right(arrays, vpn, key=lambda array: array[0]) - 1
        if index < 0 or vpn >= sum(arrays[index]):
            return vpn % self.gpus
        first, pages = arrays[index]
        each = max(pages // self.gpus, 1)
        return min((vpn - first) // each, self.gpus - 1)


register_policy(Slot.PAGE_PLACEMENT, "by-array", ArrayPlacement)
