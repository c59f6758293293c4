"""Launches of recorded operators: known ones as our kernels, others not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from attrs import evolve

from gpusim.core.warp_program import Launch
from gpusim.programs.device import AddressSpace, DeviceArray
from gpusim.programs.torch import kernels
from gpusim.programs.torch.kernels import EACH, MOST_THREADS, THREADS, TILE, Operand
from gpusim.programs.torch.operators import (
    ATTENTION,
    COPIES,
    FILLS,
    LISTS,
    LOOKUPS,
    PRODUCTS,
    REDUCTIONS,
    ROWS,
    VIEWS,
)
from gpusim.programs.torch.tensors import Operation, Storage, Tensor

Place: TypeAlias = Callable[[Tensor], Operand]
Replay: TypeAlias = Callable[[Operation, Place], Iterator[Launch]]


def unknown(operations: Sequence[Operation]) -> Counter[str]:
    """Operators that are not replayed, and how often they ran."""
    return Counter(
        one.name for one in operations if one.name not in VIEWS and _replay_of(one) is None
    )


def replay(
    memory: AddressSpace, _seed: int, storages: Sequence[Storage], operations: Sequence[Operation]
) -> Iterator[Launch]:
    """The program: storages as arrays without contents, then a launch or more an operator.

    Args:
        memory: of the program.
        storages: by their numbers.
        operations: in their order.
    """
    arrays = [memory.blank(one.name, max(one.bytes, 1), np.uint8) for one in storages]

    def place(tensor: Tensor) -> Operand:
        array: DeviceArray[Any] = arrays[tensor.storage]
        size = tensor.size
        return Operand(
            array.view(np.dtype((np.void, size))),
            array.view(np.dtype((np.void, size * EACH))),
            tensor.offset,
            tensor.shape,
            tensor.strides,
        )

    for one in operations:
        own = _replay_of(one)
        if own is not None and all(tensor.count for tensor in one.outputs):
            yield from own(one, place)


def _replay_of(one: Operation) -> Replay | None:
    """What replays an operator; None: nothing does."""
    name = one.name
    looks_up = one.indices is not None
    choices: tuple[tuple[bool, Replay], ...] = (
        (name in PRODUCTS, _product),
        (name in ATTENTION, _attention),
        (name in ROWS, _rows),
        (name in REDUCTIONS, _reduction),
        (name in LOOKUPS and looks_up, _lookup),
        (name == "embedding_dense_backward" and looks_up, _scatter),
        (name in {"cat", "stack"}, _cat),
        (one.pointwise or name in FILLS | COPIES or name.startswith(LISTS), _elementwise),
    )
    return None if name in VIEWS else next((how for fits, how in choices if fits), None)


def _elementwise(one: Operation, place: Place) -> Iterator[Launch]:
    if one.name.startswith(LISTS):
        for target in one.outputs:
            same = [tensor for tensor in one.inputs if tensor.shape == target.shape]
            yield _over_elements([*same], [target], place)
        return
    reads = () if one.name in FILLS else one.inputs
    yield _over_elements(reads, one.outputs, place)


def _over_elements(sources: Sequence[Tensor], targets: Sequence[Tensor], place: Place) -> Launch:
    """A launch over all elements of the first target."""
    shape = targets[0].shape
    fitting = [one for one in targets if one.shape == shape]
    reads = [one.spread_to(shape) for one in sources if _spreads(one.shape, shape)]
    count = targets[0].count
    every = [*reads, *fitting]
    sizes = {one.size for one in every}
    placed = (tuple(map(place, reads)), tuple(map(place, fitting)))
    if (
        len(sizes) == 1
        and all(one.dense and one.offset % EACH == 0 for one in every)
        and not (count % EACH)
    ):
        return kernels.dense[-(-count // EACH)](*placed, count)
    return kernels.strided[-(-count // (EACH * THREADS)), THREADS](*placed, count)


def _spreads(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether a shape can be repeated to another one."""
    return len(shape) <= len(to) and all(
        one in {1, other} for one, other in zip(shape[::-1], to[::-1], strict=False)
    )


def _rows(one: Operation, place: Place) -> Iterator[Launch]:
    source = one.inputs[0]
    width = one.numbers.get("width") or (source.shape[-1] if source.shape else 1)
    yield _by_rows(one, place, width, ROWS[one.name])


def _reduction(one: Operation, place: Place) -> Iterator[Launch]:
    source = one.inputs[0]
    width = max(source.count // max(one.outputs[0].count, 1), 1)
    yield _by_rows(one, place, width, 1)


def _by_rows(one: Operation, place: Place, width: int, passes: int) -> Launch:
    blocks = max(one.inputs[0].count // width, 1)
    threads = min(-(-width // 32) * 32, MOST_THREADS)
    first = one.inputs[0]
    flat = evolve(first, shape=(blocks, width), strides=(width, 1))
    sources = (flat if first.dense else first, *one.inputs[1:])
    sources = tuple(tensor for tensor in sources if tensor.count in {blocks * width, width})
    return kernels.rows[blocks, threads](
        tuple(map(place, sources)), tuple(map(place, one.outputs[:1])), width, passes
    )


def _product(one: Operation, place: Place) -> Iterator[Launch]:
    at = PRODUCTS[one.name]
    left, right = one.inputs[at : at + 2]
    (out, *_) = one.outputs
    if one.name == "linear":  # the weight lies turned around
        right = evolve(right, shape=right.shape[::-1], strides=right.strides[::-1])
        rows, width = left.count // left.shape[-1], out.shape[-1]
        left = evolve(left, shape=(rows, left.shape[-1]), strides=(left.shape[-1], 1))
        out = evolve(out, shape=(rows, width), strides=(width, 1))
    if len(right.shape) == 1:
        right = evolve(right, shape=(*right.shape, 1), strides=(*right.strides, 1))
        out = evolve(out, shape=(*out.shape, 1), strides=(*out.strides, 1))
    others = one.inputs[:at] if at else one.inputs[2:3]
    added = [place(other.spread_to(out.shape)) for other in others]
    batches = prod(out.shape[:-2])
    grid = (-(-out.shape[-1] // TILE), -(-out.shape[-2] // TILE), batches)
    yield kernels.product[grid, 256](
        place(left), place(right), place(out), added[0] if added else None, batches
    )


def _attention(one: Operation, place: Place) -> Iterator[Launch]:
    query, key, value = one.inputs[:3]
    heads = query.shape[0] * query.shape[1]
    grid = (-(-query.shape[-2] // TILE), heads)
    causal = bool(one.numbers.get("is_causal"))
    yield kernels.attend[grid, THREADS](
        place(query), place(key), place(value), place(one.outputs[0]), causal
    )


def _lookup(one: Operation, place: Place) -> Iterator[Launch]:
    assert one.indices is not None
    table, index, out = one.inputs[0], one.inputs[1], one.outputs[0]
    yield _gathered(table, index, out, one.indices, place, adds=False)


def _scatter(one: Operation, place: Place) -> Iterator[Launch]:
    assert one.indices is not None
    yield _over_elements((), one.outputs, place)
    gradient, index = one.inputs[:2]
    yield _gathered(one.outputs[0], index, gradient, one.indices, place, adds=True)


def _gathered(
    table: Tensor, index: Tensor, out: Tensor, rows: Any, place: Place, *, adds: bool
) -> Launch:
    count = out.count
    return kernels.gather[-(-count // THREADS) * THREADS](
        place(table), place(index), place(out), rows.reshape(-1), adds
    )


def _cat(one: Operation, place: Place) -> Iterator[Launch]:
    axis, first = int(one.numbers.get("dim", 0)) % max(len(one.outputs[0].shape), 1), 0
    for source in one.inputs:
        if source.count:
            if one.name == "stack":
                shape = (*source.shape[:axis], 1, *source.shape[axis:])
                strides = (*source.strides[:axis], 0, *source.strides[axis:])
                source = evolve(source, shape=shape, strides=strides)  # noqa: PLW2901
            length = source.shape[axis]
            yield _over_elements((source,), (one.outputs[0].part(axis, first, length),), place)
            first += length
