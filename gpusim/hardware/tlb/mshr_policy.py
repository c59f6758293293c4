"""The slot of a TLB's MSHRs: which misses may be under way at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.engine import NEVER
from gpusim.core.errors import OptionError, at_least
from gpusim.core.mshr import NEW, Admission, Mshrs, SeparateMshrs
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.request import MemoryRequest, Purpose, Requester, Translation, Traveller
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.tlb.array import TlbArray

_PREFETCH: Final = int(Purpose.PREFETCH)


@mypyc_attr(allow_interpreted_subclasses=True)
class MshrPolicy(Policy):
    """Decides which misses of one TLB take a register, in the place of a plain count of them.

    It is asked about misses on pages that are not under way; those that are merge.  A miss that is
    refused asks again whenever another one of the TLB has ended, and what is behind it in the queue
    waits with it.  The misses of some application must always pass when none is under way.

    Args:
        mshrs: registers of the TLB, ``tlb.NAME.mshrs``.
        apps: applications that share the machine.

    Attributes:
        mshrs: registers of the TLB.
        forget: takes a page out of the array; its TLB sets it.
    """

    forget: Callable[[int], None] | None = None

    def __init__(self, mshrs: int, apps: int) -> None:
        self.mshrs = mshrs

    @abstractmethod
    def refuses(self, tag: int, requester: Requester, under_way: int) -> bool:
        """Whether a miss has to wait, though there is room in the stage below.

        Args:
            tag: the page.
            requester: whose lookup missed.
            under_way: misses that have a register.
        """

    def began(self, tag: int, requester: Requester) -> None:
        """A miss has a register from now on."""

    def ended(self, tag: int) -> None:
        """The translation of a page is back, and its register free."""

    def adopt(self, array: TlbArray) -> None:
        """The array of its TLB, before the first miss."""

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """The storage that it needs in hardware beside the registers; None: not stated."""
        return None

    def counters(self, app: int) -> tuple[object, ...]:
        """Counters of its own for one application: attrs instances made with `counters.count`."""
        return ()


class JudgedMshrs(Mshrs[Traveller]):
    """Registers of which a policy says how many there are; it learns of each miss."""

    __slots__ = ("_policy",)

    def __init__(self, policy: MshrPolicy) -> None:
        super().__init__(NEVER, NEVER)
        self._policy = policy

    def admit(self, key: int, item: Traveller) -> Admission:
        admission = super().admit(key, item)
        if admission == NEW:
            self._policy.began(key, requester_of(item))
        return admission

    def release(self, key: int) -> list[Traveller]:
        self._policy.ended(key)
        return super().release(key)


def make_mshrs(count: int, merging: bool, policy: MshrPolicy | None) -> Mshrs[Traveller]:
    """What keeps the misses of a TLB that are under way.

    Args:
        count: registers.
        merging: whether a miss waits for one on the same page.
        policy: which misses may be under way; None: as many as there are registers.
    """
    if policy is not None:
        return JudgedMshrs(policy)
    return Mshrs(count, NEVER) if merging else SeparateMshrs(count)


def requester_of(waiter: Traveller) -> Requester:
    """Whose lookup missed: a warp instruction in the first level, a translation in deeper ones."""
    if isinstance(waiter, MemoryRequest):
        assert waiter.access is not None
        return waiter.access
    assert isinstance(waiter, Translation)
    return waiter


open_slot(Slot.TLB_MSHRS, MshrPolicy, "mshrs", "apps")


def prefetches(requester: Requester) -> bool:
    """Whether a miss is one of a prefetch, for which no warp waits."""
    return isinstance(requester, Translation) and requester.kind == _PREFETCH


@mypyc_attr(allow_interpreted_subclasses=True)
class AnyMshr(MshrPolicy):
    """Any miss takes a register that is free, as without a policy."""

    def refuses(self, tag: int, requester: Requester, under_way: int) -> bool:
        return under_way >= self.mshrs

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        return ()


register_policy(Slot.TLB_MSHRS, "any", AnyMshr)


@attr.s(auto_attribs=True, eq=False, repr=False)
class MshrCounters:
    """What an MSHR policy did for one application."""

    misses_held: int = count("times that a miss was held though a register was free", later=True)


@mypyc_attr(allow_interpreted_subclasses=True)
class MshrShares(MshrPolicy):
    """Each application has an equal share of the registers, so that none can take them all.

    Args:
        mshrs, apps: see `MshrPolicy`.
        spare: registers that prefetches leave free.

    Raises:
        OptionError: there would be none for prefetches.
    """

    def __init__(self, mshrs: int, apps: int, *, spare: int = 0) -> None:
        at_least(0, spare=spare)
        if spare >= mshrs:
            raise OptionError("spare", f"must be below {mshrs}, the registers of the TLB")
        super().__init__(mshrs, apps)
        self._share = max(mshrs // apps, 1)
        self._spare = spare
        self._taken = [0] * apps
        self._whose: dict[int, int] = {}
        """By page under way: the application whose miss has the register."""
        self._counters = [MshrCounters() for _ in range(apps)]

    def refuses(self, tag: int, requester: Requester, under_way: int) -> bool:
        free = self.mshrs - under_way
        if free <= 0:
            return True
        held = self._taken[requester.app] >= self._share
        held = held or (free <= self._spare and prefetches(requester))
        self._counters[requester.app].misses_held += held
        return held

    def began(self, tag: int, requester: Requester) -> None:
        self._taken[requester.app] += 1
        self._whose[tag] = requester.app

    def ended(self, tag: int) -> None:
        self._taken[self._whose.pop(tag)] -= 1

    def counters(self, app: int) -> tuple[object, ...]:
        return (self._counters[app],)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """A count for each application."""
        return ()


register_policy(Slot.TLB_MSHRS, "shares", MshrShares)


@attr.s(auto_attribs=True, eq=False, repr=False)
class InTlbMshrCounters:
    """What misses kept in the entries of a TLB did for one application."""

    in_tlb: int = count("misses that took an entry of the array as their register", later=True)
    entries_lost: int = count("of these, those for which a translation had to go", later=True)


@mypyc_attr(allow_interpreted_subclasses=True)
class InTlbMshrs(MshrPolicy):
    """When the registers are taken, a miss takes an entry of the set that its page will go to.

    *SoftWalker: Supporting Software Page Table Walk for Irregular GPU Applications*, MICRO 2025:
    In-TLB MSHRs.  As many misses may be under way in a set as it has ways.  If the set is full, the
    translation that came first goes [our choice]; the place is held for no other one meanwhile, so
    that a fill of another page may take it [our choice].

    Args:
        mshrs, apps: see `MshrPolicy`.
        most: misses at once that are kept in entries.
    """

    def __init__(self, mshrs: int, apps: int, *, most: int = 256) -> None:
        at_least(0, most=most)
        super().__init__(mshrs, apps)
        self._most = most
        self._array: TlbArray | None = None
        self._in_registers = 0
        self._in_entries: dict[int, bool] = {}
        """Pages whose misses are kept in an entry."""
        self._counters = [InTlbMshrCounters() for _ in range(apps)]

    def adopt(self, array: TlbArray) -> None:
        self._array = array

    def refuses(self, tag: int, requester: Requester, under_way: int) -> bool:
        return under_way >= self.mshrs + self._most

    def began(self, tag: int, requester: Requester) -> None:
        if self._in_registers < self.mshrs:
            self._in_registers += 1
            return
        self._in_entries[tag] = True
        counters = self._counters[requester.app]
        counters.in_tlb += 1
        if self._array is not None and (gone := self._array.next_victim(tag)) is not None:
            assert self.forget is not None
            self.forget(gone)
            counters.entries_lost += 1

    def ended(self, tag: int) -> None:
        if self._in_entries.pop(tag, None) is None:
            self._in_registers -= 1

    def counters(self, app: int) -> tuple[object, ...]:
        return (self._counters[app],)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """Entries that are there already."""
        return ()


register_policy(Slot.TLB_MSHRS, "in-tlb", InTlbMshrs)
