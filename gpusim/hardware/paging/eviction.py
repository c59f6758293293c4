"""The policy slot of the driver's eviction: which block of pages leaves the device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.structures import Storage, bits_for


@mypyc_attr(allow_interpreted_subclasses=True)
class Eviction(Policy):
    """Chooses among the blocks that have pages on a device memory.

    Args:
        seed: of the run, for policies that draw.

    Attributes:
        counts: whether `accessed` has an effect; otherwise it is never called.
    """

    counts: bool = False

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def arrived(self, block: int) -> None:
        """Pages of a block have come to the device, or were asked for while others are there."""

    def accessed(self, block: int) -> None:
        """A request for a line of a block has left an SM."""

    def left(self, block: int) -> None:
        """No page of a block is on the device any more."""

    def storage(self, blocks: int) -> Sequence[Storage] | None:
        """The storage that it needs in hardware for `blocks` blocks; None: not stated."""
        return None

    @abstractmethod
    def choose(self, blocks: Sequence[int]) -> int:
        """The block that goes, of those that may: at least one, in the order in which they came."""


open_slot(Slot.EVICTION, Eviction, "seed")


@mypyc_attr(allow_interpreted_subclasses=True)
class LeastRecentlyFaulted(Eviction):
    """The block of which pages came longest ago.

    So NVIDIA's driver does (uvm_pmm_gpu.c: a root chunk goes to the end of its list when memory in
    it is given out): it does not see accesses that cause no fault.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._clock = 0
        self._last: dict[int, int] = {}

    def arrived(self, block: int) -> None:
        self._clock += 1
        self._last[block] = self._clock

    def left(self, block: int) -> None:
        del self._last[block]

    def choose(self, blocks: Sequence[int]) -> int:
        return min(blocks, key=self._last.__getitem__)

    def storage(self, blocks: int) -> Sequence[Storage]:
        """Nothing: the driver keeps all of it."""
        return ()


register_policy(Slot.EVICTION, "lru", LeastRecentlyFaulted)


@mypyc_attr(allow_interpreted_subclasses=True)
class LeastRecentlyAccessed(LeastRecentlyFaulted):
    """The block whose last access is longest ago (Ganguly et al., ISCA 2019: LRU of 2 MiB)."""

    counts = True

    def accessed(self, block: int) -> None:
        if block in self._last:
            self.arrived(block)

    def storage(self, blocks: int) -> Sequence[Storage]:
        """A place in the order of last uses for each block, which only the GPU can keep."""
        return (Storage("order of blocks", blocks, {"place": bits_for(blocks)}),)


register_policy(Slot.EVICTION, "lru-accesses", LeastRecentlyAccessed)


@mypyc_attr(allow_interpreted_subclasses=True)
class FewestAccesses(Eviction):
    """The block with the fewest accesses since its first page came; of equals the oldest one.

    Counters of a block begin anew when it comes back, and all are halved when one reaches `most`
    (Ganguly et al., DATE 2021 and IPDPS 2020, keep such counters in hardware).

    Args:
        seed: not used.
        most: accesses at which all counters are halved.
    """

    counts = True

    def __init__(self, seed: int, *, most: int = 65536) -> None:
        at_least(2, most=most)
        super().__init__(seed)
        self._most = most
        self._accesses: dict[int, int] = {}

    def arrived(self, block: int) -> None:
        self._accesses.setdefault(block, 0)

    def accessed(self, block: int) -> None:
        found = self._accesses.get(block)
        if found is None:
            return
        self._accesses[block] = found + 1
        if found + 1 >= self._most:
            self._accesses = {one: number // 2 for one, number in self._accesses.items()}

    def left(self, block: int) -> None:
        del self._accesses[block]

    def choose(self, blocks: Sequence[int]) -> int:
        return min(blocks, key=self._accesses.__getitem__)

    def storage(self, blocks: int) -> Sequence[Storage]:
        """A counter for each block."""
        return (Storage("counters of blocks", blocks, {"accesses": bits_for(self._most)}),)


register_policy(Slot.EVICTION, "access-counter", FewestAccesses)


@mypyc_attr(allow_interpreted_subclasses=True)
class RandomBlock(Eviction):
    """Any block, drawn with the seed of the run."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._rng = np.random.default_rng(seed)

    def choose(self, blocks: Sequence[int]) -> int:
        return blocks[int(self._rng.integers(len(blocks)))]

    def storage(self, blocks: int) -> Sequence[Storage]:
        """Nothing: the driver draws."""
        return ()


register_policy(Slot.EVICTION, "random", RandomBlock)
