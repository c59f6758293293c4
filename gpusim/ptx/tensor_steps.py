"""Products of small matrices by the tensor cores of a warp (``mma.sync``), for their results.

Matrices lie in the registers of a warp as the PTX ISA draws them (mma.m16n8k8 to m16n8k32): with
g = thread / 4 and t = thread mod 4, a register of A has row g or g + 8, of B column g, and as many
neighbouring elements along k as fit into 32 bits.  Sums are made in f64 and rounded once; tensor
cores round in between, so last bits may differ.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from gpusim.ptx.arithmetic.floats import halved, widened
from gpusim.ptx.frame import Frame, Reader, Step
from gpusim.ptx.memory_steps import items_of, keep
from gpusim.ptx.operands import Operands
from gpusim.ptx.record import WARP
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.values import UnsupportedError, Value, dtype_of

_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s8": 8, "u8": 8}
_SHAPES = {"m16n8k4": 4, "m16n8k8": 8, "m16n8k16": 16, "m16n8k32": 32}
_ROWS, _COLUMNS = 16, 8
_INT = np.iinfo(np.int32)
_THREAD = np.arange(WARP)
_GROUP, _IN_GROUP = _THREAD // 4, _THREAD % 4


@frozen
class Shape:
    """A product of (16, k) and (k, 8).

    Attributes:
        depth: k.
        of_a, of_b, of_c, of_d: types.
    """

    depth: int
    of_a: str
    of_b: str
    of_c: str
    of_d: str


def product_steps(operands: Operands, one: Instruction) -> list[Step]:
    """``mma.sync``.

    Raises:
        UnsupportedError: it is of another shape or type.
    """
    shape, cuts = _shape(one), one.has("satfinite")
    sources = one.operands[1:4]
    a, b, c = (
        [operands.reader(one, item, "u32") for item in items_of(operand)] for operand in sources
    )
    writers = [operands.writer(one, item) for item in items_of(one.operands[0])]

    def step(frame: Frame) -> None:
        if frame.count % WARP:
            raise UnsupportedError("a product by part of a warp is not computed")
        left = _along_k(_read(frame, a), shape.of_a, shape.depth, rows=_ROWS)
        right = _along_k(_read(frame, b), shape.of_b, shape.depth, rows=_COLUMNS)
        total = left @ right.transpose(0, 2, 1) + _accumulated(_read(frame, c), shape.of_c)
        keep(frame, None, writers, _given(total, shape.of_d, cuts))

    return [step]


def _shape(one: Instruction) -> Shape:
    depth = next((_SHAPES[word] for word in one.modifiers if word in _SHAPES), 0)
    types = [word for word in one.modifiers if word in _BITS or word == "s32"]
    if not depth or len(types) != 4 or not one.has("row") or one.has("sp"):
        raise UnsupportedError("a product of this shape is not computed")
    of_d, of_a, of_b, of_c = types
    return Shape(depth, of_a, of_b, of_c, of_d)


def _read(frame: Frame, readers: list[Reader]) -> list[Value]:
    """(warps, 32) registers."""
    return [frame.spread(read(frame)).reshape(-1, WARP) for read in readers]


def _elements(register: Value, type_: str) -> list[Value]:
    """The numbers of a register, the lowest bits first."""
    bits = _BITS[type_]
    if type_ == "tf32":  # the lower bits are not looked at
        register = register & np.uint32(0xFFFFE000)
    if bits == 32:
        return [register.view(np.float32).astype(np.float64)]
    small = [
        (register >> np.uint32(bits * part)).astype(f"u{bits // 8}") for part in range(32 // bits)
    ]
    if bits == 8:
        return [one.view(dtype_of(type_)).astype(np.float64) for one in small]
    return [widened(one, type_).astype(np.float64) for one in small]


def _along_k(registers: list[Value], type_: str, depth: int, rows: int) -> Value:
    """(warps, rows, k) numbers of A, or of B turned around."""
    made: Value = np.zeros((len(registers[0]), rows, depth))
    fit = 32 // _BITS[type_]
    halves = rows // 8
    for number, register in enumerate(registers):
        row = _GROUP + 8 * (number % halves)
        first = fit * _IN_GROUP + 4 * fit * (number // halves)
        for part, values in enumerate(_elements(register, type_)):
            made[:, row, first + part] = values
    return made


def _accumulated(registers: list[Value], type_: str) -> Value:
    """(warps, 16, 8) numbers of C."""
    made: Value = np.zeros((len(registers[0]), _ROWS, _COLUMNS))
    if type_ == "s32":
        numbers = [one.view(np.int32).astype(np.float64) for one in registers]
    else:
        numbers = [value for one in registers for value in _elements(one, type_)]
    for number, values in enumerate(numbers):
        made[:, _GROUP + 8 * (number // 2), 2 * _IN_GROUP + number % 2] = values
    return made


def _given(total: Value, type_: str, cuts: bool) -> list[Value]:
    """The registers that hold D, each (threads,)."""
    parts = [
        total[:, _GROUP + 8 * (number // 2), 2 * _IN_GROUP + number % 2].reshape(-1)
        for number in range(4)
    ]
    if type_ == "f16":
        halves = [halved(one, type_).astype(np.uint32) for one in parts]
        shift = np.uint32(16)
        return [halves[0] | halves[1] << shift, halves[2] | halves[3] << shift]
    if type_ == "s32":
        if cuts:
            parts = [np.clip(one, _INT.min, _INT.max) for one in parts]
        return [one.astype(np.int64).astype(np.int32) for one in parts]
    return [one.astype(np.float32) for one in parts]
