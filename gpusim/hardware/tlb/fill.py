"""The slot beside a TLB array: which translations that come back may go into it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from mypy_extensions import mypyc_attr

from gpusim.core.mapping import Mapping
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.request import Requester
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage


@mypyc_attr(allow_interpreted_subclasses=True)
class FillPolicy(Policy):
    """Decides what a TLB is filled with; what it keeps out, it may keep in a buffer of its own.

    Lookups probe that buffer in parallel with the array: a page found there is a hit, in the same
    cycle in which the array would have missed.

    A policy has no clock: each call has the cycle, which never goes back.  Lookups of prefetches
    do not call it; what only a prefetch asked for is filled on behalf of the request that caused
    the prefetch.

    Attributes:
        follows: the TLB calls `used` and `evicted` for the pages that it lets in; the policy is
            refused on an array that does not hand on what it evicts (`TlbArray.spills`).
    """

    follows: ClassVar[bool] = False

    def attach(self, signals: Signals) -> None:
        """The machine is built; see `gpusim.core.signals`.

        A policy that has epochs calls ``signals.announce`` at the end of each: application; cycle
        of the end; hits, misses and warps of the epoch; tokens, that is warps that may fill,
        from then on.
        """

    @abstractmethod
    def admits(
        self, tag: int, mapping: Mapping, requesters: Sequence[Requester], cycle: int
    ) -> bool:
        """A translation has come back: whether it goes into the array.

        Args:
            tag: the page, see `gpusim.hardware.tlb.TlbArray`.
            mapping: what covers it.
            requesters: whose lookups missed it; the first one's miss was sent on, the others
                merged.
            cycle: now.
        """

    def find(self, tag: int, requester: Requester) -> Mapping | None:
        """What covers a page that the array has not got, or None.

        A lookup that has to wait for an MSHR is retried and asks again.
        """
        return None

    def looked_up(self, requester: Requester, hit: bool, cycle: int) -> None:
        """Called once a lookup, however often it is retried; a page found by `find` is a hit."""

    def used(self, tag: int) -> None:
        """A lookup has found a page in the array."""

    def evicted(self, tag: int) -> None:
        """A page has left the array, as another one needed its entry."""

    def invalidate(self, tag: int) -> bool:
        """Forget one page; returns whether it was there."""
        return False

    def flush(self) -> None:
        """Forget all pages."""

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """The storage that it needs in hardware; None: not stated."""
        return None

    def counters(self, app: int) -> tuple[object, ...]:
        """Counters of its own for one application: attrs instances made with `counters.count`."""
        return ()


open_slot(Slot.TLB_FILL, FillPolicy, "apps", "sms", "warps")


@mypyc_attr(allow_interpreted_subclasses=True)
class AlwaysFill(FillPolicy):
    """Every translation that comes back goes into the array.

    Args:
        apps: applications that share the GPU.
        sms: SMs that the TLB serves.
        warps: warp slots of an SM.
    """

    def __init__(self, apps: int, sms: int, warps: int) -> None:
        """Needs none of it."""

    def admits(
        self, tag: int, mapping: Mapping, requesters: Sequence[Requester], cycle: int
    ) -> bool:
        return True

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        return ()


register_policy(Slot.TLB_FILL, "always", AlwaysFill)
