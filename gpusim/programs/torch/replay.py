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
from gpusim.programs.torch.elementwise import of_channels, over_elements
from gpusim.programs.torch.indexing import ADDS, READS
from gpusim.programs.torch.kernels import EACH, MOST_THREADS, THREADS, TILE, Operand, Place
from gpusim.programs.torch.operators import (
    ATTENTION,
    ATTENTION_BACKWARD,
    BATCH_NORMS,
    COPIES,
    ELEMENTWISE,
    FILLS,
    LISTS,
    LOOKUPS,
    PRODUCTS,
    REDUCTIONS,
    ROWS,
    VIEWS,
    WINDOWS,
)
from gpusim.programs.torch.tensors import Operation, Storage, Tensor
from gpusim.programs.torch.window_replay import convolution, convolution_backward, pooled

Replay: TypeAlias = Callable[[Operation, Place], Iterator[Launch]]


def is_replayed(one: Operation) -> bool:
    """Whether an operator makes launches."""
    made = one.outputs if one.name.startswith(LISTS) else one.outputs[:1]
    return _replay_of(one) is not None and any(tensor.count for tensor in made)


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
        if own is not None and is_replayed(one):
            yield from own(one, place)


def _replay_of(one: Operation) -> Replay | None:
    """What replays an operator; None: nothing does."""
    name = one.name
    looks_up = one.indices is not None
    choices: tuple[tuple[bool, Replay], ...] = (
        (name in PRODUCTS, _product),
        (name == "convolution", _convolution),
        (name == "convolution_backward", _convolution_backward),
        (name in ATTENTION, _attention),
        (name in ATTENTION_BACKWARD and _has_equal_heads(one), _attention_backward),
        (name in ROWS, _rows),
        (name in BATCH_NORMS, _batch_norm),
        (name.startswith(WINDOWS) and name.endswith("_backward"), _spread_back),
        (name.startswith(WINDOWS), pooled),
        (name in REDUCTIONS, _reduction),
        (name in LOOKUPS and looks_up, _lookup),
        (name == "_embedding_bag" and looks_up, _bags),
        (name == "embedding_dense_backward" and looks_up, _scatter),
        (one.elements is not None, _indexed),
        (name in {"cat", "stack"}, _cat),
        (name in {"select_backward", "slice_backward", "constant_pad_nd"}, _put_into),
        (name == "repeat", _repeat),
        (name in {"glu", "glu_backward"}, _gated),
        (
            one.pointwise or name in FILLS | COPIES | ELEMENTWISE or name.startswith(LISTS),
            _elementwise,
        ),
    )
    return None if name in VIEWS else next((how for fits, how in choices if fits), None)


def _elementwise(one: Operation, place: Place) -> Iterator[Launch]:
    if one.name.startswith(LISTS):
        for target in filter(lambda tensor: tensor.count, one.outputs):
            same = [tensor for tensor in one.inputs if tensor.shape == target.shape]
            yield over_elements([*same], [target], place)
        return
    reads = () if one.name in FILLS else one.inputs
    yield over_elements(reads, one.outputs, place)


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
    most = one.outputs[0].count
    targets = [tensor for tensor in one.outputs if tensor.count in {most, blocks}]
    return kernels.rows[blocks, threads](
        tuple(map(place, sources)), tuple(map(place, targets)), width, passes
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


def _convolution(one: Operation, place: Place) -> Iterator[Launch]:
    yield from convolution(one, place)
    if len(one.inputs) > 2:
        (out,) = one.outputs
        yield over_elements((out, of_channels(one.inputs[2], out)), (out,), place)


def _convolution_backward(one: Operation, place: Place) -> Iterator[Launch]:
    yield from convolution_backward(one, place)
    if one.numbers["output_mask"][-1]:
        yield over_elements(one.inputs[:1], (), place)
        yield over_elements((), one.outputs[-1:], place)


def _batch_norm(one: Operation, place: Place) -> Iterator[Launch]:
    """A sum a channel, if there is one, then each element; and what is left of the sums."""
    out, *rest = one.outputs
    pictures = [tensor for tensor in one.inputs if tensor.shape == out.shape]
    channels = [of_channels(one, out) for one in one.inputs if len(one.shape) == 1]
    if one.numbers.get("training", one.numbers.get("train", "no_training" not in one.name)):
        axes = (1, 0, *range(2, len(out.shape)))
        turned = [_permuted(tensor, axes) for tensor in pictures]
        yield over_elements(turned, (), place)
    yield over_elements((*pictures, *channels), (out,), place)
    kept = [tensor for tensor in rest if tensor.count]
    if kept:
        yield over_elements((), kept, place)


def _permuted(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    shape, strides = (tuple(of[one] for one in axes) for of in (tensor.shape, tensor.strides))
    return evolve(tensor, shape=shape, strides=strides)


def _spread_back(one: Operation, place: Place) -> Iterator[Launch]:
    """Gradients of windows: all that is known of the results is read, and all elements written."""
    yield over_elements((), one.outputs[:1], place)
    gradient = one.inputs[0]
    same = [tensor for tensor in one.inputs if tensor.shape == gradient.shape]
    yield over_elements(same, (), place)


def _attention(one: Operation, place: Place) -> Iterator[Launch]:
    query, key, value = one.inputs[:3]
    yield _attend(one, place, query, key, value, one.outputs[0])


def _attend(
    one: Operation, place: Place, query: Tensor, key: Tensor, value: Tensor, out: Tensor
) -> Launch:
    heads = query.shape[0] * query.shape[1]
    grid = (-(-query.shape[-2] // TILE), heads)
    causal = bool(one.numbers.get("is_causal"))
    return kernels.attend[grid, THREADS](place(query), place(key), place(value), place(out), causal)


def _has_equal_heads(one: Operation) -> bool:
    """Whether gradients of attention are of as many heads of keys as of queries."""
    return one.inputs[1].shape[1] == one.inputs[2].shape[1]


def _attention_backward(one: Operation, place: Place) -> Iterator[Launch]:
    """Sums of what was given and returned; then each gradient, a tile of it a thread block."""
    gradient, query, key, value, out, largest = one.inputs[:6]
    yield over_elements((gradient, out), (), place)
    yield over_elements((largest,), (), place)
    of_query, of_key, of_value = one.outputs[:3]
    yield _attend(one, place, key, query, gradient, of_key)
    yield _attend(one, place, value, query, gradient, of_value)
    yield _attend(one, place, query, key, value, of_query)


def _lookup(one: Operation, place: Place) -> Iterator[Launch]:
    assert one.indices is not None
    table, index, out = one.inputs[0], one.inputs[1], one.outputs[0]
    yield _gathered(table, index, out, one.indices, place, adds=False)


def _scatter(one: Operation, place: Place) -> Iterator[Launch]:
    assert one.indices is not None
    yield over_elements((), one.outputs, place)
    gradient, index = one.inputs[:2]
    yield _gathered(one.outputs[0], index, gradient, one.indices, place, adds=True)


def _gathered(
    table: Tensor, index: Tensor, out: Tensor, rows: Any, place: Place, *, adds: bool
) -> Launch:
    count = out.count
    return kernels.gather[-(-count // THREADS) * THREADS](
        place(table), place(index), place(out), rows.reshape(-1), adds
    )


def _bags(one: Operation, place: Place) -> Iterator[Launch]:
    """Rows that are looked up, and their sums."""
    assert one.indices is not None
    table, index, out = one.inputs[0], one.inputs[1], one.outputs[0]
    width = table.shape[-1]
    rows = one.indices.reshape(-1)
    numbers = (rows[:, None] * width + np.arange(width)).reshape(-1)
    yield kernels.indexed[_whole(len(numbers))](
        place(table), (place(index),), None, numbers, "reads"
    )
    yield over_elements((), (out,), place)


def _whole(count: int) -> int:
    """Threads of whole thread blocks, a thread an element."""
    return -(-count // THREADS) * THREADS


def _indexed(one: Operation, place: Place) -> Iterator[Launch]:
    """Elements by their indices; what is returned beside the first tensor is a copy of it."""
    assert one.elements is not None
    first, out = one.inputs[0], one.outputs[0]
    count = 1 + one.numbers["indices"]
    for mask in (tensor for tensor in one.inputs[1:count] if tensor.size == 1):
        yield over_elements((mask,), (), place)
    numbers = [tensor for tensor in one.inputs[1:count] if tensor.size != 1]
    table: Tensor = first
    other: Tensor | None = out
    does = "reads"
    if one.name not in READS:
        adds = one.name in ADDS or bool(one.numbers.get("accumulate"))
        does, table = "adds" if adds else "writes", out
        other = one.inputs[-1] if len(one.inputs) > count else None
        if (first.storage, first.offset) != (out.storage, out.offset):
            yield over_elements((first,), (out,), place)
    if len(one.elements):
        yield kernels.indexed[_whole(len(one.elements))](
            place(table),
            tuple(map(place, numbers)),
            None if other is None else place(other),
            one.elements,
            does,
        )


def _put_into(one: Operation, place: Place) -> Iterator[Launch]:
    """A tensor becomes a part of a larger one, whose rest is filled."""
    source, part = one.inputs[0], one.outputs[0]
    yield over_elements((), (part,), place)
    if one.name == "constant_pad_nd":
        pad = one.numbers["pad"]
        for number in range(len(pad) // 2):
            before, after = pad[2 * number : 2 * number + 2]
            axis = len(part.shape) - 1 - number
            length = source.shape[axis] + min(before, 0) + min(after, 0)
            source = source.part(axis, max(-before, 0), length)
            part = part.part(axis, max(before, 0), length)
    else:
        axis = one.numbers["dim"] % len(part.shape)
        if one.name == "select_backward":
            first = one.numbers["index"] % part.shape[axis]
            shape = (*source.shape[:axis], 1, *source.shape[axis:])
            strides = (*source.strides[:axis], 0, *source.strides[axis:])
            source, step = evolve(source, shape=shape, strides=strides), 1
        else:
            first = max(one.numbers.get("start") or 0, -part.shape[axis]) % part.shape[axis]
            step = one.numbers.get("step", 1)
        part = part.part(axis, first, source.shape[axis])
        strides = (*part.strides[:axis], part.strides[axis] * step, *part.strides[axis + 1 :])
        part = evolve(part, strides=strides)
    yield over_elements((source,), (part,), place)


def _repeat(one: Operation, place: Place) -> Iterator[Launch]:
    """A tensor side by side with itself, along each axis."""
    source, out = one.inputs[0], one.outputs[0]
    missing = len(out.shape) - len(source.shape)
    own = source.spread_to((1,) * missing + source.shape)
    shape: list[int] = []
    read: list[int] = []
    written: list[int] = []
    for whole, length, stride, step in zip(
        out.shape, own.shape, own.strides, out.strides, strict=True
    ):
        shape += [whole // length, length]
        read += [0, stride]
        written += [step * length, step]
    yield over_elements(
        (evolve(source, shape=tuple(shape), strides=tuple(read)),),
        (evolve(out, shape=tuple(shape), strides=tuple(written)),),
        place,
    )


def _gated(one: Operation, place: Place) -> Iterator[Launch]:
    """One half of a tensor times the sigmoid of the other; or the gradient of that."""
    whole, out = one.inputs[-1], one.outputs[0]
    axis = one.numbers.get("dim", -1) % len(whole.shape)
    half = whole.shape[axis] // 2
    for first in (0, half) if one.name == "glu_backward" else (0,):
        halves = [whole.part(axis, start, half) for start in (0, half)]
        made = out.part(axis, first, half)
        yield over_elements((*one.inputs[:-1], *halves), (made,), place)


def _cat(one: Operation, place: Place) -> Iterator[Launch]:
    axis, first = int(one.numbers.get("dim", 0)) % max(len(one.outputs[0].shape), 1), 0
    for source in one.inputs:
        if source.count:
            if one.name == "stack":
                shape = (*source.shape[:axis], 1, *source.shape[axis:])
                strides = (*source.strides[:axis], 0, *source.strides[axis:])
                source = evolve(source, shape=shape, strides=strides)  # noqa: PLW2901
            length = source.shape[axis]
            yield over_elements((source,), (one.outputs[0].part(axis, first, length),), place)
            first += length
