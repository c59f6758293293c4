"""Decoding a line of a kernel's trace: the instruction itself, whichever lanes execute it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attr

from gpusim.core.untrusted import brief
from gpusim.core.warp_program import Op
from gpusim.traces.arithmetic import unit_number
from gpusim.traces.cache_operators import CacheOperator, cache_operator, load_op
from gpusim.traces.sass import (
    BULK_OPCODES,
    LOOP_MARKS,
    MEMORY_OPCODES,
    REGISTER_BYTES,
    Space,
    access_bytes,
    base_opcode,
    bulk_op,
    is_read_only,
    matrices,
    moves_data,
    width_conflict,
)
from gpusim.traces.sass_unmodelled import NAMED_BARRIERS, UNMODELLED, WIDTHS, unhonoured

_FIRST_WITH_IMMEDIATES = 5

_MOST_REGISTER = 255
"""Number of the last general register, which reads as 0."""

_WITH_COPIES = frozenset({"ARRIVES", "SYNCS", "LDGDEPBAR", "DEPBAR"})
"""Base opcodes of what orders copies."""

_COMPUTE: Final = int(Op.COMPUTE)

Note = tuple[str, str]
"""What a run does not honour: the reason, and the name of what it is."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class Instruction:
    """An instruction of the kernel, as every warp that executes it finds it in the trace.

    Attributes:
        place: its program counter.
        text: the fields that it always has, from its destinations on: all but the addresses of an
            access.
        opcode: with its modifiers.
        base: its opcode, without modifiers.
        destinations: registers that it writes.
        registers: that it reads or writes.
        space: that it accesses; None: it accesses no memory.
        bulk: whether it copies in bulk: its addresses are those of pieces, not of lanes.
        unit: number of the `Unit` that executes it; -1: none does.
        op: what a warp does.
        plain: whether it is arithmetic, or control, of which nothing else needs to be known.
        size: bytes that a lane accesses.
        matrices: that an LDSM or STSM moves; 0: it is none.
        youngest: groups of copies that a DEPBAR does not wait for.
        read_only: whether it loads what no thread changes (LDG.CI, LDG…CONSTANT).
        coherent: whether it is a load that the L2 cache answers.
        invalidates: whether the L1 cache forgets all lines.
        marks_loop: whether it is no instruction, but a mark around a loop.
        has_immediate: whether it has no address, and its line ends with an immediate.
        notes: what of it is not honoured where at least one lane executes it.
    """

    place: int
    text: str
    opcode: str
    base: str
    destinations: tuple[int, ...]
    registers: tuple[int, ...]
    unit: int
    op: int
    plain: bool = False
    space: Space | None = None
    bulk: bool = False
    size: int = 0
    matrices: int = 0
    youngest: int = 0
    read_only: bool = False
    coherent: bool = False
    invalidates: bool = False
    marks_loop: bool = False
    has_immediate: bool = False
    notes: tuple[Note, ...] = ()

    def begins(self, text: str) -> bool:
        """Whether `text`, the fields of a line from the destinations on, is this instruction."""
        return text == self.text if self.space is None else text.startswith(self.text)


def decode(place: int, text: str, version: int) -> Instruction:
    """The instruction at a program counter, from the fields of its line.

    Args:
        place: the program counter.
        text: the fields from the number of its destinations on.
        version: of the tracer.

    Raises:
        ValueError, IndexError: they are wrong, or too few.
    """
    fields = text.split()
    opcode_at = 1 + _count(fields[0])
    first = opcode_at + 2
    last = first + _count(fields[opcode_at + 1])
    sources, destinations = _registers(fields[first:last]), _registers(fields[1:opcode_at])
    base = base_opcode(fields[opcode_at])
    one = Instruction(
        place=place,
        text=text,
        opcode=fields[opcode_at],
        base=base,
        destinations=destinations,
        registers=(*sources, *destinations),
        unit=unit_number(base),
        op=int(Op.BARRIER if base == "BAR" else Op.COMPUTE),
        marks_loop=base in LOOP_MARKS,
    )
    # A GMMA has one field more, or not: it is arithmetic on what it finds in shared memory.
    width = 0 if "GMMA" in one.base else _count(fields[last])
    if width > 0 and one.base in BULK_OPCODES:
        one.op = int(bulk_op(one.opcode))
        one.bulk = one.op != _COMPUTE
        one.space = Space.GLOBAL if one.bulk else None
        one.size = width
    elif width > 0 and moves_data(one.base):
        one.space, op = MEMORY_OPCODES[one.base]
        one.op = int(op)
        one.matrices = matrices(one.opcode)
        one.size = REGISTER_BYTES * one.matrices or access_bytes(one.opcode, width)
        one.read_only = one.base == "LDG" and is_read_only(one.opcode)
    one.coherent = load_op(one.opcode, Op(one.op)) == Op.COHERENT_LOAD
    one.invalidates = cache_operator(one.opcode) == CacheOperator.INVALIDATE_L1
    if one.space is not None:
        one.text = " ".join(fields[: last + 1]) + " "
    immediates = fields[last + 1 :] if version >= _FIRST_WITH_IMMEDIATES else []
    one.has_immediate = bool(immediates) and not width and "GMMA" not in one.base
    if one.base == "DEPBAR" and immediates:
        one.youngest = int(immediates[0])
    one.notes = tuple(_notes(one, width, immediates))
    one.plain = (
        one.space is None
        and one.op == _COMPUTE
        and one.base not in _WITH_COPIES
        and not (one.invalidates or one.marks_loop or one.notes)
    )
    return one


def _notes(one: Instruction, width: int, immediates: Sequence[str]) -> Iterator[Note]:
    """What of an instruction is not honoured."""
    for reason in unhonoured(one.opcode, one.space is not None):
        yield reason, one.base if UNMODELLED.get(one.base) == reason else one.opcode
    if one.space is not None and not one.bulk and width_conflict(one.opcode, width):
        yield WIDTHS, one.opcode
    if one.base == "BAR" and "ARV" not in one.opcode and any(map(_is_number, immediates)):
        yield NAMED_BARRIERS, one.base


def _count(field: str) -> int:
    """A number of registers, or of bytes.

    Raises:
        ValueError: it is negative, or none.
    """
    number = int(field)
    if number < 0:
        raise ValueError(f"{field[:20]} registers or bytes: must be 0 or more")
    return number


def _is_number(field: str) -> bool:
    """Whether a field is a whole number above 0."""
    return field.isdecimal() and int(field) > 0


def _registers(fields: Sequence[str]) -> tuple[int, ...]:
    """Numbers of the general registers among the operands; others, such as UR4, do not count.

    Raises:
        ValueError: there is no such register, or a number stands where one must.
    """
    for field in fields:
        if field.isdecimal():
            raise ValueError(f"{field[:20]} stands where a register must")
    numbers = [
        int(field[1:]) for field in fields if field.startswith("R") and field[1:].isdecimal()
    ]
    for number in numbers:
        if number > _MOST_REGISTER:
            raise ValueError(f"there is no register R{brief(number)}: they are R0 to R255")
    return tuple(numbers)
