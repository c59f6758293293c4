"""Starting from a checkpoint: what is skipped is not executed, but done as it was kept."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from gpusim.core.errors import UserError
from gpusim.hardware.sm.running import RunningCall
from gpusim.hardware.sm.untimed.accesses import KIND_BITS, Ints
from gpusim.hardware.sm.untimed.partial_launch import Rest
from gpusim.hardware.sm.untimed.scheduler import Pace, SkippingScheduler
from gpusim.hardware.sm.warp import SkippedBlock
from gpusim.machine.machine import Machine
from gpusim.runs.checkpoint.changes import arrays_of, hash_of
from gpusim.runs.checkpoint.state import (
    ENDED,
    PAGE_SHIFT,
    Accesses,
    Checkpoint,
    LastAccesses,
    SkippedLaunch,
)
from gpusim.runs.checkpoint.tape import Tape


class Replay(Pace):
    """Skips what a checkpoint holds.

    Args:
        checkpoint: it.
        name: of its file.
    """

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self.checkpoint = checkpoint
        self.name = name

    def __str__(self) -> str:
        return f"{self.checkpoint.skipped}, from {self.name}"

    def kind_of_scheduler(self) -> type[SkippingScheduler]:
        return ReplayingScheduler

    def skips(self, scheduler: SkippingScheduler) -> bool:
        assert isinstance(scheduler, ReplayingScheduler)
        kept = self.checkpoint.applications[scheduler.app].launches
        return scheduler.tape.over <= scheduler.launch < len(kept)

    def may_begin(self, scheduler: SkippingScheduler) -> bool:
        assert isinstance(scheduler, ReplayingScheduler)
        return scheduler.tape.may_begin(scheduler.skipped)

    def prepare(self, machine: Machine) -> None:
        """Hand each application of a machine what it replays, before the first cycle.

        Raises:
            UserError: an application has other input than when the checkpoint was made.
        """
        covered = machine.config.knows_covered
        for scheduler, kept in zip(machine.schedulers, self.checkpoint.applications, strict=True):
            assert isinstance(scheduler, ReplayingScheduler)
            if hash_of(scheduler.application) != kept.arrays:
                raise UserError(
                    f"{self.name} was made with other input: the arrays of {kept.name} do not "
                    "begin with the same content"
                )
            scheduler.tape = Tape(kept, covered, self.name)
            scheduler.page_shift = machine.page_table.page_shift


class ReplayingScheduler(SkippingScheduler):
    """Does what was kept instead of executing blocks.

    Blocks are placed as if they were executed, so that they have their SMs and block slots.

    Attributes:
        tape: what was kept.
        page_shift: of the machine's pages.
    """

    tape: Tape
    page_shift: int

    def _skip(self, rest: Rest) -> None:
        if not self.pace.skips(self):
            return
        launch = self.tape.begin(self.launch, rest.launch)
        launch.changes.apply(arrays_of(self.application), self.tape.name)
        self._map_pages(launch)
        super()._skip(rest)
        self.passed += launch.instructions
        if self.tape.end(self.skipped):
            self._warm_with(self.tape.rest_of_summary())

    def _run_call(self, one: RunningCall) -> Generator[int | None, None, None]:
        """The program's own call is performed: which pieces it has follows from the arrays."""
        if not self.pace.skips(self):
            yield from super()._run_call(one)
            return
        self.tape.begin(self.launch, one.call)
        yield from super()._run_call(one)
        if self.tape.end(self.skipped):
            self._warm_with(self.tape.rest_of_summary())
            self._pass_all(ended=True)

    def _begin(self, rest: Rest, gpu: int, first: int, blocks: list[SkippedBlock]) -> None:
        """Nothing is executed."""

    def _map_pages(self, launch: SkippedLaunch) -> None:
        """Frames are given out in the order of first uses, which transactions do not keep."""
        if len(launch.homes) and int(launch.homes.max()) >= len(self._sms):
            raise self.tape.damaged("it has pages of SMs that there are not")
        pages = launch.pages >> self.page_shift - PAGE_SHIFT
        first: dict[int, int] = {}
        for page, home in zip(pages.tolist(), launch.homes.tolist(), strict=True):
            first.setdefault(page, home)
        self.passage.map_pages(first)

    def _advance(self, block: SkippedBlock) -> bool:
        count = self.tape.next_piece()
        if count == ENDED:
            return False
        self._play(block, count)
        while self.tape.again():
            self._play(block, self.tape.next_piece())
        return True

    def _play(self, block: SkippedBlock, count: int) -> None:
        self._warm_with(self.tape.summary(count))
        self._touches(block, _touches_of(self.tape.transactions(count)))

    def _warm_with(self, last: LastAccesses | None) -> None:
        """All that is left of the transactions that are not kept in full."""
        if last is None or not len(last):
            return
        if last.homes.max() >= len(self._sms) or last.slots.max() >= self._config.max_blocks:
            raise self.tape.damaged("it has accesses of SMs or block slots that there are not")
        touches = _touches_of(last)
        breaks = np.flatnonzero(np.diff(last.homes) | np.diff(last.slots)) + 1
        for first, end in zip([0, *breaks.tolist()], [*breaks.tolist(), len(last)], strict=True):
            home, slot = int(last.homes[first]), int(last.slots[first])
            self._touches(self._without_clock(home, slot, [0], iter(()), []), touches[:, first:end])


def _touches_of(accesses: Accesses) -> Ints:
    """Transactions as touches."""
    return np.stack([accesses.lines << KIND_BITS | accesses.kinds, accesses.sectors])
