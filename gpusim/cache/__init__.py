"""Caches: the L1 of an SM, the banks of the L2, their virtual kinds, and the arrays inside them."""

from gpusim.cache.array import CacheArray
from gpusim.cache.bypass import CacheBypass, NeverBypass
from gpusim.cache.invalidation_filter import InvalidationFilter
from gpusim.cache.l1 import L1Cache, L1Counters
from gpusim.cache.l2 import L2Bank, L2Counters
from gpusim.cache.remapping_l1 import RemappingL1Cache
from gpusim.cache.synonym_table import SynonymTable
from gpusim.cache.translation_aware import TranslationAwareBypass
from gpusim.cache.virtual_l1 import VirtualL1Cache
from gpusim.cache.virtual_l2 import VirtualL2Bank

__all__ = [
    "CacheArray",
    "CacheBypass",
    "InvalidationFilter",
    "L1Cache",
    "L1Counters",
    "L2Bank",
    "L2Counters",
    "NeverBypass",
    "RemappingL1Cache",
    "SynonymTable",
    "TranslationAwareBypass",
    "VirtualL1Cache",
    "VirtualL2Bank",
]
