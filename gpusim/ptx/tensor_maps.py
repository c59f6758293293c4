"""Descriptors of tensors that kernels make (``tensormap``), and copies by them (TMA).

Kernels make one, field by field, and copy by it; one that the host has made is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.warp_program import SECTOR_BYTES, Op
from gpusim.ptx import mbarrier
from gpusim.ptx.device_memory import AccessError
from gpusim.ptx.frame import Frame, Lanes, Step
from gpusim.ptx.mbarrier import change
from gpusim.ptx.operands import Operands
from gpusim.ptx.record import WARP
from gpusim.ptx.syntax import Address, Instruction, Vector
from gpusim.ptx.tensor_map_layout import BYTES, FIELDS
from gpusim.ptx.values import UnsupportedError

_ELEMENT_BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4)
"""By ``.elemtype`` (PTX ISA, tensormap.replace)."""

_SWIZZLES = (0, 0x10, 0x30, 0x70)
"""By ``.swizzle_mode``, the bits of an address that change with those three above them."""


@frozen
class _Map:
    """What a descriptor says; axes from the innermost one on.

    Attributes:
        base: address of the tensor.
        size: bytes of an element.
        swizzle: bits of addresses in shared memory that are changed.
        box, dims: lengths of the box, and of the tensor.
        strides: in bytes.
    """

    base: int
    size: int
    swizzle: int
    box: tuple[int, ...]
    dims: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def read(cls, data: NDArray[np.uint8]) -> _Map:
        """The descriptor in 128 bytes.

        Raises:
            AccessError: no kernel has made it.
        """

        def numbers(name: str, count: int) -> tuple[int, ...]:
            first, size = FIELDS[name]
            found = data[first : first + size * count].view(f"u{size}").tolist()
            return tuple(found)

        rank = numbers("rank", 1)[0] + 1
        kind, swizzle = numbers("elemtype", 1)[0], numbers("swizzle_mode", 1)[0]
        base = numbers("global_address", 1)[0]
        if not base or rank > 5 or kind >= len(_ELEMENT_BYTES) or swizzle >= len(_SWIZZLES):
            raise AccessError("this descriptor of a tensor was not made by a kernel (tensormap)")
        size = _ELEMENT_BYTES[kind]
        return cls(
            base,
            size,
            _SWIZZLES[swizzle],
            numbers("box_dim", rank),
            numbers("global_dim", rank),
            (size, *numbers("global_stride", rank - 1)),
        )

    @property
    def bytes(self) -> int:
        """Of a box."""
        return int(np.prod(self.box)) * self.size

    def rows(self, at: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
        """The rows of a box that lie in the tensor: address, place in the box, bytes."""
        inner, count = at[0], self.box[0]
        first, last = max(inner, 0), min(inner + count, self.dims[0])
        if last <= first:
            return
        for number in range(int(np.prod(self.box[1:], dtype=int))):
            address, rest, inside = self.base, number, True
            for axis in range(1, len(self.box)):
                place = at[axis] + rest % self.box[axis]
                rest //= self.box[axis]
                inside = inside and 0 <= place < self.dims[axis]
                address += place * self.strides[axis]
            if inside:
                begin = (number * count + first - inner) * self.size
                yield address + first * self.size, begin, (last - first) * self.size

    def places(self, shared: int, first: int, count: int) -> Lanes:
        """Where bytes of a box lie in shared memory."""
        place = shared + first + np.arange(count)
        return place ^ (place >> 3 & self.swizzle)


def tensor_copy_steps(operands: Operands, one: Instruction, needed: bool) -> list[Step]:
    """``cp.async.bulk.tensor`` between global and shared memory, in tiles.

    Raises:
        UnsupportedError: it is a reduction, a prefetch, of images, or for other blocks.
    """
    if one.has("reduce", "prefetch") or any(word.startswith("im2col") for word in one.modifiers):
        raise UnsupportedError("reductions, prefetches and images in bulk are not computed")
    loads = (
        next(word for word in one.modifiers if word.startswith(("shared", "global"))) != "global"
    )
    of_map = one.operands[1 if loads else 0]
    assert isinstance(of_map, Address)
    map_at = operands.address(one, of_map)
    shared_at = operands.address(one, one.operands[0 if loads else 1])
    vector = of_map.more[0]
    items = vector.items if isinstance(vector, Vector) else (vector,)
    coordinates = [operands.reader(one, item, "s32") for item in items]
    barrier = operands.address(one, one.operands[2]) if loads else None
    guard = operands.guard(one, one.guard)

    def copy(frame: Frame) -> None:
        mask = None if guard is None else frame.spread(guard(frame))
        maps, shared = frame.spread(map_at(frame)), frame.spread(shared_at(frame))
        where = [frame.spread(read(frame)) for read in coordinates]
        for place in range(frame.count) if mask is None else np.flatnonzero(mask).tolist():
            lane = np.array([place if frame.lanes is None else frame.lanes[place]])
            described = _described(frame, one, lane, int(maps[place]))
            rows = [*described.rows(tuple(int(one[place]) for one in where))]
            _record(frame, one, int(lane[0]), rows, loads)
            if needed:
                _move(frame, lane, described, rows, (int(shared[place]), loads))
            if barrier is not None:
                at = np.broadcast_to(barrier(frame), frame.count)[place : place + 1]
                change(frame, lane, at, partial(mbarrier.came, described.bytes))

    return [copy]


def _described(frame: Frame, one: Instruction, lane: Lanes, address: int) -> _Map:
    try:
        (part,) = frame.batch.parts_of(lane, "", np.array([address]), BYTES)
        first = int(np.ravel(part.offset)[0])
        return _Map.read(part.data[first : first + BYTES])
    except AccessError as error:
        error.instruction = one
        raise


def _record(
    frame: Frame, one: Instruction, lane: int, rows: list[tuple[int, int, int]], loads: bool
) -> None:
    record = frame.batch.record
    if record is None or not rows:
        return
    record.marked(one)
    sectors = [
        np.arange(address // SECTOR_BYTES * SECTOR_BYTES, address + count, SECTOR_BYTES)
        for address, _, count in rows
    ]
    record.pieces(
        Op.LOAD if loads else Op.STORE, lane // WARP, np.concatenate(sectors), SECTOR_BYTES
    )
    if loads:
        record.copies.bulk[lane // WARP] = record.loads[lane // WARP]


def _move(
    frame: Frame,
    lane: Lanes,
    described: _Map,
    rows: list[tuple[int, int, int]],
    to: tuple[int, bool],
) -> None:
    """Copy a box; what lies outside of the tensor becomes zeros in shared memory."""
    shared, loads = to
    if loads:
        everyone = np.broadcast_to(lane, described.bytes)
        places = described.places(shared, 0, described.bytes)
        (part,) = frame.batch.parts_of(everyone, "shared", places, 1)
        part.data[part.offset] = 0
    for address, begin, count in rows:
        everyone = np.broadcast_to(lane, count)
        places = described.places(shared, begin, count)
        (inner,) = frame.batch.parts_of(everyone, "shared", places, 1)
        for outer in frame.batch.parts_of(everyone, "global", address + np.arange(count), 1):
            if loads:
                inner.data[inner.offset[outer.which]] = outer.data[outer.offset]
            else:
                outer.data[outer.offset] = inner.data[inner.offset[outer.which]]
