"""The instructions of one thread block of a .traceg or .tracez file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gpusim.core.code_places import CodePlace
from gpusim.core.errors import UserError
from gpusim.core.warp_program import INACTIVE, Op
from gpusim.traces.blocks import WARP_SIZE, BlockTrace
from gpusim.traces.bulk_copies import bulk_copy, lists_lanes
from gpusim.traces.lanes import MATRIX_ROW_BYTES, WINDOW_BYTES, matrix_rows
from gpusim.traces.sass import Space
from gpusim.traces.sass_unmodelled import (
    CLUSTERS,
    FIELDS,
    MULTICAST,
    NO_THREADS,
    NO_WINDOWS,
    NOT_IN_FILE,
)
from gpusim.traces.scoreboard import Scoreboard
from gpusim.traces.text import Lines
from gpusim.traces.traceg_decode import Instruction, decode
from gpusim.traces.traceg_fields import in_lanes, line_number, mask_of, needed_fields
from gpusim.traces.traceg_header import KernelHeader

_FIRST_WITHOUT_BLOCK = 3
"""Before this tracer version, block and warp number (4 fields) precede each instruction."""

_OLD_LINES = (
    f"; a header without '-accelsim tracer version = {_FIRST_WITHOUT_BLOCK}' or more means lines "
    "that begin with the numbers of block and warp"
)

_MOST_IMMEDIATES: Final = (0, 0, 0, 0, 0, 2, 1 << 16)
"""By tracer version, fields behind the addresses; those of version 6 may be values of registers."""

_MOST_COUNTER: Final = 1 << 57
"""Program counters are below it, as all addresses are."""

_MOST_KNOWN = 1 << 16

_COMPUTE: Final = int(Op.COMPUTE)
_LOAD: Final = int(Op.LOAD)
_BARRIER: Final = int(Op.BARRIER)
_INVALIDATE: Final = int(Op.INVALIDATE)
_COHERENT_LOAD: Final = int(Op.COHERENT_LOAD)
_READ_ONLY: Final = int(Op.READ_ONLY)


class KnownLine:
    """A line that does the same wherever it stands.

    Attributes:
        instruction: on it.
        mask: of the lanes that execute it.
        shared: what a program's operation tells of its passes of shared memory; -1: it is
            arithmetic, or control.
    """

    __slots__ = ("instruction", "mask", "shared")

    def __init__(self, instruction: Instruction, mask: int, shared: int) -> None:
        self.instruction = instruction
        self.mask = mask
        self.shared = shared


class Known:
    """What was decoded of a kernel.

    Attributes:
        instructions: by their program counters as the trace has them.
        lines: arithmetic and accesses to shared memory, by whole lines that all threads of a warp
            execute: those of some of them differ in their masks, and seldom come again.
        immediates: whether lines end with one, as those without addresses show.
    """

    def __init__(self) -> None:
        self.instructions: dict[str, Instruction] = {}
        self.lines: dict[str, KnownLine] = {}
        self.immediates = False


def parse_block(
    header: KernelHeader, block: BlockTrace, runs: Iterable[Lines], known: Known
) -> None:
    """Read what a block did.

    Args:
        header: of its kernel's file.
        block: takes what its warps did.
        runs: the lines between the begin and the end of the block.
        known: of this kernel; grows.

    Raises:
        UserError: a line is wrong.
    """
    parser = _Parser(header, block, known)
    last = 0
    for first, lines in runs:
        for place, text in enumerate(lines):
            try:
                parser.line(text)
            except (ValueError, IndexError, OverflowError) as error:
                reason = "too few fields" if isinstance(error, IndexError) else str(error)
                if header.version < _FIRST_WITHOUT_BLOCK:
                    reason += _OLD_LINES
                raise UserError(
                    f"{header.path}:{first + place}: {text[:80]!r}: {reason}"
                ) from error
        if parser.unfit:
            block.unread.note(FIELDS, f"{header.path.name}:{first + lines.index(parser.unfit)}")
            parser.unfit = ""
        last = first + len(lines) - 1
    if parser.missing:
        raise UserError(
            f"{header.path}:{last}: thread block {block.number} ends, but its last warp lacks "
            f"{parser.missing} instructions; the file is damaged"
        )
    parser.end_warp()
    if absent := len(block.warps) - len(parser.seen):
        block.unread.note(NOT_IN_FILE, "warps", absent)


class _Parser:
    """Reads a block line by line; a wrong one raises ValueError, IndexError or OverflowError.

    Attributes:
        missing: instructions of the warp that are still to come.
        seen: warps so far.
        unfit: a line whose number of fields does not fit its mask; empty: there is none.
    """

    def __init__(self, header: KernelHeader, block: BlockTrace, known: Known) -> None:
        self.block = block
        self._known = known
        self._instructions = known.instructions
        self._lines = known.lines
        self._follows_code = block.follows_code
        self._names_places = block.asked.places
        self._reads_only = Op.READ_ONLY in block.asked
        self.missing = 0
        self._header = header
        self._states_block = header.version < _FIRST_WITHOUT_BLOCK
        self._skipped = (4 if self._states_block else 0) + header.line_info
        self._has_lines = header.line_info
        self._line = 0
        """Line of the source of the instruction; 0: not known."""
        self._most_fields = _MOST_IMMEDIATES[min(header.version, len(_MOST_IMMEDIATES) - 1)]
        self.unfit = ""
        self.seen: set[int] = set()
        self._warp = -1
        self._told = True
        """Whether the number of the warp's instructions is known."""
        self._threads = 0
        """Mask of the lanes of the warp that are threads of the block."""
        self._scoreboard = Scoreboard(block.warps[0], block.asked)

    def line(self, text: str) -> None:
        """Any line."""
        known = self._lines.get(text)
        if known is not None and self.missing and not known.mask & ~self._threads:
            self.missing -= 1
            if known.shared < 0:
                self._arithmetic(known.instruction)
            else:
                self._shared_again(known.instruction, known.shared)
        elif text.startswith("warp ="):
            self._begin_warp(int(text.partition("=")[2]))
        elif text.startswith("insts ="):
            self._expect(int(text.partition("=")[2]))
        elif text.startswith("cluster "):
            self.block.unread.note(CLUSTERS, "cluster lines")
        elif text and not text.isspace():
            if not self.missing:
                raise ValueError("more instructions than 'insts = N' behind 'warp = W' tells")
            self.missing -= 1
            fields = text.split(None, self._skipped + 2)
            self._line = line_number(fields[self._skipped - 1]) if self._has_lines else 0
            self._instruction(text, fields[self._skipped :])

    def _arithmetic(self, instruction: Instruction) -> None:
        """An instruction of which only its registers and its unit count."""
        if self._follows_code:
            self.block.reach(self._warp, instruction.place)
        self._scoreboard.touch(instruction.registers)
        self._scoreboard.compute(instruction.unit, instruction.registers, instruction.destinations)

    def _begin_warp(self, number: int) -> None:
        if self.missing:
            raise ValueError(f"the warp before lacks {self.missing} instructions")
        warps = len(self.block.warps)
        if not 0 <= number < warps or number in self.seen:
            raise ValueError(f"must be a warp that did not come yet, of 0 to {warps - 1}")
        self.end_warp()
        self.seen.add(number)
        self._warp = number
        self._told = False
        threads = min(self._header.threads_per_block - WARP_SIZE * number, WARP_SIZE)
        self._threads = (1 << threads) - 1
        self._scoreboard = Scoreboard(self.block.warps[number], self.block.asked)

    def _expect(self, instructions: int) -> None:
        """The number of the warp's instructions."""
        if self._told:
            raise ValueError("must stand once in a warp, behind 'warp = W'")
        if instructions < 0:
            raise ValueError("must be 0 or more")
        self.missing = instructions
        self._told = True

    def end_warp(self) -> None:
        """The warp so far has no more instructions: add what its last arithmetic costs."""
        if self._warp >= 0:
            self._scoreboard.settle(())

    def _instruction(self, line: str, fields: list[str]) -> None:
        """A line: program counter, mask, and the rest."""
        mask, text = mask_of(fields[1]), fields[2]
        instruction = self._instructions.get(fields[0])
        if instruction is None or not instruction.begins(text):
            instruction = self._decode(fields[0], text)
            text = " ".join(text.split())
        if instruction.plain:
            self._keep(line, mask, instruction, -1)
            self._arithmetic(instruction)
            return
        place = instruction.place
        if self._follows_code:
            self.block.reach(self._warp, place)
        if instruction.marks_loop:
            self._note(instruction)
            return
        self._scoreboard.touch(instruction.registers)
        if mask and instruction.notes:
            self._note(instruction)
        if self._names_places and instruction.space is not None:
            self._note_place(place, instruction)
        if instruction.space is None:
            self._plain(instruction, mask)
        elif mask:
            self._memory(place, mask, instruction, line, text)
            self._barrier_in_shared_memory(instruction)
        else:
            self.block.idle_access(self._warp, instruction.space)

    def _keep(self, line: str, mask: int, instruction: Instruction, shared: int) -> None:
        """Know a line when it comes again, if all threads of the warp execute it."""
        if mask == self._threads and not self._states_block and len(self._lines) < _MOST_KNOWN:
            self._lines[line] = KnownLine(instruction, mask, shared)

    def _decode(self, counter: str, text: str) -> Instruction:
        """The instruction at this program counter, from now on."""
        place = int(counter, 16)
        if not 0 <= place < _MOST_COUNTER:
            raise ValueError(f"the program counter {counter[:20]} has more than 57 bits")
        if len(self._instructions) == _MOST_KNOWN:
            self._instructions.clear()
        instruction = decode(place, text, self._header.version)
        self._instructions[counter] = instruction
        self._known.immediates |= instruction.has_immediate
        return instruction

    def _note_place(self, counter: int, instruction: Instruction) -> None:
        """Where in the code an access stands."""
        if counter not in self.block.code_places:
            self.block.code_places[counter] = CodePlace(
                self._header.name, line=self._line, pc=counter, text=instruction.opcode
            )

    def _note(self, instruction: Instruction) -> None:
        for reason, what in instruction.notes:
            self.block.unread.note(reason, what)

    def _barrier_in_shared_memory(self, instruction: Instruction) -> None:
        """What copies a warp waits for at a barrier in shared memory, or reports to one."""
        if instruction.base == "ARRIVES":
            self._scoreboard.report_copies()
        elif instruction.base == "SYNCS" and "PHASECHK" in instruction.opcode:
            self._scoreboard.wait_reports()

    def _plain(self, instruction: Instruction, mask: int) -> None:
        """An instruction that accesses no memory; a barrier without lanes is none."""
        if instruction.op == _BARRIER and mask:
            self._scoreboard.settle(())
            self.block.warps[self._warp].add(_BARRIER, 0)
            return
        self._scoreboard.compute(instruction.unit, instruction.registers, instruction.destinations)
        self._barrier_in_shared_memory(instruction)
        if instruction.invalidates and mask:
            self._scoreboard.settle(())
            self.block.warps[self._warp].add(_INVALIDATE, 0)
        if instruction.base == "LDGDEPBAR":
            self._scoreboard.commit()
        elif instruction.base == "DEPBAR":
            self._scoreboard.wait_groups(instruction.youngest)

    def _memory(
        self, place: int, mask: int, instruction: Instruction, line: str, text: str
    ) -> None:
        fields = text[len(instruction.text) :].split()
        if instruction.bulk and not lists_lanes(fields):
            self._pieces(place, instruction, fields)
            return
        address = in_lanes(mask, fields)
        more = len(fields) - needed_fields(fields[0], mask)
        if more < self._known.immediates or more > self._most_fields:
            self.unfit = line
        if mask & ~self._threads:
            self.block.unread.note(NO_THREADS, instruction.opcode)
        self._scoreboard.settle(instruction.registers)
        assert instruction.space is not None
        if instruction.space is Space.SHARED:
            passes = self._passes(instruction, address)
            self._share(instruction, passes)
            if not (instruction.notes or self._names_places or self.unfit):
                self._keep(line, mask, instruction, passes)
            return
        if instruction.space is not Space.GENERIC:
            self._access(place, instruction, instruction.space, address)
            return
        for space in (Space.GLOBAL, Space.LOCAL, Space.SHARED):
            there = self._generic(instruction, address, space)
            if max(there) != INACTIVE:
                self._access(place, instruction, space, there)

    def _access(
        self, place: int, instruction: Instruction, space: Space, address: list[int]
    ) -> None:
        """What lanes access in one memory."""
        op, size = instruction.op, instruction.size
        if space is Space.SHARED:
            self._share(instruction, self._passes(instruction, address))
            return
        if space is Space.GLOBAL:
            if instruction.coherent:
                op = _COHERENT_LOAD
            elif self._reads_only and instruction.read_only:
                op = _READ_ONLY
        self.block.access(self._warp, place, space, op, address, size)
        if instruction.bulk and op == _LOAD:
            self._scoreboard.copy_in_bulk()
        elif not instruction.bulk:
            self._scoreboard.access(instruction.base, space, instruction.destinations, size)

    def _passes(self, instruction: Instruction, address: list[int]) -> int:
        """What a program's operation tells of an access to shared memory."""
        op, size = instruction.op, instruction.size
        if instruction.matrices:
            address, size = matrix_rows(address, instruction.matrices), MATRIX_ROW_BYTES
        return self.block.passes_of_shared(op, address, size)

    def _share(self, instruction: Instruction, passes: int) -> None:
        """An access to shared memory."""
        self.block.share(self._warp, instruction.op, passes)
        registers, size = instruction.destinations, instruction.size
        self._scoreboard.access(instruction.base, Space.SHARED, registers, size)

    def _shared_again(self, instruction: Instruction, passes: int) -> None:
        """A line with an access to shared memory that stood there before."""
        if self._follows_code:
            self.block.reach(self._warp, instruction.place)
        self._scoreboard.touch(instruction.registers)
        self._scoreboard.settle(instruction.registers)
        self._share(instruction, passes)
        self._barrier_in_shared_memory(instruction)

    def _pieces(self, place: int, instruction: Instruction, fields: Sequence[str]) -> None:
        """A copy in bulk, which one lane issues for the whole block."""
        copy = bulk_copy(fields)
        if copy.multicast:
            self.block.unread.note(MULTICAST, instruction.base)
        if copy.address:
            self.block.access(
                self._warp, place, Space.GLOBAL, instruction.op, copy.address, instruction.size
            )
            if instruction.op == _LOAD:
                self._scoreboard.copy_in_bulk()
        else:
            self.block.idle_access(self._warp, Space.GLOBAL)

    def _generic(self, instruction: Instruction, address: list[int], space: Space) -> list[int]:
        """The generic addresses that lie in one memory, `INACTIVE` elsewhere.

        Without the bases of the windows all count as shared memory, as in Accel-Sim's reader.
        """
        shared, local = self._header.shared_base, self._header.local_base
        if not shared or not local:
            if space != Space.SHARED:
                return [INACTIVE] * WARP_SIZE
            self.block.unread.note(NO_WINDOWS, instruction.base)
            return address
        there = []
        for one in address:
            if 0 <= one - shared < WINDOW_BYTES:
                inside = Space.SHARED
            elif 0 <= one - local < WINDOW_BYTES:
                inside = Space.LOCAL
            else:
                inside = Space.GLOBAL
            there.append(one if inside is space else INACTIVE)
        return there
