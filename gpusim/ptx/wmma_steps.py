"""Matrices and products of ``wmma``, whose layout in registers PTX leaves open.

Here it is that of ``mma``, in tiles of 8 rows: thread t holds, of a tile of A or B, the elements of
row t / 4 that fill its register t mod 4 along k, and of C and D two neighbours along a row; what a
fragment has more registers for is held twice (PTX ISA, wmma).  A register is an access.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import frozen

from gpusim.core.warp_program import Op
from gpusim.ptx.arithmetic.floats import halved, widened
from gpusim.ptx.frame import Frame, Lanes, Reader, Step
from gpusim.ptx.memory_steps import (
    Access,
    items_of,
    keep,
    read_values,
    recorded,
    space_of,
    taking_part,
)
from gpusim.ptx.operands import Operands
from gpusim.ptx.record import WARP
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.values import UnsupportedError, Value, dtype_of

_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "s32": 4, "s8": 1, "u8": 1}
_TILE = 8
_WORD = 4
_THREAD = np.arange(WARP)
_GROUP, _IN_GROUP = _THREAD // 4, _THREAD % 4


@frozen
class Fragment:
    """A matrix in the registers of a warp.

    Attributes:
        rows: of A and C; of B its columns.
        columns: of C; of A and B, k.
        type: of its elements.
    """

    rows: int
    columns: int
    type: str

    @property
    def fit(self) -> int:
        """Elements of a register."""
        return _WORD // _BYTES[self.type]

    def places(self, pairs: bool) -> Iterator[tuple[Any, Any]]:
        """For each register: rows, and the column of the first element, by thread.

        Args:
            pairs: neighbours along a row lie in one thread, in two registers if need be.
        """
        parts = 2 // self.fit if pairs else 1
        wide = 4 * self.fit * parts
        for tile in range(self.rows // _TILE * (self.columns // wide)):
            down, across = tile % (self.rows // _TILE), tile // (self.rows // _TILE)
            for part in range(parts):
                column = across * wide + self.fit * (parts * _IN_GROUP + part)
                yield _GROUP + _TILE * down, column


def fragment_of(one: Instruction, which: str) -> Fragment:
    """The matrix ``"a"``, ``"b"``, ``"c"`` or ``"d"`` of an instruction.

    Raises:
        UnsupportedError: it is of another shape or type.
    """
    found = [re.fullmatch(r"m(\d+)n(\d+)k(\d+)", word) for word in one.modifiers]
    shape = next((match for match in found if match), None)
    types = [word for word in one.modifiers if word in _BYTES]
    if shape is None or not types:
        raise UnsupportedError("matrices of this shape are not computed")
    m, n, k = map(int, shape.groups())
    type_ = types[-1]
    if one.opcode == "wmma.mma":
        of_d, of_c = types[0], types[-1]
        of_ab = types[1] if len(types) == 4 else "f16"
        type_ = {"a": of_ab, "b": of_ab, "c": of_c, "d": of_d}[which]
    return Fragment(
        *{"a": (m, k), "b": (n, k), "c": (m, n), "d": (m, n)}[which],
        type_,
    )


def wmma_access_steps(operands: Operands, one: Instruction, needed: bool) -> list[Step]:
    """``wmma.load`` and ``wmma.store``.

    Raises:
        UnsupportedError: they are of another shape or type.
    """
    moves = _Moves(operands, one)
    if not needed:
        return [moves.record]
    return [moves.record, moves.load if moves.loads else moves.store]


class _Moves:
    """Moves a matrix between memory and the registers of a warp.

    Args:
        operands: of the kernel.
        one: the instruction.

    Attributes:
        loads: whether it goes to the registers.
    """

    def __init__(self, operands: Operands, one: Instruction) -> None:
        which = one.modifiers[0]
        fragment = self._fragment = fragment_of(one, which)
        self.loads = one.opcode == "wmma.load"
        self._by_column = one.has("col") != (which == "b")  # of B, the columns are its rows here
        self._size = _BYTES[fragment.type]
        self._word = np.dtype(f"u{self._size}")
        self._together = 1 if self._by_column else fragment.fit
        """Elements of a register that lie side by side in memory."""
        matrix, address = one.operands[:2] if self.loads else one.operands[1::-1]
        self._access = Access(
            one,
            space_of(one),
            Op.LOAD if self.loads else Op.STORE,
            self._size * self._together,
            operands.address(one, address),
            operands.guard(one, one.guard),
        )
        items = items_of(matrix)
        places = [*fragment.places(which in {"c", "d"})]
        if len(items) % len(places) or not (self.loads or len(items) == len(places)):
            raise UnsupportedError(f"{len(items)} registers do not hold such a matrix")
        self._places = places * (len(items) // len(places)) if self.loads else places
        self._stride: Reader | None = None
        if len(one.operands) > 2:
            self._stride = operands.reader(one, one.operands[2], "u32")
        self._writers = [operands.writer(one, item) for item in items] if self.loads else []
        self._readers = [operands.reader(one, item, "u32") for item in items]

    def _pieces(self, frame: Frame) -> Iterator[list[tuple[Lanes | None, Value]]]:
        """By register: the threads and addresses of its accesses."""
        taken, lanes, base = taking_part(self._access, frame)
        if taken is not None and not len(taken):
            return
        every = np.arange(frame.batch.threads.count) if lanes is None else lanes
        fragment = self._fragment
        stride: Any = fragment.rows if self._by_column else fragment.columns
        if self._stride is not None:
            stride = self._stride(frame)
            stride = stride[taken] if taken is not None and np.ndim(stride) else stride
        stride = np.asarray(stride).astype(np.int64)
        lane = every % WARP
        for rows, columns in self._places:
            row, column = rows[lane], columns[lane]
            along = range(0, fragment.fit, self._together)
            if self._by_column:
                numbers = [(column + part) * stride + row for part in along]
            else:
                numbers = [row * stride + column for _ in along]
            yield [(lanes, base + np.int64(self._size) * number) for number in numbers]

    def record(self, frame: Frame) -> None:
        """Record its accesses."""
        recorder = frame.batch.record
        if recorder is not None:
            for parts in self._pieces(frame):
                for lanes, address in parts:
                    recorded(recorder, self._access, self._access.op, lanes, address)

    def load(self, frame: Frame) -> None:
        """Fill registers."""
        taken, _, _ = taking_part(self._access, frame)
        found = []
        for parts in self._pieces(frame):
            values: list[Value] = []
            for lanes, address in parts:
                values += read_values(
                    self._access, frame, lanes, address, self._word, self._together
                )
            made = values[0].astype(np.uint32)
            for place, value in enumerate(values[1:], 1):
                made = made | value.astype(np.uint32) << np.uint32(8 * self._size * place)
            found.append(made)
        if found:
            keep(frame, taken, self._writers, found)

    def store(self, frame: Frame) -> None:
        """Write what registers hold."""
        taken, _, _ = taking_part(self._access, frame)
        for read, parts in zip(self._readers, self._pieces(frame), strict=False):
            value = frame.spread(read(frame))
            value = value if taken is None else value[taken]
            for number, (lanes, address) in enumerate(parts):
                for place in range(self._together):
                    shift = np.uint32(8 * self._size * (number * self._together + place))
                    at = address + np.int64(self._size * place)
                    self._put(frame, lanes, at, (value >> shift).astype(self._word))

    def _put(self, frame: Frame, lanes: Lanes | None, address: Value, value: Value) -> None:
        for part in self._access.parts(frame, lanes, address, self._size):
            some = value if part.which is ... else value[part.which]
            part.data.view(self._word)[part.offset // self._size] = some


def wmma_product_steps(operands: Operands, one: Instruction) -> list[Step]:
    """``wmma.mma``: sums are made in f64 and rounded once.

    Raises:
        UnsupportedError: it is of another shape or type.
    """
    if one.has("b1", "f64"):
        raise UnsupportedError("a product of this shape is not computed")
    of = {which: fragment_of(one, which) for which in "abcd"}
    readers = {
        which: [operands.reader(one, item, "u32") for item in items_of(operand)]
        for which, operand in zip("abc", one.operands[1:], strict=True)
    }
    writers = [operands.writer(one, item) for item in items_of(one.operands[0])]

    def step(frame: Frame) -> None:
        if frame.count % WARP:
            raise UnsupportedError("a product by part of a warp is not computed")
        held = {
            which: [frame.spread(read(frame)).reshape(-1, WARP) for read in own]
            for which, own in readers.items()
        }
        a, b, c = (_whole(of[which], held[which], which == "c") for which in "abc")
        total = a @ b.transpose(0, 2, 1) + c
        keep(frame, None, writers, _registers(of["d"], total))

    return [step]


def _whole(fragment: Fragment, registers: list[Value], pairs: bool) -> Value:
    """(warps, rows, columns) numbers of a matrix."""
    made: Value = np.zeros((len(registers[0]), fragment.rows, fragment.columns))
    for register, (row, column) in zip(registers, fragment.places(pairs), strict=False):
        for part, values in enumerate(_numbers(register, fragment.type)):
            made[:, row, column + part] = values
    return made


def _numbers(register: Value, type_: str) -> list[Value]:
    """The numbers of a register, the lowest bits first."""
    if type_ == "tf32":
        register = register & np.uint32(0xFFFFE000)
    if _BYTES[type_] == _WORD:
        plain = np.int32 if type_ == "s32" else np.float32
        return [register.view(plain).astype(np.float64)]
    bits = 8 * _BYTES[type_]
    words = [
        (register >> np.uint32(bits * part)).astype(f"u{bits // 8}") for part in range(32 // bits)
    ]
    if bits == 8:
        return [one.view(dtype_of(type_)).astype(np.float64) for one in words]
    return [widened(one, type_).astype(np.float64) for one in words]


def _registers(fragment: Fragment, total: Value) -> list[Value]:
    """The registers that hold D, each (threads,)."""
    found: list[Value] = []
    for row, column in fragment.places(pairs=True):
        parts = [total[:, row, column + part].reshape(-1) for part in range(fragment.fit)]
        if fragment.type == "f16":
            low, high = (halved(one, "f16").astype(np.uint32) for one in parts)
            found.append(low | high << np.uint32(16))
        elif fragment.type == "s32":
            found.append(parts[0].astype(np.int64).astype(np.int32))
        else:
            found.append(parts[0].astype(np.float32))
    return found
