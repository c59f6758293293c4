"""Caches: the L1 of an SM, the banks of the L2 and their miss paths, virtual kinds, and arrays."""

from gpusim.hardware.cache.array import CacheArray
from gpusim.hardware.cache.auxiliary import SideCache, SideCounters
from gpusim.hardware.cache.bypass import CacheBypass, NeverBypass
from gpusim.hardware.cache.copies import CopyingL2Bank, CopyingMisses, join_partitions
from gpusim.hardware.cache.dram_misses import DramMisses
from gpusim.hardware.cache.hashed_array import HashedCacheArray
from gpusim.hardware.cache.invalidation_filter import InvalidationFilter
from gpusim.hardware.cache.l1 import L1Cache, L1Counters
from gpusim.hardware.cache.l2 import L2Bank, L2Counters, MissPath
from gpusim.hardware.cache.on_miss_l1 import OnMissL1Cache
from gpusim.hardware.cache.remapping_l1 import RemappingL1Cache
from gpusim.hardware.cache.sectored_l2 import SectorCounters, SectoredL2Bank, SectoredMisses
from gpusim.hardware.cache.storing_l1 import STORING_L1S, AllocatingL1Cache, EvictingL1Cache
from gpusim.hardware.cache.synonym_table import SynonymTable
from gpusim.hardware.cache.translated_misses import TranslatedMisses
from gpusim.hardware.cache.translation_aware import TranslationAwareBypass
from gpusim.hardware.cache.virtual_l1 import VirtualL1Cache
from gpusim.hardware.cache.written_bytes import ByteCounters, ByteMaskMisses

__all__ = [
    "STORING_L1S",
    "AllocatingL1Cache",
    "ByteCounters",
    "ByteMaskMisses",
    "CacheArray",
    "CacheBypass",
    "CopyingL2Bank",
    "CopyingMisses",
    "DramMisses",
    "EvictingL1Cache",
    "HashedCacheArray",
    "InvalidationFilter",
    "L1Cache",
    "L1Counters",
    "L2Bank",
    "L2Counters",
    "MissPath",
    "NeverBypass",
    "OnMissL1Cache",
    "RemappingL1Cache",
    "SectorCounters",
    "SectoredL2Bank",
    "SectoredMisses",
    "SideCache",
    "SideCounters",
    "SynonymTable",
    "TranslatedMisses",
    "TranslationAwareBypass",
    "VirtualL1Cache",
    "join_partitions",
]
