"""The slot of a TLB level: which translations it holds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from attrs import fields, frozen
from mypy_extensions import mypyc_attr

from gpusim.core.errors import UserError
from gpusim.core.mapping import Mapping
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot
from gpusim.core.structures import Dimensions, Storage

SLOT_BITS: Final = 16
"""Bits of a block slot of one SM."""


def slot_of(sm: int, slot: int) -> int:
    """The slot of a block for an array that several SMs share; `sm`: its number among them."""
    return sm << SLOT_BITS | slot


@frozen(eq=False, repr=False)
class ArrayTraits:
    """Facts of a TLB array that never change; the machine reads them once (`TlbArray.traits`).

    Attributes:
        by_block_slot: it is indexed by block slots; where several SMs share it, the number of the
            SM among them stands above the `SLOT_BITS` low bits of a slot.
        fills_every_slot: a translation that several blocks wait for is inserted for each of them,
            not only for the one that asked first.
        most_spaces: how many address spaces it can serve; 0: any number.
        large_pages: what becomes of a page larger than the smallest: ``"whole"``: an entry maps
            all of it; ``"splintered"``: an entry maps the one small page in it that was asked for.
        hashable: pages are nothing but names to it, of which low bits choose the set, so that
            ``tlb.NAME.hash`` can give it others (`HashedArray`).
        spills: it puts the pages that it evicts into `spilled`, if there is such a list: they are a
            signal, for policies that follow them and for records.
        spills_entries: what it puts there are whole entries, each with pages of one aligned range:
            a victim buffer (``tlb.NAME.victims``) can keep them.
        states_cycles: its class states `extra_cycles` or `pipelined_cycles` anew, so that they are
            read as Python reads them (`stated_cycles`).
    """

    by_block_slot: bool
    fills_every_slot: bool
    most_spaces: int
    large_pages: str
    hashable: bool
    spills: bool
    spills_entries: bool
    states_cycles: bool


@mypyc_attr(allow_interpreted_subclasses=True)
class TlbArray(Policy):
    """Decides hit or miss, where a translation goes, and what it evicts.

    A page is named by its *tag*, ``asid << ASID_SHIFT | vpn`` (`gpusim.core.mapping`), in the
    smallest pages of the machine.  An array gives back the very `Mapping` that it was given for a
    page, or that `Signals.mapping` returns for it; anything else ends the run.  `slot` is the
    hardware slot of the thread block that asks, which some arrays index by (`slot_of`).

    What `ArrayTraits` has, an array states as attributes of these names, of its class or of the
    object.

    Attributes:
        extra_cycles: what the last lookup took beyond the level's latency; it also holds the
            port for so long, except for `pipelined_cycles`.
        tells_sms_apart: an array by block slots can serve several SMs: it takes slots as `slot_of`
            makes them.
        pipelined_cycles: how many of these are further stages of the pipeline, which the next
            lookup need not wait for.
        replaces: entries go as ``tlb.NAME.replacement`` says, for which the array asks the policy
            (`gpusim.core.replacement.make_replacement`); otherwise a model may not name one.
        spilled: where an array that spills puts pages that it evicts, those of each entry together;
            None: nowhere.
    """

    extra_cycles: int = 0
    pipelined_cycles: int = 0
    by_block_slot: ClassVar[bool] = False
    tells_sms_apart: ClassVar[bool] = False
    fills_every_slot: bool = False
    most_spaces: int = 0
    replaces: ClassVar[bool] = False
    large_pages: str = "splintered"
    hashable: bool = False
    spills: bool = False
    spills_entries: bool = True
    spilled: list[dict[int, Mapping]] | None = None

    @abstractmethod
    def lookup(self, tag: int, slot: int) -> Mapping | None:
        """What covers the page, or None; a hit counts as a use."""

    @abstractmethod
    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        """Take in what the page `tag` was found to be; returns how many entries were evicted.

        A mapping of more than one page covers `tag`, and an array that is ``"whole"`` keeps it for
        all of them.
        """

    @abstractmethod
    def invalidate(self, tag: int) -> bool:
        """Forget one page, with the larger one around it; returns whether it was there."""

    @abstractmethod
    def flush(self) -> None:
        """Forget everything."""

    def spill_into(self, spilled: list[dict[int, Mapping]]) -> None:
        """Put pages that are evicted into a list from now on; nothing has come yet."""
        self.spilled = spilled

    def traits(self) -> ArrayTraits:
        """What holds as long as it lives; asked for when it has been made."""
        return stated_traits(self)

    def peek(self, tag: int, slot: int) -> Mapping | None:
        """What covers the page, or None; a look is no use, and changes nothing.

        Raises:
            UserError: the array has no such method.
        """
        raise UserError(
            f"the TLB array {type(self).__qualname__} cannot be looked at without a use: it has no "
            "method peek(tag, slot)"
        )

    def next_victim(self, tag: int) -> int | None:
        """The page of the entry that would go if a page was inserted now; None: none would.

        Raises:
            UserError: the array has no such method.
        """
        raise UserError(
            f"the TLB array {type(self).__qualname__} does not say what it would evict: it has no "
            "method next_victim(tag)"
        )

    def reach(self) -> int | None:
        """How many of the smallest pages it can hold at most; None: that is not known."""
        return None

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """The storage that it needs in hardware; None: not stated."""
        return None

    def policies(self) -> Sequence[tuple[str, object]]:
        """Further policies that it asks, each with its key in the table of the TLB."""
        return ()

    def counters(self) -> tuple[object, ...]:
        """Counters of its own beside the level's: attrs instances made with `counters.count`."""
        return ()

    def counters_of(self, asid: int) -> tuple[object, ...]:
        """Counters of its own for one address space, beside those of `counters`."""
        return ()


_CYCLES = ("extra_cycles", "pipelined_cycles")


def stated_traits(array: TlbArray) -> ArrayTraits:
    """What an array and its class state, read as Python reads it in compiled code, too."""
    plain: Any = TlbArray
    own = [getattr(type(array), name) is not getattr(plain, name) for name in _CYCLES]
    names = [one.name for one in fields(ArrayTraits) if one.name != "states_cycles"]
    return ArrayTraits(**{name: getattr(array, name) for name in names}, states_cycles=any(own))


def stated_cycles(array: TlbArray) -> tuple[int, int]:
    """`extra_cycles` and `pipelined_cycles` of an array whose class may state them."""
    stated: Any = array
    return stated.extra_cycles, stated.pipelined_cycles


def state_cycles(array: TlbArray, cycles: int) -> None:
    """Each lookup takes further pipeline stages, whatever the class of an array states."""
    stated: Any = array
    stated.extra_cycles = stated.pipelined_cycles = cycles


open_slot(Slot.TLB_ARRAY, TlbArray, "config")
