"""Arguments of launches: numbers as the parameters have them, arrays by their addresses."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError, nearest
from gpusim.ptx.syntax import Variable
from gpusim.ptx.value_types import bytes_of
from gpusim.ptx.values import DTYPES


def bound(
    kernel: str, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Any]:
    """Arguments in the order of the parameters.

    Raises:
        UserError: there are too few or too many, or a name is wrong.
    """
    if len(args) > len(names):
        raise UserError(
            f"kernel {kernel!r} takes {len(names)} arguments ({', '.join(names)}), not {len(args)}"
        )
    found = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise UserError(
                f"kernel {kernel!r} has no argument {name!r}{nearest(name, names)}; "
                f"its arguments: {', '.join(names)}"
            )
        if name in found:
            raise UserError(f"kernel {kernel!r}: argument {name!r} is given twice")
        found[name] = value
    missing = [name for name in names if name not in found]
    if missing:
        raise UserError(f"kernel {kernel!r}: there is no argument {', '.join(missing)}")
    return [found[name] for name in names]


def packed(kernel: str, name: str, parameter: Variable, value: Any) -> bytes:
    """A number, or a structure, as a parameter: a number of its size, or its bytes.

    Raises:
        UserError: it does not fit.
    """
    size = parameter.bytes
    if isinstance(value, bytes | bytearray | np.void):
        found = value.tobytes() if isinstance(value, np.void) else bytes(value)
        end = bytes(-len(found) % max(parameter.align, 1))
        if len(found + end) != size:
            raise _wrong(kernel, name, f"{len(found)} bytes are given for {size}")
        return found + end
    is_structure = size != bytes_of(parameter.type)
    of_its_size = isinstance(value, np.generic) and value.dtype.itemsize == size
    if of_its_size and (is_structure or value.dtype.kind != "b"):
        return bytes(value.tobytes())
    if is_structure:
        raise _wrong(
            kernel, name, f"{value!r} for a structure of {size} bytes: give a tuple of its members"
        )
    dtype = DTYPES.get(parameter.type)
    if dtype is None:
        raise _wrong(kernel, name, f"parameters of type .{parameter.type} are not supported")
    try:
        return _number(parameter.type, dtype, value)
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        raise _wrong(kernel, name, f"{value!r} is no .{parameter.type}") from error


def _number(type_: str, dtype: np.dtype[Any], value: Any) -> bytes:
    if dtype.kind == "f":
        return np.array(float(value), dtype).tobytes()
    if isinstance(value, float | np.floating):
        if type_[0] != "b":
            raise TypeError
        return np.array(value, f"f{dtype.itemsize}").tobytes()
    whole = int(value)
    bits = 8 * dtype.itemsize
    if not -(1 << bits - 1) <= whole < 1 << bits:
        raise OverflowError
    return (whole & ((1 << bits) - 1)).to_bytes(dtype.itemsize, "little")


def _wrong(kernel: str, name: str, what: str) -> UserError:
    return UserError(f"kernel {kernel!r}, argument {name!r}: {what}")


def owner_of(kernel: str, name: str, array: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """The array whose memory an argument is, and where in it the argument begins, in bytes.

    Raises:
        UserError: the argument's elements do not lie one after the other.
    """
    if array.dtype.hasobject:
        raise _wrong(kernel, name, "an array of Python's objects, which a GPU cannot read")
    if not array.flags.c_contiguous:
        raise _wrong(kernel, name, "its elements must lie one after the other (C order)")
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not owner.flags.c_contiguous:
        owner = array
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return owner, start
