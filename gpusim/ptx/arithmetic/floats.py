"""Floating point: IEEE's sums, products and quotients; functions that GPUs approximate.

What PTX calls approximate (``.approx``, ``.full``) is computed with more bits and rounded, so it
may differ from a GPU in the last bits.  Sums and products are exact to the bit in ``f16``, ``bf16``
and ``f32``; a fused ``f64`` product is within one unit in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.ptx.operations import Operation, Run, computes
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.values import UnsupportedError, Value, dtype_of

_ROUNDINGS = ("rz", "rm", "rp")
_FEWEST = np.float32(np.finfo(np.float32).tiny)
_FEWEST_HALF = np.float32(np.finfo(np.float16).tiny)


def float_arithmetic(instruction: Instruction, type_: str) -> Operation:
    """add, sub, mul, mad, fma, div, min, max, abs, neg of floating point."""
    opcode = "fma" if instruction.opcode == "mad" else instruction.opcode
    places = {"fma": 3, "abs": 1, "neg": 1}.get(opcode, 2)
    run = _run(instruction, opcode)
    if type_ == "f64" and opcode == "fma":
        run = _fused_double
    if type_ in {"f16", "bf16", "f16x2", "bf16x2"}:
        return _of_halves(type_, places, _narrow(instruction, opcode, run))
    return Operation((type_,), (type_,) * places, _finished(instruction, run))


def _run(instruction: Instruction, opcode: str) -> Callable[..., Value]:
    many = instruction.has("NaN")
    runs: dict[str, Callable[..., Any]] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "min": np.minimum if many else np.fmin,
        "max": np.maximum if many else np.fmax,
        "abs": np.abs,
        "neg": np.negative,
        "fma": _fused,
    }
    if opcode not in runs:
        raise UnsupportedError(f"{opcode} of floating point is not computed")
    if instruction.has("xorsign"):
        raise UnsupportedError(".xorsign is not computed")
    rounding = next((one for one in _ROUNDINGS if instruction.has(one)), None)
    if rounding and opcode in {"add", "sub", "mul", "fma", "div"}:
        if instruction.has("f64"):
            raise UnsupportedError(f"the rounding .{rounding} of f64 is not computed")
        return rounded_to(_doubled(runs[opcode], opcode), rounding)
    return runs[opcode]


def _doubled(run: Callable[..., Any], opcode: str) -> Callable[..., Value]:
    """The result with the bits of f64, before it is rounded."""

    def doubled(*sources: Value) -> Value:
        a, b, *c = (one.astype(np.float64) for one in sources)
        if opcode == "fma":
            return _odd_sum(a * b, c[0])
        if opcode in {"add", "sub"}:
            return _odd_sum(a, b if opcode == "add" else -b)
        made: Value = run(a, b)
        return made

    return doubled


def rounded_to(doubled: Callable[..., Value], rounding: str) -> Callable[..., Value]:
    """An f64 result as f32, rounded towards 0 (rz), down (rm) or up (rp)."""

    def run(*sources: Value) -> Value:
        return narrowed(doubled(*sources), rounding)

    return run


def narrowed(wide: Value, rounding: str) -> Value:
    """f64 as f32, rounded to the nearest (rn), towards 0 (rz), down (rm) or up (rp)."""
    near = wide.astype(np.float32)
    if rounding == "rn":
        return near
    back = near.astype(np.float64)
    zero, most = np.float32(0), np.float32(np.inf)
    if rounding == "rz":
        away = np.abs(back) > np.abs(wide)
        return np.where(away, np.nextafter(near, zero), near)
    if rounding == "rm":
        return np.where(back > wide, np.nextafter(near, -most), near)
    return np.where(back < wide, np.nextafter(near, most), near)


def _odd_sum(a: Value, b: Value) -> Value:
    """A sum in f64 whose last bit says whether it is exact, so that it can be rounded once more.

    Rounding to odd (Boldo and Melquiond, 2008).
    """
    total = np.asarray(a + b, dtype=np.float64)
    other = total - a
    lost = (a - (total - other)) + (b - other)
    bits = total.view(np.int64)
    inexact = (lost != 0) & np.isfinite(total) & ((bits & 1) == 0)
    up = (lost > 0) == (total > 0)
    made: Value = np.where(inexact, bits + np.where(up, 1, -1), bits).view(np.float64)
    return made


def _fused(a: Value, b: Value, c: Value) -> Value:
    """A product and a sum with one rounding, of f32 (and of what is narrower)."""
    return _odd_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)).astype(
        np.float32
    )


_SPLIT = np.float64(134217729.0)


def _halves_of(a: Value) -> tuple[Value, Value]:
    big = a * _SPLIT
    high = big - (big - a)
    return high, a - high


def _fused_double(a: Value, b: Value, c: Value) -> Value:
    """A product and a sum of f64 with the product's error kept (Dekker, 1971)."""
    product = a * b
    (ah, al), (bh, bl) = _halves_of(a), _halves_of(b)
    lost = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    total = product + c
    other = total - product
    rest = (product - (total - other)) + (c - other)
    exact = total + (rest + lost)
    made: Value = np.where(np.isfinite(exact), exact, total)
    return made


def _finished(instruction: Instruction, run: Callable[..., Value]) -> Run:
    """With subnormal numbers taken for 0 (.ftz), and results cut to 0…1 (.sat)."""
    flushes, cuts = instruction.has("ftz"), instruction.has("sat")
    if not flushes and not cuts:
        return run

    def finished(*sources: Value) -> Value:
        if flushes:
            sources = tuple(map(flushed, sources))
        made = run(*sources)
        if flushes:
            made = flushed(made)
        if cuts:
            made = np.where(np.isnan(made), made.dtype.type(0), np.clip(made, 0, 1))
        return made

    return finished


def flushed(value: Value) -> Value:
    """f32 with subnormal numbers as 0."""
    if value.dtype != np.float32:
        return value
    return np.where(np.abs(value) < _FEWEST, np.copysign(np.float32(0), value), value)


def flushed_half(value: Value) -> Value:
    """Numbers of f16, in more bits, with subnormal ones as 0."""
    return np.where(np.abs(value) < _FEWEST_HALF, np.copysign(value.dtype.type(0), value), value)


# -- halves ----------------------------------------------------------------------------------------


def widened(bits: Value, type_: str) -> Value:
    """The numbers that 16 bits mean, as f32."""
    if type_.startswith("bf"):
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return bits.view(np.float16).astype(np.float32)


def halved(value: Value, type_: str) -> Value:
    """f32 (or f64 that was rounded to odd) as 16 bits, rounded to the nearest."""
    if not type_.startswith("bf"):
        return value.astype(np.float16).view(np.uint16)
    bits = _odd_single(value).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    near = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(value), np.uint16(0x7FFF), near)


def halved_to(value: Value, type_: str, rounding: str) -> Value:
    """Numbers as 16 bits, rounded towards 0 (rz), down (rm) or up (rp), or to the nearest."""
    near = halved(value, type_)
    if rounding == "rn":
        return near
    back, wide = widened(near, type_).astype(np.float64), value.astype(np.float64)
    negative = np.signbit(wide)
    shorter = {"rz": np.ones_like(negative), "rm": ~negative, "rp": negative}[rounding]
    down = shorter & (np.abs(back) > np.abs(wide))
    up = ~shorter & (np.abs(back) < np.abs(wide))
    return near - down.astype(np.uint16) + up.astype(np.uint16)


def _odd_single(value: Value) -> Value:
    """A number as f32, rounded to odd, so that it can be rounded once more."""
    if value.dtype == np.float32:
        return value
    wide = value.astype(np.float64)
    cut = narrowed(wide, "rz")
    inexact = np.isfinite(wide) & (cut.astype(np.float64) != wide)
    made: Value = (cut.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)
    return made


def _narrow(instruction: Instruction, opcode: str, run: Callable[..., Value]) -> Run:
    relu, cuts = instruction.has("relu"), instruction.has("sat")
    flushes = instruction.has("ftz")

    def narrow(*sources: Value) -> Value:
        if flushes:
            sources = tuple(map(flushed_half, sources))
        if opcode == "fma":
            made = _odd_sum(
                sources[0].astype(np.float64) * sources[1].astype(np.float64),
                sources[2].astype(np.float64),
            )
        else:
            made = run(*sources)
        if cuts:
            made = np.where(np.isnan(made), made.dtype.type(0), np.clip(made, 0, 1))
        if relu:
            made = np.where(made > 0, made, made.dtype.type(0))
        return flushed_half(made) if flushes else made

    return narrow


def _of_halves(type_: str, places: int, run: Callable[..., Any]) -> Operation:
    """One number of 16 bits, or two in a register."""

    def single(*sources: Value) -> Value:
        return halved(run(*(widened(one, type_) for one in sources)), type_)

    if not type_.endswith("x2"):
        return Operation(("u16",), ("u16",) * places, single)

    def pair(*sources: Value) -> Value:
        low = single(*(one.astype(np.uint16) for one in sources))
        high = single(*((one >> np.uint32(16)).astype(np.uint16) for one in sources))
        made: Value = low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))
        return made

    return Operation(("u32",), ("u32",) * places, pair)


# -- functions -------------------------------------------------------------------------------------


@computes("sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh")
def function(instruction: Instruction) -> Operation:
    """Functions of one number."""
    type_ = instruction.modifiers[-1]
    runs: dict[str, Callable[[Value], Value]] = {
        "sqrt": np.sqrt,
        "rsqrt": lambda a: 1 / np.sqrt(a),
        "rcp": lambda a: 1 / a,
        "ex2": np.exp2,
        "lg2": np.log2,
        "sin": np.sin,
        "cos": np.cos,
        "tanh": np.tanh,
    }
    of = runs[instruction.opcode]
    if type_ in {"f16", "bf16", "f16x2", "bf16x2"}:
        return _of_halves(type_, 1, lambda a: of(a.astype(np.float64)))
    dtype = dtype_of(type_)
    rounding = next((one for one in _ROUNDINGS if instruction.has(one)), "rn")
    if type_ == "f64":
        if rounding != "rn":
            raise UnsupportedError(f"the rounding .{rounding} of f64 is not computed")
        return Operation((type_,), (type_,), lambda a: np.asarray(of(a), dtype=dtype)[()])
    return Operation(
        (type_,),
        (type_,),
        _finished(instruction, lambda a: narrowed(of(a.astype(np.float64)), rounding)),
    )


@computes("copysign")
def copysign(instruction: Instruction) -> Operation:
    """The second number with the sign of the first."""
    type_ = instruction.modifiers[-1]
    return Operation((type_,), (type_, type_), lambda a, b: np.copysign(b, a))


@computes("testp")
def test_property(instruction: Instruction) -> Operation:
    """What kind of number it is."""
    kind, type_ = instruction.modifiers[0], instruction.modifiers[-1]
    least = np.finfo(dtype_of(type_)).tiny
    runs: dict[str, Callable[[Value], Value]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= least),
        "subnormal": lambda a: (np.abs(a) < least) & (a != 0),
    }
    return Operation(("pred",), (type_,), runs[kind])
