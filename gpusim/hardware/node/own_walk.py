"""A walk of a GPU's table for which no TLB waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.request import Translation
from gpusim.core.states import State
from gpusim.core.unboxed import pair

_WALKER: Final = int(State.WALKER)


@mypyc_attr(allow_interpreted_subclasses=True)
class OwnWalk(Translation):
    """A walk to invalidate an entry of a table, or on behalf of another GPU.

    Attributes:
        then: called with it when it has ended; its `mapping` is what it found.
    """

    __slots__ = ("then",)

    def __init__(self, tag: int, sm: int, now: int, then: Callable[[OwnWalk], None]) -> None:
        """A walk of a page.

        Args:
            tag: the page, whose address space is the number of its application.
            sm: the first SM of the GPU whose table is walked.
            now: the cycle.
            then: see the attribute.
        """
        asid = tag >> ASID_SHIFT
        super().__init__(asid, asid, sm, tag, 0, 0, pair(_WALKER, now))
        self.then = then
