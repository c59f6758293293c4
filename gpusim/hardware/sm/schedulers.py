"""Warp schedulers: which ready warp issues."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.structures import Dimensions, Storage
from gpusim.core.unboxed import Fifo, IntFifo, IntList, position
from gpusim.hardware.sm.ledger import Accountable

_SLOT_SHIFT: Final = 40
"""Above the age of a warp, its slot, where ready warps are ordered by both."""

_ROUND: Final = (1 << 60) - 1
"""Behind the last slot comes the first one again."""


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
        self._ready: list[Schedulable] = []
        """The oldest last."""
        self._order = IntList()
        """Of each, less than 0 by its age."""

    def add(self, warp: Schedulable) -> None:
        order = -warp.age
        place = position(self._order, order, 0)
        self._order.insert(place, order)
        self._ready.insert(place, warp)

    def pick(self) -> Schedulable | None:
        if not self._ready:
            return None
        self._order.pop()
        return self._ready.pop()

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
        self._ready: Fifo[Schedulable] = Fifo()
        """In the order in which they are next: the one that has just issued goes to the end."""
        self._order = IntFifo()
        """Of each, its slot, and below that its age."""
        self._next = 0
        """Where the slots begin that are next."""

    def add(self, warp: Schedulable) -> None:
        order = warp.warp_slot << _SLOT_SHIFT | warp.age
        orders, begin = self._order, self._next
        ahead, place = order - begin & _ROUND, len(orders)
        while place and orders[place - 1] - begin & _ROUND >= ahead:
            place -= 1
        orders.insert(place, order)
        self._ready.insert(place, warp)

    def pick(self) -> Schedulable | None:
        if not self._ready:
            return None
        self._order.pop(0)
        warp = self._ready.pop(0)
        self._next = warp.warp_slot + 1 << _SLOT_SHIFT
        return warp

    def __len__(self) -> int:
        return len(self._ready)

    def storage(self, dimensions: Dimensions, warps: int, lines: int) -> Sequence[Storage]:
        return ()


register_policy(Slot.WARP_SCHEDULER, "lrr", LooseRoundRobin)
