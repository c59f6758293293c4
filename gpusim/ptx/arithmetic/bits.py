"""Bits: logic, shifts, fields, counts, permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.ptx.arithmetic.integers import type_of
from gpusim.ptx.operations import Operation, Run, computes
from gpusim.ptx.syntax import Immediate, Instruction
from gpusim.ptx.values import UnsupportedError, Value, dtype_of


def _unsigned(type_: str) -> str:
    return type_ if type_ == "pred" else f"u{type_[1:]}"


@computes("and", "or", "xor", "not", "cnot")
def logic(instruction: Instruction) -> Operation:
    """Logic of bits, and of predicates."""
    type_ = _unsigned(type_of(instruction))
    two: dict[str, Run] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    if instruction.opcode in two:
        return Operation((type_,), (type_, type_), two[instruction.opcode])
    if instruction.opcode == "not":
        return Operation((type_,), (type_,), np.invert)
    return Operation((type_,), (type_,), lambda a: (a == 0).astype(a.dtype))


def shifted(a: Value, by: Value, left: bool) -> Value:
    """A shift; by as many bits as there are, or more, nothing is left but copies of the sign."""
    bits = a.dtype.itemsize * 8
    least: Value = np.minimum(by, np.uint32(bits - 1)).astype(a.dtype)
    if left:
        return np.where(by >= bits, a.dtype.type(0), a << least)
    if a.dtype.kind == "i":
        kept: Value = a >> least
        return kept
    return np.where(by >= bits, a.dtype.type(0), a >> least)


@computes("shl", "shr")
def shift(instruction: Instruction) -> Operation:
    """Shifts, by an amount of 32 bits."""
    type_, left = type_of(instruction), instruction.opcode == "shl"
    amount = instruction.operands[-1]
    dtype = dtype_of(type_)
    if isinstance(amount, Immediate) and 0 <= amount.value < dtype.itemsize * 8:
        by = dtype.type(amount.value)
        fixed: Run = (lambda a, _: a << by) if left else (lambda a, _: a >> by)
        return Operation((type_,), (type_, "u32"), fixed)
    return Operation((type_,), (type_, "u32"), lambda a, by: shifted(a, by, left))


@computes("shf")
def funnel(instruction: Instruction) -> Operation:
    """Shifts of two registers that make one number."""
    left, wraps = instruction.has("l"), instruction.has("wrap")

    def run(low: Value, high: Value, by: Value) -> Value:
        amount = (by & np.uint32(31)) if wraps else np.minimum(by, np.uint32(32))
        both = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
        wide = amount.astype(np.uint64)
        part = (both << wide) >> np.uint64(32) if left else both >> wide
        return part.astype(np.uint32)

    return Operation(("u32",), ("u32", "u32", "u32"), run)


@computes("bfe")
def extract(instruction: Instruction) -> Operation:
    """A field of bits, with its sign if the type has one."""
    type_ = type_of(instruction)
    bits = dtype_of(type_).itemsize * 8
    unsigned = np.dtype(f"u{bits // 8}")

    def run(a: Value, position: Value, length: Value) -> Value:
        first, count = position & np.uint32(0xFF), length & np.uint32(0xFF)
        part = shifted(a, first, left=False).view(unsigned)
        mask = _low_bits(count, unsigned)
        field = part & mask
        if type_[0] == "u":
            return field
        last = np.minimum(first + count - np.uint32(1), np.uint32(bits - 1))
        sign = (shifted(a.view(unsigned), last, left=False) & unsigned.type(1)) != 0
        whole = np.where((count > 0) & sign, field | ~mask, field)
        return whole.view(a.dtype)

    return Operation((type_,), (type_, "u32", "u32"), run)


def _low_bits(count: Value, dtype: np.dtype[Any]) -> Value:
    """Numbers with this many low bits set."""
    mask: Value = shifted(dtype.type(1), count, left=True) - dtype.type(1)
    return mask


@computes("bfi")
def insert(instruction: Instruction) -> Operation:
    """A field of bits put into another number."""
    type_ = _unsigned(type_of(instruction))
    dtype = dtype_of(type_)

    def run(a: Value, b: Value, position: Value, length: Value) -> Value:
        first, count = position & np.uint32(0xFF), length & np.uint32(0xFF)
        mask = shifted(_low_bits(count, dtype), first, left=True)
        made: Value = (b & ~mask) | (shifted(a, first, left=True) & mask)
        return made

    return Operation((type_,), (type_, type_, "u32", "u32"), run)


@computes("bmsk")
def mask_of(instruction: Instruction) -> Operation:
    """A mask of bits from a position on."""
    clamps = instruction.has("clamp")

    def run(position: Value, length: Value) -> Value:
        first, count = (
            (position, length) if clamps else (position & np.uint32(31), length & np.uint32(31))
        )
        return shifted(_low_bits(count, np.dtype(np.uint32)), first, left=True)

    return Operation(("u32",), ("u32", "u32"), run)


@computes("popc", "clz", "brev", "bfind")
def counts(instruction: Instruction) -> Operation:
    """Counts and positions of bits."""
    type_, opcode = type_of(instruction), instruction.opcode
    if opcode == "popc":
        return Operation(("u32",), (_unsigned(type_),), ones)
    if opcode == "clz":
        return Operation(("u32",), (_unsigned(type_),), leading_zeros)
    if opcode == "brev":
        return Operation((_unsigned(type_),), (_unsigned(type_),), reversed_bits)
    from_top = instruction.has("shiftamt")

    def find(a: Value) -> Value:
        whole = np.where(a < 0, ~a, a) if type_[0] == "s" else a
        number = whole.view(f"u{a.dtype.itemsize}")
        zeros = leading_zeros(number)
        place = zeros if from_top else np.uint32(a.dtype.itemsize * 8 - 1) - zeros
        return np.where(number == 0, np.uint32(0xFFFFFFFF), place)

    return Operation(("u32",), (type_,), find)


def ones(a: Value) -> Value:
    """How many bits are set."""
    as_bytes = np.ascontiguousarray(a).view(np.uint8).reshape(-1, a.dtype.itemsize)
    counted: Value = np.unpackbits(as_bytes, axis=1).sum(axis=1, dtype=np.uint32)
    return counted.reshape(np.shape(a))


def leading_zeros(a: Value) -> Value:
    """How many bits above the highest one are not set."""
    bits = a.dtype.itemsize * 8
    found = a
    step = 1
    while step < bits:
        found = found | (found >> found.dtype.type(step))
        step *= 2
    return np.uint32(bits) - ones(found)


def reversed_bits(a: Value) -> Value:
    """The bits in the other order."""
    size = a.dtype.itemsize
    as_bytes = np.ascontiguousarray(a).view(np.uint8).reshape(-1, size)
    turned = np.packbits(np.unpackbits(as_bytes, axis=1), axis=1, bitorder="little")[:, ::-1]
    return np.ascontiguousarray(turned).view(a.dtype).reshape(np.shape(a))


@computes("prmt")
def permute(instruction: Instruction) -> Operation:
    """Bytes picked from two registers."""
    modes = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"} & set(instruction.modifiers)
    if modes:
        raise UnsupportedError(f"the mode .{min(modes)} is not computed")

    def run(a: Value, b: Value, select: Value) -> Value:
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        made: Value = np.zeros(np.broadcast(a, b, select).shape, np.uint32)[()]
        for place in range(4):
            pick = (select >> np.uint32(4 * place)) & np.uint32(15)
            from_bit = ((pick & np.uint32(7)) * np.uint32(8)).astype(np.uint64)
            byte = ((both >> from_bit) & np.uint64(0xFF)).astype(np.uint32)
            sign = np.where(byte & np.uint32(0x80), np.uint32(0xFF), np.uint32(0))
            byte = np.where(pick & np.uint32(8), sign, byte)
            made = made | (byte << np.uint32(8 * place))
        return made

    return Operation(("u32",), ("u32", "u32", "u32"), run)


@computes("lop3")
def lookup(instruction: Instruction) -> Operation:
    """Any logic of three registers, by a table of eight bits."""
    if instruction.has("and", "or", "BoolOp"):
        raise UnsupportedError("a result in a predicate is not computed")
    table = instruction.operands[-1]
    if not isinstance(table, Immediate):
        raise UnsupportedError("a table that is no number is not computed")
    chosen = [bits for bits in range(8) if int(table.value) >> bits & 1]

    def run(a: Value, b: Value, c: Value, _: Value) -> Value:
        made: Value = np.zeros(np.broadcast(a, b, c).shape, np.uint32)[()]
        for bits in chosen:
            part = (a if bits & 4 else ~a) & (b if bits & 2 else ~b) & (c if bits & 1 else ~c)
            made = made | part
        return made

    return Operation(("u32",), ("u32", "u32", "u32", "u32"), run)


@computes("szext")
def extend(instruction: Instruction) -> Operation:
    """The low bits of a number, extended."""
    type_, wraps = type_of(instruction), instruction.has("wrap")

    def run(a: Value, count: Value) -> Value:
        many = count & np.uint32(31) if wraps else np.minimum(count, np.uint32(32))
        up = np.uint32(32) - many
        return shifted(shifted(a, up, left=True), up, left=False)

    return Operation((type_,), (type_, "u32"), run)


@computes("fns")
def nth_set(_: Instruction) -> Operation:
    """The place of the n-th set bit from a base on."""

    def run(mask: Value, base: Value, offset: Value) -> Value:
        shape = np.broadcast(mask, base, offset).shape
        bit = np.arange(32)
        is_set = (np.broadcast_to(mask, shape)[..., None] >> bit.astype(np.uint32)) & 1 != 0
        at, by = np.broadcast_to(base, shape)[..., None], np.broadcast_to(offset, shape)[..., None]
        up = is_set & (bit >= at)
        down = is_set & (bit <= at)
        rank_up = np.cumsum(up, axis=-1)
        rank_down = np.cumsum(down[..., ::-1], axis=-1)[..., ::-1]
        here = np.where(
            by == 0, is_set & (bit == at), np.where(by > 0, up & (rank_up == by), False)
        )
        here = np.where(by < 0, down & (rank_down == -by), here)
        found = np.where(here.any(axis=-1), here.argmax(axis=-1), 0xFFFFFFFF)
        return found.astype(np.uint32)

    return Operation(("u32",), ("u32", "u32", "s32"), run)
