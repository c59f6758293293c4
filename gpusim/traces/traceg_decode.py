"""Decoding a line of a kernel's trace: the instruction itself, whichever lanes execute it."""

from __future__ import annotations

from collections.abc import Sequence

import attr

from gpusim.core.warp_program import Op
from gpusim.traces.sass import (
    ASYNCHRONOUS,
    MEMORY_OPCODES,
    Space,
    access_bytes,
    base_opcode,
    is_read_only,
    moves_data,
)

_FIRST_WITH_IMMEDIATES = 5


@attr.s(auto_attribs=True)
class Instruction:
    """An instruction of the kernel, as every warp that executes it finds it in the trace.

    Attributes:
        text: the fields that it always has, from its destinations on: all but the addresses of an
            access.
        registers: that it reads or writes.
        destinations: those that it writes.
        base: its opcode, without modifiers.
        space: that it accesses; None: it accesses no memory.
        op: what a warp does.
        size: bytes that a lane accesses.
        youngest: groups of copies that a DEPBAR does not wait for.
        read_only: whether it loads what no thread changes (LDG.CI, LDG…CONSTANT).
    """

    text: str
    registers: tuple[int, ...]
    destinations: tuple[int, ...]
    base: str
    space: Space | None
    op: Op
    size: int
    youngest: int
    read_only: bool

    def begins(self, text: str) -> bool:
        """Whether `text`, the fields of a line from the destinations on, is this instruction."""
        return text == self.text if self.space is None else text.startswith(self.text)


def decode(text: str, version: int) -> Instruction:
    """An instruction from the fields of its line, from the number of its destinations on.

    Raises:
        ValueError, IndexError: they are wrong, or too few.
    """
    fields = text.split()
    opcode_at = 1 + int(fields[0])
    opcode = fields[opcode_at]
    first = opcode_at + 2
    last = first + int(fields[opcode_at + 1])
    destinations = _registers(fields[1:opcode_at])
    base = base_opcode(opcode)
    if base in ASYNCHRONOUS:
        raise ValueError(f"{base}: asynchronous copies and barriers of Hopper are not simulated")
    # A GMMA has one field more, or not: it is arithmetic on what it finds in shared memory.
    accesses = "GMMA" not in base and int(fields[last]) > 0 and moves_data(base)
    space, op = MEMORY_OPCODES[base] if accesses else (None, Op.COMPUTE)
    if base == "BAR" and not accesses:
        op = Op.BARRIER
    told = version >= _FIRST_WITH_IMMEDIATES and fields[last + 1 :]
    return Instruction(
        text=" ".join(fields[: last + 1]) + " " if accesses else text,
        registers=(*_registers(fields[first:last]), *destinations),
        destinations=destinations,
        base=base,
        space=space,
        op=op,
        size=access_bytes(opcode) if accesses else 0,
        youngest=int(fields[last + 1]) if base == "DEPBAR" and told else 0,
        read_only=base == "LDG" and is_read_only(opcode),
    )


def _registers(fields: Sequence[str]) -> tuple[int, ...]:
    """Numbers of the general registers among the operands; others, such as UR4, do not count."""
    return tuple(
        int(field[1:]) for field in fields if field.startswith("R") and field[1:].isdecimal()
    )
