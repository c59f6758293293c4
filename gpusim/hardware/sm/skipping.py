"""Thread blocks without a clock: a scheduler that executes some before it has others timed.

A block that is skipped is executed in numpy, so that what is computed is right, and its accesses
pass through TLBs, walk caches, caches and the page table as they are in that moment; nothing of it
takes time, and nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

from mypy_extensions import mypyc_attr

from gpusim.config.schema import SmConfig
from gpusim.core.engine.loop import EventLoop
from gpusim.core.warp_program import Application, LaneChunk, Launch, instructions_of, pieces_of
from gpusim.hardware.sm.block_scheduler import BlockPlacement, BlockScheduler, LaunchRecord
from gpusim.hardware.sm.warp import SkippedBlock

PIECE_ROWS: Final = 16
"""Instructions that a block executes at most before another one has its turn [our choice]."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Pace:
    """Tells a scheduler how long to skip; it is asked before each launch and after each piece."""

    def skips(self, scheduler: SkippingScheduler) -> bool:
        """Whether what is next is skipped; once it is not, nothing after it is."""
        raise NotImplementedError

    def may_begin(self, scheduler: SkippingScheduler) -> bool:
        """Whether a further block may begin to be skipped."""
        return True


class Rest:
    """What is left of a launch (a `Launch`): blocks that have begun, then those that have not.

    Args:
        launch: the whole one.

    Attributes:
        begun: blocks that have begun.
        next: the first one that has not.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.begun: list[SkippedBlock] = []
        self.next = 0
        self.name = launch.name
        self.threads_per_block = launch.threads_per_block
        self.registers_per_thread = launch.registers_per_thread
        self.shared_bytes = launch.shared_bytes

    @property
    def blocks(self) -> int:
        """How many are left."""
        return len(self.begun) + self.launch.blocks - self.next

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """Execute the `block`-th of those that are left, from where it is."""
        return self.run_block_beside(block, warp_size, frozenset())

    def run_block_beside(
        self, block: int, warp_size: int, kinds: frozenset[int]
    ) -> Iterator[LaneChunk]:
        """Likewise, with operations of side caches, if it has not begun."""
        if block < len(self.begun):
            return self.begun[block].chunks
        number = self.next + block - len(self.begun)
        launch: Any = self.launch  # it may be a `LaunchBeside`
        if kinds and hasattr(launch, "run_block_beside"):
            chunks: Iterator[LaneChunk] = launch.run_block_beside(number, warp_size, kinds)
            return chunks
        return self.launch.run_block(number, warp_size)


class SkippingScheduler(BlockScheduler):
    """Skips as its pace says; set `pace` before the first cycle.

    While it skips, blocks are in residence as they would be if they were timed: as many as the
    SMs hold, each on the SM that the placement chooses.  Those in residence execute a piece of
    their program each, in turn.  Those that have begun are timed from where they are, on their SMs.

    Attributes:
        pace: when to skip.
        launch: number of the launch.
        passed: warp instructions that have been skipped.
        skipped: blocks of all launches that have begun to be skipped.
        in_turn: blocks that execute in turn now.
    """

    pace: Pace

    def __init__(
        self, env: EventLoop, app: int, asid: int, application: Application, config: SmConfig,
        placement: BlockPlacement, first_warp: Callable[[int], int],
        run_ended: Callable[[int], Application | None], overhead: int = 0,
        dispatch: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            env, app, asid, application, config, placement, first_warp, run_ended, overhead,
            dispatch,
        )  # fmt: skip
        self.launch = -1
        self.passed = 0
        self.skipped = 0
        self.in_turn = 0

    def _run_launch(
        self, launch: Launch, record: LaunchRecord
    ) -> Generator[int | None, None, None]:
        self.launch += 1
        if not self.pace.skips(self):
            yield from super()._run_launch(launch, record)
            return
        rest = Rest(launch)
        self._skip(rest)
        if rest.blocks:
            yield from super()._run_launch(rest, record)
        record.blocks += launch.blocks - rest.blocks

    def _place(self, launch: Launch, index: int) -> bool:
        """A block that has begun goes back to its SM."""
        if not isinstance(launch, Rest) or index >= len(launch.begun):
            return super()._place(launch, index)
        home = launch.begun[index].home
        fits = self._rooms[home].fits(launch)
        if fits:
            self._put(launch, index, home)
        return fits

    # -- without a clock -------------------------------------------------------------------------

    def _skip(self, rest: Rest) -> None:
        """Execute blocks until the pace says otherwise, or none is left."""
        resident: list[SkippedBlock] = []
        while self.pace.skips(self):
            self._begin_some(rest, resident)
            self.in_turn = len(resident)
            if not resident:
                break
            for block in list(resident):
                if not self._advance(block):
                    self._rooms[block.home].give_back(rest, block.slot, block.warp_slots)
                    resident.remove(block)
                if not self.pace.skips(self):
                    break
        for block in resident:
            self._rooms[block.home].give_back(rest, block.slot, block.warp_slots)
        rest.begun = resident

    def _begin_some(self, rest: Rest, resident: list[SkippedBlock]) -> None:
        """As many further blocks as the SMs hold are in residence."""
        while rest.next < rest.launch.blocks and self.pace.may_begin(self):
            home = self._placement.pick(
                rest, rest.next, len(self._sms), lambda sm: self._rooms[sm].fits(rest)
            )
            if home is None:
                return
            slot, warp_slots = self._rooms[home].take(rest)
            chunks = rest.launch.run_block(rest.next, self._config.warp_size)
            resident.append(
                SkippedBlock(
                    self.app, self.asid, self._sms[home].index, home, slot, warp_slots,
                    _in_pieces(chunks),
                )
            )  # fmt: skip
            rest.next += 1
            self.skipped += 1

    def _advance(self, block: SkippedBlock) -> bool:
        """Let a block execute a piece; False if it has ended."""
        chunk = next(block.chunks, None)
        if chunk is None:
            return False
        self.passed += instructions_of(chunk)
        self._sms[block.home].lsu.warm(block, chunk)
        return True


def _in_pieces(chunks: Iterator[LaneChunk]) -> Iterator[LaneChunk]:
    for chunk in chunks:
        yield from pieces_of(chunk, PIECE_ROWS)
