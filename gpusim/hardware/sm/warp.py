"""Thread blocks and warps on an SM, and the memory instructions that they have in flight."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.cut import Trailed
from gpusim.core.engine import Port
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.request import Access, Kind, MemoryRequest, Requester, Traveller
from gpusim.core.states import State
from gpusim.core.unboxed import IntDict, IntList, first_key
from gpusim.core.warp_program import (
    NOTHING_ASKED,
    Asked,
    LaneChunk,
    Launch,
    Op,
    Segment,
    execute_block,
)
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from gpusim.hardware.sm.history import History
from gpusim.hardware.sm.schedulers import Schedulable


@mypyc_attr(allow_interpreted_subclasses=True)
class Answerable:
    """The load/store unit, as its instructions see it.

    Attributes:
        index: of its SM.
        history: what it was stalled by while others waited in its queue.
    """

    index: int
    history: History

    def answered(self, access: WarpAccess, request: MemoryRequest) -> None:
        """A transaction of `access` is answered."""
        raise NotImplementedError


_READY: Final = int(State.READY)
_COMPUTE: Final = int(Op.COMPUTE)
_LOAD: Final = int(Kind.LOAD)
_RARE: Final = int(Op.DELAY)

STALLED: Final = 0
"""A warp that takes no issue cycles waits: it goes on when what it waits for is there."""

NOTHING: Final = -1
"""No operation."""

Rare = Generator[int, int, int]
"""A rare operation: receives cycles in which its warp may issue; yields issue cycles of its
instructions, or `STALLED`; returns the cycle in which the next operation may be issued."""


@frozen(eq=False, repr=False)
class Seat:
    """The place of a thread block in a machine.

    Attributes:
        app, asid: application and address space.
        slot: block slot on the SM, reused when it has ended.
        warp_slots: warp slots that its warps take.
        first_warp: number of its first warp, counted over the GPU.
        sm: position of its SM among those of the application.
    """

    app: int
    asid: int
    slot: int
    warp_slots: list[int]
    first_warp: int
    sm: int


class Block:
    """A thread block on an SM.

    Attributes:
        launch: what it is a block of.
        index: its number in the grid.
        app, asid: application and address space.
        slot: block slot on the SM, reused when it has ended.
        warp_slots: warp slots that its warps take.
        first_warp: number of its first warp, counted over the GPU.
        sm: position of its SM among those of the application.
        ended: where it goes when its place is free, and when it has ended, if that is later.
        launched_at: cycle from which on blocks of its launch were placed.
        live: warps that have not ended.
        posted: stores of warps that have, and that are not answered.
        placed: whether it has its place.
        over: whether it has ended, with all its stores.
        pieces: of its program that have been executed.
        rows: instructions in them.
    """

    def __init__(self, launch: Launch, index: int, seat: Seat, ended: Port[Block]) -> None:
        self.launch = launch
        self.index = index
        self.app = seat.app
        self.asid = seat.asid
        self.slot = seat.slot
        self.warp_slots = warp_slots = seat.warp_slots
        self.first_warp = seat.first_warp
        self.sm = seat.sm
        self.ended = ended
        self.launched_at = 0
        self.live = len(warp_slots)
        self.posted = 0
        self.placed = True
        self.over = False
        self.pieces = 0
        self.rows = 0
        self.at_barrier: list[Warp] = []
        self._cut = False
        self._chunks: Iterator[LaneChunk] = iter(())
        self._coalescing: Coalescing | None = None
        self._segments: list[list[Segment]] = [[] for _ in warp_slots]
        self._in_hand: list[Segment | None] = [None for _ in warp_slots]
        """The piece that each warp issues now."""

    def open(self, warp_size: int, coalescing: Coalescing, asked: Asked = NOTHING_ASKED) -> None:
        """Start to execute the block, piece by piece, as its warps ask for operations.

        Args:
            warp_size: lanes of a warp.
            coalescing: what its transactions are like.
            asked: what its SM asks of its program.
        """
        self._coalescing = coalescing
        if not self._cut:
            self._chunks = execute_block(self.launch, self.index, warp_size, asked)

    def cut(self) -> None:
        """End here: its warps issue what they have in hand, and nothing after that."""
        self._cut = True
        self._chunks = iter(())
        for segment in self._in_hand:
            if segment is not None:
                segment.kinds = b""
        for segments in self._segments:
            segments.clear()

    def pause(self) -> tuple[Iterator[LaneChunk], list[list[Segment]]] | None:
        """Let the block's warps issue the piece that they have in hand, and end there.

        Returns:
            what is yet to be executed, and what has been and no warp has begun, by warp; None: the
            block itself has not begun.
        """
        if self._coalescing is None:
            self._cut = True
            return None
        rest = self._chunks, self._segments
        self._chunks = iter(())
        self._segments = [[] for _ in self.warp_slots]
        return rest

    def go_on_with(self, segments: list[list[Segment]]) -> None:
        """Begin with pieces that have been executed, by warp."""
        self._segments = segments

    def next_segment(self, warp: int) -> Segment | None:
        """The next piece of the program of the block's warp number `warp`; None at its end."""
        segments = self._segments[warp]
        self._in_hand[warp] = None
        while not segments:
            chunk = next(self._chunks, None)
            if chunk is None:
                return None
            self.pieces += 1
            self.rows += len(chunk.kind)
            assert self._coalescing is not None
            found = coalesce(chunk, self._coalescing)
            for queue, segment in zip(self._segments, found, strict=True):
                if segment.kinds:
                    queue.append(segment)
        segment = self._in_hand[warp] = segments.pop(0)
        return segment


@mypyc_attr(allow_interpreted_subclasses=True)
class SkippedBlock(Requester):
    """A thread block that is executed without a clock.

    Attributes:
        home: position of its SM among those of the application.
        chunks: what it has yet to execute.
        warp_slots: warp slots that its warps take.
        segments: where its warps are at different places: what has been executed and neither
            skipped nor timed, by warp.
        been_paused: it has been timed before.
        passed: warp instructions of it that have been skipped.
        due: operations that each of its warps may execute now; below 0 it has executed more.
    """

    __slots__ = (
        "app",
        "been_paused",
        "chunks",
        "due",
        "home",
        "passed",
        "segments",
        "slot",
        "sm",
        "warp_slot",
        "warp_slots",
    )

    def __init__(
        self,
        seat: Seat,
        sm: int,
        chunks: Iterator[LaneChunk],
        segments: list[list[Segment]],
    ) -> None:
        warp_slots = seat.warp_slots
        self.app = seat.app
        self.home = seat.sm
        self.sm = sm
        self.slot = seat.slot
        self.warp_slots = warp_slots
        self.warp_slot = warp_slots[0]
        self.chunks = chunks
        self.segments = segments
        self.been_paused = False
        self.passed = 0
        self.due = 0.0


class Warp(Schedulable):
    """A warp: its life, and what it waits for.

    Attributes:
        issue_port: number of the issue port that issues for it.
        segment: the piece of its program that it issues.
        place: number of its next operation there.
        first: number of the first transaction of what it has in hand.
        op, arg: the operation that it has in hand, and its argument; `NOTHING`: none.
        rare: that operation, if it is a rare one that has begun.
        issued: loads and atomics that it has issued.
        left: compute instructions that it has yet to issue before the next operation.
        outstanding: loads and atomics that are not answered, by sequence number, oldest first.
        stores: memory instructions that are posted and not yet acknowledged.
        needs: it waits until the load of this sequence number and all before are answered;
            -1: it does not wait for loads.
        ending: its program has ended, and it waits for what is not answered.
        gone: it has ended, and its stores may not be answered yet.
    """

    __slots__ = (
        "arg",
        "block",
        "ending",
        "first",
        "gone",
        "index",
        "issue_port",
        "issued",
        "left",
        "needs",
        "op",
        "outstanding",
        "place",
        "rare",
        "segment",
        "stores",
    )

    def __init__(
        self, uid: int, block: Block, index: int, age: int, issue_port: int, now: int
    ) -> None:
        super().__init__(uid, block.warp_slots[index], block.app, _READY, now, age)
        self.block = block
        self.index = index
        self.issue_port = issue_port
        self.segment: Segment | None = None
        self.place = 0
        self.first = 0
        self.op = NOTHING
        self.arg = 0
        self.rare: Rare | None = None
        self.issued = 0
        self.left = 0
        self.outstanding: IntDict[WarpAccess] = IntDict()
        self.stores = 0
        self.needs = -1
        self.ending = False
        self.gone = False

    def begin(self, operation: Rare) -> None:
        """Have a rare operation in hand, up to the first time that it waits, and no program."""
        next(operation)
        self.op = _RARE
        self.rare = operation

    def take_up(self) -> bool:
        """Take the next operation of its program in hand; False: there is none."""
        segment, place = self.segment, self.place
        while segment is None or place >= len(segment.kinds):
            segment = self.segment = self.block.next_segment(self.index)
            if segment is None:
                return False
            place = self.first = 0
        op, arg = segment.kinds[place], segment.args[place]
        self.op = op
        self.arg = arg
        if op == _COMPUTE:
            self.left = arg
        self.place = place + 1
        return True

    def waits_for(self, number: int) -> bool:
        """Whether a load up to this sequence number is unanswered; then it `needs` that."""
        if not self.outstanding or first_key(self.outstanding) > number:
            return False
        self.needs = number
        return True


@mypyc_attr(allow_interpreted_subclasses=True)
class WarpAccess(Access):
    """One memory instruction of a warp: its transactions, of which the last answered one counts.

    Attributes:
        lines, sectors: of the transactions of a piece of the warp's program; its own are those
            from `first` up to `end`.
        next: of these, the first that the load/store unit has not started.
        remaining: number of transactions that are not answered.
        issued: cycle in which it was issued.
        sequence: number among the warp's loads and atomics (-1 for stores).
        hit_at, hit_until: cycles in which the last transaction that hit did so and has its data.
        cause: the transaction that finished last; None if it simply hit.
        sm, slot, warp_slot: its SM, and block slot and warp slot there.
        passes: cycles in which it passes the L1 cache; 0: a transaction takes one.
        began: cycle of the first of them; -1: it has not begun.
    """

    __slots__ = (
        "app",
        "asid",
        "asid_tag",
        "began",
        "cause",
        "end",
        "first",
        "hit_at",
        "hit_until",
        "issued",
        "kind",
        "lines",
        "lsu",
        "next",
        "passes",
        "remaining",
        "sectors",
        "sequence",
        "slot",
        "sm",
        "warp",
        "warp_slot",
    )

    def __init__(self, lsu: Answerable, warp: Warp, kind: int, sequence: int, now: int) -> None:
        block = warp.block
        self.lsu = lsu
        self.warp = warp
        self.kind = kind
        self.app = block.app
        self.asid = block.asid
        self.asid_tag = block.asid << ASID_SHIFT
        self.slot = block.slot
        self.sm = lsu.index
        self.warp_slot = warp.warp_slot
        self.sequence = sequence
        self.issued = now
        self.hit_at = 0
        self.hit_until = 0
        self.passes = 0
        self.began = -1
        self.coherent = False
        self.place = -1
        self.cause: Traveller | None = None

    def stores(self) -> bool:
        return self.kind != _LOAD

    def take(self, lines: IntList, sectors: list[int], first: int, end: int) -> None:
        """Its transactions: those of a piece of the warp's program from `first` up to `end`."""
        self.lines = lines
        self.sectors = sectors
        self.first = self.next = first
        self.end = end
        self.remaining = end - first

    def may_start(self, now: int) -> bool:
        """Whether the next transaction may start in this cycle, as its passes go on evenly."""
        if self.began < 0:
            self.began = now
        count = self.end - self.first
        return self.next - self.first < (now - self.began + 1) * count // self.passes

    def finished_by(self, history: History) -> Trailed:
        """The transaction that finished last, for its trail, to be cut at once.

        `history` is the unit's.
        """
        return history.hit(self.hit_at) if self.cause is None else self.cause

    def answered(self, request: MemoryRequest) -> None:
        """A transaction that went out is answered in this cycle."""
        self.lsu.answered(self, request)
