"""The array of a TLB level, with what the level's other keys put around it."""

from __future__ import annotations

from attrs import evolve

from gpusim.config.translation import TlbConfig
from gpusim.core.registry import Slot, find_policy, make_policy
from gpusim.hardware.tlb.array import TlbArray
from gpusim.hardware.tlb.hashed import HashedArray
from gpusim.hardware.tlb.ranges import RangesArray
from gpusim.hardware.tlb.set_associative import ArrayOfSets, SetAssociativeArray
from gpusim.hardware.tlb.sub_entry import SubEntryArray
from gpusim.hardware.tlb.victims import VictimBuffer


def make_array(config: TlbConfig) -> TlbArray:
    """The array that a level asks.

    Raises:
        OptionError: the array cannot be made of the level's keys, or one of them is of no effect.
    """
    cls: type[TlbArray] = find_policy(Slot.TLB_ARRAY, config.array.policy)
    if takes_sets(cls) and config.sub_entries > 1 and not _holds_pages(cls, config):
        return RangesArray(_around(_of_ranges(cls, config), evolve(config, sub_entries=1)), config)
    array: TlbArray = make_policy(Slot.TLB_ARRAY, config.array, config)
    return _around(array, config)


def takes_sets(cls: type[TlbArray]) -> bool:
    """Whether ``tlb.NAME.sets`` says what the sets of an array are."""
    return issubclass(cls, ArrayOfSets) or cls is SubEntryArray


def _holds_pages(cls: type[TlbArray], config: TlbConfig) -> bool:
    """Whether the array itself knows the pages of an entry with sub-entries."""
    return cls is SubEntryArray and config.sets.policy == "plain"


def _of_ranges(cls: type[TlbArray], config: TlbConfig) -> TlbArray:
    """An array of sets for ranges of pages."""
    if cls is SubEntryArray:
        return SetAssociativeArray(config)
    array: TlbArray = make_policy(Slot.TLB_ARRAY, config.array, config)
    return array


def _around(array: TlbArray, config: TlbConfig) -> TlbArray:
    """The array with its victim buffer and its hash, if it has them."""
    if config.victims is not None:
        array = VictimBuffer(array, config)
    return array if config.hash is None else HashedArray(array, config)
