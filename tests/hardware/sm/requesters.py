"""Who looks up a page, for tests of policies that ask."""

from __future__ import annotations

from gpusim.core.request import Translation
from gpusim.core.unboxed import IntList


def requester(app: int, sm: int = 0, warp_slot: int = 0) -> Translation:
    """The miss of a warp of an application."""
    return Translation(app, app, sm, 0, 0, warp_slot, IntList([0, 0]))
