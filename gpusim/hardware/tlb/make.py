"""The array of a TLB level, with what the level's other keys put around it."""

from __future__ import annotations

from gpusim.config.schema import TlbConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.hardware.tlb.array import TlbArray
from gpusim.hardware.tlb.hashed import HashedArray
from gpusim.hardware.tlb.victims import VictimBuffer


def make_array(config: TlbConfig) -> TlbArray:
    """The array that a level asks.

    Raises:
        OptionError: the array cannot be made of the level's keys, or one of them is of no effect.
    """
    array: TlbArray = make_policy(Slot.TLB_ARRAY, config.array, config)
    if config.victims is not None:
        array = VictimBuffer(array, config)
    return array if config.hash is None else HashedArray(array, config)
