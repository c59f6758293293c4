"""Replacement by the order of a set alone: least recently used, first in first out, random."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError
from gpusim.core.registry import Slot, register_policy
from gpusim.core.replacement.base import Replacement
from gpusim.core.structures import Storage
from gpusim.core.unboxed import IntDict, IntList, as_int_dict, first_key, to_end

_MASK: Final = (1 << 32) - 1
_SPREAD = 0x9E3779B1
"""Odd, so that different seeds begin at different numbers; 2^32 divided by the golden ratio."""


@mypyc_attr(allow_interpreted_subclasses=True)
class _ByOrder(Replacement):
    """Keeps nothing beside the order of the entries."""

    def touch(self, index: int, key: int) -> None:
        """A use changes nothing."""

    def insert(self, index: int, key: int) -> None:
        """A new entry is at the end already."""

    def victim(self, index: int) -> int:
        for oldest in self.sets[index]:
            return oldest
        raise KeyError(index)

    def forget(self, index: int, key: int) -> None:
        """The order of the others stays."""

    def storage(self, sets: int, ways: int) -> Sequence[Storage]:
        return ()


@mypyc_attr(allow_interpreted_subclasses=True)
class Lru(_ByOrder):
    """The least recently used entry goes: the first one, as each use moves an entry to the end."""

    def __init__(self) -> None:
        super().__init__()
        self._latest = IntList()
        """By set, what was used or put in last: it is at the end, if it is still there."""
        self._own: list[IntDict[Any] | None] = []
        """The sets that are of the kind that gpusim's own arrays have."""

    def adopt(self, entries: Any, ways: int) -> int:
        self._latest.append(0)
        self._own.append(as_int_dict(entries))
        return super().adopt(entries, ways)

    def touch(self, index: int, key: int) -> None:
        if self._latest[index] == key:
            return
        self._latest[index] = key
        own = self._own[index]
        if own is not None:
            to_end(own, key)
        else:
            entries: Any = self.sets[index]
            entries[key] = entries.pop(key)

    def victim(self, index: int) -> int:
        own = self._own[index]
        return super().victim(index) if own is None else first_key(own)

    def insert(self, index: int, key: int) -> None:
        self._latest[index] = key


register_policy(Slot.REPLACEMENT, "lru", Lru)


def is_plain_lru(replacement: Replacement) -> bool:
    """Whether a policy is `Lru` itself, so that an array may keep the order of use for it."""
    return type(replacement) is Lru


@mypyc_attr(allow_interpreted_subclasses=True)
class Fifo(_ByOrder):
    """The entry that came first goes, however often it was used."""


register_policy(Slot.REPLACEMENT, "fifo", Fifo)


@mypyc_attr(allow_interpreted_subclasses=True)
class Random(_ByOrder):
    """Any entry goes, each as likely as the others.

    The numbers are those of a 32-bit xorshift register (Marsaglia, *Xorshift RNGs*, Journal of
    Statistical Software 8(14), 2003; shifts 13, 17, 5), which hardware can have, and which draws
    the same on every machine.  All sets of a structure share it.

    Args:
        seed: start of the register, from 1 to 2^32 - 1.
    """

    def __init__(self, *, seed: int = 1) -> None:
        if not 1 <= seed <= _MASK:
            raise OptionError("seed", f"must be 1 to {_MASK}")
        super().__init__()
        self._register = seed * _SPREAD & _MASK

    def victim(self, index: int) -> int:
        entries = self.sets[index]
        return next(islice(entries, self._draw() * len(entries) >> 32, None))

    def storage(self, sets: int, ways: int) -> Sequence[Storage]:
        return (Storage("random numbers", 1, {"register": _MASK.bit_length()}),)

    def _draw(self) -> int:
        """The next number below 2^32."""
        register = self._register
        register ^= register << 13 & _MASK
        register ^= register >> 17
        register ^= register << 5 & _MASK
        self._register = register
        return register


register_policy(Slot.REPLACEMENT, "random", Random)
