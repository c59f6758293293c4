"""Policies that give what a machine cannot use."""

from __future__ import annotations

from typing import Any

from gpusim.plugin import (
    FrameAllocator,
    Frames,
    Mapping,
    Replacement,
    SetAssociativeArray,
    SetKind,
    TlbArray,
    WalkOrder,
)


class AnotherFrame(SetAssociativeArray):
    def lookup(self, tag: int, slot: int) -> Mapping | None:
        found = super().lookup(tag, slot)
        return None if found is None else Mapping(found.tag, found.pfn + 1)


class Numbers(TlbArray):
    def __init__(self, config: Any) -> None:
        pass

    def lookup(self, tag: int, slot: int) -> Any:
        return 7

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        return 0

    def invalidate(self, tag: int) -> bool:
        return False

    def flush(self) -> None:
        pass


class MakeFails(SetKind):
    def make(self, index_bits: int) -> Any:
        return 1 // 0


class MakesNothing(SetKind):
    def make(self, index_bits: int) -> Any:
        return None


class TooFar(WalkOrder):
    def choose(self, waiting: Any, cycle: int) -> int:
        return len(waiting)


class FewerArguments(WalkOrder):
    def choose(self, waiting: Any) -> int:  # type: ignore[override]
        return 0


class Positional(WalkOrder):
    def __init__(self, patience: int = 3) -> None:
        pass

    def choose(self, waiting: Any, cycle: int) -> int:
        return 0


class UnknownSignal(WalkOrder):
    def attach(self, signals: Any) -> None:
        signals.listen("l1.mis", print)

    def choose(self, waiting: Any, cycle: int) -> int:
        return 0


class ThreePages(FrameAllocator):
    def allocate(self, asid: int, vpn: int) -> Frames:
        return Frames(0, 3)

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        pass


class NoFrame(ThreePages):
    def allocate(self, asid: int, vpn: int) -> Any:
        return -5


class NoVictim(Replacement):
    def touch(self, index: int, key: int) -> None:
        pass

    def insert(self, index: int, key: int) -> None:
        pass

    def victim(self, index: int) -> int:
        return -12345

    def forget(self, index: int, key: int) -> None:
        pass
