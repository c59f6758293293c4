"""What stands around a TLB array, and passes on whatever it does not change itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mypy_extensions import mypyc_attr

from gpusim.core.mapping import Mapping
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.tlb.array import TlbArray

_PASSED_ON: Final = (
    "extra_cycles",
    "pipelined_cycles",
    "fills_every_slot",
    "most_spaces",
    "large_pages",
)
"""What an array states, and one around it states likewise."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ArrayAround(TlbArray):
    """An array that holds its translations in another one.

    Args:
        array: inside.

    Attributes:
        array: inside.
    """

    def __init__(self, array: TlbArray) -> None:
        self.array = array
        self._inside: Any = array  # it may state what follows on its class
        mine: Any = self
        for name in _PASSED_ON:
            setattr(mine, name, getattr(self._inside, name))

    def attach(self, signals: Signals) -> None:
        self.array.attach(signals)

    def flush(self) -> None:
        self.array.flush()

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        return self.array.storage(dimensions)

    def counters(self) -> tuple[object, ...]:
        return self.array.counters()

    def counters_of(self, asid: int) -> tuple[object, ...]:
        return self.array.counters_of(asid)

    def _look_inside(self, tag: int, slot: int) -> Mapping | None:
        """What the array inside finds, and takes longer for."""
        mapping = self.array.lookup(tag, slot)
        self.extra_cycles = self._inside.extra_cycles
        self.pipelined_cycles = self._inside.pipelined_cycles
        return mapping
