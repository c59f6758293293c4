"""Replacement: which entry of a set goes when another needs its place, in every array alike."""

from gpusim.core.replacement.base import Replacement
from gpusim.core.replacement.recency import Fifo, Lru, Random

__all__ = ["Fifo", "Lru", "Random", "Replacement"]
