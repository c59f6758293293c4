"""An L2 cache as accesses without a clock find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gpusim.core.interfaces import Behind
from gpusim.core.interleaving import Interleaving
from gpusim.core.request import Kind
from gpusim.hardware.cache.l2 import L2Bank
from gpusim.hardware.cache.memory_side import MemorySide

_LOAD: Final = int(Kind.LOAD)


class BehindL1(Behind):
    """The banks of an L2 cache, without a way to them.

    Args:
        banks: in their order.
        hashing: how lines are dealt out to them; None: in turn.
        beyond: the memory-side cache, if there is one.
    """

    def __init__(
        self,
        banks: Sequence[L2Bank],
        hashing: Interleaving | None,
        beyond: MemorySide | None = None,
    ) -> None:
        self.by_part = False
        self._beyond = beyond
        self._banks = list(banks)
        self._shift = banks[0].lines.shift
        self._hash = hashing

    def warm(self, address: int, sectors: int, kind: int, app: int) -> None:
        line, hashing = address >> self._shift, self._hash
        bank = line % len(self._banks) if hashing is None else hashing.part(line)
        missing = self._banks[bank].warm(address, sectors, kind, app)
        if missing and self._beyond is not None:
            self._beyond.warm(address, missing)

    def warm_lines(
        self,
        lines: list[int],
        sectors: list[int],
        kinds: list[int],
        parts: list[int],
        shift: int,
        app: int,
    ) -> None:
        banks, hashing, ours, beyond = self._banks, self._hash, self._shift, self._beyond
        for number, line in enumerate(lines):
            address = line << shift
            name = address >> ours
            bank = name % len(banks) if hashing is None else hashing.part(name)
            missing = banks[bank].warm(address, sectors[number], kinds[number], app)
            if missing and beyond is not None:
                beyond.warm(address, missing)

    def lines(self, shift: int, app: int) -> int:
        capacity = sum(bank.arrays[app].capacity for bank in self._banks)
        if self._beyond is not None:
            capacity += self._beyond.capacity
        return capacity << self._shift >> shift


class BehindCopies(BehindL1):
    """The banks of an L2 cache in partitions that keep copies (`gpusim.hardware.cache.homes`).

    A load asks the bank at the same place in the partition of its SM, which asks the line's home
    for what it lacks; stores and atomics go to the home, and copies are gone.

    Args:
        banks: in their order; as many in each partition.
        hashing: how lines are dealt out to them; None: in turn.
        parts: partitions.
        beyond: the memory-side cache, if there is one.
    """

    def __init__(
        self,
        banks: Sequence[L2Bank],
        hashing: Interleaving | None,
        parts: int,
        beyond: MemorySide | None = None,
    ) -> None:
        super().__init__(banks, hashing, beyond)
        self.by_part = True
        self._each = len(banks) // parts

    def warm_lines(
        self,
        lines: list[int],
        sectors: list[int],
        kinds: list[int],
        parts: list[int],
        shift: int,
        app: int,
    ) -> None:
        banks, hashing, ours, each = self._banks, self._hash, self._shift, self._each
        beyond = self._beyond
        for number, line in enumerate(lines):
            address, kind = line << shift, kinds[number]
            name = address >> ours
            home = name % len(banks) if hashing is None else hashing.part(name)
            if kind == _LOAD:
                near = parts[number] * each + home % each
                missing = banks[near].warm(address, sectors[number], kind, app)
                if missing and near != home:
                    missing = banks[home].warm(name << ours, missing, kind, app)
            else:
                missing = banks[home].warm(address, sectors[number], kind, app)
                for twin in range(home % each, len(banks), each):
                    if twin != home:
                        banks[twin].lines.remove(name, app)
            if missing and beyond is not None:
                beyond.warm(address, missing)
