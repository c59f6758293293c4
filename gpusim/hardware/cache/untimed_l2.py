"""An L2 cache as accesses without a clock find it."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.core.interfaces import Behind
from gpusim.core.interleaving import Interleaving
from gpusim.hardware.cache.l2 import L2Bank


class BehindL1(Behind):
    """The banks of an L2 cache, without a way to them.

    Args:
        banks: in their order.
        hashing: how lines are dealt out to them; None: in turn.
    """

    def __init__(self, banks: Sequence[L2Bank], hashing: Interleaving | None) -> None:
        self._banks = list(banks)
        self._shift = banks[0].lines.shift
        self._hash = hashing

    def warm(self, address: int, sectors: int, kind: int, app: int) -> None:
        line, hashing = address >> self._shift, self._hash
        bank = line % len(self._banks) if hashing is None else hashing.part(line)
        self._banks[bank].warm(address, sectors, kind, app)

    def warm_lines(
        self, lines: list[int], sectors: list[int], kinds: list[int], shift: int, app: int
    ) -> None:
        banks, hashing, ours = self._banks, self._hash, self._shift
        for number, line in enumerate(lines):
            address = line << shift
            name = address >> ours
            bank = name % len(banks) if hashing is None else hashing.part(name)
            banks[bank].warm(address, sectors[number], kinds[number], app)

    def lines(self, shift: int, app: int) -> int:
        capacity = sum(bank.arrays[app].capacity for bank in self._banks)
        return capacity << self._shift >> shift
