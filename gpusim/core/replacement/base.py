"""The slot of every set-associative array: which entry of a set goes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, UserError
from gpusim.core.policy import Policy, PolicyConfig
from gpusim.core.registry import Slot, make_policy, open_slot
from gpusim.core.structures import Storage
from gpusim.core.unboxed import as_int_dict


@mypyc_attr(allow_interpreted_subclasses=True)
class Replacement(Policy):
    """Decides which entry of a set is evicted when another needs its place.

    One instance serves all sets of one structure: a TLB, a cache, a walk cache.  The array keeps
    the entries of each set in a dict by key, adds and removes them, and calls the policy at every
    use; the policy may put a dict into another order, but never adds or removes a key.  (Where
    gpusim is compiled, the dict of its own arrays is an `IntDict`, which is used alike.)  An array
    puts a new entry at the end and changes one that is there in its place, so that the order of a
    dict is that in which its entries came, unless the policy reorders it.

    Attributes:
        sets: entries of each set that was adopted, by its number.
    """

    def __init__(self) -> None:
        self.sets: list[Collection[int]] = []

    def refusal(self, ways: int) -> str:
        """Why it cannot serve sets of `ways` ways; empty if it can.

        Asked when a model is loaded.
        """
        return ""

    def adopt(self, entries: Any, ways: int) -> int:
        """Take charge of a set, which is empty and holds at most `ways` entries.

        Returns:
            the number of the set, by which the array names it: they are counted from 0.
        """
        self.sets.append(entries)
        return len(self.sets) - 1

    @abstractmethod
    def touch(self, index: int, key: int) -> None:
        """An entry that is there has been used."""

    @abstractmethod
    def insert(self, index: int, key: int) -> None:
        """An entry has been put in; it is at the end of its dict."""

    @abstractmethod
    def victim(self, index: int) -> int:
        """Key of the entry that goes; the array then removes it.

        The set is full, of entries or of places that are reserved for what is under way.
        """

    @abstractmethod
    def forget(self, index: int, key: int) -> None:
        """An entry goes: the victim, or one that is invalidated or flushed.

        The array calls it for every entry that it removes, just before or after it does.
        """

    def storage(self, sets: int, ways: int) -> Sequence[Storage] | None:
        """The storage that hardware needs for `sets` sets of `ways` ways; None: not stated.

        Orders and trees of sets (LRU, FIFO, tree PLRU) are not counted, as in the papers.
        """
        return None


open_slot(Slot.REPLACEMENT, Replacement)


def victim_of(replacement: Replacement, index: int, entries: Any) -> int:
    """Key of the entry that goes from a full set, a dict or `IntDict`.

    Raises:
        UserError: the policy named one that is not there.
    """
    key = replacement.victim(index)
    own = as_int_dict(entries)
    if (key not in own) if own is not None else (key not in entries):
        raise UserError(
            f"replacement: {type(replacement).__qualname__}.victim gave {key!r}, which is no key "
            "of an entry in the set"
        )
    return key


def make_replacement(config: PolicyConfig, *ways: int) -> Replacement:
    """The policy that a model names for a structure whose sets have `ways` ways.

    Args:
        config: the key ``replacement`` of the structure's table.
        ways: of its sets; several numbers if not all sets have the same.

    Raises:
        OptionError: the policy cannot serve such sets.
    """
    replacement: Replacement = make_policy(Slot.REPLACEMENT, config)
    for one in ways:
        if message := replacement.refusal(one):
            raise OptionError("replacement", message)
    return replacement
