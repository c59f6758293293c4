"""Warp schedulers: which ready warp issues."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right, insort
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import ClassVar

from mypy_extensions import mypyc_attr

from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.sm.ledger import Accountable


@mypyc_attr(allow_interpreted_subclasses=True)
class Schedulable(Accountable):
    """What a scheduler knows of a warp.

    Attributes:
        age: order in which the warps came to this SM.
    """

    __slots__ = ("age",)

    def __init__(self, uid: int, warp_slot: int, app: int, state: int, now: int, age: int) -> None:
        super().__init__(uid, warp_slot, app, state, now)
        self.age = age


@mypyc_attr(allow_interpreted_subclasses=True)
class WarpScheduler(Policy):
    """Keeps the ready warps of one scheduler and chooses among them.

    Attributes:
        greedy: whether a chosen warp issues until it stalls; else it goes back to the ready ones
            after each instruction.
        holds: whether it holds back loads, see `hold`.
    """

    greedy: ClassVar[bool]
    holds: ClassVar[bool] = False

    @abstractmethod
    def add(self, warp: Schedulable) -> None:
        """`warp` may issue from now on."""

    @abstractmethod
    def pick(self) -> Schedulable | None:
        """Take out the warp that issues next; None if none is ready."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of ready warps."""

    def hold(self, warp: Schedulable, issued: int, now: int) -> int:
        """Cycles after which a warp that is about to issue a load asks again; 0: it may issue it.

        Args:
            warp: one of this scheduler's.
            issued: instructions that the SM has issued so far.
            now: the cycle.
        """
        return 0

    def ended(self, warp: Schedulable) -> None:
        """A warp has ended; called for schedulers that hold back loads."""

    def storage(self, dimensions: Dimensions, warps: int, lines: int) -> Sequence[Storage] | None:
        """The storage that all schedulers of an SM need in hardware together; None: not stated.

        Args:
            dimensions: of the machine.
            warps: that an SM holds at most.
            lines: of its L1 cache.
        """
        return None


open_slot(Slot.WARP_SCHEDULER, WarpScheduler)


@mypyc_attr(allow_interpreted_subclasses=True)
class GreedyThenOldest(WarpScheduler):
    """Issues from one warp until it stalls, then from the oldest ready one."""

    greedy = True

    def __init__(self) -> None:
        self._ready: list[tuple[int, Schedulable]] = []

    def add(self, warp: Schedulable) -> None:
        heappush(self._ready, (warp.age, warp))

    def pick(self) -> Schedulable | None:
        return heappop(self._ready)[1] if self._ready else None

    def __len__(self) -> int:
        return len(self._ready)

    def storage(self, dimensions: Dimensions, warps: int, lines: int) -> Sequence[Storage]:
        return ()


register_policy(Slot.WARP_SCHEDULER, "gto", GreedyThenOldest)


@mypyc_attr(allow_interpreted_subclasses=True)
class LooseRoundRobin(WarpScheduler):
    """The next ready warp in the order of warp slots, one instruction each."""

    greedy = False

    def __init__(self) -> None:
        self._ready: list[tuple[int, int, Schedulable]] = []
        self._last = -1

    def add(self, warp: Schedulable) -> None:
        insort(self._ready, (warp.warp_slot, warp.age, warp))

    def pick(self) -> Schedulable | None:
        if not self._ready:
            return None
        index = bisect_right(self._ready, self._last, key=lambda entry: entry[0])
        if index == len(self._ready):
            index = 0
        self._last, _, warp = self._ready.pop(index)
        return warp

    def __len__(self) -> int:
        return len(self._ready)

    def storage(self, dimensions: Dimensions, warps: int, lines: int) -> Sequence[Storage]:
        return ()


register_policy(Slot.WARP_SCHEDULER, "lrr", LooseRoundRobin)
