"""Makes steps of a kernel's instructions: those of the slice compute, all are counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from gpusim.core.errors import nearest
from gpusim.ptx.async_steps import async_steps, mbarrier_steps
from gpusim.ptx.atomic_steps import atomic_steps
from gpusim.ptx.classes import HANDLED, UNCOMPUTED
from gpusim.ptx.flow import Block, ends_block, waits_for_threads
from gpusim.ptx.frame import Code, CodeBlock, Frame, Step
from gpusim.ptx.matrix_steps import matrix_steps
from gpusim.ptx.memory_steps import load_steps, space_of, store_steps
from gpusim.ptx.operands import Operands
from gpusim.ptx.operations import Operation, operations
from gpusim.ptx.segments import Segment
from gpusim.ptx.slices import Slice
from gpusim.ptx.syntax import Instruction, Operand, Vector
from gpusim.ptx.tensor_steps import product_steps
from gpusim.ptx.uses import CARRY, read, results_of, written
from gpusim.ptx.values import UnsupportedError, Value
from gpusim.ptx.warp_steps import WARP_LEVEL, warp_steps
from gpusim.ptx.windows import SPACES, spaces_of
from gpusim.ptx.wmma_steps import wmma_access_steps, wmma_product_steps

_ONLY_COUNTED = {"bar", "barrier", "fence", "membar", "nanosleep"}

_CLUSTERS = {"mapa", "getctarank"}

_LOADS = {"ld", "ldu", "atom", "ldmatrix", "wmma.load"}

_MISSHAPEN = (AttributeError, LookupError, StopIteration, TypeError, ValueError)
"""What comes of operands or modifiers that an instruction cannot have."""

_ACCESSES: dict[str, Callable[[Operands, Instruction, bool], list[Step]]] = {
    "ld": load_steps,
    "ldu": load_steps,
    "st": store_steps,
    "atom": atomic_steps,
    "red": atomic_steps,
    "cp": async_steps,
    "ldmatrix": matrix_steps,
    "stmatrix": matrix_steps,
    "wmma.load": wmma_access_steps,
    "wmma.store": wmma_access_steps,
}


class Compiler:
    """Makes code of basic blocks.

    Args:
        operands: of the kernel.
        chosen: what is executed.
    """

    def __init__(self, operands: Operands, chosen: Slice) -> None:
        self._operands = operands
        self._module = operands.module
        self._chosen = chosen.executed
        self._why = (
            "what is stored needs it; launch(..., execute=False) does without results"
            if chosen.everything
            else "an address, a branch or an atomic needs it"
        )
        self._loaded: set[str] = set()
        """Registers whose values may be on their way from memory."""

    def code(self, blocks: list[Block]) -> Code:
        """The code of a kernel."""
        for block in blocks:
            for one in block.instructions:
                self._check(one)
                if one.opcode in _LOADS and not one.has("param"):
                    self._loaded.update(written(one))
        made = [self._block(block) for block in blocks]
        self._connect(blocks, made)
        return Code(made, self._operands.types)

    def _check(self, one: Instruction) -> None:
        known = operations()
        if one.opcode not in known and one.opcode not in HANDLED | UNCOMPUTED:
            every = [*known, *HANDLED, *UNCOMPUTED]
            raise self._module.at(one, f"unknown opcode{nearest(one.opcode, every)}")

    # -- blocks ------------------------------------------------------------------------------------

    def _block(self, block: Block) -> CodeBlock:
        made = CodeBlock(targets=block.targets, falls=block.falls, last=block.last)
        if block.instructions:
            made.lines = (block.instructions[0].line, block.instructions[-1].line)
        segment = Segment(self._operands.numbers)
        waited: set[str] = set()
        for one in block.instructions:
            needs = [name for name in read(one) if name in self._loaded and name not in waited]
            waited.update(needs)
            waited.difference_update(written(one))
            quiet, both = self._steps(one)
            if needs or both:
                self._close(made, segment, one)
                segment = Segment(self._operands.numbers)
            if needs:
                numbers = [self._operands.number(one, name) for name in needs]
                made.steps.append(partial(_wait_for, numbers))
            made.steps += both or quiet
            made.quiet += quiet
            if both:
                made.steps.append(self._loads(one))
            elif not waits_for_threads(one):
                segment.instructions.append(one)
        self._close(made, segment, None)
        self._end(made)
        made.polls = any(map(_polls, block.instructions))
        return made

    def _close(self, made: CodeBlock, segment: Segment, following: Instruction | None) -> None:
        segment.next = following
        if segment.count:
            made.steps.append(segment.record)

    def _loads(self, one: Instruction) -> Step:
        """Remember which load fills the registers of an instruction that accesses memory."""
        numbers = [self._operands.number(one, name) for name in written(one)]
        numbers = [] if one.opcode == "mbarrier" else numbers

        def remember(frame: Frame) -> None:
            record = frame.batch.record
            if record is not None and numbers:
                pending = frame.batch.pending
                for number in numbers:
                    before = pending.get(number)
                    old = 0 if before is None else before
                    pending[number] = np.where(frame.warps, record.loads, old)

        return remember

    def _steps(self, one: Instruction) -> tuple[list[Step], list[Step]]:
        """What computes, and what computes and records; the latter is empty of arithmetic."""
        try:
            return self._made(one)
        except UnsupportedError as error:
            raise self._module.at(one, f"{error}, but {self._why}") from error

        except _MISSHAPEN as error:
            raise self._module.at(
                one, f"it has not the form of this instruction: {error}"
            ) from error

    def _made(self, one: Instruction) -> tuple[list[Step], list[Step]]:
        opcode, needed = one.opcode, one in self._chosen
        if opcode == "ld" and space_of(one) == "param":
            return load_steps(self._operands, one, needed), []
        found = self._accesses(one, needed)
        if found is not None:
            return [step for step in found if step.__name__ != "record"], found
        if opcode in {"bar", "barrier"} and one.has("arrive") and not one.has("cluster"):
            return [self._arrival(one)], []
        if ends_block(one) or opcode in _ONLY_COUNTED or not needed:
            return [], []
        return self._computing(one), []

    def _computing(self, one: Instruction) -> list[Step]:
        """What makes the result of an instruction that accesses no memory."""
        if one.opcode in WARP_LEVEL:
            return warp_steps(self._operands, one)
        if one.opcode == "mma":
            return product_steps(self._operands, one)
        if one.opcode == "wmma.mma":
            return wmma_product_steps(self._operands, one)
        if one.opcode in {"cvta", "isspacep", "createpolicy"}:
            return [self._space(one)]
        make = operations().get(one.opcode)
        if make is None:
            whose = " (clusters of thread blocks are not supported)"
            raise UnsupportedError(
                f"its result is not computed{whose if one.opcode in _CLUSTERS else ''}"
            )
        return [self._arithmetic(one, make(one))]

    def _accesses(self, one: Instruction, needed: bool) -> list[Step] | None:
        """The steps of an instruction that accesses memory; None: it does not."""
        opcode = one.opcode
        if opcode == "mbarrier":
            return None if waits_for_threads(one) else mbarrier_steps(self._operands, one)
        make = _ACCESSES.get(opcode)
        return None if make is None else make(self._operands, one, needed)

    # -- arithmetic --------------------------------------------------------------------------------

    def _arithmetic(self, one: Instruction, operation: Operation) -> Step:
        operands = self._operands
        results = list(results_of(one))
        first = one.operands[1:]
        sources: list[Operand] = []
        for operand in first:
            sources += operand.items if isinstance(operand, Vector) else (operand,)
        readers = [
            operands.reader(one, operand, type_)
            for operand, type_ in zip(sources, operation.sources, strict=False)
        ]
        carry = operands.numbers[CARRY]
        if len(operation.sources) == len(readers) + 1:
            readers.append(lambda frame: frame.values[carry])
        writers = [operands.writer(one, operand) for operand in results]
        if one.has("cc"):
            writers.append(_carry_writer(carry))
        if len(readers) < len(operation.sources) or len(writers) < len(operation.results):
            raise self._module.at(one, "there are too few operands")
        guard, run = operands.guard(one, one.guard), operation.run
        single = writers[0] if len(operation.results) == 1 else None

        def step(frame: Frame) -> None:
            mask = None if guard is None else guard(frame)
            found = run(*[read(frame) for read in readers])
            if single is not None:
                single(frame, found, mask)  # type: ignore[arg-type]
                return
            for write, value in zip(writers, found, strict=False):
                write(frame, value, mask)

        return step

    def _arrival(self, one: Instruction) -> Step:
        """``bar.arrive``: threads come to a barrier of their block, and go on."""
        guard = self._operands.guard(one, one.guard)
        name = self._operands.reader(one, one.operands[0], "u32")

        def arrive(frame: Frame) -> None:
            which = np.ones(frame.count, bool) if guard is None else frame.spread(guard(frame))
            names = frame.spread(name(frame))[which]
            slots = frame.batch.slot[frame.those(which)]
            for place in zip(slots.tolist(), names.tolist(), strict=True):
                frame.batch.arrived[place] += 1

        return arrive

    def _space(self, one: Instruction) -> Step:
        """``cvta`` and ``isspacep``."""
        operands = self._operands
        write = operands.writer(one, one.operands[0])
        guard = operands.guard(one, one.guard)
        space = next((word for word in one.modifiers if word in SPACES), "")
        if one.opcode == "createpolicy" or not space:
            if one.opcode != "createpolicy":
                raise UnsupportedError("this memory space is not known")
            return lambda frame: write(frame, np.uint64(0), None)  # type: ignore[arg-type]
        wide = one.modifiers[-1] if one.opcode == "cvta" else "u64"
        read_ = operands.reader(one, one.operands[1], wide)
        base = np.uint64(operands.generic_base(space))
        number = SPACES.index(space)

        def step(frame: Frame) -> None:
            mask = None if guard is None else guard(frame)
            value = read_(frame)
            if one.opcode == "isspacep":
                found: Value = spaces_of(value.view(np.int64)) == number
            elif one.has("to"):
                found = value - base
            else:
                found = value + base
            write(frame, found, mask)

        return step

    # -- ends and registers ------------------------------------------------------------------------

    def _end(self, made: CodeBlock) -> None:
        last = made.last
        if last is None:
            return
        made.condition = self._operands.guard(last, last.guard)
        if last.opcode == "brx":
            made.target = self._operands.reader(last, last.operands[0], "u32")

    def _connect(self, blocks: list[Block], made: list[CodeBlock]) -> None:
        """Which registers blocks take over, and leave: those that are alive between them."""
        numbers = self._operands.numbers
        takes: list[set[str]] = []
        makes: list[set[str]] = []
        for block in blocks:
            needs: set[str] = set()
            own: set[str] = set()
            for one in block.instructions:
                if self._runs(one):
                    some = one.guard is not None
                    needs.update(name for name in read(one) if name not in own)
                    for name in written(one):
                        if some and name not in own:
                            needs.add(name)
                        own.add(name)
            takes.append(needs)
            makes.append(own)
        alive = [set(needs) for needs in takes]
        changed = True
        while changed:
            changed = False
            for place in range(len(blocks) - 1, -1, -1):
                after: set[str] = set()
                for following in blocks[place].next:
                    after |= alive[following]
                found = takes[place] | (after - makes[place])
                if found != alive[place]:
                    alive[place], changed = found, True
        for place, code in enumerate(made):
            leaves: set[str] = set()
            for following in blocks[place].next:
                leaves |= alive[following]
            code.reads = sorted(numbers[name] for name in takes[place] if name in numbers)
            code.writes = sorted(numbers[name] for name in makes[place] & leaves)

    def _runs(self, one: Instruction) -> bool:
        return one in self._chosen or one.opcode in {
            "ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "wmma.load",
            "wmma.store", "mbarrier",
        }  # fmt: skip


def _polls(one: Instruction) -> bool:
    """Whether an instruction reads memory that other threads may change meanwhile."""
    return one.opcode == "atom" or (
        one.opcode == "ld" and one.has("volatile", "relaxed", "acquire", "cv", "mmio")
    )


def _wait_for(numbers: list[int], frame: Frame) -> None:
    """Wait for the loads that fill registers."""
    record = frame.batch.record
    if record is None:
        return
    needed = None
    for number in numbers:
        found = frame.batch.pending.get(number)
        if found is not None:
            needed = found if needed is None else np.maximum(needed, found)
    if needed is not None:
        record.wait(needed, frame.warps)


def _carry_writer(number: int) -> Callable[[Frame, Value, Value | None], None]:
    def write(frame: Frame, value: Value, mask: Value | None) -> None:
        if mask is not None:
            raise UnsupportedError("a carry under a predicate is not computed")
        frame.values[number] = value

    return write
