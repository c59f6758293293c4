"""PyTorch's caching allocator: where tensors lie in the segments that it asks of the driver."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Final

import numpy as np
from attrs import define, field

from gpusim.core.errors import UserError

MIN_BLOCK: Final = 512
"""All sizes are rounded up to a multiple of it.  This and the next five constants are those of
PyTorch's c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallSize, kSmallBuffer, kLargeBuffer,
kMinLargeAlloc, kRoundLarge."""

SMALL: Final = 1 << 20
"""The largest tensor of the pool of small ones."""

SMALL_SEGMENT: Final = 2 << 20
LARGE_SEGMENT: Final = 20 << 20
"""Segments for small tensors, and for those below `OWN_SEGMENT`."""

OWN_SEGMENT: Final = 10 << 20
"""The smallest tensor for which a segment of its own size is taken, rounded up to `ROUND`."""

ROUND: Final = 2 << 20

LARGEST_EARLIER: Final = 64 << 20
"""The largest tensor of those that a process had before [our choice]."""


@define(eq=False)
class _Block:
    """A part of a segment.

    Attributes:
        address, size: where it lies.
        small: whether its segment is one for small tensors.
        before, behind: its neighbours in the segment.
        free: whether no tensor lies in it.
    """

    address: int
    size: int
    small: bool
    before: _Block | None = None
    behind: _Block | None = None
    free: bool = False


@define(eq=False)
class CachingAllocator:
    """Tensors of one stream, in blocks of cached segments (default settings of PyTorch 2).

    A tensor gets the smallest free block that holds it, the one with the lowest address among
    several, of which the rest stays free if it is large enough; a block that is freed becomes one
    with free neighbours in its segment.  Segments are never given back: memory does not run out.

    Args:
        new_segment: takes bytes of addresses, as cudaMalloc does; returns the first one.

    Attributes:
        segments: address and size of each.
    """

    _new_segment: Callable[[int], int]
    segments: list[tuple[int, int]] = field(factory=list)
    _used: dict[int, _Block] = field(factory=dict)
    """By address, blocks with a tensor."""

    _free: dict[bool, list[tuple[int, int]]] = field(factory=lambda: {True: [], False: []})
    """By whether they are for small tensors: size and address of free blocks, sorted."""

    _blocks: dict[int, _Block] = field(factory=dict)
    """By address, free blocks."""

    def malloc(self, size: int) -> int:
        """The address of a tensor of `size` bytes."""
        size = -(-max(size, 1) // MIN_BLOCK) * MIN_BLOCK
        small = size <= SMALL
        free = self._free[small]
        place = bisect_left(free, (size, 0))
        if place < len(free):
            block = self._blocks.pop(free.pop(place)[1])
        else:
            block = self._segment(size, small)
        rest = block.size - size
        if rest >= MIN_BLOCK if small else rest > SMALL:
            behind = _Block(block.address + size, rest, small, block, block.behind)
            if block.behind is not None:
                block.behind.before = behind
            block.behind, block.size = behind, size
            self._keep(behind)
        block.free = False
        self._used[block.address] = block
        return block.address

    def free(self, address: int) -> None:
        """A tensor is no longer there.

        Raises:
            UserError: none lies there.
        """
        block = self._used.pop(address, None)
        if block is None:
            raise UserError(f"there is no tensor at {address:#x} that could be freed")
        behind = block.behind
        if behind is not None and behind.free:
            self._take(behind)
            _join(block, behind)
        before = block.before
        if before is not None and before.free:
            self._take(before)
            _join(before, block)
            block = before
        self._keep(block)

    @property
    def cached(self) -> int:
        """Bytes of segments in which no tensor lies."""
        return sum(block.size for block in self._blocks.values())

    def _segment(self, size: int, small: bool) -> _Block:
        if small:
            size = SMALL_SEGMENT
        elif size < OWN_SEGMENT:
            size = LARGE_SEGMENT
        else:
            size = -(-size // ROUND) * ROUND
        address = self._new_segment(size)
        self.segments.append((address, size))
        return _Block(address, size, small)

    def _keep(self, block: _Block) -> None:
        block.free = True
        self._blocks[block.address] = block
        insort(self._free[block.small], (block.size, block.address))

    def _take(self, block: _Block) -> None:
        del self._blocks[block.address]
        free = self._free[block.small]
        del free[bisect_left(free, (block.size, block.address))]


def _join(first: _Block, second: _Block) -> None:
    """Make one block of two neighbours."""
    first.size += second.size
    first.behind = second.behind
    if second.behind is not None:
        second.behind.before = first


def leave_holes(allocator: CachingAllocator, tensors: int, seed: int) -> None:
    """A process has had `tensors` tensors before, of which every second one is still there.

    Sizes are equally likely in each order of magnitude from `MIN_BLOCK` to `LARGEST_EARLIER`, and
    those that are freed are a random half, in random order [our choices].
    """
    rng = np.random.default_rng((seed, 2))
    sizes = np.exp(rng.uniform(np.log(MIN_BLOCK), np.log(LARGEST_EARLIER), tensors))
    addresses = [allocator.malloc(int(size)) for size in sizes]
    for place in rng.permutation(tensors)[: tensors // 2].tolist():
        allocator.free(addresses[place])
