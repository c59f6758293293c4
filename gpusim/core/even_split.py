"""Splitting a number of items evenly."""

from __future__ import annotations


def split_ways(ways: int, parts: int) -> list[int]:
    """`ways` in `parts` parts, as equal as can be."""
    return [ways * (part + 1) // parts - ways * part // parts for part in range(parts)]
