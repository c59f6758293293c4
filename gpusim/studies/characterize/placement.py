"""Untimed placement of blocks on SMs, and the order of accesses that an SM sees."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.hardware.sm.block_placement import BlockPlacement
from gpusim.studies.characterize.blocks import BlockAccesses


@frozen(eq=False)
class Placed:
    """Where and when the blocks of a launch run.

    Attributes:
        sm: (blocks,) int64.
        start: (blocks,) int64, step of the launch in which a block makes its first instructions.
    """

    sm: NDArray[np.int64]
    start: NDArray[np.int64]


def place_blocks(
    launch: Launch, steps: Sequence[int], sms: int, per_sm: int, placement: BlockPlacement
) -> Placed:
    """Place the blocks of a launch in order; one that has ended makes room for the next.

    All SMs advance by one step at a time, in which each resident warp makes one memory
    instruction [our choice: each warp has to wait about as long for its memory].

    Args:
        launch: whose blocks they are.
        steps: steps that each block takes.
        sms: number of SMs.
        per_sm: blocks that an SM holds.
        placement: picks the SM of the next block.
    """
    sm = np.zeros(len(steps), dtype=np.int64)
    start = np.zeros(len(steps), dtype=np.int64)
    free = [per_sm] * sms
    running: list[tuple[int, int]] = []
    now = 0
    for block, length in enumerate(steps):
        while (chosen := placement.pick(launch, block, sms, lambda one: free[one] > 0)) is None:
            now = running[0][0]
            while running and running[0][0] == now:
                free[heappop(running)[1]] += 1
        free[chosen] -= 1
        sm[block] = chosen
        start[block] = now
        heappush(running, (now + length, chosen))
    return Placed(sm, start)


@frozen(eq=False)
class SmStream:
    """The page accesses of one launch in the order in which an SM makes them.

    Attributes:
        page: (n,) int64, virtual page numbers.
        owner: (n,) int64, the block that makes it.
        step: (n,) int64, of the launch; ascending.
    """

    page: NDArray[np.int64]
    owner: NDArray[np.int64]
    step: NDArray[np.int64]


def sm_stream(blocks: Sequence[BlockAccesses], placed: Placed, sm: int) -> SmStream:
    """Interleave the blocks of an SM: in each step the older block comes first."""
    mine = np.flatnonzero(placed.sm == sm).tolist()
    if not mine:
        empty = np.zeros(0, dtype=np.int64)
        return SmStream(empty, empty, empty)
    step = np.concatenate([blocks[block].step + placed.start[block] for block in mine])
    order = np.argsort(step, kind="stable")
    page = np.concatenate([blocks[block].page for block in mine])
    owner = np.repeat(mine, [len(blocks[block].page) for block in mine])
    return SmStream(page[order], owner[order], step[order])


def touch_order(blocks: Sequence[BlockAccesses], placed: Placed) -> NDArray[np.int64]:
    """The distinct pages of a launch in the order in which the GPU first accesses them.

    Of accesses in one step, those of lower SMs count as earlier.
    """
    found = [np.unique(block.page, return_index=True) for block in blocks]
    index = np.concatenate([first for _, first in found])
    number = np.repeat(np.arange(len(blocks)), [len(page) for page, _ in found])
    step = np.concatenate(
        [block.step[first] for block, (_, first) in zip(blocks, found, strict=True)]
    )
    order = np.lexsort((index, number, placed.sm[number], step + placed.start[number]))
    page = np.concatenate([page for page, _ in found])[order]
    return page[np.sort(np.unique(page, return_index=True)[1])]
