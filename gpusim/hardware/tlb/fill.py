"""The slot beside a TLB array: which translations that come back may go into it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, policy
from gpusim.core.request import NO_PAGE, Asker
from gpusim.core.structures import Dimensions, Storage


class FillPolicy(Policy, ABC):
    """Decides what a TLB is filled with; what it keeps out, it may keep in a buffer of its own.

    Lookups probe that buffer in parallel with the array: a page found there is a hit, in the same
    cycle in which the array would have told that it has not got it.

    A policy has no clock: each call tells the cycle, which never goes back.

    Attributes:
        tell_epoch: set by the TLB, called at the end of each epoch by a policy that has epochs:
            application; cycle of the end; hits, misses and warps seen in the epoch; tokens, that is
            warps that may fill, from then on.
    """

    tell_epoch: Callable[[int, int, int, int, int, int], None] | None = None

    @abstractmethod
    def admits(self, tag: int, pfn: int, askers: Sequence[Asker], cycle: int) -> bool:
        """A translation has come back: whether it goes into the array.

        Args:
            tag: the page, see `gpusim.hardware.tlb.TlbArray`.
            pfn: its frame.
            askers: whose lookups missed it; the first one's miss was sent on, the others merged.
            cycle: now.
        """

    def find(self, tag: int, asker: Asker) -> int:
        """Frame of a page that the array has not got, or `gpusim.core.request.NO_PAGE`.

        A lookup that has to wait for an MSHR is retried and asks again.
        """
        return NO_PAGE

    def looked_up(self, asker: Asker, hit: bool, cycle: int) -> None:
        """A lookup, told once however often it was retried; a page found by `find` is a hit."""

    def invalidate(self, tag: int) -> bool:
        """Forget one page; returns whether it was there."""
        return False

    def flush(self) -> None:
        """Forget all pages."""

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """What it keeps in hardware; None: it does not tell."""
        return None

    def counters(self, app: int) -> tuple[object, ...]:
        """Counters of its own for one application: attrs instances made with `counters.count`."""
        return ()


@policy(Slot.TLB_FILL, "always")
class AlwaysFill(FillPolicy):
    """Every translation that comes back goes into the array.

    Args:
        apps: applications that share the GPU.
        sms: SMs that the TLB serves.
        warps: warp slots of an SM.
    """

    def __init__(self, apps: int, sms: int, warps: int) -> None:
        """Needs none of it."""

    def admits(self, tag: int, pfn: int, askers: Sequence[Asker], cycle: int) -> bool:
        return True

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        return ()
