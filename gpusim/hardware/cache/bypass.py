"""The policy slot of the L2 cache's bypass: which page-table reads go past the cache."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.structures import Dimensions, Storage


@mypyc_attr(allow_interpreted_subclasses=True)
class CacheBypass(Policy):
    """Decides which page-table reads go straight to DRAM; one for all banks of the L2 cache.

    Only page-table reads are asked about: they come from the walkers and end there, and
    no store goes to their lines, so DRAM has what the cache has.  A data request would have to look
    for a dirty line first, and comes through the crossbar to a bank that also answers it.

    Attributes:
        idle: it lets nothing past; then it is not asked.
    """

    idle: bool = False

    @abstractmethod
    def bypasses(self, depth: int, app: int, line: int, cycle: int) -> bool:
        """Whether a page-table read neither looks for its line nor brings it in.

        Asked once for each read, before it is sent.

        Args:
            depth: level that it reads, 1 for the root.
            app: index of its application.
            line: physical line number.
            cycle: now.
        """

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """The storage that it needs in hardware; None: not stated."""
        return None


open_slot(Slot.CACHE_BYPASS, CacheBypass)


@mypyc_attr(allow_interpreted_subclasses=True)
class NeverBypass(CacheBypass):
    """Every page-table read goes to its L2 bank."""

    idle = True

    def bypasses(self, depth: int, app: int, line: int, cycle: int) -> bool:
        return False

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        return []


register_policy(Slot.CACHE_BYPASS, "never", NeverBypass)
