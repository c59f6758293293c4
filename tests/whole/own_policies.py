"""Policies as users write them, most of them wrong; named in tests as "tests.whole...:Class"."""

from __future__ import annotations

from gpusim.config.translation import TlbConfig
from gpusim.core.mapping import Mapping
from gpusim.hardware.dram.queue import FrFcfs
from gpusim.hardware.dram.waiting import Waiting
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.hardware.walk import FrameAllocator

NOT_A_CLASS = 3


class NoMethods:
    pass


class Unfinished(FrameAllocator):
    """Lacks both methods."""


class OtherArguments(SetAssociativeArray):
    def __init__(self, entries: int, ways: int) -> None:
        pass


class Optioned(SetAssociativeArray):
    def __init__(self, config: TlbConfig, *, depth: int = 1) -> None:
        super().__init__(config)


class FailsWhenMade(SetAssociativeArray):
    def __init__(self, config: TlbConfig) -> None:
        raise ZeroDivisionError("no such luck")


class FailsLater(SetAssociativeArray):
    """Raises at its hundredth fill."""

    def __init__(self, config: TlbConfig) -> None:
        super().__init__(config)
        self.fills = 0

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        self.fills += 1
        if self.fills == 100:
            raise KeyError("lost my way")
        return super().insert(tag, mapping, slot)


class NeverPicks(FrFcfs):
    """A DRAM queue that takes requests in and serves none."""

    def best(self, bank: int, row: int) -> Waiting | None:
        return None
