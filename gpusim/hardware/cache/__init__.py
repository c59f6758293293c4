"""Caches: the L1 of an SM, the banks of the L2 and their miss paths, virtual names, and arrays."""

from gpusim.hardware.cache.array import CacheArray
from gpusim.hardware.cache.bank_site import BankSite
from gpusim.hardware.cache.bypass import CacheBypass, NeverBypass
from gpusim.hardware.cache.dram_misses import DramMisses
from gpusim.hardware.cache.first_cache_counters import L1Counters, SideCounters
from gpusim.hardware.cache.homes import (
    AskedCounters,
    AskedHomes,
    CopyCounters,
    PartitionHomes,
    join_partitions,
)
from gpusim.hardware.cache.invalidation_filter import InvalidationFilter
from gpusim.hardware.cache.l1 import L1_PATH, CacheSite, L1Cache
from gpusim.hardware.cache.l2 import L2Bank
from gpusim.hardware.cache.l2_counters import L2Counters, SectorCounters
from gpusim.hardware.cache.leading_names import LeadingNames
from gpusim.hardware.cache.line_signals import LineSignals
from gpusim.hardware.cache.memory_side import (
    MemorySide,
    MemorySideCache,
    MemorySideCounters,
    Slice,
)
from gpusim.hardware.cache.miss_path import MissPath
from gpusim.hardware.cache.synonym_table import SynonymTable
from gpusim.hardware.cache.translated_misses import TranslatedMisses
from gpusim.hardware.cache.translation_aware import TranslationAwareBypass
from gpusim.hardware.cache.written_bytes import ByteCounters

__all__ = [
    "L1_PATH",
    "BankSite",
    "ByteCounters",
    "CacheArray",
    "CacheBypass",
    "CacheSite",
    "AskedCounters",
    "AskedHomes",
    "CopyCounters",
    "DramMisses",
    "InvalidationFilter",
    "L1Cache",
    "L1Counters",
    "L2Bank",
    "L2Counters",
    "LeadingNames",
    "LineSignals",
    "MemorySide",
    "MemorySideCache",
    "MemorySideCounters",
    "MissPath",
    "NeverBypass",
    "PartitionHomes",
    "SectorCounters",
    "SideCounters",
    "Slice",
    "SynonymTable",
    "TranslatedMisses",
    "TranslationAwareBypass",
    "join_partitions",
]
