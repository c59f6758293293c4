"""The policy slot of the driver's prefetching: which pages come with those that faulted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.hardware.paging.fault import Fault

VA_BLOCK: Final = 2 << 20
"""Bytes over which NVIDIA's driver keeps books, and beyond which it does not prefetch."""

BIG_PAGE: Final = 64 << 10


class Resident(Protocol):
    """What a policy may know of pages."""

    def there(self, tag: int) -> bool:
        """Whether a page is on the device, or comes with this batch."""

    def may_come(self, tag: int) -> bool:
        """Whether it lies in an array that may be on the device."""


@mypyc_attr(allow_interpreted_subclasses=True)
class PagePrefetch(Policy):
    """Names pages that come with one that was asked for; the driver leaves out what may not come.

    Args:
        page_bytes: of the machine's smallest pages, in which tags count.
    """

    def __init__(self, page_bytes: int) -> None:
        self.page_bytes = page_bytes

    @abstractmethod
    def pages(self, fault: Fault, resident: Resident) -> Iterable[int]:
        """Tags of pages to bring beside that of a fault, in the order in which they should come.

        All pages of the batch count as there.
        """

    def around(self, tag: int, size: int) -> range:
        """All pages of the aligned range of `size` bytes that a page lies in."""
        pages = max(size // self.page_bytes, 1)
        first = tag // pages * pages
        return range(first, first + pages)


open_slot(Slot.PAGE_PREFETCH, PagePrefetch, "page_bytes")


@mypyc_attr(allow_interpreted_subclasses=True)
class NoPrefetch(PagePrefetch):
    """Only the page of the fault."""

    def pages(self, fault: Fault, resident: Resident) -> Iterable[int]:
        return ()


register_policy(Slot.PAGE_PREFETCH, "none", NoPrefetch)


@mypyc_attr(allow_interpreted_subclasses=True)
class BlockPrefetch(PagePrefetch):
    """The rest of the 64 KiB around the fault, a big page of NVIDIA's GPUs."""

    def pages(self, fault: Fault, resident: Resident) -> Iterable[int]:
        return self.around(fault.tag, BIG_PAGE)


register_policy(Slot.PAGE_PREFETCH, "block", BlockPrefetch)


@mypyc_attr(allow_interpreted_subclasses=True)
class TreePrefetch(PagePrefetch):
    """The largest range around the fault, from 64 KiB to 2 MiB, of which most is present.

    The 64 KiB around a fault always come.  From these upward, the range of a node of the binary
    tree comes whole if more than `threshold` per cent of its pages are there or come, 51 in
    NVIDIA's driver (uvm_perf_prefetch.c); pages beyond the end of an array do not count.

    Args:
        page_bytes: see `PagePrefetch`.
        threshold: per cent of a range that must be present or on the way.
    """

    def __init__(self, page_bytes: int, *, threshold: int = 51) -> None:
        if not 1 <= threshold <= 100:
            raise OptionError("threshold", "must be 1 to 100")
        super().__init__(page_bytes)
        self._threshold = threshold

    def pages(self, fault: Fault, resident: Resident) -> Iterable[int]:
        best = leaf = self.around(fault.tag, BIG_PAGE)
        size = 2 * max(BIG_PAGE, self.page_bytes)
        while size <= VA_BLOCK:
            node = self.around(fault.tag, size)
            there = all_ = 0
            for tag in node:
                if resident.may_come(tag):
                    all_ += 1
                    there += tag in leaf or resident.there(tag)
            if there * 100 > all_ * self._threshold:
                best = node
            size *= 2
        return best


register_policy(Slot.PAGE_PREFETCH, "tree", TreePrefetch)


@mypyc_attr(allow_interpreted_subclasses=True)
class StridePrefetch(PagePrefetch):
    """Pages as far ahead as the last two faults of the same warp slot lie apart, seen twice.

    Args:
        page_bytes: see `PagePrefetch`.
        degree: pages that a fault brings along.
    """

    def __init__(self, page_bytes: int, *, degree: int = 4) -> None:
        at_least(1, degree=degree)
        super().__init__(page_bytes)
        self._degree = degree
        self._last: dict[tuple[int, int], tuple[int, int]] = {}
        """By SM and warp slot: the last page, and how far it was from the one before."""

    def pages(self, fault: Fault, resident: Resident) -> Iterator[int]:
        place = fault.sm, fault.warp_slot
        last, before = self._last.get(place, (fault.tag, 0))
        stride = fault.tag - last
        self._last[place] = fault.tag, stride
        if stride and stride == before:
            for step in range(1, self._degree + 1):
                yield fault.tag + step * stride


register_policy(Slot.PAGE_PREFETCH, "stride", StridePrefetch)
