"""Conversions between types, and moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.ptx.arithmetic.floats import flushed, halved_to, narrowed, widened
from gpusim.ptx.operations import Operation, Run, computes
from gpusim.ptx.syntax import Instruction, Vector
from gpusim.ptx.values import UnsupportedError, Value, dtype_of, is_float

_TO_WHOLE: dict[str, Callable[[Value], Value]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


@computes("cvt")
def convert(instruction: Instruction) -> Operation:
    """Any conversion."""
    to, of = instruction.modifiers[-2:]
    if to in {"f16x2", "bf16x2"} and of == "f32":
        return _packed(instruction, to)
    for type_ in (to, of):
        if not is_float(type_) and type_[:1] not in {"u", "s"}:
            raise UnsupportedError(f"conversions of .{type_} are not computed")
    run = _steps(instruction, to, of)
    halves = {"f16", "bf16"}
    return Operation(("u16" if to in halves else to,), ("u16" if of in halves else of,), run)


def _steps(instruction: Instruction, to: str, of: str) -> Run:
    whole = next((_TO_WHOLE[one] for one in instruction.modifiers if one in _TO_WHOLE), None)
    rounding = next((one for one in instruction.modifiers if one in {"rn", "rz", "rm", "rp"}), "rn")
    if rounding != "rn" and to in {"f64", "tf32"}:
        raise UnsupportedError(f"the rounding .{rounding} to .{to} is not computed")
    flushes, cuts, relu = (instruction.has(one) for one in ("ftz", "sat", "relu"))

    def run(a: Value) -> Value:
        value = widened(a, of) if of in {"f16", "bf16"} else a
        if flushes:
            value = flushed(value)
        if whole and is_float(of):
            value = whole(value)
        if not is_float(to):
            return to_integer(value, to) if is_float(of) else _resized(value, to, cuts)
        if cuts:
            value = np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1))
        if relu:
            value = np.where(value > 0, value, value.dtype.type(0))
        made = _to_float(value, to, rounding)
        return flushed(made) if flushes else made

    return run


def _to_float(value: Value, to: str, rounding: str) -> Value:
    if to in {"f16", "bf16"}:
        return halved_to(value, to, rounding)
    if to == "f64":
        return value.astype(np.float64)
    if to == "tf32":
        bits = value.view(np.uint32) + np.uint32(0x1000)
        return (bits & np.uint32(0xFFFFE000)).view(np.float32)
    if value.dtype.kind != "f" and value.dtype.itemsize == 8:
        if rounding != "rn":
            raise UnsupportedError(f"the rounding .{rounding} of 64-bit integers is not computed")
        return value.astype(np.float32)
    return narrowed(value.astype(np.float64), rounding)


def to_integer(value: Value, to: str) -> Value:
    """A whole number in floating point as an integer: as near as its type allows; NaN gives 0."""
    dtype = dtype_of(to)
    limits = np.iinfo(dtype)
    wide = value.astype(np.float64)
    low, high = float(limits.min), float(limits.max)
    inside = (wide >= low) & (wide < high)
    whole = np.where(inside, wide, 0).astype(dtype)
    whole = np.where(wide >= high, dtype.type(limits.max), whole)
    return np.where(wide < low, dtype.type(limits.min), whole)


def _resized(value: Value, to: str, cuts: bool) -> Value:
    dtype = dtype_of(to)
    if not cuts:
        return value.astype(dtype)
    limits, own = np.iinfo(dtype), np.iinfo(value.dtype)
    low, high = max(limits.min, own.min), min(limits.max, own.max)
    return np.clip(value, value.dtype.type(low), value.dtype.type(high)).astype(dtype)


def _packed(instruction: Instruction, to: str) -> Operation:
    """Two f32 as 16 bits each in one register; the first one is the upper."""
    if instruction.has("satfinite"):
        raise UnsupportedError("pairs that are cut to finite numbers are not computed")
    relu, rounding = instruction.has("relu"), "rz" if instruction.has("rz") else "rn"

    def run(high: Value, low: Value) -> Value:
        if relu:
            high, low = np.maximum(high, np.float32(0)), np.maximum(low, np.float32(0))
        upper = halved_to(high, to, rounding).astype(np.uint32) << np.uint32(16)
        made: Value = upper | halved_to(low, to, rounding).astype(np.uint32)
        return made

    return Operation(("u32",), ("f32", "f32"), run)


@computes("mov")
def move(instruction: Instruction) -> Operation:
    """Moves; a register's parts from or to several registers."""
    type_ = instruction.modifiers[-1]
    to, of = instruction.operands[:2]
    if isinstance(to, Vector):
        return _unpack(type_, len(to.items))
    if isinstance(of, Vector):
        return _pack(type_, len(of.items))
    if type_ == "b128":
        raise UnsupportedError("values of 128 bits are not computed")
    return Operation((type_,), (type_,), lambda a: a)


def _part(type_: str, count: int) -> str:
    bits = int(type_[1:]) // count
    if bits not in {8, 16, 32}:
        raise UnsupportedError(f"parts of {bits} bits are not computed")
    return f"u{bits}"


def _unpack(type_: str, count: int) -> Operation:
    part = _part(type_, count)
    dtype, whole = dtype_of(part), dtype_of(type_)
    bits = dtype.itemsize * 8

    def run(a: Value) -> tuple[Value, ...]:
        return tuple((a >> whole.type(bits * k)).astype(dtype) for k in range(count))

    return Operation((part,) * count, (type_,), run)


def _pack(type_: str, count: int) -> Operation:
    part, whole = _part(type_, count), dtype_of(type_)
    bits = dtype_of(part).itemsize * 8

    def run(*parts: Value) -> Value:
        made = parts[0].astype(whole)
        for k, one in enumerate(parts[1:], 1):
            made = made | (one.astype(whole) << whole.type(bits * k))
        return made

    return Operation((type_,), (part,) * count, run)
