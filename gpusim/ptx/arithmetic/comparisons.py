"""Comparisons and choices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.ptx.arithmetic.floats import flushed, flushed_half, widened
from gpusim.ptx.operations import Operation, computes
from gpusim.ptx.syntax import Instruction, Vector
from gpusim.ptx.values import UnsupportedError, Value, dtype_of, is_float

_COMPARE: dict[str, Callable[[Value, Value], Value]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_ALIAS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_COMBINE: dict[str, Callable[[Value, Value], Value]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def comparison(name: str, type_: str) -> Callable[[Value, Value], Value]:
    """Which numbers compare so.

    Raises:
        UnsupportedError: there is no such comparison.
    """
    floats = is_float(type_)
    name = _ALIAS.get(name, name)
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    if name in _COMPARE:
        plain = _COMPARE[name]
        if floats and name == "ne":  # ordered: false of no number
            return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
        return plain
    if floats and name.endswith("u") and name[:-1] in _COMPARE:
        ordered = _COMPARE[name[:-1]]
        return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)
    raise UnsupportedError(f"the comparison .{name} is not computed")


@computes("setp", "set")
def compare(instruction: Instruction) -> Operation:
    """Comparisons, perhaps combined with a predicate, into predicates or registers."""
    modifiers = [one for one in instruction.modifiers if one != "ftz"]
    source = modifiers[-1]
    if source in {"f16x2", "bf16x2"}:
        return _of_pairs(instruction, modifiers)
    combine = next((_COMBINE[one] for one in modifiers[1:] if one in _COMBINE), None)
    compares = comparison(modifiers[0], source)
    flushes = instruction.has("ftz")
    first = instruction.operands[0]
    two = isinstance(first, Vector) and len(first.items) == 2
    result = modifiers[-2] if instruction.opcode == "set" else "pred"

    def run(a: Value, b: Value, *c: Value) -> Value | tuple[Value, ...]:
        if source in {"f16", "bf16"}:
            a, b = widened(a, source), widened(b, source)
            if flushes:
                a, b = flushed_half(a), flushed_half(b)
        elif flushes:
            a, b = flushed(a), flushed(b)
        found = np.asarray(compares(a, b))[()]
        made = combine(found, c[0]) if combine else found
        if result != "pred":
            dtype = dtype_of(result)
            true = 1 if dtype.kind == "f" else -1
            return np.where(made, np.array(true).astype(dtype), dtype.type(0))
        if two:
            return made, combine(~found, c[0]) if combine else ~found
        return made

    sources = (source, source, "pred")[: 3 if combine else 2]
    if source in {"f16", "bf16"}:
        sources = ("u16", "u16", *sources[2:])
    return Operation((result,) * (2 if two else 1), sources, run)


def _of_pairs(instruction: Instruction, modifiers: list[str]) -> Operation:
    """Two comparisons, into two predicates, or into the halves of a register."""
    source = modifiers[-1]
    if any(one in _COMBINE for one in modifiers[1:]):
        raise UnsupportedError("comparisons of pairs that are combined are not computed")
    compares = comparison(modifiers[0], source[:-2])
    flushes = instruction.has("ftz")
    into = modifiers[-2] if instruction.opcode == "set" else "pred"
    true = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(into, 0xFFFF)

    def half(value: Value, up: int) -> Value:
        wide = widened((value >> np.uint32(up)).astype(np.uint16), source)
        return flushed_half(wide) if flushes else wide

    def run(a: Value, b: Value) -> Value | tuple[Value, ...]:
        low, high = (np.asarray(compares(half(a, up), half(b, up)))[()] for up in (0, 16))
        if into == "pred":
            return low, high
        ones = np.uint32(true)
        return np.where(low, ones, np.uint32(0)) | np.where(
            high, ones << np.uint32(16), np.uint32(0)
        )

    results = ("pred", "pred") if into == "pred" else ("u32",)
    return Operation(results, ("u32", "u32"), run)


@computes("selp")
def select(instruction: Instruction) -> Operation:
    """The first or the second number, by a predicate."""
    type_ = instruction.modifiers[-1]
    return Operation((type_,), (type_, type_, "pred"), lambda a, b, p: np.where(p, a, b))


@computes("slct")
def select_by_sign(instruction: Instruction) -> Operation:
    """The first number where the third is 0 or more, else the second."""
    type_, by = instruction.modifiers[-2:]
    return Operation((type_,), (type_, type_, by), lambda a, b, c: np.where(c >= 0, a, b))
