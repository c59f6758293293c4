"""Types of PTX as numpy has them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Value: TypeAlias = NDArray[Any]
"""(threads,) values, or one that all threads have in common, without an axis."""

_WIDTHS = (8, 16, 32, 64)

_DTYPES: dict[str, str] = {
    **{f"{kind}{bits}": f"u{bits // 8}" for kind in "bu" for bits in _WIDTHS},
    **{f"s{bits}": f"i{bits // 8}" for bits in _WIDTHS},
    "pred": "?",
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "bf16": "u2",
    "tf32": "f4",
    "f16x2": "u4",
    "bf16x2": "u4",
}

DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(code) for name, code in _DTYPES.items()}
"""Types of operands; those of which numpy has none (bf16, pairs) by their bits."""

COMBINES: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
"""What makes one number of many, by its name in atomics and reductions."""


class UnsupportedError(Exception):
    """An instruction, or a form of one, that the executor does not compute; says what."""


def dtype_of(type_: str) -> np.dtype[Any]:
    """The numpy type of a PTX type.

    Raises:
        UnsupportedError: there is none.
    """
    found = DTYPES.get(type_)
    if found is None:
        raise UnsupportedError(f"values of type .{type_} are not computed")
    return found


def is_float(type_: str) -> bool:
    """Whether it is a floating-point type of one number."""
    return type_ in {"f16", "bf16", "f32", "f64", "tf32"}


def constant(value: int | float, type_: str) -> Value:
    """A number as a value of a type; integers wrap, a hexadecimal float gives its bits.

    Raises:
        UnsupportedError: numpy has no such type.
    """
    dtype = dtype_of(type_)
    made: Any
    if dtype.kind == "f":
        made = dtype.type(value)
    elif isinstance(value, float):
        of = np.float32 if dtype.itemsize == 4 else np.float64
        made = np.array(of(value)).view(f"u{of(0).itemsize}").astype(dtype)[()]
    elif dtype.kind == "b":
        made = np.bool_(value != 0)
    else:
        bits = 8 * dtype.itemsize
        wrapped = value & ((1 << bits) - 1)
        made = np.array(wrapped, dtype=f"u{dtype.itemsize}").view(dtype)[()]
    result: Value = made
    return result


def reinterpreted(value: Value, dtype: np.dtype[Any]) -> Value:
    """The bits of a value as another type: cut if it is narrower, extended if it is wider."""
    have = value.dtype
    if have == dtype:
        return value
    if have.itemsize == dtype.itemsize and have.kind != "b" and dtype.kind != "b":
        return value.view(dtype)
    if have.kind == "f":
        value = value.view(f"u{have.itemsize}")
    if dtype.kind == "f":
        return value.astype(f"u{dtype.itemsize}").view(dtype)
    return value.astype(dtype)
