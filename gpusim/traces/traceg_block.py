"""The instructions of one thread block of a .traceg or .tracez file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpusim.core.code_places import CodePlace
from gpusim.core.errors import UserError
from gpusim.core.warp_program import INACTIVE, Op
from gpusim.traces.blocks import WARP_SIZE, BlockTrace
from gpusim.traces.bulk_copies import bulk_copy, lists_lanes
from gpusim.traces.lanes import MATRIX_ROW_BYTES, WINDOW_BYTES, matrix_rows
from gpusim.traces.sass import Space
from gpusim.traces.sass_unmodelled import CLUSTERS, MULTICAST, NO_WINDOWS, NOT_IN_FILE
from gpusim.traces.scoreboard import Scoreboard
from gpusim.traces.text import Line
from gpusim.traces.traceg_decode import Instruction, decode
from gpusim.traces.traceg_header import KernelHeader

_FIRST_WITHOUT_BLOCK = 3
"""Before this tracer version, block and warp number (4 fields) precede each instruction."""

Known = dict[str, Instruction]
"""Instructions of a kernel that were decoded, by their program counters as the trace has them."""

_MOST_COUNTER: Final = 1 << 57
"""Program counters are below it, as all addresses are."""

_MOST_LINES: Final = 1 << 31
"""Numbers of lines of a source are below it."""

_MOST_KNOWN = 1 << 16

_NO_LANES = np.full(WARP_SIZE, INACTIVE)
_NUMBERS = np.arange(WARP_SIZE)


def parse_block(
    header: KernelHeader, block: BlockTrace, lines: Iterable[Line], known: Known
) -> None:
    """Read what a block did.

    Args:
        header: of its kernel's file.
        block: takes what its warps did.
        lines: between the begin and the end of the block, none of them empty.
        known: of this kernel; grows.

    Raises:
        UserError: a line is wrong.
    """
    parser = _Parser(header, block, known)
    line = 0
    for line, text in lines:
        try:
            parser.line(text)
        except (ValueError, IndexError, OverflowError) as error:
            reason = "too few fields" if isinstance(error, IndexError) else str(error)
            raise UserError(f"{header.path}:{line}: {text[:80]!r}: {reason}") from error
    if parser.missing:
        raise UserError(
            f"{header.path}:{line}: thread block {block.number} ends, but its last warp lacks "
            f"{parser.missing} instructions; the file is damaged"
        )
    parser.end_warp()
    if absent := len(block.warps) - len(parser.seen):
        block.unread.note(NOT_IN_FILE, "warps", absent)


class _Parser:
    """Reads a block line by line; a wrong one raises ValueError, IndexError or OverflowError."""

    def __init__(self, header: KernelHeader, block: BlockTrace, known: Known) -> None:
        self.block = block
        self._known = known
        self._follows_code = block.follows_code
        self._reads_only = Op.READ_ONLY in block.asked
        self.missing = 0
        self._header = header
        self._skipped = (4 if header.version < _FIRST_WITHOUT_BLOCK else 0) + header.line_info
        self._has_lines = header.line_info
        self._line = 0
        """Line of the source of the instruction; 0: not known."""
        self.seen: set[int] = set()
        self._warp = -1
        self._scoreboard = Scoreboard(block.warps[0], block.asked)

    def line(self, text: str) -> None:
        """Any line."""
        if text.startswith("warp ="):
            self._begin_warp(int(text.partition("=")[2]))
        elif text.startswith("insts ="):
            self.missing = int(text.partition("=")[2])
        elif text.startswith("cluster "):
            self.block.unread.note(CLUSTERS, "cluster lines")
        else:
            if not self.missing:
                raise ValueError("more instructions than 'insts = N' of its warp tells")
            self.missing -= 1
            fields = text.split(None, self._skipped + 2)
            self._line = _line_number(fields[self._skipped - 1]) if self._has_lines else 0
            self._instruction(fields[self._skipped :])

    def _begin_warp(self, number: int) -> None:
        if self.missing:
            raise ValueError(f"the warp before lacks {self.missing} instructions")
        warps = len(self.block.warps)
        if not 0 <= number < warps or number in self.seen:
            raise ValueError(f"must be a warp that did not come yet, of 0 to {warps - 1}")
        self.end_warp()
        self.seen.add(number)
        self._warp = number
        self._scoreboard = Scoreboard(self.block.warps[number], self.block.asked)

    def end_warp(self) -> None:
        """The warp so far has no more instructions: add what its last arithmetic costs."""
        if self._warp >= 0:
            self._scoreboard.settle(())

    def _instruction(self, fields: list[str]) -> None:
        """Program counter, mask, and the rest of the line."""
        place, mask, text = fields[0], int(fields[1], 16), fields[2]
        instruction = self._known.get(place)
        if instruction is None or not instruction.begins(text):
            if len(self._known) == _MOST_KNOWN:
                self._known.clear()
            counter = int(place, 16)
            if not 0 <= counter < _MOST_COUNTER:
                raise ValueError(f"the program counter {place[:20]} has more than 57 bits")
            instruction = self._known[place] = decode(text, self._header.version)
            text = " ".join(text.split())
        if self._follows_code:
            self.block.reach(self._warp, int(place, 16))
        if instruction.marks_loop:
            self._note(instruction)
            return
        self._scoreboard.touch(instruction.registers)
        if mask and instruction.notes:
            self._note(instruction)
        if self.block.asked.places and instruction.space is not None:
            self._note_place(int(place, 16), instruction)
        if instruction.space is None:
            self._plain(instruction, mask)
        elif mask:
            self._memory(int(place, 16), mask, instruction, text)
            self._barrier_in_shared_memory(instruction)
        else:
            self.block.idle_access(self._warp, instruction.space)

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
        if instruction.op == Op.BARRIER and mask:
            self._scoreboard.settle(())
            self.block.warps[self._warp].add(Op.BARRIER, 0)
            return
        self._scoreboard.compute(instruction.base, instruction.registers, instruction.destinations)
        self._barrier_in_shared_memory(instruction)
        if instruction.invalidates and mask:
            self._scoreboard.settle(())
            self.block.warps[self._warp].add(Op.INVALIDATE, 0)
        if instruction.base == "LDGDEPBAR":
            self._scoreboard.commit()
        elif instruction.base == "DEPBAR":
            self._scoreboard.wait_groups(instruction.youngest)

    def _memory(self, place: int, mask: int, instruction: Instruction, text: str) -> None:
        fields = text[len(instruction.text) :].split()
        if instruction.bulk and not lists_lanes(fields):
            self._pieces(place, instruction, fields)
            return
        address = _NO_LANES.copy()
        lanes = _lanes(mask)
        address[lanes] = _addresses(fields, len(lanes))
        self._scoreboard.settle(instruction.registers)
        assert instruction.space is not None
        if instruction.space != Space.GENERIC:
            self._access(place, instruction, instruction.space, address)
            return
        for space in (Space.GLOBAL, Space.LOCAL, Space.SHARED):
            there = self._generic(instruction, address, space)
            if (there != INACTIVE).any():
                self._access(place, instruction, space, there)

    def _access(
        self, place: int, instruction: Instruction, space: Space, address: NDArray[np.int64]
    ) -> None:
        """What lanes access in one memory."""
        op, size = instruction.op, instruction.size
        if instruction.coherent and space == Space.GLOBAL:
            op = Op.COHERENT_LOAD
        elif self._reads_only and instruction.read_only and space == Space.GLOBAL:
            op = Op.READ_ONLY
        if instruction.matrices:
            address = matrix_rows(address, instruction.matrices)
            self.block.access(self._warp, place, space, op, address, MATRIX_ROW_BYTES)
        else:
            self.block.access(self._warp, place, space, op, address, size)
        if instruction.bulk and op == Op.LOAD:
            self._scoreboard.copy_in_bulk()
        elif not instruction.bulk:
            self._scoreboard.access(instruction.base, space, instruction.destinations, size)

    def _pieces(self, place: int, instruction: Instruction, fields: Sequence[str]) -> None:
        """A copy in bulk, which one lane issues for the whole block."""
        copy = bulk_copy(fields)
        if copy.multicast:
            self.block.unread.note(MULTICAST, instruction.base)
        if len(copy.address):
            self.block.access(
                self._warp, place, Space.GLOBAL, instruction.op, copy.address, instruction.size
            )
            if instruction.op == Op.LOAD:
                self._scoreboard.copy_in_bulk()
        else:
            self.block.idle_access(self._warp, Space.GLOBAL)

    def _generic(
        self, instruction: Instruction, address: NDArray[np.int64], space: Space
    ) -> NDArray[np.int64]:
        """The generic addresses that lie in one memory, `INACTIVE` elsewhere.

        Without the bases of the windows all count as shared memory, as in Accel-Sim's reader.
        """
        shared, local = self._header.shared_base, self._header.local_base
        if not shared or not local:
            if space != Space.SHARED:
                return np.full(WARP_SIZE, INACTIVE)
            self.block.unread.note(NO_WINDOWS, instruction.base)
            return address
        in_shared = (address >= shared) & (address - shared < WINDOW_BYTES)
        in_local = (address >= local) & (address - local < WINDOW_BYTES) & ~in_shared
        inside = {
            Space.SHARED: in_shared,
            Space.LOCAL: in_local,
            Space.GLOBAL: ~(in_shared | in_local),
        }
        return np.where(inside[space], address, INACTIVE)


@lru_cache(maxsize=4096)
def _lanes(mask: int) -> NDArray[np.int64]:
    """The lanes of a mask, from 0 up."""
    if mask >> WARP_SIZE:
        raise ValueError(f"the mask has more than {WARP_SIZE} bits")
    return np.array([lane for lane in range(WARP_SIZE) if mask >> lane & 1], dtype=np.int64)


def _addresses(fields: Sequence[str], count: int) -> NDArray[np.int64]:
    """The addresses of the active lanes, from lane 0 up."""
    mode = int(fields[0])
    if mode == 0:
        listed = fields[1 : count + 1]
        if len(listed) < count:
            raise ValueError(f"{len(listed)} addresses for {count} active lanes")
        address = np.array([int(field, 16) for field in listed], dtype=np.int64)
    elif mode == 1:
        address = int(fields[1], 16) + int(fields[2]) * _NUMBERS[:count]
    elif mode == 2:
        deltas = [int(field) for field in fields[2 : count + 1]]
        if len(deltas) < count - 1:
            raise ValueError(f"{len(deltas)} address deltas for {count} active lanes")
        address = np.array(list(accumulate(deltas, initial=int(fields[1], 16))), dtype=np.int64)
    else:
        raise ValueError(f"address mode {mode}; allowed: 0 (list), 1 (stride), 2 (deltas)")
    if np.minimum.reduce(address) < 0:
        raise ValueError("an address is negative")
    return address


def _line_number(text: str) -> int:
    """The number of a source's line.

    Raises:
        ValueError: it is none, or of a source that no compiler takes.
    """
    number = int(text)
    if not 0 <= number < _MOST_LINES:
        raise ValueError(f"line {text[:20]} of a source: must be below 2**31")
    return number
