"""Executes thread blocks: all warps that are at one place together, basic block by basic block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import define

from gpusim.core.errors import UserError
from gpusim.core.warp_program import LaneChunk, Op
from gpusim.programs.pieces import move_piece
from gpusim.ptx.async_steps import mbarrier_done
from gpusim.ptx.batch import EXITED, WAITING, Batch
from gpusim.ptx.device_memory import AccessError
from gpusim.ptx.frame import Code, CodeBlock, Frame, Lanes
from gpusim.ptx.operands import Operands
from gpusim.ptx.record import WARP
from gpusim.ptx.syntax import Immediate, Instruction, Module
from gpusim.ptx.values import UnsupportedError, Value, reinterpreted

_FAIR = 1024
"""Turns after which another warp than the one furthest behind has one: it may wait for it."""

_POLLS = 8
"""As `_FAIR`, of a loop that looks at memory until another thread changes it."""

_MOST_TURNS = 1 << 22
"""Turns in a row in one basic block: more mean that its threads wait for each other for ever."""


@define(eq=False)
class _Waiting:
    """Threads that wait in a barrier of their thread block.

    Attributes:
        place: the basic block that ends with it, by thread; -1: the thread does not wait.
        name: the barrier's number, by thread.
        count: threads that it waits for; 0: all of the thread block.
        combined: what they bring, where it is combined (``bar.red``).
    """

    place: Value
    name: Value
    count: Value
    combined: Value


class Executor:
    """Executes a batch of thread blocks.

    Args:
        module: for messages.
        code: of the kernel.
        operands: of the kernel.
        batch: the thread blocks; what it records is handed over.
    """

    def __init__(self, module: Module, code: Code, operands: Operands, batch: Batch) -> None:
        self._module = module
        self._code = code
        self._operands = operands
        self._batch = batch
        batch.registers = [None] * len(code.types)
        count = batch.threads.count
        self._count = count
        nothing = np.full(count, -1)
        self._waiting = _Waiting(nothing, nothing.copy(), nothing.copy(), np.zeros(count, bool))
        self._done: dict[Instruction, Callable[[Frame], Value]] = {}
        self._private: set[int] = set()
        """Arrays that are one register's alone, by their `id`: only these are changed in place."""
        self._turns = 0
        self._last = -1
        self._same = 0
        self._rounds = 0
        self._fair = False
        """Whether this turn goes to other threads than those furthest behind."""
        self._of_warps = True
        """Whether only threads that are furthest behind in their warps have it."""
        self._together = WAITING
        """The basic block to which all threads went; `WAITING`: not known."""

    def run(self) -> Iterator[LaneChunk]:
        """Execute all threads to their end.

        Raises:
            UserError: an access goes nowhere, or threads wait for each other for ever.
        """
        batch = self._batch
        record = batch.record
        pieces: list[LaneChunk] = []  # none is kept here once it is handed over
        with np.errstate(all="ignore"):
            while (place := self._next()) is not None:
                self._turn(place)
                if record is not None and record.full and move_piece(record, pieces):
                    yield pieces.pop()
            batch.registers.clear()
            if record is not None and move_piece(record, pieces):
                yield pieces.pop()

    # -- turns -------------------------------------------------------------------------------------

    def _next(self) -> int | None:
        """The basic block that comes next; None: all threads have ended."""
        together, self._together = self._together, WAITING
        place = together if together < WAITING else int(self._batch.place.min())
        if place >= WAITING:
            self._release()
            self._look_again()
            place = int(self._batch.place.min())
            if place >= WAITING:
                if place == EXITED:
                    return None
                raise self._stuck()
        self._turns += 1
        self._same = self._same + 1 if place == self._last else 0
        self._last = place
        if self._same > _MOST_TURNS:
            raise self._endless(place)
        polls = self._same % _POLLS == _POLLS - 1 and self._code.blocks[place].polls
        self._fair = polls or self._turns % _FAIR == 0
        return self._other(place) if self._fair else place

    def _other(self, place: int) -> int:
        """The place of threads that are not furthest behind: the others may wait for them."""
        self._look_again()
        places = self._batch.place
        least = places.reshape(-1, WARP).min(axis=1)
        others = np.unique(least[least < WAITING])
        self._of_warps = len(others) > 1 or self._same < _FAIR
        if not self._of_warps:  # threads of one warp may wait for each other, too
            others = np.unique(places[places < WAITING])
        self._rounds += 1
        return int(others[self._rounds % len(others)])

    def _turn(self, place: int) -> None:
        """Execute a basic block for the threads of all warps that are furthest behind there."""
        batch, block = self._batch, self._code.blocks[place]
        here = batch.place == place
        if self._fair and self._of_warps:
            least = batch.place.reshape(-1, WARP).min(axis=1)
            here &= np.repeat(least == place, WARP)
        count = np.count_nonzero(here)
        lanes = None if count == self._count else np.flatnonzero(here)
        frame = Frame(batch, lanes, len(self._code.types))
        for number in block.reads:
            value = batch.registers[number]
            if lanes is not None and value is not None and np.ndim(value):
                value = value[lanes]
            frame.values[number] = value
        batch.steps += 1
        try:
            for step in block.quiet if batch.record is None else block.steps:
                step(frame)
            self._leave(block, place, frame)
        except AccessError as error:
            raise self._wrong_access(error) from error
        except (UnsupportedError, LookupError, TypeError, ValueError) as error:
            raise self._failed(place, error) from error

    def _keep(self, block: CodeBlock, frame: Frame) -> None:
        """What other blocks read of it."""
        for number in block.writes:
            value: Any = frame.values[number]
            if value is None:
                continue
            if frame.lanes is None:
                self._set(number, value)
                if np.ndim(value):  # a move, or a change of type, shares its source's array
                    self._private.discard(id(value if value.base is None else value.base))
                continue
            old: Any = self._batch.registers[number]
            dtype = self._code.types[number]
            if old is None or not np.ndim(old):
                fill = dtype.type(0) if old is None else reinterpreted(old, dtype)
                old = np.full(self._count, fill, dtype)
            elif id(old) not in self._private:
                old = old.copy()
            old[frame.lanes] = reinterpreted(value, old.dtype)
            self._set(number, old)
            self._private.add(id(old))

    def _set(self, number: int, value: Any) -> None:
        """Give a register another array, or one number for all threads."""
        before = self._batch.registers[number]
        if before is not value:
            self._private.discard(id(before))
        self._batch.registers[number] = value

    def _leave(self, block: CodeBlock, place: int, frame: Frame) -> None:
        """Where the threads go from the end of a basic block."""
        last = block.last
        if last is not None and last.opcode == "mbarrier":
            self._at_mbarrier(block, last, place, frame)
            return
        if last is not None and last.opcode in {"bar", "barrier"}:
            self._keep(block, frame)
            self._arrive(block, last, place, frame)
            return
        self._keep(block, frame)
        falls = EXITED if block.falls is None else block.falls
        if last is None:
            self._go(frame, falls)
            return
        if last.opcode == "trap":
            self._trap(block, last, frame)
        if block.target is not None:
            table = np.array(block.targets)
            which = np.minimum(block.target(frame), len(table) - 1)
            self._go(frame, table[which])
        else:
            to = block.targets[0] if block.targets else EXITED
            if block.condition is None:
                self._go(frame, to)
            else:
                self._go(frame, np.where(block.condition(frame), to, falls))
        if not block.targets:
            self._release()

    def _go(self, frame: Frame, to: Any) -> None:
        if frame.lanes is None:
            self._batch.place[:] = to
            if not np.ndim(to):
                self._together = int(to)
        else:
            self._batch.place[frame.lanes] = to

    # -- barriers ----------------------------------------------------------------------------------

    def _arrive(self, block: CodeBlock, last: Instruction, place: int, frame: Frame) -> None:
        """Threads come to a barrier of their thread block."""
        reduces = last.has("red")
        numbers = list(last.operands[1 if reduces else 0 :])
        falls = EXITED if block.falls is None else block.falls
        if frame.lanes is None and block.condition is None and len(last.operands) <= 1:
            if self._batch.record is not None:
                self._batch.record.plain(Op.BARRIER, 0, self._batch.all_warps)
            self._go(frame, falls)
            return
        which = np.arange(frame.count)
        if block.condition is not None:
            taken = frame.spread(block.condition(frame))
            self._go(frame, falls)
            self._together = WAITING
            which = np.flatnonzero(taken)
            if not len(which):
                return
        lanes = which if frame.lanes is None else frame.lanes[which]
        waiting = self._waiting
        name = self._read(last, numbers[0], frame, which) if numbers else 0
        counts = len(numbers) - reduces
        waiting.place[lanes] = place
        waiting.name[lanes] = name
        waiting.count[lanes] = self._read(last, numbers[1], frame, which) if counts > 1 else 0
        if reduces:
            predicate = self._operands.reader(last, last.operands[-1], "pred")
            waiting.combined[lanes] = frame.spread(predicate(frame))[which]
        self._batch.place[lanes] = WAITING
        self._release()

    def _read(self, one: Instruction, operand: Any, frame: Frame, which: Lanes) -> Any:
        if isinstance(operand, Immediate):
            return int(operand.value)
        value = self._operands.reader(one, operand, "u32")(frame)
        return value[which] if np.ndim(value) else value

    def _release(self) -> None:
        """Let threads go on for whose barrier all have come."""
        waiting, batch = self._waiting, self._batch
        waits = waiting.place >= 0
        if not waits.any():
            return
        own = batch.per_block
        some = waits.reshape(-1, own)
        alive = (batch.place != EXITED).reshape(-1, own).sum(axis=1)
        for block in np.flatnonzero(some.any(axis=1)).tolist():
            mine = np.flatnonzero(some[block]) + block * own
            for name in np.unique(waiting.name[mine]).tolist():
                there = mine[waiting.name[mine] == name]
                wanted = int(waiting.count[there[0]]) or int(alive[block])
                came = len(there) + batch.arrived.get((block, name), 0)
                if came >= wanted:
                    batch.arrived.pop((block, name), None)
                    self._pass(there, whole=len(there) == int(alive[block]))

    def _pass(self, lanes: Lanes, whole: bool) -> None:
        """All have come: they go on."""
        waiting, batch = self._waiting, self._batch
        if batch.record is not None:
            warps = np.zeros(batch.threads.warps, bool)
            warps[lanes // WARP] = True
            # A machine's barrier is of all warps: what waits for some of them is only issued.
            batch.record.plain(Op.BARRIER if whole else Op.COMPUTE, 0 if whole else 1, warps)
        for place in np.unique(waiting.place[lanes]).tolist():
            block = self._code.blocks[place]
            there = lanes[waiting.place[lanes] == place]
            if block.last is not None and block.last.has("red"):
                self._combine(block.last, lanes, there)
            batch.place[there] = EXITED if block.falls is None else block.falls
        waiting.place[lanes] = -1

    def _combine(self, last: Instruction, lanes: Lanes, there: Lanes) -> None:
        """The result of ``bar.red``."""
        brought = self._waiting.combined[lanes]
        found: Any = np.uint32(np.count_nonzero(brought))
        if last.has("and"):
            found = np.bool_(brought.all())
        elif last.has("or"):
            found = np.bool_(brought.any())
        number = self._operands.number(last, getattr(last.operands[0], "name", ""))
        dtype = self._code.types[number]
        old = self._batch.registers[number]
        whole = np.zeros(self._count, dtype) if old is None else np.array(old, dtype)
        whole = whole if np.ndim(whole) else np.full(self._count, whole)
        whole[there] = found
        self._set(number, whole)

    def _at_mbarrier(self, block: CodeBlock, last: Instruction, place: int, frame: Frame) -> None:
        """Threads look whether the phase of a barrier in shared memory is over."""
        done = self._done.get(last)
        if done is None:
            done = self._done[last] = mbarrier_done(self._operands, last)
        over = frame.spread(done(frame))
        skipped = np.zeros(frame.count, bool)
        if block.condition is not None:
            skipped = ~frame.spread(block.condition(frame))
        waits = frame.those(~over & ~skipped)
        goes = over | skipped
        if goes.any():
            lanes = frame.those(goes)
            part = Frame(self._batch, lanes, len(self._code.types))
            for number in block.writes:
                value = frame.values[number]
                part.values[number] = value[goes] if np.ndim(value) else value
            self._operands.writer(last, last.operands[0])(part, np.ones(len(lanes), bool), None)
            self._keep(block, part)
            if self._batch.record is not None:
                record = self._batch.record
                record.plain(Op.COMPUTE, 1, part.warps)
                record.wait(record.copies.bulk, part.warps)
            self._batch.place[lanes] = EXITED if block.falls is None else block.falls
        if len(waits):
            self._batch.place[waits] = WAITING
            self._waiting.place[waits] = -2 - place

    def _look_again(self) -> None:
        """Threads that wait for a barrier in shared memory look at it again."""
        if not self._batch.changed:
            return
        self._batch.changed = False
        waiting = self._waiting
        looks = np.flatnonzero(waiting.place <= -2)
        self._batch.place[looks] = -2 - waiting.place[looks]
        waiting.place[looks] = -1

    def _trap(self, block: CodeBlock, last: Instruction, frame: Frame) -> None:
        """Threads that come to a trap end the program."""
        taken = np.ones(frame.count, bool)
        if block.condition is not None:
            taken = frame.spread(block.condition(frame))
        if taken.any():
            thread = self._thread(int(frame.those(taken)[0]))
            raise self._module.at(
                last, f"thread {thread} ends the program here: an assertion failed, or it is a trap"
            )

    # -- errors ------------------------------------------------------------------------------------

    def _stuck(self) -> UserError:
        place = self._waiting.place
        first = int(np.flatnonzero((place >= 0) | (place <= -2))[0])
        number = int(place[first])
        block = self._code.blocks[number if number >= 0 else -2 - number]
        assert block.last is not None
        return self._module.at(
            block.last,
            f"thread {self._thread(first)} waits here for threads that never come",
        )

    def _endless(self, place: int) -> UserError:
        block = self._code.blocks[place]
        return self._module.error(
            block.lines[0],
            f"a loop ends after {_MOST_TURNS} rounds for no thread: it waits for ever",
        )

    def _failed(self, place: int, error: Exception) -> UserError:
        """Operands of types that cannot be, or a form of an instruction that is not computed."""
        lines = self._code.blocks[place].lines
        return self._module.error(lines[0], f"up to line {lines[1]}, not executed: {error}")

    def _wrong_access(self, error: AccessError) -> UserError:
        if error.instruction is None:
            return UserError(f"{self._module.path}: {error}")
        return self._module.at(error.instruction, str(error))

    def _thread(self, lane: int) -> str:
        batch = self._batch
        own = int(batch.in_block[lane])
        return f"{own} of block {int(batch.blocks[batch.slot[lane]])}"
