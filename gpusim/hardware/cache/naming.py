"""Names of the lines of an L1 cache: physical lines, or virtual ones of address spaces."""

from __future__ import annotations

from abc import abstractmethod

from gpusim.config.schema import L1Config
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.request import MemoryRequest


class Naming:
    """Names of lines; two lines with one name are one to the cache.

    Args:
        line_shift: bytes of a line, as a power of two.
    """

    def __init__(self, line_shift: int) -> None:
        self._shift = line_shift

    @abstractmethod
    def name(self, request: MemoryRequest) -> int:
        """The name of a request's line."""

    @abstractmethod
    def choose(self, virtual: int, physical: int) -> int:
        """Which of the two numbers of a line names it, the virtual one with its address space."""

    @abstractmethod
    def lines(self, mapping: Mapping, page_shift: int) -> range:
        """The names of all lines of a page, as it is mapped; `page_shift`: of the page size."""


class PhysicalNames(Naming):
    """The number of a line in physical memory."""

    def name(self, request: MemoryRequest) -> int:
        return request.address >> self._shift

    def choose(self, virtual: int, physical: int) -> int:
        return physical

    def lines(self, mapping: Mapping, page_shift: int) -> range:
        shift = page_shift - self._shift
        return range(mapping.pfn << shift, (mapping.pfn + mapping.pages) << shift)


class VirtualNames(Naming):
    """``asid | virtual line``: the number of a line in its address space, tagged with that."""

    def name(self, request: MemoryRequest) -> int:
        return request.asid << ASID_SHIFT | request.vline

    def choose(self, virtual: int, physical: int) -> int:
        return virtual

    def lines(self, mapping: Mapping, page_shift: int) -> range:
        shift, space = page_shift - self._shift, mapping.asid << ASID_SHIFT
        first, end = mapping.vpn << shift, (mapping.vpn + mapping.pages) << shift
        return range(space + first, space + end)


def make_naming(config: L1Config) -> Naming:
    """What names the lines of an L1 cache before they have arrived."""
    shift = config.line.bit_length() - 1
    return VirtualNames(shift) if config.translation.startswith("after") else PhysicalNames(shift)
