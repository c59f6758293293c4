"""Page walks that have ended, as the walkers announce them."""

from __future__ import annotations

from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.request import Translation
from gpusim.core.unboxed import IntList
from gpusim.hardware.walk import Walk
from gpusim.hardware.walk.page_path import PagePath


def ended_walk(asid: int, vpn: int, sm: int, requested: int, started: int) -> Walk:
    """A walk of four levels for application 0."""
    asked = Translation(0, asid, sm, asid << ASID_SHIFT | vpn, 0, 0, IntList())
    walk = Walk(asked, PagePath((), (), Mapping(asked.tag, 0)), requested)
    walk.started, walk.read = started, 4
    return walk
