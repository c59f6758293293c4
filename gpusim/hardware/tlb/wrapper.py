"""Wrappers of a TLB array, which pass on whatever they do not change."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve
from mypy_extensions import mypyc_attr

from gpusim.core.mapping import Mapping
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.tlb.array import ArrayTraits, TlbArray, stated_cycles, stated_traits


@mypyc_attr(allow_interpreted_subclasses=True)
class ArrayAround(TlbArray):
    """An array that holds its translations in another one.

    Args:
        array: inside.

    Attributes:
        array: inside.
        inside: its traits.
    """

    def __init__(self, array: TlbArray) -> None:
        self.array = array
        self.inside = array.traits()
        self.extra_cycles, self.pipelined_cycles = stated_cycles(array)

    def traits(self) -> ArrayTraits:
        inside = self.inside
        return evolve(
            stated_traits(self),
            fills_every_slot=inside.fills_every_slot,
            most_spaces=inside.most_spaces,
            large_pages=inside.large_pages,
            spills=inside.spills,
            spills_entries=inside.spills_entries,
        )

    def attach(self, signals: Signals) -> None:
        self.array.attach(signals)

    def flush(self) -> None:
        self.array.flush()

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        return self.array.storage(dimensions)

    def policies(self) -> Sequence[tuple[str, object]]:
        return self.array.policies()

    def counters(self) -> tuple[object, ...]:
        return self.array.counters()

    def counters_of(self, asid: int) -> tuple[object, ...]:
        return self.array.counters_of(asid)

    def peek(self, tag: int, slot: int) -> Mapping | None:
        return self.array.peek(tag, slot)

    def _look_inside(self, tag: int, slot: int) -> Mapping | None:
        """What the array inside finds, and takes longer for."""
        mapping = self.array.lookup(tag, slot)
        self.extra_cycles, self.pipelined_cycles = stated_cycles(self.array)
        return mapping
