"""The rest of a launch, of which parts are skipped and parts are timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpusim.core.pieces import pieces_of
from gpusim.core.warp_program import (
    NOTHING_ASKED,
    Asked,
    LaneChunk,
    Launch,
    Segment,
    execute_block,
    execute_in_step,
    most_in_step,
)
from gpusim.hardware.sm.untimed.in_step import InStep, Parts, Toucher
from gpusim.hardware.sm.warp import SkippedBlock

PIECE_ROWS: Final = 16
"""Instructions that a block executes at most before another one has its turn [our choice]."""

WAITING_BYTES: Final = 1 << 28
"""What blocks may take that execute in step with others before they begin [our choice]."""

_INSTRUCTION_BYTES: Final = 256
"""What a warp instruction takes at most: an address a lane."""


class Rest:
    """What is left of a launch (a `Launch`): blocks that have begun, then those that have not.

    Args:
        launch: the whole one.

    Attributes:
        begun: blocks that have begun, the oldest first.
        next: the first one that has not.
        ahead: blocks that have not begun, but execute in step with others that have.
        longest: warp instructions of the longest block so far.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.begun: list[SkippedBlock] = []
        self.next = 0
        self.ahead: dict[int, Parts] = {}
        self.longest = 0
        self.name = launch.name
        self.threads_per_block = launch.threads_per_block
        self.registers_per_thread = launch.registers_per_thread
        self.shared_bytes = launch.shared_bytes

    @property
    def blocks(self) -> int:
        """How many are left."""
        return len(self.begun) + self.launch.blocks - self.next

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """Execute the `block`-th block that is left, from where it is."""
        return self.run_block_beside(block, warp_size, NOTHING_ASKED)

    def run_block_beside(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        """Execute the `block`-th block that is left, with the the operations that are asked for."""
        if block < len(self.begun):
            return self.begun[block].chunks
        return self.begin(self.next + block - len(self.begun), warp_size, asked)

    def has_been_paused(self, block: int) -> bool:
        """Whether the `block`-th block that is left has been timed and paused."""
        return block < len(self.begun) and self.begun[block].been_paused

    def segments_of(self, block: int) -> list[list[Segment]]:
        """What the warps of a block begin with, by warp; empty for a block that has not begun."""
        return self.begun[block].segments if block < len(self.begun) else []

    def begin(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        """Execute a block of the whole launch, piece by piece."""
        parts = self.ahead.pop(block, None)
        if parts is not None:
            return parts
        return _in_pieces(execute_block(self.launch, block, warp_size, asked))

    def execute_in_step(self, blocks: range, warp_size: int, touched: Toucher) -> None:
        """Let blocks that begin now execute in step, if they can.

        They take some that come after them with them, as these may begin one by one.
        """
        most = most_in_step(self.launch, warp_size)
        waiting = WAITING_BYTES // (self.longest * _INSTRUCTION_BYTES) if self.longest else 0
        for block in blocks:
            if block in self.ahead:
                continue
            count = min(max(blocks.stop - block, waiting), most, self.launch.blocks - block)
            together = range(block, block + count)
            chunks = execute_in_step(self.launch, together, warp_size) if count > 1 else None
            if chunks is not None:
                found = InStep(_in_pieces(chunks), count, touched)
                self.ahead.update((other, found.parts_of(other - block)) for other in together)

    def go_on(self, placed: int, paused: list[SkippedBlock]) -> None:
        """Note that the first `placed` blocks left were placed; `paused` are paused again."""
        self.next += max(placed - len(self.begun), 0)
        self.begun = [*paused, *self.begun[placed:]]


def _in_pieces(chunks: Iterator[LaneChunk]) -> Iterator[LaneChunk]:
    for chunk in chunks:
        yield from pieces_of(chunk, PIECE_ROWS)
