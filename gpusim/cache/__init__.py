"""Caches: the L1 of an SM, the banks of the L2, and the arrays inside them."""

from gpusim.cache.array import CacheArray
from gpusim.cache.bypass import CacheBypass, NeverBypass
from gpusim.cache.l1 import L1Cache, L1Counters
from gpusim.cache.l2 import L2Bank, L2Counters
from gpusim.cache.translation_aware import TranslationAwareBypass

__all__ = [
    "CacheArray",
    "CacheBypass",
    "L1Cache",
    "L1Counters",
    "L2Bank",
    "L2Counters",
    "NeverBypass",
    "TranslationAwareBypass",
]
