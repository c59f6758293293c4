"""The rest of a launch, of which parts are skipped and parts are timed, on one GPU or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gpusim.core.pieces import pieces_of
from gpusim.core.warp_program import (
    NOTHING_ASKED,
    Asked,
    LaneChunk,
    Launch,
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
    """What is left of a launch (a `Launch`), GPU by GPU: blocks that have begun, then the others.

    Args:
        launch: the whole one.
        shares: the numbers of its blocks by the GPU that runs them, in the order in which they
            begin there.

    Attributes:
        begun: by GPU, blocks that have begun, the oldest first.
        next: by GPU, how many of its share have begun.
        ahead: blocks that have not begun, but execute in step with others that have.
        longest: warp instructions of the longest block so far.
    """

    def __init__(self, launch: Launch, shares: Sequence[Sequence[int]]) -> None:
        self.launch = launch
        self.shares = shares
        self.begun: list[list[SkippedBlock]] = [[] for _ in shares]
        self.next = [0] * len(shares)
        self.ahead: dict[int, Parts] = {}
        self.longest = 0
        self.name = launch.name
        self.threads_per_block = launch.threads_per_block
        self.registers_per_thread = launch.registers_per_thread
        self.shared_bytes = launch.shared_bytes
        self.stream_use = launch.stream_use
        self.copy = launch.copy

    @property
    def blocks(self) -> int:
        """How many are left."""
        return sum(map(self._left, range(len(self.shares))))

    def _left(self, gpu: int) -> int:
        return len(self.begun[gpu]) + len(self.shares[gpu]) - self.next[gpu]

    def numbers_of(self, gpu: int) -> range:
        """The blocks that are left for a GPU."""
        first = sum(map(self._left, range(gpu)))
        return range(first, first + self._left(gpu))

    def _find(self, block: int) -> tuple[int, int]:
        """The GPU of the `block`-th block that is left, and which of those left for it it is."""
        gpu = 0
        while block >= (left := self._left(gpu)):
            block -= left
            gpu += 1
        return gpu, block

    def resident(self) -> list[SkippedBlock]:
        """All blocks that have begun."""
        return [block for own in self.begun for block in own]

    def drop(self, ended: set[SkippedBlock]) -> None:
        """Forget blocks that have begun, and ended."""
        for own in self.begun:
            own[:] = [block for block in own if block not in ended]

    def begun_as(self, block: int) -> SkippedBlock | None:
        """The `block`-th block that is left, if it has begun."""
        gpu, place = self._find(block)
        begun = self.begun[gpu]
        return begun[place] if place < len(begun) else None

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """Execute the `block`-th block that is left, from where it is."""
        return self.run_block_beside(block, warp_size, NOTHING_ASKED)

    def run_block_beside(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        """Execute the `block`-th block that is left, with the operations that are asked for."""
        gpu, place = self._find(block)
        begun = self.begun[gpu]
        if place < len(begun):
            return begun[place].chunks
        number = self.shares[gpu][self.next[gpu] + place - len(begun)]
        return self.begin(number, warp_size, asked)

    def begin(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        """Execute a block of the whole launch, piece by piece."""
        parts = self.ahead.pop(block, None)
        if parts is not None:
            return parts
        return _in_pieces(execute_block(self.launch, block, warp_size, asked))

    def execute_in_step(self, gpu: int, places: range, warp_size: int, touched: Toucher) -> None:
        """Let blocks that begin now execute in step, if they can.

        They take some that come after them with them, as these may begin one by one.

        Args:
            gpu: the GPU.
            places: of the blocks in its share.
            warp_size: lanes of a warp.
            touched: returns what a piece accesses.
        """
        share = self.shares[gpu]
        most = most_in_step(self.launch, warp_size)
        waiting = WAITING_BYTES // (self.longest * _INSTRUCTION_BYTES) if self.longest else 0
        for place in places:
            if share[place] in self.ahead:
                continue
            count = min(max(places.stop - place, waiting), most, len(share) - place)
            together = share[place : place + count]
            chunks = execute_in_step(self.launch, together, warp_size) if count > 1 else None
            if chunks is not None:
                found = InStep(_in_pieces(chunks), count, touched)
                for number, block in enumerate(together):
                    self.ahead[block] = found.parts_of(number)

    def go_on(self, placed: Sequence[int], paused: Sequence[list[SkippedBlock]]) -> None:
        """Note what has been timed, by GPU.

        Args:
            placed: how many of the blocks that were left were placed, the first ones.
            paused: of these, those that have not ended.
        """
        for gpu, count in enumerate(placed):
            begun = self.begun[gpu]
            self.next[gpu] += max(count - len(begun), 0)
            self.begun[gpu] = [*paused[gpu], *begun[count:]]


def _in_pieces(chunks: Iterator[LaneChunk]) -> Iterator[LaneChunk]:
    for chunk in chunks:
        yield from pieces_of(chunk, PIECE_ROWS)
