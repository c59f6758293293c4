"""Sectors of a cache as masks of 32-byte sectors, tabled for all masks of a line.

All caches of a geometry have the same table.
"""

from __future__ import annotations

from functools import cache

from gpusim.core.warp_program import SECTOR_BYTES, SECTORS


@cache
def touched_sectors(sector: int, line: int) -> list[int]:
    """By mask of 32-byte sectors: the sectors of a cache that it touches, each whole.

    Args:
        sector: bytes of a sector of the cache.
        line: bytes of its line; what a mask has beyond it touches nothing.
    """
    groups = _groups(sector, line)
    return [sum(one for one in groups if one & mask) for mask in range(SECTORS + 1)]


@cache
def covered_sectors(sector: int, line: int) -> list[int]:
    """By mask of 32-byte sectors: the sectors of a cache that it has in whole."""
    groups = _groups(sector, line)
    return [sum(one for one in groups if not one & ~mask) for mask in range(SECTORS + 1)]


def _groups(sector: int, line: int) -> list[int]:
    """The mask of each sector of a line."""
    each = sector // SECTOR_BYTES
    group = (1 << each) - 1
    return [group << first for first in range(0, line // SECTOR_BYTES, each)]
