"""An application's virtual address space and the arrays in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from attrs import define, field
from numpy.typing import DTypeLike, NDArray

from gpusim.core.errors import UserError, few, nearest
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.warp_program import Buffer
from gpusim.programs.caching_allocator import CachingAllocator, leave_holes

BASE_ADDRESS = 0x1_0000_0000
"""Where every address space starts (our choice): above 4 GiB, so that no address fits 32 bits."""

ALIGNMENT_BYTES = 4096
"""Arrays start at multiples of it and follow each other without a gap (our choice)."""

OWN_ALIGNMENT_BYTES = 1 << 21
"""Arrays of different GPUs of a node lie in different pieces of this size, as CUDA's allocations
do, so that pages up to it lie with one GPU."""

Scalar = TypeVar("Scalar", bound=np.generic)


class _Blank(np.ndarray[Any, np.dtype[Any]]):
    """Zeros that share one element, and stay zeros whatever is stored in them."""

    @classmethod
    def of(cls, length: int, dtype: DTypeLike) -> _Blank:
        return np.broadcast_to(np.zeros((), dtype=dtype), (length,)).view(cls)

    def take(self, indices: Any, *_: Any, **__: Any) -> NDArray[Any]:  # type: ignore[override]
        return np.zeros(np.shape(indices), dtype=self.dtype)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return np.zeros(found.shape, self.dtype) if isinstance(found, np.ndarray) else found

    def __setitem__(self, _index: Any, _value: Any) -> None:
        pass

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "at":
            return None
        plain = (one.view(np.ndarray) if isinstance(one, _Blank) else one for one in inputs)
        return getattr(ufunc, method)(*plain, **options)


@define(eq=False)
class DeviceArray(Generic[Scalar]):
    """An array in device memory: its values, and where they lie.

    Attributes:
        name: for reports.
        data: (length,) its values, at least one.
        base: virtual byte address of the first element.
        element_bytes: size of an element in device memory; a bool takes 1 byte there.
        length: number of elements; 0 is possible.
        gpu, piece: see `gpusim.core.warp_program.Buffer`.
    """

    name: str
    data: NDArray[Scalar]
    base: int
    element_bytes: int
    length: int
    gpu: int | None = None
    piece: int = 0

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.length * self.element_bytes

    @property
    def is_blank(self) -> bool:
        """Whether it has no values, only addresses (`AddressSpace.blank`)."""
        return isinstance(self.data, _Blank)

    def view(self, dtype: DTypeLike) -> DeviceArray[Any]:
        """The same memory with elements of another type; they share their values."""
        size = np.dtype(dtype).itemsize
        if self.is_blank:
            data: NDArray[Any] = _Blank.of(self.bytes // size, dtype)
        else:
            data = self.data.view(dtype)
        length = self.bytes // size
        return DeviceArray(self.name, data, self.base, size, length, self.gpu, self.piece)


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

    Arrays may lie in the memory of one GPU of a node (`on`).

    Attributes:
        arrays: all arrays so far.
    """

    arrays: list[DeviceArray[np.generic]] = field(factory=list)
    _next: int = BASE_ADDRESS
    _gpu: int | None = None
    _pool: CachingAllocator | None = None
    _mapped: dict[str, set[int]] = field(factory=dict)
    """By name of a reserved array: numbers of its pieces that are mapped."""

    @contextmanager
    def on(self, gpu: int) -> Iterator[AddressSpace]:
        """What is placed meanwhile lies with a GPU: ``with memory.on(1): memory.zeros(...)``.

        Args:
            gpu: from 0 on, among those of a node that the application has.

        Raises:
            UserError: it is no number from 0 on.
        """
        if gpu < 0:
            raise UserError(
                f"memory.on({gpu!r}): there is no such GPU; allowed: a number from 0 on"
            )
        before = self._gpu
        self._move_to(gpu)
        try:
            yield self
        finally:
            self._move_to(before)

    def _move_to(self, gpu: int | None) -> None:
        """Arrays lie with another GPU from now on."""
        if gpu != self._gpu:
            self._gpu = gpu
            self._next += -self._next % OWN_ALIGNMENT_BYTES

    @contextmanager
    def pool(self, earlier: int = 0, seed: int = 0) -> Iterator[CachingAllocator]:
        """What is placed meanwhile lies where PyTorch's caching allocator puts it.

        ``with memory.pool(earlier=1000): memory.zeros(...)``: arrays begin at multiples of 512
        bytes in segments of 2 MiB, 20 MiB or their own size.

        Args:
            earlier: tensors that the process had before; every second one is gone and has left a
                hole (`gpusim.programs.caching_allocator.leave_holes`).
            seed: of their sizes and order.

        Raises:
            UserError: `earlier` is negative.
        """
        if earlier < 0:
            raise UserError(f"memory.pool(earlier={earlier}): must be 0 or more")
        allocator = CachingAllocator(self._segment)
        leave_holes(allocator, earlier, seed)
        before, self._pool = self._pool, allocator
        try:
            yield allocator
        finally:
            self._pool = before

    def _segment(self, size: int) -> int:
        """The address of a segment that the driver gives a caching allocator."""
        address = self._next + -self._next % OWN_ALIGNMENT_BYTES
        self._next = address + size
        return address

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
        return self._place(name, values, element_bytes or data.dtype.itemsize)

    def _place(self, name: str, values: NDArray[Scalar], element_bytes: int) -> DeviceArray[Scalar]:
        """Place `values` themselves, of one dimension."""
        length = values.size
        if not length:
            values = np.zeros(1, dtype=values.dtype)
        array = DeviceArray(name, values, self._next, element_bytes, length, self._gpu)
        if self._pool is not None:
            array.base = self._pool.malloc(array.bytes)
        else:
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
        """Place an array of `length` zeros; what is never written takes no memory here."""
        values = np.zeros(length, dtype=dtype)
        return self._place(name, values, values.itemsize)

    def blank(
        self, name: str, length: int, dtype: type[Scalar] | np.dtype[Scalar]
    ) -> DeviceArray[Scalar]:
        """Place an array of which the addresses matter alone, as large as a GPU's memory.

        It reads as zeros, forgets what is stored, and takes no memory here.
        """
        values = _Blank.of(length, dtype)
        return self._place(name, values, values.itemsize)

    def reserve(
        self,
        name: str,
        length: int,
        dtype: type[Scalar] | np.dtype[Scalar],
        piece: int = 2 << 20,
    ) -> DeviceArray[Scalar]:
        """Reserve addresses for a `blank` array, of which nothing is mapped at first.

        CUDA's cuMemAddressReserve.  Pieces of it are mapped and unmapped by calls that the program
        yields (`map`, `unmap`); an access to what is not mapped ends the run.

        Args:
            name: unique among such arrays.
            length: number of elements.
            dtype: of an element.
            piece: bytes that are mapped at a time: 4 KiB times a power of two.

        Raises:
            UserError: the name is taken, or a piece is of no such size.
        """
        if name in self._mapped:
            raise UserError(f"memory.reserve({name!r}): there is such an array already")
        if piece < ALIGNMENT_BYTES or piece & (piece - 1):
            raise UserError(
                f"memory.reserve({name!r}): piece = {piece} bytes; allowed: 4 KiB times a power of "
                "two, such as CUDA's 2 MiB or vAttention's 64 KiB"
            )
        self._next += -self._next % piece
        pool, self._pool = self._pool, None
        array = self.blank(name, length, dtype)
        self._pool = pool
        array.piece = piece
        self._next = array.base + -(-max(array.bytes, 1) // piece) * piece
        self._mapped[name] = set()
        return array

    def map(self, array: DeviceArray[Any], first: int, count: int) -> MappingCall:
        """A call that maps the pieces of some elements which are not mapped: yield it.

        CUDA's cuMemCreate, cuMemMap and cuMemSetAccess of each piece.
        """
        begin, end = self._bounds(array, first, count, "map")
        mapped = self._mapped[array.name]
        new = [
            number
            for number in range(begin // array.piece, -(-end // array.piece))
            if number not in mapped
        ]
        mapped.update(new)
        return _call(array, new, maps=True)

    def unmap(self, array: DeviceArray[Any], first: int, count: int) -> MappingCall:
        """A call that unmaps the pieces that hold none but some elements: yield it.

        CUDA's cuMemUnmap and cuMemRelease of each piece that is mapped.
        """
        begin, end = self._bounds(array, first, count, "unmap")
        if end == array.bytes:
            end += -end % array.piece
        mapped = self._mapped[array.name]
        old = [
            number
            for number in range(-(-begin // array.piece), end // array.piece)
            if number in mapped
        ]
        mapped.difference_update(old)
        return _call(array, old, maps=False)

    def _bounds(
        self, array: DeviceArray[Any], first: int, count: int, what: str
    ) -> tuple[int, int]:
        """The first byte of some elements, and the byte after them."""
        if array.name not in self._mapped or not array.piece:
            raise UserError(
                f"memory.{what} of {array.name!r}, which is not reserved: make it with "
                "memory.reserve(name, length, dtype)"
            )
        if not 0 <= first <= first + count <= array.length:
            raise UserError(
                f"memory.{what} of elements {first} to {first + count - 1} of {array.name!r}, "
                f"which has {array.length}"
            )
        return first * array.element_bytes, (first + count) * array.element_bytes

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
            f"there is no array {name!r}{nearest(name, names)}; allowed: {few(names, name)}"
        )

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All arrays, as the machine sees them."""
        return tuple(
            Buffer(array.name, array.base, array.bytes, array.gpu, array.piece)
            for array in self.arrays
        )


def _call(array: DeviceArray[Any], pieces: Sequence[int], *, maps: bool) -> MappingCall:
    return MappingCall(
        f"{'map' if maps else 'unmap'} {array.name}",
        maps,
        tuple(array.base + number * array.piece for number in pieces),
        array.piece,
    )
