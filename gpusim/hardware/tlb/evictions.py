"""The announcement of what leaves the array of a TLB."""

from __future__ import annotations

from collections.abc import Callable

from mypy_extensions import mypyc_attr

from gpusim.core.engine import Probe
from gpusim.core.errors import UserError
from gpusim.core.mapping import Mapping
from gpusim.hardware.tlb.array import TlbArray
from gpusim.hardware.tlb.fill import FillPolicy


@mypyc_attr(allow_interpreted_subclasses=True)
class Evictions(Probe[[int, int, Mapping]]):
    """Instance, tag and mapping of a page that leaves an array, as others need its entry.

    The array is asked for them when there is a listener, or a fill policy that follows them.

    Args:
        label: of the level, for reports.
        index: number of the TLB in its level.
        array: whose evictions they are.
        fill_policy: which fills the array; None: everything does.

    Attributes:
        spilled: what the array has evicted, and is not announced yet; None: it is not asked.
    """

    def __init__(
        self, label: str, index: int, array: TlbArray, fill_policy: FillPolicy | None
    ) -> None:
        super().__init__()
        self._label = label
        self._index = index
        self._array = array
        self._spills = array.traits().spills
        self._whole = array.traits().large_pages == "whole"
        self._follower: FillPolicy | None = None
        self.spilled: list[dict[int, Mapping]] | None = None
        if fill_policy is not None and type(fill_policy).follows:
            self._follower = fill_policy
            self._ask()

    def listen(self, listener: Callable[[int, int, Mapping], None]) -> None:
        """Call `listener` with every eviction from now on.

        Raises:
            UserError: the array does not hand on what it evicts.
        """
        if self.spilled is None:
            if not self._spills:
                raise UserError(
                    f"tlb.{self._label}.evict: the array {type(self._array).__qualname__} does not "
                    "hand on what it evicts (spills)"
                )
            self._ask()
        super().listen(listener)

    def _ask(self) -> None:
        self.spilled = []
        self._array.spill_into(self.spilled)

    def announce(self) -> None:
        """The fill policy, and whatever listens, learn what the array has evicted."""
        if not self.spilled:
            return
        for pages in self.spilled:
            for tag, mapping in pages.items():
                if self.listeners:
                    self(self._index, tag, mapping)
                if self._follower is not None and not (self._whole and mapping.pages > 1):
                    self._follower.evicted(tag)
        self.spilled.clear()
