"""The forward table as the last TLB level: every page that is cached is known there (VC §4.1)."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable

from mypy_extensions import mypyc_attr

from gpusim.config.translation import FbtConfig, TlbConfig
from gpusim.core.mapping import Mapping
from gpusim.files.units import cycles
from gpusim.hardware.tlb.array import TlbArray


@mypyc_attr(allow_interpreted_subclasses=True)
class ForwardTableArray(TlbArray):
    """Pages of a forward–backward table, which keeps itself up to date.

    Args:
        find: what covers a tagged page that is cached under its own name, or None.
    """

    large_pages = "whole"

    def __init__(self, find: Callable[[int], Mapping | None]) -> None:
        self._find = find

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        return self._find(tag)

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        return 0

    def invalidate(self, tag: int) -> bool:
        return False

    def flush(self) -> None:
        """The table is not this array's."""


def forward_table_level(fbt: FbtConfig, tlb: abc.Mapping[str, TlbConfig]) -> TlbConfig:
    """The forward table as a level behind those of a model, in the same place as the last one.

    It has as many ports and MSHRs as that has, which never sends it more [our choice].
    """
    last = list(tlb.values())[-1]
    return TlbConfig(
        "gpu",
        fbt.entries,
        fbt.ways,
        ports=last.ports,
        latency=fbt.latency,
        mshrs=last.mshrs,
        queue=last.mshrs,
        trip=cycles(0),
    )
