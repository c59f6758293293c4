"""Translations that a thread block asks for: it is executed, its accesses are coalesced."""

from __future__ import annotations

from itertools import chain

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.warp_program import MEMORY_OPS, NO_INSTRUCTION, Launch, Op
from gpusim.hardware.sm.coalescer import Coalescing, coalesce

_MEMORY_KINDS = tuple(sorted(MEMORY_OPS))
_NOT_ONE = (Op.COMPUTE, *NO_INSTRUCTION)
"""Operations that are not exactly one instruction."""


@frozen
class Geometry:
    """What of a model the accesses of a block depend on.

    Attributes:
        warp_size: lanes.
        line_bytes: of the L1 cache; the coalescer works by lines.
        page_bytes: of the page table.
    """

    warp_size: int
    line_bytes: int
    page_bytes: int

    @property
    def page_lines_shift(self) -> int:
        """log2 of the lines of a page."""
        return (self.page_bytes // self.line_bytes).bit_length() - 1


@frozen(eq=False)
class BlockAccesses:
    """The page accesses of one thread block: one for each coalesced transaction (ORCH §III-C).

    They are ordered as if the block ran alone: in step *s* each warp makes its *s*-th memory
    instruction, in the order of the warps; an instruction's transactions follow the lanes.

    Attributes:
        page: (n,) int64, virtual page numbers.
        step: (n,) int32, of the instruction; ascending.
        steps: memory instructions of the warp that has most.
        warps: of the block.
        warp_instructions: all instructions of all warps; a wait is none.
        instruction_pages: (m,) int64, distinct pages of each warp memory instruction.
    """

    page: NDArray[np.int64]
    step: NDArray[np.int32]
    steps: int
    warps: int
    warp_instructions: int
    instruction_pages: NDArray[np.int64]


def run_block(launch: Launch, block: int, geometry: Geometry) -> BlockAccesses:
    """Execute one thread block of a launch."""
    warps = -(-launch.threads_per_block // geometry.warp_size)
    kinds: list[list[int]] = [[] for _ in range(warps)]
    args: list[list[int]] = [[] for _ in range(warps)]
    lines: list[list[int]] = [[] for _ in range(warps)]
    for chunk in launch.run_block(block, geometry.warp_size):
        for warp, segment in enumerate(coalesce(chunk, Coalescing(geometry.line_bytes))):
            kinds[warp] += segment.kinds
            args[warp] += segment.args
            lines[warp] += segment.lines
    kind = np.array(list(chain(*kinds)), dtype=np.int64)
    arg = np.array(list(chain(*args)), dtype=np.int64)
    page = np.array(list(chain(*lines)), dtype=np.int64) >> geometry.page_lines_shift
    memory = np.isin(kind, _MEMORY_KINDS)
    warp_of = np.repeat(np.arange(warps), [len(one) for one in kinds])[memory]
    instructions = len(warp_of)
    step = np.arange(instructions) - np.searchsorted(warp_of, warp_of)
    instruction = np.repeat(np.arange(instructions), arg[memory])
    order = np.argsort(step[instruction], kind="stable")
    return BlockAccesses(
        page[order],
        step[instruction][order].astype(np.int32),
        int(step.max(initial=-1)) + 1,
        warps,
        int(arg[kind == Op.COMPUTE].sum() + (~np.isin(kind, _NOT_ONE)).sum()),
        distinct_per_group(instruction, page, instructions),
    )


def distinct_per_group(
    group: NDArray[np.int64], value: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """Number of distinct values in each of `groups` groups.

    Args:
        group: (n,) the group of each value, ``0 .. groups - 1``.
        value: (n,)
        groups: how many there are.
    """
    order = np.lexsort((value, group))
    group, value = group[order], value[order]
    new = np.ones(len(group), dtype=bool)
    new[1:] = (group[1:] != group[:-1]) | (value[1:] != value[:-1])
    return np.bincount(group[new], minlength=groups).astype(np.int64)
