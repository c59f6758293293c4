"""Which elements operators with indices access, as far as the indices are known."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

READS = {"index", "gather", "index_select", "masked_select", "take_along_dim"}
"""They read elements of their first tensor."""

ALONG = {
    "gather": 2, "scatter": 2, "scatter_": 2, "scatter_add": 2, "scatter_add_": 2,
    "scatter_reduce": 2, "scatter_reduce_": 2, "take_along_dim": 1,
}  # fmt: skip
"""An index for each element, along one axis; and which argument it is."""

OF_ROWS = {
    "index_select": 2, "index_add": 2, "index_add_": 2, "index_copy": 2, "index_copy_": 2,
    "index_fill": 2, "index_fill_": 2,
}  # fmt: skip
"""An index for each row, column or plane along one axis; and which argument it is."""

BY_LISTS = {"index": 1, "index_put": 1, "index_put_": 1, "_index_put_impl_": 1, "masked_select": 1}
"""Indices, or masks, of some axes; and which argument they are."""

ADDS = {"scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "index_add"} | {
    "index_add_"
}
"""They add atomically; `index_put` does with `accumulate`."""

INDEXED = {*ALONG, *OF_ROWS, *BY_LISTS}


def indices_of(name: str, arguments: Sequence[Any]) -> Any:
    """The argument that has the indices of an operator, which has some."""
    return arguments[{**ALONG, **OF_ROWS, **BY_LISTS}[name]]


def elements(name: str, arguments: Sequence[Any]) -> NDArray[np.int64] | None:
    """Numbers of the accessed elements of the first tensor, in the order of its axes.

    Args:
        name: of the operator.
        arguments: by place, tensors of PyTorch among them.

    Returns:
        None: they are not known: it has no such indices, or tensors have no contents.
    """
    if name not in INDEXED or any(_unknown(one) for one in arguments):
        return None
    shape = tuple(arguments[0].shape)
    if name in BY_LISTS:
        given = indices_of(name, arguments)
        given = list(given) if isinstance(given, list | tuple) else [given]
        chosen: list[Any] = [slice(None) if one is None else one.detach().numpy() for one in given]
        if name == "masked_select":
            chosen = [np.broadcast_to(chosen[0], shape)]
        return _numbers(shape, tuple(chosen))
    axis = int(arguments[2 if name == "take_along_dim" else 1]) % max(len(shape), 1)
    index = indices_of(name, arguments).detach().numpy()
    if name in OF_ROWS:
        return _numbers(shape, (*[slice(None)] * axis, index))
    coordinates = list(np.indices(index.shape, sparse=True))
    coordinates[axis] = index
    strides = [prod(shape[one + 1 :]) for one in range(len(shape))]
    return _flat(sum(c * s for c, s in zip(coordinates, strides, strict=True)))


def _unknown(value: Any) -> bool:
    """Whether an argument has no contents that can be read."""
    if isinstance(value, list | tuple):
        return any(map(_unknown, value))
    return hasattr(value, "untyped_storage") and value.device.type != "cpu"


def _numbers(shape: tuple[int, ...], chosen: tuple[Any, ...]) -> NDArray[np.int64]:
    """Numbers of the elements that ``array[chosen]`` has."""
    found: Any = 0
    for axis, length in enumerate(shape):
        own = np.arange(length).reshape([-1 if one == axis else 1 for one in range(len(shape))])
        found = found + np.broadcast_to(own, shape)[chosen] * prod(shape[axis + 1 :])
    return _flat(found)


def _flat(values: Any) -> NDArray[np.int64]:
    return np.asarray(values, np.int64).reshape(-1)
