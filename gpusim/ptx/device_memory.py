"""Global memory: arrays side by side, and which bytes of them an access means."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from attrs import define
from numpy.typing import NDArray

from gpusim.core.warp_program import Buffer
from gpusim.programs.device import ALIGNMENT_BYTES, BASE_ADDRESS
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.values import Value

_GRAIN = 16
"""Bytes to which contents are filled up: elements of each type lie within."""

_FAR = 1 << 44
"""Bytes behind all arrays, from which on an address is likely one of the host's memory."""


class AccessError(Exception):
    """An access outside of all arrays, or at an address that is no multiple of its size.

    Attributes:
        instruction: that accesses.
    """

    instruction: Instruction | None = None


@define(eq=False)
class Array:
    """An array in global memory.

    Attributes:
        name: for reports.
        base: virtual byte address.
        bytes: its size.
        data: (bytes or a little more,) uint8, its contents.
    """

    name: str
    base: int
    bytes: int
    data: NDArray[np.uint8]

    @property
    def buffer(self) -> Buffer:
        """As the machine sees it."""
        return Buffer(self.name, self.base, self.bytes)


def padded(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A copy of (n,) bytes, filled up so that views of all types end with it."""
    made = np.zeros(-(-max(data.size, 1) // _GRAIN) * _GRAIN, np.uint8)
    made[: data.size] = data
    return made


def view_of(data: NDArray[np.uint8], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same memory as elements of a type."""
    return data.view(dtype)


class DeviceMemory:
    """Arrays in the order of their allocation, as `gpusim.programs.device.AddressSpace` has them.

    Attributes:
        arrays: all arrays.
    """

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._bases: list[int] = []
        self._next = BASE_ADDRESS

    def place(self, name: str, contents: NDArray[np.uint8]) -> Array:
        """A new array with a copy of these bytes."""
        made = Array(name, self._next, contents.size, padded(contents))
        self.arrays.append(made)
        self._bases.append(made.base)
        self._next += max(1, -(-made.bytes // ALIGNMENT_BYTES)) * ALIGNMENT_BYTES
        return made

    def array_at(self, address: int) -> Array | None:
        """The array in which an address lies."""
        place = bisect_right(self._bases, address) - 1
        if place < 0:
            return None
        found = self.arrays[place]
        return found if address < found.base + found.bytes else None

    def parts(self, address: Value, bytes_: int) -> list[tuple[Array, Any, Value]]:
        """An access by the arrays that it goes to.

        Args:
            address: (n,) byte addresses, n at least 1; or one, without an axis.
            bytes_: of each.

        Returns:
            for each array: it; which of the addresses lie in it (`...`: all); and their offsets.

        Raises:
            AccessError: one lies in no array, or is no multiple of its size.
        """
        if (address & np.int64((bytes_ & -bytes_) - 1)).any():
            wrong = address[(address % bytes_) != 0] if address.ndim else address
            raise AccessError(
                f"address {int(np.ravel(wrong)[0]):#x} is no multiple of {bytes_} bytes"
            )
        low, high = int(address.min()), int(address.max())
        first = self.array_at(low)
        if first is not None and high + bytes_ <= first.base + first.bytes:
            return [(first, ..., address - np.int64(first.base))]
        return self._scattered(address, bytes_)

    def _scattered(self, address: Value, bytes_: int) -> list[tuple[Array, Any, Value]]:
        flat = np.atleast_1d(address)
        place = np.searchsorted(np.array(self._bases), flat, side="right") - 1
        found: list[tuple[Array, Any, Value]] = []
        for number in np.unique(place).tolist():
            which = np.flatnonzero(place == number)
            if number < 0:
                raise AccessError(self._outside(int(flat[which[0]]), bytes_))
            array = self.arrays[number]
            offset = flat[which] - array.base
            outside = offset + bytes_ > array.bytes
            if outside.any():
                raise AccessError(self._outside(int(flat[which[np.argmax(outside)]]), bytes_))
            found.append((array, which if address.ndim else ..., offset))
        return found

    def _outside(self, address: int, bytes_: int) -> str:
        place = bisect_right(self._bases, address) - 1
        near = ""
        if place >= 0:
            array = self.arrays[place]
            inside = address - array.base
            near = f"; {array.name!r} before it has {array.bytes} bytes, this is byte {inside}"
            if inside > _FAR:
                near = "; is it a pointer of the host's? Those in arrays are captured.address(…)"
        return f"{bytes_} bytes at {address:#x} lie in no array{near}"
