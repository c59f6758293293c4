"""An L2 cache as accesses without a clock find it, or those of a node."""

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
        self.by_part = self.stores_by_part = False
        self._beyond = beyond
        self._banks = list(banks)
        self._shift = banks[0].lines.shift
        self._hash = hashing

    def warm(self, address: int, sectors: int, kind: int, app: int) -> None:
        missing = self.look(address, sectors, kind, app)
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
        for number, line in enumerate(lines):
            self.warm(line << shift, sectors[number], kinds[number], app)

    def look(self, address: int, sectors: int, kind: int, app: int) -> int:
        """The sectors of a line that the banks alone lack, and have from now on."""
        home = self._home(address >> self._shift)
        return self._banks[home].warm(address, sectors, kind, app)

    def forget(self, address: int, app: int) -> None:
        """Drop a line."""
        line = address >> self._shift
        self._banks[self._home(line)].lines.remove(line, app)

    def _home(self, line: int) -> int:
        """The number of the bank to which a line is dealt out."""
        return line % len(self._banks) if self._hash is None else self._hash.part(line)

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
        banks, ours, each, beyond = self._banks, self._shift, self._each, self._beyond
        for number, line in enumerate(lines):
            address, kind = line << shift, kinds[number]
            name = address >> ours
            home = self._home(name)
            if kind == _LOAD:
                part = parts[number]
                near = home if part < 0 else part * each + home % each
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


class BehindNode(Behind):
    """The L2 caches of all GPUs of a node, without a way to them: a line is looked up at home.

    Where readers cache lines of others, a load looks in its own GPU's L2 cache first, and a store
    or an atomic drops the line there.

    Args:
        gpus: of each GPU, its own.
        size: bytes of a GPU's memory.
        parts: partitions of a GPU.
        caching: whether readers keep lines of others.
    """

    def __init__(self, gpus: Sequence[BehindL1], size: int, parts: int, caching: bool) -> None:
        self.by_part = caching or any(one.by_part for one in gpus)
        self.stores_by_part = caching
        self._gpus = list(gpus)
        self._size = size
        self._parts = parts
        self._caching = caching

    def warm(self, address: int, sectors: int, kind: int, app: int) -> None:
        self._gpus[address // self._size].warm(address, sectors, kind, app)

    def warm_lines(
        self,
        lines: list[int],
        sectors: list[int],
        kinds: list[int],
        parts: list[int],
        shift: int,
        app: int,
    ) -> None:
        if self._caching:
            sectors = self._read_before(lines, sectors, kinds, parts, shift, app)
            go_on = [number for number, left in enumerate(sectors) if left]
            lines, sectors = [lines[one] for one in go_on], [sectors[one] for one in go_on]
            kinds, parts = [kinds[one] for one in go_on], [parts[one] for one in go_on]
        each, first = self._size >> shift, 0
        while first < len(lines):
            home, last = lines[first] // each, first + 1
            while last < len(lines) and lines[last] // each == home:
                last += 1
            run = slice(first, last)
            own = [self._part_of(part, home) for part in parts[run]]
            self._gpus[home].warm_lines(lines[run], sectors[run], kinds[run], own, shift, app)
            first = last

    def _part_of(self, part: int, gpu: int) -> int:
        """The partition of a GPU that an SM is near to; -1: it is of another GPU."""
        own = part - gpu * self._parts
        return own if 0 <= own < self._parts else -1

    def _read_before(
        self,
        lines: list[int],
        sectors: list[int],
        kinds: list[int],
        parts: list[int],
        shift: int,
        app: int,
    ) -> list[int]:
        """Look in the L2 caches of those that ask; returns the sectors that go on to the homes."""
        left = list(sectors)
        for number, line in enumerate(lines):
            address = line << shift
            home, reader = address // self._size, parts[number] // self._parts
            if home == reader:
                continue
            if kinds[number] == _LOAD:
                left[number] = self._gpus[reader].look(address, sectors[number], _LOAD, app)
            else:
                self._gpus[reader].forget(address, app)
        return left

    def lines(self, shift: int, app: int) -> int:
        return sum(one.lines(shift, app) for one in self._gpus)
