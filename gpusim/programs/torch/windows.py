"""Convolutions as products of gathered matrices, and pools: windows that slide over tensors."""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.torch.kernels import DEEP, THREADS, TILE, Operand, multiply_tiles

Lanes: TypeAlias = NDArray[np.int64]
Sizes: TypeAlias = tuple[int, ...]


@frozen
class Windows:
    """Where windows lie along each axis of a picture.

    Attributes:
        size: elements of a window.
        dilation: from one of them to the next.
        step: from a window to the next one, as a fraction.
        padding: elements before the picture that the first one begins with.
    """

    size: Sizes
    dilation: Sizes
    step: tuple[tuple[int, int], ...]
    padding: Sizes

    def at(self, axis: int, window: Any, element: Any) -> Any:
        """Where an element of a window lies; it may be outside of the picture."""
        of, to = self.step[axis]
        return window * of // to - self.padding[axis] + element * self.dilation[axis]

    def of(self, axis: int, place: Any, element: Any) -> tuple[Any, Any]:
        """The window of which a place is an element, and whether there is one."""
        from_begin = place + self.padding[axis] - element * self.dilation[axis]
        step = self.step[axis][0]
        return from_begin // step, from_begin % step == 0


@frozen(eq=False)
class Matrix:
    """A tensor of pictures, seen as a matrix that a product reads or writes.

    Attributes:
        tensor: [pictures, channels, …], or weights [outer, inner, …].
        kind: what rows and columns are:
            ``"pixels"``: pixels of all pictures, channels;
            ``"patches"``: windows of all pictures, elements of a window in all channels;
            ``"origins"``: pixels of what windows slide over, windows that have them, of all
            channels;
            ``"weights"``: outer channels, elements of a window in inner channels;
            ``"turned"``: inner channels, elements of a window in outer channels.
        pixels: extent of the axes that rows are of.
        windows: that slide.
        channels: of a group.
        group: its number.
    """

    tensor: Operand
    kind: str
    pixels: Sizes
    windows: Windows
    channels: int
    group: int

    def at(self, row: Lanes, column: Lanes) -> tuple[Lanes, gpu.Mask]:
        """Places in the tensor's storage, and which of them are inside."""
        strides = self.tensor.strides
        first = self.channels * self.group
        if self.kind in {"weights", "turned"}:
            channel, element = _split(column, self.windows.size)
            outer, inner = (row, channel) if self.kind == "weights" else (channel, row)
            rest = zip(element, strides[2:], strict=True)
            place = (outer + first) * strides[0] + inner * strides[1]
            return self.tensor.offset + place + sum(e * s for e, s in rest), _all(place)
        picture, pixel = _split(row, self.pixels)
        if self.kind == "pixels":
            place = picture * strides[0] + (column + first) * strides[1]
            rest = zip(pixel, strides[2:], strict=True)
            return self.tensor.offset + place + sum(p * s for p, s in rest), _all(place)
        channel, element = _split(column, self.windows.size)
        place = picture * strides[0] + (channel + first) * strides[1]
        inside = _all(place)
        for axis, (p, e) in enumerate(zip(pixel, element, strict=True)):
            if self.kind == "patches":
                at = self.windows.at(axis, p, e)
            else:
                at, whole = self.windows.of(axis, p, e)
                inside = inside & whole
            inside = inside & (at >= 0) & (at < self.tensor.shape[axis + 2])
            place = place + at * strides[axis + 2]
        return self.tensor.offset + place, inside


def _split(number: Lanes, extent: Sizes) -> tuple[Lanes, list[Lanes]]:
    """A number as the outermost coordinate and those of some axes."""
    found = []
    for length in reversed(extent):
        found.append(number % length)
        number = number // length
    return number, found[::-1]


def _all(like: Lanes) -> gpu.Mask:
    return np.ones(np.shape(like), dtype=bool)


@gpu.kernel("implicit_gemm", registers=64, shared=2 * TILE * DEEP * 4)
def convolve(
    k: gpu.BlockTracer,
    left: tuple[Matrix, ...],
    right: tuple[Matrix, ...],
    out: tuple[Matrix, ...],
    extent: tuple[int, int, int],
    turned: bool,
) -> gpu.Steps:
    """A tile of 64 × 64 a block, 32 deep a step: L both tiles, barrier, products, barrier; S it.

    Takes `left` (of each group: rows, depth), `right` (columns, depth), `out` (rows, columns),
    `extent` (rows, columns, depth), `turned`: both are (depth, rows) and (depth, columns) instead.
    Elements of a tile are read along its depth.
    """
    rows, columns, depth = extent
    first = k.by * TILE, k.bx * TILE
    for step in range(0, depth, DEEP):
        for matrix, begin, end in (
            (left[k.bz], first[0], rows),
            (right[k.bz], first[1], columns),
        ):
            for start in range(0, TILE * DEEP, k.shape.threads):
                number = start + k.tid
                row, column = begin + number // DEEP, step + number % DEEP
                where = (row < end) & (column < depth)
                at = np.minimum(row, end - 1), np.minimum(column, depth - 1)
                place, inside = matrix.at(*(at[::-1] if turned else at))
                where = where & inside
                k.load(matrix.tensor.array, np.where(where, place, matrix.tensor.offset), where)
        multiply_tiles(k)
        yield
    for start in range(0, TILE * TILE, k.shape.threads):
        number = start + k.tid
        row, column = first[0] + number // TILE, first[1] + number % TILE
        where = (row < rows) & (column < columns)
        place, inside = out[k.bz].at(np.minimum(row, rows - 1), np.minimum(column, columns - 1))
        tensor = out[k.bz].tensor
        k.store(tensor.array, np.where(where & inside, place, tensor.offset), 0, where & inside)
        yield


@gpu.kernel("pool", registers=32, block=THREADS, in_step=True)
def pool(
    k: gpu.BlockTracer,
    source: Operand,
    targets: tuple[Operand, ...],
    windows: Windows,
) -> None:
    """An element of the result a thread: L each element of its window, two instructions; S it.

    Takes `source` ([…, picture]), `targets` ([…, windows]), `windows`.
    """
    out = targets[0].shape
    axes = len(windows.size)
    count = prod(out)
    where = k.t < count
    number = np.minimum(k.t, count - 1)
    outer, window = _split(number, out[-axes:])
    for element in np.ndindex(*windows.size):
        inside, place = where, outer
        for axis, (p, e) in enumerate(zip(window, element, strict=True)):
            length = source.shape[axis - axes]
            at = windows.at(axis, p, e)
            inside = inside & (at >= 0) & (at < length)
            place = place * length + np.clip(at, 0, length - 1)
        k.load(source.array, source.at(place), inside)
    k.wait(0, where)
    elements = prod(windows.size)
    k.arithmetic(gpu.Unit.FP32, 2 * elements, elements, where)
    for one in targets:
        k.store(one.array, one.at(number), 0, where)
