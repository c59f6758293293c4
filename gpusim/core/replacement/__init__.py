"""Replacement: which entry of a set goes when another needs its place, in every array alike."""

from gpusim.core.replacement.base import Replacement, make_replacement, victim_of
from gpusim.core.replacement.dead_entry import DeadEntry
from gpusim.core.replacement.plru import TreePlru
from gpusim.core.replacement.recency import Fifo, Lru, Random, is_plain_lru
from gpusim.core.replacement.replaced_sets import make_sets
from gpusim.core.replacement.rrip import Brrip, Srrip
from gpusim.core.replacement.ways import ReplacementByWay

__all__ = [
    "Brrip",
    "DeadEntry",
    "Fifo",
    "Lru",
    "Random",
    "Replacement",
    "ReplacementByWay",
    "Srrip",
    "TreePlru",
    "is_plain_lru",
    "make_replacement",
    "make_sets",
    "victim_of",
]
