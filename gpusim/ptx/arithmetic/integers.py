"""Integers: sums, products, quotients; they wrap."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.ptx.arithmetic.floats import float_arithmetic
from gpusim.ptx.operations import Operation, Run, computes
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.values import UnsupportedError, Value, dtype_of, is_float

_WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}

CARRY = "%carry"
"""The carry flag, a register of its own: of a difference it says, as in hardware, which adds the
complement, that nothing was borrowed; NVCC's division of 128 bits asks for it by ``addc``."""


def type_of(instruction: Instruction) -> str:
    """The type of an instruction: its last modifier."""
    return instruction.modifiers[-1] if instruction.modifiers else ""


@computes("add", "sub", "mul", "mad", "fma", "div", "min", "max", "abs", "neg")
def arithmetic(instruction: Instruction) -> Operation:
    """Instructions that exist for integers and for floating point."""
    type_ = type_of(instruction)
    if is_float(type_) or type_ in {"f16x2", "bf16x2"}:
        return float_arithmetic(instruction, type_)
    return _integer(instruction, type_)


def _integer(instruction: Instruction, type_: str) -> Operation:
    opcode = instruction.opcode
    if type_ in {"u16x2", "s16x2"}:
        return _pairs(opcode, type_[:3])
    if opcode in {"mul", "mad"}:
        return _product(instruction, type_)
    if instruction.has("cc"):
        return _with_carry(opcode, type_)
    if instruction.has("sat"):
        if opcode not in {"add", "sub"} or type_ != "s32":
            raise UnsupportedError("saturation of this type is not computed")
        return Operation((type_,), (type_, type_), _saturating(opcode))
    run: dict[str, Run] = {
        "add": np.add,
        "sub": np.subtract,
        "min": np.minimum,
        "max": np.maximum,
        "div": quotient,
    }
    if opcode in run:
        return Operation((type_,), (type_, type_), run[opcode])
    one: dict[str, Run] = {"abs": np.abs, "neg": np.negative}
    if opcode in one:
        return Operation((type_,), (type_,), one[opcode])
    raise UnsupportedError(f"{opcode} of .{type_} is not computed")


def _pairs(opcode: str, half: str) -> Operation:
    """Two numbers of 16 bits in one register."""
    run: dict[str, Any] = {
        "add": np.add,
        "sub": np.subtract,
        "min": np.minimum,
        "max": np.maximum,
    }
    if opcode not in run:
        raise UnsupportedError(f"{opcode} of .{half}x2 is not computed")
    dtype = dtype_of(half)

    def both(a: Value, b: Value) -> Value:
        low = run[opcode](a.astype(np.uint16).view(dtype), b.astype(np.uint16).view(dtype))
        high = run[opcode](
            (a >> np.uint32(16)).astype(np.uint16).view(dtype),
            (b >> np.uint32(16)).astype(np.uint16).view(dtype),
        )
        made: Value = low.view(np.uint16).astype(np.uint32) | (
            high.view(np.uint16).astype(np.uint32) << np.uint32(16)
        )
        return made

    return Operation(("u32",), ("u32", "u32"), both)


def _saturating(opcode: str) -> Run:
    limits = np.iinfo(np.int32)

    def run(a: Value, b: Value) -> Value:
        other = b.astype(np.int64) if opcode == "add" else -b.astype(np.int64)
        made: Value = np.clip(a.astype(np.int64) + other, limits.min, limits.max).astype(np.int32)
        return made

    return run


def _with_carry(opcode: str, type_: str) -> Operation:
    unsigned = f"u{type_[1:]}"

    def add(a: Value, b: Value) -> tuple[Value, Value]:
        total: Value = a + b
        return total, total < a

    def sub(a: Value, b: Value) -> tuple[Value, Value]:
        return a - b, a >= b

    return Operation((unsigned, "pred"), (unsigned, unsigned), add if opcode == "add" else sub)


@computes("addc", "subc")
def carried(instruction: Instruction) -> Operation:
    """Sums that take a carry, and perhaps make one."""
    type_ = f"u{type_of(instruction)[1:]}"
    adds, makes = instruction.opcode == "addc", instruction.has("cc")

    def run(a: Value, b: Value, carry: Value) -> Value | tuple[Value, ...]:
        one = carry.astype(a.dtype)
        if adds:
            half = a + b
            total = half + one
            out: Value = (half < a) | (total < half)
        else:
            half = a + ~b
            total = half + one
            out = (half < a) | (total < half)
        return (total, out) if makes else total

    return Operation((type_, "pred") if makes else (type_,), (type_, type_, "pred"), run)


def high_product(a: Value, b: Value) -> Value:
    """The upper half of the product of two integers of one type."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{a.dtype.itemsize * 2}")
        upper: Value = ((a.astype(wide) * b.astype(wide)) >> wide.type(bits)).astype(a.dtype)
        return upper
    ua, ub = a.view(np.uint64), b.view(np.uint64)
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    al, ah, bl, bh = ua & mask, ua >> half, ub & mask, ub >> half
    middle = ah * bl + ((al * bl) >> half)
    cross = (middle & mask) + al * bh
    high: Value = ah * bh + (middle >> half) + (cross >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, ub, np.uint64(0)) - np.where(b < 0, ua, np.uint64(0))
    return high.view(a.dtype)


def _product(instruction: Instruction, type_: str) -> Operation:
    adds = instruction.opcode == "mad"
    if instruction.has("wide"):
        wide = _WIDER.get(type_)
        if wide is None:
            raise UnsupportedError(f"a wide product of .{type_} is not computed")
        dtype = dtype_of(wide)

        def run_wide(a: Value, b: Value, *c: Value) -> Value:
            product: Value = a.astype(dtype) * b.astype(dtype)
            return product + c[0] if c else product

        return Operation((wide,), (type_, type_, wide)[: 2 + adds], run_wide)
    high = instruction.has("hi")

    def run(a: Value, b: Value, *c: Value) -> Value:
        product = high_product(a, b) if high else a * b
        return product + c[0] if c else product

    return _carrying(Operation((type_,), (type_,) * (2 + adds), run), instruction)


def _carrying(operation: Operation, instruction: Instruction) -> Operation:
    """A product that is added with a carry."""
    if not instruction.has("cc"):
        return operation
    product, unsigned = operation.run, f"u{operation.sources[0][1:]}"

    def run(a: Value, b: Value, c: Value) -> tuple[Value, Value]:
        part: Any = product(a, b)
        addend = c.view(f"u{c.dtype.itemsize}")
        total = part.view(addend.dtype) + addend
        return total, total < addend

    return Operation((unsigned, "pred"), operation.sources, run)


@computes("madc")
def carried_product(instruction: Instruction) -> Operation:
    """A product that is added with the carry of the instruction before."""
    type_ = type_of(instruction)
    high, makes = instruction.has("hi"), instruction.has("cc")

    def run(a: Value, b: Value, c: Value, carry: Value) -> Value | tuple[Value, ...]:
        part = high_product(a, b) if high else a * b
        unsigned = np.dtype(f"u{c.dtype.itemsize}")
        half = part.view(unsigned) + c.view(unsigned)
        total = half + carry.astype(unsigned)
        out = (half < c.view(unsigned)) | (total < half)
        return (total, out) if makes else total

    results = (f"u{type_[1:]}", "pred") if makes else (f"u{type_[1:]}",)
    return Operation(results, (type_, type_, type_, "pred"), run)


def remainder(a: Value, b: Value) -> Value:
    """The remainder with the sign of `a`; by 0, `a` (as GPUs do; PTX leaves it open)."""
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


def quotient(a: Value, b: Value) -> Value:
    """The quotient towards 0; by 0, all bits set (as GPUs do; PTX leaves it open)."""
    divisor = np.where(b == 0, b.dtype.type(1), b)
    whole = (a - np.fmod(a, divisor)) // divisor
    return np.where(b == 0, np.array(-1).astype(a.dtype), whole)


@computes("rem")
def rem(instruction: Instruction) -> Operation:
    """The remainder of a quotient."""
    type_ = type_of(instruction)
    return Operation((type_,), (type_, type_), remainder)


@computes("mul24", "mad24")
def of_24_bits(instruction: Instruction) -> Operation:
    """Products of 24 bits."""
    type_ = type_of(instruction)
    adds, high = instruction.opcode == "mad24", instruction.has("hi")

    def run(a: Value, b: Value, *c: Value) -> Value:
        eight = a.dtype.type(8)
        wide = np.dtype(f"{a.dtype.kind}8")
        product = ((a << eight) >> eight).astype(wide) * ((b << eight) >> eight).astype(wide)
        part: Value = (product >> wide.type(16) if high else product).astype(a.dtype)
        return part + c[0] if c else part

    return Operation((type_,), (type_,) * (2 + adds), run)


@computes("sad")
def sad(instruction: Instruction) -> Operation:
    """The absolute difference, added to a third operand."""
    type_ = type_of(instruction)
    unsigned = f"u{type_[1:]}"

    def run(a: Value, b: Value, c: Value) -> Value:
        apart = np.where(a < b, b - a, a - b)
        made: Value = c + apart.view(c.dtype)
        return made

    return Operation((unsigned,), (type_, type_, unsigned), run)


@computes("dp4a", "dp2a")
def dot_product(instruction: Instruction) -> Operation:
    """Sums of products of the bytes, or halves, of registers."""
    of_a, of_b = instruction.modifiers[-2:]
    kind_a, kind_b = (np.dtype(f"{'i' if one[0] == 's' else 'u'}1") for one in (of_a, of_b))
    wide_a = np.dtype(f"{kind_a.kind}2")
    by_four, high = instruction.opcode == "dp4a", instruction.has("hi")
    type_ = "s32" if "s32" in (of_a, of_b) else "u32"

    def run(a: Value, b: Value, c: Value) -> Value:
        total = c.astype(np.int64)
        for part in range(4 if by_four else 2):
            if by_four:
                left = (a >> np.uint32(8 * part)).astype(np.uint8).view(kind_a)
                right = (b >> np.uint32(8 * part)).astype(np.uint8).view(kind_b)
            else:
                left = (a >> np.uint32(16 * part)).astype(np.uint16).view(wide_a)
                right = (b >> np.uint32(8 * (part + 2 * high))).astype(np.uint8).view(kind_b)
            total = total + left.astype(np.int64) * right.astype(np.int64)
        return total.astype(dtype_of(type_))

    return Operation((type_,), ("u32", "u32", type_), run)
