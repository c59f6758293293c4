"""An application's virtual address space and the arrays in it."""

from __future__ import annotations

from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from attrs import define, field
from numpy.typing import DTypeLike, NDArray

from gpusim.core.errors import UserError, nearest
from gpusim.core.warp_program import Buffer

BASE_ADDRESS = 0x1_0000_0000
"""Where every address space starts (our choice): above 4 GiB, so that no address fits 32 bits."""

ALIGNMENT_BYTES = 4096
"""Arrays start at multiples of it and follow each other without a gap (our choice)."""

Scalar = TypeVar("Scalar", bound=np.generic)


@define(eq=False)
class DeviceArray(Generic[Scalar]):
    """An array in device memory: its values, and where they lie.

    Attributes:
        name: for reports.
        data: (length,) its values, at least one.
        base: virtual byte address of the first element.
        element_bytes: size of an element in device memory; a bool takes 1 byte there.
        length: number of elements; 0 is possible.
    """

    name: str
    data: NDArray[Scalar]
    base: int
    element_bytes: int
    length: int

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.length * self.element_bytes

    def view(self, dtype: DTypeLike) -> DeviceArray[Any]:
        """The same memory with elements of another type; they share their values."""
        data = self.data.view(dtype)
        size = data.dtype.itemsize
        return DeviceArray(self.name, data, self.base, size, self.bytes // size)


Ints: TypeAlias = DeviceArray[np.int32]
Longs: TypeAlias = DeviceArray[np.int64]
Floats: TypeAlias = DeviceArray[np.float32]
Doubles: TypeAlias = DeviceArray[np.float64]
Bytes: TypeAlias = DeviceArray[np.uint8]
Words: TypeAlias = DeviceArray[np.uint32]
Vectors: TypeAlias = DeviceArray[np.void]
"""Several values that a thread loads or stores at once, as one element."""


@define(eq=False)
class AddressSpace:
    """A bump allocator: arrays one after the other, in the order of their allocation.

    Attributes:
        arrays: all arrays so far.
    """

    arrays: list[DeviceArray[np.generic]] = field(factory=list)
    _next: int = BASE_ADDRESS

    def allocate(
        self, name: str, data: NDArray[Scalar], element_bytes: int | None = None
    ) -> DeviceArray[Scalar]:
        """Place a copy of `data`, flattened; read-only data is shared instead of copied.

        Args:
            name: for reports.
            data: initial values, any shape.
            element_bytes: size of an element in device memory if it is not numpy's.
        """
        flat = data.reshape(-1)
        values = flat.copy() if flat.flags.writeable else flat
        if not flat.size:
            values = np.zeros(1, dtype=data.dtype)
        array = DeviceArray(
            name, values, self._next, element_bytes or data.dtype.itemsize, flat.size
        )
        pages = max(1, -(-array.bytes // ALIGNMENT_BYTES))
        self._next += pages * ALIGNMENT_BYTES
        self.arrays.append(array)  # type: ignore[arg-type]
        return array

    def read_only(self, name: str, data: NDArray[Scalar]) -> DeviceArray[Scalar]:
        """Place `data` itself, flattened, which is never written from here on."""
        data.flags.writeable = False
        return self.allocate(name, data)

    def zeros(
        self, name: str, length: int, dtype: type[Scalar] | np.dtype[Scalar]
    ) -> DeviceArray[Scalar]:
        """Place an array of `length` zeros."""
        return self.allocate(name, np.zeros(length, dtype=dtype))

    def __getitem__(self, name: str) -> DeviceArray[Any]:
        """The first array of that name, to look at a program's results.

        Raises:
            UserError: there is none.
        """
        for array in self.arrays:
            if array.name == name:
                return array
        names = [array.name for array in self.arrays]
        raise UserError(
            f"there is no array {name!r}{nearest(name, names)}; allowed: {', '.join(names)}"
        )

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All arrays, as the machine sees them."""
        return tuple(Buffer(array.name, array.base, array.bytes) for array in self.arrays)
