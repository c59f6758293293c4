"""Kernels that stand for operators of PyTorch: accesses as its own have them, sizes are ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.torch.tensors import Tensor

THREADS = 128
"""Threads of a block of elementwise kernels (PyTorch, ATen/native/cuda/CUDALoops.cuh)."""
EACH = 4
"""Elements of a thread there."""
TILE = 64
"""Rows and columns of a tile of a product (our choice)."""
DEEP = 32
"""Depth of a step of a product (our choice)."""
MOST_THREADS = 512
"""Most threads of a block with a row (our choice)."""

Lanes: TypeAlias = NDArray[np.int64]


@frozen(eq=False)
class Operand:
    """A tensor in device memory.

    Attributes:
        array: its storage, in elements of the tensor.
        vectors: the same in pieces of four elements.
        offset: elements before its first one.
        shape, strides: of its axes, strides in elements.
    """

    array: gpu.DeviceArray[Any]
    vectors: gpu.DeviceArray[Any]
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def at(self, number: Any) -> Lanes:
        """Where elements lie, by their numbers in the order of the axes."""
        place = np.full(np.shape(number), self.offset)
        for length, stride in zip(self.shape[::-1], self.strides[::-1], strict=True):
            place = place + number % length * stride
            number = number // length
        return place


Place: TypeAlias = Callable[[Tensor], Operand]
"""Where a tensor lies in device memory."""


@gpu.kernel("vectorized_elementwise", registers=32, block=THREADS, in_step=True)
def dense(
    k: gpu.BlockTracer, sources: tuple[Operand, ...], targets: tuple[Operand, ...], count: int
) -> None:
    """Four elements side by side a thread: L each source, two instructions an element, S targets.

    Takes `sources`, `targets` (dense, at multiples of four elements), `count` (elements).
    """
    where = EACH * k.t < count
    for one in sources:
        k.load(one.vectors, one.offset // EACH + k.t, where)
    k.wait(0, where)
    k.arithmetic(gpu.Unit.FP32, 2 * EACH, 2, where)
    for one in targets:
        k.store(one.vectors, one.offset // EACH + k.t, 0, where)


@gpu.kernel("unrolled_elementwise", registers=32, block=THREADS, in_step=True)
def strided(
    k: gpu.BlockTracer, sources: tuple[Operand, ...], targets: tuple[Operand, ...], count: int
) -> None:
    """Four elements a thread, a block's apart: offsets by division, L, two instructions, S.

    Takes `sources`, `targets` (of equal shapes), `count` (elements).
    """
    for step in range(EACH):
        number = (k.bx * EACH + step) * THREADS + k.tid
        where = number < count
        number = np.minimum(number, count - 1)
        k.arithmetic(gpu.Unit.INTEGER, 8 * (len(sources) + len(targets)), 4, where)
        for one in sources:
            k.load(one.array, one.at(number), where)
        k.wait(0, where)
        k.arithmetic(gpu.Unit.FP32, 2, 2, where)
        for one in targets:
            k.store(one.array, one.at(number), 0, where)


@gpu.kernel("gather_rows", registers=32, block=THREADS, in_step=True)
def gather(
    k: gpu.BlockTracer,
    table: Operand,
    index: Operand,
    out: Operand,
    rows: Lanes,
    adds: bool,
) -> None:
    """An element of a row a thread: L its index, then L the row's element, and S it.

    Takes `table` (rows), `index`, `out` (a row an index), `rows` (contents of the index), `adds`:
    the other way round, elements of `out` are added to rows of the table atomically.
    """
    width = out.shape[-1]
    count = len(rows) * width
    where = k.t < count
    number = np.minimum(k.t, count - 1)
    row, column = number // width, number % width
    k.load(index.array, index.at(row), where)
    k.wait(0, where)
    k.arithmetic(gpu.Unit.INTEGER, 6, 3, where)
    place = table.offset + rows[row] * table.strides[0] + column * table.strides[-1]
    if adds:
        k.load(out.array, out.at(number), where)
        k.wait(0, where)
        k.reduce_add(table.array, place, 0, where)
    else:
        k.load(table.array, place, where)
        k.wait(0, where)
        k.store(out.array, out.at(number), 0, where)


@gpu.kernel("indexed_elements", registers=32, block=THREADS, in_step=True)
def indexed(
    k: gpu.BlockTracer,
    table: Operand,
    indices: tuple[Operand, ...],
    other: Operand | None,
    numbers: Lanes,
    does: str,
) -> None:
    """An element of a tensor by its index a thread: L indices, then L it and S the other's, or so.

    Takes `table`, `indices`, `other` (an element an index, or one for all; or None), `numbers` (of
    elements of the table), `does`: ``"reads"`` it, ``"writes"`` it, or ``"adds"`` to it atomically.
    """
    count = len(numbers)
    where = k.t < count
    number = np.minimum(k.t, count - 1)
    for one in indices:
        own = int(np.prod(one.shape))
        k.load(one.array, one.at(np.minimum(number * own // count, own - 1)), where)
    k.wait(0, where)
    k.arithmetic(gpu.Unit.INTEGER, 6, 3, where)
    place = table.at(numbers[number])
    if does == "reads":
        k.load(table.array, place, where)
        k.wait(0, where)
        if other is not None:
            k.store(other.array, other.at(number), 0, where)
        return
    if other is not None:
        own = max(int(np.prod(other.shape)), 1)
        k.load(other.array, other.at(number % own), where)
        k.wait(0, where)
    if does == "adds":
        k.reduce_add(table.array, place, 0, where)
    else:
        k.store(table.array, place, 0, where)


@gpu.kernel("rows", registers=32, shared=128, in_step=True)
def rows(
    k: gpu.BlockTracer,
    sources: tuple[Operand, ...],
    targets: tuple[Operand, ...],
    width: int,
    passes: int,
) -> gpu.Steps:
    """A row a block: L its elements `passes` times, with a sum over the block after each but last.

    Takes `sources` (rows of `width` elements; or a row for all), `targets`, `width`, `passes`.
    """
    for number in range(passes):
        last = number == passes - 1
        for column, where in gpu.rounds(k.tid, width, k.shape.threads):
            for one in sources:
                own = one.shape[-1] if one.shape else 1
                row = 0 if int(np.prod(one.shape)) == own else k.bx
                k.load(one.array, one.at(row * own + np.minimum(column, own - 1)), where)
            k.wait(0, where)
            k.arithmetic(gpu.Unit.FP32, 4, 2, where)
            for one in targets if last else ():
                wide = one.shape[-1] if one.shape else 1
                kept = column < wide if where is None else where & (column < wide)
                place = (k.bx * wide + np.minimum(column, wide - 1)) % max(
                    int(np.prod(one.shape)), 1
                )
                k.store(one.array, one.at(place), 0, kept)
            yield
        if not last:
            k.arithmetic(gpu.Unit.FP32, 10, 10)
            k.shared_store(1, k.tid % 32 == 0)
            k.barrier()
            k.shared_load(1)
            k.wait()


def _tile(k: gpu.BlockTracer, one: Operand, batch: int, first: tuple[Any, Any], deep: int) -> None:
    """Load a tile of `TILE` rows and `deep` columns, along the axis whose elements are neighbours.

    Rows and columns beyond the matrix are left out.
    """
    lengths, strides = one.shape[-2:], one.strides[-2:]
    by_rows = strides[1] == 1 or strides[0] != 1
    along, across = (deep, TILE) if by_rows else (TILE, deep)
    wide = EACH if min(strides) == 1 and _aligned(one) else 1
    pieces = along // wide * across
    for start in range(0, pieces, k.shape.threads):
        number = start + k.tid
        fast, slow = number % (along // wide) * wide, number // (along // wide)
        row, column = (slow, fast) if by_rows else (fast, slow)
        row, column = first[0] + row, first[1] + column
        where = (number < pieces) & (row < lengths[0]) & (column < lengths[1])
        place = one.offset + batch + row * strides[0] + column * strides[1]
        place = np.where(where, place, one.offset)
        if wide == 1:
            k.load(one.array, place, where)
        else:
            k.load(one.vectors, place // EACH, where)


def multiply_tiles(k: gpu.BlockTracer) -> None:
    """Two tiles that were loaded go through shared memory to the tensor units."""
    k.wait()
    k.shared_store(4, times=2)
    k.barrier()
    k.shared_load(2, times=4)
    k.wait()
    k.arithmetic(gpu.Unit.TENSOR, 16, 2)
    k.barrier()


def _aligned(one: Operand) -> bool:
    """Whether pieces of four elements begin at multiples of four."""
    return one.offset % EACH == 0 and all(
        stride % EACH == 0 for stride in one.strides if stride != 1
    )


@gpu.kernel("gemm", registers=64, shared=2 * TILE * DEEP * 4)
def product(
    k: gpu.BlockTracer,
    left: Operand,
    right: Operand,
    out: Operand,
    added: Operand | None,
    batches: int,
) -> gpu.Steps:
    """A tile of 64 × 64 a block, 32 deep a step: L both tiles, barrier, products, barrier; S it.

    Takes `left` (…, rows, depth), `right` (…, depth, columns), `out`, `added` (to it, as `out`, L),
    `batches` (of leading axes).
    """
    depth = left.shape[-1]
    row, column = k.by * TILE, k.bx * TILE
    across = Operand(
        right.array,
        right.vectors,
        right.offset,
        (*right.shape[:-2], right.shape[-1], right.shape[-2]),
        (*right.strides[:-2], right.strides[-1], right.strides[-2]),
    )
    at = [_batch(one, k.bz, batches) for one in (left, across, out)]
    for step in range(0, depth, DEEP):
        _tile(k, left, at[0], (row, step), DEEP)
        _tile(k, across, at[1], (column, step), DEEP)
        multiply_tiles(k)
        yield
    for start in range(0, TILE * TILE, k.shape.threads):
        number = start + k.tid
        y, x = row + number // TILE, column + number % TILE
        where = (y < out.shape[-2]) & (x < out.shape[-1])
        if added is not None:
            own = added.offset + _batch(added, k.bz, batches)
            own = own + y * added.strides[-2] + x * added.strides[-1]
            k.load(added.array, np.where(where, own, added.offset), where)
            k.wait(0, where)
        place = out.offset + at[2] + y * out.strides[-2] + x * out.strides[-1]
        k.store(out.array, np.where(where, place, out.offset), 0, where)
        yield


def _batch(one: Operand, number: int, batches: int) -> int:
    """Elements before the matrix of a batch."""
    place = 0
    for length, stride in zip(one.shape[:-2][::-1], one.strides[:-2][::-1], strict=True):
        place += number % length * stride
        number //= length
    return place if batches > 1 else 0


def _tiles_of(query: Operand) -> int:
    """Bytes of a tile of keys and one of values."""
    return 2 * TILE * query.shape[-1] * query.array.element_bytes


@gpu.kernel("attention", registers=128, shared=_tiles_of)
def attend(
    k: gpu.BlockTracer,
    query: Operand,
    key: Operand,
    value: Operand,
    out: Operand,
    causal: bool,
) -> gpu.Steps:
    """64 queries of a head a block (FlashAttention): L them, then each tile of keys and values; S.

    Takes `query`, `key`, `value`, `out` (batch, head, token, element), `causal`.
    """
    heads = query.shape[0] * query.shape[1]
    width, keys = query.shape[-1], key.shape[-2]
    first = k.bx * TILE
    at = {id(one): _batch(one, k.by, heads) for one in (query, out)}
    group = max(query.shape[1] // key.shape[1], 1)
    own = k.by // query.shape[1] * key.shape[1] + k.by % query.shape[1] // group
    of_keys = [_batch(one, own, heads) for one in (key, value)]
    _tile(k, query, at[id(query)], (first, 0), width)
    k.wait()
    end = min(keys, first + TILE + keys - query.shape[-2]) if causal else keys
    for start in range(0, end, TILE):
        _tile(k, key, of_keys[0], (start, 0), width)
        _tile(k, value, of_keys[1], (start, 0), width)
        k.wait()
        k.shared_store(4, times=2)
        k.barrier()
        k.shared_load(2, times=8)
        k.wait()
        k.arithmetic(gpu.Unit.TENSOR, 64, 4)
        k.arithmetic(gpu.Unit.SPECIAL, 16, 2)
        k.barrier()
        yield
    for piece in range(0, TILE * width, k.shape.threads):
        number = piece + k.tid
        row, column = first + number // width, number % width
        where = (number < TILE * width) & (row < out.shape[-2])
        place = out.offset + at[id(out)] + row * out.strides[-2] + column * out.strides[-1]
        k.store(out.array, np.where(where, place, out.offset), 0, where)
        yield
