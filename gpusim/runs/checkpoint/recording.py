"""Making a checkpoint: what is skipped is executed, and what it leaves behind is kept."""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
from attrs import define, field, frozen

from gpusim.core.errors import UserError
from gpusim.core.warp_program import SECTOR_BYTES, Application, LaneChunk
from gpusim.hardware.sm.node_scheduler import RunningCopy, SharedLaunch
from gpusim.hardware.sm.running import RunningCall
from gpusim.hardware.sm.untimed.accesses import Ints, Touched, touched_by
from gpusim.hardware.sm.untimed.partial_launch import Rest
from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.hardware.sm.warp import SkippedBlock
from gpusim.runs.checkpoint.access_log import AccessLog
from gpusim.runs.checkpoint.changes import arrays_of, changes, copy_of, hash_of
from gpusim.runs.checkpoint.state import (
    AGAIN,
    ENDED,
    PAGE_SHIFT,
    Shape,
    SkippedApplication,
    SkippedLaunch,
)
from gpusim.runs.skipping import SkipFirst

_PIECE = 0
"""Stands for the number of transactions of a piece, as long as it is not known."""


@frozen(eq=False, repr=False)
class RecordFirst(SkipFirst):
    """Skips the first launches or blocks of each application, and nothing comes after them.

    Attributes:
        keep: transactions of each application that are kept in full, the last ones; None: all.
        line_bytes: lines of the L1 caches.
        progress: called with an application and how many of its blocks are skipped; or None.
    """

    keep: int | None
    line_bytes: int
    progress: Callable[[str, int], None] | None = None

    def kind_of_scheduler(self) -> type[SkippingScheduler]:
        return RecordingScheduler


@define(eq=False, repr=False)
class _Kept:
    """What is kept of an application so far."""

    log: AccessLog
    arrays: str
    launches: list[SkippedLaunch] = field(factory=list)
    pieces: list[int] = field(factory=list)


class RecordingScheduler(SkippingScheduler):
    """Executes what its pace skips, keeps what it does, and stops before the rest."""

    _kept: _Kept | None = None
    _more: bool = False
    _turn_begins: bool = True
    """The block that has its turn has not passed a piece in it."""

    def recorded(self) -> SkippedApplication:
        """What was skipped, when the run is over."""
        assert self._kept is not None
        last, whole = self._kept.log.finish()
        launches = tuple(self._kept.launches)
        return SkippedApplication(
            self.application.name, len(self._sms), self._kept.arrays, launches, last, whole
        )

    def _run_once(self, application: Application) -> Generator[int | None, None, None]:
        pace = self.pace
        assert isinstance(pace, RecordFirst)
        self._kept = _Kept(AccessLog(pace.keep, pace.line_bytes), hash_of(application))
        yield from super()._run_once(application)
        if not self._more and pace.count:
            raise UserError(
                f"{application.name} ends within its first {pace.count} {pace.unit}: "
                "nothing is left to start with"
            )

    def _run_launch(self, one: SharedLaunch) -> Generator[int | None, None, None]:
        if self.pace.skips(self):
            rest = self._rest_of(one)
            self._skip(rest)
            self._more = bool(rest.blocks)
        else:
            self._more = True
        if self._more:
            self.stop()
        yield from ()

    def _run_copy(self, one: RunningCopy) -> Generator[int | None, None, None]:
        """A copy that is not skipped is the first of the rest."""
        self._more = True
        one.done = True
        self.stop()
        yield from ()

    def _run_call(self, one: RunningCall) -> Generator[int | None, None, None]:
        """A call that is skipped is kept as a launch without blocks."""
        if not self.pace.skips(self):
            self._more = True
            one.done = True
            self.stop()
            return
        kept, call = self._kept, one.call
        assert kept is not None
        yield from super()._run_call(one)
        for piece in () if call.maps else call.pieces:
            kept.log.forget(piece >> PAGE_SHIFT, piece + call.piece_bytes >> PAGE_SHIFT)
        none = np.zeros(0, dtype=np.int64)
        kept.launches.append(SkippedLaunch(Shape.of(call), 0, 0, none, none, none, changes([], [])))

    def _skip(self, rest: Rest) -> None:
        kept = self._kept
        assert kept is not None
        arrays = arrays_of(self.application)
        before, passed = copy_of(arrays), self.passed
        super()._skip(rest)
        after = arrays_of(self.application)
        pieces = np.array(kept.pieces, dtype=np.int64)
        pieces[pieces == _PIECE], pages, homes = kept.log.take()
        kept.launches.append(
            SkippedLaunch(
                Shape.of(rest.launch),
                sum(rest.next),
                self.passed - passed,
                pieces,
                pages,
                homes,
                changes(before, after),
            )
        )
        kept.pieces = []

    def _advance(self, block: SkippedBlock) -> bool:
        kept, pace = self._kept, self.pace
        assert kept is not None
        assert isinstance(pace, RecordFirst)
        self._turn_begins = True
        if super()._advance(block):
            return True
        kept.pieces.append(ENDED)
        if pace.progress is not None:
            pace.progress(self.application.name, self.skipped - self.in_turn + 1)
        return False

    def _touches(self, block: SkippedBlock, touches: Ints) -> None:
        kept = self._kept
        assert kept is not None
        if not self._turn_begins:
            kept.pieces.append(AGAIN)
        self._turn_begins = False
        kept.pieces.append(_PIECE)
        kept.log.add(block.home, block.slot, touches)

    def _touched(self, chunk: LaneChunk, blocks: int) -> Touched:
        """With all that any machine may ask for."""
        pace = self.pace
        assert isinstance(pace, RecordFirst)
        return touched_by(chunk, pace.line_bytes, SECTOR_BYTES, True, blocks)
